//! Pages that load nothing: their frame, text in them, scales of charts.

use std::fmt::Write as _;
use units::escape::escape;

/// What ends a page that [`page_start`] began.
pub const PAGE_END: &str = "</main>\n</body>\n</html>\n";

/// A page up to the begin of its contents. `css` is put behind the rules that all pages have. The page
/// may load nothing, whatever stands in it, and runs no script unless `runs_scripts` says so.
pub fn page_start(title: &str, css: &str, runs_scripts: bool) -> String {
    let scripts = if runs_scripts {
        "; script-src 'unsafe-inline'"
    } else {
        ""
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta \
         http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; \
         form-action 'none'; style-src 'unsafe-inline'{scripts}\">\n<meta name=\"generator\" \
         content=\"trimtab {}\">\n<title>{}</title>\n<style>\n{}{css}</style>\n</head>\n<body>\n\
         <main>\n",
        env!("CARGO_PKG_VERSION"),
        escape_html(title),
        include_str!("page.css"),
    )
}

/// Text that cannot be taken for markup; what would steer a terminal or disguise text is shown.
pub fn escape_html(text: &str) -> String {
    let shown = escape(text);
    let mut out = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A table of plain text; the first cell of a row names it.
pub fn page_table(head: &[String], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    for name in head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape_html(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let cell = escape_html(cell);
            if index == 0 {
                let _ = write!(out, "<th scope=\"row\">{cell}</th>");
            } else {
                let _ = write!(out, "<td>{cell}</td>");
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// Ends and step of a scale of round numbers over a range that is not empty.
pub fn scale_steps((low, high): (f64, f64)) -> (f64, f64, f64) {
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= rough)
        .unwrap_or(rough);
    (
        (low / step).floor() * step,
        (high / step).ceil() * step,
        step,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        assert_eq!(
            escape_html("<a href='x'>\"&\u{202e}"),
            "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\\u{202e}"
        );
        let table = page_table(&["<i>".to_owned()], &[vec!["<b>".to_owned()]]);
        assert!(!table.contains("<i>") && !table.contains("<b>"));
    }

    #[test]
    fn scales_have_round_numbers() {
        let close = |found: (f64, f64, f64), expected: (f64, f64, f64)| {
            let pairs = [
                (found.0, expected.0),
                (found.1, expected.1),
                (found.2, expected.2),
            ];
            assert!(pairs.iter().all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
        };
        close(scale_steps((1.0, 3.9)), (1.0, 4.0, 1.0));
        close(scale_steps((0.0, 870.0)), (0.0, 1000.0, 250.0));
        close(scale_steps((0.0, 0.013)), (0.0, 0.015, 0.005));
    }
}
