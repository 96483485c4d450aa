//! The table of crates, as Markdown.

use crate::measure::CrateReport;
use std::fmt::Write as _;

const HEAD: &str = "\
| crate | lines of code | lines of tests | files | circles | files in circles | files that render |
|---|---:|---:|---:|---:|---:|---:|
";

/// The numbers in a row.
fn figures(report: &CrateReport) -> [usize; 6] {
    [
        report.code_lines,
        report.test_lines,
        report.files,
        report.cycles.len(),
        report.files_in_cycles(),
        report.files_that_render(),
    ]
}

fn sum(reports: &[CrateReport]) -> [usize; 6] {
    reports.iter().map(figures).fold([0; 6], |mut sum, row| {
        for (total, figure) in sum.iter_mut().zip(row) {
            *total += figure;
        }
        sum
    })
}

fn grouped(figure: usize) -> String {
    let digits = figure.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A row for each crate, and one with the totals.
pub fn table(reports: &[CrateReport]) -> String {
    let mut text = HEAD.to_owned();
    for (name, figures) in reports
        .iter()
        .map(|report| (report.name.as_str(), figures(report)))
        .chain([("**all**", sum(reports))])
    {
        let _ = writeln!(text, "| {name} | {} |", figures.map(grouped).join(" | "));
    }
    text
}

/// The same table, with `before → after` in each cell that changed.
pub fn comparison(before: &[CrateReport], after: &[CrateReport]) -> String {
    let mut names: Vec<&str> = before
        .iter()
        .chain(after)
        .map(|report| report.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let find = |reports: &[CrateReport], name: &str| {
        reports
            .iter()
            .find(|report| report.name == name)
            .map(figures)
    };
    let mut text = HEAD.to_owned();
    for (name, before, after) in names
        .into_iter()
        .map(|name| (name, find(before, name), find(after, name)))
        .chain([("**all**", Some(sum(before)), Some(sum(after)))])
    {
        let cells: Vec<String> = (0..6)
            .map(|column| {
                let cell = |row: Option<[usize; 6]>| {
                    row.map_or_else(|| "-".to_owned(), |row| grouped(row[column]))
                };
                let (before, after) = (cell(before), cell(after));
                if before == after {
                    after
                } else {
                    format!("{before} → {after}")
                }
            })
            .collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, code_lines: usize) -> CrateReport {
        CrateReport {
            name: name.to_owned(),
            code_lines,
            test_lines: 20,
            files: 3,
            cycles: Vec::new(),
            rendering: Vec::new(),
        }
    }

    #[test]
    fn rows_and_sums() {
        let text = table(&[report("a", 1_234), report("b", 1_000_000)]);
        assert!(
            text.contains("| a | 1,234 | 20 | 3 | 0 | 0 | 0 |\n"),
            "{text}"
        );
        assert!(
            text.ends_with("| **all** | 1,001,234 | 40 | 6 | 0 | 0 | 0 |\n"),
            "{text}"
        );
    }

    #[test]
    fn added_and_removed_crates() {
        let text = comparison(
            &[report("a", 5), report("old", 7)],
            &[report("a", 6), report("new", 7)],
        );
        assert!(
            text.contains("| a | 5 → 6 | 20 | 3 | 0 | 0 | 0 |\n"),
            "{text}"
        );
        assert!(text.contains("| new | - → 7 | - → 20 |"), "{text}");
        assert!(text.contains("| old | 7 → - | 20 → - |"), "{text}");
        assert!(text.contains("| **all** | 12 → 13 | 40 | 6 |"), "{text}");
    }
}
