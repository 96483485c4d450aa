//! Versions of stores, determined from their files; servers are not queried.

use crate::collect::view::View;
use crate::source::Reader;

/// Returns the version in the name of the server's own jar: `lib/elasticsearch-8.11.0.jar`.
pub(crate) fn from_jar(
    reader: &Reader<'_>,
    view: &View,
    home: &str,
    product: &str,
) -> Option<String> {
    let names = view.list(reader, &format!("{home}/lib"));
    names.iter().find_map(|name| {
        let version = name
            .strip_prefix(product)?
            .strip_prefix('-')?
            .strip_suffix(".jar")?;
        // The directory also contains `elasticsearch-core-8.11.0.jar`.
        is_version(version).then(|| version.to_owned())
    })
}

/// Returns the version in the directory that a tarball unpacks to:
/// `/opt/mongodb-linux-x86_64-ubuntu2004-4.4.6/bin/mongod`.
pub(crate) fn from_directory(program: &str, product: &str) -> Option<String> {
    program
        .split('/')
        .filter(|directory| directory.starts_with(product))
        .find_map(|directory| {
            let (_, version) = directory.rsplit_once('-')?;
            (is_version(version) && version.contains('.')).then(|| version.to_owned())
        })
}

/// Returns the upstream version of the first installed Debian package among `packages`.
pub(crate) fn from_dpkg(reader: &Reader<'_>, view: &View, packages: &[&str]) -> Option<String> {
    let file = view.regular_file(reader, "/var/lib/dpkg/status").ok()?;
    let text = reader.text(&file).ok()?;
    packages.iter().find_map(|package| {
        let version = installed(&text)
            .find(|(name, _)| name == package)
            .map(|(_, version)| version)?;
        // epoch:upstream-revision (deb-version(7)).
        let version = version.split_once(':').map_or(version, |(_, rest)| rest);
        let version = version.rsplit_once('-').map_or(version, |(rest, _)| rest);
        Some(version.to_owned())
    })
}

/// Iterates over the names and versions of installed packages in a dpkg status file.
fn installed(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n\n").filter_map(|stanza| {
        let field = |name: &str| {
            stanza
                .lines()
                .find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
        };
        field("Status")?
            .ends_with(" installed")
            .then_some((field("Package")?, field("Version")?))
    })
}

fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;
    use facts::Host;

    #[test]
    fn only_the_servers_own_jar_counts() {
        let source = MemorySource::new()
            .file("h/lib/elasticsearch-cli-7.17.28.jar", "")
            .file("h/lib/elasticsearch-7.17.28.jar", "")
            .file("h/lib/lucene-core-8.11.3.jar", "");
        let reader = Reader::new(&source);
        let view = View::of_host(&Host::default());
        let version = from_jar(&reader, &view, "/h", "elasticsearch");
        assert_eq!(version.as_deref(), Some("7.17.28"));
        assert_eq!(from_jar(&reader, &view, "/none", "elasticsearch"), None);
    }

    #[test]
    fn a_tarballs_directory_has_the_version() {
        let of = |program| from_directory(program, "mongodb");
        assert_eq!(
            of("/opt/mongodb-linux-x86_64-ubuntu2004-4.4.6/bin/mongod").as_deref(),
            Some("4.4.6")
        );
        assert_eq!(of("/opt/mongodb-linux-x86_64/bin/mongod"), None);
        assert_eq!(of("/usr/bin/mongod"), None);
    }

    #[test]
    fn only_installed_packages_count() {
        let source = MemorySource::new().file(
            "var/lib/dpkg/status",
            "Package: mongodb-server\nStatus: deinstall ok config-files\nVersion: 1:2.4.9-1\n\n\
             Package: mongodb-org-server\nStatus: install ok installed\nVersion: 1:4.4.6-1ubuntu1\n",
        );
        let reader = Reader::new(&source);
        let view = View::of_host(&Host::default());
        let of = |packages: &[&str]| from_dpkg(&reader, &view, packages);
        assert_eq!(of(&["mongodb-server"]), None);
        let both = of(&["mongodb-server", "mongodb-org-server"]);
        assert_eq!(both.as_deref(), Some("4.4.6"));
    }
}
