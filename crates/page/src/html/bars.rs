//! Bar charts as a table: labels and values remain text, however narrow the screen is.

use super::text::{escaped, figure};
use crate::chart::{Bar, BarChart};
use crate::scale::share;
use std::fmt::Write as _;

/// Length of the longest bar, in SVG units.
const LENGTH: f64 = 1_000.0;
/// Height of a bar's drawing.
const HEIGHT: f64 = 20.0;

/// Renders a bar chart; empty if there are no bars. `id` is unique within the page.
pub(crate) fn bars(chart: &BarChart, id: &str) -> String {
    if chart.bars().next().is_none() {
        return String::new();
    }
    let longest = chart.longest();
    let mut out = figure(id, &chart.title);
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
    if chart.bars().any(|bar| bar.marked) && !chart.mark_label.is_empty() {
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

fn drawn(bar: &Bar, longest: f64) -> String {
    if longest <= 0.0 {
        return String::new();
    }
    let mut out = format!(
        "<svg viewBox=\"0 0 {LENGTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    if bar.value.is_finite() {
        let _ = write!(
            out,
            "<path class=\"bar\" d=\"M0 2h{:.1}v16h-{0:.1}z\"/>",
            share(bar.value.max(0.0), (0.0, longest)) * LENGTH
        );
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

    #[test]
    fn bar_lengths_are_proportional() {
        let all = [400.0, 200.0, f64::NAN].map(|value| Bar::new("1", value));
        let text = bars(&chart(all.to_vec()), "c");
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
    fn names_are_escaped() {
        let mut hostile = chart(vec![Bar::new("1", 1.0)]);
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
