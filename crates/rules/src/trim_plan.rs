//! What `trimtab plan` changes on a host: a paced trim of its own for each filesystem, and what trims it now leaves it out
//! or ends. Never two kinds of trims on one filesystem.

use crate::context::Context;
use crate::quiet_slot::{self, Busy, QuietTimes};
use crate::shell::printable;
use crate::times::HostClock;
use crate::trim_jobs::{NOTRIM, TIMERS_UNKNOWN, TrimJob, TrimJobs, bare, refusal, supports_notrim};
use crate::trim_remedy;
use crate::trim_state::{self, OnlineDiscard, discards_online};
use crate::trim_verdict::{TrimRequest, trim_verdict};
use crate::volume::Volume;
use crate::volumes::TRIMMABLE;
use facts::host::Mount;
use facts::{Edit, Host};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) mod ending;
mod units;

pub use ending::{Blocked, may_end};
pub use units::{
    OtherDropIn, PACKAGED_PROGRAM, PLAN_DROP_IN, Schedule, Scheduler, TIMER_TEMPLATE, UnitOptions,
    other_drop_in, timer_name, trim_edits,
};

/// What has to change so that only the plan's own jobs trim some filesystems.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Takeover {
    /// The mount points to plan: those asked for, and those that lose the trim that they have.
    pub mounts: Vec<PlannedMount>,
    /// What is changed, with the reason of each.
    pub edits: Vec<(Edit, String)>,
    /// Jobs that trim one of them as well, and do not once this is done.
    pub others: Vec<String>,
    /// Timers that must not run any more.
    pub stops: Vec<String>,
    /// What is to be known of it, a sentence each.
    pub cautions: Vec<String>,
    /// What the user has to do or allow first, a sentence each; empty if the plan can be applied.
    pub blocked: Vec<Blocked>,
}

/// A mount point that gets a trim of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedMount {
    /// The mount point.
    pub mount_point: String,
    /// What ends and has trimmed it so far; `None` if it was asked for.
    pub loses: Option<String>,
    /// Options of its present paced trim that stay, such as `--max-latency 5ms`.
    pub options: Vec<String>,
}

/// Why a filesystem gets no plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRefusal {
    /// The mount point, as it was named.
    pub mount_point: String,
    /// One sentence.
    pub reason: String,
    /// What to do, a sentence each.
    pub hints: Vec<String>,
}

/// What the caller allows and knows besides the facts.
#[derive(Clone, Copy)]
pub struct TakeoverRequest<'a> {
    /// The mount points to plan.
    pub mount_points: &'a [String],
    /// Whether fstab may be edited.
    pub may_edit_fstab: bool,
    /// See [`TrimRequest::is_directory`].
    pub is_directory: &'a dyn Fn(&str) -> Result<bool, String>,
}

/// Finds out what else trims these filesystems, and how that ends.
///
/// # Errors
/// If one of them must not be trimmed, or discards what it frees itself.
pub fn takeover(host: &Host, request: &TakeoverRequest<'_>) -> Result<Takeover, Box<PlanRefusal>> {
    let cx = Context::new(host);
    let mut planned = Vec::new();
    for mount_point in request.mount_points {
        let volume = judged(&cx, mount_point, request)?;
        let is_known =
            |known: &Planned<'_, '_>| known.volume.stack.top().name == volume.stack.top().name;
        if !planned.iter().any(is_known) {
            let mount_point = bare_or_root(mount_point);
            planned.push(Planned {
                volume,
                mount_point,
                loses: None,
            });
        }
    }
    let Some(trims) = cx.trim_jobs().filter(|_| !host.timers_unknown) else {
        let why = if host.timers_unknown {
            TIMERS_UNKNOWN
        } else {
            crate::trim_jobs::JOBS_UNKNOWN
        };
        return Err(Box::new(PlanRefusal {
            mount_point: request.mount_points.join(", "),
            reason: format!("whether something else trims it is not known: {why}"),
            hints: vec!["run it on the host itself, as root".to_owned()],
        }));
    };
    // A job that ends may leave others without a trim, which other jobs then trim as well.
    loop {
        let known = planned.len();
        let takeover = end_others(&cx, trims, &mut planned, request.may_edit_fstab);
        if planned.len() == known {
            return Ok(takeover);
        }
    }
}

/// Returns the mount points of filesystems that hold a store's data, that lose speed without a trim, and that may get a
/// plan: what is planned if nothing is named.
pub fn worth_a_plan(host: &Host) -> Vec<String> {
    let cx = Context::new(host);
    cx.volumes
        .iter()
        .filter(|volume| !volume.stores.is_empty() && trim_state::decays_without_trim(&cx, volume))
        .map(|volume| volume.mount.mount_point.clone())
        .collect()
}

/// Returns when heavy jobs of a host other than trims may start: the second of the week, on the host's clock, and for how
/// many seconds from then on; with a margin before, since those that started earlier are not done at once.
pub fn busy_times(host: &Host) -> Vec<(u32, u32)> {
    let cx = Context::new(host);
    let clock = HostClock::of(host);
    Busy::of(&clock, &quiet_slot::heavy_runs(&cx)).seconds_with_margin()
}

struct Planned<'c, 'a> {
    volume: &'c Volume<'a>,
    mount_point: String,
    loses: Option<String>,
}

fn bare_or_root(mount_point: &str) -> String {
    match bare(mount_point) {
        "" => "/".to_owned(),
        bare => bare.to_owned(),
    }
}

fn judged<'c, 'a>(
    cx: &'c Context<'a>,
    mount_point: &str,
    request: &TakeoverRequest<'_>,
) -> Result<&'c Volume<'a>, Box<PlanRefusal>> {
    let refuse = |reason: String, hints: Vec<String>| {
        Box::new(PlanRefusal {
            mount_point: mount_point.to_owned(),
            reason,
            hints,
        })
    };
    let index = cx.host.mount_index();
    let wanted = bare_or_root(mount_point);
    let Some(mount) = index.of(&wanted) else {
        return Err(refuse("nothing is mounted there".to_owned(), Vec::new()));
    };
    if bare_or_root(&mount.mount_point) != wanted {
        let on = printable(&mount.mount_point);
        return Err(refuse(
            format!("it is no mount point, but a directory on {on}"),
            vec![format!("name the mount point: trimtab plan {on}")],
        ));
    }
    let verdict = trim_verdict(
        cx.host,
        mount,
        &TrimRequest {
            force: false,
            is_directory: request.is_directory,
        },
    );
    if let Some(refusal) = verdict.refusal {
        return Err(refuse(refusal.reason, refusal.hints));
    }
    let elsewhere = trim_remedy::elsewhere(
        &cx.host.platform,
        &[&mount.mount_point],
        QuietTimes::of(cx).weekly(),
    );
    if let Some(remedy) = elsewhere {
        return Err(refuse(
            "its trim is not this system's to plan".to_owned(),
            vec![remedy.text],
        ));
    }
    if discards_online(cx.host, mount) {
        return Err(refuse(
            "it discards what it frees by itself (`discard` among its mount options), and a second kind of trim would \
             only come on top"
                .to_owned(),
            vec!["`trimtab rule TRIM005` says when which of them is better, and how to change".to_owned()],
        ));
    }
    let device = cx.host.device_index().of(mount);
    let volume = device.and_then(|device| cx.volume_on(device));
    let why = "no block device of this host is below it";
    volume.ok_or_else(|| refuse(why.to_owned(), Vec::new()))
}

/// Decides about each job that trims a planned filesystem. Filesystems that lose their trim by that are added.
fn end_others<'c, 'a>(
    cx: &'c Context<'a>,
    trims: &TrimJobs<'a>,
    planned: &mut Vec<Planned<'c, 'a>>,
    may_edit_fstab: bool,
) -> Takeover {
    let mut takeover = Takeover::default();
    let mut kept: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for trim in trims.active() {
        if let Some(at) = planned
            .iter()
            .position(|planned| units::is_own(trim.job, &planned.mount_point))
        {
            kept.insert(at, units::kept_options(trim.job));
            continue;
        }
        let (ours, others) = reached(cx, trims, trim, planned);
        if ours.is_empty() {
            continue;
        }
        let name = printable(&trim.job.name);
        let lines: Vec<(u64, String)> = ours
            .iter()
            .flat_map(|at| fstab_lines(cx.host, planned[*at].volume))
            .collect();
        let leaves_out =
            trim.goes_by_fstab() && supports_notrim(&cx.host.platform) && !lines.is_empty();
        if leaves_out && !others.is_empty() {
            let rest: Vec<String> = others
                .iter()
                .map(|volume| printable(&volume.mount.mount_point))
                .collect();
            if !may_edit_fstab {
                takeover.blocked.push(Blocked {
                    why: format!("{name} trims {} as well", listed(planned, &ours)),
                    hint: format!(
                        "--fstab takes it out of {name}, which goes on to trim {}: by the option {NOTRIM} in /etc/fstab",
                        ::units::list(&rest)
                    ),
                });
            }
            takeover.others.push(name.clone());
            let why = format!(
                "{name} leaves it out, and goes on to trim {}",
                ::units::list(&rest)
            );
            for (line, mount_point) in lines {
                let option = NOTRIM.to_owned();
                takeover.edits.push((
                    Edit::AddMountOption {
                        line,
                        mount_point,
                        option,
                    },
                    why.clone(),
                ));
            }
            continue;
        }
        match ending::of(trim, &listed(planned, &ours)) {
            Ok((edit, why)) => {
                takeover.others.push(name.clone());
                takeover.edits.push((edit, why));
                takeover
                    .stops
                    .extend(trim.job.timer.as_ref().map(|timer| timer.unit.clone()));
                for volume in others {
                    planned.push(Planned {
                        volume,
                        mount_point: volume.mount.mount_point.clone(),
                        loses: Some(name.clone()),
                    });
                }
            }
            Err(blocked) => takeover.blocked.push(blocked),
        }
    }
    let mounts = planned.iter().enumerate();
    let online = |planned: &&Planned<'_, '_>| {
        trim_state::online_discard(planned.volume.mount) != OnlineDiscard::Off
    };
    takeover.cautions = planned
        .iter()
        .filter(online)
        .map(|planned| {
            let mount = printable(&planned.mount_point);
            format!("{mount} still discards online until it is unmounted and mounted again")
        })
        .collect();
    takeover.mounts = mounts
        .map(|(at, planned)| PlannedMount {
            mount_point: planned.mount_point.clone(),
            loses: planned.loses.clone(),
            options: kept.remove(&at).unwrap_or_default(),
        })
        .collect();
    takeover
}

/// The mount points of some of the planned filesystems.
fn listed(planned: &[Planned<'_, '_>], which: &[usize]) -> String {
    let points = which.iter().map(|&at| printable(&planned[at].mount_point));
    ::units::list(&points.collect::<Vec<_>>())
}

/// The planned filesystems that a job trims, and the others that it trims to any effect. What its text does not tell counts
/// as trimmed.
fn reached<'c, 'a>(
    cx: &'c Context<'a>,
    trims: &TrimJobs<'a>,
    trim: &TrimJob<'_>,
    planned: &[Planned<'c, 'a>],
) -> (Vec<usize>, Vec<&'c Volume<'a>>) {
    let mut ours = Vec::new();
    let mut others = Vec::new();
    for volume in cx
        .volumes
        .iter()
        .filter(|volume| trims.may_reach(trim, volume))
    {
        let is_it =
            |planned: &Planned<'_, '_>| planned.volume.stack.top().name == volume.stack.top().name;
        match planned.iter().position(is_it) {
            Some(at) => ours.push(at),
            None if is_trimmed_to_effect(volume) => others.push(volume),
            None => {}
        }
    }
    (ours, others)
}

fn is_trimmed_to_effect(volume: &Volume<'_>) -> bool {
    TRIMMABLE.contains(&volume.mount.fs_type.as_str())
        && !volume.mount.is_filesystem_read_only()
        && trim_state::fstrim_works_here(volume)
        && volume.discards.reaches_drives() != Some(false)
        && trim_state::online_discard(volume.mount) == OnlineDiscard::Off
}

/// The lines of fstab through which fstrim finds a filesystem, with the mount point of each.
fn fstab_lines(host: &Host, volume: &Volume<'_>) -> Vec<(u64, String)> {
    let devices = host.device_index();
    let is_of_it = |mount: &&Mount| {
        devices
            .of(mount)
            .is_some_and(|device| device.name == volume.stack.top().name)
    };
    let points: BTreeSet<&str> = host
        .mounts
        .iter()
        .filter(is_of_it)
        .map(|mount| bare(&mount.mount_point))
        .collect();
    let entries = host.fstab.iter().flatten();
    entries
        .filter(|entry| points.contains(bare(&entry.mount_point)) && refusal(host, entry).is_none())
        .map(|entry| (entry.line, entry.mount_point.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
