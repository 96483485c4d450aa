//! Pieces of sentences and evidence that the rules on trimming and schedules share.

use crate::context::Volume;
use crate::rule::Rule;
use crate::shell;
use facts::host::{BlockDevice, Job};
use facts::{Evidence, Finding, Severity};

/// More names than this are counted instead of listed: reports stay readable, and a hostile bundle
/// cannot make them long.
const NAMES_MAX: usize = 6;

/// More pieces of evidence of one kind than this do not make a finding clearer.
pub(crate) const EVIDENCE_MAX: usize = 8;

/// A finding about a volume, without its reasons yet.
pub(crate) fn about_volume(
    rule: &Rule,
    severity: Severity,
    volume: &Volume<'_>,
    title: impl Into<String>,
) -> Finding {
    Finding {
        rule: rule.id.to_owned(),
        severity,
        subject: mount_point(volume),
        mount_point: Some(volume.mount.mount_point.clone()),
        cluster: None,
        device: Some(volume.stack.top().name.clone()),
        title: title.into(),
        why: String::new(),
        evidence: vec![mount_evidence(volume)],
        remedy: Vec::new(),
    }
}

/// A finding about a job or a unit of the host.
pub(crate) fn about_host(
    rule: &Rule,
    severity: Severity,
    subject: &str,
    title: impl Into<String>,
) -> Finding {
    Finding {
        rule: rule.id.to_owned(),
        severity,
        subject: shell::printable(subject),
        mount_point: None,
        cluster: None,
        device: None,
        title: title.into(),
        why: String::new(),
        evidence: Vec::new(),
        remedy: Vec::new(),
    }
}

/// A job's name, fit for a sentence.
pub(crate) fn job_name(job: &Job) -> String {
    shell::printable(&job.name)
}

/// The mount point, fit for a sentence.
pub(crate) fn mount_point(volume: &Volume<'_>) -> String {
    shell::printable(&volume.mount.mount_point)
}

/// "Elasticsearch's data", "the data of Elasticsearch and MongoDB", "the given data path", or "this
/// filesystem".
pub(crate) fn data_of(volume: &Volume<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    for store in &volume.stores {
        let name = match store.engine {
            facts::host::StoreEngine::DataPath => "the given data path".to_owned(),
            ref engine => shell::printable(engine.label()),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => "this filesystem".to_owned(),
        [name] if name.starts_with("the ") => name.clone(),
        [name] => format!("{name}'s data"),
        _ => format!("the data of {}", list(&names)),
    }
}

/// With a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// "a", "a and b", "a, b and 7 more".
pub(crate) fn list<S: AsRef<str>>(names: &[S]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_MAX).map(AsRef::as_ref).collect();
    match (shown.as_slice(), names.len() - shown.len()) {
        ([], _) => String::new(),
        ([only], 0) => (*only).to_owned(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    }
}

/// Where the mount stands, with its options.
pub(crate) fn mount_evidence(volume: &Volume<'_>) -> Evidence {
    let mount = volume.mount;
    Evidence::new(
        "proc/self/mountinfo",
        format!(
            "{} {} {}",
            mount.mount_point,
            mount.fs_type,
            mount.options.join(",")
        ),
    )
}

/// What the judgement of the medium rests on: the drives, the first few of them.
pub(crate) fn medium_evidence(volume: &Volume<'_>) -> Vec<Evidence> {
    const DRIVES_MAX: usize = 4;
    let drives: Vec<&BlockDevice> = volume.stack.leaves().collect();
    drives
        .iter()
        .take(DRIVES_MAX)
        .map(|drive| crate::medium::evidence(drive))
        .collect()
}

/// A size for people, in binary units.
#[allow(clippy::cast_precision_loss)] // Shown with one decimal.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: &[&str] = &["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A length of time for people: "7 days", "1 hour 40 minutes", "90 seconds".
pub(crate) fn duration(seconds: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Clamped first.
    let total = seconds.clamp(0.0, 1e12).round() as u64;
    let count = |n: u64, unit: &str| format!("{n} {unit}{}", if n == 1 { "" } else { "s" });
    match total {
        0..120 => count(total, "second"),
        120..7200 if total.is_multiple_of(60) && !total.is_multiple_of(3600) => {
            count(total / 60, "minute")
        }
        _ if total.is_multiple_of(86_400) => count(total / 86_400, "day"),
        _ if total.is_multiple_of(3600) && total < 172_800 => count(total / 3600, "hour"),
        120..7200 => count(total.div_ceil(60), "minute"),
        7200..172_800 => count(total.div_ceil(3600), "hour"),
        _ => format!("about {}", count((total + 43_200) / 86_400, "day")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_sentences_and_stay_short() {
        assert_eq!(list::<&str>(&[]), "");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        assert_eq!(list(&many), "0, 1, 2, 3, 4, 5 and 994 more");
    }

    #[test]
    fn sizes_and_durations() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1 << 40), "1.0 TiB");
        assert_eq!(size((1 << 40) - 1), "1.0 TiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
        assert_eq!(duration(0.0), "0 seconds");
        assert_eq!(duration(6000.0), "100 minutes");
        assert_eq!(duration(3600.0), "1 hour");
        assert_eq!(duration(604_800.0), "7 days");
        assert_eq!(duration(2_629_800.0), "about 30 days");
        assert_eq!(duration(f64::INFINITY), "about 11574074 days");
    }
}
