//! Drives and arrays whose timing can be worked out by hand, and properties under random load.

#![allow(clippy::cast_precision_loss)] // sums of nanoseconds

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::{
    ftl::Collection,
    geometry::Geometry,
    random::Random,
    time::{
        DiscardHandling,
        tests::{BARE, BUS_NS, ERASE_NS, PAGE_BYTES, PROGRAM_NS, READ_NS},
    },
};

fn settings(pages: u64, seed: u64) -> Settings {
    Settings {
        seed,
        ..Settings::new(Geometry::new(pages, 0.25, 32, PAGE_BYTES).unwrap())
    }
}

fn drive(pages: u64, power_on: PowerOn, timing: &Timing) -> Drive {
    Drive::new(settings(pages, 1), power_on, timing).unwrap()
}

/// Number of requests by kind.
fn requests(device: &impl Device) -> [u64; 3] {
    Kind::ALL.map(|kind| device.recorder().histogram(kind).len())
}

fn request(at_ns: u64, kind: Kind, first_page: u32, pages: u32) -> Request {
    Request {
        at_ns,
        kind,
        first_page,
        pages,
    }
}

#[test]
fn one_die_at_depth_one() {
    let mut drive = drive(1000, PowerOn::Empty, &BARE);
    let mut queue = Queue::closed(1);
    for page in 0..100 {
        let arrived = queue.next_ns();
        let done = queue.submit(&mut drive, Kind::Write, page, 1);
        assert_eq!(done - arrived, BUS_NS + PROGRAM_NS);
        assert_eq!(queue.next_ns(), done);
    }
    let arrived = queue.next_ns();
    let done = queue.submit(&mut drive, Kind::Read, 7, 1);
    assert_eq!(done - arrived, READ_NS + BUS_NS);
    // unmapped pages are known without accessing the flash
    let unmapped = queue.submit(&mut drive, Kind::Read, 700, 300);
    assert_eq!(unmapped, done);
    assert_eq!(requests(&drive), [2, 100, 0]);
}

/// The die never waits (the bus takes no time), so its busy time follows from the counters.
#[test]
fn collection_occupies_the_die() {
    let timing = Timing {
        bus_mb_s: 1e9,
        ..BARE
    };
    let mut drive = drive(5000, PowerOn::Aged { passes: 2 }, &timing);
    let mut queue = Queue::closed(4);
    let mut random = Random::new(3);
    let pages: Vec<u32> = (0..20_000).map(|_| random.below_u32(5000)).collect();
    drive.write_pages(&mut queue, &pages);
    let counters = drive.counters();
    assert!(counters.write_amplification().unwrap() > 1.5);
    let busy = counters.host_pages * PROGRAM_NS
        + counters.moved_pages * (READ_NS + PROGRAM_NS)
        + counters.erased_blocks * ERASE_NS;
    assert_eq!(drive.clock().idle_ns(), busy);
    assert_eq!(queue.drained_ns(), busy);
    drive.ftl().check().unwrap();
}

/// A trimmed drive is as fast as one that was never written.
#[test]
fn trim_restores_speed() {
    let write_all = |drive: &mut Drive, from_ns: u64| {
        let mut queue = Queue::closed(8);
        queue.pause_until(from_ns);
        for first_page in (0..4096).step_by(64) {
            queue.submit(drive, Kind::Write, first_page, 64);
        }
        queue.drained_ns() - from_ns
    };
    // erases are excluded from the comparison
    let timing = Timing {
        erase_us: 0.0,
        ..BARE
    };
    let fresh = write_all(&mut drive(8192, PowerOn::Empty, &timing), 0);
    let aged = || drive(8192, PowerOn::Aged { passes: 2 }, &timing);
    let untrimmed = write_all(&mut aged(), 0);
    let mut drive = aged();
    let trimmed_at = drive.submit(request(0, Kind::Discard, 0, 8192));
    assert_eq!(drive.counters().trimmed_pages, 8192);
    let trimmed = write_all(&mut drive, trimmed_at);
    assert_eq!(drive.counters().moved_pages, 0);
    assert_eq!(trimmed, fresh);
    assert!(untrimmed > fresh * 3 / 2, "{untrimmed} against {fresh}");
}

#[test]
fn discard_cost_depends_on_commands_ranges_and_bytes() {
    let ranges = [(0, 10), (50, 1), (70, 0)].map(|(first_page, pages)| Range { first_page, pages });
    let cost = 100_000 + 3 * 10_000 + 11 * u64::from(PAGE_BYTES) / 2;
    let with = |handling| drive(1000, PowerOn::Filled, &BARE.with_discards(handling));
    let mut queued = with(DiscardHandling::Queued);
    assert_eq!(queued.discard_ranges(5, &ranges), 5 + cost);
    assert_eq!(queued.counters().trimmed_pages, 11);
    for (handling, done) in [
        (DiscardHandling::Ignored, 5 + 100_000),
        (DiscardHandling::Swallowed, 5),
    ] {
        let mut ignoring = with(handling);
        assert_eq!(ignoring.discard_ranges(5, &ranges), done);
        assert_eq!(
            ignoring.discard_pages(&mut Queue::closed(1), &[1, 2, 3]) > 0,
            done > 5
        );
        assert_eq!(ignoring.counters().trimmed_pages, 0);
        assert_eq!(ignoring.ftl().mapped_pages(), 1000);
        assert_eq!(requests(&ignoring), [0, 0, 4]);
    }
    // an empty discard is not a request
    assert_eq!(queued.discard_ranges(7, &[]), 7);
    assert_eq!(queued.submit(request(7, Kind::Discard, 3, 0)), 7);
    assert_eq!(requests(&queued), [0, 0, 1]);
}

/// Four requests at a time, and a pause.
#[test]
fn requests_arrive_when_others_are_done() {
    let bus = Timing {
        bus_mb_s: 4e6, // a page in 1 ns
        ..BARE
    };
    let mut closed = drive(1000, PowerOn::Empty, &bus);
    let mut queue = Queue::closed(4);
    let arrivals: Vec<u64> = (0..6)
        .map(|page| {
            let arrival = queue.next_ns();
            queue.submit(&mut closed, Kind::Write, page, 1);
            arrival
        })
        .collect();
    assert_eq!(arrivals, [0, 0, 0, 0, 1 + PROGRAM_NS, 1 + 2 * PROGRAM_NS]);
    queue.pause_until(7_000_000);
    assert_eq!(queue.next_ns(), 7_000_000);
    queue.pause_until(1_000_000);
    assert_eq!(queue.next_ns(), 7_000_000);
    assert_eq!(queue.drained_ns(), 7_000_000);
}

#[test]
fn errors_describe_the_problem() {
    let drives = |count: usize, pages| {
        (0..count)
            .map(|_| drive(pages, PowerOn::Empty, &BARE))
            .collect::<Vec<_>>()
    };
    let raid = |members, chunk_pages| {
        Raid0::new(members, chunk_pages)
            .map(|raid| raid.pages())
            .map_err(|error| error.to_string())
    };
    // only whole chunks count
    assert_eq!(raid(drives(3, 1000), 64), Ok(3 * 15 * 64));
    assert_eq!(
        raid(drives(0, 1000), 64),
        Err("an array has no members, expected one or more".into())
    );
    for chunk in [0, 1001] {
        assert_eq!(
            raid(drives(2, 1000), chunk),
            Err(format!(
                "a chunk has {chunk} pages, expected 1 to 1000 (the smallest member)"
            ))
        );
    }
    let odd = Geometry::new(1000, 0.25, 32, 512).unwrap();
    let odd = Drive::new(Settings::new(odd), PowerOn::Empty, &BARE);
    let mut members = drives(1, 1000);
    members.push(odd.unwrap());
    assert_eq!(
        raid(members, 8),
        Err("a member has pages of 512 bytes, expected 4000 like the first member".into())
    );
    let no_dies = Timing { dies: 0, ..BARE };
    let error = Drive::new(settings(1000, 1), PowerOn::Empty, &no_dies);
    assert_eq!(
        error.unwrap_err().to_string(),
        "dies is 0, expected 1 to 1024"
    );
}

fn raid(members: u32, chunk_pages: u32, timing: &Timing) -> Raid0<Drive> {
    let member = (settings(1200, 0), PowerOn::Filled);
    raid_of(member, members, chunk_pages, timing)
}

/// Members that differ only in their seed.
fn raid_of(
    (settings, power_on): (Settings, PowerOn),
    members: u32,
    chunk_pages: u32,
    timing: &Timing,
) -> Raid0<Drive> {
    let members = (0..members)
        .map(|member| {
            let settings = Settings {
                seed: settings.seed ^ u64::from(member),
                ..settings
            };
            Drive::new(settings, power_on, timing).unwrap()
        })
        .collect();
    Raid0::new(members, chunk_pages).unwrap()
}

/// A stripe is written in the time of one chunk, and a request is done when its last part is.
#[test]
fn members_work_in_parallel() {
    let mut array = raid(
        4,
        8,
        &Timing {
            erase_us: 0.0,
            ..BARE
        },
    );
    let alone = raid(
        1,
        8,
        &Timing {
            erase_us: 0.0,
            ..BARE
        },
    )
    .submit(request(0, Kind::Write, 0, 8));
    assert_eq!(array.submit(request(0, Kind::Write, 0, 32)), alone);
    assert_eq!(array.counters().host_pages, 32);
    for member in array.members() {
        assert_eq!(member.counters().host_pages, 8);
        assert_eq!(requests(member), [0, 1, 0]);
    }
    assert_eq!(requests(&array), [0, 1, 0]);
}

/// 3 chunks of 8 pages over two members, starting in the middle of a chunk: md sends one discard per
/// member.
#[test]
fn discards_are_split_by_member() {
    let mut array = raid(2, 8, &BARE);
    // member 0: 4 pages of chunk 0, 8 of chunk 2; member 1: 8 of chunk 1, 2 of chunk 3
    let done = array.submit(request(0, Kind::Discard, 4, 22));
    assert_eq!(array.counters().trimmed_pages, 22);
    for (member, pages) in array.members().iter().zip([12, 10]) {
        assert_eq!(requests(member), [0, 0, 1]);
        assert_eq!(member.counters().trimmed_pages, pages);
    }
    let bytes_ns = 12 * u64::from(PAGE_BYTES) / 2;
    assert_eq!(done, 110_000 + bytes_ns);
    for page in 0..array.pages() {
        let (member, place) = array.stripe().locate(page);
        let mapped = array.members()[member as usize].ftl().is_mapped(place);
        assert_eq!(mapped, !(4..26).contains(&page));
    }
}

#[derive(Debug, Clone)]
enum Ask {
    Run(Kind, u32, u32),
    Batch(Vec<u32>),
    DiscardBatch(Vec<u32>),
    Ranges(Vec<(u32, u32)>),
}

fn asks(pages: u32) -> impl Strategy<Value = Vec<Ask>> {
    let run = (0..pages, 0..200u32).prop_map(move |(first, len)| (first, len.min(pages - first)));
    let batch = prop::collection::vec(0..pages, 0..600);
    prop::collection::vec(
        prop_oneof![
            3 => run.clone().prop_map(|(first, len)| Ask::Run(Kind::Write, first, len)),
            2 => run.clone().prop_map(|(first, len)| Ask::Run(Kind::Read, first, len)),
            1 => run.clone().prop_map(|(first, len)| Ask::Run(Kind::Discard, first, len)),
            3 => batch.clone().prop_map(Ask::Batch),
            1 => batch.prop_map(Ask::DiscardBatch),
            1 => prop::collection::vec(run, 0..5).prop_map(Ask::Ranges),
        ],
        1..25,
    )
}

fn timing() -> impl Strategy<Value = Timing> {
    let handling = prop_oneof![
        3 => Just(DiscardHandling::Queued),
        2 => Just(DiscardHandling::NonQueued),
        1 => Just(DiscardHandling::Ignored),
    ];
    (0..5usize, prop::bool::ANY, handling, 1..20u32).prop_map(|(preset, cached, handling, dies)| {
        let timing = Timing {
            channels: dies.div_ceil(4),
            dies,
            ..Timing::PRESETS[preset].1.with_discards(handling)
        };
        timing.with_write_cache(if cached { 100_000 } else { 0 })
    })
}

/// Sends the same requests in batches or page by page; returns the requested pages and the requests by
/// kind, and when all are done.
fn send<D: Device>(
    device: &mut D,
    queue: &mut Queue,
    asks: &[Ask],
    batched: bool,
) -> ([u64; 3], [u64; 3], Vec<u64>) {
    let mut pages = [0; 3];
    let mut sent = [0; 3];
    let mut done = Vec::new();
    for ask in asks {
        match ask {
            Ask::Run(kind, first, len) => {
                if *len > 0 {
                    pages[*kind as usize] += u64::from(*len);
                    sent[*kind as usize] += 1;
                    done.push(queue.submit(device, *kind, *first, *len));
                }
            }
            Ask::Batch(batch) => {
                pages[Kind::Write as usize] += batch.len() as u64;
                sent[Kind::Write as usize] += batch.len() as u64;
                if batched {
                    device.write_pages(queue, batch);
                } else {
                    for page in batch {
                        queue.submit(device, Kind::Write, *page, 1);
                    }
                }
                done.push(queue.drained_ns());
            }
            Ask::DiscardBatch(batch) => {
                pages[Kind::Discard as usize] += batch.len() as u64;
                sent[Kind::Discard as usize] += batch.len() as u64;
                if batched {
                    device.discard_pages(queue, batch);
                } else {
                    for page in batch {
                        queue.submit(device, Kind::Discard, *page, 1);
                    }
                }
                done.push(queue.drained_ns());
            }
            Ask::Ranges(ranges) => {
                let ranges: Vec<Range> = ranges
                    .iter()
                    .map(|&(first_page, pages)| Range { first_page, pages })
                    .collect();
                let discarded: u64 = ranges.iter().map(|range| u64::from(range.pages)).sum();
                pages[Kind::Discard as usize] += discarded;
                // One command for all of them, and none for nothing.
                sent[Kind::Discard as usize] += u64::from(discarded > 0);
                done.push(device.discard_ranges(queue.next_ns(), &ranges));
            }
        }
    }
    (pages, sent, done)
}

/// Computes which pages are mapped after `asks`, starting from `held`.
fn hold(held: &mut [bool], asks: &[Ask], hears: bool) {
    let mut run = |first: u32, len: u32, holds: bool| {
        if holds || hears {
            held[first as usize..][..len as usize].fill(holds);
        }
    };
    for ask in asks {
        match ask {
            Ask::Run(Kind::Read, ..) => {}
            Ask::Run(kind, first, len) => run(*first, *len, *kind == Kind::Write),
            Ask::Batch(batch) => batch.iter().for_each(|page| run(*page, 1, true)),
            Ask::DiscardBatch(batch) => batch.iter().for_each(|page| run(*page, 1, false)),
            Ask::Ranges(ranges) => ranges.iter().for_each(|part| run(part.0, part.1, false)),
        }
    }
}

/// Every policy, power-on state and placement of moved pages, with 1200 pages.
fn members() -> impl Strategy<Value = (Settings, PowerOn)> {
    let collection = prop_oneof![
        Just(Collection::Greedy),
        Just(Collection::Fifo),
        (1..5u32).prop_map(Collection::DChoices),
    ];
    let power_on = prop_oneof![
        Just(PowerOn::Empty),
        Just(PowerOn::Filled),
        (1..3u32).prop_map(|passes| PowerOn::Aged { passes }),
    ];
    let rest = (any::<bool>(), 1..4u32, any::<u64>());
    (collection, power_on, rest).prop_map(|(collection, power_on, rest)| {
        let (separate_moved, free_blocks_min, seed) = rest;
        let settings = Settings {
            collection,
            separate_moved,
            free_blocks_min,
            ..settings(1200, seed)
        };
        (settings, power_on)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Requests and counters agree with the input, and batches equal single requests.
    #[test]
    fn drive_statistics_match_the_requests(asks in asks(1200), timing in timing(), depth in 1..40usize) {
        let fresh = drive(1200, PowerOn::Filled, &timing);
        let (mut batched, mut single) = (fresh.clone(), fresh);
        let sent = send(&mut batched, &mut Queue::closed(depth), &asks, true);
        let again = send(&mut single, &mut Queue::closed(depth), &asks, false);
        prop_assert_eq!(&sent, &again);
        prop_assert_eq!(batched.ftl().digest(), single.ftl().digest());
        prop_assert_eq!(batched.recorder(), single.recorder());
        let (pages, sent, _) = sent;
        prop_assert_eq!(requests(&batched), sent);
        prop_assert_eq!(batched.counters().host_pages, pages[1]);
        prop_assert!(batched.counters().trimmed_pages <= pages[2]);
        prop_assert_eq!(batched.ftl().check(), Ok(()));
    }

    /// The same for an array, where every page goes to exactly one member.
    #[test]
    fn array_statistics_match_the_requests(
        asks in asks(1200),
        member in members(),
        timing in timing(),
        depth in 1..40usize,
        members in 1..6u32,
        chunk_pages in 1..50u32,
    ) {
        let asks: Vec<Ask> = if members == 1 { within(asks, 1200 / chunk_pages * chunk_pages) } else { asks };
        let fresh = raid_of(member, members, chunk_pages, &timing);
        let (mut batched, mut single) = (fresh.clone(), fresh);
        let sent = send(&mut batched, &mut Queue::closed(depth), &asks, true);
        let again = send(&mut single, &mut Queue::closed(depth), &asks, false);
        prop_assert_eq!(&sent, &again);
        prop_assert_eq!(batched.recorder(), single.recorder());
        let (pages, sent, _) = sent;
        prop_assert_eq!(requests(&batched), sent);
        for (member, other) in batched.members().iter().zip(single.members()) {
            prop_assert_eq!(member.ftl().digest(), other.ftl().digest());
            prop_assert_eq!(member.ftl().check(), Ok(()));
        }
        let mut held = vec![member.1 != PowerOn::Empty; batched.pages() as usize];
        hold(&mut held, &asks, batched.members()[0].clock().executes_discards());
        for (page, held) in (0..).zip(held) {
            let (member, place) = batched.stripe().locate(page);
            prop_assert_eq!(batched.members()[member as usize].ftl().is_mapped(place), held);
        }
        prop_assert_eq!(batched.counters().host_pages, pages[1]);
    }

    /// A deeper queue never lowers throughput. Latency need not grow with depth: by Little's law it
    /// is depth divided by throughput, and one more request can keep dies busy that waited for
    /// collection.
    #[test]
    fn deeper_queues_do_not_lower_throughput(
        timing in timing(),
        seed: u64,
        depth in 1..32usize,
        more in 1..32usize,
    ) {
        let run = |depth: usize| {
            let mut drive = drive(1200, PowerOn::Filled, &timing);
            let mut random = Random::new(seed);
            let pages: Vec<u32> = (0..3000).map(|_| random.below_u32(1200)).collect();
            let mut queue = Queue::closed(depth);
            let (mut last, mut under_way_ns) = (0, 0.0);
            for page in pages {
                let at_ns = queue.next_ns();
                let done_ns = queue.submit(&mut drive, Kind::Write, page, 1);
                last = last.max(done_ns);
                under_way_ns += (done_ns - at_ns) as f64;
            }
            // the queue is full until the last request is submitted, and never holds more
            let full_ns = depth as f64 * last as f64;
            let empties_ns = depth as f64 * (last - queue.next_ns().min(last)) as f64;
            assert!(under_way_ns <= full_ns + 1.0, "{under_way_ns} of {full_ns}");
            assert!(under_way_ns >= full_ns - empties_ns - 1.0, "{under_way_ns} of {full_ns}");
            queue.drained_ns()
        };
        let (shallow, deep) = (run(depth), run(depth + more));
        prop_assert!(deep <= shallow, "{deep} after {shallow}");
    }
}

/// Clamps requests to a smaller device.
fn within(asks: Vec<Ask>, pages: u32) -> Vec<Ask> {
    let run = |first: u32, len: u32| (first % pages, len.min(pages - first % pages));
    let batch = |batch: Vec<u32>| batch.into_iter().map(|page| page % pages).collect();
    asks.into_iter()
        .map(|ask| match ask {
            Ask::Run(kind, first, len) => {
                let (first, len) = run(first, len);
                Ask::Run(kind, first, len)
            }
            Ask::Batch(pages) => Ask::Batch(batch(pages)),
            Ask::DiscardBatch(pages) => Ask::DiscardBatch(batch(pages)),
            Ask::Ranges(ranges) => Ask::Ranges(
                ranges
                    .into_iter()
                    .map(|(first, len)| run(first, len))
                    .collect(),
            ),
        })
        .collect()
}

proptest! {
    /// Array pages and member pages map one to one.
    #[test]
    fn striping_is_one_to_one(members in 1..30u32, chunk_pages in 1..300u32, rows in 1..4u32) {
        let stripe = Stripe::new(members, chunk_pages);
        let pages = members * chunk_pages * rows;
        let mut seen = HashSet::new();
        for page in 0..pages {
            let (member, place) = stripe.locate(page);
            prop_assert!(member < members && place < chunk_pages * rows);
            prop_assert!(seen.insert((member, place)));
        }
    }

    /// The same near the largest page numbers.
    #[test]
    fn striping_is_one_to_one_at_the_end(
        members in 1..300u32,
        chunk_pages in 1..100_000u32,
        page in 0..u32::MAX - 1,
    ) {
        let stripe = Stripe::new(members, chunk_pages);
        let (member, place) = stripe.locate(page);
        let chunk = page / chunk_pages;
        prop_assert_eq!(member, chunk % members);
        prop_assert_eq!(place, chunk / members * chunk_pages + page % chunk_pages);
    }

    /// Split by chunk or by member, a range covers the same pages; each member's part is
    /// contiguous.
    #[test]
    fn ranges_are_split_without_loss(
        members in 1..9u32,
        chunk_pages in 1..40u32,
        first_page in 0..5000u32,
        pages in 0..2000u32,
    ) {
        let stripe = Stripe::new(members, chunk_pages);
        let range = Range { first_page, pages };
        let mut expected: Vec<(u32, u32)> = (first_page..first_page + pages)
            .map(|page| stripe.locate(page))
            .collect();
        let by_chunk: Vec<(u32, u32)> = stripe
            .by_chunk(range)
            .flat_map(|(member, part)| {
                assert!(part.pages > 0 && part.first_page % chunk_pages + part.pages <= chunk_pages);
                (part.first_page..part.first_page + part.pages).map(move |page| (member, page))
            })
            .collect();
        prop_assert_eq!(&by_chunk, &expected);
        expected.sort_unstable();
        let by_member: Vec<(u32, u32)> = (0..members)
            .flat_map(|member| {
                let part = stripe.of_member(member, range);
                (part.first_page..part.first_page + part.pages).map(move |page| (member, page))
            })
            .collect();
        prop_assert_eq!(by_member, expected);
    }
}

/// Collection policies other than greedy take time too.
#[test]
fn every_policy_takes_time() {
    let mut times = HashSet::new();
    for collection in [
        Collection::Greedy,
        Collection::Fifo,
        Collection::DChoices(1),
    ] {
        let settings = Settings {
            collection,
            ..settings(5000, 1)
        };
        let aged = PowerOn::Aged { passes: 3 };
        let mut drive = Drive::new(settings, aged, &BARE).unwrap();
        let mut random = Random::new(1);
        let pages: Vec<u32> = (0..5000).map(|_| random.below_u32(5000)).collect();
        times.insert(drive.write_pages(&mut Queue::closed(8), &pages));
    }
    assert_eq!(times.len(), 3);
}
