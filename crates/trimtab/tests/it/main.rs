//! End-to-end tests of the binary, and checks of the workspace itself.

mod articles;
mod cluster;
mod command_line;
mod disk;
mod docs;
mod drive_writes;
mod environment;
mod explain;
mod explain_files;
mod explain_runs;
mod explain_support;
mod hostile;
mod house;
mod live;
mod recorded;
mod remedies;
mod shards;
mod ssd;
mod ssd_output;
mod ssd_refusals;
mod ssd_reports;
mod ssd_tools;
mod support;
mod trim;
mod trim_ends;
mod trim_trouble;
