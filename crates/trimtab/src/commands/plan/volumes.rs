//! Slots of a Kubernetes cluster's volumes, from what kubectl lists.

use super::args::{Plan, words};
use super::slots::{self, Wanted};
use crate::commands::access::parse_endpoint;
use crate::error::CommandError;
use crate::input;
use jiff::Timestamp;
use plan::{Every, LeftOut, Listed, Means, Slot, Trimmer, Volume, Why};
use report::views::plan::{
    CSI_ADDONS_RETRY_S, LeftVolume, ListedToo, OtherTrimmer, PlannedVolume, TrimmedBy, VolumesPlan,
    manifests,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Ten thousand volumes are about 50 MB.
const BYTES_MAX: u64 = 256 << 20;
/// By how much csi-addons shifts a schedule at most (`cronjob-stagger-window`, since 2026).
const STAGGER: Duration = Duration::from_hours(2);
/// Longhorn's manager ends fstrim then.
const LONGHORN_PASS_MAX: Duration = Duration::from_hours(1);
/// Longhorn's job gives a trim up after a minute, though it goes on, and is started three times more, after 10, 20 and 40
/// seconds: the last trim begins 250 s after the first (`HTTPClientTimout`, `CronJobBackoffLimit`).
const LONGHORN_RETRIES: Duration = Duration::from_mins(5);
const EXAMPLE: &str =
    "for example: kubectl get pv,pvc -A -o json | trimtab plan --volumes - --format kubernetes";

/// Returns the objects that trim the volumes.
///
/// # Errors
/// As [`of_volumes`], and when no volume can be planned.
pub fn objects(arguments: &Plan, now: Timestamp) -> Result<String, CommandError> {
    let Some(path) = &arguments.volumes else {
        let message = "--format kubernetes: expected --volumes, the list of kubectl";
        return Err(CommandError::usage(message).hint(EXAMPLE));
    };
    let plan = of_volumes(arguments, path, now)?;
    if plan.volumes.is_empty() {
        let message = match plan.left.as_slice() {
            [] => "no volume to plan: the list has none".to_owned(),
            [only] => format!("no volume to plan: {}: {}", only.volume, only.why),
            [first, rest @ ..] => format!(
                "no volume to plan: {}: {}; {} left out as well",
                first.volume,
                first.why,
                units::count::counted(rest.len() as u64, "other is", "others are")
            ),
        };
        return Err(CommandError::input(message)
            .hint("the same call without --format lists them with their reasons"));
    }
    Ok(manifests(&plan))
}

/// Returns a slot for each volume.
///
/// # Errors
/// When the list cannot be read, an option does not fit what trims the volumes, or there are more than slots.
pub fn of_volumes(
    arguments: &Plan,
    path: &Path,
    now: Timestamp,
) -> Result<VolumesPlan, CommandError> {
    let name = format!("--volumes {}", path.display());
    let text = input::text_or_stdin(path, &name, BYTES_MAX)?;
    let listed = plan::read_volumes(&text)
        .map_err(|error| CommandError::input(format!("{name}: {error}")).hint(EXAMPLE))?;
    if listed.volumes.is_empty() && listed.left.is_empty() {
        let message = format!("{name}: no PersistentVolume is in the list");
        return Err(CommandError::input(message).hint(EXAMPLE));
    }
    let mut listed = in_namespaces(arguments, listed)?;
    listed.leave_out(arguments.image.is_some());
    let stagger = stagger(arguments, &listed)?;
    fits(arguments, &listed.volumes)?;
    let (zone, zone_name) = slots::zone(arguments, None);
    let wanted = Wanted {
        mounts: 1,
        every: arguments.every.map_or(Every::Week, Every::from),
        zone: &zone,
        now,
    };
    let pass = slots::pass(arguments);
    let pass = Duration::from_secs(pass.as_secs() + u64::from(pass.subsec_nanos() > 0));
    let late = stagger.saturating_add(retries(&listed.volumes));
    let len_s = plan::slot_len_s(pass.saturating_add(late).as_secs());
    let count = listed.volumes.len();
    let assigned = slots::one_each(arguments, wanted, (count, len_s)).map_err(|error| {
        error.hint(if stagger.is_zero() {
            "widen --window or add --days; a shorter --pass must still be longer than the longest trim"
        } else {
            "csi-addons' shifts make slots longer: --stagger 0s, once `cronjob-stagger-window` is \"0\" in its ConfigMap; or \
             widen --window"
        })
    })?;
    let zone_name = zone_name.unwrap_or_else(|| "UTC".to_owned());
    let staggered = listed
        .volumes
        .iter()
        .filter(|volume| volume.means == Means::CsiAddons)
        .count();
    let planned = |(volume, slot): (&Volume, &Slot)| {
        let told = slots::planned_node(&volume.claim, slot, &zone, Some(&zone_name), now);
        PlannedVolume {
            namespace: volume.namespace.clone(),
            claim: volume.claim.clone(),
            name: volume.name.clone(),
            by: trimmed_by(volume),
            job: volume.job(),
            slot: told,
            cron: slot.cron(),
        }
    };
    Ok(VolumesPlan {
        overlap_with_stagger: (staggered > 1 && !stagger.is_zero()).then(|| {
            plan::overlap_probability(&vec![pass.as_secs_f64(); staggered], stagger.as_secs_f64())
        }),
        stagger_s: stagger.as_secs(),
        pass_s: pass.as_secs(),
        len_s,
        volumes: listed.volumes.iter().zip(&assigned).map(planned).collect(),
        zone: zone_name.clone(),
        left: listed.left.iter().map(left_words).collect(),
        others: listed.others().into_iter().map(other).collect(),
        listed: ListedToo {
            jobs: listed.has_jobs,
            addons: listed.has_addons,
            claims: listed.has_claims,
        },
        is_piped: path.as_os_str() == "-",
        image: arguments.image.clone(),
        require_green: arguments.require_green.clone(),
        command: shlex::try_join(words(arguments).iter().map(String::as_str)).unwrap_or_default(),
    })
}

/// Those of `--namespace`.
fn in_namespaces(arguments: &Plan, mut listed: Listed) -> Result<Listed, CommandError> {
    let wanted = &arguments.namespaces;
    if wanted.is_empty() {
        return Ok(listed);
    }
    let of_left = |left: &LeftOut| left.what.split_once('/').map(|(name, _)| name.to_owned());
    let known: BTreeSet<String> = listed
        .volumes
        .iter()
        .map(|volume| volume.namespace.clone())
        .chain(listed.left.iter().filter_map(of_left))
        .collect();
    if let Some(missing) = wanted.iter().find(|name| !known.contains(*name)) {
        let known: Vec<&String> = known.iter().collect();
        let found = if known.is_empty() {
            "none".to_owned()
        } else {
            units::list(&known)
        };
        let message = format!("--namespace {missing}: no volume is claimed there; found {found}");
        return Err(CommandError::input(message).hint("`kubectl get pv` shows the claims"));
    }
    listed
        .volumes
        .retain(|volume| wanted.contains(&volume.namespace));
    listed
        .left
        .retain(|left| of_left(left).is_some_and(|name| wanted.contains(&name)));
    Ok(listed)
}

fn stagger(arguments: &Plan, listed: &Listed) -> Result<Duration, CommandError> {
    let mut volumes = listed.volumes.iter();
    if !volumes.any(|volume| volume.means == Means::CsiAddons) {
        return Ok(Duration::ZERO);
    }
    let stagger = arguments.stagger.unwrap_or(STAGGER);
    if stagger.subsec_nanos() > 0 {
        let message = "--stagger: expected whole seconds";
        return Err(CommandError::usage(message).hint("csi-addons has whole hours"));
    }
    Ok(stagger)
}

/// How much later than the first the last try of a trim may begin.
fn retries(volumes: &[Volume]) -> Duration {
    let of = |volume: &Volume| match volume.means {
        Means::Longhorn { .. } => LONGHORN_RETRIES,
        Means::CsiAddons => Duration::from_secs(CSI_ADDONS_RETRY_S),
        Means::Local { .. } => Duration::ZERO,
    };
    volumes.iter().map(of).max().unwrap_or_default()
}

/// Refuses options that what trims the volumes does not have.
fn fits(arguments: &Plan, volumes: &[Volume]) -> Result<(), CommandError> {
    let usage = |message: String, hint: &'static str| Err(CommandError::usage(message).hint(hint));
    if let Some(url) = &arguments.require_green {
        parse_endpoint(url, "--require-green")?;
    }
    let is_image = |image: &String| {
        !image.is_empty()
            && image
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._/:@".contains(&byte))
    };
    if let Some(image) = arguments.image.as_ref().filter(|image| !is_image(image)) {
        return usage(
            format!("--image {image:?}: expected the name of an image"),
            "for example --image registry.example/trimtab:0.1.0",
        );
    }
    let longhorn = volumes
        .iter()
        .find(|volume| matches!(volume.means, Means::Longhorn { .. }));
    let zone = arguments.tz.as_ref().and_then(|zone| zone.iana_name());
    if let (Some(volume), Some(zone)) = (longhorn, zone)
        && !["UTC", "Etc/UTC"].contains(&zone)
    {
        return usage(
            format!(
                "--tz {zone}: {}/{} is trimmed by Longhorn, whose schedules have no time zone",
                volume.namespace, volume.claim
            ),
            "leave --tz out, and name --window in UTC, the clock of kube-controller-manager as a rule",
        );
    }
    let other = volumes
        .iter()
        .find(|volume| !matches!(volume.means, Means::Local { .. }));
    if let (Some(volume), Some(url)) = (other, &arguments.require_green) {
        return usage(
            format!(
                "--require-green {url}: neither Longhorn nor csi-addons asks a cluster, and {}/{} is trimmed by one of them",
                volume.namespace, volume.claim
            ),
            "leave it out; only passes of trimtab itself, on local volumes, ask",
        );
    }
    if let Some(volume) = longhorn
        && slots::pass(arguments) > LONGHORN_PASS_MAX
    {
        return usage(
            format!(
                "--pass: {}/{} is trimmed by Longhorn, which ends a trim after an hour",
                volume.namespace, volume.claim
            ),
            "name an hour or less",
        );
    }
    Ok(())
}

fn trimmed_by(volume: &Volume) -> TrimmedBy {
    match &volume.means {
        Means::Longhorn {
            volume,
            is_labelled_by_claim,
        } => TrimmedBy::Longhorn {
            volume: volume.clone(),
            is_labelled_by_claim: *is_labelled_by_claim,
        },
        Means::CsiAddons => TrimmedBy::CsiAddons,
        Means::Local { path, node } => TrimmedBy::CronJob {
            path: path.clone(),
            node: node.clone(),
        },
    }
}

fn other(job: &Trimmer) -> OtherTrimmer {
    OtherTrimmer {
        job: format!("{} {}/{}", job.kind, job.namespace, job.name),
        schedule: job.schedule.clone(),
        trims: match &job.claim {
            Some(claim) => claim.clone(),
            None => "the volumes that are labelled with it or with one of its groups".to_owned(),
        },
        ends: if job.is_plain() {
            ends(job)
        } else {
            Vec::new()
        },
    }
}

/// csi-addons makes a job of an annotation anew if it is deleted: docs/reclaimspace.md there.
fn ends(job: &Trimmer) -> Vec<String> {
    let Trimmer {
        namespace, name, ..
    } = job;
    if job.claim.is_none() || job.is_of_a_plan() {
        let kind = if job.claim.is_none() {
            "recurringjobs.longhorn.io"
        } else {
            "reclaimspacecronjobs"
        };
        return vec![format!("kubectl -n {namespace} delete {kind} {name}")];
    }
    vec![
        format!(
            "kubectl -n {namespace} annotate --overwrite reclaimspacecronjobs {name} csiaddons.openshift.io/state=unmanaged"
        ),
        format!(
            "kubectl -n {namespace} patch reclaimspacecronjobs {name} --type=merge -p '{{\"spec\":{{\"suspend\":true}}}}'"
        ),
    ]
}

fn left_words(left: &LeftOut) -> LeftVolume {
    let why = match &left.why {
        Why::NotBound(phase) if phase.is_empty() => "not bound to a claim".to_owned(),
        Why::NotBound(phase) => format!("{phase}, not bound to a claim"),
        Why::Block => "a block device; Kubernetes knows of no filesystem on it".to_owned(),
        Why::ReadOnly => "it is only read".to_owned(),
        Why::Discard => {
            "mounted with discard; take it out of the mountOptions first (`trimtab rule \
             TRIM005`)"
                .to_owned()
        }
        Why::Shared(source) => format!("served by {source}: only the server can trim it"),
        Why::HostPath => {
            "a directory of its node: `trimtab plan MOUNT` there, for the filesystem that it \
             lies on"
                .to_owned()
        }
        Why::Device(node) => format!(
            "a device of {node}, which the kubelet mounts elsewhere: install trimtab there and run `trimtab plan`"
        ),
        Why::SamePath(path) => format!("{path} of its node is planned already"),
        Why::NoNode => "not bound to one node by kubernetes.io/hostname".to_owned(),
        Why::NoMeans(driver) => format!(
            "no object of Kubernetes trims volumes of {driver}; `trimtab check` on their nodes tells whether they need it"
        ),
        Why::NameTooLong => {
            "its job would have a name that is too long, or that another job has".to_owned()
        }
        Why::BadName => {
            "a name in it is not one of Kubernetes', or its path cannot be mounted in a pod"
                .to_owned()
        }
        Why::NoImage { path, node } => format!(
            "a filesystem of {node}: install trimtab there and run `trimtab plan {path}`, or name an image of trimtab with \
             --image for a privileged CronJob"
        ),
    };
    LeftVolume {
        volume: left.what.clone(),
        why,
    }
}
