//! Random workloads checked against invariants, a small drive worked out by hand, and the closed
//! forms.

use proptest::prelude::*;

use super::*;

/// Counts the operations reported to a medium.
#[derive(Debug, Clone, Default)]
struct Executed {
    programmed: u64,
    collected: u64,
    moved: u64,
    /// Place of the last program, to check that each follows the one before.
    places: Vec<u32>,
}

impl Medium for Executed {
    fn program(&mut self, first_place: u32, pages: u32) {
        self.programmed += u64::from(pages);
        self.places.extend(first_place..first_place + pages);
    }
    fn collect(&mut self, valid: u32) {
        self.collected += 1;
        self.moved += u64::from(valid);
    }
}

/// A page of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageState {
    /// Erased, ready to be programmed.
    Free,
    /// Holds the given logical page.
    Valid(u32),
    /// Overwritten or discarded; unusable until its block is erased.
    Invalid,
}

impl<M: Medium> Ftl<M> {
    /// Whether the drive holds data for a page.
    pub(crate) fn is_mapped(&self, page: u32) -> bool {
        self.tables.l2p[page as usize] != NONE
    }

    /// Number of mapped logical pages.
    pub(crate) fn mapped_pages(&self) -> u64 {
        self.tables.mapped
    }

    /// A hash of the whole state: FNV-1a by words. The same requests with the same seed give the same
    /// digest.
    pub(crate) fn digest(&self) -> u64 {
        fn add(digest: u64, word: u64) -> u64 {
            // The rotation brings high bits down, since multiplication only carries upwards.
            ((digest ^ word).wrapping_mul(0x0000_0100_0000_01b3)).rotate_left(29)
        }
        let tables = &self.tables;
        let words = [
            tables.counters.host_pages,
            tables.counters.moved_pages,
            tables.counters.trimmed_pages,
            tables.counters.erased_blocks,
            tables.mapped,
        ];
        let frontiers = tables
            .frontiers
            .iter()
            .map(|frontier| (u64::from(frontier.block) << 32) | u64::from(frontier.next));
        let blocks = (0..tables.count.len()).map(|block| {
            (u64::from(tables.erased[block]) << 32)
                | (u64::from(tables.count[block]) << 16)
                | tables.state[block] as u64
        });
        words
            .into_iter()
            .chain(tables.l2p.iter().copied().map(u64::from))
            .chain(tables.valid.iter().copied())
            .chain(blocks)
            .chain(tables.free.iter().copied().map(u64::from))
            .chain(frontiers)
            .fold(0xcbf2_9ce4_8422_2325, add)
    }

    /// The pages of a block, in order.
    fn page_states(&self, block: u32) -> Vec<PageState> {
        let tables = &self.tables;
        let first = (block * tables.pages_per_block) as usize;
        (0..tables.pages_per_block)
            .map(|page| {
                if page >= tables.programmed(block) {
                    PageState::Free
                } else if tables.is_valid(block, page) {
                    PageState::Valid(tables.p2l[first + page as usize])
                } else {
                    PageState::Invalid
                }
            })
            .collect()
    }
}

#[derive(Debug, Clone)]
enum Request {
    Write(Vec<u32>),
    WriteRun(u32, u32),
    Discard(Vec<u32>),
    DiscardRun(u32, u32),
}

/// Requests on `pages` pages; numbers beyond the end wrap around.
fn requests(pages: u32) -> impl Strategy<Value = Vec<Request>> {
    // Half of the batches repeatedly write few pages: blocks with almost no valid pages.
    let page = prop_oneof![0..pages, 0..pages.min(7)];
    let batch = proptest::collection::vec(page, 0..200);
    let run = (0..pages, 0..pages).prop_map(move |(first, len)| (first, len.min(pages - first)));
    let request = prop_oneof![
        4 => batch.clone().prop_map(Request::Write),
        2 => run.clone().prop_map(|(first, len)| Request::WriteRun(first, len)),
        1 => batch.prop_map(Request::Discard),
        1 => run.prop_map(|(first, len)| Request::DiscardRun(first, len)),
    ];
    proptest::collection::vec(request, 1..40)
}

/// Blocks that fill bitmap words exactly or not, that span one word or several, or hold a single
/// page.
const PAGES_PER_BLOCK: [u32; 7] = [1, 5, 32, 64, 100, 130, 256];

fn settings() -> impl Strategy<Value = (Settings, PowerOn)> {
    let collection = prop_oneof![
        2 => Just(Collection::Greedy),
        1 => Just(Collection::Fifo),
        1 => (1..5u32).prop_map(Collection::DChoices),
    ];
    let power_on = prop_oneof![
        Just(PowerOn::Empty),
        Just(PowerOn::Filled),
        (0..3u32).prop_map(|passes| PowerOn::Aged { passes }),
    ];
    let shape = (1..2000u64, 0.02..1.0, 0..PAGES_PER_BLOCK.len());
    let rest = (any::<bool>(), 1..4u32, any::<u64>());
    (shape, collection, rest, power_on).prop_filter_map(
        "a drive",
        |((logical, spare, per_block), collection, rest, power_on)| {
            let geometry = Geometry::new(logical, spare, PAGES_PER_BLOCK[per_block], 4096).ok()?;
            let (separate_moved, free_blocks_min, seed) = rest;
            let settings = Settings {
                geometry,
                collection,
                separate_moved,
                free_blocks_min,
                seed,
            };
            Some((settings, power_on))
        },
    )
}

fn drives() -> impl Strategy<Value = ((Settings, PowerOn), Vec<Request>)> {
    settings().prop_flat_map(|drive| {
        #[allow(clippy::cast_possible_truncation)] // below 2000
        let pages = drive.0.geometry.logical_pages as u32;
        (Just(drive), requests(pages))
    })
}

/// Which pages a drive holds before any request.
fn held_at_first<M: Medium>(drive: &Ftl<M>, power_on: PowerOn) -> Vec<bool> {
    let pages: usize = drive.geometry().logical_pages.try_into().unwrap();
    vec![power_on != PowerOn::Empty; pages]
}

/// Submits a request, applies it to `held` (which pages the drive should hold), and returns how
/// many pages it should have unmapped.
fn submit<M: Medium>(drive: &mut Ftl<M>, held: &mut [bool], request: &Request) -> u64 {
    let mut write = |page: u32| held[page as usize] = true;
    match request {
        Request::Write(pages) => {
            drive.write(pages);
            for page in pages {
                write(*page);
            }
            0
        }
        Request::WriteRun(first, pages) => {
            drive.write_run(*first, *pages);
            for page in *first..first + pages {
                write(page);
            }
            0
        }
        Request::Discard(pages) => {
            let unmapped = drive.discard(pages);
            assert_eq!(unmapped, forget(held, pages.iter().copied()));
            unmapped
        }
        Request::DiscardRun(first, pages) => {
            let unmapped = drive.discard_run(*first, *pages);
            assert_eq!(unmapped, forget(held, *first..first + pages));
            unmapped
        }
    }
}

/// Clears the pages in `held`, and returns how many were set.
fn forget(held: &mut [bool], pages: impl Iterator<Item = u32>) -> u64 {
    pages
        .map(|page| u64::from(std::mem::take(&mut held[page as usize])))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn invariants_hold_after_every_request(((settings, power_on), requests) in drives()) {
        let mut drive = Ftl::new(settings, power_on, Executed::default()).unwrap();
        drive.check().unwrap();
        prop_assert_eq!(drive.counters(), Counters::default());
        let mut held = held_at_first(&drive, power_on);
        let mut trimmed = 0;
        for request in &requests {
            trimmed += submit(&mut drive, &mut held, request);
            drive.check().unwrap();
        }
        prop_assert_eq!(drive.counters().trimmed_pages, trimmed);
        for (page, held) in (0..).zip(&held) {
            prop_assert_eq!(drive.is_mapped(page), *held);
            prop_assert_eq!(drive.place(page).is_some(), *held);
        }
        // Every held page has one location, which points back to it.
        let blocks = u32::try_from(drive.blocks().len()).unwrap();
        let mut shown: Vec<u32> = (0..blocks)
            .flat_map(|block| drive.page_states(block))
            .filter_map(|state| match state {
                PageState::Valid(page) => Some(page),
                PageState::Free | PageState::Invalid => None,
            })
            .collect();
        shown.sort_unstable();
        let expected = (0..).zip(&held).filter(|(_, held)| **held).map(|(page, _)| page);
        prop_assert!(expected.eq(shown));
        // The medium was told of exactly what was counted.
        let (counters, heard) = (drive.counters(), drive.medium());
        prop_assert_eq!(counters.host_pages, heard.programmed);
        prop_assert_eq!(counters.moved_pages, heard.moved);
        prop_assert_eq!(counters.erased_blocks, heard.collected);
        // The free reserve is restored after every request.
        let free = drive.blocks().filter(|block| block.state == BlockState::Free).count();
        prop_assert!(free >= settings.free_blocks_min as usize);
    }

    #[test]
    fn the_same_seed_gives_the_same_digest(((settings, power_on), requests) in drives()) {
        let run = || {
            let mut drive = Ftl::new(settings, power_on, Timeless).unwrap();
            let mut held = held_at_first(&drive, power_on);
            for request in &requests {
                submit(&mut drive, &mut held, request);
            }
            (drive.digest(), drive.counters())
        };
        prop_assert_eq!(run(), run());
    }

    /// Requests split into batches, runs or single pages produce the same drive.
    #[test]
    fn batches_runs_and_single_pages_are_equivalent(((settings, power_on), requests) in drives()) {
        let mut whole = Ftl::new(settings, power_on, Executed::default()).unwrap();
        let mut single = whole.clone();
        for request in &requests {
            match request {
                Request::Write(pages) => {
                    whole.write(pages);
                    for page in pages {
                        single.write(&[*page]);
                    }
                }
                Request::WriteRun(first, pages) => {
                    whole.write_run(*first, *pages);
                    for page in *first..first + pages {
                        single.write(&[page]);
                    }
                }
                Request::Discard(pages) => {
                    whole.discard(pages);
                    for page in pages {
                        single.discard(&[*page]);
                    }
                }
                Request::DiscardRun(first, pages) => {
                    whole.discard_run(*first, *pages);
                    for page in *first..first + pages {
                        single.discard_run(page, 1);
                    }
                }
            }
        }
        prop_assert_eq!(whole.digest(), single.digest());
        prop_assert_eq!(&whole.medium().places, &single.medium().places);
    }

    /// The victim always has the fewest valid pages of all closed blocks.
    #[test]
    fn greedy_chooses_the_block_with_fewest_valid_pages(
        ((settings, power_on), requests) in drives(),
        pages in proptest::collection::vec(any::<proptest::sample::Index>(), 300),
    ) {
        let settings = Settings { collection: Collection::Greedy, ..settings };
        let mut drive = Ftl::new(settings, power_on, Timeless).unwrap();
        let mut held = held_at_first(&drive, power_on);
        for request in &requests {
            submit(&mut drive, &mut held, request);
        }
        for page in pages {
            let best = drive
                .blocks()
                .filter(|block| block.state == BlockState::Closed)
                .map(|block| u64::from(block.valid))
                .min();
            let before = drive.counters();
            drive.write(&[u32::try_from(page.index(held.len())).unwrap()]);
            let after = drive.counters();
            if after.erased_blocks == before.erased_blocks + 1 {
                prop_assert_eq!(Some(after.moved_pages - before.moved_pages), best);
            }
        }
    }
}

fn drive(spare: f64, per_block: u32, collection: Collection, logical: u64) -> Ftl {
    let settings = Settings {
        collection,
        ..Settings::new(Geometry::new(logical, spare, per_block, 4096).unwrap())
    };
    Ftl::new(settings, PowerOn::Aged { passes: 8 }, Timeless).unwrap()
}

/// Write amplification under uniform overwrites of four times the whole drive.
fn amplification(mut drive: Ftl) -> f64 {
    let mut random = Random::new(2);
    let pages = u32::try_from(drive.geometry().logical_pages).unwrap();
    let mut batch = [0; 256];
    for _ in 0..pages / 64 {
        batch.fill_with(|| random.below_u32(pages));
        drive.write(&batch);
    }
    drive.check().unwrap();
    drive.counters().write_amplification().unwrap()
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!(
        (found / expected - 1.0).abs() < 0.005,
        "{found}, expected {expected}"
    );
}

#[test]
fn write_amplification_matches_the_papers() {
    // Desnoyers 2012 for greedy and FIFO, Van Houdt 2013 for d-choices; values computed
    // independently of this crate.
    for (collection, per_block, spare, expected) in [
        (Collection::Greedy, 256, 0.25, 2.668),
        (Collection::Greedy, 32, 0.07, 6.343),
        (Collection::Fifo, 256, 0.25, 2.693),
        (Collection::DChoices(1), 64, 0.25, 5.000),
        (Collection::DChoices(2), 64, 0.25, 3.533),
        (Collection::DChoices(10), 64, 0.25, 2.675),
    ] {
        let drive = drive(spare, per_block, collection, 1 << 18);
        println!("{collection:?} {per_block} {spare}");
        assert_close(amplification(drive), expected);
    }
}

#[test]
fn sequential_overwrites_move_nothing() {
    let geometry = Geometry::new(10_000, 0.1, 100, 4096).unwrap();
    for collection in [Collection::Greedy, Collection::Fifo] {
        let settings = Settings {
            collection,
            ..Settings::new(geometry)
        };
        let mut drive = Ftl::new(settings, PowerOn::Filled, Timeless).unwrap();
        for _ in 0..10 {
            drive.write_run(0, 10_000);
        }
        drive.check().unwrap();
        assert_eq!(drive.counters().moved_pages, 0);
        assert_eq!(drive.counters().write_amplification(), Some(1.0));
    }
}

/// Two data blocks of four pages and one kept free, worked out by hand.
#[test]
fn three_blocks_step_by_step() {
    let geometry = Geometry::new(6, 0.3, 4, 4096).unwrap();
    assert_eq!(geometry.data_blocks, 2);
    let settings = Settings {
        separate_moved: false,
        free_blocks_min: 1,
        ..Settings::new(geometry)
    };
    let mut drive = Ftl::new(settings, PowerOn::Filled, Executed::default()).unwrap();
    // 0: 0 1 2 3   1: 4 5 _ _
    let states = Ftl::<Executed>::page_states;
    assert_eq!(
        states(&drive, 1),
        [
            PageState::Valid(4),
            PageState::Valid(5),
            PageState::Free,
            PageState::Free
        ]
    );
    drive.write(&[0, 1]);
    // 0: x x 2 3   1: 4 5 0 1 (full)   2: the reserve
    assert_eq!(drive.discard(&[2, 2]), 1);
    assert_eq!(drive.counters().erased_blocks, 0);
    drive.write(&[4]);
    // Block 0 has fewer valid pages: page 3 moves to the reserve, before page 4, and block 0
    // becomes free.
    // 0: free   1: x 5 0 1   2: 3 4 _ _
    assert_eq!(drive.counters().erased_blocks, 1);
    assert_eq!(drive.counters().moved_pages, 1);
    drive.write(&[5, 0]);
    // 1: x x x 1   2: 3 4 5 0 (full)
    drive.write(&[3]);
    // Block 1 has only page 1 left, which moves to block 0, before page 3.
    // 0: 1 3 _ _   1: free   2: x 4 5 0
    assert_eq!(drive.counters().erased_blocks, 2);
    assert_eq!(drive.counters().moved_pages, 2);
    assert_eq!(
        states(&drive, 2),
        [
            PageState::Invalid,
            PageState::Valid(4),
            PageState::Valid(5),
            PageState::Valid(0)
        ]
    );
    let views: Vec<_> = drive.blocks().collect();
    assert_eq!(
        views
            .iter()
            .map(|view| (view.valid, view.erased, view.state))
            .collect::<Vec<_>>(),
        [
            (2, 1, BlockState::Open),
            (0, 1, BlockState::Free),
            (3, 0, BlockState::Closed),
        ]
    );
    // What the medium was told: host programs at their physical places.
    assert_eq!(drive.medium().places, [6, 7, 9, 10, 11, 1]);
    drive.check().unwrap();
}

type Breakage = fn(&mut Tables);

#[test]
fn the_checker_detects_corruption() {
    let geometry = Geometry::new(1000, 0.25, 32, 4096).unwrap();
    let sound = Ftl::new(
        Settings::new(geometry),
        PowerOn::Aged { passes: 3 },
        Timeless,
    )
    .unwrap();
    sound.check().unwrap();
    let breakages: [(&str, Breakage); 8] = [
        ("two pages in one place", |t| t.l2p[1] = t.l2p[2]),
        ("a page lost", |t| t.l2p[3] = NONE),
        ("a bit lost", |t| t.valid[(t.l2p[4] / 64) as usize] = 0),
        ("a count too high", |t| {
            t.count[(t.l2p[5] >> t.page_bits) as usize] += 1;
        }),
        ("a free block lost", |t| t.free.truncate(t.free.len() - 1)),
        ("a block free twice", |t| t.free.push_back(t.free[0])),
        ("mapped pages", |t| t.mapped -= 1),
        ("a candidate lost", |t| {
            let block = t.candidates.best().unwrap();
            t.candidates
                .remove(block, u32::from(t.count[block as usize]));
        }),
    ];
    for (what, breakage) in breakages {
        let mut broken = sound.clone();
        breakage(&mut broken.tables);
        assert!(broken.check().is_err(), "{what}");
    }
}

#[test]
#[should_panic(expected = "pages 990 to 1010 of a drive with 1000 pages")]
fn a_run_beyond_the_end() {
    drive(0.25, 32, Collection::Greedy, 1000).discard_run(990, 20);
}
