//! Comma-separated values for spreadsheets.

/// Formats one line according to RFC 4180, but ending in a plain newline.
pub fn line<S: AsRef<str>>(cells: &[S]) -> String {
    let cells: Vec<String> = cells.iter().map(|text| cell(text.as_ref())).collect();
    cells.join(",") + "\n"
}

fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Formats a number; empty if unknown.
pub fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_if_necessary() {
        assert_eq!(line(&["a", "b,c", "d\"e"]), "a,\"b,c\",\"d\"\"e\"\n");
        assert_eq!(number(None), "");
    }
}
