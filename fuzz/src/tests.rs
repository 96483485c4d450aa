//! Seeds are read to the end, not rejected at once.

use super::*;
use ::host::{DriveTool, parse};
use bounded_http::{Credentials, Endpoint};
use trim::geometry::{KernelRelease, btrfs, ext4, xfs};

/// A seed that is rejected immediately would leave everything after the first check untested.
#[test]
fn seeds_reach_the_end_of_their_parsers() {
    for (name, reaches) in [
        (
            "checkpoint",
            (|seed| trim::state::Checkpoint::parse(seed).is_ok()) as fn(&[u8]) -> bool,
        ),
        ("endpoint", |seed| {
            // One seed is meant to be rejected.
            Endpoint::parse(&text(seed)).is_ok() != seed.contains(&b'@')
        }),
        ("credentials", |seed| {
            Credentials::parse("f", &text(seed)).is_ok()
        }),
        ("diskstats", |seed| {
            let devices = ["nvme2n1", "sda1", "cciss!c0d0"].map(str::to_owned);
            let found = linux::counters::parse_diskstats(&text(seed), &devices);
            found.is_ok_and(|found| !found.is_empty())
                || linux::counters::parse_pressure(&text(seed)).is_ok()
        }),
        ("ext4-superblock", |seed| {
            let mut whole = vec![0; ext4::format::SUPERBLOCK_BYTES];
            whole[..seed.len()].copy_from_slice(seed);
            whole[56..58].copy_from_slice(&[0x53, 0xef]);
            ext4::format::Superblock::parse(&whole).is_ok()
        }),
        ("xfs-agf", |seed| xfs::agf::Agf::parse(seed).is_some()),
        ("btrfs-items", |seed| {
            btrfs::items::split(seed[0].into(), &seed[1..]).is_some_and(|items| {
                let chunk = items.first().and_then(btrfs::items::Chunk::parse);
                chunk.is_some()
            })
        }),
        ("kernel-release", |seed| {
            KernelRelease::parse(&text(seed)).is_some()
        }),
        ("drive-log", |seed| {
            DriveTool::ALL.iter().any(|&tool| {
                let counts = parse::drive_log::parse(tool, seed);
                counts.is_ok_and(|counts| counts.host_bytes.is_ok() || counts.media.is_ok())
            })
        }),
        ("events", runs::reaches_events),
        ("bench-results", bench::reaches_results),
        ("bench-track", bench::reaches_track),
        ("trial-document", bench::reaches_document),
        ("trial-series", bench::reaches_series),
        ("syslog", runs::reaches_log),
        ("journal", runs::reaches_log),
        ("host-logs", host_logs::reaches),
        ("csv", history::reaches),
        ("json-lines", history::reaches),
        ("rally", history::reaches),
        ("iostat", history::reaches),
        ("diskstats-log", history::reaches),
        ("sadf", history::reaches),
        ("saved-prometheus", history::reaches),
        ("saved-search", history::reaches),
        ("time", history::reaches_time),
        ("cluster-state", cluster::reaches),
        ("cluster-answers", cluster::reaches),
        ("hot-threads", cluster::reaches_threads),
    ] {
        let target = TARGETS.iter().find(|target| target.name == name);
        let seeds = target.expect(name).seeds;
        assert!(!seeds.is_empty());
        for seed in seeds {
            assert!(reaches(seed.as_bytes()), "{name}: {seed:?}");
        }
    }
}
