//! Clusters over the network: real answers played back, and servers in trouble.

mod play;
mod recorded;
mod trouble;
