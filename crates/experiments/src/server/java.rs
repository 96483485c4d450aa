//! The Java that runs a server.

use super::distribution::{Distribution, Product};
use crate::program::{ProgramError, run_program};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Debian's folder of Java installations.
const JVMS: &str = "/usr/lib/jvm";

/// Why there is no Java.
#[derive(Debug, Error)]
#[error(
    "{server} needs Java {} to {}, found {}: apt-get install openjdk-{}-jre-headless",
    versions.start(),
    versions.end(),
    if found.is_empty() { "none".to_owned() } else { units::list::list(found) },
    versions.start()
)]
pub struct JavaError {
    server: String,
    versions: RangeInclusive<u32>,
    found: Vec<String>,
}

/// Versions of Java that run this server. 24 removed the security manager, without which only the latest work.
pub(crate) fn versions(of: &Distribution) -> RangeInclusive<u32> {
    match of.product {
        Product::Elasticsearch if of.version >= (9, 0) => 21..=25,
        Product::Opensearch if of.version >= (3, 0) => 21..=25,
        _ => 17..=23,
    }
}

/// Finds a Java for this server: its own, else the oldest that fits of those installed.
///
/// # Errors
/// If there is none.
pub(crate) fn find(of: &Distribution) -> Result<PathBuf, JavaError> {
    let own = of.home.join("jdk");
    if own.join("bin/java").exists() {
        return Ok(own);
    }
    let versions = versions(of);
    let mut homes: Vec<PathBuf> = fs::read_dir(JVMS)
        .map(|folder| folder.flatten().map(|home| home.path()).collect())
        .unwrap_or_default();
    homes.sort();
    let mut found: Vec<(u32, PathBuf)> = homes
        .into_iter()
        .filter(|home| home.join("bin/java").exists())
        .filter_map(|home| Some((version(&home).ok()??, home)))
        .collect();
    found.sort();
    let suits = found.iter().find(|(version, _)| versions.contains(version));
    match suits {
        Some((_, home)) => Ok(home.clone()),
        None => Err(JavaError {
            server: of.to_string(),
            versions,
            found: found
                .iter()
                .map(|(version, home)| format!("{version} in {}", home.display()))
                .collect(),
        }),
    }
}

/// The version that a Java says it has.
fn version(home: &Path) -> Result<Option<u32>, ProgramError> {
    let release = fs::read_to_string(home.join("release")).unwrap_or_default();
    if let Some(version) = of_release(&release) {
        return Ok(Some(version));
    }
    let java = home.join("bin/java");
    let text = run_program(
        &java.to_string_lossy(),
        "openjdk-17-jre-headless",
        ["--version"],
    )?;
    Ok(of_text(&text))
}

/// `JAVA_VERSION="17.0.19"` in the file `release`, or `1.8.0_402`.
fn of_release(text: &str) -> Option<u32> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    of_number(line.trim_matches('"'))
}

/// `openjdk 17.0.19 2026-04-21`.
fn of_text(text: &str) -> Option<u32> {
    of_number(text.split_whitespace().nth(1)?)
}

fn of_number(text: &str) -> Option<u32> {
    let text = text.strip_prefix("1.").unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, expected) in [
            (
                "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.19\"\n",
                Some(17),
            ),
            ("JAVA_VERSION=\"1.8.0_402\"\n", Some(8)),
            ("JAVA_VERSION=\"25\"", Some(25)),
            ("JAVA_VERSION=\"\"", None),
            ("", None),
        ] {
            assert_eq!(of_release(text), expected, "{text}");
        }
        assert_eq!(of_text("openjdk 17.0.19 2026-04-21\n"), Some(17));
    }
}
