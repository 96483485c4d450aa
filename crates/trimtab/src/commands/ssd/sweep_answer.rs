//! A grid's answer: JSON, text, comma-separated values, a page.

use super::grid::{Cell, Grid, GridPanel};
use super::html::{self, Part};
use super::numbers::{amplification, digits};
use super::spec::spare_words;
use super::table;
use crate::commands::trim::words::Page;
use report::ssd::{PointRow, SCENARIO_LABEL as LABEL, Summary};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;

/// Columns of bare drives' tables.
const BARE_HEAD: [&str; 3] = ["write\nampl.", "theory", "off by"];
/// A page has no picture of more settings than this, and no longer table: nobody could read it.
const SHOWN_MAX: usize = 500;

/// Columns of a table of scenarios.
const TABLE_HEAD: [&str; 8] = [
    "scenario",
    "write\nampl.",
    "after\ntrim",
    "before\nnext",
    "sustained\nMB/s",
    "at worst\nMB/s",
    "write\np99",
    "read\np99",
];

/// The columns, the last only where reads were asked for.
pub fn table_head(reads: bool) -> &'static [&'static str] {
    &TABLE_HEAD[..TABLE_HEAD.len() - usize::from(!reads)]
}

/// A grid's answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SweepAnswer")]
pub struct Answer {
    /// `sweep`.
    #[schemars(extend("const" = "sweep"))]
    pub kind: &'static str,
    /// What it is worth.
    pub label: &'static str,
    /// What all settings have in common, and the best and the worst of them.
    pub sentence: String,
    /// One for each combination, the last list running fastest.
    pub rows: Vec<Row>,
    #[serde(skip)]
    is_bare: bool,
    /// Reads were asked for.
    #[serde(skip)]
    reads: bool,
}

/// One setting.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SweepRow")]
pub struct Row {
    /// Spare area as asked.
    pub over_provisioning: f64,
    /// Spare area as built, of whole blocks; null where it could not be.
    pub over_provisioning_built: Option<f64>,
    /// Victims.
    pub policy: String,
    /// Live data; null for a bare drive.
    pub fill: Option<f64>,
    /// When it is trimmed; null for a bare drive.
    pub trim: Option<String>,
    /// Share of requests that trim; null below a filesystem.
    pub trim_share: Option<f64>,
    /// Pages programmed by page written; null where it could not be simulated.
    pub write_amplification: Option<f64>,
    /// What a closed form says; null where there is none.
    pub theory: Option<f64>,
    /// Below a filesystem, more; null otherwise.
    pub summary: Option<Summary>,
    /// Why it could not be simulated; null where it was.
    pub error: Option<String>,
    /// What a table shows of it beside the settings.
    #[serde(skip)]
    pub cells: Vec<String>,
}

/// A setting.
struct Setting {
    /// What tables call it.
    name: &'static str,
    /// A row's value; empty where it has none.
    of: fn(&Row) -> String,
    /// The value in a sentence.
    words: fn(&str) -> String,
}

/// `7 %`, `7.25 %`: settings that differ must not look the same.
fn share(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// Spare area first: it runs to the right in pictures.
static SETTINGS: [Setting; 5] = [
    Setting {
        name: "spare",
        of: |row| share(row.over_provisioning),
        words: |value| format!("{value} spare"),
    },
    Setting {
        name: "fill",
        of: |row| row.fill.map_or_else(String::new, share),
        words: |value| format!("{value} full"),
    },
    Setting {
        name: "trimmed",
        of: |row| row.trim.clone().unwrap_or_default(),
        words: |value| match value {
            "never" => "never trimmed".to_owned(),
            when => format!("trimmed {when}"),
        },
    },
    Setting {
        name: "trims",
        of: |row| row.trim_share.map_or_else(String::new, share),
        words: |value| match value {
            "0 %" => "no trims".to_owned(),
            share => format!("{share} trims"),
        },
    },
    Setting {
        name: "policy",
        of: |row| row.policy.clone(),
        words: |value| format!("{value} collection"),
    },
];

/// A setting that differs from row to row.
struct Axis {
    setting: &'static Setting,
    /// All values, in the order of the rows.
    values: Vec<String>,
}

/// What differs, and what all rows have in common in words.
fn axes(rows: &[Row]) -> (Vec<Axis>, Vec<String>) {
    let (mut differ, mut common) = (Vec::new(), Vec::new());
    for setting in &SETTINGS {
        let mut seen = HashSet::new();
        let values: Vec<String> = rows
            .iter()
            .map(setting.of)
            .filter(|value| seen.insert(value.clone()))
            .collect();
        match values.as_slice() {
            [] => {}
            [value] if value.is_empty() => {}
            [value] => common.push((setting.words)(value)),
            _ => differ.push(Axis { setting, values }),
        }
    }
    (differ, common)
}

/// `7 % spare, trimmed weekly`: of a row what differs.
fn words(row: &Row, axes: &[Axis]) -> String {
    let words = axes.iter().map(|axis| {
        let value = (axis.setting.of)(row);
        (axis.setting.words)(&value)
    });
    words.collect::<Vec<_>>().join(", ")
}

impl Answer {
    /// `load` says who writes to what.
    pub fn new(load: &str, rows: Vec<Row>, is_bare: bool, reads: bool) -> Self {
        let (axes, common) = axes(&rows);
        let mut told = vec![load.to_owned()];
        told.extend(common);
        Self {
            kind: "sweep",
            label: if is_bare { "simulated" } else { LABEL },
            sentence: format!("{}. {}", told.join(", "), extremes(&rows, &axes)),
            rows,
            is_bare,
            reads,
        }
    }

    /// The table: how many columns are settings, names and rows.
    fn table(&self) -> (usize, Vec<&'static str>, Vec<Vec<String>>) {
        let (axes, _) = axes(&self.rows);
        let settings: Vec<&Setting> = if axes.is_empty() {
            vec![&SETTINGS[0]]
        } else {
            axes.iter().map(|axis| axis.setting).collect()
        };
        let mut head: Vec<&'static str> = settings.iter().map(|setting| setting.name).collect();
        if self.is_bare {
            head.extend(BARE_HEAD);
        } else {
            head.extend(&table_head(self.reads)[1..]);
        }
        let rows = self.rows.iter().map(|row| {
            let values = settings.iter().map(|setting| (setting.of)(row));
            values.chain(row.cells.iter().cloned()).collect()
        });
        (settings.len(), head, rows.collect())
    }

    /// Why rows have no numbers, each reason once.
    fn errors(&self) -> Vec<String> {
        let (axes, _) = axes(&self.rows);
        let mut reasons: Vec<(&str, String, usize)> = Vec::new();
        for row in &self.rows {
            let Some(error) = row.error.as_deref() else {
                continue;
            };
            match reasons.iter_mut().find(|(reason, _, _)| *reason == error) {
                Some((_, _, more)) => *more += 1,
                None => reasons.push((error, words(row, &axes), 0)),
            }
        }
        let told = |(reason, first, more): (&str, String, usize)| match more {
            0 => format!("{first}: {reason}"),
            more => format!("{first}, and {more} more: {reason}"),
        };
        reasons.into_iter().map(told).collect()
    }

    /// What whole blocks made of spare areas, each once.
    fn rounded(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let words = self.rows.iter().filter_map(|row| {
            let words = spare_words(row.over_provisioning, row.over_provisioning_built?);
            words.contains("asked").then_some(words)
        });
        words.filter(|words| seen.insert(words.clone())).collect()
    }

    /// Text for a terminal; what it has no room for is left out, the last columns first.
    pub fn text(&self, columns: usize) -> String {
        let mut page = Page::new(columns);
        page.head(&self.sentence);
        if !self.is_bare {
            page.head(&format!("({}.)", self.label));
        }
        page.blank();
        let (left, mut head, mut rows) = self.table();
        let is_wide = |text: &str| text.lines().any(|line| line.chars().count() > columns);
        let mut shown = table::text(&head, &rows, left);
        let all = head.len();
        while is_wide(&shown) && head.len() > left + 1 {
            head.pop();
            for row in &mut rows {
                row.truncate(head.len());
            }
            shown = table::text(&head, &rows, left);
        }
        let out = page.finish() + &shown;
        let mut page = Page::new(columns);
        for error in self.errors() {
            page.row("left out", &error);
        }
        for words in self.rounded() {
            page.row("note", &words);
        }
        if head.len() < all {
            page.row("note", "no room for all columns: --format csv has them");
        }
        match page.finish() {
            notes if notes.is_empty() => out,
            notes => out + "\n" + &notes,
        }
    }

    /// The rows.
    pub fn csv(&self) -> String {
        let mut out = table::csv_line(&[
            "over_provisioning",
            "policy",
            "fill",
            "trim",
            "trim_share",
            "write_amplification",
            "theory",
            "after_trim",
            "before_next_trim",
            "throughput_fall",
            "sustained_mb_s",
            "write_p99_us",
            "read_p99_us",
            "error",
        ]);
        for row in &self.rows {
            let summary = row.summary.as_ref();
            let number = table::csv_number;
            let end = |point: Option<&PointRow>| {
                number(point.and_then(|point| point.write_amplification))
            };
            out += &table::csv_line(&[
                row.over_provisioning.to_string(),
                row.policy.clone(),
                number(row.fill),
                row.trim.clone().unwrap_or_default(),
                number(row.trim_share),
                number(row.write_amplification),
                number(row.theory),
                end(summary.and_then(|summary| summary.after_trim.as_ref())),
                end(summary.and_then(|summary| summary.before_next_trim.as_ref())),
                number(summary.and_then(|summary| summary.throughput_fall)),
                number(summary.and_then(|summary| summary.mean.sustained_mb_s)),
                number(summary.and_then(|summary| summary.mean.write_p99_us())),
                number(summary.and_then(Summary::read_p99_us)),
                row.error.clone().unwrap_or_default(),
            ]);
        }
        out
    }

    /// A page that loads nothing.
    pub fn page(&self) -> String {
        let mut notes = self.errors();
        notes.extend(self.rounded());
        notes.truncate(SHOWN_MAX);
        let mut parts = Vec::new();
        if self.rows.len() <= SHOWN_MAX {
            parts.push(Part::Grid(self.grid()));
        } else {
            notes.push(format!(
                "{} settings are too many for a picture, and the table has the first {SHOWN_MAX} \
                 only: --format csv has all",
                self.rows.len()
            ));
        }
        let (_, head, mut rows) = self.table();
        rows.truncate(SHOWN_MAX);
        let names = head.into_iter().map(|name| name.replace('\n', " "));
        parts.push(Part::Table(names.collect(), rows));
        html::page(&html::Content {
            title: "Which settings are enough".to_owned(),
            label: self.label.to_owned(),
            sentence: self.sentence.clone(),
            notes,
            parts,
            rows: Vec::new(),
        })
    }

    /// The first setting that differs runs to the right, the second down, the others from panel to
    /// panel.
    fn grid(&self) -> Grid {
        let (axes, _) = axes(&self.rows);
        let alone = Axis {
            setting: &SETTINGS[0],
            values: self.rows.first().map(SETTINGS[0].of).into_iter().collect(),
        };
        let columns = axes.first().unwrap_or(&alone);
        let down = axes.get(1);
        let names_down = down.map_or_else(|| vec![String::new()], |axis| axis.values.clone());
        let others = axes.get(2..).unwrap_or(&[]);
        let mut panels: Vec<GridPanel> = Vec::new();
        for row in &self.rows {
            let name = words(row, others);
            let index = panels.iter().position(|panel| panel.name == name);
            let index = index.unwrap_or_else(|| {
                panels.push(GridPanel {
                    name,
                    cells: vec![vec![None; columns.values.len()]; names_down.len()],
                });
                panels.len() - 1
            });
            let place = |axis: &Axis| {
                let value = (axis.setting.of)(row);
                axis.values.iter().position(|other| *other == value)
            };
            if let (Some(line), Some(right)) = (down.map_or(Some(0), place), place(columns)) {
                panels[index].cells[line][right] = self.cell(row);
            }
        }
        let legend = if self.is_bare {
            "The stronger the shade, the more is written, on one scale in all grids; below, what a \
             closed form says."
        } else {
            "The stronger the shade, the more is written, on one scale in all grids; below, what \
             the drive takes without an end, on average."
        };
        Grid {
            title: "write amplification".to_owned(),
            legend: legend.to_owned(),
            columns_name: columns.setting.name.to_owned(),
            columns: columns.values.clone(),
            rows_name: down.map_or("", |axis| axis.setting.name).to_owned(),
            rows: names_down,
            panels,
        }
    }

    fn cell(&self, row: &Row) -> Option<Cell> {
        let value = row.write_amplification?;
        let summary = row.summary.as_ref();
        let sustained = summary.and_then(|summary| summary.mean.sustained_mb_s);
        let below = if self.is_bare {
            row.theory.map(|theory| format!("theory {theory:.2}"))
        } else {
            sustained.map(|rate| format!("{rate:.0} MB/s"))
        };
        Some(Cell {
            value,
            words: if value < 100.0 {
                format!("{value:.2}")
            } else {
                digits(value)
            },
            below: below.unwrap_or_default(),
        })
    }
}

/// The best and the worst setting.
fn extremes(rows: &[Row], axes: &[Axis]) -> String {
    let known = || rows.iter().filter(|row| row.write_amplification.is_some());
    let by_value = |a: &&Row, b: &&Row| {
        let value = |row: &Row| row.write_amplification.unwrap_or(f64::NAN);
        value(a).total_cmp(&value(b))
    };
    let (Some(best), Some(worst)) = (known().min_by(by_value), known().max_by(by_value)) else {
        return "Nothing was written.".to_owned();
    };
    let value = |row: &Row| row.write_amplification.map_or(String::new(), amplification);
    if axes.is_empty() {
        return format!("Write amplification is {}.", value(best));
    }
    let told = |row: &Row| format!("{} with {}", value(row), words(row, axes));
    format!(
        "Of {} settings, the best has a write amplification of {}; the worst of {}.",
        rows.len(),
        told(best),
        told(worst)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: f64, fill: f64, trim: &str, value: Option<f64>) -> Row {
        Row {
            over_provisioning: op,
            over_provisioning_built: None,
            policy: "greedy".to_owned(),
            fill: Some(fill),
            trim: Some(trim.to_owned()),
            trim_share: None,
            write_amplification: value,
            theory: None,
            summary: None,
            error: value.is_none().then(|| "does not fit".to_owned()),
            cells: vec!["12345".to_owned(); table_head(false).len() - 1],
        }
    }

    #[test]
    fn what_differs_makes_the_grid() {
        let mut rows = Vec::new();
        for op in [0.07, 0.28] {
            for fill in [0.5, 0.8] {
                for trim in ["weekly", "daily", "never"] {
                    let failed = fill > 0.7 && trim == "never";
                    rows.push(row(op, fill, trim, (!failed).then_some(1.0 + fill / op)));
                }
            }
        }
        let answer = Answer::new("A host", rows, false, false);
        let grid = answer.grid();
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
            cell.map(|cell| cell.words.clone())
        };
        assert_eq!(value(0, 0, 0).as_deref(), Some("8.14"));
        assert_eq!(value(1, 1, 1).as_deref(), Some("3.86"));
        assert_eq!(value(2, 1, 0), None);
        assert!(answer.sentence.contains(
            "A host, greedy collection. Of 12 settings, the best has a write amplification of 2.8 \
             with 28 % spare, 50 % full, trimmed weekly; the worst of 12 with 7 % spare, 80 % full, \
             trimmed daily."
        ));
        // Two rows, one reason.
        assert_eq!(
            answer.errors(),
            ["7 % spare, 80 % full, never trimmed, and 1 more: does not fit"]
        );
    }

    #[test]
    fn text_fits_however_long_the_settings() {
        let rows = [
            ("every 30 days", 0.0725, 0.125, "d-choices:10"),
            ("swallowed", 0.28, 0.995, "d-choices:100"),
        ]
        .map(|(trim, op, fill, policy)| Row {
            policy: policy.to_owned(),
            ..row(op, fill, trim, Some(2.0))
        });
        let text = Answer::new("A host", rows.into(), false, false).text(80);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("--format csv has them"), "{text}");
        let few =
            Answer::new("A host", vec![row(0.07, 0.5, "weekly", None)], false, false).text(80);
        assert!(!few.contains("csv"), "{few}");
    }

    #[test]
    fn one_setting_is_one_square() {
        let answer = Answer::new(
            "A host",
            vec![row(0.07, 0.5, "weekly", Some(2.0))],
            false,
            false,
        );
        let grid = answer.grid();
        assert_eq!(grid.panels.len(), 1);
        assert_eq!(grid.panels[0].cells.len(), 1);
    }

    #[test]
    fn a_page_stays_small() {
        let rows = (0..60_000)
            .map(|index| {
                let value = (index % 2 == 0).then_some(2.0);
                row(f64::from(index) / 1e5, 0.5, "weekly", value)
            })
            .collect();
        let text = Answer::new("A host", rows, false, false).page();
        assert!(text.len() < 1_000_000, "{}", text.len());
        assert!(text.contains("--format csv has all"));
    }
}
