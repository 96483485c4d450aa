//! Bar charts as a table: labels and values remain text, however narrow the screen is.

use super::text::escaped;
use crate::chart::{Bar, BarChart};
use crate::scale::share;
use std::fmt::Write as _;

/// Length of the longest bar, in SVG units.
const LENGTH: f64 = 1_000.0;
/// Height of a bar's drawing.
const HEIGHT: f64 = 20.0;

/// Renders a bar chart; empty if there are no bars. `id` is unique within the page.
pub(crate) fn bars(chart: &BarChart, id: &str) -> String {
    let all = || chart.panels.iter().flat_map(|panel| &panel.bars);
    if all().next().is_none() {
        return String::new();
    }
    let longest = chart.longest();
    let mut out = format!(
        "<figure class=\"chart\" id=\"{}\">\n<figcaption>{}</figcaption>\n",
        escaped(id),
        escaped(&chart.title)
    );
    for panel in &chart.panels {
        out += "<table class=\"bars\" role=\"table\">\n";
        if !panel.name.is_empty() {
            let _ = writeln!(out, "<caption>{}</caption>", escaped(&panel.name));
        }
        out += "<tbody role=\"rowgroup\">\n";
        for bar in &panel.bars {
            let mark = if bar.marked { " &#9650;" } else { "" };
            let _ = writeln!(
                out,
                "<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">{}{mark}</th><td role=\"cell\" \
                 class=\"bar\">{}</td><td role=\"cell\">{}</td></tr>",
                escaped(&bar.label),
                drawn(bar, longest),
                escaped(&chart.text(bar))
            );
        }
        out += "</tbody>\n</table>\n";
    }
    let mut legend = Vec::new();
    if !chart.x_label.is_empty() {
        legend.push(escaped(&chart.x_label));
    }
    if all().any(|bar| bar.range.is_some()) {
        let sample = "<svg viewBox=\"0 0 34 12\" width=\"34\" height=\"12\" aria-hidden=\"true\"><path \
                      class=\"interval\" d=\"M2 6H32M2 2v8M32 2v8\"/></svg>";
        legend.push(format!("{sample} interval"));
    }
    if all().any(|bar| bar.marked) && !chart.mark_label.is_empty() {
        legend.push(format!("&#9650; {}", escaped(&chart.mark_label)));
    }
    if !legend.is_empty() {
        let _ = writeln!(
            out,
            "<ul class=\"legend\">\n<li>{}</li>\n</ul>",
            legend.join("</li>\n<li>")
        );
    }
    out + "</figure>\n"
}

/// Draws a bar and its interval, if any, as a line with end caps.
fn drawn(bar: &Bar, longest: f64) -> String {
    if longest <= 0.0 {
        return String::new();
    }
    let place = |value: f64| share(value.max(0.0), (0.0, longest)) * LENGTH;
    let mut out = format!(
        "<svg viewBox=\"0 0 {LENGTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    if bar.value.is_finite() {
        let _ = write!(
            out,
            "<path class=\"bar\" d=\"M0 2h{:.1}v16h-{0:.1}z\"/>",
            place(bar.value)
        );
    }
    if let Some((low, high)) = bar.range {
        let end = |value: f64, open: f64| {
            if value.is_finite() {
                (place(value), true)
            } else {
                (open, false)
            }
        };
        let (from, to) = (end(low, 0.0), end(high, LENGTH));
        let _ = write!(
            out,
            "<path class=\"interval\" d=\"M{:.1} 10H{:.1}",
            from.0, to.0
        );
        for (at, is_known) in [from, to] {
            if is_known {
                let _ = write!(out, "M{at:.1} 5v10");
            }
        }
        out += "\"/>";
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::BarPanel;

    fn chart(bars: Vec<Bar>) -> BarChart {
        BarChart {
            title: "throughput".to_owned(),
            mark_label: "trimmed before".to_owned(),
            panels: vec![BarPanel {
                name: "one".to_owned(),
                bars,
            }],
            ..BarChart::default()
        }
    }

    fn bar(value: f64, range: Option<(f64, f64)>) -> Bar {
        Bar {
            label: "1".to_owned(),
            value,
            range,
            ..Bar::default()
        }
    }

    #[test]
    fn bar_lengths_are_proportional() {
        let text = bars(
            &chart(vec![
                bar(400.0, None),
                bar(200.0, None),
                bar(f64::NAN, None),
            ]),
            "c",
        );
        let lengths: Vec<&str> = text
            .split("d=\"M0 2h")
            .skip(1)
            .filter_map(|rest| rest.split('v').next())
            .collect();
        assert_eq!(lengths, ["1000.0", "500.0"]);
        assert!(text.contains(">400</td>") && text.contains(">unknown</td>"));
        assert!(!text.contains("trimmed before") && !text.contains("NaN"));
        assert_eq!(bars(&BarChart::default(), "c"), "");
    }

    #[test]
    fn open_ends_have_no_bound() {
        let closed = drawn(&bar(4.0, Some((3.0, 5.0))), 5.0);
        assert_eq!(closed.matches("v10").count(), 2);
        let open = drawn(&bar(4.0, Some((3.0, f64::INFINITY))), 4.0);
        assert_eq!(open.matches("v10").count(), 1);
        assert!(open.contains("H1000.0"));
    }

    #[test]
    fn names_are_escaped() {
        let mut hostile = chart(vec![bar(1.0, None)]);
        hostile.title = "</svg><script>".to_owned();
        hostile.panels[0].name = "<b>".to_owned();
        hostile.panels[0].bars[0].label = "<i>".to_owned();
        hostile.panels[0].bars[0].text = "<u>".to_owned();
        hostile.panels[0].bars[0].marked = true;
        hostile.mark_label = "<s>".to_owned();
        hostile.x_label = "<em>".to_owned();
        let text = bars(&hostile, "\"><a>");
        for tag in ["<script", "<b>", "<i>", "<u>", "<s>", "<em>", "<a>"] {
            assert!(!text.contains(tag), "{tag}");
        }
    }
}
