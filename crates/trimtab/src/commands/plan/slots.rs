//! Slots from the arguments.

use super::args::{DEFAULT_DAYS, EveryArg, Plan, words};
use crate::error::CommandError;
use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use plan::{Every, Refusal, Request, Slot, Window};
use report::views::plan::{NodesPlan, PlannedNode};
use rules::Schedule;
use std::collections::HashSet;
use std::time::Duration;

/// Windows are given to the minute.
const PASS_MIN: Duration = Duration::from_mins(1);
/// The random delay of fstrim.timer, with which slots are compared, in seconds.
const TIMER_DELAY_S: f64 = 6_000.0;
/// How long a pass takes where several nodes share the window.
const SHARED_PASS: Duration = Duration::from_mins(20);
/// Shortest slot of a host that has the window for itself.
const ALONE_MIN: Duration = Duration::from_hours(1);

/// Looks at what clap cannot.
///
/// # Errors
/// When an argument is invalid.
pub fn validate(arguments: &Plan) -> Result<(), CommandError> {
    if let Some(mount) = arguments
        .mounts
        .iter()
        .find(|mount| !mount.starts_with('/'))
    {
        return Err(CommandError::usage(format!(
            "{mount}: expected the absolute path of a mount point"
        ))
        .hint("for example trimtab plan /data; nodes are named with --peers"));
    }
    let mut names = HashSet::new();
    if let Some(twice) = arguments.peers.iter().find(|node| !names.insert(*node)) {
        return Err(
            CommandError::usage(format!("--peers: {twice} is named twice"))
                .hint("name each host once: a host trims its filesystems one after the other"),
        );
    }
    if arguments.peers.iter().any(String::is_empty) {
        return Err(
            CommandError::usage("--peers: a name is empty").hint("for example --peers es1,es2,es3")
        );
    }
    if arguments.apply && !arguments.peers.is_empty() && arguments.mounts.is_empty() {
        return Err(CommandError::usage("--apply --peers: expected the mount points, the same on each node")
            .hint("nodes that find other filesystems would count other slots: trimtab plan --apply /data --peers ..."));
    }
    let days: Vec<String> = arguments.days.iter().map(ToString::to_string).collect();
    if arguments.every == Some(EveryArg::Day) && days.join(",") != DEFAULT_DAYS {
        return Err(
            CommandError::usage("--every day: it is every day, whatever --days says")
                .hint("leave one of them out"),
        );
    }
    if arguments.pass.is_some_and(|pass| pass < PASS_MIN) {
        let message = "--pass: expected a minute or more";
        return Err(CommandError::usage(message).hint("for example --pass 20min"));
    }
    Ok(())
}

/// A slot, and after how long a pass in it ends.
#[derive(Debug, Clone, Copy)]
pub struct Assigned {
    /// The slot.
    pub slot: Slot,
    /// The deadline of a pass.
    pub deadline: Duration,
}

/// The zone of the slots, and its name where it is not the host's own.
pub fn zone(arguments: &Plan, hosts_zone: Option<&TimeZone>) -> (TimeZone, Option<String>) {
    match (&arguments.tz, hosts_zone) {
        (Some(zone), _) => (zone.clone(), Some(name(zone))),
        (None, _) if !arguments.peers.is_empty() => (TimeZone::UTC, Some("UTC".to_owned())),
        // Without /etc/localtime a host's clock is that of UTC (localtime(5)).
        (None, zone) => (zone.cloned().unwrap_or(TimeZone::UTC), None),
    }
}

fn name(zone: &TimeZone) -> String {
    zone.iana_name().unwrap_or("UTC").to_owned()
}

/// What slots are for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Filesystems of each host.
    pub mounts: usize,
    /// How often each is trimmed.
    pub every: Every,
    /// The zone of the window.
    pub zone: &'a TimeZone,
    /// When the plan begins.
    pub now: Timestamp,
}

/// The hours in which passes may run.
#[derive(Debug, Clone)]
pub struct Hours {
    /// Those of each day.
    pub window: Window,
    /// The days, in the order of preference.
    pub days: Vec<Weekday>,
}

impl Hours {
    /// Those of `--window` and `--days`.
    pub fn of(arguments: &Plan) -> Self {
        Self {
            window: Window {
                from: arguments.window.opening(),
                len_s: arguments.window.len_s(),
            },
            days: arguments.days.iter().map(|&day| day.into()).collect(),
        }
    }
}

fn assign(
    hours: &Hours,
    wanted: Wanted<'_>,
    (passes, len_s): (usize, u32),
    busy: &[(u32, u32)],
) -> Result<Vec<Slot>, Refusal> {
    plan::assign(&Request {
        passes,
        len_s,
        window: hours.window,
        every: wanted.every,
        days: &hours.days,
        zone: wanted.zone,
        from: wanted.now,
        busy,
    })
}

/// Returns slots for the filesystems of a host that has the window for itself, as long as the window has room.
///
/// # Errors
/// When there is not even room for an hour, or for `--pass`.
pub fn alone(
    arguments: &Plan,
    hours: &Hours,
    wanted: Wanted<'_>,
    busy: &[(u32, u32)],
) -> Result<Vec<Assigned>, CommandError> {
    let window_s = hours.window.len_s;
    let lens: Vec<(u32, Duration)> = match arguments.pass {
        Some(pass) => vec![(plan::slot_len_s(pass.as_secs()), pass)],
        None => [1, 2, 3, 4]
            .map(|parts| window_s / parts)
            .into_iter()
            .filter(|&len_s| len_s == window_s || u64::from(len_s) >= ALONE_MIN.as_secs())
            .map(|len_s| (len_s, Duration::from_secs(len_s.into())))
            .collect(),
    };
    let mut refusal = None;
    for (len_s, deadline) in lens {
        match assign(hours, wanted, (wanted.mounts, len_s), busy) {
            Ok(slots) => return Ok(with_deadline(slots, deadline)),
            Err(why) => refusal = Some(why),
        }
    }
    let why = refusal.map_or_else(|| "the window is empty".to_owned(), |why| why.to_string());
    let error = CommandError::input(format!(
        "no slot fits beside this host's heavy jobs and the changes of its clocks: {why}"
    ));
    Err(error.hint("widen --window, add --days, or name a shorter --pass; `trimtab check --verbose` lists the jobs"))
}

/// Returns slots for each filesystem of each node: those of one node follow each other.
///
/// # Errors
/// When there are more than fit.
pub fn shared(arguments: &Plan, wanted: Wanted<'_>) -> Result<Vec<Assigned>, CommandError> {
    let pass = pass(arguments);
    let passes = arguments.peers.len().saturating_mul(wanted.mounts);
    let len_s = plan::slot_len_s(pass.as_secs());
    let slots = one_each(arguments, wanted, (passes, len_s)).map_err(|error| {
        error.hint(
            "a slot is a pass and a margin: widen --window, add --days, or name a shorter --pass (a pass that does not \
             finish goes on a week later)",
        )
    })?;
    Ok(with_deadline(slots, pass))
}

fn with_deadline(slots: Vec<Slot>, deadline: Duration) -> Vec<Assigned> {
    let slots = slots.into_iter();
    slots.map(|slot| Assigned { slot, deadline }).collect()
}

/// Returns a slot of so many seconds for each pass.
///
/// # Errors
/// When there are more than fit; the caller knows the way out.
pub fn one_each(
    arguments: &Plan,
    wanted: Wanted<'_>,
    passes: (usize, u32),
) -> Result<Vec<Slot>, CommandError> {
    assign(&Hours::of(arguments), wanted, passes, &[])
        .map_err(|refusal| CommandError::input(format!("no plan without overlaps: {refusal}")))
}

/// How long the longest pass takes, where several share the window.
pub fn pass(arguments: &Plan) -> Duration {
    arguments.pass.unwrap_or(SHARED_PASS)
}

/// A slot for each node, whatever is on them.
///
/// # Errors
/// As [`shared`].
pub fn of_nodes(arguments: &Plan, now: Timestamp) -> Result<NodesPlan, CommandError> {
    let (zone, _) = zone(arguments, None);
    let wanted = Wanted {
        // Named on the command line, or found in bundles.
        mounts: arguments.mounts.len().max(1),
        every: arguments.every.map_or(Every::Week, Every::from),
        zone: &zone,
        now,
    };
    let slots = shared(arguments, wanted)?;
    Ok(nodes(arguments, &slots, wanted))
}

/// The slots of all nodes, as they are shown.
pub fn nodes(
    arguments: &Plan,
    slots: &[Assigned],
    Wanted {
        mounts, zone, now, ..
    }: Wanted<'_>,
) -> NodesPlan {
    let pass_s = pass(arguments).as_secs_f64();
    let zone_name = name(zone);
    let peers = arguments.peers.iter();
    let names = peers.flat_map(|name| std::iter::repeat_n(name, mounts));
    NodesPlan {
        overlap_with_delay: plan::overlap_probability(
            &vec![pass_s; arguments.peers.len()],
            TIMER_DELAY_S,
        ),
        delay_s: TIMER_DELAY_S,
        today: None,
        command: shlex::try_join(words(arguments).iter().map(String::as_str)).unwrap_or_default(),
        has_mounts: !arguments.mounts.is_empty(),
        pass_s,
        nodes: names
            .zip(slots)
            .map(|(name, assigned)| planned_node(name, &assigned.slot, zone, Some(&zone_name), now))
            .collect(),
        zone: zone_name,
    }
}

/// A node's slot, as it is shown.
pub fn planned_node(
    name: &str,
    slot: &Slot,
    zone: &TimeZone,
    zone_name: Option<&str>,
    now: Timestamp,
) -> PlannedNode {
    PlannedNode {
        name: name.to_owned(),
        slot: slot.to_string(),
        calendar: slot.calendar(zone_name),
        window: slot.window(),
        next: slot.next_day(zone, now).to_string(),
    }
}

/// A slot, as units and crontabs have it.
pub fn schedule(
    Assigned { slot, deadline }: &Assigned,
    zone_name: Option<&str>,
    hosts_zone: Option<&TimeZone>,
) -> Schedule {
    Schedule {
        calendar: slot.calendar(None),
        cron: slot.cron(),
        window: slot.window(),
        zone: zone_name.map(str::to_owned),
        window_zone: hosts_zone.is_none().then(|| "UTC".to_owned()),
        deadline: units::duration::argument(*deadline),
    }
}
