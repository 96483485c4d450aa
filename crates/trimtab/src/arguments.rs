//! Arguments that several commands share.

use crate::values;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Where to read a host from.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// Read the files below DIR instead of this host's (a mounted image, an unpacked support
    /// archive); DIR/cmd may hold command outputs
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// A directory that holds a store's data, beside those found; may be given several times
    #[arg(long, value_name = "DIR")]
    pub data_path: Vec<String>,
}

/// Which cluster to ask, and how.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Ask the Elasticsearch or OpenSearch at URL about itself; nothing on it is changed
    #[arg(long, value_name = "URL")]
    pub cluster: Option<String>,

    #[command(flatten)]
    pub access: AccessArgs,
}

/// How a server is asked.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// The longest time for one answer of the server [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub timeout: Option<Duration>,

    /// File with the credentials for the server [default: `TRIMTAB_USER` and its like]
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Certificates to trust beside the system's, in PEM [default: `TRIMTAB_CA_FILE`]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}
