//! Text escaped for HTML.

use crate::prose::rendered;
use units::escape::escape;

/// Escapes markup, and characters that could control a terminal or disguise text.
pub(super) fn escaped(text: &str) -> String {
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

/// Escapes prose; text between two backticks becomes code.
pub(super) fn words(text: &str) -> String {
    rendered(text, escaped, |code| {
        format!("<code>{}</code>", escaped(code))
    })
}

/// Begins the figure of a chart, whose id is unique within the page.
pub(super) fn figure(id: &str, title: &str) -> String {
    format!(
        "<figure class=\"chart\" id=\"{}\">\n<figcaption>{}</figcaption>\n",
        escaped(id),
        escaped(title)
    )
}
