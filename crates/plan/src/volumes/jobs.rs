//! The jobs that trim volumes: what they are called, which volumes can have one, and which there are already.

use super::{LeftOut, Listed, Means, Trimmer, Volume, Why};
use std::collections::BTreeSet;

/// Before the names of all jobs.
const PREFIX: &str = "trimtab-";
/// Longest name of a `CronJob`: pods add to it.
const CRON_JOB_NAME_MAX: usize = 52;
/// Longest name of a `ReclaimSpaceCronJob`: its jobs add a time to it, and names end at 253 characters.
const RECLAIM_NAME_MAX: usize = 242;
/// Longest name of a `RecurringJob` (`NameMaximumLength` in Longhorn's datastore).
const LONGHORN_NAME_MAX: usize = 40;

impl Volume {
    /// Name of the job that trims it: as much of the volume's as fits, which is all of a UUID but its end.
    pub fn job(&self) -> String {
        let (of, max) = match &self.means {
            Means::Longhorn { volume, .. } => (volume, LONGHORN_NAME_MAX),
            Means::Local { .. } => (&self.name, CRON_JOB_NAME_MAX),
            // Of a claim, whose name is the only one that is unique beside it.
            Means::CsiAddons => (&self.claim, usize::MAX),
        };
        let fits = of.len().min(max - PREFIX.len());
        let kept = of.get(..fits).unwrap_or(of);
        format!("{PREFIX}{}", kept.trim_end_matches(['-', '.']))
    }
}

impl Trimmer {
    /// Whether an earlier plan has made it.
    pub fn is_of_a_plan(&self) -> bool {
        self.name.starts_with(PREFIX)
    }
}

impl Listed {
    /// Leaves out volumes of nodes if there is no image of trimtab to trim them, filesystems that are planned already, and
    /// volumes whose job would have too long a name, or that of another.
    pub fn leave_out(&mut self, has_image: bool) {
        let mut jobs = BTreeSet::new();
        let mut paths = BTreeSet::new();
        let mut why_not = |volume: &Volume| {
            let namespace = match &volume.means {
                Means::Local { path, node } if !has_image => {
                    return Some(Why::NoImage {
                        path: path.clone(),
                        node: node.clone(),
                    });
                }
                Means::Local { path, node } => {
                    if !paths.insert((node.clone(), path.clone())) {
                        return Some(Why::SamePath(path.clone()));
                    }
                    String::new()
                }
                Means::Longhorn { .. } => String::new(),
                Means::CsiAddons => volume.namespace.clone(),
            };
            let job = volume.job();
            let is_too_long = volume.means == Means::CsiAddons && job.len() > RECLAIM_NAME_MAX;
            let is_new = jobs.insert((volume.means.kind(), namespace, job));
            (is_too_long || !is_new).then_some(Why::NameTooLong)
        };
        for volume in std::mem::take(&mut self.volumes) {
            match why_not(&volume) {
                None => self.volumes.push(volume),
                Some(why) => self.left.push(LeftOut {
                    what: format!("{}/{}", volume.namespace, volume.claim),
                    why,
                }),
            }
        }
    }

    /// Jobs that trim planned volumes and are not of this plan, and those that an earlier plan made for others: their slots
    /// are the same.
    pub fn others(&self) -> Vec<&Trimmer> {
        let mut ours = BTreeSet::new();
        let mut claims = BTreeSet::new();
        let mut has_longhorn = false;
        for volume in &self.volumes {
            claims.insert((volume.namespace.as_str(), volume.claim.as_str()));
            match volume.means {
                Means::Longhorn { .. } => {
                    has_longhorn = true;
                    ours.insert((None, volume.job()));
                }
                Means::CsiAddons => {
                    ours.insert((Some(volume.namespace.as_str()), volume.job()));
                }
                Means::Local { .. } => {}
            }
        }
        let is_other = |job: &&Trimmer| {
            let namespace = job.claim.as_ref().map(|_| job.namespace.as_str());
            let meets = match &job.claim {
                Some(claim) => claims.contains(&(job.namespace.as_str(), claim.as_str())),
                None => has_longhorn,
            };
            (meets || job.is_of_a_plan()) && !ours.contains(&(namespace, job.name.clone()))
        };
        self.trimmers.iter().filter(is_other).collect()
    }
}
