use crate::parse::store_config::{is_legacy_format, read_legacy_settings};
use crate::parse::{store_settings, yaml};
use crate::unread::Unread;
use std::fmt::Write as _;

/// Whether a file is treated as the configuration of a store. `mongod --config` may name any file,
/// so this depends on the extension; if the file is something else, none of its lines is kept.
pub(super) fn is_config(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, extension)| {
        matches!(
            extension,
            "yml" | "yaml" | "conf" | "cnf" | "cfg" | "config"
        )
    })
}

/// Filters the settings of a store's configuration, as flat YAML, or as `name = value` if the file
/// is in the format of mongod before 2.6.
pub(super) fn keep(path: &str, bytes: &[u8]) -> Result<Vec<u8>, Unread> {
    // Comments in old files are often Latin-1.
    let text = String::from_utf8_lossy(bytes);
    let malformed = |error: facts::InputError| Unread::Malformed(error.to_string());
    let mut kept = String::new();
    if is_legacy_format(path, &text) {
        for (name, value) in read_legacy_settings(path, &text).map_err(malformed)? {
            if store_settings::current_mongod_name(&name).is_some() {
                let _ = writeln!(kept, "{name} = {value}");
            }
        }
        return Ok(kept.into_bytes());
    }
    let document = yaml::read(path, &text).map_err(malformed)?;
    for (key, value) in document.pairs {
        let is_kept = store_settings::is_kept(&key)
            || store_settings::is_kept_for_mongod(&key)
            || store_settings::is_kept_for_others(&key);
        if is_kept {
            kept.push_str(&yaml::write_pair(&key, &value));
        } else if let Some(setting) = store_settings::expanded_mongod_setting(&key) {
            // It matters that the value is fetched; where from may be secret.
            let line = yaml::write_pair(&format!("{setting}.__exec"), "");
            if !kept.contains(&line) {
                kept.push_str(&line);
            }
        }
    }
    if document.second_document_line.is_some() {
        // If no settings precede it, the first separator only opens the first document.
        let end = if kept.is_empty() {
            "---\n---\n"
        } else {
            "---\n"
        };
        kept.push_str(end);
    }
    Ok(kept.into_bytes())
}

/// Debian packages whose version is used.
const PACKAGES: [&[u8]; 8] = [
    b"elasticsearch",
    b"elasticsearch-oss",
    b"opensearch",
    b"mongodb-org-server",
    b"mongodb-enterprise-server",
    b"mongodb-server-core",
    b"mongodb-server",
    b"percona-server-mongodb-server",
];

/// Keeps name, status and version of the stores' packages; other installed packages are private.
pub(super) fn keep_dpkg_status(bytes: &[u8]) -> Vec<u8> {
    const FIELDS: [&[u8]; 3] = [b"Package: ", b"Status: ", b"Version: "];
    let mut kept = Vec::new();
    let mut in_package = false;
    for line in bytes.split(|&b| b == b'\n') {
        // The field that each stanza starts with.
        if let Some(name) = line.strip_prefix(FIELDS[0]) {
            in_package = PACKAGES.contains(&name);
            if in_package && !kept.is_empty() {
                kept.push(b'\n');
            }
        }
        if in_package && FIELDS.iter().any(|field| line.starts_with(field)) {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(path: &str, text: &str) -> String {
        String::from_utf8(keep(path, text.as_bytes()).unwrap()).unwrap()
    }

    const ELASTIC: &str = "\
cluster.name: logs
node:
  name: es-1
  roles: [ master, data ]
path.data: [/srv/a, '/srv/b']
path.repo: [\"/mnt/backup\"]
xpack.security.transport.ssl.keystore.path: certs/s3cret.p12
xpack.security.transport.ssl.keystore.password: s3cret
xpack.notification.slack.account.ops.url: https://user:s3cret@hooks
reindex.remote.whitelist: [s3cret.example:9200]
";

    #[test]
    fn only_allowed_settings_are_kept() {
        let kept = kept("etc/elasticsearch/elasticsearch.yml", ELASTIC);
        assert_eq!(
            kept,
            "\"cluster.name\": \"logs\"\n\"node.name\": \"es-1\"\n\
             \"node.roles[0]\": \"master\"\n\"node.roles[1]\": \"data\"\n\
             \"path.data[0]\": \"/srv/a\"\n\"path.data[1]\": \"/srv/b\"\n"
        );
    }

    #[test]
    fn mongods_secrets_are_not_kept() {
        let yaml = "storage:\n  dbPath:\n    __rest: https://s3cret@host/\n\
                    security: {keyFile: /etc/s3cret}\nnet.tls.certificateKeyFilePassword: s3cret\n";
        assert_eq!(
            kept("etc/mongod.conf", yaml),
            "\"storage.dbPath.__exec\": \"\"\n"
        );
        let old = "dbpath=/srv/db\nkeyFile = /etc/s3cret\nsslPEMKeyPassword=s3cret # s3cret\n";
        assert_eq!(kept("etc/mongodb.conf", old), "dbpath = /srv/db\n");
        let other = "[client]\nuser = root\npassword = s3cret\n";
        let refused = keep("etc/mysql/my.cnf", other.as_bytes()).unwrap_err();
        assert!(!refused.to_string().contains("s3cret"), "{refused}");
    }

    #[test]
    fn a_second_document_stays_visible() {
        let kept = kept(
            "etc/mongod.conf",
            "storage.engine: mmapv1\n---\na: s3cret\n",
        );
        assert_eq!(kept, "\"storage.engine\": \"mmapv1\"\n---\n");
        assert_eq!(
            yaml::read("x", &kept).unwrap().second_document_line,
            Some(2)
        );
    }

    #[test]
    fn other_packages_are_not_named() {
        let status = "Package: openssh-server\nStatus: install ok installed\nVersion: 9\n\n\
                      Package: elasticsearch\nStatus: install ok installed\nPriority: optional\n\
                      Conffiles:\n /etc/x s3cret\nVersion: 7.17.28\n\n\
                      Package: zsh\nVersion: 5\n\nPackage: mongodb-org-server\nVersion: 4.4.6\n";
        let kept = keep_dpkg_status(status.as_bytes());
        assert_eq!(
            String::from_utf8_lossy(&kept),
            "Package: elasticsearch\nStatus: install ok installed\nVersion: 7.17.28\n\n\
             Package: mongodb-org-server\nVersion: 4.4.6\n"
        );
        assert_eq!(keep_dpkg_status(&kept), kept);
    }

    proptest! {
        #[test]
        fn filtering_twice_changes_no_settings(
            text in "((cluster.name|path|path.data|secret|storage.dbPath|storage.dbPath.__exec|nojournal|dbpath)(: |=| = |:\n  )(a|\"b c\"|[{]data: x[}]|\\[/a, /b\\]|~|'#\u{e4}'|data: /srv)\n|---\n|# c\n){0,6}",
            path in "etc/(x\\.conf|elasticsearch\\.yml)"
        ) {
            let Ok(first) = keep(&path, text.as_bytes()) else {
                return Ok(());
            };
            prop_assert_eq!(keep(&path, &first), Ok(first.clone()));
            let once = String::from_utf8(first).unwrap();
            prop_assert!(!once.contains("secret"));
            if !is_legacy_format(&path, &text) && !once.contains("__exec") {
                let allowed: Vec<_> = yaml::flatten("x", &text)
                    .unwrap()
                    .into_iter()
                    .filter(|(key, _)| store_settings::is_kept(key) || store_settings::is_kept_for_mongod(key))
                    .collect();
                prop_assert_eq!(yaml::flatten("x", &once).unwrap(), allowed);
            }
        }
    }
}
