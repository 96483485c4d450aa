//! The binary as its users meet it, and the house's own rules.

mod articles;
mod cluster;
mod command_line;
mod disk;
mod docs;
mod drive_writes;
mod explain;
mod explain_files;
mod explain_runs;
mod explain_support;
mod hostile;
mod house;
mod live;
mod recorded;
mod shards;
mod ssd;
mod ssd_output;
mod ssd_refusals;
mod ssd_said;
mod ssd_tools;
mod support;
mod surroundings;
mod trim;
mod trim_ends;
mod trim_trouble;
