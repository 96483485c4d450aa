use super::*;
use crate::nightly::history::tests::document;
use proptest::prelude::*;
use std::fs;

fn put(history: &Path, folder: &str, content: &[u8]) {
    fs::create_dir_all(history.join(folder)).unwrap();
    fs::write(history.join(folder).join(DOCUMENT_FILE), content).unwrap();
}

fn json(day: i64) -> Vec<u8> {
    serde_json::to_vec(&document(day, &[("bulk", 1.0)])).unwrap()
}

#[test]
fn trials_are_read_and_everything_else_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let history = directory.path();
    put(history, "a", &json(0));
    put(history, "b", &json(1));
    fs::write(history.join("b/host.csv"), "x").unwrap();
    put(history, "broken", b"{");
    put(history, "other", br#"{"schema":"other"}"#);
    fs::create_dir(history.join("empty")).unwrap();
    fs::create_dir_all(history.join("odd").join(DOCUMENT_FILE)).unwrap();
    fs::write(history.join(PAGE_FILE), "x").unwrap();
    let mut overflowing = document(3, &[("bulk", 1.0)]);
    overflowing.operations[0].errors = [("503".to_owned(), u64::MAX)].into();
    put(
        history,
        "overflowing",
        &serde_json::to_vec(&overflowing).unwrap(),
    );
    // What lies elsewhere is not shown, and a pipe would never end.
    put(history, "elsewhere", &json(4));
    fs::remove_file(history.join("elsewhere").join(DOCUMENT_FILE)).unwrap();
    std::os::unix::fs::symlink(
        history.join("a/trial.json"),
        history.join("elsewhere/trial.json"),
    )
    .unwrap();
    std::os::unix::fs::symlink("a", history.join("link")).unwrap();

    let mut skipped = Vec::new();
    let read = read(history, &mut skipped).unwrap();
    let trials: Vec<(&str, usize)> = read
        .trials
        .iter()
        .map(|night| (night.folder.as_str(), night.files.len()))
        .collect();
    assert_eq!(trials, [("a", 1), ("b", 2)]);
    let mut named: Vec<&str> = skipped.iter().map(|one| one.what.as_str()).collect();
    named.sort_unstable();
    assert_eq!(
        named,
        [
            "1 folder",
            "broken",
            "elsewhere",
            "odd",
            "other",
            "overflowing"
        ]
    );
}

#[test]
fn a_folder_without_trials_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = read(directory.path(), &mut Vec::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains("0 folders without one"), "{error}");
    put(directory.path(), "x", b"[]");
    let error = read(directory.path(), &mut Vec::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains("x: "), "{error}");
    assert!(read(&directory.path().join("missing"), &mut Vec::new()).is_err());
}

#[test]
fn of_too_many_folders_the_last_are_read() {
    let directory = tempfile::tempdir().unwrap();
    for index in 0..NIGHTS_MAX + 3 {
        fs::create_dir(directory.path().join(format!("{index:06}"))).unwrap();
    }
    let mut skipped = Vec::new();
    let names = folders(directory.path(), &mut skipped).unwrap();
    assert_eq!(names.len(), NIGHTS_MAX);
    assert_eq!(names.first().unwrap(), "000003");
    assert_eq!(skipped[0].what, "3 folders");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Documents that are cut, changed at random places, or anything else.
    #[test]
    fn no_folder_makes_it_panic(
        folders in prop::collection::vec(
            (
                "[^/\\x00]{1,20}",
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..80),
                    (0_i64..4, 0_usize..3_000, any::<u8>()).prop_map(|(day, at, byte)| {
                        let mut text = json(day);
                        let at = at % text.len();
                        text[at] = byte;
                        text
                    }),
                    (0_i64..4, 0_usize..3_000).prop_map(|(day, len)| {
                        let mut text = json(day);
                        text.truncate(len);
                        text
                    }),
                ],
            ),
            0..6,
        ),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut count = BTreeSet::new();
        for (name, content) in &folders {
            if name != "." && name != ".." && fs::create_dir_all(directory.path().join(name)).is_ok() {
                put(directory.path(), name, content);
                count.insert(name);
            }
        }
        let mut skipped = Vec::new();
        if let Ok(history) = read(directory.path(), &mut skipped) {
            // Every folder is either a trial or named.
            prop_assert_eq!(history.trials.len() + skipped.iter().filter(|one| count.contains(&one.what)).count(), count.len());
            for metric in &history.metrics {
                let series = metric.series(&history.trials, "nights");
                prop_assert!(series.times_us.is_sorted_by(|a, b| a < b));
                prop_assert!(series.values.iter().all(|value| value.is_finite()));
            }
        }
    }
}
