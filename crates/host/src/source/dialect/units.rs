//! Unit files that an archive lacks, and the answer of `systemctl show`.

use super::made::{Made, is_plain};
use super::outputs::{Clock, Outputs};
use crate::parse::outputs::units;
use crate::source::Source;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Where packages keep unit files, the newer place first.
const VENDOR: [&str; 2] = ["usr/lib/systemd/system", "lib/systemd/system"];

pub(super) fn make(tree: &dyn Source, outputs: &Outputs<'_>, clock: &Clock, made: &mut Made) {
    let parsed = |commands: &[&str]| outputs.first(commands).unwrap_or_default();
    let dumped = units::dump(&parsed(&["systemd-analyze_dump"]));
    let timers = units::timers(&parsed(&["systemctl_list-timers"]));
    let states = units::unit_files(&parsed(&["systemctl_list-unit-files"]));
    // An archive without empty directories lacks this one, by which sd_booted(3) knows systemd.
    if !dumped.is_empty() || !timers.is_empty() {
        made.directory("run/systemd/system");
    }
    let mut missing = 0_usize;
    for (name, unit) in &dumped {
        let own = unit
            .get("Fragment Path")
            .map(|path| path.trim_start_matches('/'));
        let has_file = |path: &str| tree.stat(path).is_ok() || tree.link(path).is_ok();
        let is_there = own.is_some_and(has_file)
            || VENDOR
                .iter()
                .any(|root| has_file(&format!("{root}/{name}")));
        let is_timer = units::is_timer(name);
        let has_timer = unit
            .all("TriggeredBy")
            .iter()
            .any(|by| by.contains(".timer"));
        if !is_there && is_plain(name) && (is_timer || has_timer) {
            // A unit below /run or /etc keeps its place, which tells who made it.
            let kept = own.filter(|path| path.ends_with(name.as_str()) && !path.contains(".."));
            // `lib` may be a link to `usr/lib`, below which the file is looked for then.
            let kept = kept.filter(|path| !path.starts_with("lib/"));
            let path = kept.map_or_else(|| format!("{}/{name}", VENDOR[0]), str::to_owned);
            made.file(&path, unit.file().as_bytes());
            missing += usize::from(is_timer);
        }
    }
    if missing > 0 {
        made.remark(format!(
            "{} only from `systemd-analyze dump`, which does not record random delays",
            if missing == 1 {
                "one timer is known".to_owned()
            } else {
                format!("{missing} timers are known")
            }
        ));
    }
    let mut answer = String::new();
    let names: BTreeSet<&String> = dumped.keys().chain(timers.keys()).collect();
    for name in names {
        let _ = writeln!(answer, "Id={name}");
        if let Some(unit) = dumped.get(name) {
            for (key, property) in [
                ("Unit Load State", "LoadState"),
                ("Unit Active State", "ActiveState"),
            ] {
                if let Some(value) = unit.get(key) {
                    let _ = writeln!(answer, "{property}={value}");
                }
            }
        }
        let wanted = |unit: &units::Unit| {
            ["WantedBy", "RequiredBy"]
                .iter()
                .any(|key| !unit.all(key).is_empty())
        };
        let by_dump = dumped
            .get(name)
            .map(|unit| if wanted(unit) { "enabled" } else { "static" });
        if let Some(state) = states.get(name).map(String::as_str).or(by_dump) {
            let _ = writeln!(answer, "UnitFileState={state}");
        }
        if let Some(runs) = timers.get(name) {
            let _ = writeln!(answer, "Unit={}", runs.activates);
            for (time, property) in [
                (runs.last, "LastTriggerUSec"),
                (runs.next, "NextElapseUSecRealtime"),
            ] {
                if let Some(utc) = time.and_then(|time| clock.utc(time)) {
                    let _ = writeln!(
                        answer,
                        "{property}={} UTC",
                        utc.strftime("%a %Y-%m-%d %H:%M:%S")
                    );
                }
            }
        }
        answer.push('\n');
    }
    if !answer.is_empty() {
        made.commands.insert("systemctl_show", answer.into_bytes());
    }
}
