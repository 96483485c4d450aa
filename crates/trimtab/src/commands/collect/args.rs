//! The arguments of `trimtab collect`.

use crate::arguments::{ClusterArgs, SourceArgs};
use clap::Args;
use std::path::PathBuf;

/// `trimtab collect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sudo trimtab collect -o host.tar.zst\n  \
    trimtab collect --anonymise -o - | ssh desk 'cat > host.tar.zst'\n  \
    trimtab collect --cluster http://localhost:9200 -o host.tar.zst\n\n\
    A bundle holds what `trimtab check` reads, after the filter for secrets: no passwords, no\n\
    Environment= of units, no key material, no script beyond the programs that it runs. Run by\n\
    root, it holds what drives count of their own writes, where smartctl or nvme-cli is installed:\n\
    numbers, no serials. Look into it with `tar -tf`. Nothing on the host is changed.")]
pub struct Collect {
    #[command(flatten)]
    pub source: SourceArgs,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// The bundle to write (.tar.zst); `-` writes to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Replace names (of hosts, users, nodes, indices), addresses and serials, the same one always
    /// by the same word
    #[arg(long, visible_alias = "anonymize")]
    pub anonymise: bool,

    /// Overwrite FILE if it is there
    #[arg(long)]
    pub force: bool,
}
