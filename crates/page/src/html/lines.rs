//! Line charts as SVG: one drawing for wide containers and one for narrow ones (the style sheet shows the
//! one whose letters are readable), and a table of the values.

use super::drawing::{Drawing, NARROW, STYLES, WIDE};
use super::table::{bare, table};
use super::text::{escaped, figure};
use crate::chart::{Curve, CurveStyle, LineChart, Point};
use crate::scale::{caption, moment, widened, y_axis};
use std::fmt::Write as _;

/// Maximum number of jobs drawn.
const RUNS_MAX: usize = 8;
/// Maximum number of annotations whose text is below the chart.
const ANNOTATIONS_MAX: usize = 8;

/// Renders a line chart; empty if there is nothing to draw. `id` is unique within the page.
pub(crate) fn lines(chart: &LineChart, id: &str) -> String {
    let Some([x, y]) = chart.ends() else {
        return String::new();
    };
    let mut shown = chart.clone();
    let hidden_runs = shown.runs.len().saturating_sub(RUNS_MAX);
    shown.runs.truncate(RUNS_MAX);
    let (x, axis) = (widened(x), y_axis(y, chart.y_format));
    let mut out = figure(id, &chart.title);
    if !chart.y_label.is_empty() && !chart.y_label.eq_ignore_ascii_case(&chart.title) {
        let _ = writeln!(out, "<p class=\"axis\">{}</p>", escaped(&chart.y_label));
    }
    let sentence = escaped(&sentence(chart, x));
    for size in [WIDE, NARROW] {
        out += &Drawing::new(&shown, x, &axis, size).svg(&sentence);
    }
    out += &legend(&shown, hidden_runs);
    out += &annotations(chart, x);
    // A row for each value would be most of the page.
    let table = if chart.lists_all { bare } else { table };
    let _ = write!(
        out,
        "<details><summary>Values</summary>\n<div class=\"scroll\">\n{}",
        table(&chart.table())
    );
    if let Some(events) = chart.events() {
        out += &table(&events);
    }
    out + "</div>\n</details>\n</figure>\n"
}

/// Describes the chart for people who cannot see it.
fn sentence(chart: &LineChart, x: (f64, f64)) -> String {
    const CURVES_MAX: usize = 6;
    let mut out = format!("Line chart: {}.", chart.title);
    for curve in chart.curves.iter().take(CURVES_MAX) {
        let ends = curve.points().map(Point::ends);
        let range = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let Some((low, high)) = range else { continue };
        let write = |value: f64| chart.y_format.write(value);
        let _ = write!(
            out,
            " {}: from {} to {}.",
            curve.name,
            write(low),
            write(high)
        );
    }
    if chart.curves.len() > CURVES_MAX {
        let _ = write!(out, " And {} more.", chart.curves.len() - CURVES_MAX);
    }
    let along = caption(&chart.x, x);
    let scale = &chart.x.scale;
    if matches!(scale, crate::chart::Scale::Time(_)) {
        let _ = write!(out, " Along the bottom: {along}.");
    } else {
        let (from, to) = (moment(scale, x.0), moment(scale, x.1));
        let gap = if along.is_empty() { "" } else { ", " };
        let _ = write!(out, " Along the bottom: {along}{gap}{from} to {to}.");
    }
    out + " The values are in the table below."
}

/// Renders the legend: a sample and a name for each curve, kind of marks and job.
fn legend(chart: &LineChart, hidden_runs: usize) -> String {
    let mut entries: Vec<String> = Vec::new();
    let mut add = |sample: &str, name: &str| {
        entries.push(format!(
            "<li><svg viewBox=\"0 0 34 12\" width=\"34\" height=\"12\" aria-hidden=\"true\">{sample}</svg> \
             {}</li>",
            escaped(name)
        ));
    };
    let is_alone = chart.curves.len() == 1;
    for (index, curve) in chart.curves.iter().enumerate() {
        let class = index % STYLES;
        let has_ranges = has_ranges(curve);
        let is_told =
            curve.name.is_empty() || curve.name == chart.y_label || curve.name == chart.title;
        if !(is_alone && is_told) || has_ranges {
            let name = if curve.name.is_empty() {
                "value"
            } else {
                &curve.name
            };
            let d = match curve.style {
                CurveStyle::Line => "<path class=\"line\" d=\"M1 6H33\"/>",
                CurveStyle::Dots => "<path class=\"dots\" d=\"M5 9h0M17 4h0M29 7h0\"/>",
                CurveStyle::Crosses => "<path class=\"crosses\" d=\"M14 3l6 6m-6 0l6-6\"/>",
            };
            add(&format!("<g class=\"c{class}\">{d}</g>"), name);
        }
        if has_ranges {
            let name = if curve.range_name.is_empty() {
                "lowest to highest"
            } else {
                &curve.range_name
            };
            add(
                &format!("<path class=\"band c{class}\" d=\"M1 1h32v10h-32z\"/>"),
                name,
            );
        }
    }
    for (index, marks) in chart.marks.iter().enumerate() {
        let sample = if index == 0 {
            "<path class=\"mark m0\" d=\"M10 0h14v12h-14z\"/>".to_owned()
        } else {
            format!("<path class=\"mark m{}\" d=\"M17 0v12\"/>", index.min(2))
        };
        add(&sample, &marks.name);
    }
    for (index, (runs, letter)) in chart.runs.iter().zip('a'..).enumerate() {
        let sample = format!("<path class=\"run r{}\" d=\"M1 2h32v8h-32z\"/>", index % 4);
        add(&sample, &format!("{letter}: {}", runs.name));
    }
    if hidden_runs > 0 {
        entries.push(format!(
            "<li>and {hidden_runs} more jobs, in the table below</li>"
        ));
    }
    if entries.is_empty() {
        return String::new();
    }
    format!("<ul class=\"legend\">\n{}\n</ul>\n", entries.join("\n"))
}

/// Renders the texts of the annotations, the last of them if there are many.
fn annotations(chart: &LineChart, x: (f64, f64)) -> String {
    let all = chart.numbered(x);
    if all.is_empty() {
        return String::new();
    }
    let hidden = all.len().saturating_sub(ANNOTATIONS_MAX);
    let mut out = String::from("<ol class=\"legend notes\">\n");
    if hidden > 0 {
        let _ = writeln!(
            out,
            "<li class=\"more\">{hidden} earlier ones, in the table below</li>"
        );
    }
    for (number, one) in &all[hidden..] {
        let _ = writeln!(out, "<li><b>{number}</b> {}</li>", escaped(&one.text));
    }
    out + "</ol>\n"
}

fn has_ranges(curve: &Curve) -> bool {
    curve.style == CurveStyle::Line && curve.points().any(Point::has_range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Annotation, Axis, Format, Scale, Spans};
    use proptest::prelude::*;

    fn chart(words: &str) -> LineChart {
        LineChart {
            title: words.to_owned(),
            x: Axis {
                label: words.to_owned(),
                ..Axis::default()
            },
            y_label: format!("{words}!"),
            curves: vec![
                Curve::line(words, [(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (3.0, 4.0)]),
                Curve::dots(words, [(0.0, 2.0), (2.0, 2.5)]),
            ],
            marks: vec![
                Spans::new(words, [(0.5, 1.0)]),
                Spans::new(words, [(2.0, 2.0)]),
            ],
            runs: vec![Spans::new(words, [(1.0, 1.5)])],
            ..LineChart::default()
        }
    }

    #[test]
    fn names_are_escaped() {
        let text = lines(&chart("</svg><b onload=\"x\">'&\u{202e}"), "\"><i>");
        assert!(!text.contains("<b ") && !text.contains("<i>") && !text.contains('\u{202e}'));
        assert!(!text.contains("onload=\"") && !text.contains("NaN"));
        assert_eq!(lines(&LineChart::default(), "c"), "");
    }

    #[test]
    fn everything_is_drawn_in_both_sizes_and_listed_in_a_table() {
        let text = lines(&chart("a"), "c");
        for (part, count) in [
            ("class=\"wide\"", 1),
            ("class=\"narrow\"", 1),
            // Two drawings and the legend.
            ("class=\"mark m0\"", 3),
            ("class=\"mark m1\"", 3),
            ("class=\"run r0\"", 3),
            ("class=\"dots\"", 3),
            (
                "role=\"img\" aria-label=\"Line chart: a. a: from 1 to 4. a: from 2 to 2.5. Along the bottom: a, 0 to 3. The values are in the table below.\"",
                2,
            ),
            // Three values, three events, two header rows.
            ("<tr role=\"row\">", 3 + 3 + 2),
        ] {
            assert_eq!(text.matches(part).count(), count, "{part}");
        }
    }

    #[test]
    fn annotations_are_numbered_and_close_ones_share_a_flag() {
        let mut chart = chart("a");
        let annotation = |at: f64, text: &str| Annotation {
            at,
            text: text.to_owned(),
        };
        chart.annotations = vec![
            annotation(0.5, "<one>"),
            annotation(2.0, "two"),
            annotation(2.01, "three"),
            annotation(99.0, "not within"),
        ];
        let text = lines(&chart, "c");
        for (part, count) in [
            ("<text class=\"flag\"", 4),
            (">2-3</text>", 2),
            ("<li><b>1</b> &lt;one&gt;</li>", 1),
            ("<li><b>3</b> three</li>", 1),
            ("not within", 0),
        ] {
            assert_eq!(text.matches(part).count(), count, "{part}: {text}");
        }
        chart.annotations = (0..30)
            .map(|at| annotation(f64::from(at) / 10.0, "x"))
            .collect();
        let text = lines(&chart, "c");
        assert!(
            text.contains("22 earlier ones") && text.contains("<b>30</b>"),
            "{text}"
        );
    }

    #[test]
    fn a_table_of_all_values_is_small() {
        let points: Vec<(f64, f64)> = (0..400).map(|x| (f64::from(x), f64::from(x % 7))).collect();
        let chart = LineChart {
            curves: vec![
                Curve::line("a", points.clone()),
                Curve::crosses("b", [(3.5, 99.0)]),
            ],
            lists_all: true,
            ..LineChart::default()
        };
        let text = lines(&chart, "c");
        assert_eq!(
            text.matches("<tr>").count(),
            402,
            "400 values, a cross, a head"
        );
        assert!(text.len() < 30_000, "{}", text.len());
        assert_eq!(text.matches("class=\"crosses\"").count(), 3);
    }

    #[test]
    fn a_long_series_is_thinned_and_keeps_its_spike() {
        let points: Vec<(f64, f64)> = (0..200_000)
            .map(|at| {
                (
                    f64::from(at),
                    if at == 77_777 {
                        10.0
                    } else {
                        f64::from(at % 7) / 7.0
                    },
                )
            })
            .collect();
        let spike = |text: &str| text.contains(" 10.0L");
        let long = |curves| LineChart {
            curves,
            y_from: Some(10.0),
            ..LineChart::default()
        };
        let line = lines(&long(vec![Curve::line("a", points.clone())]), "c");
        assert!(spike(&line) && line.len() < 60_000, "{}", line.len());
        let dots = lines(&long(vec![Curve::dots("a", points.clone())]), "c");
        assert!(dots.len() < 60_000, "{}", dots.len());
        let reduced = lines(&long(vec![Curve::reduced("a", points, 900, 2.0)]), "c");
        assert!(reduced.len() < 60_000, "{}", reduced.len());
        assert!(reduced.contains("class=\"band\"") && reduced.contains("lowest to highest"));
    }

    /// Returns whether all numbers in paths and positions of an SVG are finite.
    fn are_finite(text: &str) -> bool {
        ["NaN", "inf"].iter().all(|word| {
            text.split("<svg")
                .skip(1)
                .filter_map(|rest| rest.split("</svg>").next())
                .flat_map(|svg| svg.split(" d=\"").skip(1).chain(svg.split(" x=\"").skip(1)))
                .filter_map(|rest| rest.split('"').next())
                .all(|value| !value.contains(word))
        })
    }

    proptest! {
        #[test]
        fn numbers_are_finite(
            points in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>(), any::<f64>()), 0..40),
            spans in prop::collection::vec((any::<f64>(), any::<f64>()), 0..9),
            scale in 0_usize..5,
            style in 0_usize..3,
        ) {
            let points = points.into_iter().map(|(x, y, low, high)| Point { x, y, range: Some((low, high)) });
            let scales = [Scale::Number, Scale::Time(jiff::tz::TimeZone::UTC), Scale::Elapsed, Scale::Week, Scale::Day];
            let formats = [Format::Number, Format::Percent, Format::Bytes, Format::BytesPerSecond, Format::Seconds];
            let chart = LineChart {
                x: Axis { scale: scales[scale].clone(), ..Axis::default() },
                y_format: formats[scale],
                curves: vec![Curve {
                    style: [CurveStyle::Line, CurveStyle::Dots, CurveStyle::Crosses][style],
                    stretches: vec![points.collect()],
                    ..Curve::default()
                }],
                marks: vec![Spans::new("", spans.clone()); 2],
                annotations: spans.iter().map(|(at, _)| Annotation { at: *at, text: String::new() }).collect(),
                runs: vec![Spans::new("", spans)],
                ..LineChart::default()
            };
            prop_assert!(are_finite(&lines(&chart, "c")));
        }
    }
}
