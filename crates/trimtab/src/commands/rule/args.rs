//! The arguments of `trimtab rule`.

use clap::Args;

/// `trimtab rule`.
#[derive(Debug, Args)]
pub struct Rule {
    /// The rule's id; without it all rules are listed
    pub id: Option<String>,

    /// Print the documentation of every rule, in Markdown
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
}
