//! Result and page of `trimtab ssd sweep`: write amplification by spare area, fill, trim schedule
//! and policy.

use super::figures::{SCENARIO_LABEL, amplification, rate};
use super::scenario::cell_names;
use super::sweep_axes::{Axis, SETTINGS, Setting, axes, words};
use super::sweep_row::SweepRow;
use super::words::{is_as_asked, spare};
use crate::views::phrases::words_if;
use page::chart::{self, Curve, HeatCell, HeatGrid, HeatPanel, LineChart, Scale};
use page::{Facts, Page, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;
use units::count::grouped_usize;

/// Result of a sweep.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SweepAnswer {
    /// `sweep`.
    #[schemars(extend("const" = "sweep"))]
    kind: &'static str,
    /// Label that states how reliable the numbers are.
    label: &'static str,
    /// Summary: the common settings, and the best and the worst combination.
    sentence: String,
    /// One row per combination, with the last list varying fastest.
    rows: Vec<SweepRow>,
    /// Description of the common settings.
    #[serde(skip)]
    common: String,
    /// Description of the best and the worst combination.
    #[serde(skip)]
    extremes: String,
    /// Column names of [`SweepRow::cells`].
    #[serde(skip)]
    cell_names: Vec<&'static str>,
}

impl SweepAnswer {
    /// Builds a result, with or without reads. `load` describes the workload and the drives.
    pub fn new(load: &str, rows: Vec<SweepRow>, reads: bool) -> Self {
        let (axes, common) = axes(&rows);
        let common = [vec![load.to_owned()], common].concat().join(", ");
        let extremes = extremes(&rows, &axes);
        Self {
            kind: "sweep",
            label: SCENARIO_LABEL,
            sentence: format!("{common}. {extremes}"),
            rows,
            common,
            extremes,
            cell_names: cell_names(reads).to_vec(),
        }
    }
}

/// Describes the best and the worst combination.
fn extremes(rows: &[SweepRow], axes: &[Axis]) -> String {
    let known = || rows.iter().filter(|row| row.write_amplification.is_some());
    let by_value = |a: &&SweepRow, b: &&SweepRow| {
        let value = |row: &SweepRow| row.write_amplification.unwrap_or(f64::NAN);
        value(a).total_cmp(&value(b))
    };
    let (Some(best), Some(worst)) = (known().min_by(by_value), known().max_by(by_value)) else {
        return "Nothing was written.".to_owned();
    };
    let value = |row: &SweepRow| row.write_amplification.map_or(String::new(), amplification);
    if axes.is_empty() {
        return format!("Write amplification is {}.", value(best));
    }
    let describe = |row: &SweepRow| format!("{} with {}", value(row), words(row, axes));
    format!(
        "Of {} settings, the best has a write amplification of {}; the worst of {}.",
        rows.len(),
        describe(best),
        describe(worst)
    )
}

/// Maximum number of rows in a grid or table; more would be unreadable.
const SHOWN_MAX: usize = 500;
/// Minimum number of values for a curve.
const CURVE_MIN: usize = 3;

/// Builds the page of a sweep. A brief one has the table of all rows, and a grid only if a single
/// one is enough.
pub fn sweep(answer: &SweepAnswer, brief: bool) -> Page {
    let (axes, _) = axes(&answer.rows);
    let mut page = Page {
        about: vec![answer.common.clone(), answer.label.to_owned()],
        cautions: failures(answer, &axes),
        ..Page::new("Which settings are enough", &answer.extremes)
    };
    page.cautions.truncate(SHOWN_MAX);
    let is_cut = !brief && answer.rows.len() > SHOWN_MAX;
    if is_cut {
        page.cautions.push(format!(
            "{} settings are too many for a grid, and the table has the first {SHOWN_MAX} only: \
             --format json has all",
            grouped_usize(answer.rows.len())
        ));
    } else {
        match axes.as_slice() {
            [only] if only.setting.share.is_some() && only.values.len() >= CURVE_MIN => {
                page.push(curve(answer, only));
            }
            [] | [_] | [_, _] => page.push(grid(answer, &axes)),
            _ if brief => {}
            _ => page.push(grid(answer, &axes)),
        }
    }
    let rows_max = if is_cut { SHOWN_MAX } else { usize::MAX };
    page.push(table(answer, &axes, rows_max));
    let mut rounded = rounded(answer);
    rounded.truncate(SHOWN_MAX);
    if !rounded.is_empty() {
        let notes = rounded.into_iter().map(|words| ("note", words));
        page.push(Facts::of(notes));
    }
    page
}

/// Returns why rows have no numbers, each reason once.
fn failures(answer: &SweepAnswer, axes: &[Axis]) -> Vec<String> {
    let mut reasons: Vec<(&str, String, usize)> = Vec::new();
    for row in &answer.rows {
        let Some(error) = row.error.as_deref() else {
            continue;
        };
        match reasons.iter_mut().find(|(reason, _, _)| *reason == error) {
            Some((_, _, more)) => *more += 1,
            None => reasons.push((error, words(row, axes), 0)),
        }
    }
    let describe = |(reason, first, more): (&str, String, usize)| match more {
        0 => format!("not simulated: {first}: {reason}"),
        more => format!("not simulated: {first}, and {more} more: {reason}"),
    };
    reasons.into_iter().map(describe).collect()
}

/// Describes spare areas that were rounded to whole blocks, each once.
fn rounded(answer: &SweepAnswer) -> Vec<String> {
    let mut seen = HashSet::new();
    let words = answer.rows.iter().filter_map(|row| {
        let (asked, built) = (row.over_provisioning, row.over_provisioning_built?);
        (!is_as_asked(asked, built)).then(|| spare(asked, built))
    });
    words.filter(|words| seen.insert(words.clone())).collect()
}

/// Builds a table with one row per combination; the settings that vary come first.
fn table(answer: &SweepAnswer, axes: &[Axis], rows_max: usize) -> Table {
    let settings: Vec<&Setting> = if axes.is_empty() {
        vec![&SETTINGS[0]]
    } else {
        axes.iter().map(|axis| axis.setting).collect()
    };
    let mut columns: Vec<String> = settings
        .iter()
        .map(|setting| format!("<{}", setting.name))
        .collect();
    columns.extend(answer.cell_names.iter().map(|&name| name.to_owned()));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(&columns);
    for row in answer.rows.iter().take(rows_max) {
        let values = settings.iter().map(|setting| (setting.of)(row));
        table.row(values.chain(row.cells.iter().cloned()));
    }
    table
}

/// Builds the chart of write amplification over the only setting that varies.
fn curve(answer: &SweepAnswer, axis: &Axis) -> LineChart {
    let at = |row: &SweepRow| axis.setting.share.map(|share| share(row));
    let rows = answer.rows.iter();
    let mut points: Vec<(f64, f64)> = rows
        .filter_map(|row| Some((at(row)? * 100.0, row.write_amplification?)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    LineChart {
        title: TITLE.to_owned(),
        x: chart::Axis::new(format!("{}, %", axis.setting.name), Scale::Number),
        y_label: TITLE.to_lowercase(),
        y_from: Some(1.0),
        curves: vec![Curve::line("simulated", points)],
        ..LineChart::default()
    }
}

/// Title of charts and grids.
const TITLE: &str = "Write amplification";

/// Builds the grid: the first varying setting is horizontal, the second vertical, the others select
/// the panel.
fn grid(answer: &SweepAnswer, axes: &[Axis]) -> HeatGrid {
    let alone = Axis {
        setting: &SETTINGS[0],
        values: answer
            .rows
            .first()
            .map(SETTINGS[0].of)
            .into_iter()
            .collect(),
    };
    let columns = axes.first().unwrap_or(&alone);
    let down = axes.get(1);
    let names_down = down.map_or_else(|| vec![String::new()], |axis| axis.values.clone());
    let others = axes.get(2..).unwrap_or(&[]);
    let mut panels: Vec<HeatPanel> = Vec::new();
    for row in &answer.rows {
        let name = words(row, others);
        let index = panels.iter().position(|panel| panel.name == name);
        let index = index.unwrap_or_else(|| {
            panels.push(HeatPanel {
                name,
                cells: vec![vec![None; columns.values.len()]; names_down.len()],
            });
            panels.len() - 1
        });
        let line = down.map_or(Some(0), |axis| axis.place(row));
        if let (Some(line), Some(right)) = (line, columns.place(row)) {
            panels[index].cells[line][right] = cell(row);
        }
    }
    let scale = words_if(panels.len() > 1, " (same scale in every grid)");
    HeatGrid {
        title: TITLE.to_owned(),
        legend: format!(
            "Darker means higher write amplification{scale}; below it, the mean sustained write \
             throughput."
        ),
        columns_name: columns.setting.name.to_owned(),
        columns: columns.values.clone(),
        rows_name: down.map_or("", |axis| axis.setting.name).to_owned(),
        rows: names_down,
        base: 1.0,
        panels,
        ..HeatGrid::default()
    }
}

fn cell(row: &SweepRow) -> Option<HeatCell> {
    let summary = row.summary.as_ref();
    let sustained = summary.and_then(|summary| summary.mean.sustained_mb_s);
    Some(HeatCell {
        value: row.write_amplification?,
        below: sustained.map(rate).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::sweep_row::tests::row;
    use super::*;
    use page::{Block, Terminal};
    use units::number;

    fn text(answer: &SweepAnswer) -> String {
        page::terminal(&sweep(answer, true), &Terminal::default())
    }

    fn many() -> SweepAnswer {
        let mut rows = Vec::new();
        for op in [0.07, 0.28] {
            for fill in [0.5, 0.8] {
                for trim in ["weekly", "daily", "never"] {
                    let failed = fill > 0.7 && trim == "never";
                    rows.push(row(op, fill, trim, (!failed).then_some(1.0 + fill / op)));
                }
            }
        }
        SweepAnswer::new("A host", rows, false)
    }

    #[test]
    fn best_and_worst_settings_are_named() {
        let rows = vec![
            row(0.07, 0.5, "weekly", Some(8.14)),
            row(0.28, 0.5, "weekly", Some(2.79)),
            row(0.28, 0.5, "daily", None),
        ];
        let answer = SweepAnswer::new("A host", rows, false);
        assert_eq!(
            answer.sentence,
            "A host, 50 % full, greedy collection. Of 3 settings, the best has a write amplification \
             of 2.8 with 28 % spare, trimmed weekly; the worst of 8.1 with 7 % spare, trimmed weekly."
        );
        let none = vec![row(0.07, 0.5, "weekly", None)];
        let answer = SweepAnswer::new("A host", none, false);
        assert!(answer.sentence.ends_with("Nothing was written."));
    }

    #[test]
    fn grid_axes_are_the_varying_settings() {
        let answer = many();
        let (axes, _) = axes(&answer.rows);
        let grid = grid(&answer, &axes);
        assert_eq!(grid.columns, ["7 %", "28 %"]);
        assert_eq!(grid.rows, ["50 %", "80 %"]);
        let names: Vec<&str> = grid
            .panels
            .iter()
            .map(|panel| panel.name.as_str())
            .collect();
        assert_eq!(names, ["trimmed weekly", "trimmed daily", "never trimmed"]);
        let value = |panel: usize, row: usize, column: usize| {
            let cell = grid.panels[panel].cells[row][column].as_ref();
            cell.map(|cell| number(cell.value))
        };
        assert_eq!(value(0, 0, 0).as_deref(), Some("8.14"));
        assert_eq!(value(1, 1, 1).as_deref(), Some("3.86"));
        assert_eq!(value(2, 1, 0), None);
        // Two rows with the same reason.
        assert_eq!(
            failures(&answer, &axes),
            ["not simulated: 7 % spare, 80 % full, never trimmed, and 1 more: does not fit"]
        );
        // Several grids are for a document; a terminal has the table instead.
        assert!(!text(&answer).contains("Darker"));
        assert!(page::html(&sweep(&answer, false)).contains("same scale in every grid"));
    }

    #[test]
    fn text_fits_and_is_complete_with_long_settings() {
        let rows = [
            ("every 30 days", 0.0725, 0.125, "d-choices:10"),
            ("swallowed", 0.28, 0.995, "d-choices:100"),
        ]
        .map(|(trim, op, fill, policy)| SweepRow {
            policy: policy.to_owned(),
            ..row(op, fill, trim, Some(2.0))
        });
        let text = text(&SweepAnswer::new("A host", rows.into(), false));
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        for words in [
            "7.25 %",
            "99.5 %",
            "d-choices:100",
            "every 30 days",
            "123.4 MiB/s",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn one_setting_is_a_cell_and_several_spare_areas_are_a_curve() {
        let one = SweepAnswer::new("A host", vec![row(0.07, 0.5, "weekly", Some(2.0))], false);
        let (axes_of_one, _) = axes(&one.rows);
        let grid = grid(&one, &axes_of_one);
        assert_eq!((grid.panels.len(), grid.panels[0].cells.len()), (1, 1));
        let rows = [(0.28, 1.5), (0.07, 4.0), (0.15, 2.0)]
            .map(|(op, value)| row(op, 0.5, "weekly", Some(value)));
        let several = SweepAnswer::new("A host", rows.into(), false);
        let page = sweep(&several, true);
        let Block::Lines(chart) = &page.blocks[0] else {
            panic!("{page:?}");
        };
        let xs: Vec<f64> = chart.curves[0].stretches[0]
            .iter()
            .map(|point| point.x.round())
            .collect();
        assert_eq!(xs, [7.0, 15.0, 28.0]);
    }

    #[test]
    fn sweep_page_stays_small() {
        let rows = (0..60_000)
            .map(|index| {
                let value = (index % 2 == 0).then_some(2.0);
                row(f64::from(index) / 1e5, 0.5, "weekly", value)
            })
            .collect();
        let answer = SweepAnswer::new("A host", rows, false);
        let text = page::html(&sweep(&answer, false));
        assert!(text.len() < 1_000_000, "{}", text.len());
        assert!(text.contains("--format json has all"));
    }
}
