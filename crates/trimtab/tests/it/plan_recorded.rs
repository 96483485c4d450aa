//! Plans for recorded hosts: the stacks of each, with the jobs that were recorded on a booted Debian 12.

use crate::plan::{etc_of, output, plan};
use crate::support::{Tree, recorded, report, stderr};
use std::path::Path;

/// A recorded host with the recorded jobs.
fn host(name: &str) -> Tree {
    let tree = Tree::new();
    for recording in [name, "debian12-systemd"] {
        let file = std::fs::File::open(recorded(recording)).unwrap();
        let mut archive = tar::Archive::new(zstd::Decoder::new(file).unwrap());
        archive.unpack(tree.path()).unwrap();
    }
    tree.script("root/usr/bin/trimtab", "");
    tree
}

fn rules(root: &str, mount: &str) -> Vec<String> {
    let report = report(&["--root", root, "--data-path", mount]);
    let findings = report["result"]["findings"].as_array().unwrap().clone();
    let about_trims = |rule: &String| {
        [
            "TRIM002", "TRIM003", "TRIM006", "TRIM007", "TRIM014", "SCHED002",
        ]
        .contains(&rule.as_str())
    };
    // Other filesystems of the host have no plan.
    findings
        .iter()
        .filter(|finding| finding["mount_point"].is_null() || finding["mount_point"] == mount)
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .filter(about_trims)
        .collect()
}

#[test]
fn recorded_hosts_are_planned_or_refused_by_the_rule_that_is_in_the_way() {
    let expected = [
        ("nvme-xfs", None),
        ("nvme-ext4", None),
        ("nvme-btrfs", None),
        ("scsi-mixed", None),
        ("crypt-allows-discards", None),
        ("lvm-linear-thin", None),
        ("thin-pool-ignores-discards", None),
        ("crypt-drops-discards", Some("TRIM001")),
        ("raid5-default", Some("TRIM001")),
        ("nvme-discard-switched-off", Some("TRIM009")),
    ];
    let mount = "/mnt/x";
    for (name, refusal) in expected {
        let tree = host(name);
        let root = Path::new(&tree.path()).join("root").display().to_string();
        let original = etc_of(Path::new(&root));
        let arguments = ["--root", &root, "--fstab", "--apply", mount];
        if let Some(rule) = refusal {
            let refused = output(&arguments);
            assert_eq!(refused.status.code(), Some(2), "{name}");
            assert!(
                stderr(&refused).contains(rule),
                "{name}: {}",
                stderr(&refused)
            );
            assert_eq!(etc_of(Path::new(&root)), original, "{name}");
            continue;
        }
        assert_eq!(rules(&root, mount), ["TRIM007"], "{name}");
        plan(&arguments);
        assert_eq!(rules(&root, mount), Vec::<String>::new(), "{name}");
        let again = plan(&arguments);
        assert!(again.starts_with("Nothing to change: "), "{name}: {again}");
        plan(&["--root", &root, "--undo"]);
        assert_eq!(etc_of(Path::new(&root)), original, "{name}: taken back");
    }
}
