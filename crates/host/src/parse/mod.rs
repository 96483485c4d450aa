//! Parsers for files and for the output of commands. They are pure and total: hostile text gives an
//! error, never a panic.

pub mod anacrontab;
pub(crate) mod cgroup;
pub mod crontab;
pub mod crontab_jobs;
pub mod dm_table;
pub mod drive_log;
pub(crate) mod fields;
pub mod fstab;
pub mod lvm_conf;
pub mod mdstat;
pub mod mountinfo;
pub(crate) mod os_release;
pub mod outputs;
pub(crate) mod run_parts;
pub mod shell;
pub(crate) mod specifiers;
pub(crate) mod statfs;
pub(crate) mod store_config;
pub(crate) mod store_process;
pub(crate) mod store_settings;
pub mod systemctl;
pub mod systemd_time;
pub(crate) mod time_zone;
pub mod unit_file;
pub mod yaml;
