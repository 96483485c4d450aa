use super::*;
use crate::Limits;
use jiff::Timestamp;
use jiff::civil::date;
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use tempfile::TempDir;

fn series(name: &str, samples: &[(i64, f64)]) -> Series {
    Series {
        name: name.to_owned(),
        source: "races/".to_owned(),
        labels: [("task".to_owned(), "index-append".to_owned())].into(),
        unit: Some("docs/s".to_owned()),
        better: Some(Better::Higher),
        dating: Dating::Absolute,
        sample_of: None,
        times_us: samples.iter().map(|(time_us, _)| *time_us).collect(),
        values: samples.iter().map(|(_, value)| *value).collect(),
        notes: vec!["2 duplicates: the last one stands".to_owned()],
        discard_time: None,
    }
}

fn reading(series: Vec<Series>) -> Reading {
    Reading {
        series,
        ..Reading::default()
    }
}

fn read_all(store: &Store) -> Reading {
    store
        .read(&Selection::default(), None, None, &Limits::default())
        .expect("readable")
}

fn place() -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("history.db");
    (dir, path)
}

#[test]
fn appended_series_are_read_by_another_connection() {
    let (_dir, path) = place();
    let mut undated = series("nvme0n1 kB_wrtn/s", &[(0, 1.5), (3_000_000, -2.0)]);
    undated.dating = Dating::Undated;
    undated.unit = None;
    undated.better = None;
    undated.notes.clear();
    let mut of_a_day = series(
        "md0 kB_wrtn/s",
        &[(1_586_736_000_000_000, f64::MIN_POSITIVE)],
    );
    of_a_day.dating = Dating::Day(date(2020, 4, 13));
    let written = reading(vec![
        of_a_day,
        undated,
        series("throughput", &[(-5, 0.0), (7, f64::MAX)]),
    ]);
    let mut store = Store::open(&path).expect("made");
    let done = store.append(&written).expect("appended");
    assert_eq!(
        done,
        Appended {
            series_new: 3,
            samples_new: 5,
            ..Appended::default()
        }
    );
    drop(store);
    assert!(is_database(&path));
    let store = Store::open_read_only(&path).expect("there");
    assert_eq!(read_all(&store), written);
    let listed = store.list().expect("a list");
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[2].samples, 2);
    assert_eq!(listed[2].span_us, Some((-5, 7)));
    assert_eq!(listed[1].unit, None);
}

#[test]
fn the_file_is_for_its_owner_only() {
    let (dir, path) = place();
    let mut store = Store::open(&path).expect("made");
    store
        .append(&reading(vec![series("throughput", &[(1, 1.0)])]))
        .expect("appended");
    for entry in std::fs::read_dir(dir.path()).expect("listed") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.file_name());
    }
}

#[test]
fn repeated_appends_are_idempotent_and_new_values_replace() {
    let (_dir, path) = place();
    let mut store = Store::open(&path).expect("made");
    let first = reading(vec![series(
        "throughput",
        &[(1, 10.0), (2, 20.0), (4, 40.0)],
    )]);
    store.append(&first).expect("appended");
    let again = store.append(&first).expect("appended");
    assert_eq!(
        again,
        Appended {
            series_continued: 1,
            samples_known: 3,
            ..Appended::default()
        }
    );
    assert_eq!(read_all(&store), first);
    let later = reading(vec![series(
        "throughput",
        &[(2, 21.0), (3, 30.0), (4, 40.0)],
    )]);
    let done = store.append(&later).expect("appended");
    assert_eq!(
        (done.samples_new, done.samples_replaced, done.samples_known),
        (1, 1, 1)
    );
    let all = read_all(&store);
    assert_eq!(all.series[0].times_us, vec![1, 2, 3, 4]);
    assert_eq!(all.series[0].values, vec![10.0, 21.0, 30.0, 40.0]);
    assert_eq!(store.list().expect("a list")[0].samples, 4);
}

#[test]
fn series_of_other_units_or_sources_stay_separate() {
    let (_dir, path) = place();
    let mut store = Store::open(&path).expect("made");
    let mut in_ms = series("latency", &[(1, 5.0)]);
    in_ms.unit = Some("ms".to_owned());
    let mut seconds = series("latency", &[(1, 0.005)]);
    seconds.unit = Some("s".to_owned());
    let mut elsewhere = in_ms.clone();
    elsewhere.source = "other.csv".to_owned();
    for one in [in_ms, seconds, elsewhere] {
        store.append(&reading(vec![one])).expect("appended");
    }
    let names: Vec<String> = read_all(&store)
        .series
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(
        names,
        [
            "latency (other.csv)",
            "latency (races/) ms",
            "latency (races/) s"
        ]
    );
}

#[test]
fn selections_filter_names_sources_labels_and_times() {
    let (_dir, path) = place();
    let mut store = Store::open(&path).expect("made");
    let mut labelled = series("nvme0n1 await", &[(1_000_000, 1.0), (2_000_000, 2.0)]);
    labelled.labels = [("device".to_owned(), "nvme0n1".to_owned())].into();
    let written = reading(vec![labelled, series("throughput", &[(1_000_000, 3.0)])]);
    store.append(&written).expect("appended");
    let names = |selection: &Selection| -> Vec<String> {
        store
            .read(selection, None, None, &Limits::default())
            .map(|reading| reading.series.into_iter().map(|one| one.name).collect())
            .unwrap_or_default()
    };
    let by_name = Selection {
        names: vec!["*await".to_owned(), "x".to_owned()],
        ..Selection::default()
    };
    assert_eq!(names(&by_name), ["nvme0n1 await"]);
    let by_label = Selection {
        labels: [("device".to_owned(), "nvme0n1".to_owned())].into(),
        ..Selection::default()
    };
    assert_eq!(names(&by_label), ["nvme0n1 await"]);
    let by_source = Selection {
        sources: vec!["other*".to_owned()],
        ..Selection::default()
    };
    assert!(names(&by_source).is_empty());
    let error = store
        .read(&by_source, None, None, &Limits::default())
        .expect_err("none");
    assert!(
        error
            .to_string()
            .ends_with("no series fits; it holds nvme0n1 await, throughput"),
        "{error}"
    );
    // From the first time, until before the last.
    let second = |s| Timestamp::from_second(s).expect("a time");
    let cut = store
        .read(
            &by_name,
            Some(second(1)),
            Some(second(2)),
            &Limits::default(),
        )
        .expect("readable");
    assert_eq!(cut.series[0].times_us, vec![1_000_000]);
}

#[test]
fn series_beyond_the_limits_are_skipped_and_reported() {
    let (_dir, path) = place();
    let mut store = Store::open(&path).expect("made");
    store
        .append(&reading(vec![
            series("a", &[(1, 1.0), (2, 2.0)]),
            series("b", &[(1, 1.0), (2, 2.0), (3, 3.0)]),
            series("c", &[(1, 1.0)]),
        ]))
        .expect("appended");
    let limits = Limits {
        samples_max: 4,
        series_max: 10,
    };
    let cut = store
        .read(&Selection::default(), None, None, &limits)
        .expect("readable");
    let names: Vec<&str> = cut.series.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(cut.skipped.len(), 1);
    assert_eq!(cut.skipped[0].what, "races/ b");
    assert_eq!(cut.skipped[0].why, "more than 4 samples");
}

#[test]
fn invalid_series_are_rejected_before_writing() {
    let (_dir, path) = place();
    let mut store = Store::open(&path).expect("made");
    let good = series("good", &[(1, 1.0)]);
    let mut bad = series("bad", &[(1, f64::NAN)]);
    let refused = |store: &mut Store, bad: &Series| {
        store
            .append(&reading(vec![good.clone(), bad.clone()]))
            .expect_err("refused")
            .to_string()
    };
    assert_eq!(
        refused(&mut store, &bad),
        "races/: expected finite values in \"bad\", found \"NaN\""
    );
    bad.values = vec![1.0, 2.0];
    assert!(refused(&mut store, &bad).contains("as many values as times"));
    bad.times_us = vec![2, 2];
    assert!(refused(&mut store, &bad).contains("ascending times"));
    bad.times_us = vec![1, 2];
    bad.name = "x".repeat(TEXT_BYTES_MAX + 1);
    assert!(refused(&mut store, &bad).contains("65,536 bytes"));
    assert!(store.list().expect("a list").is_empty());
}

#[test]
fn other_files_are_rejected_and_left_unchanged() {
    let (_dir, path) = place();
    std::fs::write(&path, "time,value\n2016-09-26,1\n").expect("written");
    for opened in [Store::open(&path), Store::open_read_only(&path)] {
        let error = opened.expect_err("no store");
        assert!(
            error.to_string().ends_with("found \"no SQLite database\""),
            "{error}"
        );
    }
    assert!(
        std::fs::read_to_string(&path)
            .expect("text")
            .starts_with("time,")
    );

    std::fs::remove_file(&path).expect("removed");
    let foreign = Connection::open(&path).expect("a database");
    foreign
        .execute_batch("CREATE TABLE series (id INTEGER); INSERT INTO series VALUES (1);")
        .expect("filled");
    drop(foreign);
    let before = std::fs::read(&path).expect("bytes");
    for opened in [Store::open(&path), Store::open_read_only(&path)] {
        let error = opened.expect_err("no store");
        assert!(error.to_string().contains("of another program"), "{error}");
    }
    assert_eq!(std::fs::read(&path).expect("bytes"), before);
}

#[test]
fn missing_and_empty_stores_are_reported() {
    let (dir, path) = place();
    let error = Store::open_read_only(&path).expect_err("no file");
    assert!(matches!(&error, SourceError::File { error, .. }
        if error.kind() == io::ErrorKind::NotFound));
    assert!(!path.exists());
    std::fs::write(&path, "").expect("written");
    let error = Store::open_read_only(&path).expect_err("empty");
    assert!(
        error.to_string().contains("import a history first"),
        "{error}"
    );
    let error = Store::open(&dir.path().join("no/such/place.db")).expect_err("no directory");
    assert!(matches!(error, SourceError::File { .. }));
}

#[test]
fn newer_versions_and_extended_schemas_are_rejected() {
    let (_dir, path) = place();
    drop(Store::open(&path).expect("made"));
    let raw = Connection::open(&path).expect("a database");
    raw.execute_batch("CREATE TRIGGER t AFTER INSERT ON series BEGIN DELETE FROM samples; END;")
        .expect("a trigger");
    let error = Store::open(&path).expect_err("a trigger");
    assert!(error.to_string().contains("and nothing else"), "{error}");
    raw.execute_batch("DROP TRIGGER t; PRAGMA user_version = 2;")
        .expect("a version");
    for opened in [Store::open(&path), Store::open_read_only(&path)] {
        let error = opened.expect_err("newer").to_string();
        assert!(
            error.contains("version 1, which this trimtab knows"),
            "{error}"
        );
        assert!(error.contains("version 2"), "{error}");
    }
}

#[test]
fn damage_is_distinguished_from_other_failures() {
    let (_dir, path) = place();
    let mut store = Store::open(&path).expect("made");
    let samples: Vec<(i64, f64)> = (0..5_000).map(|at| (at, 1.0)).collect();
    store
        .append(&reading(vec![series("throughput", &samples)]))
        .expect("appended");
    drop(store);
    let mut bytes = std::fs::read(&path).expect("bytes");
    // Everything after the first page, which holds the schema.
    for byte in &mut bytes[4_096..] {
        *byte = 0xa5;
    }
    std::fs::write(&path, bytes).expect("written");
    let error = Store::open_read_only(&path)
        .and_then(|store| store.read(&Selection::default(), None, None, &Limits::default()))
        .expect_err("damaged");
    assert!(
        error.to_string().contains("a damaged SQLite database"),
        "{error}"
    );
}

#[test]
fn readers_see_the_state_before_an_open_write() {
    let (_dir, path) = place();
    let mut writer = Store::open(&path).expect("made");
    let first = reading(vec![series("throughput", &[(1, 1.0)])]);
    writer.append(&first).expect("appended");
    let busy = writer
        .connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .expect("begun");
    busy.execute("UPDATE samples SET value = 9", [])
        .expect("changed");
    let reader = Store::open_read_only(&path).expect("not locked out");
    assert_eq!(read_all(&reader), first);
}

#[test]
fn stores_in_read_only_directories_are_readable() {
    let (dir, path) = place();
    let first = reading(vec![series("throughput", &[(1, 1.0)])]);
    let mut store = Store::open(&path).expect("made");
    store.append(&first).expect("appended");
    drop(store);
    // Root ignores the directory's mode, so the fallback itself is tested too.
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(dir.path(), mode(0o500)).expect("set");
    let read = Store::open_read_only(&path).map(|store| read_all(&store));
    std::fs::set_permissions(dir.path(), mode(0o700)).expect("set");
    assert_eq!(read.expect("readable"), first);
    let odd = dir.path().join("a %41?#.db");
    std::fs::rename(&path, &odd).expect("renamed");
    let store = Store::open_immutable(&odd).expect("opened");
    assert_eq!(read_all(&store), first);
}

#[test]
fn concurrent_creation_and_appends_lose_nothing() {
    const WRITERS: i64 = 4;
    const APPENDS: i64 = 25;
    let (_dir, path) = place();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = &path;
            scope.spawn(move || {
                let mut store = Store::open(path).expect("opened");
                for append in 0..APPENDS {
                    let at = append * WRITERS + writer;
                    let own = series(&format!("of {writer}"), &[(append, 1.0)]);
                    store
                        .append(&reading(vec![series("shared", &[(at, 2.0)]), own]))
                        .expect("appended");
                }
            });
        }
    });
    let all = read_all(&Store::open_read_only(&path).expect("there"));
    assert_eq!(all.series.len(), 5);
    for one in &all.series {
        let expected = if one.name == "shared" {
            WRITERS * APPENDS
        } else {
            APPENDS
        };
        assert_eq!(
            one.times_us,
            (0..expected).collect::<Vec<_>>(),
            "{}",
            one.name
        );
    }
}

const CHILD_PATH: &str = "STORE_TEST_PATH";
const CHILD_NAME: &str = "STORE_TEST_NAME";

/// Helper of the test below, run in a child process: writes until it is killed.
#[test]
#[ignore = "run by another test"]
fn writes_until_killed() {
    let path = std::env::var(CHILD_PATH).expect("a path");
    let name = std::env::var(CHILD_NAME).expect("a name");
    let mut store = Store::open(Path::new(&path)).expect("opened");
    for append in 0_i32.. {
        let from = i64::from(append) * 100;
        let samples: Vec<(i64, f64)> = (from..from + 100)
            .map(|at| (at, f64::from(append)))
            .collect();
        store
            .append(&reading(vec![series(&name, &samples)]))
            .expect("appended");
    }
}

#[test]
fn killed_concurrent_writers_leave_complete_appends() {
    let (_dir, path) = place();
    let program = std::env::current_exe().expect("this test");
    let mut children: Vec<std::process::Child> = ["one", "two"]
        .iter()
        .map(|name| {
            Command::new(&program)
                .args(["--ignored", "--exact", "store::tests::writes_until_killed"])
                .env(CHILD_PATH, &path)
                .env(CHILD_NAME, name)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .expect("started")
        })
        .collect();
    // Wait until both have written something, however slow the machine is.
    let has_both = || {
        Store::open_read_only(&path)
            .and_then(|store| store.list())
            .is_ok_and(|listed| listed.len() == 2 && listed.iter().all(|one| one.samples >= 300))
    };
    let mut tries = 0;
    while !has_both() && tries < 3_000 {
        tries += 1;
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for child in &mut children {
        child.kill().expect("killed");
        child.wait().expect("gone");
    }
    let mut store = Store::open(&path).expect("opened");
    let intact: String = store
        .connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("checked");
    assert_eq!(intact, "ok");
    let all = read_all(&store);
    assert_eq!(all.series.len(), 2);
    for (one, listed) in all.series.iter().zip(store.list().expect("a list")) {
        let count = i64::try_from(one.times_us.len()).expect("few");
        assert!(count >= 300 && count % 100 == 0, "{count}");
        assert_eq!(one.times_us, (0..count).collect::<Vec<_>>());
        assert_eq!(Ok(listed.samples), u64::try_from(count));
    }
    store
        .append(&reading(vec![series("three", &[(1, 1.0)])]))
        .expect("goes on");
}

#[test]
fn long_readings_are_written_completely_in_several_transactions() {
    let (_dir, path) = place();
    let count = i64::try_from(SAMPLES_PER_TRANSACTION).expect("few") + 7;
    let samples: Vec<(i64, f64)> = (0..count).map(|at| (at, 1.0)).collect();
    let written = reading(vec![series("a", &samples), series("b", &[(1, 1.0)])]);
    let mut store = Store::open(&path).expect("made");
    let done = store.append(&written).expect("appended");
    assert_eq!(Ok(done.samples_new), u64::try_from(count + 1));
    assert_eq!(read_all(&store), written);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Readings that overlap, in any order: the last value written at each time wins.
    #[test]
    fn the_last_value_of_each_time_wins(
        readings in prop::collection::vec(
            (0_u8..3, prop::collection::btree_map(-50_i64..50, -1e300..1e300_f64, 0..20)),
            1..8,
        ),
        label in "\\PC{0,8}",
        since in -60_i64..60,
        len in 0_i64..60,
    ) {
        let (_dir, path) = place();
        let mut store = Store::open(&path).expect("made");
        let mut expected: BTreeMap<String, BTreeMap<i64, f64>> = BTreeMap::new();
        for (number, samples) in &readings {
            let name = format!("{label}{number}");
            let pairs: Vec<(i64, f64)> = samples.iter().map(|(at, value)| (*at, *value)).collect();
            let mut one = series(&name, &pairs);
            one.labels.insert(label.clone(), label.clone());
            store.append(&reading(vec![one])).expect("appended");
            expected.entry(name).or_default().extend(samples);
        }
        let at = |us| Timestamp::from_microsecond(us).expect("a time");
        let got = store
            .read(
                &Selection::default(),
                Some(at(since)),
                Some(at(since + len)),
                &Limits::default(),
            )
            .expect("readable");
        prop_assert_eq!(got.series.len(), expected.len());
        for one in got.series {
            let (times_us, values): (Vec<i64>, Vec<f64>) =
                expected[&one.name].range(since..since + len).map(|(at, value)| (*at, *value)).unzip();
            prop_assert_eq!(one.times_us, times_us);
            prop_assert_eq!(one.values, values);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any damage to the file is either reported as an error or harmless.
    #[test]
    fn damaged_stores_never_panic(at in 0_usize..20_000, bytes in prop::collection::vec(any::<u8>(), 1..64)) {
        let (_dir, path) = place();
        let mut store = Store::open(&path).expect("made");
        let samples: Vec<(i64, f64)> = (0..300).map(|at| (at, 1.0)).collect();
        store.append(&reading(vec![series("throughput", &samples)])).expect("appended");
        drop(store);
        let mut file = std::fs::read(&path).expect("bytes");
        let at = at % file.len();
        for (place, byte) in file[at..].iter_mut().zip(bytes) {
            *place = byte;
        }
        std::fs::write(&path, file).expect("written");
        if let Ok(store) = Store::open_read_only(&path) {
            let _ = store.list();
            let _ = store.read(&Selection::default(), None, None, &Limits::default());
        }
    }
}
