//! Selects the lines of one host from logs that may contain lines collected from other hosts.

use super::Log;
use super::host_lines::{HostLines, is_localhost, short_name};
use super::pair::uptimes;
use jiff::{SignedDuration, Timestamp};
use std::collections::{HashMap, HashSet};

/// Maximum number of hosts named in a note.
const NAMED_MAX: usize = 3;

/// A host writes at least one line an hour (cron starts `cron.hourly`), so a shorter span does not
/// show when it had which name.
const FORMER_MIN: SignedDuration = SignedDuration::from_hours(2);

/// Which lines of the logs belong to one host.
#[derive(Debug, Clone, PartialEq)]
pub enum HostIdentity {
    /// Lines with these names, in lower case, and lines without a host name.
    Known {
        /// The host's name, with and without its domain.
        names: HashSet<String>,
        /// Other names that belong to the host nonetheless: no other host is named at that time.
        other_names: HashSet<String>,
    },
    /// Several hosts are named at the same time, and it is not known which of them is the host.
    Unknown {
        /// Some of the names.
        some: Vec<String>,
        /// How many hosts there are.
        count: usize,
    },
}

impl HostIdentity {
    /// Separates the lines of the host `own` (`None` if its name is not known) from those of other
    /// hosts in these logs. `db1` and `db1.example.org` are the same host unless a `db1` of another
    /// domain is named, too.
    ///
    /// If the logs name a single host, that is the one, whatever its name. Successive names of a
    /// renamed host also count as its own: names that end before the host's own name begins and, if
    /// its own name does not appear, names each of which begins after the previous one ends.
    ///
    /// A host called `localhost` does not name itself in any line: if other hosts are named while
    /// lines without a name are written, only the latter are its own.
    pub fn of(logs: &[Log], own: Option<&str>) -> Self {
        let mut named = hosts_of(logs.iter().flat_map(|log| &log.hosts), own);
        let is_own = |host: &NamedHost, fits: &dyn Fn(&str, &str) -> bool| {
            own.is_some_and(|own| host.names.iter().any(|name| fits(name, own)))
        };
        let equals = |name: &str, own: &str| name.eq_ignore_ascii_case(own);
        let mut of_own: Vec<usize> = Vec::new();
        for fits in [&equals as &dyn Fn(&str, &str) -> bool, &is_same_host] {
            if of_own.is_empty() {
                of_own = (0..named.len())
                    .filter(|&at| is_own(&named[at], fits))
                    .collect();
            }
        }
        // If several hosts may be the one, none is known to be.
        if let [own] = of_own[..] {
            let own = named.swap_remove(own);
            let earlier: Vec<&NamedHost> = named
                .iter()
                .filter(|host| host.until <= own.from && host.is_long())
                .collect();
            let is_renamed = is_chain(&earlier);
            return Self::Known {
                other_names: earlier
                    .iter()
                    .filter(|_| is_renamed)
                    .flat_map(|host| host.names.iter().cloned())
                    .collect(),
                names: own.names.into_iter().collect(),
            };
        }
        if own.is_some_and(is_localhost) && writes_concurrently(logs, &named) {
            return Self::Known {
                names: HashSet::new(),
                other_names: HashSet::new(),
            };
        }
        if !is_chain(&named.iter().collect::<Vec<_>>()) {
            return Self::Unknown {
                count: named.len(),
                some: named
                    .into_iter()
                    .take(NAMED_MAX)
                    .filter_map(|host| host.names.into_iter().next())
                    .collect(),
            };
        }
        let all = |hosts: &[NamedHost]| -> HashSet<String> {
            hosts.iter().flat_map(|host| host.names.clone()).collect()
        };
        // The last of them is its current name, unless known otherwise.
        let known = match own {
            None => named.len().saturating_sub(1),
            Some(_) => named.len(),
        };
        Self::Known {
            names: all(&named[known..]),
            other_names: all(&named[..known]),
        }
    }
}

impl Log {
    /// Keeps the lines of one host; the notes mention what was dropped and what was kept under
    /// another name. `None` if no line is left.
    ///
    /// The log then covers the time from the first to the last line of this host.
    #[must_use]
    pub fn restrict_to(mut self, identity: &HostIdentity) -> Option<Self> {
        let HostIdentity::Known { names, other_names } = identity else {
            return None;
        };
        let (mut other, mut left_out) = (Vec::new(), Vec::new());
        let kept: Vec<bool> = self
            .hosts
            .iter()
            .map(|host| {
                let Some(name) = &host.name else { return true };
                let lower = name.to_ascii_lowercase();
                let is_other = other_names.contains(&lower);
                let is_kept = is_other || names.contains(&lower);
                if is_other {
                    other.push(host);
                } else if !is_kept {
                    left_out.push(host);
                }
                is_kept
            })
            .collect();
        let of_own = || self.hosts.iter().zip(&kept).filter(|(_, kept)| **kept);
        let from = of_own().map(|(host, _)| host.from).min()?;
        let until = of_own().map(|(host, _)| host.until).max()?;
        (self.from, self.until) = (from, until);
        if !other.is_empty() {
            let other = words(&other, "name");
            self.notes.push(format!("{other} taken for this host's"));
        }
        if !left_out.is_empty() {
            let left_out = words(&left_out, "host");
            self.notes.push(format!("{left_out} left out"));
            self.observed.retain(|seen| kept[seen.host]);
            self.host_starts.retain(|start| kept[start.host]);
            for start in &mut self.host_starts {
                start.before = start.before_own;
            }
            self.uptimes = uptimes(&self.host_starts);
        }
        Some(self)
    }
}

/// Formats `1 line of another host (db2)`, `3 lines of 2 other hosts (db2, web1)`.
fn words(of: &[&HostLines], what: &str) -> String {
    let lines: usize = of.iter().map(|host| host.lines).sum();
    let s = if lines == 1 { "" } else { "s" };
    let hosts = hosts_of(of.iter().copied(), None);
    let some: Vec<&str> = hosts
        .iter()
        .take(NAMED_MAX)
        .filter_map(|host| host.names.first().map(String::as_str))
        .collect();
    let some = some.join(", ");
    match hosts.len() {
        0 | 1 => format!("{lines} line{s} of another {what} ({some})"),
        few @ ..=NAMED_MAX => format!("{lines} line{s} of {few} other {what}s ({some})"),
        many => format!("{lines} line{s} of {many} other {what}s ({some} and others)"),
    }
}

/// A host with all names used for it, in lower case, and the time span of its lines.
struct NamedHost {
    names: Vec<String>,
    from: Timestamp,
    until: Timestamp,
}

impl NamedHost {
    fn is_long(&self) -> bool {
        self.until.duration_since(self.from) >= FORMER_MIN
    }
}

/// Whether each host begins after the previous one has ended.
fn is_chain(hosts: &[&NamedHost]) -> bool {
    let mut spans: Vec<(Timestamp, Timestamp)> =
        hosts.iter().map(|host| (host.from, host.until)).collect();
    spans.sort_unstable();
    spans.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// Whether lines without a host name are written while one of these hosts writes.
fn writes_concurrently(logs: &[Log], named: &[NamedHost]) -> bool {
    let mut nameless = logs
        .iter()
        .flat_map(|log| &log.hosts)
        .filter(|host| host.name.is_none());
    nameless.any(|lines| {
        named
            .iter()
            .any(|host| host.from < lines.until && lines.from < host.until)
    })
}

/// Returns the hosts named in the lines, sorted by name.
fn hosts_of<'a>(lines: impl Iterator<Item = &'a HostLines>, own: Option<&str>) -> Vec<NamedHost> {
    let mut spans: HashMap<String, (Timestamp, Timestamp)> = HashMap::new();
    for host in lines {
        let Some(name) = &host.name else { continue };
        let span = spans
            .entry(name.to_ascii_lowercase())
            .or_insert((host.from, host.until));
        *span = (span.0.min(host.from), span.1.max(host.until));
    }
    let mut spans: Vec<_> = spans.into_iter().collect();
    spans.sort_unstable();
    // A name without a domain belongs to the only host of this name that has one.
    let (full, short): (Vec<_>, Vec<_>) = spans.into_iter().partition(|(name, _)| !is_short(name));
    let mut named: Vec<NamedHost> = Vec::new();
    // The index of each host, `None` for the own host if no line has its domain.
    let mut of_short: HashMap<String, Vec<Option<usize>>> = HashMap::new();
    let own = own.map(str::to_ascii_lowercase);
    if let Some(own) = own.filter(|own| !is_short(own))
        && !full.iter().any(|(name, _)| *name == own)
    {
        of_short.insert(short_name(&own).to_owned(), vec![None]);
    }
    for (name, (from, until)) in full {
        let places = of_short.entry(short_name(&name).to_owned()).or_default();
        places.push(Some(named.len()));
        named.push(NamedHost {
            names: vec![name],
            from,
            until,
        });
    }
    for (name, (from, until)) in short {
        if let Some(&[Some(place)]) = of_short.get(&name).map(Vec::as_slice) {
            let host = &mut named[place];
            host.names.push(name);
            host.from = host.from.min(from);
            host.until = host.until.max(until);
        } else {
            named.push(NamedHost {
                names: vec![name],
                from,
                until,
            });
        }
    }
    named.sort_by(|a, b| a.names.cmp(&b.names));
    named
}

/// Whether two names denote the same host: they are equal, or one is the other without its domain.
fn is_same_host(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
        || (is_short(a) != is_short(b) && short_name(a).eq_ignore_ascii_case(short_name(b)))
}

fn is_short(name: &str) -> bool {
    short_name(name) == name
}
