//! Exit codes, formats, configuration, errors.

use crate::support::{findings, recorded, report, run, stderr, stdout, trimtab};
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

#[test]
fn exit_codes_reflect_the_findings() {
    let bad = recorded("crypt-drops-discards");
    let good = recorded("nvme-xfs");
    let code = |arguments: &[&str]| run(arguments).status.code();
    assert_eq!(code(&["check", "--bundle", &bad]), Some(1));
    assert_eq!(code(&["check", "--bundle", &bad, "--exit-zero"]), Some(0));
    // Of such a recording most rules have nothing to look at, so it can fail but not pass.
    let at_errors = ["check", "--bundle", &bad, "--fail-on", "error"];
    assert_eq!(code(&at_errors), Some(2));
    let decided = [&at_errors[..], &["--select", "TRIM001"]].concat();
    assert_eq!(code(&decided), Some(0));
    assert_eq!(
        code(&[
            "check",
            "--bundle",
            &bad,
            "--fail-on",
            "error",
            "--data-path",
            "/mnt/x"
        ]),
        Some(1)
    );
    assert_eq!(code(&["check", "--bundle", &good]), Some(2));
    let with_store = ["check", "--bundle", &good, "--data-path", "/mnt/x"];
    assert_eq!(code(&with_store), Some(0));
    for severity in ["info", "note"] {
        let at_notes = [&with_store[..], &["--fail-on", severity]].concat();
        assert_eq!(code(&at_notes), Some(1));
    }
    assert_eq!(
        code(&[
            "check",
            "--bundle",
            &bad,
            "--format",
            "nagios",
            "--data-path",
            "/mnt/x"
        ]),
        Some(2)
    );
    assert_eq!(
        code(&["check", "--bundle", &bad, "--format", "nagios"]),
        Some(1)
    );
    let as_plugin = [&with_store[..], &["--format", "nagios"]].concat();
    assert_eq!(code(&as_plugin), Some(0));
    assert_eq!(
        code(&["check", "--bundle", &good, "--format", "nagios"]),
        Some(3)
    );
    assert_eq!(code(&["check", "--bundle", "/nonexistent"]), Some(2));
    assert_eq!(code(&["check", "--no-such-flag"]), Some(2));
    assert_eq!(
        code(&["check", "--bundle", &good, "--select", "NOPE"]),
        Some(2)
    );
}

#[test]
fn an_empty_tree_is_not_a_healthy_host() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().display().to_string();
    let output = run(&["check", "--root", &root]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("could not tell"),
        "{}",
        stderr(&output)
    );
    let output = run(&["check", "--root", &root, "--format", "nagios"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn select_runs_only_the_named_rules() {
    let bundle = recorded("thin-pool-ignores-discards");
    let report = report(&[
        "--bundle",
        &bundle,
        "--select",
        "TRIM",
        "--ignore",
        "TRIM011,TRIM012",
    ]);
    assert_eq!(findings(&report), ["TRIM001 warning /mnt/t dm-3"]);
    let ran = report["result"]["rules_run"].as_array().unwrap();
    assert!(
        ran.iter()
            .all(|id| id.as_str().unwrap().starts_with("TRIM"))
    );
}

#[test]
fn a_suppressed_finding_is_shown_with_its_reason_and_does_not_fail() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    write!(
        config,
        "[[check.suppress]]\nrule = \"TRIM001\"\nsubject = \"/mnt/x\"\nreason = \"replaced in May\"\n"
    )
    .unwrap();
    let path = config.path().display().to_string();
    let bundle = recorded("crypt-drops-discards");
    let output = run(&[
        "check", "--bundle", &bundle, "--config", &path, "--select", "TRIM001",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).contains("replaced in May"));
    assert!(findings(&report(&["--bundle", &bundle, "--config", &path])).is_empty());
}

#[test]
fn flags_override_the_environment_which_overrides_the_file() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    write!(config, "[check]\nformat = \"markdown\"\n").unwrap();
    let path = config.path().display().to_string();
    let bundle = recorded("nvme-xfs");
    let first_byte = |environment: Option<&str>, flag: Option<&str>| {
        let mut command = trimtab();
        command.args([
            "check",
            "--exit-zero",
            "--bundle",
            &bundle,
            "--config",
            &path,
        ]);
        if let Some(format) = environment {
            command.env("TRIMTAB_FORMAT", format);
        }
        if let Some(format) = flag {
            command.args(["--format", format]);
        }
        stdout(&command.output().unwrap()).chars().next().unwrap()
    };
    assert_eq!(first_byte(None, None), '#');
    assert_eq!(first_byte(Some("json"), None), '{');
    assert_eq!(first_byte(Some("json"), Some("nagios")), 'T');
}

#[test]
fn json_matches_its_schema() {
    let schema: Value = serde_json::from_str(&stdout(&run(&["check", "--schema"]))).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for host in ["lvm-linear-thin", "raid0-xfs-discard", "debian12-systemd"] {
        let bundle = recorded(host);
        let report = report(&["--bundle", &bundle, "--data-path", "/mnt/x"]);
        assert_eq!(report["schema"], "trimtab.check/1");
        assert_eq!(report["generated_at"], "2026-11-21T03:00:00Z");
        let errors: Vec<String> = validator
            .iter_errors(&report)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{host}: {errors:?}");
    }
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let bundle = recorded("raid5-default");
    let mut child = trimtab()
        .args(["check", "--exit-zero", "--bundle", &bundle])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = trimtab()
        .args(["check", "--exit-zero", "--bundle", &recorded("nvme-xfs")])
        .stdout(full)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn text_fits_80_columns_without_colour() {
    for host in [
        "lvm-linear-thin",
        "crypt-drops-discards",
        "raid0-xfs-discard",
        "scsi-mixed",
    ] {
        let text = stdout(&run(&[
            "check",
            "--exit-zero",
            "--bundle",
            &recorded(host),
            "--data-path",
            "/mnt/x",
        ]));
        assert!(!text.contains('\u{1b}'), "{host}");
        // Commands are never wrapped, so that they can be copied; the bundle's path is long here.
        let long = text.lines().filter(|line| line.chars().count() > 80);
        for line in long {
            assert!(
                line.trim_start().starts_with(['$', '#'])
                    || line.contains(".tar.zst")
                    || line.contains('='),
                "{host}: {line}"
            );
        }
    }
}

#[test]
fn completions_and_man_pages_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert!(
            output.status.success() && stdout(&output).contains("TRIM007"),
            "{shell}"
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("man");
    assert!(run(&["man", path.to_str().unwrap()]).status.success());
    for page in ["trimtab.1", "trimtab-check.1", "trimtab-ssd-run.1"] {
        let text = std::fs::read_to_string(path.join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
        for section in [
            "EXIT STATUS",
            "FILES",
            "ENVIRONMENT",
            "EXAMPLES",
            "SEE ALSO",
        ] {
            assert!(
                text.contains(&format!(".SH \"{section}\""))
                    || text.contains(&format!(".SH {section}")),
                "{page}: {section}\n{text}"
            );
        }
    }
}

#[test]
fn an_unknown_rule_hints_at_the_list() {
    let output = run(&["rule", "TRIM999"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("trimtab rule"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn nagios_reports_errors_as_unknown() {
    for arguments in [
        ["--bundle", "/nonexistent"],
        ["--select", "NOPE"],
        ["--config", "/nonexistent"],
    ] {
        let output = run(&[&["check", "--format", "nagios"][..], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(
            stdout(&output).starts_with("TRIMTAB UNKNOWN - "),
            "{arguments:?}: {}",
            stdout(&output)
        );
    }
}

#[test]
fn suppressing_an_unknown_rule_is_an_error() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    write!(
        config,
        "[[check.suppress]]\nrule = \"TRIM999\"\nreason = \"x\"\n"
    )
    .unwrap();
    let path = config.path().display().to_string();
    let output = run(&[
        "check",
        "--bundle",
        &recorded("nvme-xfs"),
        "--config",
        &path,
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("TRIM999"), "{}", stderr(&output));
}

/// A configuration outlives the rules that it names.
#[test]
fn a_retired_rule_may_still_be_suppressed_and_ignored() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    write!(
        config,
        "[check]\nselect = [\"TRIM\", \"ES009\"]\nignore = [\"ES009\"]\n\
         [[check.suppress]]\nrule = \"ES009\"\nreason = \"x\"\n"
    )
    .unwrap();
    let path = config.path().display().to_string();
    let bundle = recorded("nvme-xfs");
    let output = run(&["check", "--bundle", &bundle, "--config", &path]);
    assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
    // Alone, it would select nothing.
    let output = run(&["check", "--bundle", &bundle, "--select", "ES009"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn help_begins_with_the_purpose_of_the_command() {
    for (command, expected) in [
        (
            "explain",
            "then the evidence: the curve with job runs below it",
        ),
        (
            "trim",
            "A pass runs in steps that match the filesystem's layout.",
        ),
        ("ssd", "not a prediction"),
        ("shards", "a URL is only read."),
    ] {
        let help = stdout(&run(&[command, "--help"]));
        let (head, _) = help.split_once("Usage:").expect(command);
        let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(head.contains(expected), "{command}: {head}");
        assert_eq!(help, stdout(&run(&[command, "-h"])), "{command}");
        assert_eq!(help, stdout(&run(&["help", command])), "{command}");
    }
}

#[test]
fn explain_options_are_grouped_under_headings() {
    let help = stdout(&run(&["explain", "--help-all"]));
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
    let (files, servers) = (at("\nFiles:\n"), at("\nServers:\n"));
    let (output, end) = (at("\nOutput:\n"), at("\nGlobal options:\n"));
    assert!(at("\nExamples:\n") < files);
    for option in ["--select <", "--seed <", "--all\n"] {
        assert!(at(option) < files, "{option}");
    }
    for option in ["--column <", "--data-tz <"] {
        assert!((files..servers).contains(&at(option)), "{option}");
    }
    for option in ["--query <", "--timeout <", "--ca-file <"] {
        assert!((servers..output).contains(&at(option)), "{option}");
    }
    for option in ["--format <", "--output <", "--schema\n"] {
        assert!((output..end).contains(&at(option)), "{option}");
    }
}
