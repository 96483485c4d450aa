//! Cell contents: numbers, number formats and units.

/// A cell of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<'a> {
    /// The index of its column, from 0.
    pub column: usize,
    pub text: &'a str,
    /// Whether it is text by its syntax, even if it looks like a number.
    pub quoted: bool,
    /// Its position in the line, in characters from 1, if known.
    pub at: Option<usize>,
}

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Time,
    /// The time of day, if the date is in a separate column.
    Clock,
    /// A value, with a decimal comma or a decimal point.
    Value {
        comma: bool,
    },
    Label,
    Skipped,
}

/// Words that mean a missing value.
const MISSING: &[&str] = &["", "nan", "null", "none", "na", "n/a", "nil", "-", "?"];

/// Returns whether a text means that there is no value.
pub(super) fn is_missing(text: &str) -> bool {
    MISSING.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Determines whether most texts of a column are numbers, and their format.
pub(super) fn numeric<'c>(
    cells: impl Iterator<Item = Cell<'c>>,
    comma_allowed: bool,
) -> Option<Role> {
    let (mut any, mut points, mut commas, mut present) = (0, 0, 0, 0);
    for cell in cells.filter(|cell| !is_missing(cell.text)) {
        present += 1;
        let point = number(&cell, false).is_ok();
        let comma = comma_allowed && number(&cell, true).is_ok();
        any += usize::from(point || comma);
        points += usize::from(point);
        commas += usize::from(comma && !point);
    }
    (any * 2 > present).then_some(Role::Value {
        comma: commas > 0 && commas + points >= any,
    })
}

/// Parses the number in a cell; `None` if the value is missing.
pub(super) fn number(cell: &Cell, comma: bool) -> Result<Option<f64>, &'static str> {
    let text = cell.text.trim();
    let expected = if comma {
        "a number with a decimal comma"
    } else {
        "a number"
    };
    let looks = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_digit() || b"+-.,".contains(&byte));
    if looks && !cell.quoted {
        let parsed = if comma {
            if text.contains('.') {
                return Err(expected);
            }
            text.replacen(',', ".", 1).parse()
        } else {
            text.parse()
        };
        if let Ok(number) = parsed {
            return Ok(Some(number));
        }
    }
    let word = text.to_ascii_lowercase();
    if is_missing(text) {
        return Ok(None);
    }
    if [
        "inf",
        "+inf",
        "-inf",
        "infinity",
        "-infinity",
        "+infinity",
        "-nan",
    ]
    .contains(&word.as_str())
    {
        return Ok(Some(f64::INFINITY));
    }
    Err(expected)
}

/// Returns whether a text begins like a number.
pub(super) fn begins_as_number(text: &str) -> bool {
    let text = text.trim().trim_start_matches(['+', '-']);
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns a hint for text in a column of numbers; empty if there is none.
pub(super) fn number_hint(text: &str, comma: bool) -> String {
    let text = text.trim();
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    if !comma
        && text.contains(',')
        && begins_as_number(text)
        && is_number(&text.replacen(',', ".", 1))
    {
        return " (decimal commas are read where semicolons, tabs or bars separate columns; else write \
                decimal points)"
            .to_owned();
    }
    let unit_at = text.find(|c: char| !(c.is_ascii_digit() || "+-.,".contains(c)));
    if let Some(at) = unit_at
        && begins_as_number(text)
        && is_number(&text[..at].replacen(',', ".", 1))
        && text[at..].chars().filter(char::is_ascii_digit).count() == 0
    {
        return " (without its unit, which may stand in the column's name, as in latency_ms)"
            .to_owned();
    }
    String::new()
}

/// Countable things: after one of these, `_s` means a rate even without `per`.
const COUNTED: [&str; 20] = [
    "op",
    "ops",
    "doc",
    "docs",
    "byte",
    "bytes",
    "kb",
    "mb",
    "gb",
    "req",
    "reqs",
    "requests",
    "queries",
    "tx",
    "transactions",
    "reads",
    "writes",
    "events",
    "messages",
    "rows",
];

/// Extracts the unit from a column's name: `latency (ms)`, `latency [ms]`, `latency_ms`, `ops/s`,
/// `throughput_ops_s`, `hits_per_s`.
pub(super) fn unit_of(name: &str) -> Option<String> {
    let name = name.trim();
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some(rest) = name.strip_suffix(close)
            && let Some(at) = rest.rfind(open)
        {
            let unit = rest[at + 1..].trim();
            return (1..=20).contains(&unit.len()).then(|| unit.to_owned());
        }
    }
    let mut words = name.rsplit(['_', '.', ' ']);
    let last = words.next()?;
    if ["s", "sec", "second"].contains(&last.to_ascii_lowercase().as_str())
        && let Some(before) = words.next()
    {
        if before.eq_ignore_ascii_case("per") {
            // Whatever is counted, the value is a rate, not a time.
            let counted = words.next().filter(|word| (1..=20).contains(&word.len()));
            return counted.map(|counted| format!("{counted}/s"));
        }
        if COUNTED.contains(&before.to_ascii_lowercase().as_str()) {
            return Some(format!("{before}/s"));
        }
    }
    let known = [
        "ms", "us", "ns", "s", "seconds", "bytes", "kb", "mb", "gb", "percent", "pct",
    ];
    let is_unit = last.len() < name.len() && known.contains(&last.to_ascii_lowercase().as_str());
    let per_second = last.ends_with("/s") && last.len() > 2;
    (is_unit || per_second).then(|| last.to_owned())
}
