use super::super::{BenchAnswer, page as page_of};
use super::*;
use crate::envelope::Envelope;
use bench::compare::{Metric, MetricKey, Options, Trial, TrialSet, compare};
use facts::series::Better;
use jiff::Timestamp;
use page::{Terminal, html, terminal};

/// Sizes in bytes, and times of all queries in seconds.
fn outcome(variants: &[(&str, [f64; 3], [f64; 3])]) -> Outcome {
    let sets: Vec<TrialSet> = variants
        .iter()
        .map(|(name, sizes, times)| TrialSet {
            name: (*name).to_owned(),
            trials: sizes
                .iter()
                .zip(times)
                .map(|(size, time)| {
                    let metric = |value: f64, unit| {
                        Metric::scalar(value, Some(unit), Better::Lower, Rank::Primary)
                    };
                    Trial {
                        metrics: [
                            (MetricKey::new("size", "on the drive"), metric(*size, "B")),
                            (MetricKey::new("query", "mean time"), metric(*time, "s")),
                        ]
                        .into(),
                        ..Trial::default()
                    }
                })
                .collect(),
        })
        .collect();
    let options = Options {
        pools_spread: true,
        ..Options::default()
    };
    let mean = |values: &[f64; 3]| values.iter().sum::<f64>() / 3.0;
    let base = mean(&variants[0].1);
    Outcome {
        server: "Elasticsearch 6.8.23".to_owned(),
        disk: "a loop device of 6 GiB in /var/tmp".to_owned(),
        kernel: Some("6.1.0-41-amd64".to_owned()),
        same_segments: false,
        larger_than_memory: false,
        runs: Vec::new(),
        variants: variants
            .iter()
            .map(|(name, sizes, times)| VariantMeans {
                variant: (*name).to_owned(),
                runs: 3,
                filesystem_bytes: mean(sizes),
                of_baseline: mean(sizes) / base,
                store_bytes: base,
                documents_per_s: Some(8_000.0),
                query_s: Some(mean(times)),
                query_cached_s: Some(0.5),
                query_while_ingesting_s: None,
                read_bytes: Some(0.0),
                start_read_bytes_min: Some(48 << 20),
                ..VariantMeans::default()
            })
            .collect(),
        comparison: Some(compare(&sets, &options).unwrap()),
        notes: Vec::new(),
        scatters: variants
            .iter()
            .map(|(name, _, times)| Scatter {
                variant: (*name).to_owned(),
                latencies_s: times.to_vec(),
            })
            .collect(),
        courses: vec![Course {
            figure: Figure::CpuUser,
            curves: vec![("xfs".to_owned(), vec![(0.0, 0.2), (1.0, 0.9)])],
        }],
    }
}

fn text(outcome: Outcome) -> String {
    terminal(&page(outcome, true), &Terminal::default())
}

fn page(outcome: Outcome, is_brief: bool) -> Page {
    let answer = BenchAnswer::Filesystems(Box::new(outcome));
    let envelope = Envelope::new(
        "0.1.0",
        Timestamp::UNIX_EPOCH,
        "Elasticsearch 6.8.23 on xfs and others",
        answer,
    );
    page_of(&envelope, is_brief)
}

const GB: f64 = 1e9;

#[test]
fn the_table_comes_with_what_differs_and_what_does_not() {
    let outcome = outcome(&[
        ("xfs", [GB, 1.001 * GB, 0.999 * GB], [3.0, 3.01, 2.99]),
        ("btrfs", [GB, 1.0 * GB, 1.001 * GB], [3.0, 3.02, 2.99]),
        (
            "btrfs:zstd",
            [0.66 * GB, 0.661 * GB, 0.659 * GB],
            [4.5, 4.52, 4.48],
        ),
    ]);
    let text = text(outcome);
    assert!(
        text.starts_with("On Elasticsearch 6.8.23, btrfs:zstd takes 0.66 times the space of xfs."),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn a_small_difference_gets_the_decimals_that_show_it() {
    let text = text(outcome(&[
        ("xfs", [GB, 1.0001 * GB, 0.9999 * GB], [3.0, 3.01, 2.99]),
        (
            "btrfs",
            [1.003 * GB, 1.0031 * GB, 1.0029 * GB],
            [3.0, 3.02, 2.99],
        ),
        (
            "ext4",
            [1.05 * GB, 1.051 * GB, 1.049 * GB],
            [3.0, 3.02, 2.99],
        ),
    ]));
    assert!(text.contains("btrfs 1.003 (1.00"), "{text}");
    assert!(!text.contains("1.00 (1.00 to 1.00)"), "{text}");
    assert!(text.contains("ext4 1.05 (1.0"), "{text}");
}

#[test]
fn runs_that_scatter_tell_nothing() {
    let outcome = outcome(&[
        ("xfs", [GB, GB, GB], [3.0, 4.0, 5.0]),
        ("ext4", [GB, GB, GB], [5.0, 3.0, 4.0]),
    ]);
    assert_eq!(
        page(outcome.clone(), true).lead,
        "On Elasticsearch 6.8.23, no variant takes less space than xfs. No difference between their queries is shown."
    );
    let text = text(outcome);
    assert!(text.contains("What these runs cannot tell"), "{text}");
}

#[test]
fn a_server_that_was_not_cold_is_a_caution() {
    let mut outcome = outcome(&[
        ("xfs", [GB, GB, GB], [3.0, 3.1, 3.2]),
        ("ext4", [GB, GB, GB], [3.0, 3.1, 3.2]),
    ]);
    outcome.variants[1].start_read_bytes_min = Some(0);
    outcome.larger_than_memory = true;
    // As much as the index takes.
    outcome.variants[0].read_bytes = Some(1e9);
    let cautions = page(outcome, true).cautions;
    assert!(cautions[0].contains("a server on ext4"), "{cautions:?}");
    assert!(
        cautions[1].contains("queries on ext4 read less than a tenth of the index"),
        "{cautions:?}"
    );
}

#[test]
fn a_browser_gets_every_query_and_the_time_courses() {
    let outcome = outcome(&[
        ("xfs", [GB, GB, GB], [3.0, 3.1, 3.2]),
        ("ext4", [GB, GB, GB], [3.0, 3.1, 3.2]),
    ]);
    let html = html(&page(outcome, false));
    assert!(html.contains("Time of each query"));
    assert!(html.contains("CPU time in user space"));
}
