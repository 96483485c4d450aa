//! A plan for this host, or for the tree of `--root`.

use super::args::{Plan, words};
use super::place::{self, Answered, JOURNAL, Note, NotedMount, is_directory, read};
use super::quiet;
use super::slots::{self, Assigned, Hours, Wanted};
use super::systemd;
use crate::commands::access::parse_endpoint;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use edits::{Journal, Planned, Root};
use facts::{Edit, Host};
use jiff::Timestamp;
use linux::folder::{Folder, OthersWrite};
use plan::Every;
use report::views::plan::{FileChange, HostPlan, Interval, MountPlan, Obstacle, PlanAnswer};
use rules::{
    Blocked, PlannedMount, Room, Schedule, Scheduler, Takeover, TakeoverRequest, UnitOptions,
};
use std::path::Path;
use std::process::ExitCode;

/// Where templates of units are looked for.
const UNIT_FOLDERS: [&str; 4] = [
    "etc/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];
/// The template of the timer.
const TEMPLATE: &str = "trimtab-trim@.timer";
/// Where packages put this program.
const PACKAGED: &str = "/usr/bin/trimtab";

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
    let hosts_zone = facts
        .time_zone
        .as_deref()
        .and_then(|name| units::zone::parse(name).ok());
    let (zone, zone_name) = slots::zone(arguments, hosts_zone.as_ref());
    let count = takeover.mounts.len();
    let mut cautions = Vec::new();
    let (every, interval) = interval(arguments, &facts, &takeover, &mut cautions);
    let wanted_slots = Wanted {
        mounts: count,
        every,
        zone: &zone,
        now,
    };
    let mut measured = None;
    let (all, own): (Vec<Assigned>, usize) = if arguments.peers.is_empty() {
        let busy = rules::busy_times(&facts);
        let hours = match &arguments.load {
            Some(path) => {
                let (hours, load) = quiet::hours(arguments, path, &zone, &mut cautions)?;
                measured = Some(load);
                hours
            }
            None => Hours::of(arguments),
        };
        (slots::alone(arguments, &hours, wanted_slots, &busy)?, 0)
    } else {
        (slots::shared(arguments, wanted_slots)?, node * count)
    };
    let program = program(arguments, &root, &mut cautions)?;
    let own = takeover.mounts.iter().zip(&all[own..]);
    let mut blocked = takeover.blocked.clone();
    blocked.extend(unnamed(arguments, &takeover));
    let mut wanted: Vec<(Edit, String)> = Vec::new();
    let mut mounts = Vec::new();
    for (mount, assigned) in own {
        let slot = slots::planned_node(
            &mount.mount_point,
            assigned,
            &zone,
            zone_name.as_deref(),
            now,
        );
        mounts.push(MountPlan {
            mount_point: mount.mount_point.clone(),
            loses: mount.loses.clone(),
            slot,
            deadline_s: assigned.deadline.as_secs_f64(),
        });
        let schedule = slots::schedule(assigned, zone_name.as_deref(), hosts_zone.as_ref());
        match scheduled(arguments, &facts, &program, mount, &schedule)? {
            Ok(edits) => wanted.extend(edits),
            Err(why) if blocked.contains(&why) => {}
            Err(why) => blocked.push(why),
        }
    }
    // Its own trim first: a run that is killed in between leaves two rather than none.
    wanted.extend(takeover.edits.iter().cloned());
    let planned = edits::planned(&root, &wanted).map_err(|error| {
        CommandError::because(Kind::Environment, error)
            .hint("change it by hand, or run it as root (sudo)")
    })?;
    let stops = stops(arguments, &takeover);
    if arguments.apply {
        refuse_blocked(&blocked)?;
        let zone = zone.iana_name().unwrap_or("UTC");
        apply(arguments, &root, &planned, (&mounts, zone, &stops), now)?;
        if !place::is_told(arguments) && !planned.is_empty() {
            cautions.push(takes_effect(arguments, &facts));
        }
    }
    let answer = HostPlan {
        is_applied: arguments.apply,
        interval,
        measured,
        nodes: (!arguments.peers.is_empty()).then(|| slots::nodes(arguments, &all, wanted_slots)),
        mounts,
        changes: planned.iter().map(shown).collect(),
        others: takeover.others.clone(),
        stops,
        blocked: blocked
            .into_iter()
            .map(|blocked| Obstacle {
                why: blocked.why,
                hint: blocked.hint,
            })
            .collect(),
        command: shlex::try_join(words(arguments).iter().map(String::as_str)).unwrap_or_default(),
    };
    Ok((
        PlanAnswer::Host(Box::new(answer)),
        cautions,
        ExitCode::SUCCESS,
    ))
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
    facts: &Host,
    program: &Program,
    mount: &PlannedMount,
    schedule: &Schedule,
) -> Result<Result<Vec<(Edit, String)>, Blocked>, CommandError> {
    let options = options(arguments, mount)?;
    let units = UnitOptions {
        program: program.program.as_deref(),
        timer_template: &program.template,
        options: &options,
    };
    let scheduler = Scheduler::of(facts);
    Ok(rules::schedule(
        scheduler,
        &mount.mount_point,
        schedule,
        units,
    ))
}

fn refuse_blocked(blocked: &[Blocked]) -> Result<(), CommandError> {
    let Some((first, others)) = blocked.split_first() else {
        return Ok(());
    };
    let error = CommandError::new(Kind::Refused, format!("not applied: {}", first.why));
    let others = others.iter().map(|blocked| blocked.why.clone());
    Err(others.fold(error.hint(first.hint.clone()), CommandError::hint))
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
        return Ok(arguments.mounts.clone());
    }
    let found = rules::worth_a_plan(facts);
    if found.is_empty() {
        let message = "nothing to plan: no store was found whose data is on flash, reached by discards, and not \
                       discarded by the filesystem itself";
        return Err(CommandError::new(Kind::Input, message)
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
        let error = CommandError::new(Kind::Refused, message);
        refusal.hints.into_iter().fold(error, CommandError::hint)
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
    let intervals: Vec<Interval> = asked_for
        .map(|mount| {
            let room = rules::trim_room(facts, &mount.mount_point);
            Interval {
                mount_point: mount.mount_point.clone(),
                room_days: room.as_ref().ok().and_then(Room::days),
                room_bytes: room.as_ref().ok().map(Room::bytes),
                written_bytes_per_day: room.as_ref().ok().map(|room| room.written_bytes_per_day),
                unknown: room.err(),
            }
        })
        .collect();
    let shortest = intervals
        .iter()
        .filter_map(|interval| interval.room_days)
        .fold(f64::INFINITY, f64::min);
    let is_daily = shortest < WEEK_DAYS;
    if shortest < 1.0 {
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
    (every, intervals)
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
    Err(CommandError::new(Kind::Usage, message).hint("--node NODE says which of them this host is"))
}

/// Options that the units get besides their window.
fn options(arguments: &Plan, mount: &PlannedMount) -> Result<Vec<String>, CommandError> {
    let mut options = mount.options.clone();
    if let Some(url) = &arguments.require_green {
        let endpoint = parse_endpoint(url, "--require-green")?;
        options.retain(|option| !option.starts_with("--require-green "));
        options.push(format!("--require-green {endpoint}"));
    }
    Ok(options)
}

/// What units start, and where their template is.
struct Program {
    /// Path of the program for units of its own; `None` if the package's are there.
    program: Option<String>,
    /// The template of the timer.
    template: String,
}

fn program(
    arguments: &Plan,
    root: &Root,
    cautions: &mut Vec<String>,
) -> Result<Program, CommandError> {
    let is_there = |path: &str| matches!(root.read(path), Ok(Some(_)));
    let template = UNIT_FOLDERS
        .iter()
        .map(|folder| format!("{folder}/{TEMPLATE}"))
        .find(|path| is_there(path));
    let program = match &arguments.root {
        Some(_) => {
            if !is_there(&PACKAGED[1..]) {
                cautions.push(format!("trimtab has to be installed there as {PACKAGED}"));
            }
            PACKAGED.to_owned()
        }
        None => own_path()?,
    };
    Ok(match template {
        Some(template) => Program {
            program: None,
            template: format!("/{template}"),
        },
        None => Program {
            program: Some(program),
            template: format!("/etc/systemd/system/{TEMPLATE}"),
        },
    })
}

/// The path of this program, which root will start every week: nobody else may be able to put another in its place.
fn own_path() -> Result<String, CommandError> {
    let failed = |why: String| {
        CommandError::new(Kind::Refused, why)
            .hint("install it first: sudo install -m 755 trimtab /usr/bin/trimtab")
    };
    let path =
        std::env::current_exe().map_err(|error| failed(format!("this program's path: {error}")))?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    Folder::open_protected(folder, OthersWrite::Refused)
        .map_err(|error| failed(format!("{} {error}", folder.display())))?;
    let text = path.to_str().filter(|path| {
        path.chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    });
    let text = text.ok_or_else(|| failed(format!("units cannot name {}", path.display())))?;
    Ok(text.to_owned())
}

fn stops(arguments: &Plan, takeover: &Takeover) -> Vec<String> {
    let stops = takeover.stops.iter();
    if place::is_told(arguments) {
        stops
            .filter(|timer| systemd::is_active(timer))
            .cloned()
            .collect()
    } else {
        Vec::new()
    }
}

fn apply(
    arguments: &Plan,
    root: &Root,
    planned: &[Planned],
    (mounts, zone, stops): (&[MountPlan], &str, &[String]),
    now: Timestamp,
) -> Result<(), CommandError> {
    let earlier = Journal::<Note>::read(root, JOURNAL).map_err(place::failed)?;
    let is_complete = earlier.is_none_or(|journal| journal.is_complete);
    if planned.is_empty() && stops.is_empty() && is_complete {
        return Ok(());
    }
    let note = |earlier: Option<Note>| {
        let mut note = earlier.unwrap_or_default();
        for mount in mounts {
            note.mounts
                .retain(|known| known.mount_point != mount.mount_point);
            note.mounts.push(NotedMount {
                mount_point: mount.mount_point.clone(),
                slot: mount.slot.slot.clone(),
                zone: zone.to_owned(),
            });
        }
        note.stopped.extend(stops.iter().cloned());
        note.stopped.sort();
        note.stopped.dedup();
        note.applied_at = now;
        note
    };
    let then = || {
        if !place::is_told(arguments) {
            return Ok(());
        }
        let started = tell_systemd(mounts, stops);
        if started.is_err() {
            // The files are about to be put back; what can be told is told once more after that.
            for timer in stops {
                let _ = systemd::systemctl(&["start", timer]);
            }
        }
        started
    };
    let done = Journal::apply(root, JOURNAL, planned, note, then);
    if matches!(done, Err(edits::JournalError::Then(_))) {
        let _ = systemd::systemctl(&["daemon-reload"]);
    }
    done.map_err(place::failed)
}

fn tell_systemd(mounts: &[MountPlan], stops: &[String]) -> Result<(), String> {
    systemd::systemctl(&["daemon-reload"])?;
    for mount in mounts {
        systemd::systemctl(&["restart", &rules::timer_name(&mount.mount_point)])?;
    }
    for timer in stops {
        systemd::systemctl(&["stop", timer])?;
    }
    Ok(())
}

/// When a plan takes effect that nobody was told of.
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
