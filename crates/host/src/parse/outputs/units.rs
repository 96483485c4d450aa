//! systemd's timers and services as `systemd-analyze dump`, `systemctl list-timers` and `systemctl
//! list-unit-files` print them.

use crate::parse::unit_file::suffix;
use jiff::civil::DateTime;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// More units than any real host has.
const UNITS_MAX: usize = 20_000;
/// More values than one unit has of one key.
const VALUES_MAX: usize = 1000;

/// A unit as systemd has loaded it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unit {
    values: BTreeMap<String, Vec<String>>,
}

impl Unit {
    /// Returns the first value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.all(key)
            .first()
            .map(String::as_str)
            .filter(|value| *value != "n/a")
    }

    /// Returns all values of a key.
    pub fn all(&self, key: &str) -> &[String] {
        self.values.get(key).map_or(&[], Vec::as_slice)
    }

    /// Writes a timer or a service as a unit file. What the dump does not tell, such as a random
    /// delay, is not in it.
    pub fn file(&self) -> String {
        let mut text = String::from("[Unit]\n");
        for (key, values) in &self.values {
            if key.starts_with("Condition")
                && key != "Condition Timestamp"
                && key != "Condition Result"
            {
                for value in values {
                    // The outcome follows the value: `!container untested`.
                    let value = value
                        .rsplit_once(' ')
                        .map_or(value.as_str(), |(value, _)| value);
                    let _ = writeln!(text, "{key}={value}");
                }
            }
        }
        if self.values.contains_key("Timer State") {
            text.push_str("[Timer]\n");
            let keys = [
                ("Unit", "Unit"),
                ("Persistent", "Persistent"),
                ("Accuracy", "AccuracySec"),
            ];
            for (key, name) in keys {
                if let Some(value) = self.get(key) {
                    let _ = writeln!(text, "{name}={value}");
                }
            }
            for (key, values) in &self.values {
                let is_trigger =
                    key == "OnCalendar" || (key.starts_with("On") && key.ends_with("Sec"));
                for value in values.iter().filter(|_| is_trigger) {
                    let _ = writeln!(text, "{}={value}", key.replace("USec", "Sec"));
                }
            }
        }
        if self.values.contains_key("Service State") {
            text.push_str("[Service]\n");
            for key in ["ExecStartPre", "ExecStart"] {
                for value in self.all(key) {
                    let _ = writeln!(text, "{key}={value}");
                }
            }
            for key in ["User", "IOSchedulingClass", "CPUSchedulingPolicy", "Nice"] {
                if let Some(value) = self.get(key) {
                    let _ = writeln!(text, "{key}={value}");
                }
            }
        }
        text
    }
}

/// Parses the timers and services in a dump, by name (`unit_dump` in systemd's `src/core/unit-serialize.c`).
pub fn dump(text: &str) -> BTreeMap<String, Unit> {
    let mut units: BTreeMap<String, Unit> = BTreeMap::new();
    let mut name: Option<&str> = None;
    // Of which of the unit's commands the lines are.
    let mut command = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("-> Unit ") {
            let unit = rest.trim_end_matches(':');
            let is_wanted = is_timer(unit) || is_service(unit);
            name = Some(unit).filter(|_| is_wanted && units.len() < UNITS_MAX);
            continue;
        }
        // Jobs and the manager's own lines end a unit.
        if line.starts_with("->") || !line.starts_with(['\t', ' ']) {
            name = None;
        }
        if let Some(rest) = line.trim().strip_prefix("-> ") {
            command = rest.trim_end_matches(':');
        }
        let (Some(name), Some((key, value))) = (name, line.trim().split_once(": ")) else {
            continue;
        };
        let key = if key == "Command Line" { command } else { key };
        let unit = units.entry(name.to_owned()).or_default();
        let values = unit.values.entry(key.to_owned()).or_default();
        if values.len() < VALUES_MAX {
            values.push(value.trim().to_owned());
        }
    }
    units
}

/// Whether a unit is a timer; names of units distinguish upper and lower case.
pub(crate) fn is_timer(unit: &str) -> bool {
    suffix(unit) == "timer"
}

fn is_service(unit: &str) -> bool {
    suffix(unit) == "service"
}

/// When a timer last ran and will run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// Its next run, by the host's clock.
    pub next: Option<DateTime>,
    /// Its last run, by the host's clock.
    pub last: Option<DateTime>,
    /// What it starts.
    pub activates: String,
}

/// Parses `systemctl list-timers --all` (`output_timers_list` in systemd's
/// `src/systemctl/systemctl-list-units.c`), by timer.
pub fn timers(text: &str) -> BTreeMap<String, Runs> {
    let mut lines = text.lines();
    let Some(starts) = lines.by_ref().find_map(|line| {
        let start = |name: &str| line.find(name).filter(|_| line.is_ascii());
        Some([
            start("NEXT")?,
            start("LEFT")?,
            start("LAST")?,
            start("PASSED")?,
        ])
        .filter(|starts| starts.is_sorted())
    }) else {
        return BTreeMap::new();
    };
    let parsed = lines.take(UNITS_MAX).filter_map(|line| {
        let mut words = line.split_ascii_whitespace().rev();
        let (activates, timer) = (words.next()?, words.next()?);
        let time = |from: usize, to: usize| {
            // `Mon 2022-02-14 00:00:00 UTC`
            let mut words = line.get(from..to)?.split_ascii_whitespace().skip(1);
            format!("{}T{}", words.next()?, words.next()?).parse().ok()
        };
        let runs = Runs {
            next: time(starts[0], starts[1]),
            last: time(starts[2], starts[3]),
            activates: activates.to_owned(),
        };
        is_timer(timer).then(|| (timer.to_owned(), runs))
    });
    parsed.collect()
}

/// Parses `systemctl list-unit-files`: the state of each unit's file.
pub fn unit_files(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .take(UNITS_MAX)
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (name, state) = (words.next()?, words.next()?);
            let is_wanted = is_timer(name) || is_service(name);
            is_wanted.then(|| (name.to_owned(), state.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DUMP: &str = "\
Manager: systemd 245
Timestamp firmware: n/a
-> Unit dev-sda.device:
\tDescription: x
-> Unit fstrim.timer:
\tUnit Active State: active
\tFragment Path: /lib/systemd/system/fstrim.timer
\tConditionVirtualization: !container untested
\tCondition Result: yes
\tTimer State: waiting
\tUnit: fstrim.service
\tPersistent: yes
\tAccuracy: 1h
\tOnCalendar: Mon *-*-* 00:00:00
-> Unit fstrim.service:
\tService State: dead
\tIOSchedulingClass: idle
\t-> ExecStart:
\t\tCommand Line: /sbin/fstrim --fstab --verbose
\t\t\tPID: n/a
\t-> ExecStop:
\t\tCommand Line: /bin/true
-> Job 7:
\tUnit: x.service
";

    #[test]
    fn units_of_a_dump_become_files() {
        let units = dump(DUMP);
        assert_eq!(units.len(), 2);
        let timer = &units["fstrim.timer"];
        assert_eq!(
            timer.get("Fragment Path"),
            Some("/lib/systemd/system/fstrim.timer")
        );
        assert_eq!(
            timer.file(),
            "[Unit]\nConditionVirtualization=!container\n[Timer]\nUnit=fstrim.service\n\
             Persistent=yes\nAccuracySec=1h\nOnCalendar=Mon *-*-* 00:00:00\n"
        );
        assert_eq!(
            units["fstrim.service"].file(),
            "[Unit]\n[Service]\nExecStart=/sbin/fstrim --fstab --verbose\nIOSchedulingClass=idle\n"
        );
    }

    #[test]
    fn runs_of_timers() {
        let text = "\
NEXT                        LEFT          LAST                        PASSED       UNIT         ACTIVATES
Mon 2022-02-14 00:00:00 UTC 3 days left   Wed 2022-02-09 22:38:17 UTC 17h ago      fstrim.timer fstrim.service
n/a                         n/a           n/a                         n/a          a.timer      a.service

2 timers listed.
";
        let timers = timers(text);
        assert_eq!(timers.len(), 2);
        let fstrim = &timers["fstrim.timer"];
        assert_eq!(fstrim.next, Some("2022-02-14T00:00:00".parse().unwrap()));
        assert_eq!(fstrim.last, Some("2022-02-09T22:38:17".parse().unwrap()));
        assert_eq!(timers["a.timer"].last, None);
        let files = unit_files("UNIT FILE STATE\nfstrim.timer  disabled enabled\nx.mount static\n");
        assert_eq!(files.len(), 1);
        assert_eq!(files["fstrim.timer"], "disabled");
    }

    proptest! {
        #[test]
        fn total(text in "(-> Unit |\\.timer|\\.service|:|\n|\t|Timer State: |Command Line: |NEXT|LEFT|LAST|PASSED| |[a-z0-9é]{1,9}){0,40}") {
            for unit in dump(&text).values() {
                unit.file();
            }
            timers(&text);
            unit_files(&text);
        }
    }
}
