//! systemd timers: from unit files, and from systemd itself if it is running.

use super::files::{Caller, Files};
use super::units::{Level, Units};
use crate::command::Command;
use crate::parse::shell::lexer::exec_lines;
use crate::parse::shell::script::Found;
use crate::parse::specifiers;
use crate::parse::systemctl::{self, UnitState};
use crate::parse::systemd_time::{parse_span_s, parse_timestamp};
use crate::parse::unit_file::{UnitFile, is_yes};
use crate::unread::Unread;
use facts::host::{Calendars, EnabledState, Guard, Host, Job, TimerState, Trigger};
use facts::{InputError, Skipped};
use std::collections::HashMap;

/// Services that run cron.
const CRON_SERVICES: &[&str] = &["cron.service", "crond.service", "cronie.service"];
/// Timer directives relative to some event.
const MONOTONIC: &[&str] = &[
    "OnActiveSec",
    "OnBootSec",
    "OnStartupSec",
    "OnUnitActiveSec",
    "OnUnitInactiveSec",
];

/// Information from systemd about jobs.
pub(super) struct Timers {
    pub jobs: Vec<Job>,
    /// Why cron starts nothing, if systemd knows.
    pub cron_stopped: Option<String>,
    /// Whether systemd starts anacron at boot, or by a timer whose file is missing.
    pub anacron_at_boot: bool,
    /// Whether systemd answered, which means that it is running.
    pub answered: bool,
}

/// Reads timers and the services that they activate.
pub(super) fn read(files: &Files<'_, '_>, host: &Host) -> Timers {
    let units = Units::find(files);
    let timers: Vec<(String, Option<UnitFile>)> = units
        .timers()
        .into_iter()
        .map(|name| {
            let file = units.load(files, &name);
            (name, file)
        })
        .collect();
    let activated = |name: &str, file: Option<&UnitFile>| {
        file.and_then(|file| file.value("Timer", "Unit"))
            .map_or_else(|| same_name_service(name), str::to_owned)
    };
    let mut asked: Vec<String> = CRON_SERVICES.iter().map(|&name| name.to_owned()).collect();
    asked.push("anacron.service".to_owned());
    for (name, file) in &timers {
        asked.push(name.clone());
        asked.push(activated(name, file.as_ref()));
    }
    asked.sort();
    asked.dedup();
    let states = ask(files, asked);
    let mut by_name: HashMap<&str, &UnitState> = HashMap::new();
    for state in &states {
        for name in state.names() {
            by_name.entry(name).or_insert(state);
        }
    }
    let state_of = |name: &str| by_name.get(name).copied();

    let mut jobs = Vec::new();
    for (name, file) in &timers {
        let state = state_of(name);
        let service = state
            .and_then(|state| state.get("Unit").or_else(|| state.get("Triggers")))
            .map_or_else(|| activated(name, file.as_ref()), str::to_owned);
        let service_file = units.load(files, &service);
        let timer = Timer {
            files,
            host,
            units: &units,
            name,
            file: file.as_ref(),
            state,
            service: &service,
            service_file: service_file.as_ref(),
            service_state: state_of(&service),
        };
        jobs.push(timer.job());
    }
    Timers {
        jobs,
        cron_stopped: cron_stopped(&states),
        anacron_at_boot: anacron_at_boot(&units, &timers, state_of("anacron.service")),
        answered: !states.is_empty(),
    }
}

fn same_name_service(timer: &str) -> String {
    format!("{}.service", timer.strip_suffix(".timer").unwrap_or(timer))
}

fn ask(files: &Files<'_, '_>, units: Vec<String>) -> Vec<UnitState> {
    if files.systemd == Some(false) {
        return Vec::new();
    }
    match files.reader.command(&Command::SystemctlShow { units }) {
        Ok(answer) => systemctl::parse(&String::from_utf8_lossy(&answer)),
        // No systemd, or only a tree of files.
        Err(Unread::NotFound) if files.systemd != Some(true) => Vec::new(),
        Err(unread) => {
            let what = "the state of systemd's timers";
            let needs = "an answer of systemctl show";
            files.skip(Skipped::new(what, unread.to_string(), Some(needs)));
            Vec::new()
        }
    }
}

fn cron_stopped(states: &[UnitState]) -> Option<String> {
    let known: Vec<&UnitState> = states
        .iter()
        .filter(|state| {
            state.id().is_some_and(|id| CRON_SERVICES.contains(&id))
                && matches!(state.get("LoadState"), Some("loaded" | "masked"))
        })
        .collect();
    let is_running = |state: &&UnitState| {
        // Starting or reloading: it will be running. Unknown: no reason to doubt it.
        !matches!(state.get("ActiveState"), Some("inactive" | "failed"))
    };
    if known.is_empty() || known.iter().any(is_running) {
        return None;
    }
    let state = known[0];
    Some(format!(
        "{} is {}",
        state.id().unwrap_or("cron"),
        state.get("ActiveState").unwrap_or("inactive")
    ))
}

fn anacron_at_boot(
    units: &Units,
    timers: &[(String, Option<UnitFile>)],
    state: Option<&UnitState>,
) -> bool {
    let timer_is_known = timers.iter().any(|(name, _)| name == "anacron.timer");
    let by_state = state.and_then(|state| state.get("UnitFileState"));
    let service_starts = match by_state {
        Some(file_state) => file_state == "enabled",
        None => units.level("anacron.service").is_some(),
    };
    service_starts || (!timer_is_known && units.level("anacron.timer").is_some())
}

struct Timer<'a, 'r, 's> {
    files: &'a Files<'r, 's>,
    host: &'a Host,
    units: &'a Units,
    name: &'a str,
    file: Option<&'a UnitFile>,
    state: Option<&'a UnitState>,
    service: &'a str,
    service_file: Option<&'a UnitFile>,
    service_state: Option<&'a UnitState>,
}

impl Timer<'_, '_, '_> {
    fn job(&self) -> Job {
        let state = |property| self.state.and_then(|state| state.get(property));
        let fragment = self
            .units
            .fragment(self.name)
            .map(str::to_owned)
            .or_else(|| Some(state("FragmentPath")?.trim_start_matches('/').to_owned()))
            .unwrap_or_else(|| self.name.to_owned());
        let active = state("ActiveState").map(|word| matches!(word, "active" | "activating"));
        let mut held_back_by = Vec::new();
        if self.files.systemd == Some(false) {
            held_back_by.push("systemd does not run here".to_owned());
        }
        // An active timer has already passed its conditions.
        if active != Some(true) {
            held_back_by.extend(self.unmet_conditions(self.file));
        }
        held_back_by.extend(self.unmet_conditions(self.service_file));
        let found = self.found();
        let work = self.files.work(found, Caller::Root);
        held_back_by.extend(work.held_back_by);
        held_back_by.dedup();
        let guards = work.when.map(Guard::of_all).into_iter().collect();
        let mut commands = work.commands;
        if self.has_idle_io() {
            for command in &mut commands {
                command.idle_io = true;
            }
        }
        let user = self
            .service_file
            .and_then(|file| file.value("Service", "User"))
            .or_else(|| self.service_state.and_then(|state| state.get("User")));
        Job {
            name: self.name.to_owned(),
            user: user.map(str::to_owned),
            triggers: self.triggers(&fragment),
            commands,
            held_back_by,
            guards,
            last_run: state("LastTriggerUSec").and_then(parse_timestamp),
            next_run: state("NextElapseUSecRealtime").and_then(parse_timestamp),
            timer: Some(TimerState {
                unit: self.name.to_owned(),
                activates: self.service.to_owned(),
                enabled: Some(self.enabled()),
                active,
                drop_ins: self.units.changes(self.name, self.state),
            }),
            defined_in: fragment,
        }
    }

    fn enabled(&self) -> EnabledState {
        if self.units.is_masked(self.name) {
            return EnabledState::Masked;
        }
        if let Some(state) = self.state {
            if state.get("LoadState") == Some("masked") {
                return EnabledState::Masked;
            }
            match state.get("UnitFileState") {
                Some("enabled") => return EnabledState::Enabled,
                Some("enabled-runtime") => return EnabledState::EnabledRuntime,
                Some("disabled") => return EnabledState::Disabled,
                Some("masked" | "masked-runtime") => return EnabledState::Masked,
                Some("static") => return EnabledState::Static,
                Some("generated") => return EnabledState::Generated,
                Some(_) => return EnabledState::Other,
                None => {}
            }
        }
        // systemd calls a unit without [Install] static even if another one wants it; what matters
        // here is whether anything starts it.
        match self.units.level(self.name) {
            Some(Level::Administrator) => EnabledState::Enabled,
            Some(Level::Runtime) => EnabledState::EnabledRuntime,
            Some(Level::Generator) => EnabledState::Generated,
            Some(Level::Vendor) => EnabledState::Static,
            None => EnabledState::Disabled,
        }
    }

    fn triggers(&self, fragment: &str) -> Vec<Trigger> {
        let mut expressions: Vec<String> = Vec::new();
        let mut relative: Vec<(String, String, Option<InputError>)> = Vec::new();
        for assignment in self.file.map_or(&[][..], |file| &file.assignments) {
            let key = assignment.key.as_str();
            let is_relative = MONOTONIC.contains(&key);
            if assignment.section != "Timer" || !(is_relative || key == "OnCalendar") {
                continue;
            }
            if assignment.value.is_empty() {
                // systemd.timer(5): an empty assignment resets all of them, of either kind.
                expressions.clear();
                relative.clear();
            } else if is_relative {
                let error = InputError::new(&assignment.source, "a time span", &assignment.value)
                    .at_line(assignment.line);
                relative.push((key.to_owned(), assignment.value.clone(), Some(error)));
            } else {
                expressions.push(assignment.value.clone());
            }
        }
        if let Some(state) = self.state {
            let calendars = state.calendars();
            if !calendars.is_empty() {
                expressions = calendars;
            }
            if self.file.is_none() {
                relative = state
                    .monotonic()
                    .into_iter()
                    .map(|(base, span)| (base, span, None))
                    .collect();
            }
        }
        let mut triggers = Vec::new();
        let accuracy_s = self.span("AccuracyUSec", "AccuracySec");
        let randomized_delay_s = self.span("RandomizedDelayUSec", "RandomizedDelaySec");
        if !expressions.is_empty() {
            triggers.push(Trigger::Calendar(Calendars {
                expressions,
                accuracy_s,
                randomized_delay_s,
                // This and the offset are not among the properties that are requested: older versions
                // of systemd lack them.
                fixed_random_delay: self
                    .file
                    .and_then(|file| file.boolean("Timer", "FixedRandomDelay"))
                    .unwrap_or(false),
                randomized_offset_s: self.span_of_file("RandomizedOffsetSec"),
                persistent: self
                    .state
                    .and_then(|state| state.get("Persistent").map(is_yes))
                    .or_else(|| self.file?.boolean("Timer", "Persistent"))
                    .unwrap_or(false),
                source: fragment.to_owned(),
            }));
        }
        for (base, span, error) in relative {
            match (parse_span_s(&span), error) {
                (Some(span_s), _) if span_s.is_finite() => triggers.push(Trigger::Monotonic {
                    base,
                    span_s,
                    accuracy_s,
                    randomized_delay_s,
                    source: fragment.to_owned(),
                }),
                // Infinite: it never elapses.
                (Some(_), _) | (None, None) => {}
                (None, Some(error)) => self.files.report_line(&error),
            }
        }
        triggers
    }

    /// Returns a time span, as reported by systemd or otherwise from the unit file.
    fn span(&self, property: &str, key: &str) -> Option<f64> {
        let stated = self
            .state
            .and_then(|state| parse_span_s(state.get(property)?));
        let stated = stated.filter(|span| span.is_finite());
        stated.or_else(|| self.span_of_file(key))
    }

    fn span_of_file(&self, key: &str) -> Option<f64> {
        let file = self.file?;
        let value = file.value("Timer", key)?;
        let span = parse_span_s(value);
        if span.is_none()
            && let Some(assignment) = file.all("Timer", key).pop()
        {
            let error = InputError::new(&assignment.source, "a time span", value);
            self.files.report_line(&error.at_line(assignment.line));
        }
        span.filter(|span| span.is_finite())
    }

    /// Finds the programs that the service runs: from its file, which preserves word boundaries,
    /// otherwise from systemd.
    fn found(&self) -> Vec<Found> {
        let mut found = Vec::new();
        for key in ["ExecStartPre", "ExecStart"] {
            if let Some(file) = self.service_file {
                for assignment in file.list("Service", key) {
                    let place = format!("{}:{}", assignment.source, assignment.line);
                    let value = specifiers::expand(&assignment.value, self.service);
                    for line in exec_lines(&value) {
                        found.extend(self.files.scan_exec(&place, &line.command));
                    }
                }
            } else if let Some(state) = self.service_state {
                let place = format!("systemctl show {}: {key}", self.service);
                for line in state.command_lines(key) {
                    found.extend(self.files.scan_exec(&place, line));
                }
            }
        }
        found
    }

    /// Whether the service runs at idle I/O priority.
    fn has_idle_io(&self) -> bool {
        let value = |key| {
            self.service_file
                .and_then(|file| file.value("Service", key))
                .or_else(|| self.service_state?.get(key))
        };
        matches!(value("IOSchedulingClass"), Some("idle" | "3"))
            || value("CPUSchedulingPolicy") == Some("idle")
            || value("Nice")
                .and_then(|nice| nice.parse::<i32>().ok())
                .is_some_and(|nice| nice > 0)
    }

    /// Returns the unit's conditions that are known not to hold (systemd.unit(5)): all plain
    /// conditions must hold, and one of those prefixed with `|`.
    fn unmet_conditions(&self, file: Option<&UnitFile>) -> Vec<String> {
        let mut conditions: Vec<(&str, &str)> = Vec::new();
        for assignment in file.map_or(&[][..], |file| &file.assignments) {
            if assignment.section == "Unit" && assignment.key.starts_with("Condition") {
                if assignment.value.is_empty() {
                    conditions.clear();
                } else {
                    conditions.push((&assignment.key, &assignment.value));
                }
            }
        }
        let (any, all): (Vec<_>, Vec<_>) = conditions
            .into_iter()
            .partition(|(_, value)| value.starts_with('|'));
        let is_unmet = |(key, value): &(&str, &str)| self.condition(key, value) == Some(false);
        let mut unmet: Vec<String> = all
            .into_iter()
            .filter(is_unmet)
            .map(|(key, value)| format!("{key}={value} does not hold"))
            .collect();
        if !any.is_empty() && any.iter().all(is_unmet) {
            unmet.push(format!("{}={} does not hold", any[0].0, any[0].1));
        }
        unmet
    }

    fn condition(&self, key: &str, value: &str) -> Option<bool> {
        let value = value.trim_start_matches('|').trim_start();
        let (negated, value) = match value.strip_prefix('!') {
            Some(value) => (true, value.trim_start()),
            None => (false, value),
        };
        let holds = match (key, value) {
            ("ConditionPathExists", path) if path.starts_with('/') => self.files.test('e', path)?,
            ("ConditionVirtualization", "container") => self.host.platform.container.is_some(),
            _ => return None,
        };
        Some(holds != negated)
    }
}
