//! Checks of the workspace: dependencies between crates and files, where rendering happens, and
//! licences and sources of linked crates.

use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Allowed dependencies between crates: the table of ARCHITECTURE.md. Tests may use any crate.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("facts", &["units"]),
    ("page", &["units"]),
    (
        "report",
        &[
            "page",
            "units",
            "facts",
            "bench",
            "experiments",
            "explain",
            "flash",
            "livefix",
            "shards",
            "trim",
            "rules",
        ],
    ),
    ("linux", &["facts"]),
    ("host", &["facts", "linux", "schedule", "units"]),
    ("schedule", &["facts", "units"]),
    ("plan", &["units"]),
    ("rules", &["facts", "plan", "schedule", "shards", "units"]),
    ("bounded_http", &["facts", "linux", "units"]),
    ("trim", &["facts", "linux", "units"]),
    (
        "bench",
        &[
            "explain",
            "facts",
            "bounded_http",
            "linux",
            "schedule",
            "units",
        ],
    ),
    (
        "experiments",
        &["bench", "facts", "flash", "bounded_http", "linux", "units"],
    ),
    ("flash", &["units"]),
    ("edits", &["facts", "linux"]),
    ("livefix", &["edits", "facts", "linux", "units"]),
    ("cluster", &["facts", "bounded_http", "units"]),
    ("shards", &["units"]),
    ("explain", &["facts", "schedule", "units"]),
    ("sources", &["facts", "bounded_http", "linux", "units"]),
    (
        "trimtab",
        &[
            "facts",
            "host",
            "schedule",
            "rules",
            "report",
            "bounded_http",
            "cluster",
            "edits",
            "trim",
            "flash",
            "shards",
            "explain",
            "livefix",
            "sources",
            "bench",
            "experiments",
            "linux",
            "page",
            "plan",
            "units",
        ],
    ),
    (
        "fuzz-targets",
        &[
            "bench",
            "cluster",
            "facts",
            "flash",
            "host",
            "schedule",
            "bounded_http",
            "linux",
            "trim",
            "shards",
            "sources",
            "explain",
            "page",
            "units",
            "livefix",
            "plan",
        ],
    ),
    ("house", &[]),
];

/// The table of deny.toml, which is also what `make deny` goes by.
fn allowed(table: &str) -> toml::Table {
    let text = include_str!("../../../../deny.toml");
    let deny: toml::Table = text.parse().expect("deny.toml is TOML");
    deny[table].as_table().expect("a table").clone()
}

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .features(CargoOpt::AllFeatures)
        // Dependencies of other platforms are in the lock file but were never downloaded.
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
fn crates_follow_the_dependency_table() {
    let metadata = metadata();
    let allowed: BTreeMap<_, _> = ALLOWED_DEPENDENCIES.iter().copied().collect();
    let members: BTreeSet<&str> = metadata
        .workspace_packages()
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        let may_use = allowed
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no line in ALLOWED_DEPENDENCIES"));
        for dependency in &package.dependencies {
            let used = dependency.name.as_str();
            if members.contains(used) && dependency.kind == DependencyKind::Normal {
                assert!(may_use.contains(&used), "{name} must not use {used}");
            }
        }
    }
}

#[test]
fn no_circles_between_files_and_no_rendering_outside_page_and_report() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = house::crate_names(&checkout).unwrap();
    let mut faults = String::new();
    for name in &crates {
        let report = house::measure_crate(&checkout, name).unwrap();
        for (what, option, count) in [
            ("files in circles", "--circles", report.files_in_cycles()),
            (
                "files that render",
                "--rendering",
                report.files_that_render(),
            ),
        ] {
            if count > 0 {
                let _ = writeln!(
                    faults,
                    "{name}: {count} {what}: `cargo run -p house -- {option} {name}` shows them"
                );
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn pure_crates_do_no_io() {
    // Reading the host, the clock or the network needs one of these.
    let io_crates = [
        "rustix", "reqwest", "tokio", "libc", "nix", "tempfile", "ureq", "rustls",
    ];
    for package in metadata().workspace_packages() {
        if ["facts", "schedule", "rules", "report", "page", "units"]
            .contains(&package.name.as_str())
        {
            for dependency in &package.dependencies {
                assert!(
                    dependency.kind != DependencyKind::Normal
                        || !io_crates.contains(&dependency.name.as_str()),
                    "{} must stay pure, but uses {}",
                    package.name,
                    dependency.name
                );
            }
        }
    }
}

#[test]
fn licences_are_allowed() {
    let licences = allowed("licenses");
    let licences: Vec<&str> = licences["allow"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|licence| licence.as_str().expect("an identifier"))
        .collect();
    for package in &metadata().packages {
        let licence = package.license.as_deref().unwrap_or("none");
        // SPDX: one alternative of an OR suffices; every part of an AND must be allowed.
        let is_allowed = |text: &str| licences.contains(&text.trim().trim_matches(['(', ')']));
        let ok = licence
            .replace('/', " OR ")
            .split(" AND ")
            .all(|part| part.split(" OR ").any(is_allowed));
        assert!(
            ok,
            "{} {}: licence {licence} is not in deny.toml",
            package.name, package.version
        );
    }
}

#[test]
fn crates_come_from_the_registry_or_from_here() {
    for kind in ["unknown-registry", "unknown-git"] {
        assert_eq!(allowed("sources")[kind].as_str(), Some("deny"));
    }
    let metadata = metadata();
    for package in &metadata.packages {
        let name = &package.name;
        match &package.source {
            Some(source) => assert!(source.is_crates_io(), "{name} comes from {source}"),
            None => assert!(
                package.manifest_path.starts_with(&metadata.workspace_root),
                "{name} is in {}",
                package.manifest_path
            ),
        }
    }
}

#[test]
fn no_dependency_takes_any_version() {
    assert_eq!(allowed("bans")["wildcards"].as_str(), Some("deny"));
    for package in metadata().workspace_packages() {
        for dependency in &package.dependencies {
            assert!(
                dependency.path.is_some() || dependency.req.to_string() != "*",
                "{} takes any version of {}",
                package.name,
                dependency.name
            );
        }
    }
}
