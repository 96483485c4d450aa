//! Forecast of a pass without running it: the figures shown by a dry run.

use crate::account::Layers;
use crate::audit;
use crate::filesystem::Filesystem;
use crate::geometry::{self, Survey};
use crate::layers;
use crate::pace::Controller;
use crate::pass::{ASSUMED_BYTES_PER_S, STALL_MAX_DEFAULT};
use crate::privilege;
use crate::request::Request;
use crate::state::{Checkpoint, boot_id};
use crate::step::Cursor;
use crate::stop::Stop;
use crate::target::Target;
use facts::host::DiscardLimits;
use facts::{Host, Stack};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// Assumed bytes visited per second for a paced pass when nothing was measured on this host: an
/// average drive, including pauses. Always reported as an assumption.
const ASSUMED_VISITED_BYTES_PER_S: u64 = 500 << 20;

/// What is known about a filesystem before a pass.
#[derive(Debug, Clone, Default)]
pub struct Forecast<'a> {
    /// What is mounted there; `None` if it could not be identified.
    pub target: Option<Target>,
    /// The device stacks below it: one, or one per device of a Btrfs.
    pub stacks: Vec<Stack<'a>>,
    /// The layers of all stacks, each device once.
    pub layers: Layers,
    /// Survey of the filesystem's own structures, if one was made.
    pub survey: Option<Survey>,
    /// Parts of the survey that cannot be split, with the stall each may cause.
    pub stalls: Vec<Stall>,
    /// Why there is no survey.
    pub unknown: Option<String>,
    /// Size of the filesystem as shown by `df`, or from the survey.
    pub size_bytes: Option<u64>,
    /// Free bytes, from the survey or from statfs.
    pub free_bytes: Option<u64>,
    /// Discards expected at each layer, from the mount down.
    pub expected: Vec<ExpectedDiscards>,
    /// Estimated duration.
    pub estimate: Option<Estimate>,
    /// When the last trim recorded on this host ran, and what ran it.
    pub last_trim: Option<(Timestamp, String)>,
    /// Checkpoint of a stopped pass that would be resumed.
    pub checkpoint: Option<Checkpoint>,
}

/// Discards expected at one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedDiscards {
    /// Kernel name.
    pub device: String,
    /// Number of layers above it.
    pub depth: usize,
    /// Whether there is no layer below it.
    pub is_leaf: bool,
    /// Discard limits of its queue.
    pub limits: Option<DiscardLimits>,
    /// Upper bound of the discarded bytes; `None` if unknown.
    pub bytes_max: Option<u64>,
}

/// A part of the free space that is trimmed in one call, with the stall it may cause according to
/// the same defaults by which the pass decides before it has measured anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// Description of the part.
    pub what: String,
    /// Free bytes that one call discards.
    pub bytes: u64,
    /// How long an allocation may have to wait; `None` if one free extent at a time is locked.
    pub stall: Option<Duration>,
    /// The longest stall allowed.
    pub allowed: Duration,
}

impl Stall {
    /// Returns whether the pass would stop before this part.
    pub fn is_beyond_allowed(&self) -> bool {
        self.stall.is_some_and(|stall| stall > self.allowed)
    }
}

/// Estimated duration of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Duration.
    pub takes: Duration,
    /// Bytes visited per second.
    pub bytes_per_s: u64,
    /// Source of that rate.
    pub basis: Basis,
}

/// Source of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Default; nothing was measured on this host.
    Assumed,
    /// The last complete pass of this filesystem.
    LastPass,
    /// `--rate`, which is lower than the measured or assumed rate.
    RateLimit,
}

/// How much of a filesystem to examine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Read the filesystem's own structures, which takes a while on a large filesystem.
    Survey,
    /// Use the collected facts only; the pass itself will look closer.
    Facts,
}

/// Forecasts a pass over one filesystem. Nothing is changed, and the state directory need not
/// exist. A filesystem that may not be trimmed is not surveyed.
pub fn forecast<'a>(
    host: &'a Host,
    filesystem: &Filesystem<'a>,
    may_trim: bool,
    request: &Request,
    depth: Depth,
) -> Forecast<'a> {
    let usage = filesystem.mount.usage;
    let mut forecast = Forecast {
        stacks: filesystem.stack.iter().cloned().collect(),
        size_bytes: usage.map(|usage| usage.size_bytes),
        free_bytes: usage.map(|usage| usage.free_bytes),
        ..Forecast::default()
    };
    let Some(stack) = &filesystem.stack else {
        return forecast;
    };
    match filesystem.identify() {
        Ok(target) => {
            let uuid = target.identity.uuid.as_deref();
            let is_btrfs = filesystem.mount.fs_type == "btrfs";
            forecast.stacks = layers::stacks(host, stack, uuid.filter(|_| is_btrfs));
            if may_trim && depth == Depth::Survey {
                survey(&mut forecast, filesystem, &target, request);
            }
            forecast.target = Some(target);
        }
        Err(error) => forecast.unknown = Some(error.to_string()),
    }
    forecast.layers = layers::layers(&forecast.stacks);
    forecast.expected = expected(&forecast);
    let key = forecast.target.as_ref().map(|target| target.identity.key());
    let earlier = key.and_then(|key| audit::last_complete(&request.state_dir, &key));
    forecast.last_trim = last_trim(host, earlier.as_ref());
    forecast.estimate = estimate(&forecast, request, earlier.as_ref());
    forecast
}

/// Finds drives shared by several forecasts, each with the mount points over it. Filesystems that
/// share a drive are trimmed one after another.
pub fn shared_drives<'f>(
    forecasts: impl IntoIterator<Item = (&'f str, &'f Forecast<'f>)>,
) -> Vec<(String, Vec<String>)> {
    let mut on_drive: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (mount_point, forecast) in forecasts {
        for drive in forecast.layers.leaves() {
            on_drive
                .entry(drive)
                .or_default()
                .push(mount_point.to_owned());
        }
    }
    on_drive.retain(|_, mounts| mounts.len() > 1);
    on_drive.into_iter().collect()
}

/// Returns why a checkpoint of this filesystem cannot be resumed; `None` if it can.
pub(crate) fn outdated(
    checkpoint: &Checkpoint,
    filesystem: &Filesystem<'_>,
    target: &Target,
) -> Option<String> {
    let stack = filesystem.stack.as_ref();
    let size_bytes = stack.and_then(|stack| stack.top().size_bytes);
    let now = Timestamp::now();
    checkpoint.outdated(&target.identity, size_bytes, now, boot_id().as_deref())
}

fn survey(
    forecast: &mut Forecast<'_>,
    filesystem: &Filesystem<'_>,
    target: &Target,
    request: &Request,
) {
    if !request.restart {
        // An unreadable checkpoint is reported when the pass is about to resume from it.
        let found = request.state().checkpoint(&target.identity.key());
        let found = found.ok().flatten();
        forecast.checkpoint = found.filter(|found| outdated(found, filesystem, target).is_none());
    }
    let from = forecast
        .checkpoint
        .as_ref()
        .map_or_else(Cursor::default, |checkpoint| checkpoint.cursor);
    let budget = Controller::new(request.settings.clone(), Vec::new(), &[]).step_budget();
    let surveyed = geometry::open(target, from, &Stop::default()).and_then(|mut walk| {
        let survey = walk.survey(budget)?;
        Ok((survey, walk.locks_one_extent_at_a_time()))
    });
    match surveyed {
        Ok((survey, locks_one_extent)) => {
            forecast.stalls = stalls(&survey, locks_one_extent, request);
            forecast.size_bytes = forecast.size_bytes.or(Some(survey.size_bytes));
            forecast.free_bytes = Some(survey.free_bytes);
            forecast.survey = Some(survey);
        }
        Err(error) => {
            let root = if privilege::may_trim() {
                ""
            } else {
                " (the geometry is read as root)"
            };
            forecast.unknown = Some(format!("{error}{root}"));
        }
    }
}

#[allow(clippy::cast_precision_loss)] // an estimate
fn stalls(survey: &Survey, locks_one_extent: bool, request: &Request) -> Vec<Stall> {
    let allowed = request
        .accept_stall
        .unwrap_or(STALL_MAX_DEFAULT)
        .max(request.settings.stall);
    let each = survey.unsplittable.iter();
    each.map(|part| {
        let locks_all = part.is_unallocated || !locks_one_extent;
        let stall = Duration::from_secs_f64(part.bytes as f64 / ASSUMED_BYTES_PER_S as f64);
        Stall {
            what: part.what.clone(),
            bytes: part.bytes,
            stall: locks_all.then_some(stall),
            allowed,
        }
    })
    .collect()
}

fn expected(forecast: &Forecast<'_>) -> Vec<ExpectedDiscards> {
    let bytes_max = forecast
        .free_bytes
        .map_or_else(BTreeMap::new, |free_bytes| {
            layers::expected(&forecast.stacks, free_bytes)
        });
    let stacked = || forecast.stacks.iter().flat_map(|stack| &stack.layers);
    let each = forecast.layers.layers.iter();
    each.map(|layer| {
        let limits = stacked()
            .find(|known| known.device.name == layer.device)
            .and_then(|known| known.device.discard);
        ExpectedDiscards {
            device: layer.device.clone(),
            depth: layer.depth,
            is_leaf: layer.is_leaf,
            limits,
            bytes_max: bytes_max.get(&layer.device).copied(),
        }
    })
    .collect()
}

pub(crate) fn last_trim(
    host: &Host,
    earlier: Option<&audit::Earlier>,
) -> Option<(Timestamp, String)> {
    let jobs = host.jobs.iter().flatten().filter(|job| {
        job.commands
            .iter()
            .any(|command| command.program == "fstrim")
    });
    // A stamp file does not prove a run, but nothing better is available.
    let by_job = jobs.filter_map(|job| Some((job.last_run?, job.name.clone())));
    let by_pass = earlier.map(|pass| (pass.ended_at, "trimtab".to_owned()));
    by_job.chain(by_pass).max_by_key(|(at, _)| *at)
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)] // an estimate in whole bytes a second
fn estimate(
    forecast: &Forecast<'_>,
    request: &Request,
    earlier: Option<&audit::Earlier>,
) -> Option<Estimate> {
    let visited_bytes = forecast
        .checkpoint
        .as_ref()
        .map(|found| found.visited_bytes);
    // Free space may have shrunk below what was visited.
    let left_bytes = forecast
        .free_bytes?
        .saturating_sub(visited_bytes.unwrap_or(0));
    let (mut rate, mut basis) = match earlier.and_then(|pass| pass.visited_bytes_per_s) {
        Some(rate) if rate >= 1.0 => (rate as u64, Basis::LastPass),
        _ => (ASSUMED_VISITED_BYTES_PER_S, Basis::Assumed),
    };
    if let Some(limit) = request.settings.rate_bytes_per_s
        && limit < rate
    {
        (rate, basis) = (limit, Basis::RateLimit);
    }
    Some(Estimate {
        takes: Duration::from_secs(left_bytes.div_ceil(rate.max(1))),
        bytes_per_s: rate,
        basis,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Unsplittable;
    use crate::request::plain;
    use crate::target;

    #[test]
    fn visited_bytes_are_not_in_the_estimate() {
        let mut forecast = Forecast {
            free_bytes: Some(10 * ASSUMED_VISITED_BYTES_PER_S),
            ..Forecast::default()
        };
        let takes = |forecast: &Forecast<'_>| {
            let estimated = estimate(forecast, &plain(None), None);
            estimated.unwrap().takes
        };
        assert_eq!(takes(&forecast), Duration::from_secs(10));
        forecast.checkpoint = Some(Checkpoint {
            steps: 7,
            visited_bytes: 7 * ASSUMED_VISITED_BYTES_PER_S,
            ..Checkpoint::begun(&target::sample(), Timestamp::UNIX_EPOCH)
        });
        assert_eq!(takes(&forecast), Duration::from_secs(3));
    }

    #[test]
    fn forecast_judges_stalls_like_the_pass() {
        let survey = |bytes: u64, is_unallocated: bool| Survey {
            description: String::new(),
            free_bytes: bytes,
            free_extents: None,
            largest_extent_bytes: None,
            steps: 1,
            unsplittable: vec![Unsplittable {
                what: "unallocated space".to_owned(),
                bytes,
                is_unallocated,
            }],
            size_bytes: bytes,
        };
        let stall = |survey: &Survey, locks_one: bool, accepted: Option<u64>| {
            let request = plain(accepted.map(Duration::from_secs));
            stalls(survey, locks_one, &request).remove(0)
        };
        // By default 2 GiB/s is assumed and a quarter of a second is allowed.
        let large = survey(8 << 30, true);
        let found = stall(&large, true, None);
        assert_eq!(found.stall, Some(Duration::from_secs(4)));
        assert_eq!(found.allowed, Duration::from_millis(250));
        assert!(found.is_beyond_allowed());
        assert!(!stall(&survey(400 << 20, true), true, None).is_beyond_allowed());
        assert!(!stall(&large, true, Some(5)).is_beyond_allowed());
        // The pass makes such steps without asking, so no advice is needed.
        let groups = stall(&survey(8 << 30, false), true, None);
        assert_eq!(groups.stall, None);
        assert!(!groups.is_beyond_allowed());
        assert!(stall(&survey(8 << 30, false), false, None).is_beyond_allowed());
    }

    #[test]
    fn shared_drives_list_each_filesystem_once() {
        let layer = |device: &str| crate::account::LayerName {
            device: device.to_owned(),
            depth: 0,
            is_leaf: true,
            is_mapped: false,
        };
        let on = |drives: &[&str]| Forecast {
            layers: Layers {
                layers: drives.iter().map(|drive| layer(drive)).collect(),
            },
            ..Forecast::default()
        };
        let (a, b, c) = (on(&["sda"]), on(&["sda", "sdb"]), on(&["sdc"]));
        assert_eq!(
            shared_drives([("/a", &a), ("/b", &b), ("/c", &c)]),
            [("sda".to_owned(), vec!["/a".to_owned(), "/b".to_owned()])]
        );
    }
}
