//! A chart as SVG, for pages.

use super::chart::{Chart, Curve};
use super::numbers::digits;
use report::{escape_html as escaped, scale_steps as steps};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Size of a chart.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 230.0;
/// Room for numbers.
const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 34.0;
/// A line has so many columns at most: more would be drawn over each other.
const COLUMNS: f64 = 700.0;
/// Dashes tell curves apart without colour.
const DASHES: [&str; 5] = ["", "7 4", "2 3", "9 3 2 3", "4 2"];

/// Low and high end.
type Range = (f64, f64);

/// The chart; empty where there is nothing to draw.
pub fn chart(chart: &Chart) -> String {
    let points = || chart.curves.iter().flat_map(|curve| finite(&curve.points));
    if points().next().is_none() {
        return String::new();
    }
    let widest = |range: Range, value: f64| (range.0.min(value), range.1.max(value));
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let x = grown(points().fold(none, |range, point| widest(range, point.0)));
    let y = points().fold((chart.floor, chart.floor), |range, point| {
        widest(range, point.1)
    });
    let steps = steps(grown(y));
    let y = (steps.0, steps.1);
    let mut out = format!(
        "<figure><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{}\">\n",
        escaped(&chart.title),
        escaped(&chart.title)
    );
    axes(&mut out, chart, x, steps);
    // The first curve above the others, lines above points.
    let mut order: Vec<(usize, &Curve)> = chart.curves.iter().enumerate().rev().collect();
    order.sort_by_key(|(_, curve)| !curve.dots);
    for (index, curve) in order {
        line(&mut out, index, curve, x, y);
    }
    out += "</svg>\n<p class=\"legend\">";
    for (index, curve) in chart.curves.iter().enumerate() {
        let style = index % DASHES.len();
        let sample = if curve.dots {
            format!("<path class=\"c{style} dots\" d=\"M5 7h0M17 3h0M29 6h0\"/>")
        } else {
            format!(
                "<path class=\"c{style}\" d=\"M1 5H33\" stroke-dasharray=\"{}\"/>",
                DASHES[style]
            )
        };
        let _ = write!(
            out,
            "<span><svg viewBox=\"0 0 34 10\" width=\"34\" height=\"10\" \
             aria-hidden=\"true\">{sample}</svg> {}</span> ",
            escaped(&curve.name)
        );
    }
    if !chart.ticks.is_empty() {
        let _ = write!(out, "<span>&#9650; {}</span>", escaped(&chart.tick_label));
    }
    out + "</p></figure>\n"
}

fn axes(out: &mut String, chart: &Chart, x: Range, (low, high, step): (f64, f64, f64)) {
    let y = (low, high);
    let mut value = low;
    while value <= high + step / 2.0 {
        let at = place_y(value, y);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.0}\"/><text x=\"{:.0}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            digits(value)
        );
        value += step;
    }
    let bottom = HEIGHT - BOTTOM;
    for (at, anchor) in [(x.0, "start"), (x.1, "end")] {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{}</text>",
            place_x(at, x),
            bottom + 28.0,
            digits(at)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        bottom + 28.0,
        escaped(&chart.x_label)
    );
    let mut marks = String::new();
    let mut last = f64::NEG_INFINITY;
    for tick in &chart.ticks {
        let at = place_x(*tick, x);
        // Marks upon marks say no more than one.
        if (x.0..=x.1).contains(tick) && at - last >= 1.0 {
            let _ = write!(marks, "M{at:.1} {:.0}l4 8h-8z", bottom + 3.0);
            last = at;
        }
    }
    if !marks.is_empty() {
        let _ = writeln!(out, "<path class=\"tick\" d=\"{marks}\"/>");
    }
}

fn line(out: &mut String, index: usize, curve: &Curve, x: Range, y: Range) {
    let style = index % DASHES.len();
    if curve.dots {
        let spots: BTreeSet<String> = finite(&curve.points)
            .map(|point| format!("M{:.1} {:.1}h0", place_x(point.0, x), place_y(point.1, y)))
            .collect();
        let path: String = spots.into_iter().collect();
        let _ = writeln!(out, "<path class=\"c{style} dots\" d=\"{path}\"/>");
        return;
    }
    let mut path = String::new();
    let mut pen = 'M';
    for point in thinned(&curve.points, x).iter() {
        if point.0.is_finite() && point.1.is_finite() {
            let _ = write!(
                path,
                "{pen}{:.1} {:.1}",
                place_x(point.0, x),
                place_y(point.1, y)
            );
            pen = 'L';
        } else {
            pen = 'M';
        }
    }
    let _ = writeln!(
        out,
        "<path class=\"c{style}\" stroke-dasharray=\"{}\" d=\"{path}\"/>",
        DASHES[style]
    );
}

fn finite(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let all = points.iter().copied();
    all.filter(|(x, y)| x.is_finite() && y.is_finite())
}

/// Of more points than can be seen, the first, lowest, highest and last of each column: the line
/// looks the same.
fn thinned(points: &[(f64, f64)], x: Range) -> Cow<'_, [(f64, f64)]> {
    #[allow(clippy::cast_precision_loss)] // some thousands
    if points.len() as f64 <= 4.0 * COLUMNS {
        return Cow::Borrowed(points);
    }
    let column = |point: &(f64, f64)| ((point.0 - x.0) / (x.1 - x.0) * COLUMNS).floor();
    let points: Vec<(f64, f64)> = finite(points).collect();
    let mut kept = Vec::new();
    for part in points.chunk_by(|a, b| column(a) >= column(b)) {
        let by_value = |a: &usize, b: &usize| part[*a].1.total_cmp(&part[*b].1);
        let lowest = (0..part.len()).min_by(by_value).unwrap_or(0);
        let highest = (0..part.len()).max_by(by_value).unwrap_or(0);
        let shown = BTreeSet::from([0, lowest, highest, part.len() - 1]);
        kept.extend(shown.into_iter().map(|index| part[index]));
    }
    Cow::Owned(kept)
}

fn place_x(value: f64, x: Range) -> f64 {
    LEFT + (value - x.0) / (x.1 - x.0) * (WIDTH - LEFT - RIGHT)
}

fn place_y(value: f64, y: Range) -> f64 {
    HEIGHT - BOTTOM - (value - y.0) / (y.1 - y.0) * (HEIGHT - TOP - BOTTOM)
}

/// A range of no width is a range around it.
fn grown((low, high): Range) -> Range {
    if high - low > 1e-9 {
        (low, high)
    } else {
        (low, low + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_drawing() {
        let hostile = Chart {
            title: "<script>".to_owned(),
            curves: vec![Curve::line(
                "\"><b>",
                vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)],
            )],
            ..Chart::default()
        };
        let text = chart(&hostile);
        assert!(!text.contains("<script>") && !text.contains("<b>") && !text.contains("NaN"));
        assert_eq!(chart(&Chart::default()), "");
    }

    #[test]
    fn a_long_series_is_thinned_and_keeps_its_ends() {
        let points: Vec<(f64, f64)> = (0..200_000)
            .map(|index| (f64::from(index), if index == 77_777 { 9.0 } else { 1.0 }))
            .collect();
        let kept = thinned(&points, (0.0, 199_999.0));
        assert!(kept.len() <= 2804, "{}", kept.len());
        assert!(kept.contains(&(77_777.0, 9.0)));
        assert_eq!(
            (kept[0], kept[kept.len() - 1]),
            (points[0], points[199_999])
        );
        let all = Chart {
            curves: vec![
                Curve::line("line", points.clone()),
                Curve::dots("dots", points.clone()),
            ],
            ticks: points.iter().map(|point| point.0).collect(),
            ..Chart::default()
        };
        assert!(chart(&all).len() < 200_000);
        // A short one is as it is.
        assert_eq!(thinned(&points[..100], (0.0, 99.0)).len(), 100);
    }
}
