//! Arguments of `trimtab livefix`.
#![allow(clippy::doc_markdown)] // help shows no backticks

use crate::answer::AnswerArgs;
use crate::arguments::AccessArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Text above the usage line of `trimtab livefix --help`.
pub const LONG_ABOUT: &str = "Give Elasticsearch 6.8 to 7.5 the fast reroutes of 7.6, without an upgrade\n\n\
    In these versions the master walks all shards for each shard in each reroute.\n\
    The live fix is a Java agent that ends this. `trimtab rule ES001` names one\n\
    setting that does so as well, and its price: consider that first.";

/// `trimtab livefix`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    trimtab livefix status http://localhost:9200\n  \
    trimtab livefix install --config /etc/elasticsearch           show what would change\n  \
    sudo trimtab livefix install --config /etc/elasticsearch --yes\n  \
    sudo trimtab livefix uninstall --config /etc/elasticsearch --yes"
)]
pub struct Livefix {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Option<LivefixCommand>,

    /// Print the JSON schema of --format json and exit
    #[arg(long)]
    pub schema: bool,
}

/// Subcommands of `livefix`.
#[derive(Debug, Subcommand)]
pub enum LivefixCommand {
    /// Show where the fix is needed, where it is loaded, and what it gains
    Status(Status),
    /// Add the agent to a node's jvm.options
    Install(Install),
    /// Restore a node's jvm.options
    Uninstall(Uninstall),
}

/// `trimtab livefix status`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab livefix status http://localhost:9200\n  \
    trimtab livefix status 4711                    a process on this host\n\n\
    Nothing is changed.\n\n\
    Exit codes: 0 loaded wherever it is needed, or not needed; 1 missing on a node that\n\
    can be the master; 2 could not run, or could not tell."
)]
pub struct Status {
    /// URL of a cluster, or process ID of a node on this host
    #[arg(value_name = "URL|PID")]
    pub of: Option<String>,

    #[command(flatten)]
    pub access: AccessArgs,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Where a node is installed.
#[derive(Debug, Args)]
pub struct Place {
    /// The node's configuration directory, which holds jvm.options
    #[arg(long, value_name = "DIR", required_unless_present = "schema")]
    pub config: Option<PathBuf>,

    /// The node's installation directory [default: the directory above --config, or
    /// /usr/share/elasticsearch]
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,

    /// Change the files; without it, only show what would change
    #[arg(long)]
    pub yes: bool,
}

/// `trimtab livefix install`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab livefix install --config /etc/elasticsearch\n  \
    sudo trimtab livefix install --config /etc/elasticsearch --yes\n\n\
    Without --yes nothing is changed. Install it on each node that can be the master,\n\
    then restart these one after the other: `trimtab livefix status URL` prints the\n\
    order.\n\n\
    Exit codes: 0 done, or shown; 2 could not run."
)]
pub struct Install {
    #[command(flatten)]
    pub place: Place,

    /// The agent [default: trimtab-livefix.jar beside trimtab, or in /usr/share/trimtab]
    #[arg(long, value_name = "FILE")]
    pub jar: Option<PathBuf>,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `trimtab livefix uninstall`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab livefix uninstall --config /etc/elasticsearch\n  \
    sudo trimtab livefix uninstall --config /etc/elasticsearch --yes\n\n\
    Without --yes nothing is changed. jvm.options becomes what it was, byte for byte;\n\
    if it was edited since, only the lines of the live fix are removed. Then restart\n\
    the node.\n\n\
    Exit codes: 0 done, or shown; 2 could not run."
)]
pub struct Uninstall {
    #[command(flatten)]
    pub place: Place,

    #[command(flatten)]
    pub answer: AnswerArgs,
}
