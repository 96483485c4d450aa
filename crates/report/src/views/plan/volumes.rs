//! Slots of a Kubernetes cluster's volumes.

use super::nodes::{PlannedNode, first_slots};
use crate::views::phrases::words_if;
use page::{Block, Commands, List, Page, Table};
use schemars::JsonSchema;
use serde::Serialize;

/// A slot for each volume of a Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VolumesPlan {
    /// Probability that at least two volumes are trimmed at once if all have the same schedule and csi-addons shifts each by
    /// a hash within `stagger_s`; `null` if no volume is trimmed by csi-addons, or it shifts none. It is that of every
    /// week or of none: the hash stays.
    pub overlap_with_stagger: Option<f64>,
    /// By how much csi-addons shifts a schedule at most, in seconds; slots are longer by it.
    pub stagger_s: u64,
    /// How long the longest pass takes, in seconds.
    pub pass_s: u64,
    /// Length of a slot in seconds.
    pub len_s: u32,
    /// Time zone of all slots.
    pub zone: String,
    /// The volumes, by what trims them, namespace and claim.
    pub volumes: Vec<PlannedVolume>,
    /// Volumes that are not planned.
    pub left: Vec<LeftVolume>,
    /// Jobs that trim planned volumes already, or may.
    pub others: Vec<OtherTrimmer>,
    /// Other objects that the list had.
    pub listed: ListedToo,
    /// Image of trimtab for volumes of nodes.
    #[serde(skip)]
    pub image: Option<String>,
    /// The cluster to be asked before a pass.
    #[serde(skip)]
    pub require_green: Option<String>,
    /// The arguments of the call, quoted for a shell.
    #[serde(skip)]
    pub command: String,
    /// Whether the list was read from standard input.
    #[serde(skip)]
    pub is_piped: bool,
}

/// What a list had besides volumes: what it had not was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedToo {
    /// Jobs of csi-addons or Longhorn.
    pub jobs: bool,
    /// Objects that tell which drivers csi-addons trims.
    pub addons: bool,
    /// Claims, whose labels may replace those of Longhorn's volumes.
    pub claims: bool,
}

/// A volume and its slot.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlannedVolume {
    /// Namespace of its claim.
    pub namespace: String,
    /// Its claim.
    pub claim: String,
    /// Name of the volume.
    pub name: String,
    /// By what it is trimmed.
    #[serde(flatten)]
    pub by: TrimmedBy,
    /// Name of the object.
    pub job: String,
    /// When.
    pub slot: PlannedNode,
    /// The same as the time fields of a crontab.
    pub cron: String,
}

/// By what a volume is trimmed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum TrimmedBy {
    /// A `RecurringJob` of Longhorn.
    Longhorn {
        /// Longhorn's name of the volume.
        volume: String,
        /// Whether its jobs are labels of the claim.
        is_labelled_by_claim: bool,
    },
    /// A `ReclaimSpaceCronJob` of csi-addons.
    CsiAddons,
    /// A `CronJob` of trimtab on its node.
    CronJob {
        /// Path on the node.
        path: String,
        /// The node.
        node: String,
    },
}

/// A volume that is not planned.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LeftVolume {
    /// Namespace and claim, or the volume's name.
    pub volume: String,
    /// Why.
    pub why: String,
}

/// A job that trims planned volumes already.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherTrimmer {
    /// Its kind, namespace and name.
    pub job: String,
    /// Its schedule.
    pub schedule: String,
    /// What it trims.
    pub trims: String,
    /// Commands that end it; none if its names are not such that they can be in a command.
    pub ends: Vec<String>,
}

impl VolumesPlan {
    /// Commands that tell Longhorn which volumes its jobs trim.
    pub(super) fn labels(&self) -> Vec<String> {
        let label = |volume: &PlannedVolume| match &volume.by {
            TrimmedBy::Longhorn {
                volume: name,
                is_labelled_by_claim,
            } => Some(if *is_labelled_by_claim {
                format!(
                    "kubectl -n {} label pvc {} recurring-job.longhorn.io/{}=enabled",
                    volume.namespace, volume.claim, volume.job
                )
            } else {
                format!(
                    "kubectl -n longhorn-system label volumes.longhorn.io {name} \\\n  \
                     recurring-job.longhorn.io/{}=enabled",
                    volume.job
                )
            }),
            TrimmedBy::CsiAddons | TrimmedBy::CronJob { .. } => None,
        };
        self.volumes.iter().filter_map(label).collect()
    }

    /// What else has to be known.
    pub(super) fn notes(&self) -> Vec<String> {
        let has = |is: fn(&TrimmedBy) -> bool| self.volumes.iter().any(|volume| is(&volume.by));
        let mut notes = Vec::new();
        if has(|by| *by == TrimmedBy::CsiAddons) {
            notes.push(if self.stagger_s > 0 {
                format!(
                    "csi-addons shifts every schedule by up to {} (`cronjob-stagger-window`), by a hash of the job's UID; slots \
                     are that much longer. Builds from March to July 2026 never start a job whose shift is longer than its \
                     startingDeadlineSeconds. With `cronjob-stagger-window: \"0\"` in its ConfigMap csi-addons-config, and the operator \
                     restarted, `--stagger 0s` makes them shorter.",
                    seconds(self.stagger_s)
                )
            } else {
                "csi-addons must not shift schedules: releases after 0.14 do unless its ConfigMap csi-addons-config has \
                 `cronjob-stagger-window: \"0\"`; restart the operator after changing it."
                    .to_owned()
            });
        }
        if has(|by| *by == TrimmedBy::CsiAddons) && !self.listed.addons {
            notes.push(
                "The list has no CSIAddonsNode: whether csi-addons is installed, and trims volumes of this driver, was not looked \
                 at. `kubectl get csiaddonsnodes -A` shows them."
                    .to_owned(),
            );
        }
        if has(|by| matches!(by, TrimmedBy::CsiAddons | TrimmedBy::Longhorn { .. })) {
            notes.push(
                "Neither csi-addons nor Longhorn stops a trim that overruns its slot: choose a --pass longer than the longest \
                 trim you have seen."
                    .to_owned(),
            );
        }
        if has(|by| matches!(by, TrimmedBy::Longhorn { .. })) {
            notes.push(
                "Longhorn's jobs run by the clock of kube-controller-manager, UTC as a rule, and a slot that is missed while \
                 that is down is made up for afterwards. A volume that is detached, or rebuilds a replica, is not trimmed that \
                 time; what a snapshot holds is not freed, and newer releases purge snapshots after the trim."
                    .to_owned(),
            );
            if !self.listed.claims {
                notes.push(
                    "The list has no claims. On a claim with the label recurring-job.longhorn.io/source=enabled, the labels \
                     below would be taken back: `kubectl get pv,pvc -A -o json` tells them apart."
                        .to_owned(),
                );
            }
        }
        if has(|by| matches!(by, TrimmedBy::CronJob { .. })) {
            notes.push(
                "Pods that trim a node's own filesystem run privileged, in a namespace that allows it: anyone who can create \
                 pods there has root on the nodes. Where you can install trimtab on the nodes, do that instead: `sudo trimtab plan \
                 --apply MOUNT`. What else trims there, such as the node's fstrim.timer, is not in this list: `trimtab check` on \
                 the node shows it."
                    .to_owned(),
            );
            if let Some(node) = self.crowded_node() {
                notes.push(format!(
                    "{node} has several of these volumes: if they are directories of one filesystem, it would be trimmed once \
                     for each. Plan it on the node then."
                ));
            }
        }
        if !self.listed.jobs && !self.volumes.is_empty() {
            notes.push(
                "The list has no jobs of csi-addons or Longhorn: whether one trims these volumes already was not looked at. \
                 `kubectl get reclaimspacecronjobs,recurringjobs.longhorn.io -A` shows them."
                    .to_owned(),
            );
        }
        notes
    }

    /// A node with more than one volume of its own.
    fn crowded_node(&self) -> Option<&str> {
        let mut nodes: Vec<&str> = self
            .volumes
            .iter()
            .filter_map(|volume| match &volume.by {
                TrimmedBy::CronJob { node, .. } => Some(node.as_str()),
                TrimmedBy::CsiAddons | TrimmedBy::Longhorn { .. } => None,
            })
            .collect();
        nodes.sort_unstable();
        nodes
            .windows(2)
            .find(|pair| pair[0] == pair[1])
            .map(|pair| pair[0])
    }
}

fn seconds(s: u64) -> String {
    units::seconds(std::time::Duration::from_secs(s).as_secs_f64())
}

pub(super) fn page(plan: &VolumesPlan) -> Page {
    let mut page = Page::new("trimtab plan", lead(plan));
    let mut table = Table::new(&["<namespace/claim", "<slot", "<next", "<by"]);
    for volume in &plan.volumes {
        table.row([
            format!("{}/{}", volume.namespace, volume.claim),
            volume.slot.slot.clone(),
            volume.slot.next.clone(),
            match &volume.by {
                TrimmedBy::Longhorn { .. } => "RecurringJob".to_owned(),
                TrimmedBy::CsiAddons => "ReclaimSpaceCronJob".to_owned(),
                TrimmedBy::CronJob { node, .. } => format!("CronJob on {node}"),
            },
        ]);
    }
    if !plan.volumes.is_empty() {
        page.push(table);
    }
    if !plan.others.is_empty() {
        page.push(List::new(
            "These jobs trim as well; stop them first:",
            plan.others.iter().map(other_words),
        ));
        let ends = plan.others.iter().flat_map(|other| &other.ends);
        let ends: Vec<&str> = ends.map(String::as_str).collect();
        if !ends.is_empty() {
            page.push(Commands::new("to stop them:", ends.join("\n")));
        }
    }
    page.extend(plan.notes().into_iter().map(Block::text));
    if !plan.left.is_empty() {
        let left = plan.left.iter();
        page.push(List::new(
            "Not planned:",
            left.map(|left| format!("{}: {}", left.volume, left.why)),
        ));
    }
    if !plan.volumes.is_empty() {
        let piped = words_if(plan.is_piped, "kubectl get ... -o json | ");
        page.push(Commands::new(
            "to write the objects, and create them (`kubectl delete -f` takes them back):",
            format!(
                "{piped}trimtab plan {} -o trims.yaml\nkubectl apply --dry-run=server -f trims.yaml\nkubectl apply -f trims.yaml",
                plan.command
            ),
        ));
    }
    let labels = plan.labels();
    if !labels.is_empty() {
        page.push(Commands::new(
            "to give Longhorn's jobs their volumes:",
            labels.join("\n"),
        ));
    }
    page
}

/// A job that trims as well, in words.
pub(super) fn other_words(other: &OtherTrimmer) -> String {
    format!("{} ({}) trims {}", other.job, other.schedule, other.trims)
}

fn lead(plan: &VolumesPlan) -> String {
    let count = plan.volumes.len();
    if count == 0 {
        return format!(
            "No volume can be planned: {} looked at.",
            units::count::counted(plan.left.len(), "volume was", "volumes were")
        );
    }
    let volumes = plan.volumes.iter().map(|volume| {
        let name = format!("{}/{}", volume.namespace, volume.claim);
        (name, &volume.slot)
    });
    let named = first_slots(volumes, &plan.zone);
    if count == 1 {
        return format!("One volume is trimmed by itself: {named}.");
    }
    let today = plan.overlap_with_stagger.map(|overlap| {
        format!(
            " On one schedule, csi-addons' shifts of up to {} would let at least two overlap with a probability of {}, and then \
             every week: a shift never changes.",
            seconds(plan.stagger_s),
            units::share::score(overlap)
        )
    });
    format!(
        "With these slots, no two of the {count} volumes are trimmed at the same time, if a pass takes {} at most: \
         {named}.{}",
        seconds(plan.pass_s),
        today.unwrap_or_default()
    )
}
