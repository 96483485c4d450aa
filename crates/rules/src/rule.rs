//! What a rule is.

use crate::cluster::ClusterContext;
use crate::context::{Context, Outcome};

/// One rule. Its documentation is the doc comment of its file.
pub struct Rule {
    /// Stable id, never reused.
    pub id: &'static str,
    /// What it finds, in one line.
    pub title: &'static str,
    /// The text of its own source file, for [`Rule::documentation`].
    pub source: &'static str,
    /// What it looks at, and how.
    pub check: Check,
}

/// Looks at the facts and adds to the outcome.
#[derive(Clone, Copy)]
pub enum Check {
    /// A rule about a host.
    Host(fn(&Context<'_>, &mut Outcome)),
    /// A rule about a cluster, and the hosts of its nodes as far as they are known.
    Cluster(fn(&ClusterContext<'_>, &mut Outcome)),
}

impl Rule {
    /// Whether it is about a cluster, not a host.
    pub fn is_about_cluster(&self) -> bool {
        matches!(self.check, Check::Cluster(_))
    }

    /// The rule's documentation in Markdown: the `//!` lines at the top of its file.
    pub fn documentation(&self) -> String {
        let lines = self
            .source
            .lines()
            .take_while(|line| line.starts_with("//!"));
        let mut text = String::new();
        for line in lines {
            let line = &line[3..];
            text.push_str(line.strip_prefix(' ').unwrap_or(line));
            text.push('\n');
        }
        text
    }
}
