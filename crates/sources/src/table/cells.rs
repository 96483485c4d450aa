//! What the cells of a column are: numbers, how they are written, and their unit.

/// A cell of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<'a> {
    /// Which column, counted from 0.
    pub column: usize,
    pub text: &'a str,
    /// Its syntax says that it is text, even where it looks like a number.
    pub quoted: bool,
    /// Where it stands in its line, in characters from 1, where that is known.
    pub at: Option<usize>,
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Time,
    /// The time of day, where the date stands in a column of its own.
    Clock,
    /// A value; with a decimal comma or a point.
    Value {
        comma: bool,
    },
    Label,
    Skipped,
}

/// Words that stand for a value that is missing.
const MISSING: &[&str] = &["", "nan", "null", "none", "na", "n/a", "nil", "-", "?"];

/// Whether a text says that there is no value.
pub(super) fn is_missing(text: &str) -> bool {
    MISSING.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Whether a column holds numbers, for the most part, and how they are written.
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

/// The number in a cell; `None` where it says that there is none.
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

/// Whether a text is meant to be a number, as far as its beginning goes.
pub(super) fn begins_as_number(text: &str) -> bool {
    let text = text.trim().trim_start_matches(['+', '-']);
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// The way out where a column of numbers holds this text: nothing where no way is known.
pub(super) fn way_to_number(text: &str, comma: bool) -> String {
    let text = text.trim();
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    if !comma && begins_as_number(text) && is_number(&text.replacen(',', ".", 1)) {
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

/// What is counted: a rate where `_s` follows without `per`.
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

/// The unit in a column's name: `latency (ms)`, `latency [ms]`, `latency_ms`, `ops/s`, `throughput_ops_s`,
/// `hits_per_s`.
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
            // Whatever is counted: a time it is not.
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
