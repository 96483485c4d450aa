//! The files that make systemd or cron start a paced trim.

use super::ending::Blocked;
use crate::job_places::is_plain;
use facts::host::{Job, JobCommand};
use facts::{Edit, Host};
use std::fmt::Write as _;

/// The packaged units, for hosts without the package.
const UNITS: [(&str, &str); 2] = [
    (
        "trimtab-trim@.service",
        include_str!("../../../../packaging/trimtab-trim@.service"),
    ),
    (
        TIMER_TEMPLATE,
        include_str!("../../../../packaging/trimtab-trim@.timer"),
    ),
];
/// Where units call trimtab by in the package.
pub const PACKAGED_PROGRAM: &str = "/usr/bin/trimtab";
/// The template of the plan's timers.
pub const TIMER_TEMPLATE: &str = "trimtab-trim@.timer";
/// Name of the drop-ins: it sorts after `override.conf`, which `systemctl edit` writes, and takes precedence.
pub const PLAN_DROP_IN: &str = "trimtab-plan.conf";
/// The plan's file for cron.
const CRON_FILE: &str = "etc/cron.d/trimtab-plan";
/// busybox' crontab of root.
const BUSYBOX_CRONTAB: &str = "etc/crontabs/root";
const HEADER: &str = "# Written by `trimtab plan`; `trimtab plan --undo` takes it back.";

/// What starts jobs on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// systemd's timers.
    Systemd,
    /// A cron that reads /etc/cron.d.
    Cron,
    /// busybox' crond, which reads crontabs of users only.
    Busybox,
}

impl Scheduler {
    /// The one of a host, as far as the facts show.
    pub fn of(host: &Host) -> Self {
        let jobs = || host.jobs.iter().flatten();
        let has_timers = jobs().any(|job| job.timer.is_some());
        if host.platform.systemd.unwrap_or(has_timers) {
            return Self::Systemd;
        }
        let is_busybox = jobs().any(|job| job.defined_in.starts_with("etc/crontabs/"))
            || host.platform.distribution.as_deref() == Some("alpine");
        if is_busybox {
            Self::Busybox
        } else {
            Self::Cron
        }
    }
}

/// When a filesystem is trimmed, every week or every day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// For `OnCalendar=`: `Tue *-*-* 01:00:00`.
    pub calendar: String,
    /// The time fields of a crontab: `0 1 * * 2`.
    pub cron: String,
    /// For `--window`: `01:00-05:00`.
    pub window: String,
    /// Zone of these, if it is not the host's own.
    pub zone: Option<String>,
    /// Zone of the window, which a host without /etc/localtime does not know.
    pub window_zone: Option<String>,
    /// For `--deadline`: `4h`.
    pub deadline: String,
}

/// What the units start.
#[derive(Debug, Clone, Copy)]
pub struct UnitOptions<'a> {
    /// The path of this program for units of its own; `None` if the package's units are installed.
    pub program: Option<&'a str>,
    /// Where the template of the timer is: `/usr/lib/systemd/system/trimtab-trim@.timer`.
    pub timer_template: &'a str,
    /// Further options of `trimtab trim`.
    pub options: &'a [String],
}

/// Returns what makes a host trim a mount point by a schedule.
///
/// # Errors
/// If the host's scheduler cannot do that.
pub fn trim_edits(
    scheduler: Scheduler,
    mount_point: &str,
    schedule: &Schedule,
    units: UnitOptions<'_>,
) -> Result<Vec<(Edit, String)>, Blocked> {
    if let Some(option) = units.options.iter().find(|option| !is_carried(option)) {
        return Err(Blocked {
            why: format!("an option cannot be written into a unit or a crontab as it is: {option}"),
            hint: "put what it says into a script of its own, or into [trim] of trimtab.toml"
                .to_owned(),
        });
    }
    let mut options = format!("--window {}", schedule.window);
    if let Some(zone) = schedule.zone.as_ref().or(schedule.window_zone.as_ref()) {
        let _ = write!(options, " --tz {zone}");
    }
    let _ = write!(options, " --deadline {}", schedule.deadline);
    for option in units.options {
        let _ = write!(options, " {option}");
    }
    match scheduler {
        Scheduler::Systemd => Ok(by_systemd(mount_point, schedule, units, &options)),
        Scheduler::Cron | Scheduler::Busybox => {
            by_cron(scheduler, mount_point, schedule, units, &options)
        }
    }
}

/// Whether an option and its value mean the same in a unit and in a crontab without quotes.
fn is_carried(option: &str) -> bool {
    option.split(' ').count() <= 2
        && option
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " -_./:,=@%[]+~".contains(c))
}

fn by_systemd(
    mount_point: &str,
    schedule: &Schedule,
    units: UnitOptions<'_>,
    options: &str,
) -> Vec<(Edit, String)> {
    let mut edits = Vec::new();
    if let Some(program) = units.program {
        for (name, text) in UNITS {
            let path = format!("etc/systemd/system/{name}");
            let text = text.replace(PACKAGED_PROGRAM, program);
            edits.push((Edit::Write { path, text }, "the package's unit".to_owned()));
        }
    }
    let zone = schedule.zone.as_ref();
    let zone = zone.map_or_else(String::new, |zone| format!(" {zone}"));
    let unit = format!("trimtab-trim@{}", escaped(mount_point));
    let timer = format!(
        "{HEADER}\n[Timer]\nOnCalendar=\nOnCalendar={}{zone}\nAccuracySec=1s\nRandomizedDelaySec=0\nPersistent=false\n",
        schedule.calendar
    );
    // A percent sign begins a specifier.
    let options = options.replace('%', "%%");
    let service = format!("{HEADER}\n[Service]\nEnvironment=\"TRIMTAB_TRIM_OPTIONS={options}\"\n");
    for (kind, text, why) in [
        ("timer", timer, "when it is trimmed"),
        ("service", service, "how it is trimmed"),
    ] {
        let path = format!("etc/systemd/system/{unit}.{kind}.d/{PLAN_DROP_IN}");
        edits.push((Edit::Write { path, text }, why.to_owned()));
    }
    let path = format!("etc/systemd/system/timers.target.wants/{unit}.timer");
    let target = units.timer_template.to_owned();
    edits.push((Edit::Link { path, target }, format!("enables {unit}.timer")));
    edits
}

fn by_cron(
    scheduler: Scheduler,
    mount_point: &str,
    schedule: &Schedule,
    units: UnitOptions<'_>,
    options: &str,
) -> Result<Vec<(Edit, String)>, Blocked> {
    if !is_plain(mount_point) {
        return Err(Blocked {
            why: "its mount point has characters that a crontab gives another meaning".to_owned(),
            hint: "mount it under a name of letters, digits and -._/".to_owned(),
        });
    }
    if let Some(zone) = &schedule.zone {
        return Err(Blocked {
            why: format!("cron starts jobs by the host's clock, not by that of {zone}"),
            hint: "leave --tz out where all nodes are in one time zone".to_owned(),
        });
    }
    let program = units.program.unwrap_or(PACKAGED_PROGRAM);
    let command = format!(
        "{program} trim {} {mount_point}",
        options.replace('%', "\\%")
    );
    let why = "when and how it is trimmed".to_owned();
    let edit = if scheduler == Scheduler::Busybox {
        let path = BUSYBOX_CRONTAB.to_owned();
        let text = format!("{} {command}", schedule.cron);
        let ending = format!(" # trimtab plan {mount_point}");
        Edit::SetLine { path, text, ending }
    } else {
        let name = cron_name(mount_point);
        let text = format!(
            "{HEADER}\nSHELL=/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n{} root {command}\n",
            schedule.cron
        );
        Edit::Write {
            path: format!("{CRON_FILE}-{name}"),
            text,
        }
    };
    Ok(vec![(edit, why)])
}

/// Whether a job is the one that the plan writes for a mount point.
pub(super) fn is_own(job: &Job, mount_point: &str) -> bool {
    let names_it = |command: &JobCommand| {
        command.program == "trimtab"
            && command
                .arguments
                .last()
                .is_some_and(|last| last == mount_point)
    };
    let timer = job.timer.as_ref();
    timer.is_some_and(|timer| timer.unit == timer_name(mount_point))
        || job.defined_in.starts_with(CRON_FILE) && job.commands.iter().any(names_it)
        // A line of trimtab's that somebody wrote by hand is replaced by nothing else.
        || job.defined_in.starts_with(BUSYBOX_CRONTAB) && job.commands.iter().any(names_it)
}

/// A name that cron reads: letters, digits, `-` and `_` (run-parts(8), which Debian's cron follows).
fn cron_name(mount_point: &str) -> String {
    let inner = mount_point.trim_matches('/');
    let mut name = String::new();
    for byte in inner.bytes() {
        match byte {
            b'/' => name.push('-'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => name.push(char::from(byte)),
            other => {
                let _ = write!(name, "_{other:02x}");
            }
        }
    }
    if name.is_empty() {
        // No path has this name: `_` is always written `_5f`.
        "_root".to_owned()
    } else {
        name
    }
}

/// The plan's timer of a mount point.
pub fn timer_name(mount_point: &str) -> String {
    format!("trimtab-trim@{}.timer", escaped(mount_point))
}

/// Writes a path as the name of a unit's instance does (systemd.unit(5), `unit_name_path_escape`).
fn escaped(path: &str) -> String {
    let inner = path.trim_matches('/');
    if inner.is_empty() {
        return "-".to_owned();
    }
    let mut name = String::new();
    let mut is_slash = false;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'/' if is_slash => {}
            b'/' => name.push('-'),
            b'.' if at == 0 => name.push_str("\\x2e"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => {
                name.push(char::from(byte));
            }
            other => {
                let _ = write!(name, "\\x{other:02x}");
            }
        }
        is_slash = byte == b'/';
    }
    name
}

/// Options of a paced trim that the plan does not set itself.
pub(super) fn kept_options(job: &Job) -> Vec<String> {
    let Some(command) = job
        .commands
        .iter()
        .find(|command| command.program == "trimtab")
    else {
        return Vec::new();
    };
    kept_trim_options(&command.arguments)
}

/// Of the options of a paced trim, those that the plan does not set itself, each with its value.
fn kept_trim_options(words: &[String]) -> Vec<String> {
    // The last one is an option of 0.2.0, which a pass refuses now.
    const LEFT_OUT: [&str; 4] = ["--window", "--tz", "--deadline", "--max-request"];
    let mut kept = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (name, joined) = word
            .split_once('=')
            .map_or((word, None), |(name, value)| (name, Some(value)));
        if !name.starts_with("--") || name == "--now" {
            continue;
        }
        let takes_value = crate::trim_jobs::TRIM_OPTIONS_WITH_VALUE.contains(&name);
        let value = joined.or_else(|| takes_value.then(|| words.next()).flatten());
        if LEFT_OUT.contains(&name) {
            continue;
        }
        kept.push(value.map_or_else(|| name.to_owned(), |value| format!("{name} {value}")));
    }
    kept
}

/// The variable that holds the options of a pass.
const OPTIONS: &str = "TRIMTAB_TRIM_OPTIONS=";
/// What the plan's drop-ins set.
const SET_BY_PLAN: [&str; 6] = [
    "OnCalendar",
    "AccuracySec",
    "RandomizedDelaySec",
    "RandomizedOffsetSec",
    "ExecStart",
    OPTIONS,
];

/// What another drop-in of a planned unit means for the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherDropIn {
    /// It sorts after the plan's, and overrides it.
    Overrides,
    /// It has options of a pass, which the plan's drop-in has to repeat.
    Options(Vec<String>),
    /// Nothing.
    Unrelated,
}

/// Judges another drop-in by its file's name and its text.
pub fn other_drop_in(name: &str, text: &str) -> OtherDropIn {
    let lines = || {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.starts_with(['#', ';']))
    };
    if name > PLAN_DROP_IN && lines().any(|line| SET_BY_PLAN.iter().any(|key| line.contains(key))) {
        return OtherDropIn::Overrides;
    }
    let value = lines()
        .filter_map(|line| Some(line.split_once(OPTIONS)?.1))
        .next_back();
    let words = value
        .unwrap_or_default()
        .trim_end_matches(['"', '\''])
        .split_whitespace();
    let options = kept_trim_options(&words.map(str::to_owned).collect::<Vec<_>>());
    if options.is_empty() {
        OtherDropIn::Unrelated
    } else {
        OtherDropIn::Options(options)
    }
}
