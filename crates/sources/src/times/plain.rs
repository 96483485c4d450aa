//! Rewrites times as East Asian and other locales write them.

use std::borrow::Cow;

/// Marks of a time of day before and after noon, as glibc's locales write them.
const BEFORE_NOON: [&str; 4] = ["上午", "午前", "오전", "पूर्वाह्न"];
const AFTER_NOON: [&str; 4] = ["下午", "午後", "오후", "अपराह्न"];

/// Rewrites a date, a time of day or both as ASCII: `2026年11月26日 22时20分40秒`, `2026년 11월 26일` and `下午 10時20分` as
/// `2026-11-26 22:20:40`, `2026-11-26` and `10:20 PM`; and leaves out the abbreviation of a zone behind it (`10:20:40 PM
/// IST`), which names no zone for sure. What is none of these is returned as it is.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.is_ascii() {
        return Cow::Borrowed(without_zone(text));
    }
    let mut rest = Cow::Borrowed(text);
    let mut half = "";
    for (marks, told) in [(BEFORE_NOON, " AM"), (AFTER_NOON, " PM")] {
        for mark in marks.iter().filter(|mark| text.contains(*mark)) {
            rest = Cow::Owned(rest.replacen(mark, "", 1));
            half = told;
        }
    }
    let mut plain = String::with_capacity(text.len());
    for one in rest.chars() {
        match one {
            '年' | '月' | '년' | '월' => plain.push('-'),
            '日' | '일' => plain.push(' '),
            '时' | '時' | '시' | '分' | '분' => plain.push(':'),
            // A blank within a date or a time is none between them.
            ' ' | '\u{a0}' | '\u{202f}' if plain.ends_with(['-', ':', ' ']) => {}
            '秒' | '초' => {}
            other if other.is_ascii() => plain.push(other),
            _ => return Cow::Borrowed(text),
        }
    }
    let plain = without_zone(plain.trim().trim_end_matches(':').trim_end());
    Cow::Owned(format!("{plain}{half}"))
}

/// Leaves out the abbreviation of a zone behind a time: capital letters, but for AM and PM.
fn without_zone(text: &str) -> &str {
    let Some((time, zone)) = text.rsplit_once(' ') else {
        return text;
    };
    let is_zone = (2..=5).contains(&zone.len())
        && zone.bytes().all(|byte| byte.is_ascii_uppercase())
        && !["AM", "PM"].contains(&zone);
    let is_time = time.contains(':') && time.ends_with(|c: char| c.is_ascii_digit() || c == 'M');
    if is_zone && is_time { time } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_east_asia_are_rewritten() {
        for (text, expected) in [
            ("2026年11月26日 22时20分40秒", "2026-11-26 22:20:40"),
            ("2026年11月26日", "2026-11-26"),
            ("22時20分40秒", "22:20:40"),
            ("2026년 11월 26일 22시 20분 40초", "2026-11-26 22:20:40"),
            ("2026년 11월 26일", "2026-11-26"),
            ("下午 10時20分40秒", "10:20:40 PM"),
            ("오전 9시 05분", "9:05 AM"),
            ("26/11/26 10:20:40 PM UTC", "26/11/26 10:20:40 PM"),
            ("26/11/26 22:20:40 IST", "26/11/26 22:20:40"),
            ("11/26/2026 10:20:40 PM", "11/26/2026 10:20:40 PM"),
            ("28/11/26 07:54:38 पूर्वाह्न UTC", "28/11/26 07:54:38 AM"),
            ("ночью 22:20", "ночью 22:20"),
            ("DISK OK", "DISK OK"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
