//! Options shared by several commands.

use crate::values;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Options that select the host to read.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// Read the files below DIR instead of this host's (a mounted image, an unpacked support
    /// archive); DIR/cmd may hold command outputs
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Additional data directory of a store that was not detected (repeatable)
    #[arg(long, value_name = "DIR")]
    pub data_path: Vec<String>,
}

/// Options that select a cluster.
#[derive(Debug, Clone, Args)]
pub struct ClusterArgs {
    /// Query the Elasticsearch or OpenSearch cluster at URL (read-only)
    #[arg(long, value_name = "URL")]
    pub cluster: Option<String>,

    #[command(flatten)]
    pub access: AccessArgs,
}

/// Options for connecting to a server.
#[derive(Debug, Clone, Default, Args)]
pub struct AccessArgs {
    /// Timeout for each response from the server [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub timeout: Option<Duration>,

    /// Read the server's credentials from FILE [default: `TRIMTAB_USER` etc.]
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Additional CA certificates to trust (PEM) [default: `TRIMTAB_CA_FILE`]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}
