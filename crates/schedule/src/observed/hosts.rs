//! Whose lines a log holds: a host that gathers the logs of others has their lines among its own.

use super::Log;
use super::host_lines::{HostLines, is_localhost, short_name};
use super::pair::uptimes;
use jiff::{SignedDuration, Timestamp};
use std::collections::{HashMap, HashSet};

/// Hosts that a note names.
const NAMED_MAX: usize = 3;

/// A host writes a line an hour at least (cron starts `cron.hourly`): what is shorter says nothing of when
/// it had which name.
const FORMER_MIN: SignedDuration = SignedDuration::from_hours(2);

/// Which lines of logs are those of one host.
#[derive(Debug, Clone, PartialEq)]
pub enum Whose {
    /// The lines of these names, in lower case, and those that name nobody.
    Of {
        /// The host's name, short and with its domain.
        names: HashSet<String>,
        /// Other names that are the host's all the same: nothing else is named at that time.
        other_names: HashSet<String>,
    },
    /// Several hosts are named at the same time, and none of them is known to be the one: the first of
    /// them, and how many they are.
    Unknown {
        /// Some of the names.
        some: Vec<String>,
        /// How many hosts there are.
        count: usize,
    },
}

impl Whose {
    /// Tells the lines of the host `own`, `None` where its name is not known, from those of others in these
    /// logs: `db1` and `db1.example.org` are one host where no `db1` of another domain is named, too.
    ///
    /// Where the logs name a single host, it is the one, whatever it is called. So are, one after
    /// another, the names of a host that was renamed: those that end before the host's own name begins,
    /// and, where its own name is not among them, names of which each begins after the one before ends.
    ///
    /// A host that is called `localhost` names itself in no line: where others are named while it writes
    /// lines without a name, these alone are its own.
    pub fn of(logs: &[Log], own: Option<&str>) -> Self {
        let mut named = hosts_of(logs.iter().flat_map(|log| &log.hosts), own);
        let is_own = |host: &Named, fits: &dyn Fn(&str, &str) -> bool| {
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
        // Of several that may be the one, none is known to be.
        if let [own] = of_own[..] {
            let own = named.swap_remove(own);
            let earlier: Vec<&Named> = named
                .iter()
                .filter(|host| host.until <= own.from && host.is_long())
                .collect();
            let is_renamed = is_chain(&earlier);
            return Self::Of {
                other_names: earlier
                    .iter()
                    .filter(|_| is_renamed)
                    .flat_map(|host| host.names.iter().cloned())
                    .collect(),
                names: own.names.into_iter().collect(),
            };
        }
        if own.is_some_and(is_localhost) && writes_beside(logs, &named) {
            return Self::Of {
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
        let all = |hosts: &[Named]| -> HashSet<String> {
            hosts.iter().flat_map(|host| host.names.clone()).collect()
        };
        // The last of them is what it is called, where nobody knows better.
        let known = match own {
            None => named.len().saturating_sub(1),
            Some(_) => named.len(),
        };
        Self::Of {
            names: all(&named[known..]),
            other_names: all(&named[..known]),
        }
    }
}

impl Log {
    /// The lines that are those of one host; what is left out, and what is taken under another name, is
    /// told in the notes. `None` where no line is left.
    ///
    /// The log then covers the time from the first to the last line of this host.
    #[must_use]
    pub fn lines_of(mut self, whose: &Whose) -> Option<Self> {
        let Whose::Of { names, other_names } = whose else {
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

/// `1 line of another host (db2)`, `3 lines of 2 other hosts (db2, web1)`.
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

/// A host by all names that lines have for it, in lower case, and the time of its lines.
struct Named {
    names: Vec<String>,
    from: Timestamp,
    until: Timestamp,
}

impl Named {
    fn is_long(&self) -> bool {
        self.until.duration_since(self.from) >= FORMER_MIN
    }
}

/// Whether each of some hosts begins where the one before has ended.
fn is_chain(hosts: &[&Named]) -> bool {
    let mut spans: Vec<(Timestamp, Timestamp)> =
        hosts.iter().map(|host| (host.from, host.until)).collect();
    spans.sort_unstable();
    spans.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// Whether lines that name nobody are written while one of some hosts writes.
fn writes_beside(logs: &[Log], named: &[Named]) -> bool {
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

/// The hosts that lines name, in the order of their names.
fn hosts_of<'a>(lines: impl Iterator<Item = &'a HostLines>, own: Option<&str>) -> Vec<Named> {
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
    // A name without a domain is that of the only host of this name that has one.
    let (full, short): (Vec<_>, Vec<_>) = spans.into_iter().partition(|(name, _)| !is_short(name));
    let mut named: Vec<Named> = Vec::new();
    // The place of each, `None` for the own one where no line has its domain.
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
        named.push(Named {
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
            named.push(Named {
                names: vec![name],
                from,
                until,
            });
        }
    }
    named.sort_by(|a, b| a.names.cmp(&b.names));
    named
}

/// Whether two names are those of one host: they are equal, or one of them is the other without a domain.
fn is_same_host(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
        || (is_short(a) != is_short(b) && short_name(a).eq_ignore_ascii_case(short_name(b)))
}

fn is_short(name: &str) -> bool {
    short_name(name) == name
}
