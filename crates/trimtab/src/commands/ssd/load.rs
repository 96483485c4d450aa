//! Workloads and trim schedules as people write them.

use super::values::{PATTERNS, pattern, tenth};
use flash::filesystem::Reach;
use flash::scenario::{Kind, Schedule, Trims};
use flash::workload::database::Pattern;
use std::fmt;

/// One of the workloads of a mix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// What.
    pub what: What,
    /// Its share of the writes, in percent.
    pub weight: f64,
    /// Its share of the data, in percent.
    pub space: f64,
}

/// A workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What {
    /// Pages, written over in place.
    Pages(Pattern),
    /// Files that come and go.
    Files(&'static str, Kind),
}

/// The file workloads by name.
const FILES: [(&str, Kind); 5] = [
    ("lucene", Kind::LUCENE),
    ("lsm", Kind::ROCKSDB),
    ("log", Kind::JOURNAL),
    (
        "circular-log",
        Kind::Log {
            file_bytes: 100 << 20,
            recycled: true,
        },
    ),
    ("files", Kind::FILES),
];

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(pattern) => pattern.fmt(f),
            Self::Files(name, _) => f.write_str(name),
        }
    }
}

/// What stores do, as mixes: segments beside a transaction log that is deleted as it is rolled over;
/// pages of files beside a journal.
const STORES: [(&str, &str); 3] = [
    ("elasticsearch", "lucene@75/90,log@25/10"),
    ("opensearch", "lucene@75/90,log@25/10"),
    ("mongodb", "uniform@80/98,log@20/2"),
];

/// Workloads side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// At least one.
    pub parts: Vec<Part>,
    /// A store's name, where it stands for the parts.
    store: Option<&'static str>,
}

impl Mix {
    /// The only pattern of pages that there is, if there is no more than that.
    pub fn single_pattern(&self) -> Option<Pattern> {
        match self.parts.as_slice() {
            [
                Part {
                    what: What::Pages(pattern),
                    ..
                },
            ] => Some(*pattern),
            _ => None,
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(store) = self.store {
            return f.write_str(store);
        }
        if let [part] = self.parts.as_slice() {
            return part.what.fmt(f);
        }
        for (index, part) in self.parts.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let (weight, space) = (tenth(part.weight), tenth(part.space));
            write!(f, "{comma}{}@{weight}/{space}", part.what)?;
        }
        Ok(())
    }
}

/// `lucene`, `uniform`, `lucene@80,circular-log@20/5`. Without any number all parts are equal; else the
/// shares of the writes come to 100, and where a share of the data is left out, it is its part of what the
/// others leave, by the writes.
///
/// # Errors
/// A sentence that says what was expected.
pub fn mix(text: &str) -> Result<Mix, String> {
    let store = STORES.iter().find(|(known, _)| *known == text.trim());
    let named = store
        .map_or(text, |(_, parts)| parts)
        .split(',')
        .map(named_part)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Mix {
        parts: shared(&named)?,
        store: store.map(|(name, _)| *name),
    })
}

/// Parts by their numbers in percent.
#[allow(clippy::cast_precision_loss)] // a handful of parts
fn shared(named: &[Named]) -> Result<Vec<Part>, String> {
    let count = named.len() as f64;
    if named.iter().all(|part| part.writes.is_none()) {
        let equal = 100.0 / count;
        let part = |part: &Named| Part {
            what: part.what,
            weight: equal,
            space: equal,
        };
        return Ok(named.iter().map(part).collect());
    }
    // Each may be rounded to a whole number.
    let is_whole = |sum: f64| (sum - 100.0).abs() <= 0.5 * count;
    let writes: f64 = named.iter().filter_map(|part| part.writes).sum();
    if !is_whole(writes) || named.iter().any(|part| part.writes.is_none()) {
        return Err(format!(
            "expected the shares of the writes to come to 100 %, found {} %: give each of the \
             workloads its number, or none of them (lucene@80,log@20)",
            tenth(writes)
        ));
    }
    let data: f64 = named.iter().filter_map(|part| part.data).sum();
    let open = named.iter().filter(|part| part.data.is_none());
    let open: f64 = open.filter_map(|part| part.writes).sum();
    let left = 100.0 - data;
    if open > 0.0 && left <= 0.0 || open == 0.0 && !is_whole(data) {
        return Err(format!(
            "expected the shares of the data, behind the slash, to {} 100 %, found {} %: leave one \
             out, and it is what the others leave (lucene@80,log@20/5)",
            if open > 0.0 {
                "leave some of"
            } else {
                "come to"
            },
            tenth(data)
        ));
    }
    let part = |part: &Named| {
        let weight = part.writes.unwrap_or(0.0);
        Part {
            what: part.what,
            weight,
            space: part.data.unwrap_or(left * weight / open),
        }
    };
    Ok(named.iter().map(part).collect())
}

/// A part as it is written.
struct Named {
    what: What,
    /// Of the writes, in percent.
    writes: Option<f64>,
    /// Of the data, in percent.
    data: Option<f64>,
}

fn named_part(text: &str) -> Result<Named, String> {
    let text = text.trim();
    let (name, shares) = match text.rsplit_once('@') {
        Some((name, shares)) => (name, Some(shares)),
        None => (text, None),
    };
    let what = match FILES.iter().find(|(known, _)| *known == name) {
        Some((known, kind)) => What::Files(known, *kind),
        None => What::Pages(pattern(name)?.ok_or_else(|| {
            format!(
                "expected {PATTERNS}, or elasticsearch, opensearch, mongodb, lucene, lsm, log, \
                 circular-log, files, found {name:?}"
            )
        })?),
    };
    let percent = |number: &str| {
        let value: Option<f64> = number.trim().trim_end_matches('%').parse().ok();
        let value = value.filter(|value| *value > 0.0 && *value <= 1e6);
        value.ok_or_else(|| {
            format!(
                "expected NAME@WRITES or NAME@WRITES/DATA in percent (lucene@80, log@20/5), found \
                 {text:?}"
            )
        })
    };
    let (writes, data) = match shares.map(|shares| shares.split_once('/').ok_or(shares)) {
        None => (None, None),
        Some(Ok((writes, data))) => (Some(percent(writes)?), Some(percent(data)?)),
        Some(Err(writes)) => (Some(percent(writes)?), None),
    };
    Ok(Named { what, writes, data })
}

/// A trim schedule with the word for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrimWhen {
    /// When.
    pub trims: Trims,
    /// What becomes of the discards.
    pub reach: Reach,
}

impl TrimWhen {
    /// Sundays at 6, as Debian's cron.weekly.
    pub const WEEKLY: Self = Self {
        trims: Trims::Periodic(Schedule::WEEKLY),
        reach: Reach::Heard,
    };
    /// Every day at 6.
    pub const DAILY: Self = Self {
        trims: Trims::Periodic(Schedule {
            every_days: 1,
            first_day: 0,
            ..Schedule::WEEKLY
        }),
        reach: Reach::Heard,
    };
    /// With each delete.
    pub const ONLINE: Self = Self {
        trims: Trims::Online,
        reach: Reach::Heard,
    };
    /// Not at all.
    pub const NEVER: Self = Self {
        trims: Trims::Never,
        reach: Reach::Heard,
    };

    /// Every so many days.
    pub fn every(days: u32) -> Self {
        Self {
            trims: Trims::Periodic(Schedule {
                every_days: days,
                ..Schedule::WEEKLY
            }),
            reach: Reach::Heard,
        }
    }

    /// The same, and no drive hears of it.
    #[must_use]
    pub fn swallowed(self) -> Self {
        Self {
            reach: Reach::Swallowed,
            ..self
        }
    }
}

/// Days of a schedule, Monday first.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// As an adverb of "trimmed": `weekly`, `every 3 days`, `on each delete`.
impl fmt::Display for TrimWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.trims {
            Trims::Never => f.write_str("never")?,
            Trims::Online => f.write_str("on each delete")?,
            Trims::Periodic(schedule) => match schedule.every_days {
                1 => f.write_str("daily")?,
                7 => f.write_str("weekly")?,
                days => write!(f, "every {days} days")?,
            },
        }
        if self.reach == Reach::Heard {
            Ok(())
        } else {
            f.write_str(", which no drive hears")
        }
    }
}

/// `weekly`, `daily`, `online`, `never`, `swallowed`, `Sun 06:47`, `03:00`, `every 3 days`. The model
/// knows hours: minutes are cut.
///
/// # Errors
/// A sentence that says what was expected.
pub fn trim_when(text: &str) -> Result<TrimWhen, String> {
    let expected = || {
        format!(
            "expected weekly, daily, online, never, swallowed, \"Sun 06:47\", \"03:00\" or \
             \"every 3 days\", found {text:?}"
        )
    };
    let lower = text.trim().to_ascii_lowercase();
    match lower.as_str() {
        "weekly" => return Ok(TrimWhen::WEEKLY),
        "daily" => return Ok(TrimWhen::DAILY),
        "online" | "discard" => return Ok(TrimWhen::ONLINE),
        "never" => return Ok(TrimWhen::NEVER),
        "swallowed" => return Ok(TrimWhen::WEEKLY.swallowed()),
        _ => {}
    }
    if let Some(rest) = lower.strip_prefix("every ") {
        let number = rest
            .trim_end_matches('s')
            .strip_suffix("day")
            .ok_or_else(expected)?
            .trim();
        return match number.parse() {
            Ok(days @ 1..=3660) => Ok(TrimWhen::every(days)),
            _ => Err(expected()),
        };
    }
    let (day, time) = match lower.split_once(' ') {
        Some((day, time)) => (Some(day), time.trim()),
        None if lower.contains(':') => (None, lower.as_str()),
        None => (Some(lower.as_str()), "06:00"),
    };
    let hour = hour(time).ok_or_else(expected)?;
    let mut schedule = Schedule::every(1, hour);
    if let Some(day) = day {
        let known = |name: &&str| {
            let name = name.to_ascii_lowercase();
            // `sun`, `sunday`: a beginning of at least three letters.
            day.len() >= 3 && full_day(&name).starts_with(day)
        };
        let index = DAYS.iter().position(known).ok_or_else(expected)?;
        schedule.every_days = 7;
        schedule.first_day = u32::try_from(index).map_err(|_| expected())?;
    }
    Ok(TrimWhen {
        trims: Trims::Periodic(schedule),
        reach: Reach::Heard,
    })
}

/// `sun` to `sunday`.
fn full_day(name: &str) -> String {
    let rest = match name {
        "tue" => "s",
        "wed" => "nes",
        "thu" => "rs",
        "sat" => "ur",
        _ => "",
    };
    format!("{name}{rest}day")
}

/// The hour of `06:47`.
fn hour(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, below: u32| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let value: u32 = text.parse().ok()?;
        (digits && value < below).then_some(value)
    };
    number(minutes, 60)?;
    number(hours, 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mixes() {
        let found = mix("lucene@80,circular-log@20/5").unwrap();
        assert_eq!(found.to_string(), "lucene@80/95,circular-log@20/5");
        assert_eq!(found.single_pattern(), None);
        let found = mix("hot-cold:20/80@70,log@30").unwrap();
        assert_eq!(found.parts.len(), 2);
        assert!(matches!(
            found.parts[0].what,
            What::Pages(Pattern::HotCold { .. })
        ));
        for text in [
            "lucene@",
            "lucene@0",
            "lucene@10/0",
            "lucene@x",
            "lucene,",
            "lucene@10/",
        ] {
            assert!(mix(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_come_to_a_hundred() {
        for (text, expected) in [
            ("lucene,log", "lucene@50/50,log@50/50"),
            ("lucene@80,log@20", "lucene@80/80,log@20/20"),
            (
                "lucene@60,lsm@20,log@20/5",
                "lucene@60/71.25,lsm@20/23.75,log@20/5",
            ),
            (
                "lucene@33,lsm@33,log@33",
                "lucene@33/33.333333,lsm@33/33.333333,log@33/33.333333",
            ),
            ("lucene@75/90,log@25/10", "lucene@75/90,log@25/10"),
            ("uniform@80/98%,log@20%/2", "uniform@80/98,log@20/2"),
            ("lucene@100", "lucene"),
        ] {
            assert_eq!(mix(text).unwrap().to_string(), expected);
        }
        for (text, named) in [
            (
                "lucene@80,log@30",
                "of the writes to come to 100 %, found 110 %",
            ),
            (
                "lucene@80,log",
                "of the writes to come to 100 %, found 80 %",
            ),
            ("lucene@100,log", "each of the workloads"),
            ("lucene@50", "found 50 %"),
            (
                "lucene@80/90,log@20/20",
                "of the data, behind the slash, to come to 100 %, found 110 %",
            ),
            ("lucene@80/90,log@20/5", "found 95 %"),
            ("lucene@80/100,log@20", "leave some of 100 %, found 100 %"),
        ] {
            let error = mix(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn stores_stand_for_mixes() {
        for (name, _) in STORES {
            let found = mix(name).unwrap();
            assert_eq!(found.to_string(), name);
            assert_eq!(found.parts.len(), 2);
        }
    }

    #[test]
    fn trim_schedules() {
        let schedule = |text: &str| match trim_when(text).unwrap().trims {
            Trims::Periodic(schedule) => (schedule.every_days, schedule.first_day, schedule.hour),
            other => panic!("{other:?}"),
        };
        assert_eq!(schedule("weekly"), (7, 6, 6));
        assert_eq!(schedule("Sun 06:47"), (7, 6, 6));
        assert_eq!(schedule("tuesday 3:05"), (7, 1, 3));
        assert_eq!(schedule("thurs 23:59"), (7, 3, 23));
        assert_eq!(schedule("Mon"), (7, 0, 6));
        assert_eq!(schedule("03:00"), (1, 0, 3));
        assert_eq!(schedule("every 3 days").0, 3);
        assert_eq!(schedule("every 1 day").0, 1);
        assert_eq!(trim_when("online").unwrap().trims, Trims::Online);
        assert_eq!(trim_when("swallowed").unwrap().reach, Reach::Swallowed);
        for text in [
            "",
            "monthly",
            "24:00",
            "Sun 6",
            "Sunnday 06:00",
            "su 06:00",
            "every 0 days",
            "every day or so",
            "06:60",
        ] {
            assert!(
                trim_when(text).unwrap_err().starts_with("expected"),
                "{text}"
            );
        }
        assert_eq!(
            trim_when("every 3 days").unwrap().to_string(),
            "every 3 days"
        );
        assert_eq!(
            trim_when("swallowed").unwrap().to_string(),
            "weekly, which no drive hears"
        );
    }

    #[test]
    fn patterns_are_read_as_they_are_written() {
        for text in ["uniform", "sequential", "zipf:0.9", "hot-cold:20/80"] {
            let found = mix(text).unwrap();
            assert!(found.single_pattern().is_some());
            assert_eq!(found.to_string(), text);
        }
        for text in [
            "zipf",
            "zipf:-1",
            "zipf:x",
            "hot-cold",
            "hot-cold:20",
            "hot-cold:0/80",
            "uniform:3",
            "random",
            "",
        ] {
            assert!(mix(text).unwrap_err().starts_with("expected"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*|[a-z]{0,8}[:@ /,0-9.%]{0,12}") {
            let _ = (mix(&text), trim_when(&text));
        }
    }
}
