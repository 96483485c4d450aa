//! History files.

use jiff::Timestamp;
use sources::times::TimeReader;
use sources::{FileOptions, Format, Limits, Reading, SourceError, Times, read_bytes};

pub const CSV_SEEDS: &[&str] = &[
    "time,host,latency (ms)\n2016-09-26 01:30:00,a,1.5\n2016-09-26 01:30:00,b,2\n2016-09-27 01:30:00,a,\n",
    "2016-09-26T01:30:00Z;1,5;2\n2016-09-27T01:30:00+02:00;1,6;NaN\n",
    "# remark\nDate\tTime\tv\n26.09.2016\t01:30\t\"1\"\n26.09.2016\t01:31\t2\n",
    "1474853400|1|\"a\n\"\"b\"\n1474853460|2|c\n",
];

pub const JSON_LINES_SEEDS: &[&str] = &[
    "{\"@timestamp\":\"2016-09-26T01:30:00Z\",\"host\":{\"name\":\"a\"},\"disk\":{\"await\":5.5}}\n{\"@timestamp\":\"2016-09-27T01:30:00Z\",\"host\":{\"name\":\"a\"},\"disk\":{\"await\":6}}\n",
    "[{\"ts\":1474853400000,\"v\":1},\n{\"ts\":1474853460000,\"v\":2,\"w\":[1]}]",
];

pub const RALLY_SEEDS: &[&str] = &[
    "{\"race-timestamp\":\"20161003T013000Z\",\"track\":\"t\",\"car\":[\"c\"],\"results\":{\"op_metrics\":[{\"task\":\"a\",\"throughput\":{\"mean\":7,\"median\":null,\"unit\":\"docs/s\"},\"latency\":{\"99_9\":1.5,\"mean\":2,\"unit\":\"ms\"},\"error_rate\":0.0,\"duration\":1}]}}",
];

pub const IOSTAT_SEEDS: &[&str] = &[
    "Linux 4.4.0 (h) \t04/13/2020 \t_x86_64_\t(64 CPU)\n\navg-cpu:  %user   %idle\n           3.27   95.97\n\nDevice:  tps    kB_wrtn/s    kB_wrtn\nmd0     19.33      560.00       1680\n\n# x\navg-cpu:  %user   %idle\n           3.39   95.98\n\nDevice:  tps    kB_wrtn/s    kB_wrtn\nmd0     20.00      544.00       1632\n",
    "$ iostat -tx 5\nLinux 6.1 (h) 2026-11-22 _x86_64_ (2 CPU)\n\n11/22/2026 11:59:58 PM\nDevice r/s w/s r_await\nvda 1.00 2.00 0.10\n\n11/23/2026 12:00:03 AM\nDevice r/s w/s r_await\nvda 1.00 2,00 0.10\n",
    "Linux 6.1 (h) 2026-11-22 _x86_64_ (2 CPU)\nTime: 23:59:59\n  tps  kB_read/s kB_read Device\n 1.00  1.5M 3.0M vda\n\nTime: 00:00:01\n  tps  kB_read/s kB_read Device\n 1.00  1.5M 3.0M vda\n",
    "Linux 6.1 (h) 2026年11月22日 _x86_64_ (2 CPU)\n\n2026年11月22日 22时20分40秒\nDevice d/s dkB/s %util\nvda 1.00 2.00 0.10\n\n22時20分45秒\nDevice d/s dkB/s %util\nvda 1.00 2.00 0.10\n",
    "Linux 6.1 (h) 11/22/2026 _x86_64_ (2 CPU)\n\n11:59:58 PM UTC DEV tps dkB/s\n11:59:59 PM UTC vda 1.00 2.00\n\n11:59:59 PM CPU %user %iowait\n12:00:00 AM all 1.00 2.00\nAverage: all 1.00 2.00\n12:00:01 AM LINUX RESTART (2 CPU)\n",
    "procs ---memory--- ---io--- --cpu-- --timestamp--\n r  b   free bi bo us wa st UTC\n 1  0   100 1 2 3 4 5 2026-11-22 22:20:40\n 1  0   100 1 2 3 4 5 2026-11-22 22:20:41\n",
];

pub const DISKSTATS_SEEDS: &[&str] = &[
    "TS 1795862638.5 2026-11-28 10:43:58\n 8 0 sda 1 0 8 1 1 0 8 1 0 2 3 1 0 8 1 1 1\n 8 1 sda1 1 0 8 1 1 0 8 1 0 2 3 1 0 8 1 1 1\nTS 1795862639.5 2026-11-28 10:43:59\n 8 0 sda 2 0 16 2 2 0 16 2 0 4 6 2 0 16 2 2 2\n",
    "2014-01-30 14:01:00\n 202 1 xvda1 1 0 8 4294967000 1 0 8 1 0 2 4294967295\n2014-01-30 14:01:01\n 202 1 xvda1 2 0 16 10 2 0 16 2 0 4 6\n 253 0 dm-0 1 0 8 1 1 0 8 1 0 2 3",
];

pub const SADF_SEEDS: &[&str] = &[
    "{\"sysstat\":{\"hosts\":[{\"nodename\":\"h\",\"timezone\":\"UTC\",\"statistics\":[{\"timestamp\":{\"date\":\"2026-11-22\",\"time\":\"01:18:05\",\"utc\":1},\"disk\":[{\"disk-device\":\"vda\",\"await\":1.5}]}],\"restarts\":[{\"boot\":{\"date\":\"2026-11-22\",\"time\":\"01:00:00\",\"utc\":0}}]}]}}",
];

pub const PROMETHEUS_SEEDS: &[&str] = &[
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{\"__name__\":\"up\",\"instance\":\"a:9100\"},\"values\":[[1474853400,\"1\"],[1474853460.5,\"NaN\"],[1474853520,\"2e3\"]]}]}}",
];

pub const SEARCH_SEEDS: &[&str] = &[
    "{\"took\":3,\"timed_out\":false,\"hits\":{\"total\":9},\"aggregations\":{\"hosts\":{\"buckets\":[{\"key\":\"es1\",\"t\":{\"buckets\":[{\"key_as_string\":\"2016-09-26T01:30:00.000Z\",\"key\":1474853400000,\"doc_count\":4,\"w\":{\"value\":1.5}},{\"key_as_string\":\"2016-09-26T01:31:00.000Z\",\"key\":1474853460000,\"doc_count\":0,\"w\":{\"value\":null}}]}}]}}}",
];

pub const TIME_SEEDS: &[&str] = &[
    "2016-09-26 01:30:00",
    "20161003T013000Z",
    "2016-09-06T01:30:00.5+02:00[Europe/Berlin]",
    "1474853400123",
    "26/Sep/2016:01:30:00 +0200",
    "04/13/2020 06:47:01 AM",
    "%d/%m/%Y %H:%M\n13/04/2020 06:47",
];

/// Small limits for some inputs, so that they are reached.
fn options(bytes: &[u8], format: Format) -> FileOptions {
    let few = bytes.len().is_multiple_of(3);
    FileOptions {
        format: (!bytes.len().is_multiple_of(4)).then_some(format),
        limits: Limits {
            samples_max: if few { 3 } else { 1_000 },
            series_max: if few { 2 } else { 100 },
        },
        step_s: bytes.len().is_multiple_of(2).then_some(3.0),
        ..FileOptions::default()
    }
}

fn read(bytes: &[u8], format: Format) -> Result<Reading, SourceError> {
    read_bytes("f", bytes, &options(bytes, format))
}

/// Times ascend and are valid timestamps, values are finite, names are unique, and limits are
/// observed. The length of an error does not depend on that of the file.
fn check(bytes: &[u8], format: Format) {
    let limits = options(bytes, format).limits;
    let reading = match read(bytes, format) {
        Ok(reading) => reading,
        Err(error) => {
            assert!(error.to_string().len() < 1_000, "{error}");
            return;
        }
    };
    assert!(!reading.series.is_empty() && reading.series.len() <= limits.series_max);
    let mut names: Vec<&str> = reading.series.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    let samples: usize = reading.series.iter().map(|one| one.values.len()).sum();
    assert!(samples <= limits.samples_max);
    for series in &reading.series {
        assert!(!series.values.is_empty() && series.values.len() == series.times_us.len());
        assert!(series.values.iter().all(|value| value.is_finite()));
        assert!(series.times_us.windows(2).all(|pair| pair[0] < pair[1]));
        for &at in [series.times_us.first(), series.times_us.last()]
            .into_iter()
            .flatten()
        {
            assert!(Timestamp::from_microsecond(at).is_ok());
        }
    }
}

pub fn csv(bytes: &[u8]) {
    check(bytes, Format::Csv);
}

pub fn json_lines(bytes: &[u8]) {
    check(bytes, Format::JsonLines);
}

pub fn rally(bytes: &[u8]) {
    check(bytes, Format::RallyRace);
}

pub fn iostat(bytes: &[u8]) {
    check(bytes, Format::Iostat);
}

pub fn diskstats(bytes: &[u8]) {
    check(bytes, Format::Diskstats);
}

pub fn sadf(bytes: &[u8]) {
    check(bytes, Format::Sadf);
}

pub fn prometheus(bytes: &[u8]) {
    check(bytes, Format::PrometheusAnswer);
}

pub fn search(bytes: &[u8]) {
    check(bytes, Format::SearchAnswer);
}

/// Whatever is read is a timestamp, and its RFC 3339 form reads back the same. A first line may
/// contain the format.
pub fn time(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let zone = jiff::tz::TimeZone::get("America/New_York").expect("a zone");
    let times = Times {
        zone,
        ..Times::default()
    };
    let (format, text) = match text.split_once('\n') {
        Some((format, text)) => (Some(format), text),
        None => (None, text.as_ref()),
    };
    if let Ok(at) = TimeReader::new(&times, format).read_us(text) {
        let written = Timestamp::from_microsecond(at)
            .expect("a timestamp")
            .to_string();
        // Years before 0 are written differently.
        if written.as_bytes()[0].is_ascii_digit() {
            assert_eq!(
                TimeReader::new(&times, None).read_us(&written),
                Ok(at),
                "{text}"
            );
        }
    }
}

/// Whether the seed is read to the end, with all its samples.
#[cfg(test)]
pub fn reaches(seed: &[u8]) -> bool {
    let options = FileOptions {
        step_s: Some(3.0),
        ..FileOptions::default()
    };
    read_bytes("f", seed, &options).is_ok_and(|reading| !reading.series.is_empty())
}

#[cfg(test)]
pub fn reaches_time(seed: &[u8]) -> bool {
    let text = std::str::from_utf8(seed).expect("text");
    let (format, text) = match text.split_once('\n') {
        Some((format, text)) => (Some(format), text),
        None => (None, text),
    };
    TimeReader::new(&Times::default(), format)
        .read_us(text)
        .is_ok()
}
