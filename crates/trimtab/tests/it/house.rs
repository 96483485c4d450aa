//! The arrows between crates, and the licences of what is built in.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};

/// Who may use whom: the table of ARCHITECTURE.md. Tests may use anything.
const ARROWS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("page", &["units"]),
    ("facts", &[]),
    ("host", &["facts"]),
    ("schedule", &["facts"]),
    ("rules", &["facts", "schedule", "shards"]),
    ("report", &["facts", "explain"]),
    ("http", &["facts"]),
    ("trim", &["facts"]),
    ("flash", &[]),
    ("cluster", &["facts", "http"]),
    ("shards", &[]),
    ("explain", &["facts", "schedule"]),
    ("sources", &["facts", "http"]),
    (
        "trimtab",
        &[
            "facts", "host", "schedule", "rules", "report", "http", "cluster", "trim", "flash",
            "shards", "explain", "sources",
        ],
    ),
    (
        "fuzz-targets",
        &[
            "facts", "flash", "host", "schedule", "http", "trim", "shards", "sources", "explain",
        ],
    ),
];

/// Licences that may be linked into an Apache-2.0 binary without further duties than their text.
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
    "NCSA",
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        // Other platforms' dependencies are in the lock file, but never downloaded.
        .other_options(
            [
                "--locked",
                "--offline",
                "--filter-platform",
                "x86_64-unknown-linux-gnu",
            ]
            .map(str::to_owned),
        )
        .exec()
        .expect("cargo metadata runs")
}

#[test]
fn arrows_point_down_only() {
    let metadata = metadata();
    let allowed: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    let members: BTreeSet<&str> = metadata
        .workspace_packages()
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        let may_use = allowed
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no line in ARROWS"));
        for dependency in &package.dependencies {
            let used = dependency.name.as_str();
            if members.contains(used) && dependency.kind == DependencyKind::Normal {
                assert!(may_use.contains(&used), "{name} must not use {used}");
            }
        }
    }
}

#[test]
fn pure_crates_have_no_way_to_the_outside() {
    // A crate that reads the host, the clock or the network would need one of these.
    let outward = [
        "rustix", "reqwest", "tokio", "libc", "nix", "tempfile", "ureq", "rustls",
    ];
    for package in metadata().workspace_packages() {
        if ["facts", "schedule", "rules", "report"].contains(&package.name.as_str()) {
            for dependency in &package.dependencies {
                assert!(
                    dependency.kind != DependencyKind::Normal
                        || !outward.contains(&dependency.name.as_str()),
                    "{} must stay pure, but uses {}",
                    package.name,
                    dependency.name
                );
            }
        }
    }
}

#[test]
fn licences_are_known() {
    for package in &metadata().packages {
        let licence = package.license.as_deref().unwrap_or("none");
        // SPDX: any alternative of an OR will do, every part of an AND has to.
        let fits = |text: &str| LICENCES.contains(&text.trim().trim_matches(['(', ')']));
        let ok = licence
            .replace('/', " OR ")
            .split(" AND ")
            .all(|part| part.split(" OR ").any(fits));
        assert!(
            ok,
            "{} {}: licence {licence}",
            package.name, package.version
        );
    }
}
