//! What a chart shows, for every renderer alike. There is a table behind each chart ([`LineChart::table`]
//! and its like), for a screen reader and for Markdown. A value that is not finite is not drawn.

use jiff::tz::TimeZone;

/// Curves, with what happened beside them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// The axis along the bottom.
    pub x: Axis,
    /// The name of what is drawn upwards, with its unit: `throughput (ops/s)`.
    pub y_label: String,
    /// How a value on the axis upwards is written.
    pub y_format: Format,
    /// A value that is on the axis upwards whatever the others are: 0 for a throughput, 1 for a write
    /// amplification.
    pub y_from: Option<f64>,
    /// The curves, in one coordinate system.
    pub curves: Vec<Curve>,
    /// Moments and spans in which something happened to the values: resets, changes, trims.
    pub marks: Vec<Marks>,
    /// When jobs ran, a row each below the curves.
    pub runs: Vec<Runs>,
}

/// An axis along the bottom.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// What it counts; may be empty where ticks say it: dates.
    pub label: String,
    /// What its numbers are.
    pub scale: Scale,
    /// First and last value; `None` where the values decide.
    pub range: Option<(f64, f64)>,
}

/// What the numbers of an axis are.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Scale {
    /// Numbers.
    #[default]
    Number,
    /// How many of something, with grouped thousands.
    Count,
    /// Seconds since 1970, written in a time zone, which is named at the axis.
    Time(TimeZone),
    /// Seconds since an unknown moment.
    Elapsed,
    /// Seconds since Monday 00:00, written as days of the week; may go on beyond Sunday.
    Week,
    /// Seconds since midnight, written as times of the day; may go on beyond midnight.
    Day,
}

/// How values are written at an axis and in the table behind a chart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Three significant digits.
    #[default]
    Number,
    /// A share of 0 to 1 in percent.
    Percent,
    /// Bytes in binary units.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
}

impl Format {
    /// A value in words.
    pub fn write(self, value: f64) -> String {
        match self {
            Self::Number => units::number(value),
            Self::Percent => units::percent(value),
            Self::Bytes => units::size::bytes_estimate(value),
            Self::BytesPerSecond => units::bytes_per_s(value),
            Self::Seconds => units::seconds(value),
        }
    }
}

/// A curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// What the ranges of its points are: `lowest to highest`, `middle half`; empty where they have none.
    pub range_name: String,
    /// Lines or dots.
    pub style: CurveStyle,
    /// Its points from left to right, in stretches between which nothing is known.
    pub stretches: Vec<Vec<Point>>,
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CurveStyle {
    /// Points joined by a line.
    #[default]
    Line,
    /// Points by themselves: measured values.
    Dots,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Along the axis at the bottom.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// The lowest and highest value that the point stands for, or the ends of an interval.
    pub range: Option<(f64, f64)>,
}

/// Things that happened, of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Marks {
    /// What they are: `resets`.
    pub name: String,
    /// From and to on the axis at the bottom; equal for moments.
    pub spans: Vec<(f64, f64)>,
}

/// When a job ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Runs {
    /// The job.
    pub name: String,
    /// From and to on the axis at the bottom.
    pub spans: Vec<(f64, f64)>,
}

/// Bars, one panel below the other on one scale.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarChart {
    /// What it shows.
    pub title: String,
    /// What the bars stand for: `ten runs`.
    pub x_label: String,
    /// How values are written.
    pub format: Format,
    /// What a marked bar means; empty where none is marked.
    pub mark_label: String,
    /// The panels.
    pub panels: Vec<BarPanel>,
}

/// Bars with a name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarPanel {
    /// Its name.
    pub name: String,
    /// Its bars.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bar {
    /// What it stands for.
    pub label: String,
    /// Its length, 0 or more.
    pub value: f64,
    /// An interval around it; an end that is not finite is open.
    pub range: Option<(f64, f64)>,
    /// The value in words; where it is empty, the value and its range are written in the chart's format.
    pub text: String,
    /// Whether it is marked.
    pub marked: bool,
}

/// Values by two settings, shaded: the darker, the larger. One scale for all panels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatGrid {
    /// What it shows.
    pub title: String,
    /// What the shade means, and what stands below the value.
    pub legend: String,
    /// The setting along the top.
    pub columns_name: String,
    /// Its values.
    pub columns: Vec<String>,
    /// The setting along the side.
    pub rows_name: String,
    /// Its values.
    pub rows: Vec<String>,
    /// How values are written.
    pub format: Format,
    /// The value that has no shade. Above 0, shades are logarithmic: twice the value is one step more,
    /// wherever it begins.
    pub base: f64,
    /// The panels.
    pub panels: Vec<HeatPanel>,
}

/// A grid with a name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatPanel {
    /// Its name.
    pub name: String,
    /// Rows of cells; `None` where nothing is known.
    pub cells: Vec<Vec<Option<HeatCell>>>,
}

/// A cell of a grid.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatCell {
    /// What it is shaded by.
    pub value: f64,
    /// A second value in words, below the first; may be empty.
    pub below: String,
}

impl Point {
    /// A point without a range.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, range: None }
    }

    /// Whether it can be drawn.
    pub(crate) fn is_finite(&self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }

    /// Its range; the value itself where it has none, or none that holds the value.
    pub(crate) fn ends(&self) -> (f64, f64) {
        match self.range {
            Some((low, high)) if low.is_finite() && high.is_finite() => {
                (low.min(self.y), high.max(self.y))
            }
            _ => (self.y, self.y),
        }
    }
}

impl Curve {
    /// A line through points of ascending x. It is broken where a value is not finite.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points: Vec<Point> = points.into_iter().map(|(x, y)| Point::new(x, y)).collect();
        let stretches = points.split(|point| !point.is_finite());
        let stretches = stretches
            .filter(|stretch| !stretch.is_empty())
            .map(<[Point]>::to_vec)
            .collect();
        Self {
            name: name.into(),
            stretches,
            ..Self::default()
        }
    }

    /// Measured points of ascending x.
    pub fn dots(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| Point::new(x, y));
        Self {
            name: name.into(),
            style: CurveStyle::Dots,
            stretches: vec![points.filter(Point::is_finite).collect()],
            ..Self::default()
        }
    }

    /// All points that can be drawn.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        let all = self.stretches.iter().flatten();
        all.filter(|point| point.is_finite())
    }
}

impl LineChart {
    /// The ends of the axis along the bottom and of the values, without room around them; `None` where
    /// there is nothing to draw.
    pub(crate) fn ends(&self) -> Option<[(f64, f64); 2]> {
        let asked = self
            .x
            .range
            .filter(|(low, high)| low.is_finite() && high.is_finite() && low < high);
        let is_within =
            |point: &&Point| asked.is_none_or(|(low, high)| (low..=high).contains(&point.x));
        let points = || {
            let all = self.curves.iter().flat_map(Curve::points);
            all.filter(is_within)
        };
        points().next()?;
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        let x = asked.unwrap_or_else(|| {
            points().fold(none, |(low, high), point| {
                (low.min(point.x), high.max(point.x))
            })
        });
        let y = points().fold(none, |(low, high), point| {
            let (lowest, highest) = point.ends();
            (low.min(lowest), high.max(highest))
        });
        let y = match self.y_from.filter(|value| value.is_finite()) {
            Some(value) => (y.0.min(value), y.1.max(value)),
            None => y,
        };
        Some([x, y])
    }
}

impl HeatGrid {
    /// The largest value; `None` where there is none to be shaded.
    pub(crate) fn highest(&self) -> Option<f64> {
        let cells = self.panels.iter().flat_map(|panel| &panel.cells);
        let values = cells.flatten().flatten().map(|cell| cell.value);
        values.filter(|value| value.is_finite()).reduce(f64::max)
    }

    /// How dark a value is, from 0 to 1 for the largest.
    pub(crate) fn shade(&self, value: f64, highest: f64) -> f64 {
        let share = if self.base > 0.0 {
            (value / self.base).max(1.0).ln() / (highest / self.base).max(1.0).ln()
        } else {
            (value - self.base) / (highest - self.base)
        };
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_where_nothing_is_known() {
        let curve = Curve::line(
            "a",
            [
                (0.0, 1.0),
                (1.0, 2.0),
                (2.0, f64::NAN),
                (3.0, 4.0),
                (f64::INFINITY, 5.0),
            ],
        );
        let sizes: Vec<usize> = curve.stretches.iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1]);
        assert_eq!(
            Curve::dots("a", [(0.0, f64::NAN), (1.0, 1.0)])
                .points()
                .count(),
            1
        );
    }

    #[test]
    fn ends_hold_ranges_and_what_is_asked() {
        let mut chart = LineChart {
            curves: vec![Curve::line("a", [(0.0, 2.0), (9.0, 3.0)])],
            ..LineChart::default()
        };
        chart.curves[0].stretches[0][1].range = Some((2.5, 7.0));
        assert_eq!(chart.ends(), Some([(0.0, 9.0), (2.0, 7.0)]));
        chart.y_from = Some(0.0);
        chart.x.range = Some((-1.0, 5.0));
        assert_eq!(chart.ends(), Some([(-1.0, 5.0), (0.0, 2.0)]));
        chart.x.range = Some((20.0, 30.0));
        assert_eq!(chart.ends(), None);
        assert_eq!(LineChart::default().ends(), None);
    }

    #[test]
    fn shades_begin_at_the_base() {
        let close = |grid: &HeatGrid, value: f64, highest: f64, expected: f64| {
            assert!((grid.shade(value, highest) - expected).abs() < 1e-9);
        };
        let mut grid = HeatGrid::default();
        close(&grid, 2.0, 4.0, 0.5);
        close(&grid, 0.0, 0.0, 0.0);
        grid.base = 1.0;
        close(&grid, 2.0, 4.0, 0.5);
        close(&grid, 4.0, 4.0, 1.0);
        // All of a grid at its base, and less than that by a rounding.
        close(&grid, 1.0, 1.0, 0.0);
        close(&grid, 0.99, 2.0, 0.0);
        close(&grid, f64::NAN, 2.0, 0.0);
    }
}
