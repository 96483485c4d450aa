//! Tests on files made by an independent encoder, written from the description of the format. The decoder
//! was also compared with another one on real files of MongoDB 7 and 8: see lab/servers/ftdc.py.

use super::bson::Metric;
use super::chunk::Chunk;
use super::*;
use crate::testing::series;
use facts::series::Series;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;
use std::io::Write;

/// A time in 2026, in milliseconds.
const START_MS: i64 = 1_767_225_600_000;

/// An element value for the encoder.
#[derive(Debug, Clone)]
enum Made {
    Double(f64),
    Int(i32),
    Long(i64),
    Bool(bool),
    Date(i64),
    Stamp(u32, u32),
    Text(String),
    Inner(Vec<(String, Made)>),
}

fn bson(elements: &[(String, Made)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in elements {
        let (kind, bytes) = match value {
            Made::Double(number) => (1, number.to_le_bytes().to_vec()),
            Made::Text(text) => {
                let length = u32::try_from(text.len() + 1).unwrap().to_le_bytes();
                (2, [&length[..], text.as_bytes(), &[0]].concat())
            }
            Made::Inner(inner) => (3, bson(inner)),
            Made::Bool(flag) => (8, vec![u8::from(*flag)]),
            Made::Date(time_ms) => (9, time_ms.to_le_bytes().to_vec()),
            Made::Int(number) => (0x10, number.to_le_bytes().to_vec()),
            Made::Stamp(seconds, increment) => {
                let halves = [increment.to_le_bytes(), seconds.to_le_bytes()];
                (0x11, halves.concat())
            }
            Made::Long(number) => (0x12, number.to_le_bytes().to_vec()),
        };
        body.push(kind);
        body.extend(name.as_bytes());
        body.push(0);
        body.extend(bytes);
    }
    let length = u32::try_from(body.len() + 5).unwrap().to_le_bytes();
    [&length[..], &body, &[0]].concat()
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap());
}

/// Encodes the data of a chunk: the reference document, and the values of each metric, the first being that
/// of the reference.
fn chunk_data(reference: &[u8], columns: &[Vec<i64>]) -> Vec<u8> {
    let mut differences = Vec::new();
    for column in columns {
        let pairs = column.windows(2);
        differences.extend(pairs.map(|pair| pair[1].wrapping_sub(pair[0]).cast_unsigned()));
    }
    let further = columns.first().map_or(0, |column| column.len() - 1);
    let mut unpacked = reference.to_vec();
    unpacked.extend(u32::try_from(columns.len()).unwrap().to_le_bytes());
    unpacked.extend(u32::try_from(further).unwrap().to_le_bytes());
    for run in differences.chunk_by(|one, other| *one == 0 && *other == 0) {
        varint(run[0], &mut unpacked);
        if run[0] == 0 {
            varint(run.len() as u64 - 1, &mut unpacked);
        }
    }
    packed(&unpacked)
}

fn packed(unpacked: &[u8]) -> Vec<u8> {
    let mut data = u32::try_from(unpacked.len())
        .unwrap()
        .to_le_bytes()
        .to_vec();
    let mut encoder = ZlibEncoder::new(&mut data, Compression::fast());
    encoder.write_all(unpacked).unwrap();
    encoder.finish().unwrap();
    data
}

/// Encodes a document of type 1 with the data of a chunk.
fn file_document(data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(b"\x09_id\0");
    body.extend(START_MS.to_le_bytes());
    body.extend(b"\x10type\0");
    body.extend(1_i32.to_le_bytes());
    body.extend(b"\x05data\0");
    body.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    body.push(0);
    body.extend(data);
    let length = u32::try_from(body.len() + 5).unwrap().to_le_bytes();
    [&length[..], &body, &[0]].concat()
}

fn named(name: &str, value: Made) -> (String, Made) {
    (name.to_owned(), value)
}

fn long(name: &str, value: i64) -> (String, Made) {
    named(name, Made::Long(value))
}

/// A chunk of a small server, one sample per row: time in seconds from the start, inserts, connections,
/// reads of disk sda, and the time they took.
fn server_chunk(rows: &[[i64; 5]]) -> Vec<u8> {
    let mut columns: Vec<Vec<i64>> = (0..5)
        .map(|at| rows.iter().map(|row| row[at]).collect())
        .collect();
    for time in &mut columns[0] {
        *time = START_MS + *time * 1000;
    }
    let first: Vec<i64> = columns.iter().map(|column| column[0]).collect();
    let disk = vec![long("reads", first[3]), long("read_time_ms", first[4])];
    let reference = bson(&[
        named("start", Made::Date(first[0])),
        named(
            "serverStatus",
            Made::Inner(vec![
                named("host", Made::Text("db1:27017".to_owned())),
                named("opcounters", Made::Inner(vec![long("insert", first[1])])),
                named("connections", Made::Inner(vec![long("current", first[2])])),
            ]),
        ),
        named(
            "systemMetrics",
            Made::Inner(vec![named(
                "disks",
                Made::Inner(vec![named("sda", Made::Inner(disk))]),
            )]),
        ),
    ]);
    file_document(&chunk_data(&reference, &columns))
}

fn each_second() -> Options {
    Options {
        step_s: 0,
        ..Options::default()
    }
}

fn read_all(bytes: &[u8], options: &Options) -> Result<Reading, SourceError> {
    read_bytes(
        bytes,
        "metrics.x",
        options,
        &Times::default(),
        &Limits::default(),
    )
}

/// Seconds from the start, and values.
fn points(series: &Series) -> Vec<(i64, f64)> {
    let seconds = series
        .times_us
        .iter()
        .map(|us| (us / 1000 - START_MS) / 1000);
    seconds.zip(series.values.iter().copied()).collect()
}

const INSERTS: &str = "serverStatus.opcounters.insert";
const CONNECTIONS: &str = "serverStatus.connections.current";

#[test]
fn counters_become_rates_and_gauges_stay() {
    let bytes = server_chunk(&[[0, 10, 3, 5, 50], [1, 30, 4, 5, 50], [3, 30, 4, 9, 90]]);
    assert!(looks_like(&bytes));
    let reading = read_all(&bytes, &each_second()).unwrap();
    let inserts = series(&reading, INSERTS);
    // 20 in one second, none in the next two.
    assert_eq!(points(inserts), [(1, 20.0), (3, 0.0)]);
    assert_eq!(inserts.unit.as_deref(), Some("1/s"));
    let connections = series(&reading, CONNECTIONS);
    assert_eq!(points(connections), [(0, 3.0), (1, 4.0), (3, 4.0)]);
    assert_eq!(connections.unit, None);
    // 4 reads in 40 ms; there was none in the first second, so there is no mean.
    let mean = series(&reading, "systemMetrics.disks.sda.mean read time");
    assert_eq!(points(mean), [(3, 10.0)]);
    assert_eq!(mean.better, Some(Better::Lower));
    assert_eq!(mean.labels["device"], "sda");
    let time = series(&reading, "systemMetrics.disks.sda.read_time_ms");
    assert_eq!(points(time), [(1, 0.0), (3, 20.0)]);
    assert_eq!(time.unit.as_deref(), Some("ms/s"));
}

/// The counters of a disk, a sample a second; reads take no time on `sdb`, whose series of them is zero throughout.
fn disk_chunk(role: Option<&str>) -> Vec<u8> {
    let names = [
        "reads",
        "read_time_ms",
        "writes",
        "write_time_ms",
        "io_queued_ms",
    ];
    // Each second 20 ms of writes, and in the third one 700 ms of discards.
    let row = |s: i64| [0, 0, s * 10, s * 20, s * 20 + if s >= 3 { 700 } else { 0 }];
    let mut columns = vec![(0..6).map(|s| START_MS + s * 1000).collect::<Vec<i64>>()];
    columns.extend((0..5).map(|at| (0..6).map(|s| row(s)[at]).collect::<Vec<i64>>()));
    let disk: Vec<_> = names
        .iter()
        .zip(row(0))
        .map(|(name, value)| long(name, value))
        .collect();
    let disks = vec![named(
        "disks",
        Made::Inner(vec![named("sdb", Made::Inner(disk))]),
    )];
    let metrics = named("systemMetrics", Made::Inner(disks));
    let metrics = match role {
        Some(role) => named(role, Made::Inner(vec![metrics])),
        None => metrics,
    };
    let reference = bson(&[named("start", Made::Date(START_MS)), metrics]);
    file_document(&chunk_data(&reference, &columns))
}

#[test]
fn discards_of_a_disk_are_computed_from_its_counters() {
    const NAME: &str = "discard or flush time of sdb";
    for role in [None, Some("common")] {
        let bytes = disk_chunk(role);
        let reading = read_all(&bytes, &each_second()).unwrap();
        let wanted = [(1, 0.0), (2, 0.0), (3, 700.0), (4, 0.0), (5, 0.0)];
        assert_eq!(points(series(&reading, NAME)), wanted);
        // Selected, they need counters that are not.
        let select = |pattern: &str| Options {
            select: vec![pattern.to_owned()],
            ..each_second()
        };
        let only = read_all(&bytes, &select("discard*")).unwrap();
        assert_eq!(only.series.len(), 1);
        assert_eq!(points(&only.series[0]), wanted);
        let others = read_all(&bytes, &select("*.writes")).unwrap();
        assert!(
            others
                .series
                .iter()
                .all(|series| series.name.ends_with("sdb.writes"))
        );
    }
}

#[test]
fn rates_span_chunks_but_not_resets_or_gaps() {
    let mut bytes = server_chunk(&[[0, 10, 3, 0, 0], [1, 20, 3, 0, 0]]);
    bytes.extend(server_chunk(&[[2, 50, 3, 0, 0], [3, 7, 3, 0, 0]]));
    bytes.extend(server_chunk(&[[4, 8, 3, 0, 0], [5000, 9, 3, 0, 0]]));
    bytes.extend(server_chunk(&[[5001, 12, 3, 0, 0]]));
    let reading = read_all(&bytes, &each_second()).unwrap();
    let inserts = series(&reading, INSERTS);
    assert_eq!(
        points(inserts),
        [(1, 10.0), (2, 30.0), (4, 1.0), (5001, 3.0)]
    );
    assert_eq!(inserts.notes.len(), 2, "{:?}", inserts.notes);
    assert!(inserts.notes[0].contains("began anew 1 time:"));
    assert!(inserts.notes[1].contains("10 minutes: 1"));
    // The disk was idle: reported as skipped.
    assert!(
        reading
            .series
            .iter()
            .all(|series| !series.name.contains("sda"))
    );
    assert!(
        reading.skipped[0].what.starts_with("3 series"),
        "{:?}",
        reading.skipped
    );
}

#[test]
fn steps_hold_means_over_their_samples() {
    let rows: Vec<[i64; 5]> = (0..25)
        .map(|at| [at, at * at, at, 2 * at, at * 6])
        .collect();
    let bytes: Vec<u8> = rows.chunks(7).flat_map(server_chunk).collect();
    let reading = read_all(&bytes, &Options::default()).unwrap();
    // The start is a multiple of 10 s. Gauges: the means of 0..=9, 10..=19, 20..=24.
    let connections = series(&reading, CONNECTIONS);
    assert_eq!(connections.values, [4.5, 14.5, 22.0]);
    let times: Vec<i64> = connections
        .times_us
        .iter()
        .map(|us| us - START_MS * 1000)
        .collect();
    assert_eq!(times, [4_500_000, 14_500_000, 22_000_000]);
    // The counter's increase over the time of the step: 9²/9, (19²-9²)/10, (24²-19²)/5.
    let inserts = series(&reading, INSERTS);
    assert_eq!(inserts.values, [9.0, 28.0, 43.0]);
    let mean = series(&reading, "systemMetrics.disks.sda.mean read time");
    assert_eq!(mean.values, [3.0, 3.0, 3.0]);
}

#[test]
fn series_are_filtered_by_time_and_pattern() {
    let rows: Vec<[i64; 5]> = (0..20).map(|at| [at, 2 * at, 1, at, at]).collect();
    let bytes = server_chunk(&rows);
    let options = Options {
        select: vec!["*.insert".to_owned()],
        step_s: 0,
    };
    let moment = |s: i64| jiff::Timestamp::from_millisecond(START_MS + s * 1000).unwrap();
    let times = Times {
        since: Some(moment(5)),
        until: Some(moment(8)),
        ..Times::default()
    };
    let limits = Limits::default();
    let reading = read_bytes(&bytes, "x", &options, &times, &limits).unwrap();
    assert_eq!(reading.series.len(), 1);
    // The rate at 5 s would need the sample before it.
    assert_eq!(points(&reading.series[0]), [(6, 2.0), (7, 2.0)]);
    let few = Limits {
        samples_max: 10,
        series_max: 2,
    };
    let error = read_bytes(&bytes, "x", &each_second(), &Times::default(), &few).unwrap_err();
    assert!(matches!(error, SourceError::TooMuch { .. }), "{error}");
    let few = Limits {
        samples_max: 100,
        ..few
    };
    let reading = read_bytes(&bytes, "x", &each_second(), &Times::default(), &few).unwrap();
    assert_eq!(reading.series.len(), 2);
    assert!(
        reading
            .skipped
            .iter()
            .any(|skipped| skipped.why.contains("more than 2"))
    );
    let nothing = Options {
        select: vec!["no.such*".to_owned()],
        step_s: 0,
    };
    let error = read_all(&bytes, &nothing).unwrap_err().to_string();
    assert!(error.contains("none of the selected metrics"), "{error}");
}

#[test]
fn role_prefixes_of_sharded_clusters_are_ignored() {
    assert!(metric::is_counter("shard.serverStatus.opcounters.insert"));
    assert!(metric::is_selected(
        metric::SELECTED,
        "common.systemMetrics.disks.sda.reads"
    ));
    assert!(metric::is_selected(
        &["router.serverStatus.*"],
        "router.serverStatus.uptime"
    ));
    assert!(!metric::is_counter(
        "systemMetrics.disks.sda.io_in_progress"
    ));
    assert!(!metric::is_counter("serverStatus.connections.current"));
    assert!(metric::is_counter(
        "serverStatus.wiredTiger.cache.bytes read into cache"
    ));
    assert!(!metric::is_counter(
        "serverStatus.wiredTiger.cache.bytes currently in the cache"
    ));
    assert!(!metric::is_counter(
        "serverStatus.wiredTiger.transaction.transaction checkpoint most recent time (msecs)"
    ));
}

#[test]
fn truncation_is_a_warning_and_damage_an_error() {
    let first = server_chunk(&[[0, 10, 3, 0, 0], [1, 20, 3, 0, 0]]);
    let second = server_chunk(&[[2, 50, 3, 0, 0], [3, 70, 3, 0, 0]]);
    let whole = [first.clone(), second.clone()].concat();
    for cut in 1..second.len() {
        let reading = read_all(&whole[..first.len() + cut], &each_second()).unwrap();
        assert_eq!(points(series(&reading, INSERTS)), [(1, 10.0)]);
        assert!(
            reading.warnings[0].contains("cut off"),
            "{:?}",
            reading.warnings
        );
        assert!(reading.warnings[0].contains(&format!("at byte {}", first.len())));
    }
    let mut damaged = whole.clone();
    // Inside the compressed data.
    damaged[first.len() + second.len() - 12] ^= 0xff;
    let error = read_all(&damaged, &each_second()).unwrap_err();
    let SourceError::Input(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.byte, Some(first.len() as u64));
    assert_eq!(error.source_name, "metrics.x");
    let mut zeros = whole;
    zeros.extend([0; 4096]);
    let error = read_all(&zeros, &each_second()).unwrap_err().to_string();
    assert!(error.contains("a length of 0 bytes"), "{error}");
}

#[test]
fn directories_are_read_in_order_and_interim_damage_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let put =
        |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
    let at = directory.path();
    let ask = || read(at, &each_second(), &Times::default(), &Limits::default());
    assert!(matches!(ask().unwrap_err(), SourceError::Empty { .. }));
    put(
        "metrics.2026-01-01T00-00-02Z-00000",
        &server_chunk(&[[2, 50, 3, 0, 0]]),
    );
    put(
        "metrics.2026-01-01T00-00-00Z-00000",
        &server_chunk(&[[0, 10, 3, 0, 0], [1, 20, 3, 0, 0]]),
    );
    // Its last second is in the other file too.
    put(
        INTERIM,
        &server_chunk(&[[2, 50, 3, 0, 0], [3, 51, 3, 0, 0]]),
    );
    put("WiredTiger.wt", b"something else");
    let reading = ask().unwrap();
    assert_eq!(
        points(series(&reading, INSERTS)),
        [(1, 10.0), (2, 30.0), (3, 1.0)]
    );
    assert!(
        reading.warnings[0].contains("1 samples"),
        "{:?}",
        reading.warnings
    );
    put(INTERIM, &file_document(b"\x08\0\0\0damage"));
    let reading = ask().unwrap();
    assert_eq!(points(series(&reading, INSERTS)), [(1, 10.0), (2, 30.0)]);
    assert!(
        reading.warnings[0].contains("not read"),
        "{:?}",
        reading.warnings
    );
    let missing = at.join("nowhere");
    let error = read(
        &missing,
        &each_second(),
        &Times::default(),
        &Limits::default(),
    );
    assert!(matches!(error.unwrap_err(), SourceError::File { .. }));
}

/// Hostile sizes are neither trusted nor allocated.
#[test]
fn declared_sizes_beyond_the_limits_are_rejected() {
    let reference = bson(&[named("start", Made::Date(START_MS)), long("x", 1)]);
    let claim = |declared: u32, further: u32, behind: &[u8]| {
        let counts = [declared.to_le_bytes(), further.to_le_bytes()].concat();
        Chunk::read(&packed(&[&reference, &counts[..], behind].concat()))
    };
    assert!(claim(3, 1, &[]).is_err());
    assert!(claim(2, u32::MAX, &[]).is_err());
    let chunk = claim(2, 1000, &[]).unwrap();
    assert!(chunk.columns(|_| true).is_err());
    // More zeros than values.
    let chunk = claim(2, 2, &[0, 4]).unwrap();
    assert!(chunk.columns(|_| true).is_err());
    let chunk = claim(2, 2, &[0, 3]).unwrap();
    assert_eq!(chunk.columns(|at| at == 1).unwrap(), [[1, 1, 1]]);
    // A varint of eleven bytes.
    let chunk = claim(2, 2, &[0x80; 11]).unwrap();
    assert!(chunk.columns(|_| true).is_err());
    let long = [&(11_u32 << 20).to_le_bytes()[..], &packed(&reference)[4..]].concat();
    assert_eq!(Chunk::read(&long).unwrap_err().0, 0);
    // Longer than declared.
    let liar = [&7_u32.to_le_bytes()[..], &packed(&reference)[4..]].concat();
    assert_eq!(Chunk::read(&liar).unwrap_err().0, 4);
    let mut deep = vec![long_named()];
    for _ in 0..40 {
        deep = vec![named("d", Made::Inner(deep))];
    }
    assert!(bson::metrics(&super::tests::bson(&deep)).is_err());
    let wide = vec![named(&"n".repeat(2000), Made::Int(1))];
    assert!(bson::metrics(&super::tests::bson(&wide)).is_err());
}

fn long_named() -> (String, Made) {
    long("x", 1)
}

/// Values of all types.
fn any_value() -> impl Strategy<Value = Made> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Made::Long),
        any::<i32>().prop_map(Made::Int),
        any::<bool>().prop_map(Made::Bool),
        any::<f64>().prop_map(Made::Double),
        any::<i64>().prop_map(Made::Date),
        (any::<u32>(), any::<u32>()).prop_map(|(s, i)| Made::Stamp(s, i)),
        "[a-z]{0,9}".prop_map(Made::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop::collection::vec(("[a-z ]{1,6}", inner), 0..6).prop_map(Made::Inner)
    })
}

/// The numbers of a document, by an independent definition.
fn expected(elements: &[(String, Made)], above: &str) -> Vec<Metric> {
    let mut found = Vec::new();
    for (name, value) in elements {
        let path = if above.is_empty() {
            name.clone()
        } else {
            format!("{above}.{name}")
        };
        let mut add = |path: String, value: i64| found.push(Metric { path, value });
        match value {
            Made::Long(number) | Made::Date(number) => add(path, *number),
            Made::Int(number) => add(path, i64::from(*number)),
            Made::Bool(flag) => add(path, i64::from(*flag)),
            Made::Double(number) => {
                #[allow(clippy::cast_possible_truncation)]
                let whole = if number.is_nan() {
                    0
                } else {
                    number.trunc() as i64
                };
                add(path, whole);
            }
            Made::Stamp(seconds, increment) => {
                add(format!("{path}.t"), i64::from(*seconds));
                add(format!("{path}.i"), i64::from(*increment));
            }
            Made::Text(_) => {}
            Made::Inner(inner) => found.extend(expected(inner, &path)),
        }
    }
    found
}

proptest! {
    #[test]
    fn metrics_keep_their_order(elements in prop::collection::vec(("[a-z ]{1,6}", any_value()), 0..8)) {
        let document = bson(&elements);
        prop_assert_eq!(bson::metrics(&document).unwrap(), expected(&elements, ""));
    }

    #[test]
    fn chunks_round_trip(
        columns in (1_usize..6, 1_usize..40).prop_flat_map(|(metrics, samples)| {
            let value = prop_oneof![3 => Just(7_i64), 1 => any::<i64>(), 1 => 0_i64..20];
            prop::collection::vec(prop::collection::vec(value, samples), metrics)
        }),
        wanted in any::<u8>(),
    ) {
        let elements: Vec<_> = columns.iter().map(|column| long("m", column[0])).collect();
        let chunk = Chunk::read(&chunk_data(&bson(&elements), &columns)).unwrap();
        // A chunk with one sample looks the same as one that consists of its reference only.
        prop_assert_eq!(chunk.samples, columns[0].len());
        let found = chunk.columns(|at| wanted & (1 << at) != 0).unwrap();
        let kept: Vec<_> = columns.iter().enumerate()
            .filter(|(at, _)| wanted & (1 << at) != 0).map(|(_, column)| column.clone()).collect();
        prop_assert_eq!(found, kept);
    }

    #[test]
    fn any_bytes_parse_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_all(&bytes, &each_second());
        let _ = read_all(&file_document(&bytes), &each_second());
        let _ = read_all(&file_document(&packed(&bytes)), &each_second());
    }
}
