//! Parts of sentences and evidence shared by the rules about trimming and schedules.

use crate::shell;
use crate::volume::Volume;
use facts::Evidence;
use facts::host::{Job, Mount};

/// Maximum number of names listed; further ones are counted. This keeps reports readable, even for
/// a hostile bundle.
const NAMES_MAX: usize = 6;

/// Maximum number of pieces of evidence of one kind.
pub(crate) const EVIDENCE_MAX: usize = 8;

/// Returns a job's name, escaped for use in a sentence.
pub(crate) fn job_name(job: &Job) -> String {
    shell::printable(&job.name)
}

/// Returns the mount point, escaped for use in a sentence.
pub(crate) fn mount_point(volume: &Volume<'_>) -> String {
    shell::printable(&volume.mount.mount_point)
}

/// Returns "Elasticsearch's data", "the data of Elasticsearch and MongoDB", "the given data path",
/// or "this filesystem".
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

/// Formats "a", "a and b", "a, b and 7 more".
pub(crate) fn list<S: AsRef<str>>(names: &[S]) -> String {
    units::list::list_up_to(names, NAMES_MAX)
}

/// Returns the mount and its options as evidence.
pub(crate) fn mount_evidence(mount: &Mount) -> Evidence {
    Evidence::new(
        mount.read_from(),
        format!(
            "{} {} {}",
            mount.mount_point,
            mount.fs_type,
            mount.options.join(",")
        ),
    )
}

/// Returns the first few drives as evidence for the medium.
pub(crate) fn medium_evidence(volume: &Volume<'_>) -> Vec<Evidence> {
    const DRIVES_MAX: usize = 4;
    let drives = volume.stack.data_drives().take(DRIVES_MAX);
    drives.map(crate::medium::evidence).collect()
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
}
