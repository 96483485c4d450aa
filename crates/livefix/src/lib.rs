//! The live fix: a Java agent (`livefix/` beside the crates) that ends the scan of all shards in each reroute of
//! Elasticsearch 6.8 to 7.5. This crate says which versions need it, edits `jvm.options`, and takes it back byte for
//! byte.

mod installation;
mod need;
mod options;
mod process;
mod status;

pub use edits::{Change, ChangeError};
pub use installation::{InstallError, Installation};
pub use need::{Need, need};
pub use options::{EditError, agent_jar, with_agent, without_agent};
pub use process::{Process, ProcessError};
pub use status::{NodeStatus, Predicted, Role, Status, Waiting};
