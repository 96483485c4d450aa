//! Cases worked out by hand, and properties under random load.

use proptest::prelude::*;

use super::*;
use crate::ftl::Medium as _;

pub(crate) const PAGE_BYTES: u32 = 4000;
/// Transfer time of a page at 400 MB/s.
pub(crate) const BUS_NS: u64 = 10_000;
pub(crate) const READ_NS: u64 = 25_000;
pub(crate) const PROGRAM_NS: u64 = 250_000;
pub(crate) const ERASE_NS: u64 = 1_500_000;

/// One page per program, no overhead, no link limit.
pub(crate) const BARE: Timing = Timing {
    channels: 1,
    dies: 1,
    read_us: 25.0,
    program_us: 250.0,
    erase_us: 1500.0,
    program_bytes: 0,
    erase_bytes: 0,
    bus_mb_s: 400.0,
    command_us: 0.0,
    link_mb_s: None,
    suspend_us: None,
    write_cache_bytes: 0,
    slc: None,
    collection: CollectionPace::AtOnce,
    discard: DiscardTiming {
        fixed_us: 100.0,
        range_us: 10.0,
        byte_ns: 0.5,
        handling: DiscardHandling::Queued,
    },
};

impl Timing {
    /// Replaces the size of the write cache.
    pub(crate) const fn with_write_cache(self, bytes: u64) -> Self {
        Self {
            write_cache_bytes: bytes,
            ..self
        }
    }

    /// Replaces the handling of discards.
    pub(crate) const fn with_discards(self, handling: DiscardHandling) -> Self {
        Self {
            discard: DiscardTiming {
                handling,
                ..self.discard
            },
            ..self
        }
    }
}

fn clock(timing: Timing) -> Clock {
    Clock::new(&timing, PAGE_BYTES, 8).unwrap()
}

fn write(clock: &mut Clock, at_ns: u64, places: impl IntoIterator<Item = u32>) -> u64 {
    clock.begin(at_ns);
    for place in places {
        clock.program(place, 1);
    }
    clock.end()
}

fn read(clock: &mut Clock, at_ns: u64, place: u32) -> u64 {
    clock.begin(at_ns);
    clock.read(place);
    clock.end()
}

#[test]
fn one_die_one_request() {
    let mut clock = clock(BARE);
    assert_eq!(write(&mut clock, 7, [0]), 7 + BUS_NS + PROGRAM_NS);
    let later = 1_000_000;
    assert_eq!(read(&mut clock, later, 0), later + READ_NS + BUS_NS);
}

#[test]
fn overhead_and_link_add_up() {
    let timing = Timing {
        command_us: 5.0,
        link_mb_s: Some(2000.0), // 2 us per page
        ..BARE
    };
    let mut clock = clock(timing);
    let done = write(&mut clock, 0, [0]);
    assert_eq!(done, 5_000 + 2_000 + BUS_NS + PROGRAM_NS);
    assert_eq!(
        read(&mut clock, done, 0) - done,
        5_000 + READ_NS + BUS_NS + 2_000
    );
    clock.begin(done);
    clock.read_unmapped();
    // the link serves the earlier request first
    assert_eq!(clock.end() - done, 5_000 + 2_000 + 2_000);
}

/// Two pages at once: on one die they are programmed one after the other; on two dies of a channel
/// in parallel except for the bus; on two channels fully in parallel.
#[test]
fn dies_and_channels_work_in_parallel() {
    let one_die = write(&mut clock(BARE), 0, [0, 1]);
    assert_eq!(one_die, BUS_NS + 2 * PROGRAM_NS);
    let two_dies = Timing { dies: 2, ..BARE };
    assert_eq!(
        write(&mut clock(two_dies), 0, [0, 1]),
        2 * BUS_NS + PROGRAM_NS
    );
    let two_channels = Timing {
        channels: 2,
        ..two_dies
    };
    assert_eq!(
        write(&mut clock(two_channels), 0, [0, 1]),
        BUS_NS + PROGRAM_NS
    );
    // page 2 is on die 0 again
    assert_eq!(
        write(&mut clock(two_channels), 0, [0, 1, 2]),
        BUS_NS + 2 * PROGRAM_NS
    );
}

#[test]
fn reads_sense_in_parallel_and_share_the_bus() {
    let mut clock = clock(Timing { dies: 2, ..BARE });
    assert_eq!(read(&mut clock, 0, 0), READ_NS + BUS_NS);
    // the channel was reserved for the first from 0 on; the second transfer overlaps its own
    // sensing
    assert_eq!(read(&mut clock, 0, 1), READ_NS + BUS_NS);
    // same die again: sensed after the first
    assert_eq!(read(&mut clock, 0, 2), 2 * READ_NS + BUS_NS);
}

/// A read waiting for its die does not block the channel.
#[test]
fn a_waiting_read_does_not_block_the_channel() {
    let mut clock = clock(Timing { dies: 2, ..BARE });
    clock.begin(0);
    clock.program(0, 1);
    let waiting = read(&mut clock, 0, 0);
    assert_eq!(waiting, BUS_NS + PROGRAM_NS + READ_NS + BUS_NS);
    assert_eq!(read(&mut clock, 0, 1), READ_NS + BUS_NS);
}

/// Blocks of 8 pages on two dies, and a victim with 3 valid pages, which makes room for 5 pages:
/// two rows of one page per die. So half of the work precedes each of the next two rows.
#[test]
fn even_collection_is_split_into_parts() {
    let timing = Timing {
        dies: 2,
        bus_mb_s: 4e6, // a page in 1 ns
        collection: CollectionPace::Even,
        ..BARE
    };
    let mut even = clock(timing);
    // 3 pages are read and programmed by 2 dies, and both dies erase.
    let die_ns = 3 * (READ_NS + PROGRAM_NS) / 2 + ERASE_NS;
    even.begin(0);
    even.collect(3);
    assert_eq!((even.end(), even.idle_ns()), (0, 0));
    let first_row = [0, 1].map(|place| write(&mut even, 0, [place]));
    assert_eq!(first_row, [die_ns / 2 + PROGRAM_NS; 2]);
    let second_row = [2, 3].map(|place| write(&mut even, 0, [place]));
    assert_eq!(second_row, [die_ns + 2 * PROGRAM_NS; 2]);
    // No work is left.
    assert_eq!(write(&mut even, 0, [4]), die_ns + 3 * PROGRAM_NS);
    // Two victims together make room for ten pages: four rows, each preceded by a quarter of the
    // work.
    even.reset();
    even.begin(0);
    even.collect(3);
    even.collect(3);
    even.end();
    for row in 1..=4 {
        let done = [0, 1].map(|place| write(&mut even, 0, [place]));
        assert_eq!(done, [row * (die_ns / 2 + PROGRAM_NS); 2]);
    }
    assert_eq!(write(&mut even, 0, [0]), 2 * die_ns + 5 * PROGRAM_NS);
}

/// Four pages gathered into one program: each occupies the die for a quarter, and waits for all of
/// it.
#[test]
fn gathered_pages_share_a_program() {
    let timing = Timing {
        program_bytes: 4 * PAGE_BYTES,
        bus_mb_s: 4e6, // a page in 1 ns
        ..BARE
    };
    let mut clock = clock(timing);
    let done = [0, 1, 2, 3, 4].map(|place| write(&mut clock, 0, [place]));
    let quarter = PROGRAM_NS / 4;
    assert_eq!(
        done,
        [0, 1, 2, 3, 4].map(|page| 1 + page * quarter + PROGRAM_NS)
    );
    // a page of two programs takes both
    let timing = Timing {
        program_bytes: PAGE_BYTES / 2,
        ..BARE
    };
    assert_eq!(
        write(&mut self::clock(timing), 0, [0]),
        BUS_NS + 2 * PROGRAM_NS
    );
}

/// A victim with 6 valid pages on two dies: each die reads and programs 3 and erases its part
/// before it takes the host's page.
#[test]
fn collection_precedes_the_page_that_needs_space() {
    let mut clock = clock(Timing {
        dies: 2,
        channels: 2,
        ..BARE
    });
    let die_ns = 3 * (READ_NS + PROGRAM_NS) + ERASE_NS;
    clock.begin(100);
    clock.collect(6);
    clock.program(0, 1);
    clock.program(1, 1);
    assert_eq!(clock.end(), 100 + die_ns + PROGRAM_NS);
    // each channel carried 3 pages out and 3 in
    assert_eq!(
        read(&mut clock, 100, 0),
        100 + die_ns + PROGRAM_NS + READ_NS + BUS_NS
    );
    assert_eq!(clock.idle_ns(), 100 + die_ns + PROGRAM_NS + READ_NS);
}

/// Blocks smaller than the erase unit take a share of an erase; pages smaller than the sense unit
/// are read together with their neighbors.
#[test]
fn small_blocks_take_a_share_of_an_erase() {
    // 8 pages per block: a quarter of an erase; pages gathered in fours
    let timing = Timing {
        program_bytes: 4 * PAGE_BYTES,
        erase_bytes: 32 * PAGE_BYTES,
        ..BARE
    };
    let mut two_reads = clock(timing);
    two_reads.begin(0);
    two_reads.collect(6);
    let programs = 6 * PROGRAM_NS / 4;
    assert_eq!(two_reads.idle_ns(), 2 * READ_NS + programs + ERASE_NS / 4);
    // a single valid page is one read
    let mut one_read = clock(timing);
    one_read.begin(0);
    one_read.collect(1);
    assert_eq!(one_read.idle_ns(), READ_NS + PROGRAM_NS / 4 + ERASE_NS / 4);
}

#[test]
fn reads_suspend_programs() {
    let mut clock = clock(Timing {
        suspend_us: Some(20.0),
        ..BARE
    });
    let programmed = write(&mut clock, 0, [0]);
    let at = 50_000;
    let first = read(&mut clock, at, 0);
    assert_eq!(first, at + 20_000 + READ_NS + BUS_NS);
    // reads queue behind each other
    assert_eq!(read(&mut clock, at, 0), at + 20_000 + 2 * READ_NS + BUS_NS);
    // the die lost the time of both reads
    assert_eq!(clock.idle_ns(), programmed + 2 * READ_NS);
}

/// A cache of two pages: two writes are acknowledged immediately, the third when the first is
/// programmed.
#[test]
fn a_cache_acknowledges_while_it_has_room() {
    let mut clock = clock(BARE.with_write_cache(2 * u64::from(PAGE_BYTES)));
    assert_eq!(write(&mut clock, 5, [0]), 5);
    assert_eq!(write(&mut clock, 5, [1]), 5);
    let first = 5 + BUS_NS + PROGRAM_NS;
    assert_eq!(write(&mut clock, 5, [2]), first);
    assert_eq!(write(&mut clock, 5, [3]), first + PROGRAM_NS);
    // much later the cache is empty again
    assert_eq!(write(&mut clock, 10_000_000, [4]), 10_000_000);
}

fn slc(full: SlcFull) -> Timing {
    Timing {
        program_us: 1000.0,
        read_us: 75.0,
        bus_mb_s: 4e6, // a page in 1 ns
        slc: Some(SlcCache {
            bytes: 3 * u64::from(PAGE_BYTES),
            read_us: 25.0,
            program_us: 200.0,
            idle_us: 5000.0,
            full,
        }),
        ..BARE
    }
}

#[test]
fn a_full_slc_cache_folds_or_is_bypassed() {
    let latencies = |full| {
        let mut clock = clock(slc(full));
        let mut done = 0;
        let latencies = [0, 1, 2, 3].map(|place| {
            let begin = done;
            done = write(&mut clock, begin, [place]);
            done - begin - 1 // the bus
        });
        (latencies, clock.slc().unwrap())
    };
    let (folds, used) = latencies(SlcFull::Fold);
    // the fourth has to wait until a page was read and programmed
    assert_eq!(folds, [200_000, 200_000, 200_000, 1_225_000]);
    assert_eq!(
        (used.used_pages, used.folded_pages, used.bypassed_pages),
        (3, 1, 0)
    );
    let (passes, used) = latencies(SlcFull::Bypass);
    assert_eq!(passes, [200_000, 200_000, 200_000, 1_000_000]);
    assert_eq!(
        (used.used_pages, used.folded_pages, used.bypassed_pages),
        (3, 0, 1)
    );
}

#[test]
fn an_idle_drive_folds() {
    let mut clock = clock(slc(SlcFull::Fold));
    write(&mut clock, 0, [0, 1, 2]);
    let quiet = 1 + 3 * 200_000;
    let folds_from = quiet + 5_000_000;
    let used = |clock: &mut Clock, at_ns| {
        clock.begin(at_ns);
        clock.end();
        clock.slc().unwrap().used_pages
    };
    assert_eq!(used(&mut clock, folds_from), 3);
    assert_eq!(used(&mut clock, folds_from + 1_225_000), 2);
    // idle time is used only once
    assert_eq!(used(&mut clock, folds_from + 1_225_001), 2);
    assert_eq!(used(&mut clock, folds_from + 100_000_000), 0);
    assert_eq!(clock.slc().unwrap().folded_pages, 3);
}

/// Two ranges, 8000 bytes.
const DISCARD_NS: u64 = 100_000 + 2 * 10_000 + 4_000;

#[test]
fn queued_discards_run_in_parallel() {
    let mut clock = clock(BARE);
    let written = write(&mut clock, 0, [0]);
    assert_eq!(clock.discard(0, 2, 8000), DISCARD_NS);
    // one after the other
    assert_eq!(clock.discard(0, 2, 8000), 2 * DISCARD_NS);
    assert_eq!(write(&mut clock, 0, [1]), written + PROGRAM_NS);
    assert!(clock.executes_discards());
}

#[test]
fn non_queued_discards_drain_the_queue_and_block() {
    let mut clock = clock(BARE.with_discards(DiscardHandling::NonQueued));
    let written = write(&mut clock, 0, [0]);
    let trimmed = clock.discard(1000, 2, 8000);
    assert_eq!(trimmed, written + DISCARD_NS);
    assert_eq!(read(&mut clock, 2000, 0), trimmed + READ_NS + BUS_NS);
    assert_eq!(
        clock.outstanding_ns(),
        trimmed + READ_NS + BUS_NS,
        "the next discard waits for the read"
    );
}

#[test]
fn ignored_and_swallowed_discards() {
    let mut ignores = clock(BARE.with_discards(DiscardHandling::Ignored));
    assert_eq!(ignores.discard(7, 2, 8000), 7 + 100_000);
    assert!(!ignores.executes_discards());
    let mut swallowed = clock(BARE.with_discards(DiscardHandling::Swallowed));
    assert_eq!(swallowed.discard(7, 2, 8000), 7);
    assert!(!swallowed.executes_discards());
}

#[test]
fn reset_equals_power_on() {
    let timing = Timing::TLC_WITH_SLC_CACHE.with_write_cache(100_000);
    let mut used = Clock::new(&timing, 4096, 64).unwrap();
    let mut fresh = used.clone();
    for round in 0..50 {
        used.begin(round * 1000);
        used.collect(10);
        used.program(0, 64);
        used.read(3);
        used.end();
        used.discard(round * 1000, 1, 1 << 20);
    }
    used.reset();
    for at_ns in [0, 10, 5_000_000] {
        assert_eq!(
            write(&mut used, at_ns, 0..64),
            write(&mut fresh, at_ns, 0..64)
        );
        assert_eq!(read(&mut used, at_ns, 7), read(&mut fresh, at_ns, 7));
        assert_eq!(used.discard(at_ns, 1, 4096), fresh.discard(at_ns, 1, 4096));
    }
    assert_eq!(used.slc(), fresh.slc());
}

#[test]
fn presets_are_valid() {
    for (name, timing, _) in Timing::PRESETS {
        timing.check().unwrap();
        assert_eq!(Timing::preset(name), Some(timing));
    }
    assert_eq!(Timing::preset("TLC"), None);
}

#[test]
fn errors_name_impossible_values() {
    let refused = |timing: Timing| timing.check().unwrap_err().to_string();
    assert_eq!(
        refused(Timing { dies: 1025, ..BARE }),
        "dies is 1025, expected 1 to 1024"
    );
    assert_eq!(
        refused(Timing {
            channels: 2,
            ..BARE
        }),
        "channels is 2, expected at most as many as dies"
    );
    assert_eq!(
        refused(Timing {
            read_us: f64::NAN,
            ..BARE
        }),
        "read_us is NaN, expected 0 to 3.6e9 (an hour)"
    );
    assert_eq!(
        refused(Timing {
            bus_mb_s: 0.0,
            ..BARE
        }),
        "bus_mb_s is 0, expected 0.001 to 1e9 (MB/s)"
    );
    assert!(Clock::new(&Timing { dies: 0, ..BARE }, 4096, 64).is_err());
}

#[derive(Debug, Clone)]
enum Work {
    Write { first: u32, pages: u32 },
    Collect { valid: u32 },
    Read { place: u32 },
    Discard { bytes: u64 },
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        6 => (0..64u32, 1..20u32).prop_map(|(first, pages)| Work::Write { first, pages }),
        1 => (0..64u32).prop_map(|valid| Work::Collect { valid }),
        4 => (0..64u32).prop_map(|place| Work::Read { place }),
        1 => (0..1_000_000u64).prop_map(|bytes| Work::Discard { bytes }),
    ]
}

fn timing() -> impl Strategy<Value = Timing> {
    let slc = prop::option::of((1..60u64, any::<bool>()));
    let handling = prop_oneof![
        Just(DiscardHandling::Queued),
        Just(DiscardHandling::NonQueued),
        Just(DiscardHandling::Ignored),
        Just(DiscardHandling::Swallowed),
    ];
    (
        (1..5u32, 0..9u32),
        (0..2u32, 0..3u32),
        prop::option::of(0.0..300.0),
        prop_oneof![Just(0), 1..60_000u64],
        slc,
        prop::option::of(500.0..5000.0),
        (
            prop_oneof![Just(CollectionPace::AtOnce), Just(CollectionPace::Even)],
            handling,
        ),
    )
        .prop_map(
            |((channels, more), (program, erase), suspend_us, cache, slc, link_mb_s, how)| Timing {
                channels,
                dies: channels + more,
                program_us: 900.0,
                program_bytes: program * 8000,
                erase_bytes: erase * 100_000,
                command_us: 3.0,
                link_mb_s,
                suspend_us,
                write_cache_bytes: cache,
                slc: slc.map(|(pages, fold)| SlcCache {
                    bytes: pages * u64::from(PAGE_BYTES),
                    read_us: 25.0,
                    program_us: 250.0,
                    idle_us: 100.0,
                    full: if fold { SlcFull::Fold } else { SlcFull::Bypass },
                }),
                collection: how.0,
                ..BARE.with_discards(how.1)
            },
        )
}

/// Latencies of requests, each arriving `gap` after the previous one.
fn latencies(timing: &Timing, load: &[(u64, Work)], scale: u64) -> Vec<u64> {
    let mut clock = Clock::new(timing, PAGE_BYTES, 64).unwrap();
    let mut at_ns = 0;
    load.iter()
        .map(|(gap, work)| {
            at_ns += gap * scale;
            if let Work::Discard { bytes } = work {
                return clock.discard(at_ns, 1, *bytes) - at_ns;
            }
            clock.begin(at_ns);
            match work {
                Work::Write { first, pages } => {
                    clock.program(*first, *pages);
                }
                Work::Collect { valid } => clock.collect(*valid),
                Work::Read { place } => clock.read(*place),
                Work::Discard { .. } => unreachable!("taken above"),
            }
            clock.end() - at_ns
        })
        .collect()
}

proptest! {
    /// The same requests closer together: no latency decreases.
    #[test]
    fn latencies_are_monotone_in_load(
        timing in timing(),
        load in prop::collection::vec((0..400_000u64, work()), 1..80),
        scale in 2..30u64,
    ) {
        let crowded = latencies(&timing, &load, 1);
        let sparse = latencies(&timing, &load, scale);
        for (index, (crowded, sparse)) in crowded.iter().zip(&sparse).enumerate() {
            prop_assert!(crowded >= sparse, "request {index}: {crowded} below {sparse}");
        }
    }

    /// Staging one by one, staging together and direct operation give the same times.
    #[test]
    fn staging_does_not_change_times(
        timing in timing(),
        depth in 1..40usize,
        load in prop::collection::vec(prop_oneof![
            8 => (0..64u32).prop_map(Ok),
            1 => (0..64u32).prop_map(Err),
        ], 1..200),
        not_before_ns in 0..1_000_000u64,
    ) {
        // operations after the last write wait for the next batch
        let last = load.iter().rposition(Result::is_ok).map_or(0, |last| last + 1);
        let load = &load[..last];
        let mut direct = Clock::new(&timing, PAGE_BYTES, 64).unwrap();
        let stage = || {
            let mut clock = direct.clone();
            clock.stage();
            for event in load {
                match *event {
                    Ok(place) => clock.program(place, 1),
                    Err(valid) => clock.collect(valid),
                }
            }
            clock.staged();
            clock
        };
        let (mut single, mut together) = (stage(), stage());
        let mut all = Vec::new();
        together.write_all_staged(&mut Slots::new(depth), not_before_ns, |served| {
            all.extend_from_slice(served);
        });
        let mut queue = Slots::new(depth);
        let mut victims = Vec::new();
        let mut each = all.iter().copied();
        for event in load {
            match *event {
                Err(valid) => victims.push(valid),
                Ok(place) => {
                    let at_ns = queue.earliest().max(not_before_ns);
                    direct.begin(at_ns);
                    victims.drain(..).for_each(|valid| direct.collect(valid));
                    direct.program(place, 1);
                    let done = direct.end();
                    queue.replace_earliest(done);
                    prop_assert_eq!(single.write_staged(at_ns), done);
                    prop_assert_eq!(each.next(), Some(Served { at_ns, done_ns: done }));
                }
            }
        }
        prop_assert_eq!(each.next(), None);
        prop_assert_eq!(single.outstanding_ns(), direct.outstanding_ns());
        prop_assert_eq!(together.outstanding_ns(), direct.outstanding_ns());
        prop_assert_eq!(single.idle_ns(), direct.idle_ns());
    }

    /// A die that never waits is busy for exactly the sum of its operations.
    #[test]
    fn a_busy_die_does_exactly_its_work(load in prop::collection::vec(work(), 1..80)) {
        let timing = Timing { bus_mb_s: 1e9, ..BARE };
        let mut clock = Clock::new(&timing, PAGE_BYTES, 64).unwrap();
        let mut busy = 0;
        for work in load {
            clock.begin(0);
            match work {
                Work::Write { first, pages } => {
                    clock.program(first, pages);
                    busy += u64::from(pages) * PROGRAM_NS;
                }
                Work::Collect { valid } => {
                    clock.collect(valid);
                    busy += u64::from(valid) * (READ_NS + PROGRAM_NS) + ERASE_NS;
                }
                Work::Read { place } => {
                    clock.read(place);
                    busy += READ_NS;
                }
                Work::Discard { bytes } => {
                    clock.discard(0, 1, bytes);
                }
            }
            prop_assert_eq!(clock.idle_ns(), busy);
        }
    }
}

#[test]
fn larger_drives_have_more_dies() {
    for (bytes, dies, channels) in [
        (1_000_000_000_000, 32, 8),
        (3_840_000_000_000, 128, 8),
        (15_360_000_000_000, 512, 32),
        (240_000_000_000, 8, 8),
        (1_000_000, 2, 2),
        (u64::MAX, 1024, 64),
    ] {
        let timing = Timing::TLC.sized(bytes);
        assert_eq!((timing.dies, timing.channels), (dies, channels), "{bytes}");
        timing.check().unwrap();
    }
}
