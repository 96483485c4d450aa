//! What a script asks the clock: `date +FORMAT`, and numbers and texts made of it.
//!
//! Only words that may be kept are understood, so that a bundle, in which the others are removed,
//! gives the same conditions as the host.

use super::arithmetic::{self, Part};
use super::scope::Scope;
use super::words::{Kind, Segment, Token, Word};
use facts::host::{ClockSum, ClockText};

/// The longest number, date or name that is compared with the clock.
const LITERAL_BYTES_MAX: usize = 16;
/// The longest format of `date`, and the longest name of a time zone.
const FORMAT_BYTES_MAX: usize = 64;
/// A text of more parts is not followed any further.
const PARTS_MAX: usize = 16;
/// Days and months as `date` prints them in the C locale.
const NAMES: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "am",
    "pm",
];
/// The longest number: seconds since 1970 have ten digits.
const NUMBER_BYTES_MAX: usize = 12;
const DAY_S: i64 = 86_400;
/// Days and seconds that `-d` may add: a century.
const SHIFT_MAX: i64 = 36_525 * DAY_S;

/// Returns a word as a text of the clock; `None` if part of it is something else.
pub(super) fn text(word: &Word, scope: &Scope) -> Option<ClockText> {
    joined(word.segments.iter().map(|segment| match segment {
        Segment::Literal { text, .. } => is_kept(text).then(|| ClockText::Literal(text.clone())),
        segment => of_segment(segment, scope),
    }))
}

/// Joins parts; `None` if one is unknown or there are too many.
pub(super) fn joined(parts: impl Iterator<Item = Option<ClockText>>) -> Option<ClockText> {
    let mut parts: Vec<ClockText> = parts.collect::<Option<_>>()?;
    let text = match parts.len() {
        0 => return None,
        1 => parts.swap_remove(0),
        _ => ClockText::Joined(parts),
    };
    (text.parts() <= PARTS_MAX).then_some(text)
}

/// Returns an expansion as a text of the clock.
pub(super) fn of_segment(segment: &Segment, scope: &Scope) -> Option<ClockText> {
    match segment {
        Segment::Literal { .. } | Segment::Opaque => None,
        Segment::Variable(name) => scope.clock_text(name).cloned(),
        Segment::Script(tokens) => of_script(tokens, scope),
        Segment::Arithmetic(inner) => {
            let sum = arithmetic_of(inner, scope)?;
            Some(ClockText::Arithmetic(Box::new(sum)))
        }
    }
}

/// Whether a word depends on the clock, understood or not.
pub(super) fn asks(word: &Word, scope: &Scope) -> bool {
    // Within arithmetic, a variable has no dollar sign.
    let is_understood = || text(word, scope).is_some_and(|text| text.has_date());
    let asks_in = |segment: &Segment| match segment {
        Segment::Literal { .. } | Segment::Opaque => false,
        Segment::Variable(name) => scope.asks_clock(name),
        Segment::Script(tokens) => script_asks(tokens, scope),
        Segment::Arithmetic(inner) => asks(inner, scope),
    };
    word.segments.iter().any(asks_in) || is_understood()
}

fn script_asks(tokens: &[Token], scope: &Scope) -> bool {
    let mut begins = true;
    tokens.iter().any(|token| match &token.kind {
        Kind::Word(word) => {
            let is_program = std::mem::replace(&mut begins, false) && is_date(word);
            begins |= word.assigned_name().is_some();
            is_program || asks(word, scope)
        }
        Kind::Operator(operator) => {
            begins = matches!(
                operator.as_str(),
                ";" | "&" | "&&" | "||" | "|" | "|&" | "("
            );
            false
        }
        Kind::Newline => {
            begins = true;
            false
        }
        Kind::HereDocument { .. } => false,
    })
}

/// Whether a word is the program `date`.
pub(super) fn is_date(word: &Word) -> bool {
    let is_path = || {
        let text = word.text();
        text.is_some_and(|text| matches!(text.as_str(), "/bin/date" | "/usr/bin/date"))
    };
    word.bare() == Some("date") || is_path()
}

/// Returns what `$(date ...)` or `$(expr ...)` prints.
fn of_script(tokens: &[Token], scope: &Scope) -> Option<ClockText> {
    let words: Vec<&Word> = tokens
        .iter()
        .map(|token| match &token.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let (program, arguments, zone) = match words.as_slice() {
        [assigned, program, arguments @ ..] if assigned.assigned_name().is_some() => {
            (program, arguments, Some(zone(assigned)?))
        }
        [program, arguments @ ..] => (program, arguments, None),
        [] => return None,
    };
    if is_date(program) {
        return date_arguments(arguments, zone).1;
    }
    let is_expr = program.bare() == Some("expr") && zone.is_none();
    let sum = is_expr.then(|| sum_of_expr(arguments, scope))??;
    Some(ClockText::Expr(Box::new(sum)))
}

/// Parses what is inside `$(( ))`; `None` if part of it is unknown.
pub(super) fn arithmetic_of(word: &Word, scope: &Scope) -> Option<ClockSum> {
    let mut parts: Vec<Part> = Vec::new();
    let mut operand: Vec<ClockText> = Vec::new();
    let finish = |operand: &mut Vec<ClockText>, parts: &mut Vec<Part>| {
        if operand.is_empty() {
            return Some(());
        }
        let text = match operand.as_slice() {
            // A variable needs no dollar sign here.
            [ClockText::Literal(name)] if name.starts_with(|c: char| !c.is_ascii_digit()) => {
                scope.clock_text(name).cloned()
            }
            _ => joined(operand.drain(..).map(Some)),
        };
        operand.clear();
        parts.push(Part::Operand(text?));
        (parts.len() <= arithmetic::PARTS_MAX).then_some(())
    };
    for segment in &word.segments {
        let Segment::Literal { text, .. } = segment else {
            operand.push(of_segment(segment, scope)?);
            continue;
        };
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let is_operand = |c: char| c.is_ascii_alphanumeric() || "_#".contains(c);
            if c.is_ascii_whitespace() {
                finish(&mut operand, &mut parts)?;
                rest = &rest[1..];
            } else if is_operand(c) {
                let len = rest.find(|c| !is_operand(c)).unwrap_or(rest.len());
                let (literal, after) = rest.split_at(len);
                if len > NUMBER_BYTES_MAX && literal.starts_with(|c: char| c.is_ascii_digit()) {
                    return None;
                }
                operand.push(ClockText::Literal(literal.to_owned()));
                rest = after;
            } else {
                finish(&mut operand, &mut parts)?;
                let sign = arithmetic::SIGNS
                    .iter()
                    .find(|sign| rest.starts_with(**sign))?;
                parts.push(Part::Sign(sign));
                rest = &rest[sign.len()..];
            }
        }
    }
    finish(&mut operand, &mut parts)?;
    arithmetic::parse(parts, ClockSum::Number)
}

/// Parses the arguments of `expr`; `None` if part of it is unknown.
pub(super) fn sum_of_expr(words: &[&Word], scope: &Scope) -> Option<ClockSum> {
    if words.len() > arithmetic::PARTS_MAX {
        return None;
    }
    let parts = words.iter().map(|word| match expr_sign(word) {
        Some(sign) => Some(Part::Sign(sign)),
        None => text(word, scope).map(Part::Operand),
    });
    arithmetic::parse(parts.collect::<Option<_>>()?, ClockSum::Decimal)
}

/// Returns the operator of `expr` that a word is.
pub(super) fn expr_sign(word: &Word) -> Option<&'static str> {
    match word.text()?.as_str() {
        "=" => Some("=="),
        // They return one of their operands.
        "||" | "&&" | "!" => None,
        text => arithmetic::SIGNS
            .iter()
            .find(|sign| **sign == text)
            .copied(),
    }
}

/// Returns the zone of `TZ=ZONE`.
pub(super) fn zone(word: &Word) -> Option<String> {
    let text = word.text()?;
    let name = text.strip_prefix("TZ=")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
    let is_zone = !name.is_empty() && name.len() <= FORMAT_BYTES_MAX && name.chars().all(is_plain);
    (is_zone && !name.starts_with('/')).then(|| name.to_owned())
}

/// Returns which arguments of `date` may be kept, and what it prints if those are all.
pub(super) fn date_arguments(
    words: &[&Word],
    mut zone: Option<String>,
) -> (Vec<bool>, Option<ClockText>) {
    let mut kept = vec![false; words.len()];
    let mut format = None;
    let mut moved = Some((0, 0));
    let mut awaits_day = false;
    for (word, kept) in words.iter().zip(&mut kept) {
        let Some(text) = word.text() else {
            awaits_day = false;
            continue;
        };
        let day = if std::mem::take(&mut awaits_day) {
            Some(text.as_str())
        } else if let Some(of_format) = text.strip_prefix('+') {
            *kept = is_format(of_format);
            format = Some(of_format.to_owned());
            None
        } else if matches!(text.as_str(), "-u" | "--utc" | "--universal") {
            *kept = true;
            zone = Some("UTC".to_owned());
            None
        } else if matches!(text.as_str(), "-d" | "--date") {
            *kept = true;
            awaits_day = true;
            None
        } else {
            text.strip_prefix("--date=").or(text.strip_prefix("-d"))
        };
        if let Some(day) = day {
            moved = shift(day);
            *kept = moved.is_some();
        }
    }
    let is_whole = kept.iter().all(|kept| *kept) && !awaits_day;
    let date = match (format, moved) {
        (Some(format), Some((days, seconds))) if is_whole => Some(ClockText::Date {
            format,
            days,
            seconds,
            zone,
        }),
        _ => None,
    };
    (kept, date)
}

/// Whether a format consists of directives with nothing but punctuation between them.
fn is_format(text: &str) -> bool {
    let mut rest = text.chars();
    let mut has_directive = false;
    while let Some(c) = rest.next() {
        if c != '%' {
            if !"-_:/., T".contains(c) {
                return false;
            }
            continue;
        }
        let letter = rest.find(|c| !"-_0^#123456789".contains(*c));
        if !letter.is_some_and(|c| c.is_ascii_alphabetic() || c == '%') {
            return false;
        }
        has_directive = true;
    }
    has_directive && text.len() <= FORMAT_BYTES_MAX
}

/// Parses the days and seconds that `date -d` adds: `tomorrow`, `+7 days`, `2 hours ago`.
fn shift(text: &str) -> Option<(i64, i64)> {
    let lower = text.to_ascii_lowercase();
    if lower.len() > 2 * LITERAL_BYTES_MAX {
        return None;
    }
    let (mut days, mut seconds) = (0_i64, 0_i64);
    let mut last = (0_i64, 0_i64);
    let mut count: Option<i64> = None;
    let mut rest = lower.trim();
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || "+-".contains(c);
        let counts = rest.starts_with(is_number);
        let end = rest.find(|c: char| is_number(c) != counts || c == ' ');
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after.trim_start();
        if counts {
            if count.is_some() {
                return None;
            }
            count = Some(word.parse().ok()?);
            continue;
        }
        let per = match (word, count) {
            ("now" | "today", None) => (0, 0),
            ("yesterday", None) => (-1, 0),
            ("next", None) => {
                count = Some(1);
                continue;
            }
            ("last", None) => {
                count = Some(-1);
                continue;
            }
            ("ago", None) => (last.0.checked_mul(-2)?, last.1.checked_mul(-2)?),
            ("week" | "weeks", _) => (7, 0),
            ("tomorrow", None) | ("day" | "days", _) => (1, 0),
            ("hour" | "hours", _) => (0, 3_600),
            ("minute" | "minutes" | "min" | "mins", _) => (0, 60),
            ("second" | "seconds" | "sec" | "secs", _) => (0, 1),
            _ => return None,
        };
        let times = count.take().unwrap_or(1);
        last = (times.checked_mul(per.0)?, times.checked_mul(per.1)?);
        days = days.checked_add(last.0)?;
        seconds = seconds.checked_add(last.1)?;
    }
    let is_near = days.abs() <= SHIFT_MAX / DAY_S && seconds.abs() <= SHIFT_MAX;
    (is_near && count.is_none() && !text.trim().is_empty()).then_some((days, seconds))
}

/// Whether a literal that stands beside the clock may be kept: a number, a date, a time, the name of
/// a day or month, also after the `x` of `[ "x$DAY" = x7 ]`.
fn is_kept(text: &str) -> bool {
    let text = text.strip_prefix(['x', 'X']).unwrap_or(text);
    let is_number = |c: char| c.is_ascii_digit() || "-+:/. ".contains(c);
    let is_name = || {
        let lower = text.to_ascii_lowercase();
        let mut names = NAMES.iter();
        names.any(|name| *name == lower || name.get(..3) == Some(&lower))
    };
    text.len() <= LITERAL_BYTES_MAX && (text.chars().all(is_number) || is_name())
}

/// Whether the value of a variable may be kept although it is not of the clock: an hour, a day.
pub(super) fn is_small_number(text: &ClockText) -> bool {
    matches!(text, ClockText::Literal(text) if matches!(text.len(), 1 | 2)
        && text.bytes().all(|b| b.is_ascii_digit()))
}
