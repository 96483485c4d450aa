//! Validates a time format named by the user.

use super::TimeFormat;
use jiff::civil::Date;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// Validates a time format named by the user, before any time is parsed.
///
/// # Errors
/// When the format is invalid or does not include a day. The error names the invalid part and describes
/// valid formats.
pub fn check_format(text: &str) -> Result<(), String> {
    let TimeFormat::Named(format) = TimeFormat::named(text) else {
        return Ok(());
    };
    let at = Date::constant(2026, 11, 22).at(13, 5, 9, 123_456_789);
    let Ok(at) = at.to_zoned(TimeZone::UTC) else {
        return Ok(());
    };
    // Formatted output has to parse back to a time.
    let read = |format: &str| {
        let written = strtime::format(format, &at)?;
        strtime::parse(format, written)
    };
    let example = "formats are like %Y-%m-%d %H:%M:%S, or s, ms, us, ns since 1970";
    match read(&format) {
        Ok(broken) if broken.to_timestamp().is_ok() || broken.to_date().is_ok() => Ok(()),
        Ok(_) => Err(format!("it tells no day: {example}")),
        Err(_) => {
            // The shortest prefix that fails ends with the invalid directive.
            let starts: Vec<usize> = directives(&format).map(|(start, _)| start).collect();
            let wrong = directives(&format).find(|&(_, end)| read(&format[..end]).is_err());
            let wrong = wrong.map(|(start, end)| &format[start..end]);
            let wrong = wrong.or_else(|| starts.last().map(|&start| &format[start..]));
            let wrong = wrong.unwrap_or(&format);
            Err(format!(
                "{wrong:?} is no directive of strptime that is known here: {example}"
            ))
        }
    }
}

/// Returns the ranges of the directives in a format: `%`, flags, a width, and a letter.
fn directives(format: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + format[from..].find('%')?;
        let rest = &format[start + 1..];
        let is_flag = |c: char| c.is_ascii_digit() || "-_^#:.".contains(c);
        let flags = rest.find(|c| !is_flag(c)).unwrap_or(rest.len());
        let letter = rest[flags..].chars().next().map_or(0, char::len_utf8);
        from = start + 1 + flags + letter;
        Some((start, from))
    })
}
