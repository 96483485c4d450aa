//! `trimtab shards`: a cluster's state to what its master decides, and what that costs.

pub mod args;
mod load;
mod run;
mod values;

pub use run::run;
