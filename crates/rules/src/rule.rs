//! The definition of a rule.

use crate::cluster::ClusterContext;
use crate::context::Context;
use crate::outcome::Outcome;
use facts::Host;

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
    /// A rule about a host, and what it cannot do without.
    Host(Needs, fn(&Context<'_>, &mut Outcome)),
    /// A rule about a cluster and the hosts of its nodes, as far as they are known.
    Cluster(fn(&ClusterContext<'_>, &mut Outcome)),
}

/// The facts without which a rule about a host has nothing to look at. Each includes those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing but jobs; rules report missing jobs themselves.
    Nothing,
    /// Mounts, or lines of fstab in their place.
    Mounts,
    /// Mounts, and the stores whose data they hold.
    Stores,
    /// Mounts, and the block devices below them.
    Devices,
}

impl Needs {
    /// Returns why the facts of a host do not suffice and what would, if they do not.
    pub(crate) fn missing(self, host: &Host) -> Option<(&'static str, &'static str)> {
        if self == Self::Nothing {
            return None;
        }
        if host.mounts.is_empty() {
            return Some(("no mounts are known", "proc/self/mountinfo and sys/block"));
        }
        match self {
            Self::Stores if host.stores.is_empty() && host.running_stores_unknown => Some((
                "no store was found, and running ones could not be looked for",
                "/proc of the running host, or --data-path",
            )),
            Self::Devices if !host.knows_devices() => {
                Some(("no block devices are known", "sys/block"))
            }
            _ => None,
        }
    }
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
