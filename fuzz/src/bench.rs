//! Results of benchmarks, tracks, and the files of trials.

use crate::text;
use ::bench::driver::{MAGIC, Reader, TrialSummary};
use ::bench::results::read_bytes;
use ::bench::track::Track;
use ::bench::trial::{Series, TrialDocument};

/// Rally, OpenSearch Benchmark, hyperfine and oha.
pub const RESULTS: &[&str] = &[
    include_str!("../../crates/bench/tests/data/rally-race.json"),
    include_str!("../../crates/bench/tests/data/osb-test-run.json"),
    include_str!("../../crates/bench/tests/data/hyperfine-two.json"),
    include_str!("../../crates/bench/tests/data/oha.json"),
];

/// The tracks that come with trimtab.
pub const TRACKS: &[&str] = &[
    include_str!("../../crates/bench/tracks/ingest.toml"),
    include_str!("../../crates/bench/tracks/logs.toml"),
    include_str!("../../crates/bench/tracks/updates.toml"),
];

/// Records of a trial's file without lengths and checksums: an interval, a phase's end, a trial's end.
pub const RECORDS: &[&str] = &[
    "\u{3}\0\0\0\u{1}\0\0\0\0\0",
    "\u{4}{\"phase\":0,\"len_ns\":5,\"unfinished\":[{\"sent\":1,\"not_sent\":2,\"oldest_ns\":3}]}",
    "\u{5}{\"ended\":\"complete\",\"teardown_failures\":[]}",
];

/// A trial that was killed as it began.
pub const DOCUMENTS: &[&str] = &[concat!(
    "{\"schema\":\"trimtab.trial/1\",\"tool_version\":\"0.1.0\",\"id\":\"20261123T020000Z\",\"track\":\"t\",",
    "\"track_crc32\":\"00000000\",\"target\":\"http://h:9200\",\"started_at\":\"2026-11-23T02:00:00Z\",",
    "\"ended_at\":null,\"time_zone\":\"Europe/Berlin\",\"state\":\"running\",\"state_detail\":null,",
    "\"environment\":{\"kernel\":\"6.1\"},\"operations\":[{\"phase\":\"p\",\"operation\":\"o\",\"open\":true,",
    "\"duration_s\":1.5,\"succeeded\":3,\"errors\":{\"closed\":1},\"unfinished\":0,\"requests_per_s\":2.0,",
    "\"documents_per_s\":null,\"latency\":{\"mean_ms\":1.0,\"p50_ms\":1.0,\"p90_ms\":1.0,\"p99_ms\":2.0,",
    "\"p99_9_ms\":null,\"max_ms\":2.0},\"service\":null,\"lateness\":null}],\"server\":{\"merge_time_s\":0.5},",
    "\"host\":{},\"jobs\":[{\"name\":\"fstrim\",\"started_at\":\"2026-11-23T02:00:01Z\",\"is_logged\":true,",
    "\"is_within\":true}],\"judgement\":{\"reasons\":[],\"unchecked\":[\"merges\"]},\"notes\":[]}"
)];

/// What the host did within a trial, second by second.
pub const SERIES: &[&str] = &[
    "time,cpu_user,loop0_read_bytes_per_s\n2026-11-24T11:16:55.228Z,0.02,4096\n2026-11-24T11:16:56.228Z,,0\n",
];

/// What is read has metrics, and an error does not repeat the file.
pub fn results(bytes: &[u8]) {
    match read_bytes("results.json", bytes) {
        Ok((_, trial)) => assert!(!trial.metrics.is_empty()),
        Err(error) => assert!(error.to_string().len() < 2_000, "{error}"),
    }
}

/// A valid track is still one after it was written and read again.
pub fn track(bytes: &[u8]) {
    match text(bytes).parse::<Track>() {
        Ok(track) => {
            let written = serde_json::to_value(&track).expect("a track is JSON");
            let again: Track = serde_json::from_value(written).expect("and can be read");
            assert_eq!(again, track);
            assert!(again.check().is_ok());
        }
        Err(error) => assert!(error.to_string().len() < 2_000, "{error}"),
    }
}

/// The records of a trial's file, with the lengths and checksums that lead to their contents.
pub fn records(bytes: &[u8]) {
    let mut file = MAGIC.to_vec();
    for content in bytes.split(|byte| *byte == b'\n') {
        let len = u32::try_from(content.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes();
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&len);
        checksum.update(content);
        file.extend(len);
        file.extend(checksum.finalize().to_le_bytes());
        file.extend(content);
    }
    for file in [&file[..], bytes] {
        if let Ok(mut reader) = Reader::new(file) {
            while let Ok(Some(_)) = reader.next_record() {}
            assert!(reader.ending().is_some());
        }
        if let Ok(mut reader) = Reader::new(file) {
            let _ = TrialSummary::of(&mut reader, |_| ());
        }
    }
}

pub fn document(bytes: &[u8]) {
    if let Ok(document) = serde_json::from_slice::<TrialDocument>(bytes) {
        let _ = (
            document.values(),
            document.measured_s(),
            document.is_valid(),
        );
    }
}

/// Every row has a value for each column, and every value can be drawn.
pub fn series(bytes: &[u8]) {
    if let Ok(series) = Series::parse(bytes) {
        assert_eq!(series.at_s.len(), series.rows.len());
        for name in &series.names {
            let column = series.column(name).expect("a column of its own");
            assert!(
                column
                    .iter()
                    .all(|(at_s, value)| at_s.is_finite() && value.is_finite())
            );
        }
    }
}

#[cfg(test)]
pub fn reaches_series(seed: &[u8]) -> bool {
    Series::parse(seed).is_ok_and(|series| series.rows.len() == 2)
}

#[cfg(test)]
pub fn reaches_results(seed: &[u8]) -> bool {
    read_bytes("results.json", seed).is_ok()
}

#[cfg(test)]
pub fn reaches_track(seed: &[u8]) -> bool {
    text(seed).parse::<Track>().is_ok()
}

#[cfg(test)]
pub fn reaches_document(seed: &[u8]) -> bool {
    serde_json::from_slice::<TrialDocument>(seed).is_ok()
}

/// CPU times of the kernel.
pub fn cpu(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(ticks) = linux::cpu::parse_stat(&text) {
        assert!(ticks.busy() <= ticks.total());
    }
    let _ = linux::cpu::parse_process_stat(&text);
    let _ = linux::cpu::parse_throttled_us(&text);
}
