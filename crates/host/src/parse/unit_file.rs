//! systemd's unit files (systemd.syntax(7), systemd.unit(5)).

use super::fields::note;
use facts::InputError;

/// A unit file, or a unit with its drop-ins appended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitFile {
    /// Section headers and their 1-based line numbers.
    pub sections: Vec<(String, usize)>,
    /// Assignments in file order.
    pub assignments: Vec<Assignment>,
    /// Malformed lines.
    pub errors: Vec<InputError>,
}

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Section: `Timer`.
    pub section: String,
    /// Key: `OnCalendar`.
    pub key: String,
    /// Value, with continuation lines joined by a space; specifiers (`%n`) are kept as they are.
    pub value: String,
    /// 1-based number of its first line.
    pub line: usize,
    /// The file that contains it.
    pub source: String,
}

/// More assignments than any real unit has.
const ASSIGNMENTS_MAX: usize = 10_000;

/// Parses a unit file. `source` is its name in errors and assignments.
pub fn parse(source: &str, text: &str) -> UnitFile {
    let mut unit = UnitFile::default();
    let mut section: Option<String> = None;
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            section = rest.strip_suffix(']').map(str::to_owned);
            if let Some(name) = &section {
                unit.sections.push((name.clone(), number));
            } else {
                note(
                    &mut unit.errors,
                    InputError::new(source, "a section such as [Timer]", line).at_line(number),
                );
            }
            continue;
        }
        let mut whole = line.to_owned();
        while let Some(before) = whole.strip_suffix('\\') {
            let Some((next, _)) = lines.next() else {
                whole.truncate(before.len());
                break;
            };
            let next = next.trim();
            whole.truncate(before.trim_end().len());
            // A comment between continuation lines is skipped and does not end them.
            if next.starts_with(['#', ';']) {
                whole.push('\\');
            } else {
                whole.push(' ');
                whole.push_str(next);
            }
        }
        let (Some(section), Some((key, value))) = (&section, whole.split_once('=')) else {
            let expected = if section.is_none() {
                "a section before the first assignment"
            } else {
                "an assignment: Key=value"
            };
            let error = InputError::new(source, expected, &whole).at_line(number);
            note(&mut unit.errors, error);
            continue;
        };
        if unit.assignments.len() >= ASSIGNMENTS_MAX {
            let expected = format!("at most {ASSIGNMENTS_MAX} assignments");
            unit.errors
                .push(InputError::new(source, expected, key).at_line(number));
            return unit;
        }
        unit.assignments.push(Assignment {
            section: section.clone(),
            key: key.trim().to_owned(),
            value: value.trim().to_owned(),
            line: number,
            source: source.to_owned(),
        });
    }
    unit
}

impl UnitFile {
    /// Adds a drop-in, which is applied after everything so far.
    pub fn append(&mut self, drop_in: UnitFile) {
        self.sections.extend(drop_in.sections);
        self.assignments.extend(drop_in.assignments);
        self.errors.extend(drop_in.errors);
    }

    /// Returns every assignment to a key in order, empty ones included.
    pub fn all(&self, section: &str, key: &str) -> Vec<&Assignment> {
        self.assignments
            .iter()
            .filter(|a| a.section == section && a.key == key)
            .collect()
    }

    /// Returns the values of a list: an empty assignment resets those before it.
    pub fn list(&self, section: &str, key: &str) -> Vec<&Assignment> {
        let mut values = Vec::new();
        for assignment in self.all(section, key) {
            if assignment.value.is_empty() {
                values.clear();
            } else {
                values.push(assignment);
            }
        }
        values
    }

    /// Returns the value of a single-valued key: the last one, `None` if that is empty.
    pub fn value(&self, section: &str, key: &str) -> Option<&str> {
        let last = self.all(section, key).pop()?;
        (!last.value.is_empty()).then_some(last.value.as_str())
    }

    /// Returns a boolean; `None` if it is not set.
    pub fn boolean(&self, section: &str, key: &str) -> Option<bool> {
        Some(is_yes(self.value(section, key)?))
    }
}

/// Returns the text after the last dot: a unit's type.
pub(crate) fn suffix(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, suffix)| suffix)
}

/// Whether this is one of systemd's words for true.
pub(crate) fn is_yes(value: &str) -> bool {
    ["1", "yes", "y", "true", "t", "on"]
        .iter()
        .any(|yes| value.eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEBIAN_TIMER: &str = "[Unit]\nDescription=Discard unused blocks once a week\nDocumentation=man:fstrim\nConditionVirtualization=!container\nConditionPathExists=!/etc/initrd-release\n\n[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\nRandomizedDelaySec=6000\n\n[Install]\nWantedBy=timers.target\n";

    #[test]
    fn debians_fstrim_timer() {
        let unit = parse("fstrim.timer", DEBIAN_TIMER);
        assert_eq!(unit.errors, []);
        assert_eq!(unit.value("Timer", "OnCalendar"), Some("weekly"));
        assert_eq!(unit.value("Timer", "RandomizedDelaySec"), Some("6000"));
        assert_eq!(unit.boolean("Timer", "Persistent"), Some(true));
        assert_eq!(unit.boolean("Timer", "WakeSystem"), None);
        assert_eq!(unit.list("Timer", "OnCalendar")[0].line, 8);
        assert_eq!(unit.sections[2], ("Install".to_owned(), 13));
    }

    #[test]
    fn an_empty_assignment_in_a_drop_in_resets_a_list() {
        let mut unit = parse("fstrim.timer", DEBIAN_TIMER);
        unit.append(parse(
            "fstrim.timer.d/override.conf",
            "[Timer]\nOnCalendar=\nOnCalendar=Sun 03:00\nOnCalendar=Wed 03:00\nRandomizedDelaySec=\n",
        ));
        let values: Vec<&str> = unit
            .list("Timer", "OnCalendar")
            .iter()
            .map(|a| a.value.as_str())
            .collect();
        assert_eq!(values, ["Sun 03:00", "Wed 03:00"]);
        assert_eq!(unit.value("Timer", "RandomizedDelaySec"), None);
    }

    #[test]
    fn continuation_lines_are_joined_and_comments_between_them_skipped() {
        let unit = parse(
            "x",
            "[Service]\nExecStart=/bin/a \\\n# not this\n   b \\\n; nor this\n c\nNice=5\n",
        );
        assert_eq!(unit.value("Service", "ExecStart"), Some("/bin/a b c"));
        assert_eq!(unit.list("Service", "Nice")[0].line, 7);
    }

    #[test]
    fn misplaced_lines_are_reported() {
        let unit = parse("x.timer", "OnCalendar=daily\n[Timer\n[Timer]\nnonsense\n");
        let places: Vec<String> = unit.errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            places,
            [
                "x.timer:1: expected a section before the first assignment, found \"OnCalendar=daily\"",
                "x.timer:2: expected a section such as [Timer], found \"[Timer\"",
                "x.timer:4: expected an assignment: Key=value, found \"nonsense\"",
            ]
        );
    }

    proptest! {
        #[test]
        fn total(text in "(\\[[A-Za-z]*\\]|[A-Za-z]*=|\\\\|\n|#|[a-z/ ]){0,60}") {
            parse("x", &text);
        }

        #[test]
        fn formatted_entries_are_parsed(values in prop::collection::vec("[a-z/][a-z/*: -]{0,20}[a-z/]", 1..10)) {
            let mut text = "[Timer]\n".to_owned();
            for value in &values {
                text.push_str("OnCalendar = ");
                text.push_str(value);
                text.push('\n');
            }
            let unit = parse("x", &text);
            let read: Vec<&str> = unit.list("Timer", "OnCalendar").iter().map(|a| a.value.as_str()).collect();
            prop_assert_eq!(read, values);
        }
    }
}
