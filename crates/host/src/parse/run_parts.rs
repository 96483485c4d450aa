//! Which file names cron and run-parts ignore.

/// Distributions with Debian's cron and Debian's run-parts.
const DEBIAN_LIKE: &[&str] = &[
    "debian",
    "devuan",
    "kali",
    "linuxmint",
    "neon",
    "pop",
    "raspbian",
    "ubuntu",
];

/// Whether a distribution (`ID` of os-release) has Debian's cron and run-parts.
pub(crate) fn is_debian_like(distribution: Option<&str>) -> bool {
    distribution.is_some_and(|id| DEBIAN_LIKE.contains(&id))
}

/// Returns why cron and run-parts ignore a file name; `None` if they do not.
///
/// Debian: only letters, digits, `_` and `-` are accepted (run-parts(8), cron(8)). Elsewhere
/// cronie's crond and crontabs' run-parts ignore backups and package managers' leftovers.
pub(crate) fn ignored_name(name: &str, debian_like: bool) -> Option<String> {
    if debian_like {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        return (!name.chars().all(plain)).then(|| {
            format!("its name {name:?} has characters other than letters, digits, _ and -, so it is ignored")
        });
    }
    let left_over = [
        "~", ",v", ".cfsaved", ".rpmnew", ".rpmorig", ".rpmsave", ".swp",
    ];
    let ignored =
        name.starts_with(['.', '#']) || left_over.iter().any(|ending| name.ends_with(ending));
    ignored.then(|| format!("its name {name:?} is that of a backup, so it is ignored"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_takes_no_dots() {
        assert_eq!(ignored_name("e2scrub_all", true), None);
        assert_eq!(ignored_name("0anacron", true), None);
        assert!(ignored_name("trim.sh", true).is_some());
        assert!(ignored_name("mdadm.dpkg-old", true).is_some());
    }

    #[test]
    fn elsewhere_only_backups_are_ignored() {
        assert_eq!(ignored_name("trim.sh", false), None);
        assert_eq!(ignored_name("man-db.cron", false), None);
        assert!(ignored_name("raid-check.rpmsave", false).is_some());
        assert!(ignored_name("raid-check~", false).is_some());
    }
}
