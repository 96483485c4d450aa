//! What a pass would do, without doing it.

use super::audit;
use super::layers;
use super::options::Options;
use super::plan::Plan;
use facts::{Host, Stack};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use trim::Cursor;
use trim::account::Layers;
use trim::geometry::{self, Survey};
use trim::pace::Controller;
use trim::state::{Checkpoint, State};
use trim::stop::Stop;
use trim::target::Target;

/// What a paced pass visits a second where nothing was measured on this host: a middling drive, its
/// pauses included. Said to be assumed wherever it is used.
const ASSUMED_VISITED_BYTES_PER_S: u64 = 500 << 20;

/// What is known of a filesystem before a pass.
pub struct Forecast<'a> {
    pub target: Option<Target>,
    pub stacks: Vec<Stack<'a>>,
    pub layers: Layers,
    pub survey: Option<Survey>,
    /// A step locks one free extent after the other (block groups of ext4 and Btrfs).
    pub locks_one_extent: bool,
    /// Why there is no survey.
    pub unknown: Option<String>,
    /// Free bytes, from the survey or from statfs.
    pub free_bytes: Option<u64>,
    pub expected: BTreeMap<String, u64>,
    pub estimate: Option<Estimate>,
    /// The last trim that this host tells of, and by what.
    pub last_trim: Option<(Timestamp, String)>,
    /// A pass that was stopped.
    pub checkpoint: Option<Checkpoint>,
}

/// How long it may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub takes: Duration,
    pub bytes_per_s: u64,
    pub basis: Basis,
}

/// Where a rate is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    Assumed,
    LastPass,
    RateLimit,
}

impl Basis {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::LastPass => "as the last pass did",
            Self::RateLimit => "as --rate allows",
        }
    }
}

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// With the filesystem's own structures, which takes a while where it is large.
    Survey,
    /// What the facts tell: the pass itself will look closer.
    Facts,
}

/// Looks at one filesystem. Nothing is changed; the state directory need not be there.
pub fn forecast<'a>(
    host: &'a Host,
    plan: &Plan<'a>,
    options: &Options,
    depth: Depth,
) -> Forecast<'a> {
    let mut forecast = Forecast {
        target: None,
        stacks: plan.stack.iter().cloned().collect(),
        layers: Layers { layers: Vec::new() },
        survey: None,
        locks_one_extent: false,
        unknown: None,
        free_bytes: plan.mount.usage.map(|usage| usage.free_bytes),
        expected: BTreeMap::new(),
        estimate: None,
        last_trim: None,
        checkpoint: None,
    };
    let Some(stack) = &plan.stack else {
        return forecast;
    };
    match identify(plan) {
        Ok(target) => {
            let uuid = target.identity.uuid.as_deref();
            let is_btrfs = plan.mount.fs_type == "btrfs";
            forecast.stacks = layers::stacks(host, stack, uuid.filter(|_| is_btrfs));
            if plan.refusal.is_none() && depth == Depth::Survey {
                survey(&mut forecast, plan, &target, options);
            }
            forecast.target = Some(target);
        }
        Err(reason) => forecast.unknown = Some(reason),
    }
    forecast.layers = layers::layers(&forecast.stacks);
    if let Some(free_bytes) = forecast.free_bytes {
        forecast.expected = layers::expected(&forecast.stacks, free_bytes);
    }
    let key = forecast.target.as_ref().map(|target| target.identity.key());
    let earlier = key.and_then(|key| audit::last_complete(&options.state_dir, &key));
    forecast.last_trim = last_trim(host, earlier.as_ref());
    forecast.estimate = estimate(&forecast, options, earlier.as_ref());
    forecast
}

/// Identifies what is mounted.
///
/// # Errors
/// With the reason.
pub fn identify(plan: &Plan<'_>) -> Result<Target, String> {
    let device = plan
        .stack
        .as_ref()
        .map_or_else(PathBuf::new, |stack| layers::node(&stack.top().name));
    Target::identify(
        PathBuf::from(&plan.mount.mount_point),
        &plan.mount.fs_type,
        device,
    )
    .map_err(|error| error.to_string())
}

/// Why a checkpoint of this filesystem is not gone on from; `None` where it is.
pub fn outdated(checkpoint: &Checkpoint, plan: &Plan<'_>, target: &Target) -> Option<String> {
    let stack = plan.stack.as_ref();
    let size_bytes = stack.and_then(|stack| stack.top().size_bytes);
    let boot_id = trim::state::boot_id();
    let now = Timestamp::now();
    checkpoint.outdated(&target.identity, size_bytes, now, boot_id.as_deref())
}

fn survey(forecast: &mut Forecast<'_>, plan: &Plan<'_>, target: &Target, options: &Options) {
    let state = State {
        state_dir: options.state_dir.clone(),
        run_dir: PathBuf::from(super::options::RUN_DIR),
    };
    if !options.restart {
        // One that cannot be read is told when the pass is to go on from it.
        let found = state.checkpoint(&target.identity.key()).ok().flatten();
        forecast.checkpoint = found.filter(|found| outdated(found, plan, target).is_none());
    }
    let from = forecast
        .checkpoint
        .as_ref()
        .map_or_else(Cursor::default, |checkpoint| checkpoint.cursor);
    let budget = Controller::new(options.settings.clone(), Vec::new(), &[]).step_budget();
    let surveyed = geometry::open(target, from, &Stop::default()).and_then(|mut walk| {
        let survey = walk.survey(budget)?;
        Ok((survey, walk.locks_one_extent_at_a_time()))
    });
    match surveyed {
        Ok((survey, locks_one_extent)) => {
            forecast.locks_one_extent = locks_one_extent;
            forecast.free_bytes = Some(survey.free_bytes);
            forecast.survey = Some(survey);
        }
        Err(error) => {
            let root = if super::signals::may_trim() {
                ""
            } else {
                " (the geometry is read as root)"
            };
            forecast.unknown = Some(format!("{error}{root}"));
        }
    }
}

fn last_trim(host: &Host, earlier: Option<&audit::Earlier>) -> Option<(Timestamp, String)> {
    let jobs = host.jobs.iter().flatten().filter(|job| {
        job.commands
            .iter()
            .any(|command| command.program == "fstrim")
    });
    // A stamp is no proof of a run, but the best that there is.
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
    options: &Options,
    earlier: Option<&audit::Earlier>,
) -> Option<Estimate> {
    let visited_bytes = forecast
        .checkpoint
        .as_ref()
        .map(|found| found.visited_bytes);
    // What is free may have become less than what was visited.
    let left_bytes = forecast
        .free_bytes?
        .saturating_sub(visited_bytes.unwrap_or(0));
    let (mut rate, mut basis) = match earlier.and_then(|pass| pass.visited_bytes_per_s) {
        Some(rate) if rate >= 1.0 => (rate as u64, Basis::LastPass),
        _ => (ASSUMED_VISITED_BYTES_PER_S, Basis::Assumed),
    };
    if let Some(limit) = options.settings.rate_bytes_per_s
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
    use super::super::options::of_a_test;
    use super::*;
    use facts::host::DeviceNumber;
    use trim::state::Phase;
    use trim::target::Identity;

    #[test]
    fn what_was_visited_takes_no_time() {
        let mut forecast = Forecast {
            target: None,
            stacks: Vec::new(),
            layers: Layers { layers: Vec::new() },
            survey: None,
            locks_one_extent: false,
            unknown: None,
            free_bytes: Some(10 * ASSUMED_VISITED_BYTES_PER_S),
            expected: BTreeMap::new(),
            estimate: None,
            last_trim: None,
            checkpoint: None,
        };
        let takes = |forecast: &Forecast<'_>| {
            let estimated = estimate(forecast, &of_a_test(None), None);
            estimated.unwrap().takes
        };
        assert_eq!(takes(&forecast), Duration::from_secs(10));
        forecast.checkpoint = Some(Checkpoint {
            schema: trim::state::CHECKPOINT_SCHEMA.to_owned(),
            identity: Identity {
                device: DeviceNumber { major: 7, minor: 1 },
                uuid: None,
                fs_type: "xfs".to_owned(),
            },
            mount_point: "/data".to_owned(),
            started_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            cursor: Cursor::default(),
            steps: 7,
            free_bytes: 0,
            visited_bytes: 7 * ASSUMED_VISITED_BYTES_PER_S,
            discarded_bytes: BTreeMap::new(),
            active_s: 0.0,
            phase: Phase::Running,
            remark: None,
            left_s: None,
            boot_id: None,
        });
        assert_eq!(takes(&forecast), Duration::from_secs(3));
    }
}
