//! A plan for this host, or for the tree of `--root`.

use super::apply::{self, Run};
use super::args::{Plan, words};
use super::packaged;
use super::place::{self, Answered, JOURNAL, Note, is_directory, read};
use super::quiet;
use super::slots::{self, Assigned, Hours, Wanted};
use crate::commands::STATE_DIR;
use crate::commands::access::parse_endpoint;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use edits::{Journal, Planned, Root};
use facts::{Edit, Host};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use plan::Every;
use report::views::plan::{
    Amplification, FileChange, HostPlan, Interval, Measured, MountPlan, Obstacle, PlanAnswer,
};
use rules::{
    Blocked, PlannedMount, Room, Schedule, Scheduler, Takeover, TakeoverRequest, UnitOptions,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Shows what would be changed, and changes it with `--apply`.
///
/// # Errors
/// When nothing is to be planned, a filesystem must not be trimmed, there are not enough slots, or something is in the
/// way of `--apply`.
pub fn plan(arguments: &Plan, config: &Config, now: Timestamp) -> Result<Answered, CommandError> {
    let root = place::open(arguments)?;
    let facts = read(arguments, config)?;
    let mount_points = mount_points(arguments, &facts)?;
    let takeover = takeover(arguments, &facts, &mount_points)?;
    let node = node(arguments, &facts)?;
    let Clocks {
        zone,
        zone_name,
        hosts_zone,
    } = clocks(arguments, &root, &facts)?;
    let mut cautions = takeover.cautions.clone();
    let earlier = Journal::<Note>::read(&root, JOURNAL).map_err(place::failed)?;
    if earlier.is_none() && arguments.apply {
        place::refuse_remains(&root)?;
    }
    let earlier = earlier.map_or_else(Note::default, |journal| journal.note);
    let (every, interval) = interval(arguments, &facts, &takeover, &mut cautions);
    let wanted_slots = Wanted {
        mounts: takeover.mounts.len(),
        every,
        zone: &zone,
        now,
    };
    let mut measured = None;
    let (all, own) = if arguments.peers.is_empty() {
        let beside = (&facts, &earlier, &takeover);
        let (slots, load) = alone(arguments, wanted_slots, beside, &mut cautions)?;
        measured = load;
        (slots, 0)
    } else {
        (
            slots::shared(arguments, wanted_slots)?,
            node * wanted_slots.mounts,
        )
    };
    let program = packaged::program(arguments, &root, &mut cautions)?;
    let own = takeover.mounts.iter().zip(&all[own..]);
    let mut blocked = takeover.blocked.clone();
    blocked.extend(unnamed(arguments, &takeover));
    blocked.extend(earlier.apart(arguments, &takeover.mounts));
    let mut wanted: Vec<(Edit, String)> = Vec::new();
    let mut mounts = Vec::new();
    for (mount, assigned) in own {
        let zones = (&zone, zone_name.as_deref());
        mounts.push(mount_plan(mount, assigned, zones, now));
        let schedule = slots::schedule(assigned, zone_name.as_deref(), hosts_zone.as_ref());
        match scheduled(
            arguments,
            (&root, &facts),
            &program,
            mount,
            &schedule,
            &mut blocked,
        )? {
            Ok(edits) => wanted.extend(edits),
            Err(why) if blocked.contains(&why) => {}
            Err(why) => blocked.push(why),
        }
    }
    cautions.extend(too_short(arguments, &facts, &mounts));
    // Its own trim first: a run that is killed in between leaves two rather than none.
    wanted.extend(takeover.edits.iter().cloned());
    let planned = edits::planned(&root, &wanted, &rules::may_end).map_err(|error| {
        CommandError::because(Kind::Environment, error)
            .hint("change it by hand, or run it as root (sudo)")
    })?;
    let stops = apply::stops(arguments, &takeover);
    if arguments.apply {
        refuse_blocked(&blocked)?;
        let run = Run {
            mounts: &mounts,
            zone: zone.iana_name().unwrap_or("UTC"),
            stops: &stops,
            now,
        };
        apply::apply(arguments, &root, &planned, run)?;
        if !place::is_told(arguments) && !planned.is_empty() {
            cautions.push(takes_effect(arguments, &facts));
        }
    }
    let answer = HostPlan {
        is_applied: arguments.apply,
        interval,
        is_interval_chosen: arguments.every.is_none() && arguments.peers.is_empty(),
        measured,
        nodes: (!arguments.peers.is_empty()).then(|| slots::nodes(arguments, &all, wanted_slots)),
        mounts,
        changes: planned.iter().map(shown).collect(),
        others: takeover.others.clone(),
        stops,
        blocked: blocked.into_iter().map(obstacle).collect(),
        command: shlex::try_join(words(arguments).iter().map(String::as_str)).unwrap_or_default(),
    };
    Ok((
        PlanAnswer::Host(Box::new(answer)),
        cautions,
        ExitCode::SUCCESS,
    ))
}

/// Passes that took longer than they may now, by the audit log.
fn too_short(arguments: &Plan, facts: &Host, mounts: &[MountPlan]) -> Vec<String> {
    if arguments.root.is_some() {
        return Vec::new();
    }
    let took = |planned: &MountPlan| {
        let mut found = facts.mounts.iter();
        let mount = found.find(|mount| mount.mount_point == planned.mount_point)?;
        trim::debt::last_pass(facts, mount, Path::new(STATE_DIR)).map(|earlier| earlier.active_s)
    };
    let caution = |planned: &MountPlan| {
        let took_s = took(planned).filter(|&took_s| took_s > planned.deadline_s)?;
        // Whole minutes, with a tenth to spare.
        let enough = Duration::try_from_secs_f64((took_s * 11.0 / 600.0).ceil() * 60.0).ok()?;
        Some(format!(
            "the last complete pass on {} took {}, and the next ones end after {}: they go on in the next slot, or --pass {} lets \
             them finish",
            planned.mount_point,
            units::seconds(took_s),
            units::seconds(planned.deadline_s),
            units::duration::argument(enough)
        ))
    };
    mounts.iter().filter_map(caution).collect()
}

/// The zone of slots, and the host's.
struct Clocks {
    zone: TimeZone,
    /// The zone's name, where it is not the host's own.
    zone_name: Option<String>,
    hosts_zone: Option<TimeZone>,
}

fn clocks(arguments: &Plan, root: &Root, facts: &Host) -> Result<Clocks, CommandError> {
    let named = facts.time_zone.as_deref();
    let hosts_zone = named.and_then(|name| units::zone::parse(name).ok());
    let has_clock = root.exists("etc/localtime").unwrap_or(true);
    if hosts_zone.is_none() && has_clock && arguments.tz.is_none() {
        let message = "the host's time zone has no name that is known: /etc/localtime is no link into the zone database";
        return Err(CommandError::input(message).hint("name it: --tz Europe/Berlin"));
    }
    let (zone, mut zone_name) = slots::zone(arguments, hosts_zone.as_ref());
    let clock = hosts_zone.clone().unwrap_or(TimeZone::UTC);
    if Scheduler::of(facts) != Scheduler::Systemd && clock == zone {
        zone_name = None;
    }
    Ok(Clocks {
        zone,
        zone_name,
        hosts_zone,
    })
}

/// Slots of a host by itself, beside its heavy jobs and its earlier plans.
fn alone(
    arguments: &Plan,
    wanted: Wanted<'_>,
    (facts, earlier, takeover): (&Host, &Note, &Takeover),
    cautions: &mut Vec<String>,
) -> Result<(Vec<Assigned>, Option<Measured>), CommandError> {
    let mut busy = rules::busy_times(facts);
    busy.extend(earlier.busy(&takeover.mounts));
    let (hours, measured) = match &arguments.load {
        Some(path) => {
            let (hours, load) = quiet::hours(arguments, path, wanted.zone, cautions)?;
            (hours, Some(load))
        }
        None => (Hours::of(arguments), None),
    };
    let slots = match earlier.kept(arguments, &takeover.mounts, wanted.every) {
        Some(kept) => kept,
        None => slots::alone(arguments, &hours, wanted, &busy)?,
    };
    Ok((slots, measured))
}

/// What is in the way of a plan for several nodes: all of them have to count the same filesystems, or their slots would
/// differ.
fn unnamed(arguments: &Plan, takeover: &Takeover) -> Option<Blocked> {
    if arguments.peers.is_empty() {
        return None;
    }
    if takeover.mounts.len() < arguments.mounts.len() {
        return Some(Blocked {
            why: "some of the mount points are of one filesystem".to_owned(),
            hint: "name each filesystem once, by the same mount point on each node".to_owned(),
        });
    }
    let mut mounts = takeover.mounts.iter();
    let added = mounts.find(|mount| mount.loses.is_some())?;
    let job = added.loses.as_ref()?;
    let mounts: Vec<&str> = takeover
        .mounts
        .iter()
        .map(|mount| mount.mount_point.as_str())
        .collect();
    Some(Blocked {
        why: format!("{job} would end, which trims {} as well", added.mount_point),
        hint: format!(
            "name it too, the same on each node: trimtab plan {} --peers ...",
            mounts.join(" ")
        ),
    })
}

/// What makes this host trim a mount point by a schedule, or what is in the way.
fn scheduled(
    arguments: &Plan,
    (root, facts): (&Root, &Host),
    program: &packaged::Program,
    mount: &PlannedMount,
    schedule: &Schedule,
    blocked: &mut Vec<Blocked>,
) -> Result<Result<Vec<(Edit, String)>, Blocked>, CommandError> {
    let options = options(arguments, root, mount, blocked)?;
    let units = UnitOptions {
        program: program.program.as_deref(),
        timer_template: &program.template,
        options: &options,
    };
    let scheduler = Scheduler::of(facts);
    Ok(rules::trim_edits(
        scheduler,
        &mount.mount_point,
        schedule,
        units,
    ))
}

fn mount_plan(
    mount: &PlannedMount,
    assigned: &Assigned,
    (zone, zone_name): (&TimeZone, Option<&str>),
    now: Timestamp,
) -> MountPlan {
    let point = &mount.mount_point;
    MountPlan {
        mount_point: point.clone(),
        loses: mount.loses.clone(),
        slot: slots::planned_node(point, &assigned.slot, zone, zone_name, now),
        len_s: assigned.slot.len_s,
        deadline_s: assigned.deadline.as_secs_f64(),
    }
}

fn obstacle(blocked: Blocked) -> Obstacle {
    Obstacle {
        why: blocked.why,
        hint: blocked.hint,
    }
}

fn refuse_blocked(blocked: &[Blocked]) -> Result<(), CommandError> {
    let Some((first, others)) = blocked.split_first() else {
        return Ok(());
    };
    let others = others.iter().map(|blocked| &blocked.why);
    Err(CommandError::refused(format!("not applied: {}", first.why))
        .hint(&first.hint)
        .hints(others))
}

fn shown(planned: &Planned) -> FileChange {
    FileChange {
        path: format!("/{}", planned.change.name),
        why: planned.change.what.clone(),
        diff: edits::diff(&planned.change),
    }
}

fn mount_points(arguments: &Plan, facts: &Host) -> Result<Vec<String>, CommandError> {
    if !arguments.mounts.is_empty() {
        if arguments.root.is_some() {
            return Ok(arguments.mounts.clone());
        }
        // As `trimtab trim` takes them: by links as well.
        let paths: Vec<PathBuf> = arguments.mounts.iter().map(PathBuf::from).collect();
        let named = trim::filesystem::named(facts, &paths)?;
        let points = named
            .iter()
            .map(|filesystem| filesystem.mount_point().to_owned());
        return Ok(points.collect());
    }
    let found = rules::worth_a_plan(facts);
    if found.is_empty() {
        let message = "nothing to plan: no store was found whose data is on flash, reached by discards, and not \
                       discarded by the filesystem itself";
        return Err(CommandError::input(message)
            .hint("name a mount point: trimtab plan /data")
            .hint("`trimtab check` says what it found below each mount"));
    }
    Ok(found)
}

fn takeover(
    arguments: &Plan,
    facts: &Host,
    mount_points: &[String],
) -> Result<Takeover, CommandError> {
    let request = TakeoverRequest {
        mount_points,
        may_edit_fstab: arguments.fstab,
        is_directory: &|path| is_directory(arguments, path),
    };
    rules::takeover(facts, &request).map_err(|refusal| {
        let message = format!("{}: {}", refusal.mount_point, refusal.reason);
        CommandError::refused(message).hints(refusal.hints)
    })
}

/// Days of a week: what is written in as many fits the room between two trims, or trims are daily.
const WEEK_DAYS: f64 = 7.0;

/// How often the filesystems are trimmed, and why.
fn interval(
    arguments: &Plan,
    facts: &Host,
    takeover: &Takeover,
    cautions: &mut Vec<String>,
) -> (Every, Vec<Interval>) {
    let asked_for = takeover.mounts.iter().filter(|mount| mount.loses.is_none());
    let rooms: Vec<(&PlannedMount, Result<Room, String>)> = asked_for
        .map(|mount| (mount, rules::trim_room(facts, &mount.mount_point)))
        .collect();
    let fit = |days: f64| {
        rooms
            .iter()
            .flat_map(|(_, room)| room)
            .all(|room| room.lasts(days))
    };
    let is_daily = !fit(WEEK_DAYS);
    if !fit(1.0) {
        cautions.push(
            "even a daily trim is too rare for what is written here: use more free space, drives with a larger spare \
             area, or online discard after a test (`trimtab rule TRIM013`)"
                .to_owned(),
        );
    }
    let every = match arguments.every {
        Some(every) => every.into(),
        None if is_daily && arguments.peers.is_empty() => Every::Day,
        None => Every::Week,
    };
    if is_daily && every == Every::Week {
        cautions.push("more is written in a week than there is room for between two trims: --every day, on all nodes".to_owned());
    }
    let intervals = rooms.into_iter().map(|(mount, room)| Interval {
        mount_point: mount.mount_point.clone(),
        room_days: room.as_ref().ok().and_then(Room::days),
        room_bytes: room.as_ref().ok().map(Room::bytes),
        written_bytes_per_day: room.as_ref().ok().map(|room| room.written_bytes_per_day),
        amplification: room
            .as_ref()
            .ok()
            .and_then(|room| amplification(room, every)),
        unknown: room.err(),
    });
    (every, intervals.collect())
}

/// Spare areas of drives for servers and for clients, as shares of their capacity.
const SPARES: [f64; 2] = [0.28, 0.07];
/// Pages of an erase block; the estimate hardly depends on it.
const PAGES_PER_BLOCK: u32 = 256;

/// What a write costs the drives at the end of an interval, and if nothing trims: greedy collection under random writes
/// ([`flash::theory::greedy`]), where all data that the drives keep is as good as any other.
fn amplification(room: &Room, every: Every) -> Option<Amplification> {
    let days = match every {
        Every::Week => WEEK_DAYS,
        Every::Day => 1.0,
    };
    let at = |kept: f64| {
        SPARES.map(|spare| flash::theory::greedy((1.0 + spare) / kept - 1.0, PAGES_PER_BLOCK))
    };
    let kept = room.kept_share(days);
    let found = Amplification {
        at_the_end: at(kept),
        untrimmed: at(1.0),
    };
    (kept > 0.0 && found.at_the_end.iter().all(|cost| cost.is_finite())).then_some(found)
}

/// Which of the peers this host is.
fn node(arguments: &Plan, facts: &Host) -> Result<usize, CommandError> {
    if arguments.peers.is_empty() {
        return Ok(0);
    }
    let host_name = facts.platform.host_name.as_deref();
    let name = arguments.node.as_deref().or(host_name);
    let is_it = |peer: &String| {
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        name.is_some_and(|name| {
            peer == name || (arguments.node.is_none() && short(peer) == short(name))
        })
    };
    let mut found = arguments
        .peers
        .iter()
        .enumerate()
        .filter(|(_, peer)| is_it(peer));
    if let (Some((at, _)), None) = (found.next(), found.next()) {
        return Ok(at);
    }
    let name = name.unwrap_or("this host, whose name is not known,");
    let message = format!("{name} is not one of --peers {}", arguments.peers.join(","));
    Err(CommandError::usage(message).hint("--node NODE says which of them this host is"))
}

/// Options that the units get besides their window.
fn options(
    arguments: &Plan,
    root: &Root,
    mount: &PlannedMount,
    blocked: &mut Vec<Blocked>,
) -> Result<Vec<String>, CommandError> {
    let mut options = mount.options.clone();
    let timer = rules::timer_name(&mount.mount_point);
    for obstacle in packaged::obstacles(root, &timer, &mut options) {
        if !blocked.contains(&obstacle) {
            blocked.push(obstacle);
        }
    }
    if let Some(url) = &arguments.require_green {
        let endpoint = parse_endpoint(url, "--require-green")?;
        options.retain(|option| !option.starts_with("--require-green "));
        options.push(format!("--require-green {endpoint}"));
    }
    Ok(options)
}

/// When a plan takes effect that was not announced.
fn takes_effect(arguments: &Plan, facts: &Host) -> String {
    match Scheduler::of(facts) {
        _ if arguments.root.is_some() => "it takes effect when that system is started".to_owned(),
        Scheduler::Systemd => {
            "systemd does not run here: it takes effect at the next boot".to_owned()
        }
        Scheduler::Cron => "cron reads it within a minute".to_owned(),
        Scheduler::Busybox => {
            "busybox' crond reads it within an hour, or once it is restarted".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: f64 = 1e9;

    fn room(free_bytes: f64, written_bytes_per_day: f64) -> Room {
        Room {
            written_bytes_per_day,
            free_bytes,
            spare_bytes: 70.0 * GB,
            capacity_bytes: 1000.0 * GB,
        }
    }

    #[test]
    fn a_write_costs_more_the_more_was_written_since_the_last_trim() {
        let at = |free: f64, written: f64, every| {
            let found = amplification(&room(free * GB, written * GB), every).unwrap();
            assert!(found.at_the_end[0] <= found.at_the_end[1], "{found:?}");
            found
        };
        let (day, week) = (at(400.0, 30.0, Every::Day), at(400.0, 30.0, Every::Week));
        assert!(day.at_the_end[1] < week.at_the_end[1], "{day:?} {week:?}");
        // As much as was free was written: as if nothing had been trimmed.
        let full = at(200.0, 30.0, Every::Week);
        for end in [full.at_the_end, at(0.0, 1.0, Every::Day).at_the_end] {
            let apart = end[1] - full.untrimmed[1];
            assert!(apart.abs() < 1e-9, "{full:?}");
        }
        // About (1 + OP) / (2 OP) = 7.6 (Agarwal and Marrow 2010, "A closed-form expression for write amplification in
        // NAND flash").
        assert!((7.0..8.2).contains(&full.untrimmed[1]), "{full:?}");
        assert_eq!(amplification(&room(1000.0 * GB, 0.0), Every::Day), None);
    }
}
