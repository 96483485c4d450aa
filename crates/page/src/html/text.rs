//! Text escaped for HTML.

use std::fmt::Write as _;
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
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('`') {
        let Some(len) = rest[open + 1..].find('`') else {
            break;
        };
        out += &escaped(&rest[..open]);
        let code = &rest[open + 1..open + 1 + len];
        let _ = write!(out, "<code>{}</code>", escaped(code));
        rest = &rest[open + 2 + len..];
    }
    out + &escaped(rest)
}
