//! Configuration files of Elasticsearch, OpenSearch and mongod, as far as they are not YAML, and
//! their settings.

use super::{store_settings as settings, yaml};
use facts::InputError;

/// Whether a file is in the format of mongod before 2.6: `name = value` lines, comments start with
/// `#`. mongod itself treats a file as YAML if it can; no line of YAML settings looks like this.
pub(crate) fn is_legacy_format(path: &str, text: &str) -> bool {
    let is_yaml = [".yml", ".yaml"]
        .iter()
        .any(|extension| path.ends_with(extension));
    let mut lines = content_lines(text).peekable();
    !is_yaml && lines.peek().is_some() && lines.all(|(_, line)| legacy_setting(line).is_some())
}

/// Parses the settings of a file in the old format, under their old names.
///
/// # Errors
/// At the first line that is not `name = value`.
pub(crate) fn read_legacy_settings(
    source: &str,
    text: &str,
) -> Result<Vec<(String, String)>, InputError> {
    content_lines(text)
        .map(|(number, line)| {
            legacy_setting(line)
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                // The line may contain a secret, so it is not quoted.
                .ok_or_else(|| {
                    InputError::new(source, "name = value", "something else").at_line(number)
                })
        })
        .collect()
}

fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .enumerate()
        .map(|(index, line)| {
            let content = line.split('#').next().unwrap_or_default();
            (index + 1, content.trim())
        })
        .filter(|(_, line)| !line.is_empty())
}

fn legacy_setting(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, value.trim()))
}

/// Converts a setting of the old format to its new name and value; `None` for one that no rule
/// needs.
pub(crate) fn current_setting((name, value): (String, String)) -> Option<(String, String)> {
    let is_on = value == "true" || value == "1";
    match (settings::current_mongod_name(&name)?, is_on) {
        ("nojournal", _) => Some(("storage.journal.enabled".to_owned(), (!is_on).to_string())),
        ("configsvr", true) => Some(("sharding.clusterRole".to_owned(), "configsvr".to_owned())),
        ("configsvr", false) => None,
        (new, _) => Some((new.to_owned(), value)),
    }
}

/// Returns the value of a setting; of several the last, which takes effect.
pub(crate) fn value<'s>(settings: &'s [(String, String)], key: &str) -> Option<&'s str> {
    settings
        .iter()
        .rev()
        .find(|(name, _)| name == key)
        .map(|(_, value)| value.as_str())
}

/// Overrides settings of the file with those of the command line.
pub(crate) fn override_with(settings: &mut Vec<(String, String)>, over: Vec<(String, String)>) {
    for (key, value) in over {
        settings.retain(|(name, _)| settings::list_of(name) != key);
        settings.push((key, value));
    }
}

/// Returns the items of an Elasticsearch list setting: a YAML list, a list written as JSON, or
/// comma-separated text (`Settings#getAsList`). `None` if it is not set.
///
/// # Errors
/// If a list written as JSON is malformed.
pub(crate) fn list(
    settings: &[(String, String)],
    key: &str,
) -> Result<Option<Vec<String>>, InputError> {
    let Some(text) = value(settings, key) else {
        let items: Vec<String> = settings
            .iter()
            .filter(|(name, _)| name != key && settings::list_of(name) == key)
            .map(|(_, value)| value.clone())
            .collect();
        return Ok((!items.is_empty()).then_some(items));
    };
    let items: Vec<String> = if text.starts_with('[') {
        yaml::flatten(key, &format!("list: {text}"))?
            .into_iter()
            .map(|(_, item)| item)
            .collect()
    } else {
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect()
    };
    Ok((!items.is_empty()).then_some(items))
}

/// Substitutes the placeholders in a value. `${cluster.name}` is another setting of the same
/// server; anything else is an environment variable of the server, which is not read.
///
/// # Errors
/// The unknown placeholder.
pub(crate) fn expand(value: &str, settings: &[(String, String)]) -> Result<String, String> {
    let mut expanded = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let known = after
            .split_once('}')
            .filter(|(name, _)| name.contains('.'))
            .and_then(|(name, tail)| Some((self::value(settings, name)?, tail)))
            .filter(|(filled, _)| !filled.contains("${"));
        let Some((filled, tail)) = known else {
            let name = after.split('}').next().unwrap_or(after);
            return Err(format!("${{{name}}}"));
        };
        expanded.push_str(before);
        expanded.push_str(filled);
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn the_legacy_format_is_distinguished_from_yaml() {
        let old = "# mongodb.conf\ndbpath=/var/lib/mongodb\n\njournal = true # on\n";
        assert!(is_legacy_format("etc/mongodb.conf", old));
        assert!(!is_legacy_format(
            "etc/elasticsearch/elasticsearch.yml",
            old
        ));
        assert!(!is_legacy_format(
            "etc/mongod.conf",
            "storage:\n  dbPath: /a=b\n"
        ));
        assert!(!is_legacy_format("etc/mongod.conf", "# nothing\n"));
        assert_eq!(
            read_legacy_settings("x", old),
            Ok(owned(&[
                ("dbpath", "/var/lib/mongodb"),
                ("journal", "true")
            ]))
        );
        let error = read_legacy_settings("x", "a = b\ns3cret\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("x:2:") && !error.contains("s3cret"),
            "{error}"
        );
    }

    #[test]
    fn old_names_become_new_ones() {
        let new = |name: &str, value: &str| current_setting((name.to_owned(), value.to_owned()));
        assert_eq!(new("nojournal", "true").unwrap().1, "false");
        assert_eq!(new("configsvr", "true").unwrap().0, "sharding.clusterRole");
        assert_eq!(new("configsvr", "false"), None);
        assert_eq!(new("dbpath", "/x").unwrap().0, "storage.dbPath");
        assert_eq!(new("keyFile", "/x"), None);
    }

    #[test]
    fn lists_come_in_every_form() {
        let of = |pairs: &[(&str, &str)]| list(&owned(pairs), "path.data").unwrap();
        let two = Some(vec!["/a".to_owned(), "/b".to_owned()]);
        assert_eq!(of(&[("path.data[0]", "/a"), ("path.data[1]", "/b")]), two);
        assert_eq!(of(&[("path.data", "/a, /b")]), two);
        assert_eq!(of(&[("path.data", "[\"/a\",\"/b\"]")]), two);
        assert_eq!(of(&[("path.data", "")]), None);
        assert_eq!(of(&[("path.logs", "/l")]), None);
        let comma = of(&[("path.data[0]", "/with,comma")]);
        assert_eq!(comma, Some(vec!["/with,comma".to_owned()]));
        assert!(list(&owned(&[("path.data", "[\"/a")]), "path.data").is_err());
    }

    #[test]
    fn the_command_line_replaces_a_list() {
        let mut settings = owned(&[("path.data[0]", "/a"), ("path.data[1]", "/b")]);
        override_with(&mut settings, owned(&[("path.data", "/c")]));
        assert_eq!(settings, owned(&[("path.data", "/c")]));
    }

    #[test]
    fn placeholders_are_filled_in_or_named() {
        let settings = owned(&[("cluster.name", "logs"), ("node.name", "${HOSTNAME}")]);
        let expand = |value: &str| expand(value, &settings);
        assert_eq!(
            expand("/srv/${cluster.name}/es"),
            Ok("/srv/logs/es".to_owned())
        );
        assert_eq!(expand("/srv/$x"), Ok("/srv/$x".to_owned()));
        assert_eq!(expand("/srv/${HOSTNAME}"), Err("${HOSTNAME}".to_owned()));
        assert_eq!(expand("/srv/${node.name}"), Err("${node.name}".to_owned()));
        assert_eq!(expand("/srv/${node.attr"), Err("${node.attr}".to_owned()));
    }
}
