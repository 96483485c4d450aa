//! Arguments of `trimtab rule`.

use clap::Args;

/// `trimtab rule`.
#[derive(Debug, Args)]
pub struct Rule {
    /// Rule ID [default: list all rules]
    pub id: Option<String>,

    /// Print the documentation of all rules in Markdown
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
}
