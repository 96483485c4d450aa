//! Arguments of `trimtab collect`.

use crate::arguments::{ClusterArgs, SourceArgs};
use clap::Args;
use std::path::PathBuf;

/// `trimtab collect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sudo trimtab collect -o host.tar.zst\n  \
    trimtab collect --anonymise -o - | ssh desk 'cat > host.tar.zst'\n  \
    trimtab collect --cluster http://localhost:9200 -o host.tar.zst\n\n\
    A bundle holds what `trimtab check` reads, with secrets filtered out: no\n\
    passwords, no Environment= of units, no key material, and of scripts only the\n\
    programs they run. Run as root with smartctl or nvme-cli installed, it also\n\
    holds the drives' own write counters, without serial numbers. List its contents\n\
    with `tar -tf`. Nothing on the host is changed.")]
pub struct Collect {
    #[command(flatten)]
    pub source: SourceArgs,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// Bundle to write (.tar.zst), or `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Replace names (of hosts, users, nodes, indices), addresses and serial numbers consistently
    #[arg(long, visible_alias = "anonymize")]
    pub anonymise: bool,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub force: bool,
}
