//! `trimtab plan`.

mod apply;
pub mod args;
mod fleet;
mod host;
mod packaged;
mod place;
mod playbook;
mod quiet;
mod run;
mod slots;
mod systemd;
mod volumes;
pub mod written;

pub use run::run;
