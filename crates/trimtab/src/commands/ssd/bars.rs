//! Bars as SVG: panels below each other on one scale, each bar with its number.

use super::numbers::digits;
use report::escape_html as escaped;
use std::fmt::Write as _;

/// Size of a panel.
const WIDTH: f64 = 760.0;
const PANEL: f64 = 150.0;
/// Room for a panel's name, and for the labels below.
const TOP: f64 = 30.0;
const BOTTOM: f64 = 22.0;
/// A bar of this height has room for its number.
const INSIDE: f64 = 22.0;
/// A bar takes so much of its place.
const SHARE: f64 = 0.72;

/// What is drawn.
#[derive(Debug, Clone)]
pub struct Bars {
    /// Above all panels.
    pub title: String,
    /// What the labels are.
    pub x_label: String,
    /// What the marks mean.
    pub mark_label: String,
    /// One below the other.
    pub panels: Vec<Panel>,
}

/// Bars side by side.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Above it.
    pub name: String,
    /// From left to right.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Below it.
    pub label: String,
    /// Its height.
    pub value: f64,
    /// A mark stands beside its label.
    pub marked: bool,
}

impl Bars {
    /// The figure; empty where there is nothing to draw.
    #[allow(clippy::cast_precision_loss)] // a handful
    pub fn svg(&self) -> String {
        let bars = self.panels.iter().flat_map(|panel| &panel.bars);
        let highest = bars.map(|bar| bar.value).fold(0.0, f64::max);
        if highest <= 0.0 || !highest.is_finite() {
            return String::new();
        }
        let height = PANEL * self.panels.len() as f64 + 18.0;
        let title = escaped(&self.title);
        let mut out = format!(
            "<figure><figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height:.0}\" \
             role=\"img\" aria-label=\"{title}\">\n"
        );
        for (index, panel) in self.panels.iter().enumerate() {
            draw(&mut out, panel, PANEL * index as f64, highest);
        }
        let _ = write!(
            out,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>\n</svg>\n<p \
             class=\"legend\">",
            WIDTH / 2.0,
            height - 4.0,
            escaped(&self.x_label)
        );
        if self
            .panels
            .iter()
            .any(|panel| panel.bars.iter().any(|bar| bar.marked))
        {
            let _ = write!(out, "<span>&#9650; {}</span> ", escaped(&self.mark_label));
        }
        out + "<span>dashed: the first bar's height</span></p></figure>\n"
    }
}

#[allow(clippy::cast_precision_loss)] // a handful
fn draw(out: &mut String, panel: &Panel, top: f64, highest: f64) {
    let floor = top + PANEL - BOTTOM;
    let place = WIDTH / panel.bars.len().max(1) as f64;
    let height = |value: f64| (value / highest).clamp(0.0, 1.0) * (PANEL - TOP - BOTTOM);
    let _ = writeln!(
        out,
        "<text class=\"name\" x=\"0\" y=\"{:.0}\">{}</text>",
        top + 16.0,
        escaped(&panel.name)
    );
    for (index, bar) in panel.bars.iter().enumerate() {
        let high = if bar.value.is_finite() {
            height(bar.value)
        } else {
            0.0
        };
        let left = place * (index as f64 + (1.0 - SHARE) / 2.0);
        let middle = place * (index as f64 + 0.5);
        let mark = if bar.marked { "&#9650; " } else { "" };
        // The number stands in its bar, or above one that is too low.
        let (class, base) = if high >= INSIDE {
            ("value", floor - high + 16.0)
        } else {
            ("low", floor - high - 5.0)
        };
        let _ = writeln!(
            out,
            "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{high:.1}\"/>\
             <text class=\"{class}\" x=\"{middle:.1}\" y=\"{base:.1}\" \
             text-anchor=\"middle\">{}</text><text x=\"{middle:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">{mark}{}</text>",
            floor - high,
            place * SHARE,
            digits(bar.value),
            floor + 15.0,
            escaped(&bar.label)
        );
    }
    if let Some(first) = panel.bars.first().filter(|bar| bar.value.is_finite()) {
        let _ = writeln!(
            out,
            "<path class=\"level\" d=\"M0 {:.1}H{WIDTH}\"/>",
            floor - height(first.value)
        );
    }
    let _ = writeln!(out, "<path class=\"grid\" d=\"M0 {floor:.1}H{WIDTH}\"/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(values: &[f64]) -> Bars {
        Bars {
            title: "throughput".to_owned(),
            x_label: "run".to_owned(),
            mark_label: "trimmed before".to_owned(),
            panels: vec![Panel {
                name: "one".to_owned(),
                bars: values
                    .iter()
                    .map(|&value| Bar {
                        label: "1".to_owned(),
                        value,
                        marked: false,
                    })
                    .collect(),
            }],
        }
    }

    #[test]
    fn heights_are_shares_of_the_highest() {
        let text = bars(&[400.0, 200.0, f64::NAN]).svg();
        let heights: Vec<&str> = text
            .split(" height=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert_eq!(heights, ["98.0", "49.0", "0.0"]);
        assert!(text.contains(">400</text>") && !text.contains("trimmed before"));
    }

    #[test]
    fn nothing_to_draw() {
        assert_eq!(bars(&[]).svg(), "");
        assert_eq!(bars(&[0.0]).svg(), "");
    }
}
