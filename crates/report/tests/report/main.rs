//! What the renderings look like, and what holds for every report.

mod explain;
mod explained;
mod golden;
mod hosts;
mod layout;
mod properties;
mod schemas;
mod shards;
