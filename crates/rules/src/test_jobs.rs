//! Jobs built in memory for the tests of the rules.

use facts::host::{
    Calendars, EnabledState, FstabEntry, Host, Job, JobCommand, TimerState, Trigger,
};

/// The command of fstrim.service in util-linux 2.36 and later.
pub const LISTED_IN: &str =
    "fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported";

/// Splits a line into a command.
pub fn command(line: &str, source: &str) -> JobCommand {
    let mut words = line.split_whitespace().map(str::to_owned);
    JobCommand {
        program: words.next().expect("a program"),
        arguments: words.collect(),
        idle_io: false,
        source: source.to_owned(),
    }
}

/// Returns a timer that starts the service of the same name at calendar times.
pub fn timer(unit: &str, on_calendar: &str, line: &str) -> Job {
    let service = unit.replace(".timer", ".service");
    let source = format!("lib/systemd/system/{unit}");
    Job {
        name: unit.to_owned(),
        defined_in: source.clone(),
        user: None,
        triggers: vec![Trigger::Calendar(Calendars {
            expressions: vec![on_calendar.to_owned()],
            accuracy_s: Some(60.0),
            randomized_delay_s: Some(0.0),
            persistent: true,
            source,
            ..Calendars::default()
        })],
        commands: vec![command(line, &format!("lib/systemd/system/{service}"))],
        held_back_by: Vec::new(),
        guards: Vec::new(),
        last_run: None,
        next_run: None,
        timer: Some(TimerState {
            unit: unit.to_owned(),
            activates: service,
            enabled: Some(EnabledState::Enabled),
            active: Some(true),
            drop_ins: Vec::new(),
        }),
    }
}

/// Returns Debian 12's fstrim.timer, enabled and active.
pub fn fstrim_timer() -> Job {
    let mut job = timer("fstrim.timer", "weekly", LISTED_IN);
    if let Trigger::Calendar(calendars) = &mut job.triggers[0] {
        calendars.accuracy_s = Some(3600.0);
        calendars.randomized_delay_s = Some(6000.0);
    }
    job
}

/// Returns the timer with another state.
pub fn with_state(mut job: Job, enabled: EnabledState, active: Option<bool>) -> Job {
    let timer = job.timer.as_mut().expect("a timer");
    timer.enabled = Some(enabled);
    timer.active = active;
    job
}

/// Returns the trigger of a crontab line.
pub fn cron(spec: &str, source: &str) -> Trigger {
    Trigger::Cron {
        spec: spec.to_owned(),
        time_zone: None,
        source: source.to_owned(),
    }
}

/// Returns an anacrontab line.
pub fn anacron(period: &str, identifier: &str) -> Trigger {
    Trigger::Anacron {
        period: period.to_owned(),
        delay_min: 10,
        random_delay_min: None,
        start_hours: None,
        started_by: Vec::new(),
        identifier: identifier.to_owned(),
        source: "etc/anacrontab:12".to_owned(),
    }
}

/// Returns a cron job with its own schedule.
pub fn cron_job(name: &str, spec: &str, line: &str) -> Job {
    Job {
        name: name.to_owned(),
        defined_in: name.trim_start_matches('/').to_owned(),
        user: Some("root".to_owned()),
        triggers: vec![cron(spec, name.trim_start_matches('/'))],
        commands: vec![command(line, name.trim_start_matches('/'))],
        held_back_by: Vec::new(),
        guards: Vec::new(),
        last_run: None,
        next_run: None,
        timer: None,
    }
}

/// Returns a script in cron.weekly, started by Ubuntu 16.04's crontab on Sundays at 06:47.
pub fn cron_weekly(script: &str, line: &str) -> Job {
    let path = format!("etc/cron.weekly/{script}");
    Job {
        name: format!("cron.weekly/{script}"),
        defined_in: path.clone(),
        user: Some("root".to_owned()),
        triggers: vec![cron("47 6 * * 7", "etc/crontab:14")],
        commands: vec![command(line, &format!("{path}:3"))],
        held_back_by: Vec::new(),
        guards: Vec::new(),
        last_run: None,
        next_run: None,
        timer: None,
    }
}

/// Gives these jobs to a host.
pub fn jobs(list: Vec<Job>) -> impl FnOnce(&mut Host) {
    move |host| host.jobs = Some(list)
}

/// Gives a host an fstab of `mount_point options` lines, numbered from 1.
pub fn fstab(lines: &[(&str, &str)]) -> impl FnOnce(&mut Host) {
    let entries = lines
        .iter()
        .zip(1..)
        .map(|((mount_point, options), line)| FstabEntry {
            line,
            spec: format!("UUID=0000-{line}"),
            mount_point: (*mount_point).to_owned(),
            fs_type: "auto".to_owned(),
            options: options.split(',').map(str::to_owned).collect(),
        })
        .collect();
    move |host| host.fstab = Some(entries)
}
