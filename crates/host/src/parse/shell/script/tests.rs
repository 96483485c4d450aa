use super::*;
use proptest::prelude::*;

const SYSTEMD: &str = "it does nothing where /run/systemd/system exists";

/// Programs with arguments; in brackets if they are held back.
fn shown(found: &[Found]) -> Vec<String> {
    found
        .iter()
        .map(|found| {
            let mut text = found.command.program.clone();
            for argument in &found.command.arguments {
                text.push(' ');
                text.push_str(argument);
            }
            match &found.held_back_by {
                Some(_) => format!("[{text}]"),
                None => text,
            }
        })
        .collect()
}

fn scan_with(text: &str, existing: &[&str]) -> Vec<Found> {
    scan(Origin::File("s"), text, &|_, path| {
        Some(existing.contains(&path))
    })
}

const DEBIAN_WEEKLY: &str =
    "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }";

#[test]
fn debians_crontab_guard() {
    let held = scan_with(DEBIAN_WEEKLY, &["/usr/sbin/anacron"]);
    assert_eq!(shown(&held), ["[run-parts --report /etc/cron.weekly]"]);
    assert_eq!(
        held[0].held_back_by.as_deref(),
        Some("it does nothing where /usr/sbin/anacron exists")
    );
    assert_eq!(
        shown(&scan_with(DEBIAN_WEEKLY, &[])),
        ["run-parts --report /etc/cron.weekly"]
    );
    let unknown = scan(Origin::Line("x"), DEBIAN_WEEKLY, &|_, _| None);
    assert_eq!(shown(&unknown), ["run-parts --report /etc/cron.weekly"]);
    // Ubuntu 16.04 has a subshell instead of braces.
    let old = "test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly )";
    assert_eq!(
        shown(&scan_with(old, &["/usr/sbin/anacron"])),
        ["[run-parts --report /etc/cron.weekly]"]
    );
}

#[test]
fn guards_of_debians_cron_d() {
    let anacron = "[ -x /etc/init.d/anacron ] && if [ ! -d /run/systemd/system ]; then /usr/sbin/invoke-rc.d anacron start >/dev/null; fi";
    let with_systemd = scan_with(anacron, &["/etc/init.d/anacron", "/run/systemd/system"]);
    assert_eq!(shown(&with_systemd), ["[invoke-rc.d anacron start]"]);
    assert_eq!(with_systemd[0].held_back_by.as_deref(), Some(SYSTEMD));
    assert_eq!(
        shown(&scan_with(anacron, &["/etc/init.d/anacron"])),
        ["invoke-rc.d anacron start"]
    );
    let mdadm = "if [ -x /usr/share/mdadm/checkarray ] && [ $(date +%d) -le 7 ]; then /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi";
    assert_eq!(
        shown(&scan_with(mdadm, &["/usr/share/mdadm/checkarray"])),
        ["checkarray --cron --all --idle --quiet"]
    );
    assert_eq!(
        scan_with(mdadm, &[])[0].held_back_by.as_deref(),
        Some("it does nothing without /usr/share/mdadm/checkarray")
    );
    assert_eq!(when(mdadm), ["date +%d <= 7"]);
    let e2scrub = "test -e /run/systemd/system || SERVICE_MODE=1 /sbin/e2scrub_all -A -r";
    assert_eq!(
        shown(&scan_with(e2scrub, &["/run/systemd/system"])),
        ["[e2scrub_all -A -r]"]
    );
}

#[test]
fn an_exit_behind_a_guard_ends_the_script() {
    let dpkg = "#!/bin/sh\n\n# Skip if systemd is running.\nif [ -d /run/systemd/system ]; then\n  exit 0\nfi\n\n/usr/libexec/dpkg/dpkg-db-backup\n";
    let held = scan_with(dpkg, &["/run/systemd/system"]);
    assert_eq!(held[0].held_back_by.as_deref(), Some(SYSTEMD));
    assert_eq!(held[0].command.source, "s:8");
    assert_eq!(shown(&scan_with(dpkg, &[])), ["dpkg-db-backup"]);
    // An exit under an unknown condition ends nothing.
    assert_eq!(
        shown(&scan_with("[ \"$A\" = b ] && exit 0\nfstrim -a", &[])),
        ["fstrim -a"]
    );
    assert_eq!(
        shown(&scan_with("( exit 0 )\nfstrim -a\nexit 0\nmandb", &[])),
        ["fstrim -a", "[mandb]"]
    );
}

#[test]
fn debians_cron_daily_mdadm() {
    let text = "#!/bin/sh\nset -eu\n\nMDADM=/sbin/mdadm\n[ -x $MDADM ] || exit 0 # package may be removed but not purged\n\n[ -e /etc/default/mdadm ] && . /etc/default/mdadm\n[ $AUTOSCAN = false ] && exit 0\n\nexec $MDADM --monitor --scan --oneshot\n";
    assert_eq!(
        shown(&scan_with(text, &["/sbin/mdadm", "/etc/default/mdadm"])),
        ["mdadm --monitor --scan --oneshot"]
    );
    assert_eq!(
        shown(&scan_with(text, &[])),
        ["[mdadm --monitor --scan --oneshot]"]
    );
}

/// The conditions on the clock under which each program runs.
fn when(text: &str) -> Vec<String> {
    let found = scan(Origin::File("s"), text, &|_, _| None);
    let shown = |found: Found| {
        let when = found.when.map(|when| when.to_string());
        when.unwrap_or_else(|| "always".to_owned())
    };
    found.into_iter().map(shown).collect()
}

#[test]
fn conditions_on_the_clock_are_followed() {
    for (text, expected) in [
        (
            "[ $(date +%u) -eq 7 ] && a || b",
            vec!["date +%u == 7", "not (date +%u == 7)"],
        ),
        (
            "[ $(date +%u) -eq 7 ] && a; b",
            vec!["date +%u == 7", "always"],
        ),
        (
            "[ $(date +%d) -gt 7 ] && exit 0\na",
            vec!["not (date +%d > 7)"],
        ),
        (
            "if [ `date +%u` = 7 ]; then a; elif test $(date +%d) -eq 1; then b; else c; fi",
            vec![
                "date +%u = 7",
                "not (date +%u = 7) and date +%d == 1",
                "not (date +%u = 7 or date +%d == 1)",
            ],
        ),
        ("! (( $(date +%V) % 2 )) && a", vec!["not (date +%V % 2)"]),
        (
            "[ $((10#$(date +%V) % 2)) -eq 0 ] || exit\na",
            vec!["(10#date +%V % 2) == 0"],
        ),
        (
            "NOW=$(date +%s); [ $(((NOW / 86400) % 3)) -eq 1 ] && a",
            vec!["((date +%s / 86400) % 3) == 1"],
        ),
        (
            "DAY=6\n[ $(date +%w) -eq $DAY ] && a",
            vec!["date +%w == 6"],
        ),
        (
            "WEEK=`expr $(date +%s) / 604800`; if [ $(expr $WEEK % 2) -eq 0 ]; then a; fi",
            vec!["((date +%s / 604800) % 2) == 0"],
        ),
        ("[ -x /a -a $(date +%d) -le 7 ] && a", vec!["date +%d <= 7"]),
        (
            "[ $(date +%d) -le 7 ] && { [ $(date +%u) -lt 6 ] && exit; a; }; b",
            vec![
                "date +%d <= 7 and not (date +%d <= 7 and date +%u < 6)",
                "not (date +%d <= 7 and date +%u < 6)",
            ],
        ),
        (
            "[ $(date +%d) -le 7 ] && [ -f $X ] && exit\na",
            vec!["not (date +%d <= 7 and something that depends on more than the date)"],
        ),
        // The same on two days.
        (
            "[ $(date +%u) -eq 7 ] && a; [ $(date +%u) -eq 3 ] && a",
            vec!["date +%u == 7 or date +%u == 3"],
        ),
        (
            "sh -c '[ $(date -u +%H) -lt 6 ] && a'",
            vec!["TZ=UTC date +%H < 6"],
        ),
        (
            "f() { [ $(date +%u) -eq 7 ] && return; a; }; f; b",
            vec!["not (date +%u == 7)", "always"],
        ),
        (
            "while [ $(date +%H) -lt 6 ]; do a; sleep 9; done",
            vec!["always"],
        ),
        (
            "[ $(date -d '+1 day' +%d) = 01 ] && a",
            vec!["date +%d +1 days = 01"],
        ),
        (
            "[ $(date --date='2 weeks ago' +%-m) -ne 3 ] && a",
            vec!["date +%-m -14 days != 3"],
        ),
        (
            "case $(date +%u) in\n 6|7) exit 0;;\nesac\na",
            vec!["not (date +%u = 6 or date +%u = 7)"],
        ),
        (
            "case \"`date +%a`\" in (Sun) a;; Mon|Tue) b;; *) c;; esac; d",
            vec![
                "date +%a = Sun",
                "date +%a = Mon or date +%a = Tue",
                "not (date +%a = Sun or date +%a = Mon or date +%a = Tue)",
                "always",
            ],
        ),
        (
            "case $(date +%d) in 0[1-7]) a;; *) b;; esac",
            vec!["something that depends on more than the date"; 2],
        ),
        ("case $1 in 7) a;; *) b;; esac", vec!["always"; 2]),
        ("a > /backup/$(date +%F) && b", vec!["always", "always"]),
    ] {
        assert_eq!(when(text), expected, "{text}");
    }
}

#[test]
fn conditions_of_hostile_size_are_given_up() {
    let unclear = "something that depends on more than the date";
    let many = (0..1_000).map(|at| format!("[ $(date +%s) -gt {at} ] && exit\n"));
    let many = when(&format!("{}a", many.collect::<String>())).join("");
    assert!(many.contains(unclear) && many.len() < 10_000, "{many}");
    let doubled: Vec<String> = (1..60)
        .map(|at| format!("A{at}=$A{0}$A{0}\n", at - 1))
        .collect();
    let text = format!("A0=$(date +%d)\n{}[ $A59 = 7 ] && a", doubled.concat());
    assert_eq!(when(&text), [unclear]);
    let (open, close) = ("(".repeat(500), ")".repeat(500));
    assert_eq!(
        when(&format!("(( {open}$(date +%d){close} )) && a")),
        [""; 0]
    );
    assert_eq!(
        when(&format!("[ $(( {open}$(date +%d){close} )) -gt 9 ] && a")),
        [unclear]
    );
}

#[test]
fn centos_0anacron() {
    let text = "#!/bin/sh\n# Check whether 0anacron was run today already\nif test -r /var/spool/anacron/cron.daily; then\n    day=`cat /var/spool/anacron/cron.daily`\nfi\nif [ `date +%Y%m%d` = \"$day\" ]; then\n    exit 0;\nfi\n\n# Do not run jobs when on battery power\nif test -x /usr/bin/on_ac_power; then\n    /usr/bin/on_ac_power >/dev/null 2>&1\n    if test $? -eq 1; then\n    exit 0\n    fi\nfi\n/usr/sbin/anacron -s\n";
    let found = scan_with(text, &[]);
    assert_eq!(shown(&found), ["anacron -s"]);
    assert_eq!(found[0].command.source, "s:17");
}

#[test]
fn commands_inside_words_are_found() {
    assert_eq!(
        shown(&scan_with(
            "OUT=$(fstrim -v /data)\nsh -c 'nice fstrim -a; mandb'\ntrap 'btrfs scrub cancel /' EXIT",
            &[]
        )),
        [
            "fstrim -v /data",
            "fstrim -a",
            "mandb",
            "btrfs scrub cancel /"
        ]
    );
    assert_eq!(
        shown(&scan_with("findmnt -no TARGET | xargs -n1 fstrim -v", &[])),
        ["findmnt", "fstrim -v"]
    );
    assert_eq!(
        shown(&scan_with(
            "trim() {\n /sbin/fstrim $1\n}\nfor m in / /data; do trim $m; done",
            &[]
        )),
        ["fstrim …"]
    );
}

#[test]
fn elif_and_else_follow_what_is_known() {
    let text = "if [ -d /a ]; then fstrim /1; elif [ -d /b ]; then fstrim /2; else fstrim /3; fi";
    assert_eq!(
        shown(&scan_with(text, &["/a"])),
        ["fstrim /1", "[fstrim /2]", "[fstrim /3]"]
    );
    assert_eq!(
        shown(&scan_with(text, &["/b"])),
        ["[fstrim /1]", "fstrim /2", "[fstrim /3]"]
    );
    assert_eq!(
        shown(&scan_with(text, &[])),
        ["[fstrim /1]", "[fstrim /2]", "fstrim /3"]
    );
}

fn programs(text: &str) -> String {
    shown(&scan(Origin::File("s"), text, &|_, _| None)).join(" ")
}

#[test]
fn commands_are_found_in_every_compound_command() {
    for (text, expected) in [
        ("a | b >f 2>&1; ! (c)\nd &", "a b c d"),
        ("if a; then b\nelif c; then d; else e; fi; f", "a b c d e f"),
        ("for x in 1 2; do a; done; while b; do c; done <f", "a b c"),
        ("until a; do b; done; for ((i=1;;)); do c; done", "a b c"),
        ("case $x in\n a|b) c;;\n (*) d\nesac\ne", "c d e"),
        ("f() {\n a\n}\nfunction g { b; }\nf; g", "a b"),
        ("if [[ -d /a && -x /b || x ]]; then c; fi", "c"),
        (
            "flock -n /l -c 'a; b'; su - u -c c; su $U -c 'd'",
            "a b c d",
        ),
    ] {
        assert_eq!(programs(text), expected, "{text}");
    }
}

#[test]
fn malformed_scripts_are_parsed_as_far_as_possible() {
    for (text, expected) in [
        ("fi; a; } ; done b", "a b"),
        ("if a; then b", "a b"),
        ("&& a", "a"),
        ("case a b; c", ""),
    ] {
        assert_eq!(programs(text), expected, "{text}");
    }
}

#[test]
fn scripts_nested_too_deeply_are_not_parsed() {
    let nested = |times| format!("{}a{}", "( ".repeat(times), " )".repeat(times));
    assert!(tokens(&nested(NESTING_MAX - 1)).is_some());
    assert_eq!(tokens(&nested(NESTING_MAX)), None);
    assert_eq!(tokens(&format!("x {}y", "$(z ".repeat(DEPTH_MAX))), None);
}

#[test]
fn a_loop_condition_holds_nothing_back() {
    // It waits for a change, and `until` runs its body while the condition is false.
    for text in ["while [ -e /a ]; do b; done", "until [ -e /a ]; do b; done"] {
        assert_eq!(shown(&scan_with(text, &[])), ["b"], "{text}");
        assert_eq!(shown(&scan_with(text, &["/a"])), ["b"], "{text}");
    }
}

#[test]
fn scripts_in_other_languages_are_searched() {
    let text =
        "#!/usr/bin/env python3\n# rsync is not used\nsubprocess.run(['/sbin/fstrim', '-av'])\n";
    let found = scan_with(text, &[]);
    assert_eq!(shown(&found), ["fstrim"]);
    assert_eq!(found[0].command.source, "s:3");
    assert!(is_shell_script("#!/usr/bin/env -S bash -e\n"));
    assert!(is_shell_script("#! /bin/busybox sh\n"));
    assert!(!is_shell_script("#!/usr/bin/perl -w\n"));
}

#[test]
fn exec_lines() {
    let found = scan_exec(
        Origin::Line("u"),
        "/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported",
        &|_, _| None,
    );
    assert_eq!(
        shown(&found),
        ["fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported"]
    );
    assert_eq!(found[0].path.as_deref(), Some("/sbin/fstrim"));
    let found = scan_exec(
        Origin::Line("u"),
        "/bin/sh -c 'test -x /x && fstrim -a'",
        &|_, _| Some(false),
    );
    assert_eq!(shown(&found), ["[fstrim -a]"]);
}

proptest! {
    #[test]
    fn total(text in "(if|then|fi|do|done|for|in|case|esac|fstrim|\\[ -x /a \\]|sh -c|exit|\\{|\\}|\\(|\\)|;|&&|\\|\\||\n| |'|\"|`|\\$\\(|<<E|A=|\\$A|!){0,60}") {
        scan(Origin::File("s"), &text, &|_, _| Some(true));
        scan_exec(Origin::File("s"), &text, &|_, _| Some(true));
    }

    #[test]
    fn a_program_on_a_line_of_its_own_is_found(before in "[a-z ]{0,20}", after in "[a-z ;&]{0,20}") {
        let text = format!("echo {before}\nfstrim -av\necho {after}\n");
        let found = scan(Origin::File("s"), &text, &|_, _| None);
        prop_assert!(found.iter().any(|f| f.command.program == "fstrim" && f.command.source == "s:2"));
    }
}
