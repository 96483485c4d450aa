//! Building blocks of sentences about patterns, on top of the crate `units`.

use super::recurrence::Rhythm;
use super::result::Cycle;
use crate::calendar::weekdays::named;

/// `every week`, `every 37 min`.
pub(crate) fn every(cycle: Option<Cycle>, period_s: f64) -> String {
    match cycle {
        Some(Cycle::Hour) => "every hour".to_owned(),
        Some(Cycle::Day) => "every day".to_owned(),
        Some(Cycle::Week) => "every week".to_owned(),
        Some(Cycle::Runs) => "after each run".to_owned(),
        _ if (period_s / 86_400.0 - 1.0).abs() < 3e-3 => "every day".to_owned(),
        _ => format!("every {}", units::seconds(period_s)),
    }
}

/// Formats how often a pattern occurs: `every week`, `from Monday to Friday`.
pub(crate) fn how_often(rhythm: &Rhythm) -> String {
    match &rhythm.weekdays {
        Some(names) => units::date::on_weekdays(&named(names)),
        None => every(Some(rhythm.cycle), rhythm.period_s),
    }
}

/// Returns the unit of cycles: `weeks`, `periods`.
pub(crate) fn periods(cycle: Cycle) -> &'static str {
    match cycle {
        Cycle::Hour => "hours",
        Cycle::Day => "days",
        Cycle::Week => "weeks",
        Cycle::Runs => "runs",
        Cycle::Fixed => "times",
    }
}

/// Returns the preposition of cycles, with a blank: `on ` days, `in ` weeks, and nothing before times.
pub(crate) fn in_periods(cycle: Cycle) -> &'static str {
    match cycle {
        Cycle::Day => "on ",
        Cycle::Hour | Cycle::Week | Cycle::Runs => "in ",
        Cycle::Fixed => "",
    }
}

/// Formats the magnitude of a change: `12 %`, `0.04 %`, without a sign.
pub(crate) fn percent(fraction: f64) -> String {
    units::number::with_unit(&units::number(fraction.abs() * 100.0), Some("%"))
}

/// Formats a list of names, grouping scripts of one directory: `cron.weekly (fstrim, man-db)`. A line of a crontab is
/// told by its command first, as its file and number alone look like a time of day: `logrotate (/etc/crontab, line 5)`.
pub(crate) fn names(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| of_line(name)).collect();
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in &names {
        // A path is not grouped.
        let split = name
            .split_once('/')
            .filter(|(head, _)| !head.is_empty() && !head.contains(' '));
        let (head, tail) = split.unwrap_or((name, ""));
        match parts.iter_mut().find(|(known, _)| *known == head) {
            Some((_, tails)) => tails.push(tail),
            None => parts.push((head, vec![tail])),
        }
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(head, tails)| {
            let tails: Vec<&str> = tails.into_iter().filter(|tail| !tail.is_empty()).collect();
            match tails[..] {
                [] => head.to_owned(),
                [tail] => format!("{head}/{tail}"),
                _ => format!("{head} ({})", tails.join(", ")),
            }
        })
        .collect();
    parts.join(", ")
}

/// Rewrites `/etc/crontab:5 logrotate` as `logrotate (/etc/crontab, line 5)`.
fn of_line(name: &str) -> String {
    let line = || {
        let (place, command) = name.split_once(' ')?;
        let (file, line) = place.rsplit_once(':')?;
        let is_file = file.starts_with('/') || file.contains("cron");
        let is_line = is_file && line.parse::<u32>().is_ok() && !command.is_empty();
        is_line.then(|| format!("{command} ({file}, line {line})"))
    };
    line().unwrap_or_else(|| name.to_owned())
}

/// Describes the samples: `daily samples`, `samples every 5 min`.
pub(crate) fn sampling(gap_s: f64) -> String {
    match gap_s {
        s if (s / 86_400.0 - 1.0).abs() < 0.1 => "daily samples".to_owned(),
        s if (s / 3_600.0 - 1.0).abs() < 0.1 => "hourly samples".to_owned(),
        s if (s / 60.0 - 1.0).abs() < 0.1 => "samples every minute".to_owned(),
        s => format!("samples every {}", units::seconds(s)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::weekdays::Weekdays;

    #[test]
    fn consecutive_weekdays_are_grouped() {
        let of = |days: &[usize]| {
            let mut set = [false; 7];
            for day in days {
                set[*day] = true;
            }
            how_often(&Rhythm {
                cycle: Cycle::Week,
                weekdays: Some(Weekdays::new(set).names(0)),
                period_s: 604_800.0,
            })
        };
        assert_eq!(of(&[0, 1, 2, 3, 4]), "from Monday to Friday");
        assert_eq!(of(&[0, 1, 2, 3, 6]), "from Sunday to Thursday");
        assert_eq!(of(&[1, 3]), "on Tuesday and Thursday");
        assert_eq!(of(&[0, 2, 4]), "on Monday, Wednesday and Friday");
        assert_eq!(of(&[5, 6]), "on Saturday and Sunday");
        assert_eq!(of(&[2]), "on Wednesday");
        assert_eq!(of(&[0, 1, 3, 4, 5, 6]), "every day but Wednesday");
        assert_eq!(of(&[0, 1, 2, 3, 4, 5]), "from Monday to Saturday");
    }

    #[test]
    fn scripts_of_one_directory_are_grouped() {
        let of = |list: &[&str]| names(&list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            of(&["cron.weekly/fstrim", "cron.weekly/man-db"]),
            "cron.weekly (fstrim, man-db)"
        );
        assert_eq!(
            of(&["cron.weekly/fstrim", "fstrim.timer"]),
            "cron.weekly/fstrim, fstrim.timer"
        );
    }

    #[test]
    fn a_line_of_a_crontab_is_told_by_its_command() {
        let of = |name: &str| names(&[name.to_owned()]);
        assert_eq!(
            of("/etc/crontab:11 compact"),
            "compact (/etc/crontab, line 11)"
        );
        assert_eq!(of("crontab:1 fstrim"), "fstrim (crontab, line 1)");
        assert_eq!(of("backup:3 of today"), "backup:3 of today");
        assert_eq!(of("/opt/a:b c"), "/opt/a:b c");
    }
}
