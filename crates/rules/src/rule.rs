//! The definition of a rule.

use crate::cluster::ClusterContext;
use crate::context::{Context, Outcome};

/// A rule. Its documentation is the module comment of its file.
pub struct Rule {
    /// Stable id; ids are never reused.
    pub id: &'static str,
    /// One-line description of what it finds.
    pub title: &'static str,
    /// The text of its source file, for [`Rule::documentation`].
    pub source: &'static str,
    /// The check itself.
    pub check: Check,
}

/// Examines the facts and adds findings to the outcome.
#[derive(Clone, Copy)]
pub enum Check {
    /// A rule about a host.
    Host(fn(&Context<'_>, &mut Outcome)),
    /// A rule about a cluster and the hosts of its nodes, as far as they are known.
    Cluster(fn(&ClusterContext<'_>, &mut Outcome)),
}

impl Rule {
    /// Whether the rule is about a cluster rather than a host.
    pub fn is_about_cluster(&self) -> bool {
        matches!(self.check, Check::Cluster(_))
    }

    /// Returns the rule's documentation in Markdown: the `//!` lines at the top of its file.
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
