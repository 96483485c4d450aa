use std::collections::HashMap;

use proptest::prelude::*;

use super::churn::{Churn, ChurnWorkload};
use super::database::{Database, DatabaseWorkload, Pattern};
use super::log::{Log, LogWorkload};
use super::lsm::{Lsm, LsmTree};
use super::mix::Mix;
use super::rhythm::Rhythm;
use super::segments::{Segments, SegmentsWorkload};
use super::zipf::{Scattered, Zipf};
use super::*;
use crate::random::Random;

/// Pearson's chi-squared statistic against exact probabilities, and its degrees of freedom; cells
/// with expected counts below 10 are pooled.
#[allow(clippy::cast_precision_loss)]
fn chi_squared(counts: &[u64], probabilities: &[f64]) -> (f64, f64) {
    let draws = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells, mut pending) = (0.0, 0.0, (0.0, 0.0));
    for (&count, &probability) in counts.iter().zip(probabilities) {
        pending = (pending.0 + count as f64, pending.1 + probability * draws);
        if pending.1 >= 10.0 {
            statistic += (pending.0 - pending.1).powi(2) / pending.1;
            cells += 1.0;
            pending = (0.0, 0.0);
        }
    }
    (statistic, (cells - 1.0_f64).max(1.0))
}

/// Whether a statistic is consistent with chance: a larger one occurs less than once in a million
/// cases (Wilson and Hilferty's normal approximation, five standard deviations).
fn is_by_chance((statistic, freedom): (f64, f64)) -> bool {
    let variance = 2.0 / (9.0 * freedom);
    let z = ((statistic / freedom).cbrt() - (1.0 - variance)) / variance.sqrt();
    z < 5.0
}

fn zipf_probabilities(ranks: u32, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=ranks).map(|k| f64::from(k).powf(-exponent)).collect();
    let sum: f64 = weights.iter().rev().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

#[test]
fn zipf_is_exact() {
    for ranks in [1, 2, 3, 10, 1000, 30_000] {
        for exponent in [0.0, 0.3, 0.8, 0.99, 1.0, 1.2, 2.0, 4.0, 30.0] {
            let zipf = Zipf::new(ranks, exponent);
            let mut random = Random::new(u64::from(ranks));
            let mut counts = vec![0; ranks as usize];
            for _ in 0..400_000 {
                counts[zipf.draw(&mut random) as usize - 1] += 1;
            }
            let statistic = chi_squared(&counts, &zipf_probabilities(ranks, exponent));
            assert!(is_by_chance(statistic), "{ranks} {exponent}: {statistic:?}");
        }
    }
}

#[test]
fn the_chi_squared_test_can_fail() {
    let zipf = Zipf::new(1000, 1.0);
    let mut random = Random::new(1);
    let mut counts = vec![0; 1000];
    for _ in 0..400_000 {
        counts[zipf.draw(&mut random) as usize - 1] += 1;
    }
    let statistic = chi_squared(&counts, &zipf_probabilities(1000, 1.02));
    assert!(!is_by_chance(statistic), "{statistic:?}");
}

/// Too many ranks to count individually: grouped by powers of two, with sums by the Euler-Maclaurin
/// formula.
#[test]
fn zipf_of_four_billion_ranks_is_exact() {
    for exponent in [0.0, 0.5, 0.9, 1.0, 1.5] {
        // Sum of k^-s for k in a..b, where b is a power of 2 and a is large: the integral plus half
        // of the ends.
        let sum = |a: f64, b: f64| {
            let power = |x: f64| x.powf(-exponent);
            let integral = if (exponent - 1.0_f64).abs() < 1e-12 {
                (b / a).ln()
            } else {
                (b.powf(1.0 - exponent) - a.powf(1.0 - exponent)) / (1.0 - exponent)
            };
            integral + (power(a) - power(b)) / 2.0 + exponent * (power(a) / a - power(b) / b) / 12.0
        };
        let head: f64 = (1..1024).map(|k| f64::from(k).powf(-exponent)).sum();
        let mut weights = vec![head];
        weights.extend((10..32).map(|bit| sum(2f64.powi(bit), 2f64.powi(bit + 1))));
        let all: f64 = weights.iter().sum();
        let exact: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
        let zipf = Zipf::new(u32::MAX, exponent);
        let mut random = Random::new(3);
        let mut counts = vec![0; weights.len()];
        for _ in 0..1_000_000 {
            let rank = zipf.draw(&mut random);
            counts[(rank.max(1).ilog2() as usize).saturating_sub(9)] += 1;
        }
        let statistic = chi_squared(&counts, &exact);
        assert!(is_by_chance(statistic), "{exponent}: {statistic:?}");
    }
}

/// Counts the updates of a database by page.
fn update_counts(pattern: Pattern, pages: u32, updates: u32) -> Vec<u64> {
    let settings = Database {
        pages,
        pattern,
        write_pages: 1,
    };
    let mut updating = DatabaseWorkload::new(settings, namespace(), 5);
    while !updating.is_loaded() {
        updating.next();
    }
    let mut counts = vec![0; pages as usize];
    for _ in 0..updates {
        match updating.next() {
            Operation::Overwrite {
                offset, pages: 1, ..
            } => counts[offset as usize] += 1,
            other => panic!("{other:?}"),
        }
    }
    counts
}

#[test]
fn page_patterns_have_the_expected_frequencies() {
    let pages = 1000;
    let flat = vec![1.0 / f64::from(pages); pages as usize];
    let counts = update_counts(Pattern::Uniform, pages, 500_000);
    assert!(is_by_chance(chi_squared(&counts, &flat)));

    let counts = update_counts(Pattern::Zipf { exponent: 0.9 }, pages, 500_000);
    let places = Scattered::new(pages);
    let by_rank: Vec<u64> = (0..pages)
        .map(|rank| counts[places.page(rank) as usize])
        .collect();
    let exact = zipf_probabilities(pages, 0.9);
    assert!(is_by_chance(chi_squared(&by_rank, &exact)));

    let hot_cold = Pattern::HotCold {
        hot_share: 0.2,
        hot_traffic: 0.8,
    };
    let counts = update_counts(hot_cold, pages, 500_000);
    let exact: Vec<f64> = (0..pages)
        .map(|page| if page < 200 { 0.8 / 200.0 } else { 0.2 / 800.0 })
        .collect();
    assert!(is_by_chance(chi_squared(&counts, &exact)));

    let counts = update_counts(Pattern::Sequential, 200, 6400);
    assert!(counts.iter().all(|&count| count == 32));
}

proptest! {
    #[test]
    fn each_rank_has_its_own_page(pages in 1..3000u32) {
        let places = Scattered::new(pages);
        let mut seen = vec![false; pages as usize];
        for rank in 0..pages {
            let page = places.page(rank) as usize;
            prop_assert!(!seen[page]);
            seen[page] = true;
        }
    }
}

/// Tracks a workload's files, and panics on impossible operations.
#[derive(Default)]
struct Files {
    pages: HashMap<u32, u32>,
    live: u64,
    peak: u64,
    written: u64,
    reused: u64,
}

impl Files {
    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Create { file } => {
                assert!(self.pages.insert(file, 0).is_none(), "file {file} exists");
            }
            Operation::Append { file, pages } => {
                assert!(pages > 0);
                *self.pages.get_mut(&file).expect("exists") += pages;
                self.live += u64::from(pages);
            }
            Operation::Overwrite {
                file,
                offset,
                pages,
            }
            | Operation::Read {
                file,
                offset,
                pages,
            } => assert!(offset + pages <= self.pages[&file]),
            Operation::Delete { file } => {
                let pages = self.pages.remove(&file).expect("exists");
                assert!(pages > 0, "an empty file is deleted");
                self.live -= u64::from(pages);
                self.reused += 1;
            }
        }
        self.peak = self.peak.max(self.live);
        self.written += u64::from(operation.written_pages());
    }

    fn run(&mut self, workload: &mut dyn Workload, pages: u64) {
        let end = self.written + pages;
        while self.written < end {
            let operation = workload.next();
            self.apply(operation);
            assert!(self.live <= workload.peak_pages(), "{operation:?}");
        }
    }

    fn load(&mut self, workload: &mut dyn Workload) {
        let end = 4 * workload.peak_pages();
        while !workload.is_loaded() {
            self.apply(workload.next());
            assert!(self.written <= end, "it never loads");
        }
    }
}

fn namespace() -> Namespace {
    Namespace::default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_tree_keeps_its_size(
        space in 2000..60_000u32,
        table in 1..120u32,
        fan_out in 2..12u32,
        level0_tables in 1..8u32,
    ) {
        prop_assume!(space >= 4 * table * level0_tables);
        let settings = Lsm { space_pages: space, table_pages: table, fan_out, level0_tables };
        let mut tree = LsmTree::new(settings, namespace());
        let mut files = Files::default();
        files.load(&mut tree);
        prop_assert_eq!(files.live, tree.data_pages());
        files.run(&mut tree, 10 * u64::from(space));
        // In the steady state the files use approximately the space asked for.
        prop_assert!(files.live >= tree.data_pages());
        let slack = 3 * u64::from(table) * u64::from(level0_tables + fan_out)
            + u64::from(space) / 5;
        prop_assert!(files.live <= u64::from(space) + slack, "{} of {space}", files.live);
    }

    #[test]
    fn indices_keep_their_size(
        space in 2000..60_000u32,
        flush in 1..40u32,
        largest in 2..100u32,
        index in 2..10u32,
    ) {
        let settings = Segments {
            space_pages: space,
            flush_pages: flush,
            segment_pages_max: (flush * largest).min(space / 2),
            index_pages: (space / index).max(flush),
        };
        let mut indexing = SegmentsWorkload::new(settings, namespace());
        let mut files = Files::default();
        files.load(&mut indexing);
        files.run(&mut indexing, 10 * u64::from(space));
        prop_assert!(files.live + 2 * u64::from(settings.index_pages) + u64::from(flush)
            >= u64::from(space));
    }

    #[test]
    fn logs_and_churn_keep_their_size(
        space in 100..20_000u32, share in 2..50u32, recycled: bool, oldest_first: bool, seed: u64,
    ) {
        let file = (space / share).max(1);
        let mut log = LogWorkload::new(
            Log { space_pages: space, file_pages: file, recycled }, namespace(),
        );
        let mut files = Files::default();
        files.load(&mut log);
        files.run(&mut log, 5 * u64::from(space));
        prop_assert!(files.live + 2 * u64::from(file) > u64::from(space));
        prop_assert_eq!(files.reused == 0, recycled);

        let churn = Churn {
            space_pages: space, file_pages_min: 1, file_pages_max: file, oldest_first,
        };
        let mut churning = ChurnWorkload::new(churn, namespace(), seed);
        let mut files = Files::default();
        files.load(&mut churning);
        files.run(&mut churning, 5 * u64::from(space));
        prop_assert!(files.peak + 2 * u64::from(file) > u64::from(space));
    }

    /// The same seed gives the same operations, another seed different ones.
    #[test]
    fn operations_depend_only_on_the_seed(seed: u64) {
        let churn = Churn {
            space_pages: 5000, file_pages_min: 1, file_pages_max: 500, oldest_first: false,
        };
        let work = |seed| {
            let mut churning = ChurnWorkload::new(churn, namespace(), seed);
            (0..300).map(|_| churning.next()).collect::<Vec<_>>()
        };
        prop_assert_eq!(work(seed), work(seed));
        prop_assert_ne!(work(seed), work(seed.wrapping_add(1)));
    }
}

/// Leveled compaction rewrites a table together with the tables of the next level that it overlaps,
/// about the ratio of the two levels. Flushed data costs itself, its merge with all of level 1, and
/// that ratio again for each further level.
#[test]
fn compaction_write_amplification_matches_theory() {
    for (fan_out, depth) in [(4, 5), (10, 3), (20, 3)] {
        let settings = Lsm {
            space_pages: 100_000,
            table_pages: 32,
            fan_out,
            level0_tables: 4,
        };
        let mut tree = LsmTree::new(settings, namespace());
        let mut files = Files::default();
        files.load(&mut tree);
        files.run(&mut tree, 1_000_000);
        let (written, flushed) = (files.written, tree.flushed_pages());
        files.run(&mut tree, 4_000_000);
        #[allow(clippy::cast_precision_loss)]
        let amplification =
            (files.written - written) as f64 / (tree.flushed_pages() - flushed) as f64;
        assert_eq!(tree.levels(), depth, "{fan_out}");
        // Targets from the last level up; a share of the data passed down replaces existing data.
        let fan = f64::from(fan_out);
        #[allow(clippy::cast_precision_loss)]
        let data = tree.data_pages() as f64;
        let mut share = fan.powi(1 - i32::try_from(depth).unwrap());
        let level0 = 4.0 * 32.0;
        // The part of a page left when it leaves level 0, level 1 ...
        let mut expected = 1.0 + (share * data) / level0 + (1.0 - share);
        let mut left = 1.0 - share;
        for _ in 1..depth {
            share *= fan;
            expected += left * (fan + 1.0 + (1.0 - share));
            left *= 1.0 - share;
        }
        assert!(
            (amplification / expected - 1.0).abs() < 0.15,
            "{fan_out}: {amplification} {expected}"
        );
    }
}

#[test]
fn updates_stay_in_their_file() {
    for pattern in [
        Pattern::Uniform,
        Pattern::Zipf { exponent: 0.9 },
        Pattern::HotCold {
            hot_share: 0.1,
            hot_traffic: 0.9,
        },
        Pattern::Sequential,
    ] {
        for write_pages in [1, 7, 1000] {
            let settings = Database {
                pages: 1000,
                pattern,
                write_pages,
            };
            let mut updating = DatabaseWorkload::new(settings, namespace(), 3);
            let mut files = Files::default();
            files.load(&mut updating);
            assert_eq!(files.live, 1000);
            files.run(&mut updating, 20_000);
            assert_eq!(files.live, 1000);
        }
    }
}

#[test]
fn a_mix_respects_shares_and_file_numbers() {
    let part = |offset| Namespace {
        offset,
        stride: 2,
        ..namespace()
    };
    let log = Log {
        space_pages: 1000,
        file_pages: 100,
        recycled: false,
    };
    let database = Database {
        pages: 3000,
        pattern: Pattern::Uniform,
        write_pages: 1,
    };
    let mut mix = Mix::new(vec![
        (
            1.0,
            Box::new(LogWorkload::new(log, part(0))) as Box<dyn Workload + Send>,
        ),
        (4.0, Box::new(DatabaseWorkload::new(database, part(1), 3))),
    ]);
    let mut files = Files::default();
    files.load(&mut mix);
    let (mut log_pages, mut database_pages) = (0, 0);
    for _ in 0..100_000 {
        let operation = mix.next();
        files.apply(operation);
        match operation {
            Operation::Append { pages, file } => {
                assert_eq!(file % 2, 0);
                log_pages += pages;
            }
            Operation::Overwrite { pages, .. } => database_pages += pages,
            _ => {}
        }
    }
    assert!(database_pages.abs_diff(4 * log_pages) <= 5 * 64);
}

#[test]
fn rhythm_factors_average_one() {
    let mut hours = [1.0; 24];
    hours[9] = 5.0;
    let workdays = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.25];
    for rhythm in [
        Rhythm::STEADY,
        Rhythm::new(hours, workdays).unwrap(),
        Rhythm::daily(14, 0.2).unwrap(),
    ] {
        let mean = (0..168).map(|hour| rhythm.factor(hour)).sum::<f64>() / 168.0;
        assert!((mean - 1.0).abs() < 1e-12, "{mean}");
        assert!((rhythm.factor(30) - rhythm.factor(30 + 168)).abs() < 1e-12);
    }
    let rhythm = Rhythm::new(hours, workdays).unwrap();
    assert!((rhythm.factor(9) / rhythm.factor(8) - 5.0).abs() < 1e-12);
    assert!(rhythm.factor(5 * 24 + 9) < 1e-12, "nothing on Saturday");
    let daily = Rhythm::daily(14, 0.2).unwrap();
    assert!((daily.factor(2) / daily.factor(14) - 0.2).abs() < 1e-12);
    assert!(Rhythm::daily(24, 0.5).is_err() && Rhythm::daily(0, 1.5).is_err());
    assert!(Rhythm::new([0.0; 24], [1.0; 7]).is_err());
    assert!(Rhythm::new([f64::NAN; 24], [1.0; 7]).is_err());
}
