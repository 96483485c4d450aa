//! Volumes of a Kubernetes cluster as `kubectl get pv -o json` lists them, and by what each can be trimmed.

mod jobs;
mod objects;

use objects::{Item, PersistentVolume, ReclaimSpaceCronJob, RecurringJob};
use std::collections::BTreeMap;

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
    /// Whether it has a `CSIAddonsNode`.
    pub has_addons: bool,
}

/// A bound volume with a filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Its phase is another than `Bound`.
    NotBound(String),
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
    /// Its path is a device of this node, which the kubelet mounts elsewhere.
    Device(String),
    /// Another volume has the same path on the same node.
    SamePath(String),
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

impl Means {
    /// Volumes of one kind are planned after each other.
    fn kind(&self) -> u8 {
        match self {
            Self::Longhorn { .. } => 0,
            Self::CsiAddons => 1,
            Self::Local { .. } => 2,
        }
    }
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
    let text = text.trim_start_matches('\u{feff}');
    if ["apiVersion:", "kind:", "items:", "---", "- "]
        .iter()
        .any(|start| text.trim_start().starts_with(start))
    {
        return Err("expected JSON, found YAML: kubectl prints JSON with -o json".to_owned());
    }
    let mut items = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<objects::Document>() {
        let document =
            document.map_err(|error| format!("expected the JSON that kubectl prints: {error}"))?;
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
            Item::CsiAddonsNode(_) => listed.has_addons = true,
            Item::Other => {}
        }
    }
    listed.volumes.sort_by_cached_key(|volume| {
        let Volume {
            means,
            namespace,
            claim,
            name,
        } = volume;
        // Claims as StatefulSets count.
        let claim = number_order(claim);
        (means.kind(), namespace.clone(), claim, name.clone())
    });
    listed.volumes.dedup();
    Ok(listed)
}

/// A key that sorts names by the numbers in them: es2 before es10.
pub fn number_order(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let (word, after) = split_at(rest, |c| c.is_ascii_digit());
        let (number, after) = split_at(after, |c| !c.is_ascii_digit());
        parts.push((word.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = after;
    }
    parts
}

fn split_at(text: &str, is_end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

/// What other objects tell of volumes.
#[derive(Debug, Default)]
struct Known {
    /// Drivers with a csi-addons sidecar, and whether one of theirs trims mounted volumes.
    drivers: BTreeMap<String, bool>,
    /// Labels of claims.
    labels: BTreeMap<(String, String), BTreeMap<String, String>>,
}

impl Known {
    fn learn(&mut self, item: &Item) {
        match item {
            Item::CsiAddonsNode(node) => {
                let mut capabilities = node.status.capabilities.iter();
                // csi-addons' parseCapabilities in csiaddonsnode_controller.go.
                let trims = capabilities
                    .any(|capability| capability.eq_ignore_ascii_case("reclaim_space.ONLINE"));
                *self
                    .drivers
                    .entry(node.spec.driver.name.clone())
                    .or_default() |= trims;
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
        let phase = volume.phase();
        let claim = match &spec.claim_ref {
            Some(claim) if phase == "Bound" => claim,
            _ => return Err(Why::NotBound(phase.to_owned())),
        };
        if spec.volume_mode == "Block" {
            return Err(Why::Block);
        }
        let is_read_only = |mode: &String| mode == "ReadOnlyMany";
        if !spec.access_modes.is_empty() && spec.access_modes.iter().all(is_read_only) {
            return Err(Why::ReadOnly);
        }
        let options = spec.mount_options.iter().flat_map(|list| list.split(','));
        let options: Vec<&str> = options.map(str::trim).collect();
        if options.contains(&"ro") || spec.csi.as_ref().is_some_and(|csi| csi.read_only) {
            return Err(Why::ReadOnly);
        }
        if options
            .iter()
            .any(|option| *option == "discard" || option.starts_with("discard="))
        {
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
            let node = volume.node().ok_or(Why::NoNode)?;
            // `fsType` is for block devices only (LocalVolumeSource).
            if !local.fs_type.is_empty() || local.path.starts_with("/dev/") {
                return Err(Why::Device(node.to_owned()));
            }
            let path = local.path.trim_end_matches('/');
            if !is_mount_path(path) || !is_label_value(node) {
                return Err(Why::BadName);
            }
            return Ok(Means::Local {
                path: path.to_owned(),
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
        let trims = self.drivers.get(driver).copied();
        if trims.unwrap_or_else(|| is_driver(driver, CEPH_RBD)) {
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

/// Whether a pod can mount this path of a node at the same place, beside what trimtab needs: nothing above or below that.
fn is_mount_path(path: &str) -> bool {
    let own = ["/var/lib/trimtab", "/run/trimtab", "/usr/bin/trimtab"];
    let is_below = |below: &str, above: &str| {
        below
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    path.starts_with('/')
        && !path.contains(|c: char| c.is_control() || c == ':')
        && !path.split('/').any(|part| part == "..")
        && !own
            .iter()
            .any(|own| is_below(own, path) || is_below(path, own))
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
