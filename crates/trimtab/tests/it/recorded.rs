//! Recorded hosts have exactly the findings listed in lab/hosts/README.md, and their reports match
//! the golden files.

use crate::support::{findings, recorded, report, repository, stdout, trimtab};

/// Host, optional data path, expected findings.
const EXPECTED: &[(&str, Option<&str>, &[&str])] = &[
    ("nvme-xfs", None, &["TRIM012 info /mnt/x nvme0n1"]),
    ("nvme-xfs", Some("/mnt/x"), &["TRIM012 info /mnt/x nvme0n1"]),
    ("nvme-ext4", None, &["TRIM012 info /mnt/x nvme0n1"]),
    (
        "nvme-ext4",
        Some("/mnt/x"),
        &["TRIM012 info /mnt/x nvme0n1"],
    ),
    ("nvme-btrfs", None, &["TRIM012 info /mnt/x nvme0n1"]),
    (
        "nvme-btrfs",
        Some("/mnt/x"),
        &["TRIM012 info /mnt/x nvme0n1"],
    ),
    (
        "nvme-discard-switched-off",
        None,
        &["TRIM009 warning /mnt/x nvme0n1"],
    ),
    (
        "raid0-xfs-discard",
        None,
        &["TRIM005 info /mnt/x md0", "TRIM012 info /mnt/x nvme0n1"],
    ),
    (
        "crypt-allows-discards",
        None,
        &["TRIM012 info /mnt/x nvme0n1"],
    ),
    (
        "crypt-allows-discards",
        Some("/mnt/x"),
        &["TRIM012 info /mnt/x nvme0n1"],
    ),
    (
        "crypt-drops-discards",
        None,
        &["TRIM001 warning /mnt/x dm-0"],
    ),
    (
        "crypt-drops-discards",
        Some("/mnt/x"),
        &["TRIM001 error /mnt/x dm-0"],
    ),
    (
        "lvm-linear-thin",
        None,
        &[
            "TRIM010 info /mnt/t dm-5",
            "TRIM011 info /mnt/x dm-0",
            "TRIM012 info /mnt/t nvme1n1",
            "TRIM012 info /mnt/x nvme0n1",
        ],
    ),
    (
        "thin-pool-ignores-discards",
        None,
        &[
            "TRIM001 warning /mnt/t dm-3",
            "TRIM011 info /mnt/x dm-0",
            "TRIM012 info /mnt/x nvme0n1",
        ],
    ),
    (
        "thin-pool-ignores-discards",
        Some("/mnt/t/data"),
        &[
            "TRIM001 error /mnt/t dm-3",
            "TRIM011 info /mnt/x dm-0",
            "TRIM012 info /mnt/x nvme0n1",
        ],
    ),
    ("scsi-mixed", None, &["TRIM012 info /mnt/x sda"]),
    ("raid5-default", None, &["TRIM001 warning /mnt/x md5"]),
    (
        "raid5-default",
        Some("/mnt/x"),
        &["TRIM001 error /mnt/x md5"],
    ),
    ("debian12-systemd", None, &[]),
];

#[test]
fn each_recorded_host_has_exactly_the_expected_findings() {
    let mut wrong = Vec::new();
    for (host, data_path, expected) in EXPECTED {
        let bundle = recorded(host);
        let mut arguments = vec!["--bundle", &bundle];
        if let Some(path) = data_path {
            arguments.extend(["--data-path", path]);
        }
        let found = findings(&report(&arguments));
        if found != *expected {
            wrong.push(format!(
                "{host} {data_path:?}\n  expected {expected:#?}\n  found {found:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_match_the_golden_files() {
    for (host, data_path, _) in EXPECTED {
        // A relative path, so that lines wrap the same in every clone.
        let bundle = format!("{host}.tar.zst");
        let mut arguments = vec!["check", "--exit-zero", "--bundle", &bundle];
        if let Some(path) = data_path {
            arguments.extend(["--data-path", path]);
        }
        let name = format!("{host}{}", if data_path.is_some() { "-store" } else { "" });
        for format in ["text", "json"] {
            let mut arguments = arguments.clone();
            arguments.extend(["--format", format]);
            let mut command = trimtab();
            command
                .current_dir(repository().join("lab/hosts"))
                .args(&arguments);
            let output = stdout(&command.output().expect("the binary starts"));
            insta::with_settings!({ snapshot_path => "../golden", prepend_module_to_snapshot => false, omit_expression => true }, {
                insta::assert_snapshot!(format!("{name}.{format}"), output);
            });
        }
    }
}
