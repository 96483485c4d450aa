//! Page of `trimtab bench trim`: whether throughput falls without trims, and whether it stays with them.

use crate::views::phrases::cell;
use crate::views::ssd::SCENARIO_LABEL;
use experiments::trims::{Arm, ArmRun, Drive, Outcome, Trims};
use page::chart::{Axis, Curve, Format, LineChart, Scale};
use page::{Facts, Page, Table};

/// What the interval does not hold.
const ONE_AFTER_THE_OTHER: &str = "each arm ran once, one after the other: a drift of the machine looks like an effect of \
    trims, and the interval does not contain it";

pub(super) fn page(outcome: &Outcome, is_brief: bool) -> Page {
    let mut page = Page::new("trimtab bench trim", lead(outcome));
    match &outcome.drive {
        Drive::Device(_) => page.cautions.push(ONE_AFTER_THE_OTHER.to_owned()),
        Drive::Image(_) => page.cautions.extend([
            ONE_AFTER_THE_OTHER.to_owned(),
            "a loop device is no SSD: its discards punch holes in a file, and what changes is the filesystem below; \
             --device measures a drive, --model simulates one"
                .to_owned(),
        ]),
        Drive::Model => page.cautions.push(SCENARIO_LABEL.to_owned()),
    }
    page.push(table(&outcome.arms));
    page.push(facts(outcome));
    if !is_brief {
        page.push(chart(&outcome.arms));
    }
    page
}

fn arm(outcome: &Outcome, trims: Trims) -> Option<&Arm> {
    outcome.arms.iter().find(|arm| arm.trims == trims)
}

/// `Without trims, throughput is 0.56 times that with a trim before each run (0.54 to 0.57): it goes from 711 to 395 MB/s
/// over 10 runs, against 711 to 707 MB/s with trims.`
fn lead(outcome: &Outcome) -> String {
    let (once, each) = (arm(outcome, Trims::Once), arm(outcome, Trims::BeforeEach));
    let Some(once) = once else {
        return "Neither arm completed.".to_owned();
    };
    let course = |arm: &Arm| {
        let ends = arm.runs.first().zip(arm.runs.last());
        ends.map_or_else(
            || "no runs".to_owned(),
            |(first, last)| {
                format!(
                    "{} to {} MB/s",
                    units::number(first.measured.mb_s),
                    units::number(last.measured.mb_s)
                )
            },
        )
    };
    let runs = units::count(once.runs.len() as u64, "run");
    let (Some(each), Some(effect)) = (each, outcome.effect) else {
        return format!(
            "With {}, throughput goes from {} over {runs}.",
            Trims::Once.label(),
            course(once)
        );
    };
    let interval = format!("({:.2} to {:.2})", effect.low, effect.high);
    let courses = format!(
        "it goes from {} over {runs}, against {} with trims",
        course(once),
        course(each)
    );
    if effect.is_shown() {
        format!(
            "Without trims, throughput is {:.2} times that with a trim before each run {interval}: {courses}.",
            effect.ratio
        )
    } else {
        format!(
            "These runs show no effect of trimming: throughput without trims is {:.2} times that with them {interval}; \
             {courses}.",
            effect.ratio
        )
    }
}

/// A row for each run, with both arms.
fn table(arms: &[Arm]) -> Table {
    let has_amplification = arms
        .iter()
        .flat_map(|arm| &arm.runs)
        .any(|run| run.write_amplification.is_some());
    let mut columns = vec!["run".to_owned()];
    for arm in arms {
        let name = match arm.trims {
            Trims::Once => "trimmed once",
            Trims::BeforeEach => "trimmed each time",
        };
        columns.push(format!("MB/s, {name}"));
        columns.push(format!("p99, {name}"));
        if has_amplification {
            columns.push(format!("write amplification, {name}"));
        }
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "Throughput, and 99th percentile of random writes";
    let mut table = Table::titled(title, &columns);
    let runs = arms.iter().map(|arm| arm.runs.len()).max().unwrap_or(0);
    for number in 0..runs {
        let mut row = vec![(number + 1).to_string()];
        for arm in arms {
            row.extend(cells(arm.runs.get(number), has_amplification));
        }
        table.row(row);
    }
    table
}

fn cells(run: Option<&ArmRun>, has_amplification: bool) -> Vec<String> {
    let mut cells = vec![
        cell(run, |run| units::number(run.measured.mb_s)),
        cell(run, |run| units::seconds(run.measured.p99_s)),
    ];
    if has_amplification {
        let value = run.and_then(|run| run.write_amplification);
        cells.push(cell(value, units::number));
    }
    cells
}

#[allow(clippy::cast_precision_loss)] // a number of runs
fn facts(outcome: &Outcome) -> Facts {
    let mut facts = Facts::default();
    let drive = match &outcome.drive {
        Drive::Device(path) => path.clone(),
        Drive::Image(folder) => format!("a loop device over a file in {folder}"),
        Drive::Model => "a simulated drive of 1 TB, half of which holds other data".to_owned(),
    };
    facts.push("drive", drive);
    facts.push_each("trimmed by", &outcome.trimmer);
    for arm in &outcome.arms {
        let trims: Vec<f64> = arm.runs.iter().filter_map(|run| run.trim_s).collect();
        let bytes: Option<u64> = arm
            .runs
            .iter()
            .filter_map(|run| run.trimmed_bytes)
            .reduce(u64::saturating_add);
        if let Some(bytes) = bytes {
            let mean_s = trims.iter().sum::<f64>() / trims.len().max(1) as f64;
            let (bytes, mean) = (units::bytes(bytes), units::seconds(mean_s));
            facts.push(
                arm.trims.label(),
                format!("{bytes} discarded, {mean} a trim"),
            );
        }
    }
    facts
}

fn chart(arms: &[Arm]) -> LineChart {
    LineChart {
        title: "Throughput, run by run".to_owned(),
        x: Axis::new("run", Scale::Count),
        y_label: "MB/s".to_owned(),
        y_format: Format::Number,
        y_from: Some(0.0),
        curves: arms
            .iter()
            .map(|arm| {
                let points = (1..).zip(&arm.runs);
                Curve::line(
                    arm.trims.label(),
                    points.map(|(number, run)| (f64::from(number), run.measured.mb_s)),
                )
            })
            .collect(),
        lists_all: true,
        ..LineChart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiments::trims::Iteration;

    fn arm(trims: Trims, mb_s: &[f64]) -> Arm {
        Arm {
            trims,
            runs: mb_s
                .iter()
                .map(|mb_s| ArmRun {
                    measured: Iteration {
                        mb_s: *mb_s,
                        p99_s: 0.002,
                        ..Iteration::default()
                    },
                    trim_s: None,
                    trimmed_bytes: None,
                    write_amplification: None,
                })
                .collect(),
        }
    }

    fn lead_of(once: &[f64], each: &[f64]) -> String {
        let arms = vec![arm(Trims::Once, once), arm(Trims::BeforeEach, each)];
        let drive = Drive::Device("/dev/nvme1n1".to_owned());
        let outcome = Outcome::new(drive, Some("fstrim".to_owned()), arms);
        page(&outcome, true).lead
    }

    #[test]
    fn a_fall_and_its_absence_are_told_apart() {
        assert_eq!(
            lead_of(&[700.0, 400.0, 404.0, 396.0], &[701.0, 700.0, 702.0, 698.0]),
            "Without trims, throughput is 0.57 times that with a trim before each run (0.56 to 0.58): it goes from 700 to \
             396 MB/s over 4 runs, against 701 to 698 MB/s with trims."
        );
        let same = lead_of(&[700.0, 690.0, 710.0, 700.0], &[701.0, 700.0, 702.0, 698.0]);
        assert!(
            same.starts_with("These runs show no effect of trimming"),
            "{same}"
        );
    }
}
