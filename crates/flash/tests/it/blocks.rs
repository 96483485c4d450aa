//! The block-mapped drive: the article's figures, and random operations compared with an
//! independent oracle.

use std::collections::{BTreeMap, BTreeSet};

use flash::block_mapped::{
    Action, BlockMapped, Counters, Host, Operation, Page, Shape, five_pages,
};
use flash::random::Random;

/// "To write the 12 KB of file C, 12 KB have to be read first, and 20 KB written"; with A trimmed,
/// only B is read. Computed from the drive's counters and its page size.
#[test]
fn the_articles_figures() {
    for (trims, read_kb) in [(false, 12), (true, 8)] {
        let entries = five_pages(trims).expect("the example");
        let write_c = entries.last().expect("C");
        assert_eq!(write_c.operation.to_string(), "write C (3 pages)");
        let kb = |pages: u64| pages * 4096 / 1024;
        assert_eq!(kb(write_c.cost.host_pages), 12);
        assert_eq!(kb(write_c.cost.read_pages), read_kb, "trims: {trims}");
        assert_eq!(kb(write_c.cost.programmed_pages), 20);
        assert_eq!(write_c.cost.erased_blocks, 1);
        // Before that, nothing was read, and only the host's data was written.
        for entry in &entries[..3] {
            assert_eq!(entry.cost.read_pages + entry.cost.erased_blocks, 0);
            assert_eq!(entry.cost.programmed_pages, entry.cost.host_pages);
        }
        assert_eq!(entries[2].cost.discarded_pages, u64::from(trims));
    }
}

/// An oracle for the cost of a sequence of operations, using only sets.
///
/// For one block, and one request for the pages P of it, let H be the pages the drive considers
/// valid, and T those programmed since the last erase (H is a subset of T):
/// - no page of P is in T: P is programmed. Read 0, programmed |P|, no erase; H and T grow by P.
/// - otherwise: read |H|; one erase; programmed |H or P|; then H = T = H or P.
///
/// A discard of D removes D from H and leaves T unchanged. In the article T = H = {0, 1, 2}, and P
/// = {0, 3, 4} conflicts with T at 0: read 3, programmed 5. With A discarded H = {1, 2}: read 2,
/// programmed 5.
///
/// The host takes the lowest pages not in any file, and frees them on deletion, whether or not the
/// drive is told.
struct Oracle {
    pages_per_block: u32,
    pages: u32,
    trims: bool,
    held: BTreeSet<u32>,
    touched: BTreeSet<u32>,
    files: BTreeMap<String, BTreeSet<u32>>,
}

impl Oracle {
    fn apply(&mut self, operation: &Operation) -> Counters {
        match operation {
            Operation::Write { file, pages } => {
                let used: BTreeSet<u32> = self.files.values().flatten().copied().collect();
                let free = (0..self.pages).filter(|page| !used.contains(page));
                let place: BTreeSet<u32> = free.take(*pages as usize).collect();
                self.files.insert(file.clone(), place.clone());
                self.write(&place)
            }
            Operation::Overwrite { file } => self.write(&self.files[file].clone()),
            Operation::Delete { file } => {
                let place = self.files.remove(file).expect("a file that there is");
                let mut cost = Counters::default();
                if self.trims {
                    cost.discarded_pages = self.held.intersection(&place).count() as u64;
                    self.held = &self.held - &place;
                }
                cost
            }
        }
    }

    fn write(&mut self, place: &BTreeSet<u32>) -> Counters {
        let mut cost = Counters {
            host_pages: place.len() as u64,
            ..Counters::default()
        };
        for block in 0..self.pages / self.pages_per_block {
            let first = block * self.pages_per_block;
            let within = |set: &BTreeSet<u32>| -> BTreeSet<u32> {
                set.range(first..first + self.pages_per_block)
                    .copied()
                    .collect()
            };
            let (p, h, t) = (within(place), within(&self.held), within(&self.touched));
            let programmed = if p.is_disjoint(&t) {
                p
            } else {
                cost.read_pages += h.len() as u64;
                cost.erased_blocks += 1;
                self.touched = &self.touched - &t;
                &h | &p
            };
            cost.programmed_pages += programmed.len() as u64;
            self.held.extend(&programmed);
            self.touched.extend(&programmed);
        }
        cost
    }
}

/// Draws an operation that is possible with these files and free pages.
fn draw(random: &mut Random, files: &[(String, u32)], free: u32, next: u32) -> Operation {
    loop {
        let existing = |random: &mut Random| {
            #[allow(clippy::cast_possible_truncation)] // an index
            let index = random.below(files.len() as u64) as usize;
            files[index].0.clone()
        };
        match random.below(4) {
            0 if !files.is_empty() => {
                return Operation::Delete {
                    file: existing(random),
                };
            }
            1 if !files.is_empty() => {
                return Operation::Overwrite {
                    file: existing(random),
                };
            }
            2 | 3 if free > 0 => {
                #[allow(clippy::cast_possible_truncation)] // at most 6
                let pages = random.below(u64::from(free.min(6))) as u32 + 1;
                return Operation::Write {
                    file: format!("f{next}"),
                    pages,
                };
            }
            _ => {}
        }
    }
}

#[test]
fn random_operations_match_the_oracle() {
    let (mut rewrites, mut saved) = (0, 0);
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut below = |bound: u64| u32::try_from(random.below(bound)).expect("small");
        let shape = Shape {
            page_bytes: 4096,
            pages_per_block: 2 + below(9),
            blocks: 1 + below(4),
        };
        let pages = shape.pages_per_block * shape.blocks;
        let mut hosts = [false, true].map(|trims| {
            let host = Host::new(shape, trims).expect("a drive");
            let oracle = Oracle {
                pages_per_block: shape.pages_per_block,
                pages,
                trims,
                held: BTreeSet::new(),
                touched: BTreeSet::new(),
                files: BTreeMap::new(),
            };
            (host, oracle)
        });
        let mut files: Vec<(String, u32)> = Vec::new();
        for next in 0..60 {
            let used: u32 = files.iter().map(|(_, pages)| pages).sum();
            let operation = draw(&mut random, &files, pages - used, next);
            match &operation {
                Operation::Write { file, pages } => files.push((file.clone(), *pages)),
                Operation::Delete { file } => files.retain(|(name, _)| name != file),
                Operation::Overwrite { .. } => {}
            }
            let mut read = [0; 2];
            for ((host, oracle), read) in hosts.iter_mut().zip(&mut read) {
                let entry = host.apply(&operation).expect("possible");
                let expected = oracle.apply(&operation);
                assert_eq!(entry.cost, expected, "seed {seed}, {next}: {operation}");
                *read = expected.read_pages;
                rewrites += expected.erased_blocks;
                whole_files(host, oracle);
            }
            saved += read[0].saturating_sub(read[1]);
        }
    }
    // The random sequences must exercise rewrites and trims that save work.
    assert!(rewrites > 200 && saved > 100, "{rewrites} {saved}");
}

/// Each file's pages are valid to the drive and hold a single file's data; host and oracle agree on
/// where everything is.
fn whole_files(host: &Host, oracle: &Oracle) {
    let drive = host.drive();
    let np = oracle.pages_per_block;
    for (name, place) in &oracle.files {
        let found: BTreeSet<u32> = host.file(name).expect(name).iter().copied().collect();
        assert_eq!(found, *place);
        let contents: BTreeSet<u32> = place
            .iter()
            .map(|page| match drive.block(page / np)[(page % np) as usize] {
                Page::Valid(data) => data,
                other => panic!("{name}, page {page}: {other:?}"),
            })
            .collect();
        assert_eq!(contents.len(), 1, "{name}");
    }
    for page in 0..oracle.pages {
        let found = drive.block(page / np)[(page % np) as usize];
        let expected = (oracle.held.contains(&page), oracle.touched.contains(&page));
        let held = matches!(found, Page::Valid(_));
        assert_eq!((held, found != Page::Erased), expected, "page {page}");
    }
}

/// Cases worked out by hand on other drives than the article's: pages written, pages discarded and
/// a request; expected pages read, pages programmed and blocks erased by the request.
#[test]
fn cases_worked_out_by_hand() {
    type Case = (
        &'static str,
        u32,
        &'static [&'static [u32]],
        &'static [u32],
        &'static [u32],
        [u64; 3],
    );
    let cases: [Case; 6] = [
        // 0 and 1 hold data, and 1 conflicts: both are read, 1 and 2 are new, so 0, 1 and 2 are
        // programmed.
        ("one in the way", 4, &[&[0, 1]], &[], &[1, 2], [2, 3, 1]),
        // The whole block is overwritten, but still read.
        (
            "a whole block",
            4,
            &[&[0, 1, 2, 3]],
            &[],
            &[0, 1, 2, 3],
            [4, 4, 1],
        ),
        // All of it is discarded: nothing to read or save, but an erase.
        (
            "all discarded",
            4,
            &[&[0, 1, 2, 3]],
            &[0, 1, 2, 3],
            &[2],
            [0, 1, 1],
        ),
        // Erased pages need no erase, however full the rest is.
        ("room left", 4, &[&[0, 1, 2]], &[], &[3], [0, 1, 0]),
        // Blocks of two: 1 conflicts with data in block 0 (0 and 1 read, two programmed), 2 is
        // erased.
        ("two blocks", 2, &[&[0, 1]], &[], &[1, 2], [2, 3, 1]),
        // The same with page 0 discarded: only 1 is read, and 0 is not programmed again.
        (
            "two blocks, one page discarded",
            2,
            &[&[0, 1]],
            &[0],
            &[1, 2],
            [1, 2, 1],
        ),
    ];
    for (name, pages_per_block, before, discarded, request, expected) in cases {
        let shape = Shape {
            page_bytes: 512,
            pages_per_block,
            blocks: 4,
        };
        let mut drive = BlockMapped::new(shape).expect("a drive");
        for pages in before {
            drive.write(pages, 1).expect("in range");
        }
        drive.discard(discarded).expect("in range");
        let earlier = *drive.counters();
        let steps = drive.write(request, 2).expect("in range");
        let cost = drive.counters().since(&earlier);
        let found = [cost.read_pages, cost.programmed_pages, cost.erased_blocks];
        assert_eq!(found, expected, "{name}");
        // The steps add up to the counters.
        let logged = |action: Action| -> u64 {
            let of = steps.iter().filter(|step| step.action == action);
            of.map(|step| step.pages.len() as u64).sum()
        };
        assert_eq!(logged(Action::Read), cost.read_pages, "{name}");
        assert_eq!(logged(Action::Program), cost.programmed_pages, "{name}");
    }
}
