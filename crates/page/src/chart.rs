//! The renderer-independent chart models. Each chart has an equivalent table ([`LineChart::table`] and its
//! like), for screen readers and for Markdown. Values that are not finite are not drawn.

use jiff::tz::TimeZone;

/// A line chart with events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// The x axis.
    pub x: Axis,
    /// The label of the y axis, with its unit: `throughput (ops/s)`.
    pub y_label: String,
    /// How values on the y axis are formatted.
    pub y_format: Format,
    /// A value that the y axis always includes: 0 for a throughput, 1 for a write amplification.
    pub y_from: Option<f64>,
    /// The curves, in one coordinate system.
    pub curves: Vec<Curve>,
    /// Timestamps and spans at which something happened to the values: resets, changes, trims.
    pub marks: Vec<Spans>,
    /// Job runs, one row per job below the curves.
    pub runs: Vec<Spans>,
    /// Single events, each with a text of its own: numbered from 1, by x.
    pub annotations: Vec<Annotation>,
    /// Whether its table has a row for each value, rather than for a selection of them.
    pub lists_all: bool,
}

/// An x axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// The label; may be empty where the ticks are self-explanatory, as dates are.
    pub label: String,
    /// The kind of values.
    pub scale: Scale,
    /// First and last value; `None` to fit the data.
    pub range: Option<(f64, f64)>,
}

/// The kind of values on an axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Scale {
    /// Plain numbers.
    #[default]
    Number,
    /// Counts, with thousands separators.
    Count,
    /// Seconds since 1970, shown in a time zone that is named at the axis.
    Time(TimeZone),
    /// Seconds since an unknown time.
    Elapsed,
    /// Seconds since Monday 00:00, shown as days of the week; may continue past Sunday.
    Week,
    /// Seconds since midnight, shown as times of day; may continue past midnight.
    Day,
}

/// How values are formatted at an axis and in the chart's table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Three significant digits.
    #[default]
    Number,
    /// A fraction, shown in percent.
    Percent,
    /// Bytes in binary units.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
}

impl Format {
    /// Formats a value.
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
    /// The name shown in the legend.
    pub name: String,
    /// What the ranges of its points mean: `lowest to highest`, `middle half`; empty if they have none.
    pub range_name: String,
    /// Lines or dots.
    pub style: CurveStyle,
    /// Its points from left to right, split where there is no data.
    pub stretches: Vec<Vec<Point>>,
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CurveStyle {
    /// Points joined by a line.
    #[default]
    Line,
    /// Separate points, for measured values.
    Dots,
    /// Separate points that do not count: the y axis is not made for them, and those beyond it are drawn at
    /// its end.
    Crosses,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// Position on the y axis.
    pub y: f64,
    /// The lowest and highest value aggregated in the point, or the ends of an interval.
    pub range: Option<(f64, f64)>,
}

/// A single event.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Position on the x axis.
    pub at: f64,
    /// What happened: `2026-05-20: kernel 6.1.0-41`.
    pub text: String,
}

/// Events of one kind, or the runs of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Spans {
    /// The kind, such as `resets`, or the name of the job.
    pub name: String,
    /// Start and end of each on the x axis; equal for instants.
    pub spans: Vec<(f64, f64)>,
}

/// A bar chart: panels one below the other, on one scale.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarChart {
    /// The title.
    pub title: String,
    /// What the bars represent: `ten runs`.
    pub x_label: String,
    /// How values are formatted.
    pub format: Format,
    /// What a marked bar means; empty if none is marked.
    pub mark_label: String,
    /// The panels.
    pub panels: Vec<BarPanel>,
}

/// A named group of bars.
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
    /// What it represents.
    pub label: String,
    /// Its length, 0 or more.
    pub value: f64,
    /// The text beside the bar; if empty, the value is shown in the chart's format.
    pub text: String,
    /// Whether the bar is highlighted.
    pub marked: bool,
}

/// A heat map of values by two settings; darker is larger. One scale for all panels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatGrid {
    /// The title.
    pub title: String,
    /// What the shade means, and what is shown below the value.
    pub legend: String,
    /// The setting along the x axis.
    pub columns_name: String,
    /// Its values.
    pub columns: Vec<String>,
    /// The setting along the y axis.
    pub rows_name: String,
    /// Its values.
    pub rows: Vec<String>,
    /// How values are formatted.
    pub format: Format,
    /// The value without shade. If it is above 0, the scale is logarithmic: doubling a value always adds
    /// the same amount of shade.
    pub base: f64,
    /// The panels.
    pub panels: Vec<HeatPanel>,
}

/// A named grid.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatPanel {
    /// Its name.
    pub name: String,
    /// Rows of cells; `None` where there is no data.
    pub cells: Vec<Vec<Option<HeatCell>>>,
}

/// A cell of a grid.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatCell {
    /// The value that determines the shade.
    pub value: f64,
    /// A second line of text below the value; may be empty.
    pub below: String,
}

impl Point {
    /// Creates a point without a range.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, range: None }
    }

    /// Returns whether the point can be drawn.
    pub(crate) fn is_finite(&self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }

    /// Returns its range, or just the value if it has no range or one that does not contain the value.
    pub(crate) fn ends(&self) -> (f64, f64) {
        match self.range {
            Some((low, high)) if low.is_finite() && high.is_finite() => {
                (low.min(self.y), high.max(self.y))
            }
            _ => (self.y, self.y),
        }
    }

    pub(crate) fn has_range(&self) -> bool {
        let (low, high) = self.ends();
        low < high
    }
}

impl Spans {
    /// Creates spans under a name.
    pub fn new(name: impl Into<String>, spans: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.into(),
            spans: spans.into_iter().collect(),
        }
    }
}

impl Bar {
    /// Creates a bar whose text is its value.
    pub fn new(label: impl Into<String>, value: f64) -> Self {
        Self {
            label: label.into(),
            value,
            ..Self::default()
        }
    }
}

impl Axis {
    /// Creates an axis that fits the data.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self {
            label: label.into(),
            scale,
            range: None,
        }
    }
}

impl Curve {
    /// Creates a line through points of ascending x, split where a value is not finite.
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

    /// Creates a curve of separate points of ascending x.
    pub fn dots(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| Point::new(x, y));
        Self {
            name: name.into(),
            style: CurveStyle::Dots,
            stretches: vec![points.filter(Point::is_finite).collect()],
            ..Self::default()
        }
    }

    /// Creates a curve of points of ascending x that do not count.
    pub fn crosses(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            style: CurveStyle::Crosses,
            ..Self::dots(name, points)
        }
    }

    /// Returns all points that can be drawn.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        let all = self.stretches.iter().flatten();
        all.filter(|point| point.is_finite())
    }
}

impl CurveStyle {
    /// Returns whether its points are separate.
    pub(crate) fn is_of_points(self) -> bool {
        match self {
            Self::Line => false,
            Self::Dots | Self::Crosses => true,
        }
    }
}

impl LineChart {
    /// Returns the annotations within a range of x, with their numbers.
    pub(crate) fn numbered(&self, (from, to): (f64, f64)) -> Vec<(usize, &Annotation)> {
        let all = (1..).zip(&self.annotations);
        all.filter(|(_, one)| (from..=to).contains(&one.at))
            .collect()
    }

    /// Returns the data ranges of the x and y axes, without padding; `None` if there is nothing to draw.
    pub(crate) fn ends(&self) -> Option<[(f64, f64); 2]> {
        let asked = self
            .x
            .range
            .filter(|(low, high)| low.is_finite() && high.is_finite() && low < high);
        let is_within =
            |point: &&Point| asked.is_none_or(|(low, high)| (low..=high).contains(&point.x));
        let counts = |curve: &&Curve| curve.style != CurveStyle::Crosses;
        let has_others = self.curves.iter().any(|curve| {
            let is_drawn = curve.points().any(|point| is_within(&point));
            counts(&curve) && is_drawn
        });
        let points = || {
            let all = self
                .curves
                .iter()
                .filter(|curve| !has_others || counts(curve));
            all.flat_map(Curve::points).filter(is_within)
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
    /// Returns the largest value; `None` if there is no value to shade.
    pub(crate) fn highest(&self) -> Option<f64> {
        let cells = self.panels.iter().flat_map(|panel| &panel.cells);
        let values = cells.flatten().flatten().map(|cell| cell.value);
        values.filter(|value| value.is_finite()).reduce(f64::max)
    }

    /// Returns the shade of a value, up to 1 for the largest.
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
    fn lines_are_split_at_missing_values() {
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
    fn data_ranges_include_point_ranges_and_requested_values() {
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
    fn the_y_axis_is_not_made_for_points_that_do_not_count() {
        let mut chart = LineChart {
            curves: vec![
                Curve::line("a", [(0.0, 2.0), (9.0, 3.0)]),
                Curve::crosses("b", [(4.0, 900.0)]),
            ],
            ..LineChart::default()
        };
        assert_eq!(chart.ends(), Some([(0.0, 9.0), (2.0, 3.0)]));
        chart.curves.remove(0);
        assert_eq!(chart.ends(), Some([(4.0, 4.0), (900.0, 900.0)]));
    }

    #[test]
    fn shades_start_at_the_base() {
        let close = |grid: &HeatGrid, value: f64, highest: f64, expected: f64| {
            assert!((grid.shade(value, highest) - expected).abs() < 1e-9);
        };
        let mut grid = HeatGrid::default();
        close(&grid, 2.0, 4.0, 0.5);
        close(&grid, 0.0, 0.0, 0.0);
        grid.base = 1.0;
        close(&grid, 2.0, 4.0, 0.5);
        close(&grid, 4.0, 4.0, 1.0);
        // A whole grid at its base value, and a value that rounding puts just below it.
        close(&grid, 1.0, 1.0, 0.0);
        close(&grid, 0.99, 2.0, 0.0);
        close(&grid, f64::NAN, 2.0, 0.0);
    }
}
