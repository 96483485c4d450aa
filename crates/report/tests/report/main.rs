//! Tests of the renderings, and of properties that hold for every report.

mod bulk;
mod explain;
mod explained;
mod golden;
mod hosts;
mod layout;
mod nightly;
mod properties;
mod schemas;
mod shards;
