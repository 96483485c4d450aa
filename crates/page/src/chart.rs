//! What a chart shows, for every renderer alike. There is a table behind each chart ([`LineChart::table`]
//! and its like), for a screen reader and for Markdown.

use jiff::tz::TimeZone;

/// Curves, with what happened beside them.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// The axis along the bottom.
    pub x: Axis,
    /// The name of what is drawn upwards, with its unit: `throughput (ops/s)`.
    pub y_label: String,
    /// How a value on the axis upwards is written.
    pub y_format: Format,
    /// Whether 0 is on the axis upwards whatever the values are.
    pub y_from_zero: bool,
    /// The curves, in one coordinate system.
    pub curves: Vec<Curve>,
    /// Moments and spans in which something happened to the values: resets, changes, trims.
    pub marks: Vec<Marks>,
    /// When jobs ran, a row each below the curves.
    pub runs: Vec<Runs>,
}

/// An axis along the bottom.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it counts; may be empty where ticks say it: dates.
    pub label: String,
    /// What its numbers are.
    pub scale: Scale,
    /// First and last value; `None` where the values decide.
    pub range: Option<(f64, f64)>,
}

/// What the numbers of an axis are.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Numbers.
    Number,
    /// Seconds since 1970, written in a time zone, which is named at the axis.
    Time(TimeZone),
    /// Seconds since an unknown moment.
    Elapsed,
    /// Seconds since Monday 00:00: a tick for each day, with its name.
    Week,
    /// Seconds since midnight: a tick every few hours.
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
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Lines or dots.
    pub style: CurveStyle,
    /// Its points from left to right, in stretches between which nothing is known.
    pub stretches: Vec<Vec<Point>>,
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurveStyle {
    /// Points joined by a line.
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
    /// An interval around it.
    pub range: Option<(f64, f64)>,
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
