//! What a script asks the clock: `date +FORMAT`, and what remains of that number when it is divided,
//! as for every second week.
//!
//! Only words that may be kept are understood, so that a bundle, in which the others are removed,
//! gives the same conditions as the host.

use super::scope::Scope;
use super::words::{Kind, Segment, Token, Word};
use facts::host::{ClockDate, ClockStep, ClockValue};

/// The longest format of `date`.
const FORMAT_BYTES_MAX: usize = 16;
/// The longest number: seconds since 1970 have ten digits.
const NUMBER_BYTES_MAX: usize = 12;
/// Days that `-d` may add.
const DAYS_MAX: i64 = 366;
/// More operands, operators and parentheses than anybody writes.
const PARTS_MAX: usize = 16;
/// Days as `date +%a` prints them in the C locale.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// An operand, an operator or a parenthesis.
enum Part {
    Date(ClockDate),
    Number(i64),
    Sign(char),
}

/// Returns a word that depends on the clock or may be compared with it; `None` if part of it is
/// something else.
pub(super) fn value(word: &Word, scope: &Scope) -> Option<ClockValue> {
    if let Some(text) = word.text() {
        return is_kept(&text).then_some(ClockValue::Literal(text));
    }
    date_of(word, scope).map(ClockValue::Date)
}

/// Returns a word that is one expansion, which depends on the clock.
fn date_of(word: &Word, scope: &Scope) -> Option<ClockDate> {
    match word.segments.as_slice() {
        [Segment::Variable(name)] => scope.date(name).cloned(),
        [Segment::Script(tokens)] => of_script(tokens, scope),
        [Segment::Arithmetic(inner)] => of_arithmetic(inner, scope),
        _ => None,
    }
}

/// Whether a word depends on the clock, understood or not.
pub(super) fn asks(word: &Word, scope: &Scope) -> bool {
    let asks_in = |segment: &Segment| match segment {
        Segment::Literal { .. } | Segment::Opaque => false,
        Segment::Variable(name) => scope.asks_clock(name),
        Segment::Script(tokens) => script_asks(tokens, scope),
        Segment::Arithmetic(inner) => asks(inner, scope),
    };
    // Within arithmetic, a variable has no dollar sign.
    word.segments.iter().any(asks_in) || date_of(word, scope).is_some()
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
fn of_script(tokens: &[Token], scope: &Scope) -> Option<ClockDate> {
    let words: Vec<&Word> = tokens
        .iter()
        .map(|token| match &token.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let (program, arguments) = words.split_first()?;
    if is_date(program) {
        return date_arguments(arguments).1;
    }
    (program.bare() == Some("expr")).then(|| of_expr(arguments, scope))?
}

/// Parses the arguments of `expr`; `None` if part of it is unknown.
pub(super) fn of_expr(words: &[&Word], scope: &Scope) -> Option<ClockDate> {
    if words.len() > PARTS_MAX {
        return None;
    }
    let parts = words.iter().map(|word| match word.text() {
        Some(text) => sign_of_expr(word)
            .map(Part::Sign)
            .or_else(|| number(&text).map(Part::Number)),
        None => date_of(word, scope).map(Part::Date),
    });
    divided(parts.collect::<Option<_>>()?)
}

/// Returns the operator of `expr` that a word is.
pub(super) fn sign_of_expr(word: &Word) -> Option<char> {
    let text = word.text()?;
    let sign = text.chars().next().filter(|c| "()+-*/%".contains(*c));
    sign.filter(|_| text.len() == 1)
}

/// Parses what is inside `$(( ))`; `None` if part of it is unknown.
fn of_arithmetic(inner: &Word, scope: &Scope) -> Option<ClockDate> {
    let mut parts: Vec<Part> = Vec::new();
    let mut is_decimal = false;
    let octal = |date: ClockDate, is_decimal: bool| {
        let is_octal = date.is_octal || (date.steps.is_empty() && !is_decimal);
        Part::Date(ClockDate { is_octal, ..date })
    };
    for segment in &inner.segments {
        let Segment::Literal { text, .. } = segment else {
            let word = Word {
                segments: vec![segment.clone()],
            };
            let date = date_of(&word, scope)?;
            parts.push(octal(date, std::mem::take(&mut is_decimal)));
            continue;
        };
        let mut rest = text.as_str();
        if let Some(before) = rest.strip_suffix("10#") {
            is_decimal = true;
            rest = before;
        }
        while let Some(c) = rest.chars().next() {
            let is_operand = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let len = rest.find(|c| !is_operand(c)).unwrap_or(rest.len());
            let (operand, after) = rest.split_at(len.max(c.len_utf8()));
            if len > 0 {
                // A variable needs no dollar sign here.
                let variable = || Some(octal(scope.date(operand)?.clone(), false));
                parts.push(number(operand).map(Part::Number).or_else(variable)?);
            } else if !c.is_ascii_whitespace() {
                parts.push(Part::Sign(c));
            }
            rest = after;
            if parts.len() > PARTS_MAX {
                return None;
            }
        }
    }
    divided(parts)
}

/// Parses `((DATE - 5) / 604800) % 2`: one operator after the other, in parentheses that open in
/// front of the date. A sum of which a part is a product is not followed.
fn divided(parts: Vec<Part>) -> Option<ClockDate> {
    let mut parts = parts.into_iter().peekable();
    let mut open = 0;
    while parts
        .next_if(|part| matches!(part, Part::Sign('(')))
        .is_some()
    {
        open += 1;
    }
    let Some(Part::Date(mut date)) = parts.next() else {
        return None;
    };
    while let Some(part) = parts.next() {
        let step = match part {
            Part::Sign(')') if open > 0 => {
                open -= 1;
                continue;
            }
            Part::Sign('+') => ClockStep::Add,
            Part::Sign('-') => ClockStep::Subtract,
            Part::Sign('*') => ClockStep::Multiply,
            Part::Sign('/') => ClockStep::Divide,
            Part::Sign('%') => ClockStep::Remainder,
            _ => return None,
        };
        let Some(Part::Number(number)) = parts.next() else {
            return None;
        };
        let is_sum = matches!(step, ClockStep::Add | ClockStep::Subtract);
        if is_sum && !matches!(parts.peek(), None | Some(Part::Sign(')'))) {
            return None;
        }
        date.steps.push((step, number));
    }
    (open == 0 && date.steps.len() <= PARTS_MAX).then_some(date)
}

/// Reads a number without leading zeros.
fn number(text: &str) -> Option<i64> {
    let is_plain = text == "0" || !text.starts_with('0');
    (is_plain && is_digits(text)).then(|| text.parse().ok())?
}

fn is_digits(text: &str) -> bool {
    (1..=NUMBER_BYTES_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// Returns which arguments of `date` may be kept, and what it prints if those are all.
pub(super) fn date_arguments(words: &[&Word]) -> (Vec<bool>, Option<ClockDate>) {
    let mut kept = vec![false; words.len()];
    let mut format = None;
    let mut days = Some(0);
    let mut awaits_day = false;
    for (word, kept) in words.iter().zip(&mut kept) {
        let is_day = std::mem::take(&mut awaits_day);
        let Some(text) = word.text() else {
            continue;
        };
        if is_day {
            days = days_of(&text);
            *kept = days.is_some();
        } else if let Some(of_format) = text.strip_prefix('+') {
            *kept = is_format(of_format);
            format = Some(of_format.to_owned());
        } else if matches!(text.as_str(), "-d" | "--date") {
            *kept = true;
            awaits_day = true;
        } else if let Some(day) = text.strip_prefix("--date=").or(text.strip_prefix("-d")) {
            days = days_of(day);
            *kept = days.is_some();
        }
    }
    let is_whole = kept.iter().all(|kept| *kept) && !awaits_day;
    let date = format.filter(|_| is_whole).zip(days);
    let date = date.map(|(format, days)| ClockDate {
        format,
        days,
        steps: Vec::new(),
        is_octal: false,
    });
    (kept, date)
}

/// Whether a format consists of directives.
fn is_format(text: &str) -> bool {
    let is_directive = |directive: &str| {
        let letter = directive.strip_prefix('-').unwrap_or(directive);
        letter.len() == 1 && letter.bytes().all(|b| b.is_ascii_alphabetic())
    };
    let directives = text.strip_prefix('%');
    text.len() <= FORMAT_BYTES_MAX
        && directives.is_some_and(|directives| directives.split('%').all(is_directive))
}

/// Parses the days that `date -d` adds: `tomorrow`, `+7 days`.
fn days_of(text: &str) -> Option<i64> {
    match text.trim() {
        "tomorrow" => Some(1),
        "yesterday" => Some(-1),
        text => {
            let count = text.strip_suffix("days").or(text.strip_suffix("day"))?;
            let days: i64 = count.trim_end().parse().ok()?;
            (-DAYS_MAX..=DAYS_MAX).contains(&days).then_some(days)
        }
    }
}

/// Whether a literal that stands beside the clock may be kept: a number, the name of a day.
fn is_kept(text: &str) -> bool {
    is_digits(text) || DAYS.iter().any(|day| day.eq_ignore_ascii_case(text))
}
