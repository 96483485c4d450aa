//! A plan as objects of Kubernetes. Names in it are those that Kubernetes accepts, which the reader of the list sees to;
//! everything else is quoted as JSON, which YAML reads.

use super::volumes::{PlannedVolume, TrimmedBy, VolumesPlan, other_words};
use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;

/// Namespace of trimtab's own pods.
const NAMESPACE: &str = "trimtab";
/// A label of all objects.
const MANAGED: &str = "app.kubernetes.io/managed-by: trimtab";
/// Columns of a comment.
const WIDTH: usize = 110;

/// Writes the objects that trim the volumes in their slots.
pub fn manifests(plan: &VolumesPlan) -> String {
    let mut text = String::new();
    comment(
        &mut text,
        &format!(
            "Written by `trimtab plan {}`. Slots of {}, of which no two overlap, in {}:",
            plan.command,
            units::seconds(f64::from(plan.len_s)),
            plan.zone
        ),
    );
    for volume in &plan.volumes {
        let _ = writeln!(
            text,
            "#   {}/{}  {}",
            volume.namespace, volume.claim, volume.slot.slot
        );
    }
    for note in plan.notes() {
        paragraph(&mut text, &note);
    }
    for other in &plan.others {
        paragraph(
            &mut text,
            &format!("Stop it first: {}.", other_words(other)),
        );
        for line in &other.ends {
            let _ = writeln!(text, "#   {line}");
        }
    }
    for left in &plan.left {
        let words = format!("Not planned: {}: {}", left.volume, left.why);
        paragraph(&mut text, &words);
    }
    let labels = plan.labels();
    if !labels.is_empty() {
        paragraph(
            &mut text,
            "Once these objects are there, give Longhorn's jobs their volumes:",
        );
        for line in labels.iter().flat_map(|label| label.lines()) {
            let _ = writeln!(text, "#   {line}");
        }
    }
    let mut has_namespace = false;
    for volume in &plan.volumes {
        match &volume.by {
            TrimmedBy::Longhorn { .. } => text.push_str(&recurring_job(volume)),
            TrimmedBy::CsiAddons => text.push_str(&reclaim_space(volume, plan)),
            TrimmedBy::CronJob { path, node } => {
                if !has_namespace {
                    has_namespace = true;
                    text.push_str(&namespace());
                }
                text.push_str(&cron_job(volume, (path, node), plan));
            }
        }
    }
    text
}

/// A comment after an empty line.
fn paragraph(text: &mut String, words: &str) {
    text.push_str("#\n");
    comment(text, words);
}

/// A comment, in lines; what is in it breaks none.
fn comment(text: &mut String, words: &str) {
    let words = units::escape::escape(words);
    let mut line = String::from("#");
    for word in words.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH && line.len() > 1 {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

fn quoted(text: &str) -> String {
    units::escape::escape_json(&Value::from(text).to_string())
}

/// After how many seconds a job that did not start is skipped, so that it ends within its slot.
fn late_s(plan: &VolumesPlan, retries_s: u64) -> u64 {
    u64::from(plan.len_s).saturating_sub(plan.pass_s + plan.stagger_s + retries_s)
}

/// How long csi-addons may begin a request anew, in seconds: without it ten minutes.
pub const CSI_ADDONS_RETRY_S: u64 = 60;

/// Longhorn `RecurringJob`, v1beta2.
fn recurring_job(volume: &PlannedVolume) -> String {
    format!(
        "---\n\
         # {}/{}\n\
         apiVersion: longhorn.io/v1beta2\n\
         kind: RecurringJob\n\
         metadata:\n  \
           name: {name}\n  \
           namespace: longhorn-system\n  \
           labels:\n    \
             {MANAGED}\n\
         spec:\n  \
           name: {name}\n  \
           task: filesystem-trim\n  \
           cron: {}\n  \
           concurrency: 1\n  \
           groups: []\n  \
           retain: 0\n",
        volume.namespace,
        volume.claim,
        quoted(&volume.cron),
        name = volume.job,
    )
}

/// csi-addons `ReclaimSpaceCronJob`, v1alpha1. It parses schedules by github.com/robfig/cron/v3, which knows `CRON_TZ=`.
fn reclaim_space(volume: &PlannedVolume, plan: &VolumesPlan) -> String {
    // Names such as 123 and null would not be strings. Without a zone, it is the operator's.
    let (namespace, claim) = (quoted(&volume.namespace), quoted(&volume.claim));
    format!(
        "---\n\
         apiVersion: csiaddons.openshift.io/v1alpha1\n\
         kind: ReclaimSpaceCronJob\n\
         metadata:\n  \
           name: {}\n  \
           namespace: {namespace}\n  \
           labels:\n    \
             {MANAGED}\n\
         spec:\n  \
           schedule: {}\n  \
           concurrencyPolicy: Forbid\n  \
           # A slot that is missed is skipped, not made up for.\n  \
           startingDeadlineSeconds: {}\n  \
           jobTemplate:\n    \
             spec:\n      \
               target:\n        \
                 persistentVolumeClaim: {claim}\n      \
               # The least: 0 stands for the default, ten minutes and six tries.\n      \
               backOffLimit: 1\n      \
               retryDeadlineSeconds: {CSI_ADDONS_RETRY_S}\n      \
               timeout: {}\n",
        volume.job,
        quoted(&format!("CRON_TZ={} {}", plan.zone, volume.cron)),
        late_s(plan, CSI_ADDONS_RETRY_S),
        plan.pass_s,
    )
}

fn namespace() -> String {
    format!(
        "---\n\
         apiVersion: v1\n\
         kind: Namespace\n\
         metadata:\n  \
           name: {NAMESPACE}\n  \
           labels:\n    \
             {MANAGED}\n    \
             pod-security.kubernetes.io/enforce: privileged\n"
    )
}

/// A `CronJob` on the node of a local volume. Mounts of the host arrive by `HostToContainer`, so that neither its namespaces
/// nor its processes are needed.
fn cron_job(volume: &PlannedVolume, (path, node): (&str, &str), plan: &VolumesPlan) -> String {
    let mut arguments = vec![
        "trim".to_owned(),
        "--window".to_owned(),
        volume.slot.window.clone(),
        "--tz".to_owned(),
        plan.zone.clone(),
        "--deadline".to_owned(),
        units::duration::argument(Duration::from_secs(plan.pass_s)),
    ];
    if let Some(url) = &plan.require_green {
        arguments.extend(["--require-green".to_owned(), url.clone()]);
    }
    arguments.push(path.to_owned());
    let arguments: Vec<String> = arguments
        .iter()
        // Kubernetes puts variables in.
        .map(|argument| argument.replace("$(", "$$("))
        .map(|argument| format!("                - {}\n", quoted(&argument)))
        .collect();
    format!(
        "---\n\
         # {}/{}\n\
         apiVersion: batch/v1\n\
         kind: CronJob\n\
         metadata:\n  \
           name: {}\n  \
           namespace: {NAMESPACE}\n  \
           labels:\n    \
             {MANAGED}\n\
         spec:\n  \
           schedule: {}\n  \
           timeZone: {}\n  \
           concurrencyPolicy: Forbid\n  \
           # A slot that is missed is skipped, not made up for.\n  \
           startingDeadlineSeconds: {}\n  \
           successfulJobsHistoryLimit: 1\n  \
           failedJobsHistoryLimit: 1\n  \
           jobTemplate:\n    \
             spec:\n      \
               backoffLimit: 0\n      \
               activeDeadlineSeconds: {}\n      \
               template:\n        \
                 spec:\n          \
                   restartPolicy: Never\n          \
                   automountServiceAccountToken: false\n          \
                   nodeSelector:\n            \
                     kubernetes.io/hostname: {}\n          \
                   tolerations:\n            \
                     - operator: Exists\n          \
                   containers:\n            \
                     - name: trim\n              \
                       image: {}\n              \
                       command:\n                \
                         - /usr/bin/trimtab\n              \
                       args:\n\
         {}              \
                       securityContext:\n                \
                         runAsUser: 0\n                \
                         readOnlyRootFilesystem: true\n                \
                         # FITRIM asks for CAP_SYS_ADMIN, and the latency of the drives is watched on their device nodes.\n                \
                         privileged: true\n              \
                       volumeMounts:\n                \
                         - name: data\n                  \
                           mountPath: {}\n                  \
                           mountPropagation: HostToContainer\n                \
                         - name: state\n                  \
                           mountPath: /var/lib/trimtab\n                \
                         - name: run\n                  \
                           mountPath: /run/trimtab\n          \
                   volumes:\n            \
                     - name: data\n              \
                       hostPath:\n                \
                         path: {}\n                \
                         type: Directory\n            \
                     - name: state\n              \
                       hostPath:\n                \
                         path: /var/lib/trimtab\n                \
                         type: DirectoryOrCreate\n            \
                     - name: run\n              \
                       hostPath:\n                \
                         path: /run/trimtab\n                \
                         type: DirectoryOrCreate\n",
        volume.namespace,
        volume.claim,
        volume.job,
        quoted(&volume.cron),
        quoted(&plan.zone),
        late_s(plan, 0),
        plan.len_s,
        quoted(node),
        quoted(plan.image.as_deref().unwrap_or_default()),
        arguments.concat(),
        quoted(path),
        quoted(path),
    )
}
