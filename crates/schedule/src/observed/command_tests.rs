//! What is kept and shown of commands.

use super::*;

#[test]
fn commands_stay_secret() {
    let text = "Jun  9 06:00:01 h CRON[1]: (root) CMD (PGPASSWORD=hunter2 /usr/bin/pg_dump -phunter3 db | gzip)\n";
    let log = read(text, "2024-06-10T00:00:00Z");
    let shown = format!("{log:?} {:?}", log.events());
    assert!(!shown.contains("hunter"), "{shown}");
    assert_eq!(log.events()[0].name, "pg_dump");
    let job = line_job(3, "0 6 * * *", "pg_dump");
    assert_eq!(
        &*log.sightings(&job)[0].run("x").evidence,
        "log:1: cron started pg_dump for root"
    );
    // The same command of another user is another job.
    let mut other = job.clone();
    other.user = Some("postgres".to_owned());
    assert_eq!(log.sightings(&other), []);
}

/// Returns the name of what a command starts, and its evidence text.
fn name_and_evidence(command: &str) -> (String, String) {
    let line = format!("Jun  9 06:00:01 h CRON[1]: (root) CMD ({command})\n");
    let log = read(&line, "2024-06-10T00:00:00Z");
    let [events] = &log.events()[..] else {
        panic!("{command}");
    };
    let shown = format!("{log:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    (events.name.clone(), events.runs[0].evidence.to_string())
}

#[test]
fn words_are_split_like_a_shell_does() {
    for (command, name) in [
        ("PGPASSWORD='hunter2' /usr/bin/pg_dump db", "pg_dump"),
        ("PGPASSWORD=\"hunter2\" pg_dump db", "pg_dump"),
        ("PGPASSWORD=\"a hunter2\" pg_dump", "pg_dump"),
        ("X=foo\\ hunter2 pg_dump", "pg_dump"),
        ("X='it'\\''s hunter2' pg_dump", "pg_dump"),
        ("A=1 B=$(cat hunter2) pg_dump", "pg_dump"),
        ("X=hunter2; export X; pg_dump", "pg_dump"),
        ("export PGPASSWORD=hunter2 && pg_dump db", "pg_dump"),
        ("env PGPASSWORD='hunter2' pg_dump", "pg_dump"),
        ("mysqldump --password hunter2 db", "mysqldump"),
        ("mysqldump --password=hunter2 -phunter2 db", "mysqldump"),
        ("sshpass -p hunter2 rsync a b", "sshpass"),
        ("curl -u 'root:hunter2' http://h/?t=hunter2&x", "curl"),
        ("echo hunter2 | cryptsetup open /dev/sdb x", "cryptsetup"),
        ("cryptsetup open x <<< hunter2", "cryptsetup"),
        ("bash -c \"PGPASSWORD='hunter2' pg_dump\"", "pg_dump"),
        ("su - postgres -c 'X=\"b hunter2\" pg_dump'", "pg_dump"),
        (
            "cd / && X='hunter2' run-parts --report /etc/cron.daily",
            "cron.daily",
        ),
        // If in doubt, no program is named.
        ("PGPASSWORD='hunter2", "a command"),
        ("X=a#011hunter2", "a command"),
        ("'hunter2' pg_dump", "a command"),
        ("$X hunter2", "a command"),
        ("echo hunter2", "a command"),
        ("hunter2:x@y", "a command"),
    ] {
        let found = name_and_evidence(command);
        let evidence = format!("log:1: cron started {name} for root");
        assert_eq!(found, (name.to_owned(), evidence), "{command}");
    }
    // Far longer than any command cron runs.
    let long = format!("x {}", "hunter2 ".repeat(100_000));
    assert_eq!(name_and_evidence(&long).0, "a command");
}

#[test]
fn ends_are_matched_by_command_text() {
    let text = "Jun  9 06:00:01 h CROND[1]: (root) CMD (backup --full)\nJun  9 06:00:01 h CROND[2]: (root) CMD (backup)\nJun  9 06:00:11 h CROND[2]: (root) CMDEND (backup)\nJun  9 06:10:01 h CROND[1]: (root) CMDEND (backup --full)\n";
    let log = read(text, "2024-06-10T00:00:00Z");
    let runs = seen(&log, &line_job(1, "0 6 * * *", "backup"));
    let lens: Vec<Option<f64>> = runs.iter().map(|(_, len_s)| *len_s).collect();
    assert_eq!(lens, [Some(600.0), Some(10.0)]);
}
