use super::*;
use crate::parse::systemctl;
use proptest::prelude::*;

fn kept(path: &str, text: &str) -> String {
    let bytes = keep(path, text.as_bytes()).unwrap_or_else(|| panic!("{path} is not claimed"));
    // Random text may be too confusing.
    let Ok(bytes) = bytes else {
        return String::new();
    };
    let once = String::from_utf8(bytes).expect("UTF-8");
    let again = keep(path, once.as_bytes()).expect("claimed again");
    assert_eq!(again, Ok(once.clone().into_bytes()), "{path}");
    once
}

#[test]
fn claims_the_files_of_jobs_and_no_others() {
    for path in [
        "etc/crontab",
        "etc/cron.d/mdadm",
        "etc/cron.weekly/fstrim",
        "var/spool/cron/crontabs/root",
        "var/spool/cron/root",
        "etc/anacrontab",
        "var/spool/anacron/cron.daily",
        "usr/lib/systemd/system/fstrim.timer",
        "etc/systemd/system/fstrim.timer.d/override.conf",
        "run/systemd/generator/x.service",
    ] {
        assert!(keep(path, b"").is_some(), "{path}");
    }
    assert!(keep("opt/trim", b"#!/bin/sh\n").is_some());
    for path in [
        "etc/fstab",
        "etc/elasticsearch/elasticsearch.yml",
        "opt/elasticsearch/config/elasticsearch.yml",
        "etc/lvm/lvm.conf",
        "etc/shadow",
        "root/.ssh/id_rsa",
        "opt/trim",
    ] {
        assert!(keep(path, b"x: y\n").is_none(), "{path}");
    }
}

#[test]
fn crontabs() {
    let text = "# password hunter2\nMAILTO=hunter2@example.com\nPATH=/bin:/usr/bin\nCRON_TZ = \"Europe/Vienna\"\nPGPASSWORD=hunter2\n\n57 0 * * 0\troot\tif [ -x /usr/share/mdadm/checkarray ] && [ $(date +\\%d) -le 7 ]; then /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi\n0 1 * * * app PGPASSWORD=hunter2 pg_dump -U hunter2 | mail -s hunter2 x%hunter2%hunter2\n0 2 * * * app # hunter2\nhunter2 3 * * * root x\n0 4 * * * TOKEN=hunter2 x\n61 5 * * * root hunter2\n";
    let expected = "\n\nPATH=/bin:/usr/bin\nCRON_TZ=Europe/Vienna\n\n\n57 0 * * 0\troot\tif [ -x /usr/share/mdadm/checkarray ] && [ $(date +\\%d) -le 7 ] ; then /usr/share/mdadm/checkarray --cron --all --idle --quiet ; fi\n0 1 * * * app PGPASSWORD=… pg_dump … … | mail … … …%…\n0 2 * * * app :\n…\n0 4 * * * …\n61\n";
    assert_eq!(kept("etc/crontab", text), expected);
    let places = |text: &str| -> Vec<_> {
        crontab::parse("x", text, Kind::System)
            .errors
            .into_iter()
            .map(|error| (error.line, error.column, error.expected))
            .collect()
    };
    assert_eq!(places(text), places(expected));
}

#[test]
fn a_missing_final_line_ending_is_preserved() {
    assert_eq!(
        kept("etc/cron.d/x", "0 0 * * * root /sbin/fstrim -a"),
        "0 0 * * * root /sbin/fstrim -a"
    );
}

#[test]
fn anacrontabs_and_stamps() {
    let text = "# hunter2\nTOKEN=hunter2\nRANDOM_DELAY=45\n7\t25\tcron.weekly\tnice run-parts /etc/cron.weekly\n1 5 own TOKEN=hunter2 /opt/x hunter2\nhunter2 5 x y\n";
    assert_eq!(
        kept("etc/anacrontab", text),
        "\n\nRANDOM_DELAY=45\n7\t25\tcron.weekly\tnice run-parts /etc/cron.weekly\n1 5 own TOKEN=… /opt/x …\n…\n"
    );
    assert_eq!(kept("var/spool/anacron/x", "20261115\n"), "20261115\n");
    assert_eq!(kept("var/spool/anacron/x", "hunter2\n"), "");
}

#[test]
fn scripts() {
    let text = "#!/bin/sh -e\n# hunter2\nPGPASSWORD=hunter2 pg_dump > /backup/hunter2\n/sbin/fstrim --all || true\n";
    assert_eq!(
        kept("etc/cron.weekly/x", text),
        "#!/bin/sh -e\n\nPGPASSWORD=… pg_dump > …\n/sbin/fstrim --all || true\n"
    );
    let text = "#!/usr/bin/python3\nPASSWORD = 'hunter2'\ncall(['rsync', 'hunter2', 'x'])\n";
    assert_eq!(
        kept("etc/cron.weekly/x", text),
        "#!/usr/bin/python3\n\nrsync\n"
    );
    assert_eq!(kept("etc/cron.weekly/x", "\u{7f}ELF\0hunter2"), "");
    // Latin-1 in a comment is no reason to give up.
    let latin = keep("etc/cron.weekly/x", b"# f\xfcr\nfstrim -a\n");
    assert_eq!(latin, Some(Ok(b"\nfstrim -a\n".to_vec())));
}

#[test]
fn long_scripts_are_truncated_at_a_line() {
    let text = format!("#!/bin/sh\n{}", "echo a;echo b;echo c\n".repeat(10_000));
    let kept = kept("etc/cron.weekly/x", &text);
    assert!(kept.len() <= SCRIPT_BYTES_MAX && kept.len() > SCRIPT_BYTES_MAX - 200);
    assert!(kept.ends_with('\n'));
}

#[test]
fn unit_files() {
    let text = "hunter2=1\n[Unit]\nDescription=hunter2\nConditionPathExists=!/etc/initrd-release\nConditionKernelCommandLine=hunter2\nConditionKernelCommandLine=\n\n[Service]\nEnvironment=TOKEN=hunter2\nEnvironmentFile=/etc/hunter2\nUser=root\nExecStart=\nExecStart=-/usr/bin/curl \\\n  --header hunter2 \\\n  https://user:hunter2@host/\nExecStart=@/bin/sh hunter2 -c 'TOKEN=hunter2 fstrim -a'\nExecStop=/bin/hunter2\nNice=5\nhunter2\n[X-Own]\nKey=hunter2\n";
    let expected = "…\n[Unit]\n\nConditionPathExists=!/etc/initrd-release\n\nConditionPathExists=\n\n[Service]\n\n\nUser=root\nExecStart=\nExecStart=-/usr/bin/curl … … …\n\n\nExecStart=@/bin/sh … -c 'TOKEN=… fstrim -a'\n\nNice=5\n…\n[…]\n\n";
    assert_eq!(kept("etc/systemd/system/x.service", text), expected);
    let (before, after) = (unit_file::parse("x", text), unit_file::parse("x", expected));
    assert_eq!(before.errors.len(), after.errors.len());
    assert_eq!(
        before.value("Service", "Nice"),
        after.value("Service", "Nice")
    );
}

#[test]
fn timers_are_kept_completely() {
    let text = "[Timer]\nOnCalendar=Mon..Fri *-*-* 03:00/15:00\nOnBootSec=1h 40min\nPersistent=true\nUnit=x@y.service\n\n[Install]\nWantedBy=timers.target\n";
    assert_eq!(kept("lib/systemd/system/x.timer", text), text);
}

const SYSTEMCTL: &str = "Id=fstrim.service\nEnvironment=TOKEN=hunter2\nExecStart={ path=/usr/bin/curl ; argv[]=/usr/bin/curl -u user:hunter2 https://x:hunter2@host/ ; ignore_errors=no ; start_time=[n/a] ; pid=0 }\nStatusText=hunter2\nUnitFileState=static\n\nId=fstrim.timer\nTimersCalendar={ OnCalendar=Mon *-*-* 00:00:00 ; next_elapse=Mon 2026-11-23 00:00:00 UTC }\nNextElapseUSecRealtime=Mon 2026-11-23 00:04:50 UTC\nRandomizedDelayUSec=1h 40min\n";

#[test]
fn answers_of_systemctl() {
    let kept = keep_systemctl_show(SYSTEMCTL.as_bytes()).expect("kept");
    let text = String::from_utf8(kept.clone()).expect("UTF-8");
    assert_eq!(
        text,
        "Id=fstrim.service\nExecStart={ path=/usr/bin/curl ; argv[]=/usr/bin/curl … … … ; ignore_errors=no }\nUnitFileState=static\n\nId=fstrim.timer\nTimersCalendar={ OnCalendar=Mon *-*-* 00:00:00 ; next_elapse=Mon 2026-11-23 00:00:00 UTC }\nNextElapseUSecRealtime=Mon 2026-11-23 00:04:50 UTC\nRandomizedDelayUSec=1h 40min\n"
    );
    assert_eq!(keep_systemctl_show(&kept), Ok(kept.clone()));
    let (before, after) = (systemctl::parse(SYSTEMCTL), systemctl::parse(&text));
    assert_eq!(before[1].calendars(), after[1].calendars());
}

/// Every kind of file that the filter handles.
const PATHS: &[&str] = &[
    "etc/crontab",
    "var/spool/cron/root",
    "etc/anacrontab",
    "etc/cron.weekly/x",
    "lib/systemd/system/x.service",
    "lib/systemd/system/x.timer",
];

proptest! {
    #[test]
    fn filtering_jobs_twice_changes_nothing(text in "(#!/bin/sh\n|\\[Service\\]\n|\\[Timer\\]\n|ExecStart=|OnCalendar=|Condition=|A=|0 0 \\* \\* \\* |@daily |7 5 x |root |[a-z/]{1,8}|'|\"|\\$\\(|`|\\{|\\}|\\(|\\)|;|&&|\\||%|\\\\|\\\\\n|\n|\r\n| |\t|#|…|@|-){0,50}") {
        for path in PATHS {
            kept(path, &text);
        }
        if let Ok(once) = keep_systemctl_show(text.as_bytes()) {
            prop_assert_eq!(keep_systemctl_show(&once), Ok(once));
        }
    }

    #[test]
    fn no_planted_secret_survives(
        before in prop::sample::select(vec![
            "PGPASSWORD=hunter2 ", "--password=hunter2 ", "-phunter2 ", "x https://user:hunter2@host/ ",
            "\"a hunter2\" ", "x 'hunter2", "export K=hunter2;", "x $(y hunter2) ", "x|y hunter2;", "# hunter2",
        ]),
        after in prop::sample::select(vec!["", "z", " && fstrim -a", " > hunter2", " # hunter2", "%hunter2"]),
    ) {
        let line = format!("{before}{after}");
        for (path, text) in [
            ("etc/crontab", format!("0 0 * * * root x {line}\n")),
            ("etc/crontab", format!("0 0 * * * {line}\n")),
            ("var/spool/cron/root", format!("{line}\n")),
            ("etc/anacrontab", format!("7 5 x y {line}\n")),
            ("etc/cron.weekly/x", format!("#!/bin/bash\n{line}\n")),
            ("lib/systemd/system/x.service", format!("[Service]\nExecStart=/bin/x {line}\nEnvironment={line}\n")),
        ] {
            let kept = kept(path, &text);
            prop_assert!(!kept.contains("hunter2"), "{}: {}", path, kept);
        }
    }
}

#[test]
fn a_quoted_semicolon_does_not_end_a_command_line() {
    let unit = "[Service]\n\
                ExecStart=/usr/bin/curl -d 'a ; hunter2' x ; /sbin/fstrim -a\n\
                ExecStart=/bin/sh -c 'echo \"a ; hunter2 ; b\" ; fstrim -v /'\n";
    let kept = super::unit(unit);
    assert_eq!(
        kept,
        "[Service]\n\
         ExecStart=/usr/bin/curl … … … ; /sbin/fstrim -a\n\
         ExecStart=/bin/sh -c 'echo … ; fstrim -v /'\n"
    );
    assert_eq!(super::unit(&kept), kept);
}

#[test]
fn paced_trims_keep_arguments_but_not_secrets() {
    let line = "0 2 * * 0 root /usr/bin/trimtab trim --all --window 01:00-05:00 --yes\n";
    assert_eq!(kept("etc/cron.d/trim", line), line);
    let unit = "[Service]\nExecStart=/usr/bin/trimtab trim --all --window 01:00-05:00\n";
    assert_eq!(kept("etc/systemd/system/trim.service", unit), unit);
    let probe = "0 2 * * 0 root trimtab trim / --probe https://user:hunter2@localhost:9200/\n";
    assert!(!kept("etc/cron.d/trim", probe).contains("hunter2"));
}

#[test]
fn a_file_that_is_only_named_like_a_script_keeps_nothing() {
    for path in ["opt/app/leak.sh", "root/x.sh", "usr/local/bin/y.sh"] {
        let kept = keep(path, b"ghp_CANARY16C7e42F292c6912E7710c\n").unwrap();
        assert_eq!(kept, Ok(Vec::new()), "{path}");
        let kept = keep(path, b"#!/bin/sh\nfstrim -a\n").unwrap().unwrap();
        assert!(
            String::from_utf8_lossy(&kept).contains("fstrim -a"),
            "{path}"
        );
    }
}
