//! Records of job runs: event lists, journals, syslog files.

use crate::text;
use host::parse::shell::script::commands;
use schedule::{Conditions, Log, Run, known_runs, parse_events, parse_zone};

/// With header, names and durations, and plain.
pub const EVENTS: &[&str] = &[
    "time,name,len_s\n2024-06-09 06:47:30,\"release 41, \"\"final\"\"\",90\n2024-06-10T06:47:00+02:00,backup,\n",
    "# deployed\n2024-06-09\n1717909621\n@1717909621000\n2024-10-27 02:30\n",
];

/// Traditional, with RFC 3339 timestamps, RFC 5424; cron, anacron, run-parts, systemd, the kernel.
pub const SYSLOGS: &[&str] = &[
    "Dec 31 06:47:01 db1 CRON[811]: (root) CMD (test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly ))\nJan  1 06:47:01 db1 CROND[9]: (root) CMDEND (run-parts /etc/cron.hourly)\n",
    "2024-06-09T07:30:12.000001+02:00 db1 anacron[5]: Job `cron.weekly' started\n2024-06-09T07:31:42+02:00 db1 anacron[5]: Job `cron.weekly' terminated (mailing output)\n",
    "<78>1 2024-06-09T06:00:01.003Z db1 CRON 811 - [origin ip=\"1]\\\"\"][x y=\"z\"] (root) CMD ([12] backup)\n",
    "Jun  9 03:20:01 h run-parts[8]: (/etc/cron.weekly) starting fstrim\nJun  9 03:24:01 h run-parts(/etc/cron.weekly)[8]: finished fstrim\nJun  9 04:00:00 h systemd[1]: Starting fstrim.service - x\nJun  9 04:00:09 h systemd[1]: fstrim.service: Succeeded.\nJun  9 05:00:00 h kernel: [    0.000000] Linux version 6.1\n",
];

/// A service that starts and ends, a cron line, and a binary message.
pub const JOURNALS: &[&str] = &[
    "{\"__REALTIME_TIMESTAMP\":\"1717372800100000\",\"MESSAGE_ID\":\"7d4958e842da4a758f6c1cdc7b36dcc5\",\"UNIT\":\"fstrim.service\"}\n{\"__REALTIME_TIMESTAMP\":\"1717372842200000\",\"MESSAGE_ID\":\"39f53479d3a045ac8e11786248231fbf\",\"UNIT\":\"fstrim.service\"}\n",
    "{\"__REALTIME_TIMESTAMP\":\"1717380000000000\",\"SYSLOG_IDENTIFIER\":\"CRON\",\"MESSAGE\":\"(root) CMD (backup)\"}\n{\"__REALTIME_TIMESTAMP\":\"1717390000000000\",\"MESSAGE\":[255,1]}\n",
];

pub(crate) fn in_order(runs: &[Run]) {
    assert!(
        runs.windows(2)
            .all(|pair| pair[0].earliest <= pair[1].earliest)
    );
    assert!(runs.iter().all(|run| run.earliest <= run.latest));
}

pub fn events(bytes: &[u8]) {
    let zone = parse_zone("Europe/Berlin").expect("known");
    if let Ok(lists) = parse_events("events.csv", &text(bytes), &zone) {
        assert!(!lists.is_empty());
        for events in lists {
            in_order(&events.runs);
        }
    }
}

fn read(bytes: &[u8]) -> Option<Log> {
    let zone = parse_zone("Europe/Berlin").expect("known");
    let ended = "2025-03-01T00:00:00Z".parse().expect("a time");
    Log::parse("log", &text(bytes), &zone, ended, &commands).ok()
}

/// Events are within the log's time range, and can be queried by job.
pub fn log(bytes: &[u8]) {
    let Some(log) = read(bytes) else { return };
    assert!(log.from <= log.until);
    for events in log.events() {
        in_order(&events.runs);
        assert!(
            events
                .runs
                .iter()
                .all(|run| log.from <= run.earliest && run.earliest <= log.until)
        );
    }
    let jobs = host::parse::crontab_jobs::from_crontab(
        "crontab",
        "47 6 * * 7 root run-parts /etc/cron.weekly\n0 4 * * * root backup\n",
    )
    .expect("a crontab");
    let zone = parse_zone("Europe/Berlin").expect("known");
    let conditions = Conditions::in_zone(&zone);
    let hours = jiff::SignedDuration::from_hours(24 * 20);
    let from = log.until.checked_sub(hours).unwrap_or(log.from);
    let until = log.until.checked_add(hours).unwrap_or(log.until);
    for job in &jobs {
        let logs = std::slice::from_ref(&log);
        let found = known_runs(job, &jobs, logs, from, until, &conditions).expect("readable");
        in_order(&found.runs);
    }
}

#[cfg(test)]
pub fn reaches_events(seed: &[u8]) -> bool {
    parse_events("x", &text(seed), &parse_zone("UTC").expect("known")).is_ok()
}

#[cfg(test)]
pub fn reaches_log(seed: &[u8]) -> bool {
    read(seed).is_some_and(|log| log.count() > 0 && log.notes.is_empty())
}
