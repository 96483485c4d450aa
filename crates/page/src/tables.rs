//! The tables behind charts: the same values as text.

use crate::block::{Align, Cell, Column, Table};
use crate::calendar;
use crate::chart::{
    Axis, Bar, BarChart, Curve, Format, HeatCell, HeatGrid, LineChart, Point, Scale,
};
use crate::scale;
use std::collections::BTreeSet;
use units::count::grouped_usize;

/// Maximum number of rows; nobody reads a longer table.
const ROWS_MAX: usize = 60;
/// Maximum number of curves whose lowest and highest values are always included.
const CURVES_WITH_EXTREMES: usize = 10;

impl LineChart {
    /// Returns a table with a row for each x value and a column for each curve. Long charts are sampled at
    /// equal distances, plus the rows with the lowest and highest values.
    pub fn table(&self) -> Table {
        let mut xs: Vec<f64> = self
            .curves
            .iter()
            .flat_map(Curve::points)
            .map(|point| point.x)
            .collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let chosen = if self.lists_all {
            (0..xs.len()).collect()
        } else {
            selected_rows(&xs, &self.curves)
        };
        let mut table = Table::default();
        if chosen.len() < xs.len() {
            table.title = format!(
                "{} of {} values along the axis, with the lowest and highest of each curve",
                chosen.len(),
                grouped_usize(xs.len())
            );
        }
        table
            .columns
            .push(Column::new(x_name(&self.x), Align::Left));
        for curve in &self.curves {
            let name = if curve.range_name.is_empty() {
                curve.name.clone()
            } else {
                format!("{} ({})", curve.name, curve.range_name)
            };
            table.columns.push(Column::new(name, Align::Right));
        }
        // Points of a curve ascend in x, as the rows do.
        let mut points: Vec<_> = self
            .curves
            .iter()
            .map(|curve| {
                let mut points: Vec<&Point> = curve.points().collect();
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                points.into_iter().peekable()
            })
            .collect();
        for index in chosen {
            let x = xs[index];
            let mut row = vec![Cell::from(scale::moment(&self.x.scale, x))];
            for points in &mut points {
                while points.next_if(|point| point.x < x).is_some() {}
                let at = points.peek().filter(|point| point.x <= x);
                row.push(at.map_or(Cell::default(), |point| value(self.y_format, point).into()));
            }
            table.rows.push(row);
        }
        table
    }

    /// Returns a table with a row for each mark, each annotation and each job run within the chart; `None`
    /// if there are none.
    pub fn events(&self) -> Option<Table> {
        let [x, _] = self.ends()?;
        let marks_and_runs = self.marks.iter().chain(&self.runs);
        let own = self
            .annotations
            .iter()
            .map(|one| (&one.text, (one.at, one.at)));
        let all: Vec<(&String, (f64, f64))> = marks_and_runs
            .flat_map(|of| of.spans.iter().map(|span| (&of.name, *span)))
            .chain(own)
            .filter(|(_, (from, to))| from <= to && *from <= x.1 && *to >= x.0)
            .collect();
        if all.is_empty() {
            return None;
        }
        let mut table = Table::new(&["<what", "<from", "<to"]);
        let hidden = all.len().saturating_sub(ROWS_MAX);
        // Where every value is listed, the end is what is read.
        let (which, first) = if self.lists_all {
            ("last", hidden)
        } else {
            ("first", 0)
        };
        if hidden > 0 {
            table.title = format!(
                "The {which} {ROWS_MAX} of {} events",
                grouped_usize(all.len())
            );
        }
        let mut by_time = all;
        by_time.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
        for (name, (from, to)) in by_time.into_iter().skip(first).take(ROWS_MAX) {
            let end = if from < to {
                scale::moment(&self.x.scale, to)
            } else {
                String::new()
            };
            table.row([name.clone(), scale::moment(&self.x.scale, from), end]);
        }
        Some(table)
    }
}

/// Selects the x values that get a row.
fn selected_rows(xs: &[f64], curves: &[Curve]) -> BTreeSet<usize> {
    if xs.len() <= ROWS_MAX {
        return (0..xs.len()).collect();
    }
    let mut chosen = BTreeSet::new();
    for curve in curves.iter().take(CURVES_WITH_EXTREMES) {
        let by_low = |a: &&Point, b: &&Point| a.ends().0.total_cmp(&b.ends().0);
        let by_high = |a: &&Point, b: &&Point| a.ends().1.total_cmp(&b.ends().1);
        let extremes = [
            curve.points().min_by(by_low),
            curve.points().max_by(by_high),
        ];
        for point in extremes.into_iter().flatten() {
            chosen.insert(xs.partition_point(|x| *x < point.x));
        }
    }
    // The last one is always included.
    let evenly = ROWS_MAX - 2 * curves.len().min(CURVES_WITH_EXTREMES);
    chosen.extend((0..evenly).map(|index| index * (xs.len() - 1) / (evenly - 1)));
    chosen
}

/// Returns the heading of the column of x values.
fn x_name(axis: &Axis) -> String {
    let name = match (&axis.scale, axis.label.as_str()) {
        (Scale::Time(_), "") => "time",
        (Scale::Elapsed, "") => "time since the start",
        (Scale::Week, "") => "day of the week",
        (Scale::Day, "") => "time of day",
        (Scale::Number | Scale::Count, "") => "x",
        (_, label) => label,
    };
    match &axis.scale {
        Scale::Time(zone) => format!("{name} ({})", calendar::name(zone)),
        _ => name.to_owned(),
    }
}

fn value(format: Format, point: &Point) -> String {
    let value = format.write(point.y);
    if !point.has_range() {
        return value;
    }
    let (low, high) = point.ends();
    format!("{value} ({} to {})", format.write(low), format.write(high))
}

impl BarChart {
    /// Returns a table with a row for each bar; with more than one panel, the first column names the panel.
    pub fn table(&self) -> Table {
        let mut table = Table::default();
        let has_panels = self.panels.len() > 1;
        let has_marks = self.bars().any(|bar| bar.marked);
        if has_panels {
            table.columns.push(Column::new("", Align::Left));
        }
        table.columns.push(Column::new(&self.x_label, Align::Left));
        table.columns.push(Column::new("value", Align::Right));
        if has_marks {
            table
                .columns
                .push(Column::new(&self.mark_label, Align::Left));
        }
        for panel in &self.panels {
            for bar in &panel.bars {
                let mut row = Vec::new();
                if has_panels {
                    row.push(panel.name.clone());
                }
                row.push(bar.label.clone());
                row.push(self.text(bar));
                if has_marks {
                    row.push(if bar.marked { "yes" } else { "" }.to_owned());
                }
                table.row(row);
            }
        }
        table
    }

    pub(crate) fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.panels.iter().flat_map(|panel| &panel.bars)
    }

    pub(crate) fn text(&self, bar: &Bar) -> String {
        if !bar.text.is_empty() {
            return bar.text.clone();
        }
        if bar.value.is_finite() {
            self.format.write(bar.value)
        } else {
            "unknown".to_owned()
        }
    }

    /// Returns the end of the longest bar; 0 if there is none.
    pub(crate) fn longest(&self) -> f64 {
        let ends = self.bars().map(|bar| bar.value);
        ends.filter(|value| value.is_finite()).fold(0.0, f64::max)
    }
}

impl HeatGrid {
    /// Returns a table with a row for each row of each panel.
    pub fn table(&self) -> Table {
        let mut table = Table::default();
        let has_panels = self.panels.len() > 1;
        if has_panels {
            table.columns.push(Column::new("", Align::Left));
        }
        table.columns.push(Column::new(self.corner(), Align::Left));
        let names = self.columns.iter();
        table
            .columns
            .extend(names.map(|name| Column::new(name, Align::Right)));
        for panel in &self.panels {
            for (index, cells) in panel.cells.iter().enumerate() {
                let mut row = Vec::new();
                if has_panels {
                    row.push(panel.name.clone());
                }
                row.push(self.rows.get(index).cloned().unwrap_or_default());
                let words = |cell: &Option<HeatCell>| match cell {
                    Some(cell) if cell.below.is_empty() => self.format.write(cell.value),
                    Some(cell) => format!("{}, {}", self.format.write(cell.value), cell.below),
                    None => "no value".to_owned(),
                };
                row.extend(cells.iter().map(words));
                table.row(row);
            }
        }
        table
    }

    /// Returns the heading at the intersection of row and column names: `fill \ spare area`.
    pub(crate) fn corner(&self) -> String {
        if self.rows_name.is_empty() || self.columns_name.is_empty() {
            return format!("{}{}", self.rows_name, self.columns_name);
        }
        format!("{} \\ {}", self.rows_name, self.columns_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{BarPanel, HeatPanel, Spans};

    fn rows(table: &Table) -> Vec<String> {
        let line = |row: &Vec<Cell>| {
            let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
            cells.join("|")
        };
        table.rows.iter().map(line).collect()
    }

    fn names(table: &Table) -> String {
        let names: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        names.join("|")
    }

    #[test]
    fn curves_share_their_rows() {
        let mut chart = LineChart {
            curves: vec![
                Curve::line("a", [(0.0, 1.0), (1.0, 2.0), (3.0, 4.0)]),
                Curve::dots("b", [(1.0, 0.5), (2.0, 0.25)]),
            ],
            ..LineChart::default()
        };
        chart.x.label = "days".to_owned();
        chart.curves[0].stretches[0][0].range = Some((0.5, 1.5));
        chart.curves[0].range_name = "middle half".to_owned();
        let table = chart.table();
        assert_eq!(names(&table), "days|a (middle half)|b");
        assert_eq!(
            rows(&table),
            ["0|1 (0.5 to 1.5)|", "1|2|0.5", "2||0.25", "3|4|"]
        );
        assert_eq!(table.title, "");
        assert_eq!(chart.events(), None);
    }

    #[test]
    fn long_charts_are_sampled() {
        let points = (0..10_000).map(|x| (f64::from(x), if x == 7_777 { -3.0 } else { 1.0 }));
        let chart = LineChart {
            curves: vec![Curve::line("a", points)],
            ..LineChart::default()
        };
        let table = chart.table();
        assert!(table.rows.len() <= ROWS_MAX && table.rows.len() > 50);
        let rows = rows(&table);
        assert!(rows.contains(&"7777|-3".to_owned()));
        assert_eq!(
            (rows[0].as_str(), rows[rows.len() - 1].as_str()),
            ("0|1", "9999|1")
        );
        assert!(table.title.contains("of 10,000 values"), "{}", table.title);
    }

    #[test]
    fn marks_and_runs_are_listed_by_time() {
        let chart = LineChart {
            x: Axis {
                scale: Scale::Day,
                ..Axis::default()
            },
            curves: vec![Curve::line("a", [(0.0, 1.0), (86_400.0, 2.0)])],
            marks: vec![Spans::new("resets", [(7_200.0, 7_200.0), (1e9, 1e9)])],
            runs: vec![Spans::new("backup", [(3_600.0, 5_400.0)])],
            ..LineChart::default()
        };
        assert_eq!(
            rows(&chart.events().unwrap()),
            ["backup|01:00|01:30", "resets|02:00|"]
        );
    }

    #[test]
    fn bars_and_grids() {
        let mut bars = BarChart {
            x_label: "run".to_owned(),
            panels: vec![BarPanel {
                name: "one".to_owned(),
                bars: vec![
                    Bar::new("1", 4.0),
                    Bar::new("2", 2.0),
                    Bar::new("3", f64::NAN),
                ],
            }],
            ..BarChart::default()
        };
        assert_eq!(rows(&bars.table()), ["1|4", "2|2", "3|unknown"]);
        assert!((bars.longest() - 4.0).abs() < 1e-9);
        bars.panels[0].bars[0].marked = true;
        bars.mark_label = "trimmed".to_owned();
        assert_eq!(names(&bars.table()), "run|value|trimmed");
        let grid = HeatGrid {
            columns_name: "spare".to_owned(),
            columns: vec!["7 %".to_owned(), "28 %".to_owned()],
            rows_name: "fill".to_owned(),
            rows: vec!["50 %".to_owned()],
            panels: vec![HeatPanel {
                name: "weekly".to_owned(),
                cells: vec![vec![
                    Some(HeatCell {
                        value: 2.5,
                        below: "364 MB/s".to_owned(),
                    }),
                    None,
                ]],
            }],
            ..HeatGrid::default()
        };
        assert_eq!(names(&grid.table()), "fill \\ spare|7 %|28 %");
        assert_eq!(rows(&grid.table()), ["50 %|2.5, 364 MB/s|no value"]);
    }
}
