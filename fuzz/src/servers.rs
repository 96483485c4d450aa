//! Servers: histories they record or return, their addresses and credentials.

use crate::text;
use bounded_http::{Credentials, Endpoint};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sources::elastic::{self, Figure};
use sources::{Limits, Reading, SourceError, Times, ftdc, prometheus};
use std::io::Write;

/// Uncompressed FTDC chunks: a reference document (a date `start`, other numbers), the numbers of
/// metrics and of further samples, and the deltas.
pub const CHUNKS: &[&str] = &[
    "\x1f\0\0\0\x09start\0\0\0\0\0\x01\0\0\0\x12x\0\x05\0\0\0\0\0\0\0\0\x02\0\0\0\x03\0\0\0ddd\0\x02",
    "\x2e\0\0\0\x09start\0\0\0\0\0\x01\0\0\0\x03s\0\x17\0\0\0\x10a\0\x07\0\0\0\x11t\0\x01\0\0\0\x02\0\0\0\0\0\x04\0\0\0\x02\0\0\0dd\x01\x02\0\x03",
    "\x18\0\0\0\x09start\0\0\0\0\0\x01\0\0\0\x08b\0\x01\0\0\0\0\0\0\0\0\0",
];

/// Responses of Prometheus.
pub const RANGES: &[&str] = &[
    r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up","job":"a"},"values":[[1435781430.781,"1"],[1435781445.781,"NaN"]]},{"metric":{"job":"b"},"values":[[1435781430,"+Inf"],[1435781445,"2e3"]]}]},"warnings":["w"]}"#,
    r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#,
];

/// Responses of Elasticsearch: buckets and percentiles.
pub const SEARCHES: &[&str] = &[
    r#"{"_shards":{"total":1,"failed":0},"aggregations":{"groups":{"buckets":[{"over_time":{"buckets":[{"key":60000,"figure":{"value":7.5}},{"key":120000.0,"figure":{"value":null}},{"key":180000,"figure":{"value":3}}]}}]}}}"#,
    r#"{"aggregations":{"groups":{"buckets":[{"over_time":{"buckets":[{"key":0,"figure":{"values":[{"key":99.0,"value":2}]}}]}}]}}}"#,
];

/// Invariants of every series.
fn assert_series_valid(outcome: &Result<Reading, SourceError>) {
    match outcome {
        Ok(reading) => {
            assert!(!reading.series.is_empty());
            for series in &reading.series {
                assert!(series.times_us.is_sorted_by(|one, next| one < next));
                assert_eq!(series.times_us.len(), series.values.len());
                assert!(series.values.iter().all(|value| value.is_finite()));
            }
        }
        // The length of an error does not depend on that of the input.
        Err(error) => assert!(error.to_string().len() < 2000),
    }
}

/// Reads all metrics, downsampled to `step_s`.
fn read_ftdc(bytes: &[u8], step_s: u32) -> Result<Reading, SourceError> {
    let options = ftdc::Options {
        select: vec!["*".to_owned()],
        step_s,
    };
    ftdc::read_bytes(
        bytes,
        "metrics",
        &options,
        &Times::default(),
        &Limits::default(),
    )
}

/// Builds a file with a single compressed chunk.
fn file(chunk: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u32::try_from(bytes).expect("a short input").to_le_bytes();
    let mut data = length(chunk.len()).to_vec();
    let mut encoder = ZlibEncoder::new(&mut data, Compression::none());
    let packed = encoder.write_all(chunk).and_then(|()| encoder.finish());
    packed.expect("memory can be written to");
    let head = b"\x10type\0\x01\0\0\0\x05data\0";
    let whole = 4 + head.len() + 5 + data.len() + 1;
    [
        &length(whole)[..],
        head,
        &length(data.len()),
        &[0],
        &data,
        &[0],
    ]
    .concat()
}

/// Reads the input as a file and as a chunk within a file; truncated files are read in part or
/// rejected.
pub fn ftdc(bytes: &[u8]) {
    assert_series_valid(&read_ftdc(bytes, 0));
    let file = file(bytes);
    assert_series_valid(&read_ftdc(&file, 0));
    assert_series_valid(&read_ftdc(&file, 10));
    assert_series_valid(&read_ftdc(&file[..file.len() * (bytes.len() % 16) / 16], 0));
}

pub fn prometheus(bytes: &[u8]) {
    assert_series_valid(&prometheus::read_answer(
        bytes,
        "answer",
        &Limits::default(),
    ));
}

pub fn elastic(bytes: &[u8]) {
    for figure in [Figure::Mean, Figure::Rate] {
        let query = elastic::Query {
            figure,
            ..elastic::Query::new("m-*", "load", 60)
        };
        assert_series_valid(&elastic::read_answer(
            bytes,
            "answer",
            &query,
            &Limits::default(),
        ));
    }
}

/// Whatever parses is displayed so that it parses again, without a password. Errors do not quote
/// text that may contain a password.
pub fn endpoint(bytes: &[u8]) {
    let text = text(bytes);
    match Endpoint::parse(&text) {
        Ok(endpoint) => {
            let shown = endpoint.to_string();
            let plain = shown.strip_suffix("?...").unwrap_or(&shown);
            let again = Endpoint::parse(plain).expect("its own text parses");
            assert_eq!(again.to_string(), plain);
            assert_eq!(again.port(), endpoint.port());
        }
        Err(error) => assert!(!text.contains('@') || error.found.starts_with("text with an @")),
    }
}

/// The length of an error does not depend on that of the file.
pub fn credentials(bytes: &[u8]) {
    match Credentials::parse("credentials", &text(bytes)) {
        Ok(credentials) => assert!(!credentials.is_none()),
        Err(error) => assert!(error.to_string().len() < 200),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_reach_the_end_of_their_parsers() {
        // The third chunk has only its reference sample; "start" and "b" are series.
        for seed in CHUNKS {
            let reading = read_ftdc(&file(seed.as_bytes()), 0).expect("a sound chunk");
            assert!(reading.series.len() > 1, "{seed:?}");
        }
        let limits = Limits::default();
        prometheus::read_answer(RANGES[0].as_bytes(), "x", &limits).expect("two series");
        let query = elastic::Query::new("m-*", "load", 60);
        for seed in SEARCHES {
            elastic::read_answer(seed.as_bytes(), "x", &query, &limits).expect("a series");
        }
    }
}
