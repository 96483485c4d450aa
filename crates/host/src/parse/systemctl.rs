//! Output of `systemctl show`: one block of `Property=value` lines per unit, separated by blank
//! lines.

use std::collections::BTreeMap;

/// Properties requested. Not `Environment`, which may contain secrets.
pub const PROPERTIES: &[&str] = &[
    "Id",
    "Names",
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "FragmentPath",
    "DropInPaths",
    "Unit",
    "Triggers",
    "TriggeredBy",
    "TimersCalendar",
    "TimersMonotonic",
    "AccuracyUSec",
    "RandomizedDelayUSec",
    "Persistent",
    "NextElapseUSecRealtime",
    "LastTriggerUSec",
    "ExecStartPre",
    "ExecStart",
    "User",
    "Nice",
    "IOSchedulingClass",
    "CPUSchedulingPolicy",
];

/// The state of one unit, as reported by systemd.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitState {
    properties: BTreeMap<String, Vec<String>>,
}

/// More lines than any answer with [`PROPERTIES`] has for one unit.
const VALUES_MAX: usize = 1000;
/// More units than are queried on any real host.
const UNITS_MAX: usize = 20_000;

/// Parses the output. Lines without `=` are skipped: a value may contain a line break.
pub fn parse(text: &str) -> Vec<UnitState> {
    let mut units = Vec::new();
    let mut unit = UnitState::default();
    for line in text.lines().chain([""]) {
        if line.is_empty() {
            if units.len() >= UNITS_MAX {
                break;
            }
            if !unit.properties.is_empty() {
                units.push(std::mem::take(&mut unit));
            }
            continue;
        }
        if let Some((name, value)) = line.split_once('=')
            && is_property_name(name)
        {
            let values = unit.properties.entry(name.to_owned()).or_default();
            if values.len() < VALUES_MAX {
                values.push(value.to_owned());
            }
        }
    }
    units
}

fn is_property_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric())
}

impl UnitState {
    /// Returns the value of a property; `None` if it is missing, empty or `n/a`.
    pub fn get(&self, property: &str) -> Option<&str> {
        let value = self.properties.get(property)?.first()?.trim();
        (!value.is_empty() && value != "n/a").then_some(value)
    }

    /// Returns the unit's name.
    pub fn id(&self) -> Option<&str> {
        self.get("Id")
    }

    /// Iterates over the unit's names, including aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.get("Names").unwrap_or_default();
        self.id().into_iter().chain(names.split_whitespace())
    }

    /// Returns the structures in a property: `{ OnCalendar=... ; next_elapse=... }`. systemd writes
    /// several of them either on one line or on separate lines.
    pub fn structures(&self, property: &str) -> Vec<Vec<(&str, &str)>> {
        self.properties
            .get(property)
            .into_iter()
            .flatten()
            .flat_map(|value| value.split("{ ").skip(1))
            .map(|part| part.trim_end().trim_end_matches('}'))
            .map(|part| {
                part.split(" ; ")
                    .filter_map(|field| field.split_once('='))
                    .map(|(name, value)| (name.trim(), value.trim()))
                    .collect()
            })
            .collect()
    }

    /// Returns the `OnCalendar` expressions in effect.
    pub fn calendars(&self) -> Vec<String> {
        self.structures("TimersCalendar")
            .iter()
            .flatten()
            .filter(|(name, value)| *name == "OnCalendar" && !value.is_empty())
            .map(|(_, value)| (*value).to_owned())
            .collect()
    }

    /// Returns the `On...Sec` directives in effect with their spans as written: `OnBootSec`,
    /// `15min`. systemd uses the names of its bus properties, `OnBootUSec`.
    pub fn monotonic(&self) -> Vec<(String, String)> {
        self.structures("TimersMonotonic")
            .iter()
            .filter_map(|fields| fields.first())
            .map(|(name, value)| (name.replace("USec", "Sec"), (*value).to_owned()))
            .collect()
    }

    /// Returns the command lines of `ExecStart` or `ExecStartPre`, words separated by a space.
    pub fn command_lines(&self, property: &str) -> Vec<&str> {
        self.properties
            .get(property)
            .into_iter()
            .flatten()
            .filter_map(|value| command_line(value))
            .map(|range| range.1)
            .collect()
    }
}

/// Splits an `ExecStart` value into the text before, in and after `argv[]=`.
pub(crate) fn command_line(value: &str) -> Option<(&str, &str, &str)> {
    let start = value.find("argv[]=")? + "argv[]=".len();
    let (before, rest) = value.split_at(start);
    // A word of the command line may be a semicolon, so the name of the next field is matched too.
    let len = [" ; ignore_errors=", " ; flags="]
        .iter()
        .filter_map(|next| rest.find(next))
        .min()
        .unwrap_or(rest.len());
    let (line, after) = rest.split_at(len);
    Some((before, line, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Output of systemd 252 on Debian 12.
    pub(crate) const DEBIAN_12: &str = "Unit=fstrim.service\nTimersCalendar={ OnCalendar=Mon *-*-* 00:00:00 ; next_elapse=Mon 2026-11-23 00:00:00 UTC }\nNextElapseUSecRealtime=Mon 2026-11-23 00:04:50 UTC\nAccuracyUSec=1h\nRandomizedDelayUSec=1h 40min\nPersistent=yes\nId=fstrim.timer\nNames=fstrim.timer\nTriggers=fstrim.service\nLoadState=loaded\nActiveState=active\nSubState=waiting\nFragmentPath=/lib/systemd/system/fstrim.timer\nUnitFileState=enabled\n\nExecStart={ path=/sbin/fstrim ; argv[]=/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }\nNice=0\nIOSchedulingClass=2\nId=fstrim.service\nTriggeredBy=fstrim.timer\nLoadState=loaded\nActiveState=inactive\nUnitFileState=static\n";

    #[test]
    fn blocks_of_systemd_252() {
        let units = parse(DEBIAN_12);
        assert_eq!(units.len(), 2);
        let (timer, service) = (&units[0], &units[1]);
        assert!(timer.names().any(|name| name == "fstrim.timer"));
        assert_eq!(timer.calendars(), ["Mon *-*-* 00:00:00"]);
        assert_eq!(timer.get("LastTriggerUSec"), None);
        assert_eq!(timer.get("RandomizedDelayUSec"), Some("1h 40min"));
        assert_eq!(
            service.command_lines("ExecStart"),
            [
                "/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported"
            ]
        );
    }

    #[test]
    fn several_triggers_on_one_line_or_on_several() {
        let text = "Id=x.timer\nTimersMonotonic={ OnBootUSec=15min ; next_elapse=15min }\nTimersMonotonic={ OnUnitActiveUSec=1d ; next_elapse=1d }\nTimersCalendar={ OnCalendar=*-*-* 06:00:00 ; next_elapse=n/a } { OnCalendar=*-*-* 18:00:00 ; next_elapse=n/a }\n";
        let unit = &parse(text)[0];
        assert_eq!(
            unit.monotonic(),
            [
                ("OnBootSec".to_owned(), "15min".to_owned()),
                ("OnUnitActiveSec".to_owned(), "1d".to_owned())
            ]
        );
        assert_eq!(unit.calendars(), ["*-*-* 06:00:00", "*-*-* 18:00:00"]);
    }

    proptest! {
        #[test]
        fn total(text in "([A-Z][a-z]*=|\\{ | ; | \\}|argv\\[\\]=|\n|[a-z]*){0,60}") {
            for unit in parse(&text) {
                unit.calendars();
                unit.monotonic();
                unit.command_lines("ExecStart");
            }
        }

        #[test]
        fn command_lines_round_trip(words in prop::collection::vec("[a-z;/-]{1,8}", 1..6)) {
            let line = words.join(" ");
            let text = format!("ExecStart={{ path=/x ; argv[]={line} ; ignore_errors=no ; pid=0 }}\n");
            let units = parse(&text);
            prop_assert_eq!(units[0].command_lines("ExecStart"), vec![line.as_str()]);
        }
    }
}
