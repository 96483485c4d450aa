//! Values of the command line.

use crate::values::size;
use shards::what_if::NewNode;

/// `0.9` or `90%`, from none to all.
///
/// # Errors
/// In words, for clap.
pub fn share(text: &str) -> Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse().map(|value: f64| value / 100.0),
        None => text.parse(),
    };
    value
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a share from 0 to 1, or from 0% to 100%".to_owned())
}

/// `key=value`; the value may be empty.
///
/// # Errors
/// In words, for clap.
pub fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if key.starts_with("cluster.") => Ok((key.to_owned(), value.to_owned())),
        Some((key, _)) => Err(format!(
            "expected a setting of the cluster (cluster.routing.allocation...), found {key:?}"
        )),
        None => Err("expected KEY=VALUE".to_owned()),
    }
}

/// `NAME`, or `NAME:attribute=value,...` with `disk=SIZE` among them.
///
/// # Errors
/// In words, for clap.
pub fn new_node(text: &str) -> Result<NewNode, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    if name.is_empty() {
        return Err("expected a name, or NAME:attribute=value,...".to_owned());
    }
    let mut node = NewNode {
        name: name.to_owned(),
        attributes: Vec::new(),
        disk_bytes: None,
    };
    for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
        let twice = |key: &str| Err(format!("{key} is given twice for node {name:?}"));
        match pair.split_once('=') {
            Some(("disk", _)) if node.disk_bytes.is_some() => return twice("disk"),
            Some((key, _)) if node.attributes.iter().any(|(known, _)| known == key) => {
                return twice(key);
            }
            Some(("disk", value)) => {
                let bytes = i64::try_from(size(value).map_err(|error| error.to_string())?)
                    .ok()
                    .filter(|&bytes| bytes > 0);
                node.disk_bytes = Some(bytes.ok_or("expected a disk with a size, like 2TB")?);
            }
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                node.attributes.push((key.to_owned(), value.to_owned()));
            }
            _ => return Err(format!("expected attribute=value, found {pair:?}")),
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
        ] {
            assert!(new_node(text).is_err(), "{text}");
        }
        assert_eq!(setting("cluster.x=a=b"), Ok(pair("cluster.x", "a=b")));
        assert_eq!(setting("cluster.x="), Ok(pair("cluster.x", "")));
        assert!(setting("cluster.x").is_err() && setting("index.x=1").is_err());
    }

    #[test]
    fn shares() {
        assert_eq!(share("0.9"), Ok(0.9));
        assert_eq!(share("90%"), Ok(0.9));
        assert_eq!(share("1"), Ok(1.0));
        for text in ["", "%", "90", "-0.1", "101%", "nan", "0,9"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
