//! Bar charts on a terminal, one bar per line.

use super::lines::wrapped;
use crate::chart::{Bar, BarChart};
use crate::scale::share;
use units::escape::{cut, display_width, escape};

/// Maximum width of a label; longer ones are truncated.
const LABEL_COLUMNS_MAX: usize = 24;
/// Minimum width of the bars; with less room only the values are shown.
const BAR_MIN: usize = 8;

/// Draws the bars, without the chart's title, in lines of at most `width` columns; empty if there are none.
pub(crate) fn bars(chart: &BarChart, width: usize, unicode: bool) -> Vec<String> {
    let widest = |texts: &mut dyn Iterator<Item = String>| {
        texts.map(|text| display_width(&text)).max().unwrap_or(0)
    };
    let label_columns = widest(&mut chart.bars().map(|bar| label(bar, unicode)))
        .min(LABEL_COLUMNS_MAX)
        .min(width / 3);
    // The text beside a bar matters more than its length: long texts leave less room for bars, or none.
    let text_columns = widest(
        &mut chart
            .bars()
            .map(|bar| escape(&chart.text(bar)).into_owned()),
    );
    let room = width.saturating_sub(2 + label_columns + 1 + 1 + text_columns);
    let columns = if room < BAR_MIN { 0 } else { room };
    let longest = chart.longest();
    let mut out = Vec::new();
    for panel in &chart.panels {
        if !panel.name.is_empty() {
            out.push(cut(&escape(&panel.name), width).into_owned());
        }
        for bar in &panel.bars {
            let label = label(bar, unicode);
            let label = cut(&label, label_columns);
            let fill = " ".repeat(label_columns.saturating_sub(display_width(&label)));
            let drawn = drawn(bar, longest, columns, unicode);
            let text = chart.text(bar);
            let text = escape(&text);
            let line = format!("  {label}{fill} {drawn} {text}");
            out.push(cut(line.trim_end(), width).into_owned());
        }
    }
    if out.is_empty() {
        return out;
    }
    let mut legend = Vec::new();
    if !chart.x_label.is_empty() {
        legend.push(escape(&chart.x_label).into_owned());
    }
    if chart.bars().any(|bar| bar.marked) && !chart.mark_label.is_empty() {
        legend.push(format!("{} {}", mark(unicode), escape(&chart.mark_label)));
    }
    for line in wrapped(&legend, width.saturating_sub(2)) {
        out.push(cut(&format!("  {line}"), width).into_owned());
    }
    out
}

fn mark(unicode: bool) -> char {
    if unicode { '▲' } else { '^' }
}

fn label(bar: &Bar, unicode: bool) -> String {
    let label = escape(&bar.label);
    if bar.marked {
        format!("{label} {}", mark(unicode))
    } else {
        label.into_owned()
    }
}

/// Draws a bar up to its value.
fn drawn(bar: &Bar, longest: f64, columns: usize, unicode: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if columns == 0 || !bar.value.is_finite() || longest <= 0.0 {
        return String::new();
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a share of the columns
    let eighths = {
        let share = share(bar.value.max(0.0), (0.0, longest));
        ((share * columns as f64 * 8.0).round() as usize).min(columns * 8)
    };
    if unicode {
        return format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]);
    }
    // A value above zero is always visible.
    let whole = ((eighths + 4) / 8).max(usize::from(bar.value > 0.0));
    "#".repeat(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::BarPanel;
    use proptest::prelude::*;

    fn chart(bars: Vec<Bar>) -> BarChart {
        BarChart {
            x_label: "run".to_owned(),
            mark_label: "trimmed before".to_owned(),
            panels: vec![BarPanel {
                name: "throughput".to_owned(),
                bars,
            }],
            ..BarChart::default()
        }
    }

    #[test]
    fn bar_lengths_are_proportional() {
        let mut long = Bar::new("1", 400.0);
        long.marked = true;
        let chart = chart(vec![long, Bar::new("2", 100.0), Bar::new("3", f64::NAN)]);
        assert_eq!(
            bars(&chart, 40, false),
            [
                "throughput",
                "  1 ^ ########################## 400",
                "  2   ####### 100",
                "  3    unknown",
                "  run   ^ trimmed before",
            ]
        );
        assert_eq!(bars(&chart, 40, true)[2], "  2   ██████▌ 100");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide(
            values in prop::collection::vec((any::<f64>(), ".{0,30}"), 0..9),
            width in 0_usize..130,
            unicode: bool,
        ) {
            let all = values.into_iter().map(|(value, label)| Bar::new(label, value));
            for line in bars(&chart(all.collect()), width, unicode) {
                prop_assert!(display_width(&line) <= width.max(3), "{line}");
            }
        }
    }
}
