//! Numbers with their 95 % ranges as SVG: each by its own value, so that one sees which is known well.

use super::numbers::percent;
use report::escape_html as escaped;
use std::fmt::Write as _;

/// Size.
const WIDTH: f64 = 760.0;
const ROW: f64 = 34.0;
/// Room for names, for words at the right, and for the scale.
const LEFT: f64 = 100.0;
const RIGHT: f64 = 310.0;
const BOTTOM: f64 = 36.0;
/// Narrowest and widest scale around a value, by the value.
const REACH: (f64, f64) = (0.1, 1.0);

/// What is drawn.
#[derive(Debug, Clone)]
pub struct Ranges {
    /// Above it.
    pub title: String,
    /// From top to bottom.
    pub ranges: Vec<Range>,
}

/// A number.
#[derive(Debug, Clone)]
pub struct Range {
    /// What it is.
    pub name: String,
    /// It, in words, with its range.
    pub words: String,
    /// It.
    pub value: f64,
    /// Its low end; `None` where it is open.
    pub low: Option<f64>,
    /// Its high end; `None` where it is open.
    pub high: Option<f64>,
    /// It was not fitted.
    pub given: bool,
}

impl Range {
    /// An end by the value, less 1.
    fn by(&self, end: f64) -> Option<f64> {
        let by = end / self.value - 1.0;
        by.is_finite().then_some(by)
    }
}

impl Ranges {
    /// The figure; empty where there is nothing to draw.
    #[allow(clippy::cast_precision_loss)] // a handful
    pub fn svg(&self) -> String {
        if self.ranges.is_empty() {
            return String::new();
        }
        let ends = self.ranges.iter().flat_map(|range| {
            let ends = [range.low, range.high].into_iter().flatten();
            ends.filter_map(|end| range.by(end)).map(f64::abs)
        });
        let reach = ends.fold(REACH.0, f64::max).min(REACH.1);
        let bottom = ROW * self.ranges.len() as f64;
        let x = |by: f64| {
            let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
            middle + (by / reach).clamp(-1.0, 1.0) * (WIDTH - RIGHT - LEFT - 24.0) / 2.0
        };
        let title = escaped(&self.title);
        let mut out = format!(
            "<figure><figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {:.0}\" \
             role=\"img\" aria-label=\"{title}\">\n",
            bottom + BOTTOM
        );
        for by in [-reach, 0.0, reach] {
            let sign = if by > 0.0 { "+" } else { "" };
            let words = if by == 0.0 {
                "value".to_owned()
            } else {
                format!("{sign}{}", percent(by))
            };
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{:.1} 4V{bottom:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{words}</text>",
                x(by),
                x(by),
                bottom + 16.0
            );
        }
        for (index, range) in self.ranges.iter().enumerate() {
            row(&mut out, range, ROW * (index as f64 + 0.5), reach, &x);
        }
        out + "</svg></figure>\n"
    }
}

fn row(out: &mut String, range: &Range, y: f64, reach: f64, x: &dyn Fn(f64) -> f64) {
    let _ = write!(
        out,
        "<text x=\"0\" y=\"{:.1}\">{}</text><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        y + 4.0,
        escaped(&range.name),
        WIDTH - RIGHT + 8.0,
        y + 4.0,
        escaped(&range.words)
    );
    if !range.given {
        for (end, side) in [(range.low, -1.0), (range.high, 1.0)] {
            let by = end.and_then(|end| range.by(end));
            let at = x(by.unwrap_or(side * reach));
            // An end that is seen has a bar, one that is not an arrow.
            let tip = if by.is_some_and(|by| by.abs() <= reach) {
                format!("M{at:.1} {:.1}v12", y - 6.0)
            } else {
                let back = -6.0 * side;
                format!("M{at:.1} {y:.1}l{back} -5M{at:.1} {y:.1}l{back} 5")
            };
            let _ = write!(
                out,
                "<path class=\"c0\" d=\"M{:.1} {y:.1}H{at:.1}{tip}\"/>",
                x(0.0)
            );
        }
    }
    let _ = writeln!(
        out,
        "<circle class=\"c0 spot\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/>",
        x(0.0)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: Option<f64>, high: Option<f64>) -> Range {
        Range {
            name: "spare area".to_owned(),
            words: "7 %".to_owned(),
            value: 0.07,
            low,
            high,
            given: false,
        }
    }

    #[test]
    fn open_ends_have_arrows() {
        let svg = |low, high| {
            Ranges {
                title: "ranges".to_owned(),
                ranges: vec![range(low, high)],
            }
            .svg()
        };
        assert_eq!(svg(Some(0.06), Some(0.08)).matches("v12").count(), 2);
        let open = svg(Some(0.06), None);
        assert_eq!(
            (open.matches("v12").count(), open.matches(" 5\"").count()),
            (1, 1)
        );
        // What lies beyond the scale is an arrow too, and nothing is NaN.
        let far = svg(Some(0.0), Some(7.0));
        assert_eq!(
            (far.matches("v12").count(), far.matches(" 5\"").count()),
            (1, 1)
        );
        assert!(!far.contains("NaN"));
    }

    #[test]
    fn what_was_given_has_no_range() {
        let given = Range {
            given: true,
            ..range(None, None)
        };
        let text = Ranges {
            title: String::new(),
            ranges: vec![given],
        }
        .svg();
        assert!(text.contains("<circle") && !text.contains("class=\"c0\" d"));
    }
}
