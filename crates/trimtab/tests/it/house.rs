//! Checks of the workspace: dependencies between crates and files, where rendering happens, and
//! licences of linked crates.

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
    ("rules", &["facts", "schedule", "shards", "units"]),
    ("bounded_http", &["facts", "units"]),
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
    ("livefix", &["facts", "linux", "units"]),
    ("cluster", &["facts", "bounded_http", "units"]),
    ("shards", &["units"]),
    ("explain", &["facts", "schedule", "units"]),
    ("sources", &["facts", "bounded_http", "units"]),
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
            "units",
        ],
    ),
    (
        "fuzz-targets",
        &[
            "bench",
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
        ],
    ),
    ("house", &[]),
];

/// Licences that an Apache-2.0 binary may link with no obligation beyond including their text.
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // Data: the certificate authorities of webpki-roots, with feature mongodb.
    "CDLA-Permissive-2.0",
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
    for package in &metadata().packages {
        let licence = package.license.as_deref().unwrap_or("none");
        // SPDX: one alternative of an OR suffices; every part of an AND must be allowed.
        let is_allowed = |text: &str| LICENCES.contains(&text.trim().trim_matches(['(', ')']));
        let ok = licence
            .replace('/', " OR ")
            .split(" AND ")
            .all(|part| part.split(" OR ").any(is_allowed));
        assert!(
            ok,
            "{} {}: licence {licence}",
            package.name, package.version
        );
    }
}
