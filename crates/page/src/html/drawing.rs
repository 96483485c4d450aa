//! The SVG drawing of a line chart, in one size.

use super::text::escaped;
use crate::chart::{Curve, CurveStyle, LineChart, Point};
use crate::scale::{YAxis, caption, share, x_ticks};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use units::escape::{cut, display_width};

/// A drawing size in SVG units, roughly pixels: letters of `letters` units are readable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    class: &'static str,
    width: f64,
    height: f64,
    /// Font size, which is also roughly the width of a letter.
    letters: f64,
}

/// For containers of 720 pixels or more; the style sheet has the same breakpoint.
pub(super) const WIDE: Size = Size {
    class: "wide",
    width: 780.0,
    height: 220.0,
    letters: 12.0,
};
/// For narrower ones, down to a phone's screen.
pub(super) const NARROW: Size = Size {
    class: "narrow",
    width: 358.0,
    height: 190.0,
    letters: 12.5,
};

/// Styles of curves in the style sheet: a color and a dash each.
pub(super) const STYLES: usize = 8;
/// Padding above the plot and to its right.
const TOP: f64 = 10.0;
/// Height of the flags of annotations above the plot.
const FLAG: f64 = 16.0;
const RIGHT: f64 = 10.0;
/// Height of a row of job runs.
const ROW: f64 = 16.0;
/// Distance from the bottom of the plot to the text below it.
const BELOW: f64 = 6.0;
/// Maximum width of a letter, relative to its height.
const LETTER_SHARE: f64 = 0.58;
/// Minimum distance between points that are drawn individually.
const SAMPLE_GAP: f64 = 7.0;
/// Width of a column; points of a line within one column are merged.
const COLUMN: f64 = 2.0;
/// Minimum width of marks and runs.
const SPAN_MIN: f64 = 1.5;
/// Maximum width of a span that is drawn as a line.
const FRAME_MIN: f64 = 16.0;
/// Maximum number of points drawn individually.
const DOTS_MAX: usize = 1_500;

/// A line chart in one size.
pub(super) struct Drawing<'a> {
    chart: &'a LineChart,
    x: (f64, f64),
    axis: &'a YAxis,
    size: Size,
    /// Upper edge of the plot.
    top: f64,
    /// Left edge of the plot, and its width.
    left: f64,
    plot: f64,
}

impl<'a> Drawing<'a> {
    pub fn new(chart: &'a LineChart, x: (f64, f64), axis: &'a YAxis, size: Size) -> Self {
        let labels = axis.ticks.iter().map(|(_, label)| display_width(label));
        let letters = labels.max().unwrap_or(0).max(2);
        #[allow(clippy::cast_precision_loss)] // a label
        let left = (letters as f64 * size.letters * LETTER_SHARE + 8.0).ceil();
        Self {
            chart,
            x,
            axis,
            size,
            top: if chart.numbered(x).is_empty() {
                TOP
            } else {
                TOP + FLAG
            },
            left,
            plot: size.width - left - RIGHT,
        }
    }

    /// Renders the drawing; `sentence` is its text alternative and gets escaped.
    pub fn svg(&self, sentence: &str) -> String {
        #[allow(clippy::cast_precision_loss)] // a handful
        let runs = self.chart.runs.len() as f64 * ROW;
        let bottom = self.top + self.size.height + BELOW + runs;
        let caption = caption(&self.chart.x, self.x);
        let lines = if caption.is_empty() { 1.0 } else { 2.0 };
        let height = bottom + lines * (self.size.letters + 5.0);
        let mut out = format!(
            "<svg class=\"{}\" viewBox=\"0 0 {} {height:.0}\" role=\"img\" aria-label=\"{sentence}\">\n",
            self.size.class, self.size.width
        );
        self.y_axis(&mut out);
        self.x_ticks(&mut out, bottom);
        self.marks(&mut out);
        self.annotations(&mut out);
        self.curves(&mut out);
        self.runs(&mut out);
        if !caption.is_empty() {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // some dozens
            let room = (self.size.width / self.size.letters / LETTER_SHARE) as usize;
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                self.size.width / 2.0,
                bottom + 2.0 * (self.size.letters + 3.0),
                escaped(&cut(&caption, room))
            );
        }
        out + "</svg>\n"
    }

    fn at_x(&self, value: f64) -> f64 {
        self.left + share(value, self.x) * self.plot
    }

    fn at_y(&self, value: f64) -> f64 {
        self.top + (1.0 - share(value, self.axis.range)) * self.size.height
    }

    /// Returns whether a point lies within the range of the x axis.
    fn is_within(&self, point: &Point) -> bool {
        point.is_finite() && (self.x.0..=self.x.1).contains(&point.x)
    }

    fn y_axis(&self, out: &mut String) {
        for (value, label) in &self.axis.ticks {
            let at = self.at_y(*value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{} {at:.1}h{:.1}\"/><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{label}</text>",
                self.left,
                self.plot,
                self.left - 6.0,
                at + 4.0
            );
        }
    }

    fn x_ticks(&self, out: &mut String, bottom: f64) {
        let letters = self.plot / self.size.letters / LETTER_SHARE;
        let ticks = x_ticks(&self.chart.x.scale, self.x, letters);
        let (mut path, top) = (String::new(), self.top);
        for share in ticks.iter().filter_map(|tick| tick.share) {
            let _ = write!(
                path,
                "M{:.1} {top}V{bottom:.1}",
                self.left + share * self.plot
            );
        }
        if !path.is_empty() {
            let _ = writeln!(out, "<path class=\"grid\" d=\"{path}\"/>");
        }
        for tick in ticks.iter().filter(|tick| !tick.label.is_empty()) {
            // Centred in the space reserved for it, whatever the width of the font.
            #[allow(clippy::cast_precision_loss)] // a label
            let wide = display_width(&tick.label) as f64 / letters;
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                self.left + (tick.label_share + wide / 2.0) * self.plot,
                bottom + self.size.letters,
                escaped(&tick.label)
            );
        }
    }

    /// Draws the marks: the first kind as shaded areas, the others as dashed lines, or as frames if they are
    /// wide.
    fn marks(&self, out: &mut String) {
        for (index, marks) in self.chart.marks.iter().enumerate() {
            let path = if index == 0 {
                self.spans(&marks.spans, self.top, self.size.height)
            } else {
                self.lines_and_frames(&marks.spans)
            };
            if !path.is_empty() {
                let _ = writeln!(out, "<path class=\"mark m{}\" d=\"{path}\"/>", index.min(2));
            }
        }
    }

    /// Spans as a line in their middle, wide ones as a frame; those that would be drawn over each other
    /// are drawn once.
    fn lines_and_frames(&self, spans: &[(f64, f64)]) -> String {
        let mut path = String::new();
        let (mut line, mut frame) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let (top, height) = (self.top, self.size.height);
        for &(from, to) in spans.iter().filter(|span| self.is_seen(**span)) {
            let (from, to) = (self.at_x(from), self.at_x(to));
            let wide = to - from;
            if wide > FRAME_MIN {
                if from - frame >= 1.0 {
                    let _ = write!(path, "M{from:.1} {top}v{height}h{wide:.1}v-{height}z");
                    frame = from;
                }
                continue;
            }
            let at = f64::midpoint(from, to);
            if at - line >= 1.0 {
                let _ = write!(path, "M{at:.1} {top}v{height}");
                line = at;
            }
        }
        path
    }

    /// Draws a line for each annotation, and above it a flag with its number; those too close to each other share
    /// one.
    fn annotations(&self, out: &mut String) {
        let mut lines = String::new();
        let mut flags: Vec<(usize, usize, f64, f64)> = Vec::new();
        for (number, one) in self.chart.numbered(self.x) {
            let at = self.at_x(one.at);
            let _ = write!(
                lines,
                "M{at:.1} {}V{:.1}",
                TOP + 8.0,
                self.top + self.size.height
            );
            match flags.last_mut() {
                Some((first, last, _, to)) if at - *to < self.flag_width(*first, number) => {
                    (*last, *to) = (number, at);
                }
                _ => flags.push((number, number, at, at)),
            }
        }
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(out, "<path class=\"note\" d=\"{lines}\"/>");
        for (first, last, from, to) in flags {
            let width = self.flag_width(first, last);
            let half = width / 2.0;
            let at = f64::midpoint(from, to);
            let at = at.clamp(
                self.left + half,
                (self.size.width - half).max(self.left + half),
            );
            let name = if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            };
            let _ = writeln!(
                out,
                "<path class=\"flag\" d=\"M{:.1} 2h{width:.1}v{FLAG}h-{width:.1}z\"/><text class=\"flag\" \
                 x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
                at - half,
                2.0 + FLAG - 4.0,
            );
        }
    }

    /// Returns the width of the flag of annotations from one number to another.
    #[allow(clippy::cast_precision_loss)] // some digits
    fn flag_width(&self, first: usize, last: usize) -> f64 {
        let digits = |number: usize| number.to_string().len();
        let letters = if first == last {
            digits(last)
        } else {
            digits(first) + 1 + digits(last)
        };
        (letters as f64 * self.size.letters * LETTER_SHARE + 8.0).max(FLAG)
    }

    fn is_seen(&self, (from, to): (f64, f64)) -> bool {
        from <= to && from <= self.x.1 && to >= self.x.0
    }

    /// Draws spans as bars; those that would overlap on screen are merged.
    fn spans(&self, spans: &[(f64, f64)], top: f64, height: f64) -> String {
        let mut path = String::new();
        let mut drawn = f64::NEG_INFINITY;
        for &(from, to) in spans.iter().filter(|span| self.is_seen(**span)) {
            let from = self.at_x(from);
            let wide = (self.at_x(to) - from).max(SPAN_MIN);
            if from + wide > drawn + 0.3 {
                let _ = write!(
                    path,
                    "M{from:.1} {top:.1}h{wide:.1}v{height:.1}h-{wide:.1}z"
                );
                drawn = from + wide;
            }
        }
        path
    }

    fn runs(&self, out: &mut String) {
        let mut top = self.top + self.size.height + BELOW;
        for (index, (runs, letter)) in self.chart.runs.iter().zip('a'..='z').enumerate() {
            let path = self.spans(&runs.spans, top, ROW - 5.0);
            if !path.is_empty() {
                let _ = writeln!(out, "<path class=\"run r{}\" d=\"{path}\"/>", index % 4);
            }
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{letter}</text>",
                self.left - 6.0,
                top + ROW - 6.0
            );
            top += ROW;
        }
    }

    /// Draws the curves: the first on top of the others, lines on top of points.
    fn curves(&self, out: &mut String) {
        let numbered = || self.chart.curves.iter().enumerate().rev();
        for style in [CurveStyle::Dots, CurveStyle::Line, CurveStyle::Crosses] {
            for (index, curve) in numbered().filter(|(_, curve)| curve.style == style) {
                let drawn = match style {
                    CurveStyle::Dots => self.points(curve, "dots", "h0"),
                    CurveStyle::Crosses => self.points(curve, "crosses", "m-3-3l6 6m-6 0l6-6"),
                    CurveStyle::Line => self.line(curve),
                };
                let _ = writeln!(out, "<g class=\"c{}\">{drawn}</g>", index % STYLES);
            }
        }
    }

    /// Draws separate points, each as `shape`.
    fn points(&self, curve: &Curve, class: &str, shape: &str) -> String {
        let points: Vec<Point> = curve
            .points()
            .filter(|point| self.is_within(point))
            .copied()
            .collect();
        let points = if points.len() > DOTS_MAX {
            self.thinned(&points)
        } else {
            points
        };
        let spots: BTreeSet<String> = points
            .iter()
            .map(|point| {
                format!(
                    "M{:.1} {:.1}{shape}",
                    self.at_x(point.x),
                    self.at_y(point.y)
                )
            })
            .collect();
        let path: String = spots.into_iter().collect();
        format!("<path class=\"{class}\" d=\"{path}\"/>")
    }

    /// Draws a curve: its ranges, its line, and its points where they are far enough apart.
    fn line(&self, curve: &Curve) -> String {
        let (mut band, mut line, mut samples) = (String::new(), String::new(), String::new());
        for stretch in &curve.stretches {
            let points: Vec<Point> = stretch
                .iter()
                .filter(|point| self.is_within(point))
                .copied()
                .collect();
            let has_ranges = points.iter().any(Point::has_range);
            let points = if has_ranges {
                self.merged(&points)
            } else {
                self.thinned(&points)
            };
            if has_ranges && points.len() > 1 {
                let upper = points.iter().map(|point| (point.x, point.ends().1));
                let lower = points.iter().rev().map(|point| (point.x, point.ends().0));
                self.path(&mut band, upper.chain(lower));
                band.push('z');
            } else if let (true, [point]) = (has_ranges, points.as_slice()) {
                let (low, high) = point.ends();
                let _ = write!(
                    band,
                    "M{:.1} {:.1}h{SPAN_MIN}V{:.1}h-{SPAN_MIN}z",
                    self.at_x(point.x) - SPAN_MIN / 2.0,
                    self.at_y(high),
                    self.at_y(low)
                );
            }
            self.path(&mut line, points.iter().map(|point| (point.x, point.y)));
            // A single point does not make a line.
            if points.len() == 1 {
                line.push_str("h0");
            }
            let first = points.first().map_or(0.0, |point| self.at_x(point.x));
            let last = points.last().map_or(0.0, |point| self.at_x(point.x));
            #[allow(clippy::cast_precision_loss)] // some hundreds
            if last - first >= SAMPLE_GAP * points.len().saturating_sub(1) as f64 {
                for point in &points {
                    let _ = write!(
                        samples,
                        "M{:.1} {:.1}h0",
                        self.at_x(point.x),
                        self.at_y(point.y)
                    );
                }
            }
        }
        let mut out = String::new();
        for (class, path) in [("band", band), ("line", line), ("sample", samples)] {
            if !path.is_empty() {
                let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
            }
        }
        out
    }

    fn path(&self, out: &mut String, points: impl Iterator<Item = (f64, f64)>) {
        let mut pen = 'M';
        for (x, y) in points {
            let _ = write!(out, "{pen}{:.1} {:.1}", self.at_x(x), self.at_y(y));
            pen = 'L';
        }
    }

    /// Returns the column of the drawing that contains a point.
    fn column(&self, point: &Point) -> f64 {
        ((self.at_x(point.x) - self.left) / COLUMN).floor()
    }

    /// Keeps the first, lowest, highest and last of the points in a column, so that the line looks the
    /// same.
    fn thinned(&self, points: &[Point]) -> Vec<Point> {
        let mut kept = Vec::new();
        for part in points.chunk_by(|a, b| self.column(a) >= self.column(b)) {
            let by_value = |a: &usize, b: &usize| part[*a].y.total_cmp(&part[*b].y);
            let lowest = (0..part.len()).min_by(by_value).unwrap_or(0);
            let highest = (0..part.len()).max_by(by_value).unwrap_or(0);
            let shown = BTreeSet::from([0, lowest, highest, part.len() - 1]);
            kept.extend(shown.into_iter().map(|index| part[index]));
        }
        kept
    }

    /// Merges the points of each column into one with their mean and the union of their ranges.
    fn merged(&self, points: &[Point]) -> Vec<Point> {
        let merge = |part: &[Point]| {
            #[allow(clippy::cast_precision_loss)] // some
            let weight = 1.0 / part.len() as f64;
            let mean = |of: fn(&Point) -> f64| part.iter().map(|point| of(point) * weight).sum();
            let ends = part.iter().map(Point::ends);
            Point {
                x: mean(|point| point.x),
                y: mean(|point| point.y),
                range: ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            }
        };
        let parts = points.chunk_by(|a, b| self.column(a) >= self.column(b));
        parts.map(merge).collect()
    }
}
