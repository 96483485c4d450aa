//! Volumes of a Kubernetes cluster as `kubectl get pv -o json` lists them, and by what each can be trimmed.

mod objects;

use objects::{Item, PersistentVolume, ReclaimSpaceCronJob, RecurringJob};
use std::collections::{BTreeMap, BTreeSet};

/// Longhorn's CSI driver.
const LONGHORN: &str = "driver.longhorn.io";
/// Ceph's for RBD; Rook and others put a namespace in front of it.
const CEPH_RBD: &str = "rbd.csi.ceph.com";
/// Drivers of filesystems that a server shares and trims.
const SHARED: &[&str] = &[
    "cephfs.csi.ceph.com",
    "nfs.csi.ceph.com",
    "nfs.csi.k8s.io",
    "smb.csi.k8s.io",
    "efs.csi.aws.com",
    "file.csi.azure.com",
    "filestore.csi.storage.gke.io",
];
/// A label of a claim: its recurring jobs replace those of Longhorn's volume.
const LONGHORN_SOURCE: &str = "recurring-job.longhorn.io/source";
/// Longest name of an object.
const NAME_MAX: usize = 253;

/// What a list says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Volumes with a way to trim them, by kind, namespace and claim.
    pub volumes: Vec<Volume>,
    /// The others.
    pub left: Vec<LeftOut>,
    /// Jobs in the list that trim volumes already.
    pub trimmers: Vec<Trimmer>,
    /// Whether the list has jobs of Longhorn or csi-addons at all.
    pub has_jobs: bool,
    /// Whether it has claims.
    pub has_claims: bool,
}

/// A bound volume with a filesystem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Volume {
    /// By what it is trimmed.
    pub means: Means,
    /// Namespace of its claim.
    pub namespace: String,
    /// Its claim.
    pub claim: String,
    /// Its own name.
    pub name: String,
}

/// By what a volume is trimmed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Means {
    /// A `RecurringJob` of Longhorn.
    Longhorn {
        /// Longhorn's name of the volume.
        volume: String,
        /// Whether its jobs are labels of the claim, which replace those of the volume.
        is_labelled_by_claim: bool,
    },
    /// A `ReclaimSpaceCronJob` of csi-addons.
    CsiAddons,
    /// trimtab on the node that has it.
    Local {
        /// Path on the node.
        path: String,
        /// The node, as its label `kubernetes.io/hostname` has it.
        node: String,
    },
}

/// A volume that is not planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Namespace and claim, or the volume's own name.
    pub what: String,
    /// Why.
    pub why: Why,
}

/// Why a volume is not planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// No claim has it.
    NotBound,
    /// It is a block device without a filesystem that Kubernetes knows of.
    Block,
    /// It is only read.
    ReadOnly,
    /// It is mounted with `discard`.
    Discard,
    /// A server shares it, and trims it.
    Shared(String),
    /// A directory of a node's own filesystem.
    HostPath,
    /// A filesystem of a node, and no image of trimtab that could run there was named.
    NoImage {
        /// Path on the node.
        path: String,
        /// The node.
        node: String,
    },
    /// The node is not named by its label `kubernetes.io/hostname`.
    NoNode,
    /// No object of Kubernetes trims what this driver makes.
    NoMeans(String),
    /// A name or path in it is not one that Kubernetes accepts.
    BadName,
    /// The job that would trim it needs a shorter name, or one that another volume's job has.
    NameTooLong,
}

/// A job that trims volumes already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trimmer {
    /// Its kind: `ReclaimSpaceCronJob` or `RecurringJob`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its schedule, as it is written.
    pub schedule: String,
    /// The claim that it is for; `None` if labels of volumes tell.
    pub claim: Option<String>,
}

impl Trimmer {
    /// Whether its names are such that they can be in a command.
    pub fn is_plain(&self) -> bool {
        is_name(&self.namespace) && is_name(&self.name)
    }
}

/// Reads what `kubectl get pv -o json` prints: a list, or several one after another. Claims, `CSIAddonsNode`,
/// `ReclaimSpaceCronJob` and `RecurringJob` in it are looked at, other objects are not.
///
/// # Errors
/// When it is not JSON, or not objects of Kubernetes; the sentence says where.
pub fn read_volumes(text: &str) -> Result<Listed, String> {
    let mut items = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<objects::Document>() {
        let document = document.map_err(|error| error.to_string())?;
        items.extend(document.items()?);
    }
    if items.is_empty() && text.trim().is_empty() {
        return Err("expected JSON, found nothing".to_owned());
    }
    let mut known = Known::default();
    for item in &items {
        known.learn(item);
    }
    let mut listed = Listed::default();
    for item in &items {
        match item {
            Item::Volume(volume) => match known.volume(volume) {
                Ok(planned) => listed.volumes.push(planned),
                Err(why) => listed.left.push(LeftOut {
                    what: volume.label(),
                    why,
                }),
            },
            Item::CronJob(job) => {
                listed.has_jobs = true;
                listed.trimmers.extend(of_csi_addons(job));
            }
            Item::Recurring(job) => {
                listed.has_jobs = true;
                listed.trimmers.extend(of_longhorn(job));
            }
            Item::Claim(_) => listed.has_claims = true,
            Item::CsiAddonsNode(_) | Item::Other => {}
        }
    }
    listed.volumes.sort();
    listed.volumes.dedup();
    Ok(listed)
}

/// What other objects tell of volumes.
#[derive(Debug, Default)]
struct Known {
    /// Drivers whose csi-addons sidecar trims mounted volumes.
    drivers: BTreeSet<String>,
    /// Labels of claims.
    labels: BTreeMap<(String, String), BTreeMap<String, String>>,
}

impl Known {
    fn learn(&mut self, item: &Item) {
        match item {
            Item::CsiAddonsNode(node) => {
                let capabilities = node.status.capabilities.iter();
                // csi-addons' parseCapabilities in csiaddonsnode_controller.go.
                if capabilities
                    .map(|capability| capability.to_ascii_lowercase())
                    .any(|capability| capability == "reclaim_space.online")
                {
                    self.drivers.insert(node.spec.driver.name.clone());
                }
            }
            Item::Claim(claim) => {
                let key = (
                    claim.metadata.namespace.clone(),
                    claim.metadata.name.clone(),
                );
                self.labels.insert(key, claim.metadata.labels.clone());
            }
            _ => {}
        }
    }

    fn volume(&self, volume: &PersistentVolume) -> Result<Volume, Why> {
        let spec = &volume.spec;
        let claim = match &spec.claim_ref {
            Some(claim) if volume.status.phase == "Bound" => claim,
            _ => return Err(Why::NotBound),
        };
        if spec.volume_mode == "Block" {
            return Err(Why::Block);
        }
        let is_read_only = |mode: &String| mode == "ReadOnlyMany";
        if !spec.access_modes.is_empty() && spec.access_modes.iter().all(is_read_only) {
            return Err(Why::ReadOnly);
        }
        let mut options = spec.mount_options.iter().flat_map(|list| list.split(','));
        if options.any(|option| {
            let option = option.trim();
            option == "discard" || option.starts_with("discard=")
        }) {
            return Err(Why::Discard);
        }
        let means = self.means(volume)?;
        let names = [
            &volume.metadata.name,
            &claim.namespace,
            &claim.name,
            match &means {
                Means::Longhorn { volume, .. } => volume,
                Means::Local { .. } | Means::CsiAddons => &claim.name,
            },
        ];
        if !names.into_iter().all(|name| is_name(name)) {
            return Err(Why::BadName);
        }
        Ok(Volume {
            means,
            namespace: claim.namespace.clone(),
            claim: claim.name.clone(),
            name: volume.metadata.name.clone(),
        })
    }

    fn means(&self, volume: &PersistentVolume) -> Result<Means, Why> {
        let spec = &volume.spec;
        if let Some(local) = &spec.local {
            let is_path = local.path.starts_with('/') && !local.path.contains(char::is_control);
            let node = volume.node().ok_or(Why::NoNode)?;
            if !is_path || !is_label_value(node) {
                return Err(Why::BadName);
            }
            return Ok(Means::Local {
                path: local.path.clone(),
                node: node.to_owned(),
            });
        }
        if spec.host_path.is_some() {
            return Err(Why::HostPath);
        }
        let Some(csi) = &spec.csi else {
            let source = spec.other_source();
            return Err(match source {
                "nfs" | "cephfs" | "glusterfs" | "azureFile" => Why::Shared(source.to_owned()),
                _ => Why::NoMeans(source.to_owned()),
            });
        };
        let driver = csi.driver.as_str();
        if driver == LONGHORN {
            let claim = spec.claim_ref.as_ref();
            let labels = claim.and_then(|claim| {
                self.labels
                    .get(&(claim.namespace.clone(), claim.name.clone()))
            });
            return Ok(Means::Longhorn {
                volume: csi.volume_handle.clone(),
                is_labelled_by_claim: labels.is_some_and(|labels| {
                    labels
                        .get(LONGHORN_SOURCE)
                        .is_some_and(|on| on == "enabled")
                }),
            });
        }
        if SHARED.iter().any(|shared| is_driver(driver, shared)) {
            return Err(Why::Shared(driver.to_owned()));
        }
        if is_driver(driver, CEPH_RBD) || self.drivers.contains(driver) {
            return Ok(Means::CsiAddons);
        }
        Err(Why::NoMeans(driver.to_owned()))
    }
}

/// Whether a driver is `known`, or `known` with a namespace in front of it.
fn is_driver(driver: &str, known: &str) -> bool {
    driver
        .strip_suffix(known)
        .is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

fn of_csi_addons(job: &ReclaimSpaceCronJob) -> Option<Trimmer> {
    let claim = &job.spec.job_template.spec.target.persistent_volume_claim;
    (!job.spec.suspend).then(|| Trimmer {
        kind: "ReclaimSpaceCronJob",
        namespace: job.metadata.namespace.clone(),
        name: job.metadata.name.clone(),
        schedule: job.spec.schedule.clone(),
        claim: Some(claim.clone()),
    })
}

fn of_longhorn(job: &RecurringJob) -> Option<Trimmer> {
    (job.spec.task == "filesystem-trim").then(|| Trimmer {
        kind: "RecurringJob",
        namespace: job.metadata.namespace.clone(),
        name: job.metadata.name.clone(),
        schedule: job.spec.cron.clone(),
        claim: None,
    })
}

/// Whether this is a name of an object: lower-case letters, digits, `-` and `.` (RFC 1123).
fn is_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=NAME_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| is_word(byte) || byte == b'-' || byte == b'.')
        && name.bytes().next().is_some_and(is_word)
        && name.bytes().last().is_some_and(is_word)
}

/// Whether this is a value of a label.
fn is_label_value(value: &str) -> bool {
    (1..=63).contains(&value.len())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && value.starts_with(|first: char| first.is_ascii_alphanumeric())
        && value.ends_with(|last: char| last.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests;
