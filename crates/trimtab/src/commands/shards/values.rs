//! Parsers for command-line values.

use crate::values;
use shards::model::{Roles, ShutdownKind};
use shards::what_if::{NewIndex, NewNode, NodeShutdown};
use std::ops::RangeInclusive;

/// Parses a count within bounds: `25000`, `25,000`, `25k`, `1M`.
pub fn count_in<T: TryFrom<u64>>(
    bounds: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = values::count(text).map_err(|error| error.to_string())?;
        let within = bounds.contains(&number).then_some(number);
        within
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| {
                format!(
                    "expected a count from {} to {}, found {}",
                    units::grouped(*bounds.start()),
                    units::grouped(*bounds.end()),
                    units::grouped(number)
                )
            })
    }
}

/// Parses a share of a whole: `0.9` or `90%`.
///
/// # Errors
/// A message for clap.
pub fn share(text: &str) -> Result<f64, String> {
    let share = values::share(text).map_err(|error| error.to_string())?;
    if share <= 1.0 {
        Ok(share)
    } else {
        Err(format!("expected a share of at most 100%, found {text:?}"))
    }
}

/// Parses `key=value`; the value may be empty.
///
/// # Errors
/// A message for clap.
pub fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if key.starts_with("cluster.") => Ok((key.to_owned(), value.to_owned())),
        Some((key, _)) => Err(format!(
            "expected a setting of the cluster (cluster.routing.allocation...), found {key:?}"
        )),
        None => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Parses `PATTERN:index.key=value`; the value may be empty.
///
/// # Errors
/// A message for clap.
pub fn index_setting(text: &str) -> Result<(String, String, String), String> {
    let expected = || "expected PATTERN:index.KEY=VALUE, such as logs-*:index.number_of_replicas=0";
    let (pattern, rest) = text.split_once(':').ok_or_else(expected)?;
    match rest.split_once('=') {
        Some((key, value)) if key.starts_with("index.") && !pattern.is_empty() => {
            Ok((pattern.to_owned(), key.to_owned(), value.to_owned()))
        }
        _ => Err(expected().to_owned()),
    }
}

/// Parses `NODE`, `NODE:remove`, `NODE:restart` or `NODE:replace=NAME`.
///
/// # Errors
/// A message for clap.
pub fn shutdown(text: &str) -> Result<NodeShutdown, String> {
    let (node, kind) = text.split_once(':').unwrap_or((text, "remove"));
    let (kind, target) = match kind.split_once('=') {
        None if kind == "remove" => (ShutdownKind::Remove, None),
        None if kind == "restart" => (ShutdownKind::Restart, None),
        Some(("replace", by)) if !by.is_empty() => (ShutdownKind::Replace, Some(by.to_owned())),
        _ => {
            return Err(format!(
                "expected remove, restart or replace=NAME, found {kind:?}"
            ));
        }
    };
    if node.is_empty() {
        return Err("expected a node's name or ID before the colon".to_owned());
    }
    Ok(NodeShutdown {
        node: node.to_owned(),
        kind,
        target,
    })
}

/// Parses `NAME` or `NAME:shards=N,replicas=N`.
///
/// # Errors
/// A message for clap.
pub fn new_index(text: &str) -> Result<NewIndex, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    if name.is_empty() {
        return Err("expected a name, or NAME:shards=N,replicas=N".to_owned());
    }
    let mut index = NewIndex {
        name: name.to_owned(),
        shards: 1,
        replicas: 1,
    };
    for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("shards", number)) => index.shards = count_in(1..=1024)(number)?,
            Some(("replicas", number)) => index.replicas = count_in(0..=1000)(number)?,
            _ => return Err(format!("expected shards=N or replicas=N, found {pair:?}")),
        }
    }
    Ok(index)
}

/// Parses `NAME` or `NAME:attribute=value,...`, where `disk=SIZE` sets the disk size, each
/// `role=ROLE` gives it a role, and `id=ID` says that it is the node with this id that comes back.
///
/// # Errors
/// A message for clap.
pub fn new_node(text: &str) -> Result<NewNode, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    if name.is_empty() {
        return Err("expected a name, or NAME:attribute=value,...".to_owned());
    }
    let mut node = NewNode {
        name: name.to_owned(),
        id: None,
        attributes: Vec::new(),
        roles: Roles::default(),
        disk_bytes: None,
    };
    let mut roles = Vec::new();
    for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
        let twice = |key: &str| Err(format!("{key} is given twice for node {name:?}"));
        match pair.split_once('=') {
            Some(("disk", _)) if node.disk_bytes.is_some() => return twice("disk"),
            Some((key, _)) if node.attributes.iter().any(|(known, _)| known == key) => {
                return twice(key);
            }
            Some(("disk", value)) => {
                let bytes = values::size(value).map_err(|error| format!("disk: {error}"))?;
                let bytes = i64::try_from(bytes).map_err(|_| "expected a disk below 8 EiB")?;
                node.disk_bytes = Some(bytes);
            }
            Some(("id", value)) if !value.is_empty() => node.id = Some(value.to_owned()),
            Some(("role", value)) if !value.is_empty() => roles.push(value.to_owned()),
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                node.attributes.push((key.to_owned(), value.to_owned()));
            }
            _ => return Err(format!("expected attribute=value, found {pair:?}")),
        }
    }
    if !roles.is_empty() {
        node.roles = Roles::new(roles);
        if !node.roles.hold_shards() {
            return Err(format!(
                "node {name:?} has no role that holds shards, such as data"
            ));
        }
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_settings() {
        let node = new_node("node-4:zone=b,disk=2TB,rack=r1").unwrap();
        assert_eq!(node.name, "node-4");
        assert_eq!(node.disk_bytes, Some(2_000_000_000_000));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(node.attributes, [pair("zone", "b"), pair("rack", "r1")]);
        assert_eq!(new_node("n").unwrap().disk_bytes, None);
        let warm = new_node("n:role=data_warm,role=ingest,zone=b").unwrap();
        assert!(warm.roles.has("data_warm"));
        assert_eq!(warm.attributes, [pair("zone", "b")]);
        for text in [
            "",
            ":zone=b",
            "n:zone",
            "n:=b",
            "n:zone=",
            "n:disk=big",
            "n:disk=0",
            "n:zone=b,zone=c",
            "n:zone=b,rack=r,zone=b",
            "n:disk=1TB,disk=2TB",
            "n:role=master",
            "n:role=",
        ] {
            assert!(new_node(text).is_err(), "{text}");
        }
        assert_eq!(setting("cluster.x=a=b"), Ok(pair("cluster.x", "a=b")));
        assert_eq!(setting("cluster.x="), Ok(pair("cluster.x", "")));
        assert!(setting("cluster.x").is_err() && setting("index.x=1").is_err());
    }

    #[test]
    fn indices_and_their_settings() {
        let set = |text: &str| index_setting(text).map(|(a, b, c)| [a, b, c]);
        let parts = |parts: [&str; 3]| Ok(parts.map(str::to_owned));
        let replicas = set("logs-*:index.number_of_replicas=1");
        assert_eq!(replicas, parts(["logs-*", "index.number_of_replicas", "1"]));
        assert_eq!(set("a:index.x="), parts(["a", "index.x", ""]));
        for text in ["", "a", "a:index.x", ":index.x=1", "a:cluster.x=1"] {
            assert!(index_setting(text).is_err(), "{text}");
        }
        let down = |text: &str| shutdown(text).map(|down| (down.node, down.kind, down.target));
        let leaves = |kind, by: Option<&str>| Ok(("n".to_owned(), kind, by.map(str::to_owned)));
        assert_eq!(down("n"), leaves(ShutdownKind::Remove, None));
        assert_eq!(down("n:restart"), leaves(ShutdownKind::Restart, None));
        assert_eq!(
            down("n:replace=m"),
            leaves(ShutdownKind::Replace, Some("m"))
        );
        for text in ["", ":restart", "n:", "n:replace", "n:replace=", "n:stop"] {
            assert!(shutdown(text).is_err(), "{text}");
        }
        let made = |text: &str| new_index(text).map(|made| (made.name, made.shards, made.replicas));
        assert_eq!(made("i"), Ok(("i".to_owned(), 1, 1)));
        let given = made("i:shards=5,replicas=0");
        assert_eq!(given, Ok(("i".to_owned(), 5, 0)));
        for text in [
            "",
            ":shards=1",
            "i:shards=0",
            "i:shards=x",
            "i:replicas=",
            "i:5",
        ] {
            assert!(new_index(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_disk_without_a_unit_is_refused_with_the_way_out() {
        let error = new_node("n:disk=2").unwrap_err();
        assert!(error.contains("2 has no unit"), "{error}");
    }

    #[test]
    fn shares() {
        assert_eq!(share("0.9"), Ok(0.9));
        assert_eq!(share("90%"), Ok(0.9));
        assert_eq!(share("1"), Ok(1.0));
        for text in ["", "%", "90", "-0.1", "101%", "1.5", "nan", "0,9"] {
            assert!(share(text).is_err(), "{text}");
        }
        assert!(share("90").unwrap_err().contains("write 90 % as 90%"));
    }

    #[test]
    fn counts_have_bounds() {
        let nodes = count_in::<u32>(1..=100_000);
        assert_eq!(nodes("25k"), Ok(25_000));
        assert_eq!(nodes("25,000"), Ok(25_000));
        for text in ["0", "100,001", "1M", "many", "-1", "1.5"] {
            assert!(nodes(text).is_err(), "{text}");
        }
        assert!(nodes("1M").unwrap_err().contains("from 1 to 100,000"));
        assert_eq!(count_in::<u8>(0..=1000)("300").ok(), None);
    }
}
