//! Arguments of `trimtab rule`.

use crate::values;
use clap::Args;

/// `trimtab rule`.
#[derive(Debug, Args)]
pub struct Rule {
    /// Rule ID [default: list all rules]
    #[arg(value_parser = values::RuleId, hide_possible_values = true)]
    pub id: Option<String>,

    /// Print the documentation of all rules in Markdown
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
}
