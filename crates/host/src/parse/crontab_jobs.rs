//! Parses a crontab on its own, without the host that it comes from.

use super::crontab::{self, Crontab, Kind};
use super::shell::script::{Origin, scan};
use super::shell::truth::any;
use facts::InputError;
use facts::host::{ClockCondition, Guard, Job};

/// Maximum length of a crontab, in bytes.
pub const CRONTAB_BYTES_MAX: u64 = 1 << 20;
/// More jobs than any real host has.
pub(crate) const JOBS_MAX: usize = 20_000;
/// Common account names in crontabs of packages and administrators.
const ACCOUNTS: &[&str] = &[
    "admin",
    "backup",
    "daemon",
    "elasticsearch",
    "mongod",
    "mongodb",
    "mysql",
    "nobody",
    "opensearch",
    "postgres",
    "root",
    "ubuntu",
    "www-data",
];

/// Parses the jobs of a crontab supplied by the user: a user's own (`crontab -l`), or a system one
/// with a user column. Which of the two it is follows from the path (`etc/crontab`, `cron.d`),
/// otherwise from the contents: a system crontab has a well-known account in the user column in at
/// least half of its lines.
///
/// Jobs are named after their line, `FILE:LINE`, or after the directory whose scripts they start,
/// `cron.weekly`. What a command runs is determined from the line alone; conditions in it (`test -x
/// ...`) are assumed to hold.
///
/// # Errors
/// At the first malformed line, and if there is no job at all.
pub fn from_crontab(source: &str, text: &str) -> Result<Vec<Job>, InputError> {
    let crontab = crontab::parse(source, text, kind(source, text));
    if let Some(error) = crontab.errors.into_iter().next() {
        return Err(error);
    }
    if crontab.entries.is_empty() {
        let expected = "a crontab: lines of five fields and a command";
        return Err(InputError::new(source, expected, text.trim()));
    }
    if crontab.entries.len() > JOBS_MAX {
        let expected = format!("at most {JOBS_MAX} jobs");
        let found = format!("{} of them", crontab.entries.len());
        return Err(InputError::new(source, expected, &found));
    }
    let jobs = crontab.entries.into_iter().map(|entry| {
        let place = format!("{source}:{}", entry.line);
        let found = scan(Origin::Line(&place), &entry.command, &|_, _| None);
        let directory = found.iter().find_map(|found| {
            let is_starter = found.command.program == "run-parts";
            let path = found
                .command
                .arguments
                .iter()
                .find(|a| a.starts_with("/etc/cron."));
            path.filter(|_| is_starter)
                .map(|path| path["/etc/".len()..].trim_end_matches('/').to_owned())
        });
        let mut job = Job::new(directory.unwrap_or_else(|| place.clone()), place.clone());
        job.triggers = vec![entry.trigger(&place)];
        job.user = entry.user;
        let when: Option<Vec<ClockCondition>> =
            found.iter().map(|found| found.when.clone()).collect();
        job.guards = (when.filter(|when| !when.is_empty()))
            .map(|when| Guard {
                zone: entry.clock_zone,
                ..Guard::of_all(any(when))
            })
            .into_iter()
            .collect();
        job.commands = found.into_iter().map(|found| found.command).collect();
        job
    });
    Ok(jobs.collect())
}

/// Decodes the text of a crontab file.
///
/// # Errors
/// If the file is longer than [`CRONTAB_BYTES_MAX`], empty, binary, or not UTF-8; the error says
/// which.
pub fn text(bytes: Vec<u8>) -> Result<String, String> {
    // Checked first, because a file that long may have been truncated.
    if bytes.len() as u64 > CRONTAB_BYTES_MAX {
        return Err(format!("a file of more than {CRONTAB_BYTES_MAX} bytes"));
    }
    if bytes.trim_ascii().is_empty() {
        return Err("an empty file".to_owned());
    }
    if bytes.contains(&0) {
        return Err("a binary file".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = error.utf8_error().valid_up_to();
        format!("a file that is no text in UTF-8 (byte {before})")
    })
}

/// Parses the jobs of a crontab like [`from_crontab`], with the program in their names.
///
/// # Errors
/// Same as [`from_crontab`].
pub fn named_by_program(source: &str, text: &str) -> Result<Vec<Job>, InputError> {
    let mut jobs = from_crontab(source, text)?;
    name_by_program(&mut jobs);
    Ok(jobs)
}

/// Appends the program to the name of each job that is named after its line alone: `/etc/crontab:2
/// fstrim`.
pub fn name_by_program(jobs: &mut [Job]) {
    for job in jobs {
        let line = job.defined_in.rsplit_once(':').map(|(_, line)| line);
        let is_line = line.is_some_and(|line| {
            let ends = job.name.rsplit_once(':').map(|(_, end)| end);
            ends == Some(line)
        });
        if is_line && let Some(command) = job.commands.first() {
            job.name = format!("{} {}", job.name, command.program);
        }
    }
}

fn kind(source: &str, text: &str) -> Kind {
    let mut directories = source.rsplit('/').skip(1);
    if source.ends_with("etc/crontab") || directories.next() == Some("cron.d") {
        return Kind::System;
    }
    // When parsed as a user's crontab, the account is the first word of the command.
    let Crontab { entries, .. } = crontab::parse(source, text, Kind::User);
    let with_account = entries
        .iter()
        .filter(|entry| {
            let mut words = entry.command.split_whitespace();
            words.next().is_some_and(|word| ACCOUNTS.contains(&word))
        })
        .count();
    if with_account > 0 && with_account * 2 >= entries.len() {
        Kind::System
    } else {
        Kind::User
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::host::Trigger;
    use proptest::prelude::*;

    const SYSTEM: &str = "SHELL=/bin/sh\n17 * * * * root cd / && run-parts --report /etc/cron.hourly\n47 6 * * 7 root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }\n0 3 * * * backup /usr/local/bin/snapshot --all\n@reboot root /usr/sbin/tune\n";

    fn names(jobs: &[Job]) -> Vec<&str> {
        jobs.iter().map(|job| job.name.as_str()).collect()
    }

    #[test]
    fn a_system_crontab_has_a_user_column() {
        let jobs = from_crontab("my.crontab", SYSTEM).expect("readable");
        assert_eq!(
            names(&jobs),
            ["cron.hourly", "cron.weekly", "my.crontab:4", "my.crontab:5"]
        );
        assert_eq!(jobs[2].user.as_deref(), Some("backup"));
        assert_eq!(jobs[2].commands[0].program, "snapshot");
        assert_eq!(jobs[2].commands[0].source, "my.crontab:4");
        assert_eq!(
            jobs[1].triggers,
            [Trigger::Cron {
                spec: "47 6 * * 7".to_owned(),
                time_zone: None,
                source: "my.crontab:3".to_owned(),
            }]
        );
        assert_eq!(
            jobs[3].triggers,
            [Trigger::Boot {
                source: "my.crontab:5".to_owned()
            }]
        );
        assert!(jobs.iter().all(Job::is_active));
    }

    #[test]
    fn a_users_own_crontab_has_no_user_column() {
        let text = "CRON_TZ=UTC\n0 3 * * * pg_dump -h db1 prod | gzip > /backup/x.gz\n@weekly root-check\n";
        let jobs = from_crontab("crontab.txt", text).expect("readable");
        assert_eq!(names(&jobs), ["crontab.txt:2", "crontab.txt:3"]);
        assert_eq!(jobs[0].user, None);
        assert_eq!(jobs[0].commands[0].program, "pg_dump");
        assert!(
            matches!(&jobs[0].triggers[0], Trigger::Cron { time_zone: Some(zone), .. } if zone == "UTC")
        );
        // The path takes precedence over the contents.
        let jobs = from_crontab("/x/etc/cron.d/app", "0 3 * * * app run\n").expect("readable");
        assert_eq!(jobs[0].user.as_deref(), Some("app"));
    }

    #[test]
    fn errors_name_the_line() {
        let refuse = |text: &str| from_crontab("c", text).expect_err("wrong").to_string();
        assert_eq!(
            refuse("0 3 * * * backup-all\n61 * * * * x\n"),
            "c:2:1: expected a minute from 0 to 59, found \"61\""
        );
        // A line without a user among lines that have one.
        assert_eq!(
            refuse("0 3 * * * root a\n0 4 * * * root b\n0 5 * * * /bin/c\n"),
            "c:3:11: expected a user name, found \"/bin/c\""
        );
        assert!(refuse("# nothing\n").starts_with("c: expected a crontab"));
        assert!(refuse("time,value\n1,2\n").starts_with("c:1:1: expected"));
    }

    #[test]
    fn jobs_are_named_after_their_program() {
        let named = |name: &str, text: &str| -> Vec<String> {
            let jobs = named_by_program(name, text).unwrap();
            jobs.into_iter().map(|job| job.name).collect()
        };
        let text = "PATH=/bin\n47 6 * * 7 SECRET=x /sbin/fstrim -av\n@reboot y\n";
        assert_eq!(named("mine", text), ["mine:2 fstrim", "mine:3 y"]);
        let text = "0 5 * * * root tar c\n47 6 * * 7 root run-parts /etc/cron.weekly\n";
        assert_eq!(named("etc", text), ["etc:1 tar", "cron.weekly"]);
        let error = named_by_program("mine", "@daily x\nnonsense\n").unwrap_err();
        assert_eq!(error.line, Some(2));
    }

    #[test]
    fn files_that_are_not_crontabs_are_rejected() {
        let found = |bytes: &[u8]| super::text(bytes.to_vec()).unwrap_err();
        assert_eq!(found(b""), "an empty file");
        assert_eq!(found(b" \n\n"), "an empty file");
        assert_eq!(found(b"\x7fELF\0\0"), "a binary file");
        assert!(found(b"0 5 * * * tar \xff").contains("no text in UTF-8 (byte 14)"));
        assert!(found(&vec![b'x'; (1 << 20) + 1]).contains("1048576 bytes"));
        assert!(super::text(b"@daily x\n".to_vec()).is_ok());
    }

    proptest! {
        #[test]
        fn total(text in "([0-9*/,@-]{0,6}|root|run-parts /etc/cron.daily|%|\\\\|=|\"|[a-z]{1,8}|[ \t]|\r?\n|…){0,60}") {
            if let Ok(jobs) = from_crontab("c", &text) {
                prop_assert!(!jobs.is_empty() && jobs.len() <= text.lines().count());
            }
        }
    }
}
