//! Crontabs (crontab(5) of Debian's cron and of cronie).

use super::fields::note;
use facts::InputError;
use facts::host::Trigger;
use schedule::SCHEDULE_BYTES_MAX;

/// Kind of crontab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `/etc/crontab` and `/etc/cron.d/*`: each entry names a user.
    System,
    /// A user's own crontab: no user column.
    User,
}

/// A parsed crontab.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Crontab {
    /// Entries in file order.
    pub entries: Vec<Entry>,
    /// Lines that are neither an entry, nor an environment setting, nor a comment.
    pub errors: Vec<InputError>,
    /// Whether the last line lacks a line ending. Debian's cron ignores such a file.
    pub is_cut: bool,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 1-based line number.
    pub line: usize,
    /// Five fields separated by one space, or a nickname such as `@weekly`.
    pub schedule: String,
    /// The user, in system crontabs.
    pub user: Option<String>,
    /// The shell command line, with `\%` unescaped.
    pub command: String,
    /// Standard input of the command: the text after the first `%`.
    pub input: Option<String>,
    /// `CRON_TZ` in effect for this line.
    pub time_zone: Option<String>,
    /// `TZ` in effect for this line, which its commands get.
    pub clock_zone: Option<String>,
}

impl Entry {
    /// Returns when it runs. `place` is its location: `etc/crontab:18`.
    pub(crate) fn trigger(&self, place: &str) -> Trigger {
        let source = place.to_owned();
        if self.schedule == "@reboot" {
            return Trigger::Boot { source };
        }
        Trigger::Cron {
            spec: self.schedule.clone(),
            time_zone: self.time_zone.clone(),
            source,
        }
    }
}

/// Nicknames for five fields.
const NICKNAMES: &[&str] = &[
    "@reboot",
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];
pub(crate) const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

struct Field {
    expected: &'static str,
    low: u8,
    high: u8,
    names: &'static [&'static str],
}

const fn field(expected: &'static str, low: u8, high: u8, names: &'static [&'static str]) -> Field {
    Field {
        expected,
        low,
        high,
        names,
    }
}

const FIELDS: [Field; 5] = [
    field("a minute from 0 to 59", 0, 59, &[]),
    field("an hour from 0 to 23", 0, 23, &[]),
    field("a day of the month from 1 to 31", 1, 31, &[]),
    field("a month from 1 to 12", 1, 12, MONTHS),
    field("a day of the week from 0 to 7", 0, 7, WEEKDAYS),
];

/// One line, as used by the parser and the filter. Offsets are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line<'t> {
    /// Empty line or comment.
    Nothing,
    /// `NAME = value`, unquoted.
    Setting(&'t str, &'t str),
    /// An entry.
    Entry {
        schedule: String,
        user: Option<&'t str>,
        /// Offset of the command.
        command_at: usize,
    },
    /// Anything else.
    Wrong {
        expected: String,
        /// Offset of the first wrong part; everything before it is right.
        at: usize,
        found: &'t str,
    },
}

/// Parses a crontab. `source` is its name in errors. Never fails as a whole: malformed lines are
/// collected in `errors`.
pub fn parse(source: &str, text: &str, kind: Kind) -> Crontab {
    let mut crontab = Crontab {
        is_cut: !text.is_empty() && !text.ends_with('\n'),
        ..Crontab::default()
    };
    let (mut time_zone, mut clock_zone) = (None, None);
    for (line, number) in text.lines().zip(1..) {
        match classify(line, kind) {
            Line::Nothing => {}
            Line::Setting(name, value) => {
                let value_of = || (!value.is_empty()).then(|| value.to_owned());
                match name {
                    "CRON_TZ" => time_zone = value_of(),
                    "TZ" => clock_zone = value_of(),
                    _ => {}
                }
            }
            Line::Entry {
                schedule,
                user,
                command_at,
            } => {
                let (command, input) = split_input(&line[command_at..]);
                crontab.entries.push(Entry {
                    line: number,
                    schedule,
                    user: user.map(str::to_owned),
                    command,
                    input,
                    time_zone: time_zone.clone(),
                    clock_zone: clock_zone.clone(),
                });
            }
            Line::Wrong {
                expected,
                at,
                found,
            } => note(
                &mut crontab.errors,
                InputError::new(source, expected, found)
                    .at_line(number)
                    .at_column(line[..at].chars().count() + 1),
            ),
        }
    }
    crontab
}

pub(crate) fn classify(line: &str, kind: Kind) -> Line<'_> {
    // `lines` keeps the carriage return of a last line without line feed.
    let line = line.trim_end();
    let mut position = line.len() - line.trim_start().len();
    if position == line.len() || line[position..].starts_with('#') {
        return Line::Nothing;
    }
    if let Some((name, value)) = setting(&line[position..]) {
        return Line::Setting(name, value);
    }
    // cronie and SUSE: do not log this entry.
    if line[position..].starts_with('-') {
        position += 1;
    }
    let wrong = |at: usize, expected: &str, found| Line::Wrong {
        expected: expected.to_owned(),
        at,
        found,
    };
    let mut schedule = String::new();
    let mut after = position;
    let expects = |index: usize| FIELDS.get(index).map_or("a command", |f| f.expected);
    for (index, field) in FIELDS.iter().enumerate() {
        let Some((at, word)) = next_word(line, after) else {
            return wrong(line.len(), expects(index), "");
        };
        after = at + word.len();
        if index == 0 && word.starts_with('@') {
            if !NICKNAMES.contains(&word) {
                return wrong(
                    at,
                    "@reboot, @hourly, @daily, @weekly, @monthly or @yearly",
                    word,
                );
            }
            word.clone_into(&mut schedule);
            break;
        }
        if !field.accepts(word) {
            return wrong(at, field.expected, word);
        }
        if index > 0 {
            schedule.push(' ');
        }
        schedule.push_str(word);
        if schedule.len() > SCHEDULE_BYTES_MAX {
            let expected = format!("a schedule of at most {SCHEDULE_BYTES_MAX} bytes");
            return wrong(at, &expected, word);
        }
    }
    let mut user = None;
    if kind == Kind::System {
        let Some((at, word)) = next_word(line, after) else {
            return wrong(line.len(), "a user name", "");
        };
        if !is_user_name(word) {
            return wrong(at, "a user name", word);
        }
        user = Some(word);
        after = at + word.len();
    }
    match next_word(line, after) {
        Some((command_at, _)) => Line::Entry {
            schedule,
            user,
            command_at,
        },
        None => wrong(line.len(), "a command", ""),
    }
}

/// Returns the next word at or after an offset, and its offset.
pub(super) fn next_word(line: &str, from: usize) -> Option<(usize, &str)> {
    let rest = &line[from..];
    let at = from + (rest.len() - rest.trim_start().len());
    let word = line[at..].split_whitespace().next()?;
    Some((at, word))
}

/// Parses `NAME = value`, either in matching quotes.
pub(crate) fn setting(line: &str) -> Option<(&str, &str)> {
    let quote = line.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (name, rest) = match quote {
        Some(quote) => line[1..].split_once(quote)?,
        None => line.split_at(line.find(|c: char| c.is_whitespace() || c == '=')?),
    };
    if name.is_empty() {
        return None;
    }
    let value = rest.trim_start().strip_prefix('=')?.trim();
    let unquoted = ['"', '\''].iter().find_map(|&quote| {
        value
            .strip_prefix(quote)
            .and_then(|value| value.strip_suffix(quote))
    });
    Some((name, unquoted.unwrap_or(value)))
}

/// Splits the command from its input: an unescaped `%` ends the command, further ones are line
/// breaks in the input, and `\%` is a percent sign.
pub(crate) fn split_input(text: &str) -> (String, Option<String>) {
    let text = text.trim_end();
    let mut parts = [String::new(), String::new()];
    let mut in_input = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let part = &mut parts[usize::from(in_input)];
        match c {
            '\\' if chars.peek() == Some(&'%') => {
                chars.next();
                part.push('%');
            }
            '%' if in_input => part.push('\n'),
            '%' => in_input = true,
            c => part.push(c),
        }
    }
    let [command, input] = parts;
    (command, in_input.then_some(input))
}

fn is_user_name(word: &str) -> bool {
    word.len() <= 64
        && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.-$".contains(c))
}

impl Field {
    fn accepts(&self, text: &str) -> bool {
        text.split(',').all(|part| self.accepts_part(part))
    }

    fn accepts_part(&self, part: &str) -> bool {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        let step_is_right = step.is_none_or(|step| {
            step.chars().all(|c| c.is_ascii_digit()) && step.parse::<u16>().is_ok_and(|s| s > 0)
        });
        let range_is_right = if range == "*" {
            true
        } else if let Some((first, last)) = range.split_once('-') {
            matches!((self.number(first), self.number(last)), (Some(first), Some(last)) if first <= last)
        } else if let Some((first, last)) = range.split_once('~') {
            // cronie 1.6: a random value from the range; either end may be omitted.
            (first.is_empty() || self.number(first).is_some())
                && (last.is_empty() || self.number(last).is_some())
        } else {
            self.number(range).is_some() && step.is_none()
        };
        step_is_right && range_is_right
    }

    fn number(&self, text: &str) -> Option<u8> {
        if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) {
            let number = text.parse().ok()?;
            return (self.low..=self.high).contains(&number).then_some(number);
        }
        let index = self
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text))?;
        Some(u8::try_from(index).ok()? + self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEBIAN_12: &str = "# /etc/crontab: system-wide crontab\n\nSHELL=/bin/sh\nPATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin\n\n# *  *  *  *  * user-name command to be executed\n17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly\n47 6\t* * 7\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }\n#\n";

    #[test]
    fn debians_crontab() {
        let crontab = parse("etc/crontab", DEBIAN_12, Kind::System);
        assert_eq!(crontab.errors, []);
        assert!(!crontab.is_cut);
        assert_eq!(crontab.entries.len(), 2);
        let weekly = &crontab.entries[1];
        assert_eq!(weekly.line, 8);
        assert_eq!(weekly.schedule, "47 6 * * 7");
        assert_eq!(weekly.user.as_deref(), Some("root"));
        assert_eq!(
            weekly.command,
            "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }"
        );
    }

    #[test]
    fn percent_signs() {
        let text = "0 0 * * 0 root [ $(date +\\%d) -le 7 ] && mail %Hello%there 50\\%\n";
        let entry = &parse("x", text, Kind::System).entries[0];
        assert_eq!(entry.command, "[ $(date +%d) -le 7 ] && mail ");
        assert_eq!(entry.input.as_deref(), Some("Hello\nthere 50%"));
    }

    #[test]
    fn nicknames_settings_and_the_time_zone_in_force() {
        let text = "@weekly a\r\nCRON_TZ = \"Europe/Vienna\"\r\n  -*/5 1-5,7 1 jan-mar sun b c\r\nCRON_TZ=\n@reboot d";
        let crontab = parse("x", text, Kind::User);
        assert_eq!(crontab.errors, []);
        assert!(crontab.is_cut);
        let shown: Vec<_> = crontab
            .entries
            .iter()
            .map(|e| {
                (
                    e.schedule.as_str(),
                    e.command.as_str(),
                    e.time_zone.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("@weekly", "a", None),
                ("*/5 1-5,7 1 jan-mar sun", "b c", Some("Europe/Vienna")),
                ("@reboot", "d", None)
            ]
        );
    }

    #[test]
    fn malformed_lines_are_reported_with_their_position() {
        let text = "61 * * * * root a\n0 5 * *\n@fortnightly root a\n0 0 * * 5-1 root a\n0 0 * * * /bin/a\n0 0 * * * root\n*/0 * * * * root a\n";
        let crontab = parse("etc/crontab", text, Kind::System);
        assert_eq!(crontab.entries, []);
        let places: Vec<String> = crontab.errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            places,
            [
                "etc/crontab:1:1: expected a minute from 0 to 59, found \"61\"",
                "etc/crontab:2:8: expected a day of the week from 0 to 7, found \"\"",
                "etc/crontab:3:1: expected @reboot, @hourly, @daily, @weekly, @monthly or @yearly, found \"@fortnightly\"",
                "etc/crontab:4:9: expected a day of the week from 0 to 7, found \"5-1\"",
                "etc/crontab:5:11: expected a user name, found \"/bin/a\"",
                "etc/crontab:6:15: expected a command, found \"\"",
                "etc/crontab:7:1: expected a minute from 0 to 59, found \"*/0\"",
            ]
        );
    }

    /// One line of 100 KB in a user's crontab must not become 100 KB for each run.
    #[test]
    fn long_schedules_are_malformed() {
        let every_minute: Vec<String> = (0..60).map(|minute| minute.to_string()).collect();
        let every_minute = every_minute.join(",");
        let text = format!(
            "{every_minute} * * * * a\n{every_minute},{} * * * * a\n",
            "1,".repeat(50_000) + "1"
        );
        let crontab = parse("etc/crontab", &text, Kind::User);
        assert_eq!(crontab.entries.len(), 1);
        let errors: Vec<String> = crontab.errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 1);
        assert!(
            errors[0].starts_with("etc/crontab:2:1: expected a schedule of at most 1024 bytes"),
            "{}",
            errors[0]
        );
    }

    proptest! {
        #[test]
        fn total(text in "([0-9*/,@-]{0,6}|root|%|\\\\|=|\"|[a-z]{1,8}|[ \t]|\r?\n|…){0,60}") {
            for kind in [Kind::System, Kind::User] {
                let lines = text.lines().count();
                let crontab = parse("x", &text, kind);
                prop_assert!(crontab.entries.len() + crontab.errors.len() <= lines);
            }
        }

        #[test]
        fn every_numeric_entry_is_read(minute in 0_u8..60, hour in 0_u8..24, day in 1_u8..32, month in 1_u8..13, weekday in 0_u8..8, command in "[a-z][a-z /.-]{0,30}[a-z]") {
            let schedule = format!("{minute} {hour} {day} {month} {weekday}");
            let crontab = parse("x", &format!("{schedule}\troot  {command}\n"), Kind::System);
            prop_assert_eq!(crontab.entries.len(), 1);
            prop_assert_eq!(&crontab.entries[0].schedule, &schedule);
            prop_assert_eq!(&crontab.entries[0].command, &command);
        }
    }
}
