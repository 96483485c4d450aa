//! Replaces names in responses: those of nodes, hosts, indices and the cluster, and the values of
//! attributes. The same name gets the same replacement everywhere.
//!
//! The bundle's own replacements (its host's name and domain, addresses) take precedence, so that a
//! node can still be matched to the host the bundle was taken on. Other names are numbered:
//! `node1`, `index2`. A number reveals nothing about the name; the salt determines the order of
//! numbering.

use crate::answer::indices::{IndexTally, OTHER};
use crate::answer::settings::{ARCHIVED, NOT_KEPT};
use crate::answers::{Answers, Part};
use facts::cluster::SettingValue;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

/// Words that a bundle's own replacements are made of, each followed by a number.
const BUNDLE_WORDS: [&str; 5] = ["host", "domain", "cluster", "user", "serial"];
/// Replacement for a name that needs no number.
const CLUSTER: &str = "cluster0";

impl Answers {
    /// Replaces the names. `replace` is the bundle's own text replacement; `salt` is random for
    /// each bundle.
    #[must_use]
    pub fn anonymise(mut self, replace: &dyn Fn(&str) -> String, salt: &[u8; 16]) -> Self {
        let names = Names::of(&self, replace, salt);
        self.endpoint = names.endpoint(&self.endpoint);
        if let Part::Answer(root) = &mut self.root {
            names.cluster(&mut root.cluster_name);
        }
        if let Part::Answer(nodes) = &mut self.nodes {
            names.cluster(&mut nodes.cluster_name);
            nodes.nodes = std::mem::take(&mut nodes.nodes)
                .into_iter()
                .map(|(id, mut node)| {
                    node.name = names.node(&node.name);
                    node.host = node.host.map(|host| names.node(&host));
                    node.ip = node.ip.map(|ip| names.node(&ip));
                    for value in node.attributes.values_mut() {
                        *value = names.value(value);
                    }
                    names.settings(&mut node.settings.0);
                    (names.id(&id), node)
                })
                .collect();
        }
        if let Part::Answer(stats) = &mut self.node_stats {
            stats.nodes = std::mem::take(&mut stats.nodes)
                .into_iter()
                .map(|(id, mut stats)| {
                    for path in &mut stats.fs.data {
                        // In paths, only what the bundle replaces everywhere.
                        path.path = path.path.as_deref().map(replace);
                        path.mount = path.mount.as_deref().map(replace);
                    }
                    (names.id(&id), stats)
                })
                .collect();
        }
        if let Part::Answer(routing) = &mut self.routing {
            routing.master = routing.master.as_deref().map(|id| names.id(id));
            routing.by_node = std::mem::take(&mut routing.by_node)
                .into_iter()
                .map(|(id, count)| (names.id(&id), count))
                .collect();
        }
        if let Part::Answer(indices) = &mut self.indices {
            indices.values = std::mem::take(&mut indices.values)
                .into_iter()
                .map(|(key, mut values)| {
                    names.index_values(&key, &mut values);
                    (names.key(key), values)
                })
                .collect();
        }
        if let Part::Answer(settings) = &mut self.settings {
            names.settings(&mut settings.transient.0);
            names.settings(&mut settings.persistent.0);
            names.settings(&mut settings.defaults.0);
        }
        if let Part::Answer(pending) = &mut self.pending_tasks {
            for task in &mut pending.tasks {
                task.source = without_brackets(&task.source);
            }
        }
        if let Part::Answer(found) = &mut self.hot_threads {
            for thread in &mut found.threads {
                // A thread name that could not be parsed.
                if thread.pool.contains('[') {
                    thread.pool = without_brackets(&thread.pool);
                }
                thread.node = thread.node.take().map(|node| names.node(&node));
            }
        }
        self
    }
}

/// Replacements by kind of name.
struct Names<'a> {
    replace: &'a dyn Fn(&str) -> String,
    nodes: BTreeMap<String, u32>,
    ids: BTreeMap<String, u32>,
    indices: BTreeMap<String, u32>,
    values: BTreeMap<String, u32>,
    keys: BTreeMap<String, u32>,
}

impl<'a> Names<'a> {
    fn of(answers: &Answers, replace: &'a dyn Fn(&str) -> String, salt: &[u8; 16]) -> Self {
        let mut nodes = BTreeSet::new();
        let mut ids = BTreeSet::new();
        let mut indices = BTreeSet::new();
        let mut values = BTreeSet::new();
        let mut keys = BTreeSet::new();
        for (id, node) in answers.nodes.answer().iter().flat_map(|part| &part.nodes) {
            ids.insert(id.clone());
            nodes.insert(node.name.clone());
            nodes.extend(node.host.clone());
            values.extend(node.attributes.values().cloned());
            values.extend(filter_values(&node.settings.0));
        }
        let threads = answers.hot_threads.answer();
        let threads = threads.iter().flat_map(|found| &found.threads);
        nodes.extend(threads.filter_map(|thread| thread.node.clone()));
        let stats = answers.node_stats.answer();
        ids.extend(stats.iter().flat_map(|stats| stats.nodes.keys().cloned()));
        if let Some(routing) = answers.routing.answer() {
            ids.extend(routing.master.clone());
            ids.extend(routing.by_node.keys().cloned());
        }
        if let Some(settings) = answers.settings.answer() {
            for layer in [
                &settings.transient,
                &settings.persistent,
                &settings.defaults,
            ] {
                values.extend(filter_values(&layer.0));
                let unknown = |(_, value): &(&String, &SettingValue)| value.text() == NOT_KEPT;
                keys.extend(layer.0.iter().filter(unknown).map(|(key, _)| key.clone()));
            }
        }
        if let Some(found) = answers.indices.answer() {
            for (key, tallies) in &found.values {
                indices.extend(tallies.values().map(|tally| tally.example.clone()));
                if is_filter(key) {
                    values.extend(tallies.keys().flat_map(|value| members(value)));
                }
                if tallies.contains_key(NOT_KEPT) {
                    keys.insert(key.clone());
                }
            }
        }
        Self {
            replace,
            nodes: numbered(nodes, salt),
            ids: numbered(ids, salt),
            indices: numbered(indices, salt),
            values: numbered(values, salt),
            keys: numbered(keys, salt),
        }
    }

    /// Returns the bundle's replacement for a name, if it leaves nothing of the name.
    fn by_bundle(&self, name: &str) -> Option<String> {
        let replaced = (self.replace)(name);
        is_replacement(&replaced).then_some(replaced)
    }

    /// Replaces a node's name, host or address.
    fn node(&self, name: &str) -> String {
        self.by_bundle(name)
            .unwrap_or_else(|| format!("node{}", number(&self.nodes, name)))
    }

    fn id(&self, id: &str) -> String {
        format!("id{}", number(&self.ids, id))
    }

    fn cluster(&self, name: &mut Option<String>) {
        if let Some(name) = name {
            *name = self.by_bundle(name).unwrap_or_else(|| CLUSTER.to_owned());
        }
    }

    /// Replaces a value that names a rack, a zone, a node or an address.
    fn value(&self, value: &str) -> String {
        if self.nodes.contains_key(value) {
            return self.node(value);
        }
        self.by_bundle(value)
            .unwrap_or_else(|| format!("value{}", number(&self.values, value)))
    }

    /// Replaces a comma-separated list of such values.
    fn list(&self, list: &str) -> String {
        let members: Vec<String> = members(list)
            .iter()
            .map(|member| self.value(member))
            .collect();
        members.join(",")
    }

    /// Replaces a setting's key. Of an unknown archived setting only the beginning of the key is
    /// kept: keys of accounts, realms and remote clusters have names in the middle.
    fn key(&self, key: String) -> String {
        match (self.keys.get(&key), key.strip_prefix(ARCHIVED)) {
            (Some(number), Some(rest)) => {
                let first = rest.split('.').next().unwrap_or_default();
                format!("{ARCHIVED}{first}.setting{number}")
            }
            _ => key,
        }
    }

    fn settings(&self, settings: &mut BTreeMap<String, SettingValue>) {
        *settings = std::mem::take(settings)
            .into_iter()
            .map(|(key, value)| (self.key(key), value))
            .collect();
        for (_, value) in settings.iter_mut().filter(|(key, _)| is_filter(key)) {
            match value {
                SettingValue::One(text) => *text = self.list(text),
                SettingValue::List(texts) => {
                    for text in texts {
                        *text = self.list(text);
                    }
                }
            }
        }
    }

    fn index_values(&self, key: &str, values: &mut BTreeMap<String, IndexTally>) {
        let renamed = std::mem::take(values)
            .into_iter()
            .map(|(value, mut tally)| {
                tally.example = format!("index{}", number(&self.indices, &tally.example));
                let value = if is_filter(key) && value != OTHER {
                    self.list(&value)
                } else {
                    value
                };
                (value, tally)
            });
        *values = renamed.collect();
    }

    /// Keeps the scheme and port and replaces the host.
    fn endpoint(&self, endpoint: &str) -> String {
        let (scheme, rest) = endpoint.split_once("://").unwrap_or(("http", endpoint));
        let authority = rest.split('/').next().unwrap_or_default();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (host, format!(":{port}"))
            }
            _ => (authority, String::new()),
        };
        let bare = host.trim_matches(['[', ']']);
        let loopback = bare == "localhost"
            || bare
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        let host = if loopback {
            host.to_owned()
        } else {
            match self.by_bundle(bare) {
                Some(name) if name.contains(':') => format!("[{name}]"),
                Some(name) => name,
                None => CLUSTER.to_owned(),
            }
        };
        format!("{scheme}://{host}{port}")
    }
}

/// Whether a setting's values name nodes, hosts, or values of attributes. Tiers are roles.
fn is_filter(key: &str) -> bool {
    let named = [".include.", ".exclude.", ".require.", ".initial_recovery."];
    (named.iter().any(|part| key.contains(part))
        && !key.ends_with("._tier")
        && !key.ends_with("._tier_preference"))
        || key.contains(".awareness.force.")
}

fn filter_values(settings: &BTreeMap<String, SettingValue>) -> Vec<String> {
    settings
        .iter()
        .filter(|(key, _)| is_filter(key))
        .flat_map(|(_, value)| members(&value.text()))
        .collect()
}

fn members(list: &str) -> Vec<String> {
    list.split(',')
        .map(|member| member.trim().to_owned())
        .filter(|member| !member.is_empty())
        .collect()
}

/// Numbers the names from 1, in an order determined by the salt.
fn numbered(names: BTreeSet<String>, salt: &[u8; 16]) -> BTreeMap<String, u32> {
    let mut order: Vec<(u64, String)> = names
        .into_iter()
        .map(|name| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            name.hash(&mut hasher);
            (hasher.finish(), name)
        })
        .collect();
    order.sort();
    order
        .into_iter()
        .zip(1..)
        .map(|((_, name), number)| (name, number))
        .collect()
}

/// Returns a name's number; 0 is never assigned.
fn number(numbers: &BTreeMap<String, u32>, name: &str) -> u32 {
    numbers.get(name).copied().unwrap_or(0)
}

/// Whether a text is an address, or consists of a bundle's numbered words (`host1.domain2`).
fn is_replacement(text: &str) -> bool {
    let numbered_word = |label: &str| {
        BUNDLE_WORDS.iter().any(|word| {
            label.strip_prefix(word).is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            })
        })
    };
    text.parse::<IpAddr>().is_ok() || text.split('.').all(numbered_word)
}

/// Removes the contents of brackets, where servers put names: `create-index [...]`.
fn without_brackets(text: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '[' | '{' => {
                if depth == 0 {
                    out.push(c);
                    out.push_str("...");
                }
                depth += 1;
            }
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    out.push(c);
                }
            }
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
#[path = "anonymise_tests.rs"]
mod tests;
