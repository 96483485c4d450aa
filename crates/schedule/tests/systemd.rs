//! Calendar events against the real `systemd-analyze calendar`: what it accepts, how it normalises
//! it, and when it says the event comes, over several time zones and around their clock changes.
//!
//! Skipped, with a line that says so, where systemd-analyze is not installed. Expressions are
//! generated from a seed. `make test-schedules` compares 10,000 valid ones, `COUNT=` as many as asked
//! for, `SEED=` others; those that systemd refuses come on top, and have to be refused here.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use schedule::{Calendar, parse_zone};
use std::process::Command;

/// Northern and southern daylight saving time, half an hour of it (Lord Howe), two hours (Troll),
/// offsets of half and three quarters of an hour, a day that was left out (Apia), a change at
/// midnight (Sao Paulo, Beirut), winter time that counts as the saving (Dublin), a pause for
/// Ramadan (Casablanca), and none of it.
const ZONES: [&str; 16] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Tokyo",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Antarctica/Troll",
    "America/St_Johns",
    "Australia/Adelaide",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Pacific/Chatham",
    "Asia/Beirut",
    "Europe/Dublin",
    "Africa/Casablanca",
];

/// Moments asked for per expression.
const ITERATIONS: usize = 6;
/// Expressions per call of the tool.
const BATCH_LEN: usize = 25;
/// Valid expressions that `cargo test` has time for.
const COUNT_QUICK: usize = 500;
/// Valid expressions that it is compared on otherwise.
const COUNT: usize = 10_000;

/// What the tool says of one expression.
#[derive(Debug, PartialEq)]
enum Answer {
    Refused,
    /// It turned in a circle after some moments, and then prints none of them.
    GaveUp,
    Accepted {
        normalised: String,
        /// Seconds since the epoch; fewer than asked for where the event ends.
        moments_s: Vec<i64>,
    },
}

#[test]
fn systemd_agrees() {
    agree(COUNT_QUICK, 7);
}

/// `make test-schedules`
#[test]
#[ignore = "a minute of calls; make test-schedules"]
fn systemd_agrees_on_many() {
    let setting = |name: &str| {
        let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
        Some(
            text.parse::<u64>()
                .unwrap_or_else(|_| panic!("{name} is a number")),
        )
    };
    let count = setting("COUNT").map_or(COUNT, |n| usize::try_from(n).expect("a count"));
    agree(count, setting("SEED").unwrap_or(1));
}

fn agree(count: usize, seed: u64) {
    let version = Command::new("systemd-analyze").arg("--version").output();
    let Ok(version) = version else {
        println!("SKIPPED: systemd-analyze is not installed, calendar events were not compared");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout);
    println!(
        "seed {seed}: comparing with {}",
        version.lines().next().unwrap_or("an unknown version")
    );
    let mut seed_bytes = [7; 32];
    seed_bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &seed_bytes),
    );
    let (mut accepted, mut moments, mut refused, mut gave_up) = (0, 0, 0, 0);
    let zones = Zones::open();
    for zone_name in ZONES.iter().cycle() {
        if accepted >= count {
            break;
        }
        let zone = zones.get(zone_name);
        let (base_s, texts) = draw(&mut runner, &zone);
        let answers = ask(zone_name, base_s, &texts);
        for (text, answer) in texts.iter().zip(answers) {
            compare(text, zone_name, &zone, base_s, &answer);
            match answer {
                Answer::Refused => refused += 1,
                Answer::GaveUp => gave_up += 1,
                Answer::Accepted { moments_s, .. } => {
                    accepted += 1;
                    moments += moments_s.len();
                }
            }
        }
    }
    println!(
        "agreed on {accepted} expressions in {} zones with {moments} moments, besides on {refused} \
         that are refused and on {gave_up} that it gives up on",
        ZONES.len()
    );
    // The comparison means nothing when the generator drew nothing but nonsense.
    assert!(moments > accepted && accepted > refused && refused > 0);
}

/// The zones as systemd-analyze knows them, which may be older or newer than those compiled in: the
/// rules of calendars are compared here, not the decrees of governments.
struct Zones(TimeZoneDatabase);

impl Zones {
    fn open() -> Self {
        Self(
            TimeZoneDatabase::from_dir("/usr/share/zoneinfo")
                .unwrap_or_else(|_| TimeZoneDatabase::bundled()),
        )
    }

    fn get(&self, name: &str) -> TimeZone {
        let system = self.0.get(name);
        system.unwrap_or_else(|_| parse_zone(name).expect(name))
    }
}

fn draw(runner: &mut TestRunner, zone: &TimeZone) -> (i64, Vec<String>) {
    let base_s = (0..3, 946_684_800i64..2_400_000_000, -90_000i64..90_000)
        .new_tree(runner)
        .expect("drawn")
        .current();
    let texts = proptest::collection::vec(expression(), BATCH_LEN)
        .new_tree(runner)
        .expect("drawn")
        .current();
    let (near_change, base_s, shift_s) = base_s;
    let near = Timestamp::from_second(base_s).expect("in range");
    let base_s = match zone.following(near).next() {
        Some(change) if near_change > 0 => change.timestamp().as_second() + shift_s,
        _ => base_s,
    };
    (base_s, texts)
}

fn compare(text: &str, host_zone_name: &str, host_zone: &TimeZone, base_s: i64, theirs: &Answer) {
    let context = format!("`{text}` in {host_zone_name} after @{base_s}");
    let ours = Calendar::parse("test", text);
    if *theirs == Answer::GaveUp {
        let calendar = ours.unwrap_or_else(|error| panic!("{context}: systemd reads it: {error}"));
        let moments = moments_after(&calendar, host_zone, base_s);
        assert!(
            moments.len() < ITERATIONS,
            "{context}: systemd gives up, ours {moments:?}"
        );
        return;
    }
    let Answer::Accepted {
        normalised,
        moments_s,
    } = theirs
    else {
        assert!(
            ours.is_err(),
            "{context}: systemd refuses it, we read {ours:?}"
        );
        return;
    };
    let calendar =
        ours.unwrap_or_else(|error| panic!("{context}: systemd reads {normalised}: {error}"));
    assert_eq!(&calendar.to_string(), normalised, "{context}");
    let mut at = Timestamp::from_second(base_s).expect("in range");
    for index in 0..ITERATIONS {
        let next = calendar.next_after(at, host_zone);
        assert_eq!(
            next.map(Timestamp::as_second),
            moments_s.get(index).copied(),
            "{context}: moment {index} of {normalised}, ours {next:?}, systemd's {moments_s:?}"
        );
        let Some(next) = next else {
            break;
        };
        at = next;
    }
}

fn moments_after(calendar: &Calendar, zone: &TimeZone, base_s: i64) -> Vec<Timestamp> {
    let base = Timestamp::from_second(base_s).expect("in range");
    std::iter::successors(calendar.next_after(base, zone), |at| {
        calendar.next_after(*at, zone)
    })
    .take(ITERATIONS)
    .collect()
}

/// Runs the tool on a batch.
fn ask(zone_name: &str, base_s: i64, texts: &[String]) -> Vec<Answer> {
    let output = Command::new("systemd-analyze")
        .arg("calendar")
        .arg(format!("--iterations={ITERATIONS}"))
        .arg(format!("--base-time=@{base_s}"))
        .arg("--")
        .args(texts)
        .env("TZ", zone_name)
        .env("LC_ALL", "C")
        .env("COLUMNS", "1000")
        .env("NO_COLOR", "1")
        .output()
        .expect("systemd-analyze runs");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let mut blocks = stdout
        .split("\n\n")
        .filter(|block| !block.trim().is_empty());
    let answers = texts
        .iter()
        .map(|text| {
            if stderr.contains(&format!("Failed to parse calendar specification '{text}':")) {
                return Answer::Refused;
            }
            if stderr.contains(&format!("next elapse for '{text}'")) {
                return Answer::GaveUp;
            }
            let block = blocks
                .next()
                .unwrap_or_else(|| panic!("no answer for {text}: {stderr}"));
            read_block(block)
        })
        .collect();
    assert_eq!(blocks.next(), None, "an answer too many");
    answers
}

fn read_block(block: &str) -> Answer {
    let mut normalised = None;
    let mut moments_s = Vec::new();
    for line in block.lines() {
        let Some((label, value)) = line.trim_start().split_once(": ") else {
            continue;
        };
        match label {
            "Normalized form" => normalised = Some(value.to_owned()),
            "Next elapse" | "(in UTC)" => moments_s.extend(utc(value)),
            _ if label.starts_with("Iter. #") => moments_s.extend(utc(value)),
            _ => {}
        }
    }
    Answer::Accepted {
        normalised: normalised.unwrap_or_else(|| panic!("no normalised form in {block}")),
        moments_s,
    }
}

/// `Sat 2024-03-30 01:30:00 UTC`, which stands in a line of its own in other zones.
fn utc(value: &str) -> Option<i64> {
    let (_, stamp) = value.strip_suffix(" UTC")?.split_once(' ')?;
    let stamp: Timestamp = format!("{}Z", stamp.replace(' ', "T"))
        .parse()
        .expect("a time");
    Some(stamp.as_second())
}

fn expression() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => well_formed(),
        1 => select(vec![
            "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually",
            "yearly", "Annually", "anually", "bi-annually", "weekly UTC", "daily Asia/Tokyo",
        ]).prop_map(str::to_owned),
        2 => "[MTWFSaonuedri]{0,3}[-.,* ]{0,2}[-*/,.:~0-9]{1,8}[ :][-*/,.:~0-9]{1,8}"
            // Blanks around it are cut off before systemd reads a unit file's value.
            .prop_map(|text| text.trim().to_owned()),
        1 => (0i64..4_000_000_000).prop_map(|second| format!("@{second}")),
    ]
}

/// Mostly valid expressions, in every part of the grammar.
fn well_formed() -> impl Strategy<Value = String> {
    let weekday = select(vec![
        "",
        "",
        "",
        "",
        "Mon ",
        "Sun ",
        "Sat,Sun ",
        "Mon..Fri ",
        "Tue-Thu,Sat ",
        "friday ",
        "Wed, ",
        "Mon..Wednesday,Fri ",
        "Fri..Mon ",
    ]);
    let year = prop_oneof![
        8 => Just("*-".to_owned()),
        2 => Just(String::new()),
        2 => list(2020, 2040).prop_map(|text| text + "-"),
        1 => list(0, 99).prop_map(|text| text + "-"),
    ];
    let month = prop_oneof![3 => Just("*".to_owned()), 2 => list(1, 12)];
    let day = prop_oneof![
        3 => Just("-*".to_owned()),
        2 => list(1, 31).prop_map(|text| format!("-{text}")),
        1 => list(1, 28).prop_map(|text| format!("~{text}")),
    ];
    let date = prop_oneof![
        2 => Just(String::new()),
        3 => (year, month, day).prop_map(|(year, month, day)| format!("{year}{month}{day}")),
    ];
    let hour = prop_oneof![2 => Just("*".to_owned()), 2 => list(0, 23), 2 => list(0, 4)];
    let minute = prop_oneof![1 => Just("*".to_owned()), 3 => list(0, 59)];
    let second = prop_oneof![
        3 => Just(String::new()),
        1 => Just(":*".to_owned()),
        2 => list(0, 59).prop_map(|text| format!(":{text}")),
        1 => (0u32..60, 0u32..9_999_999, 0u32..20, 0u32..9_999)
            .prop_map(|(a, b, c, d)| format!(":{a}.{b}/{c}.{d}")),
        1 => (0u32..50, 0u32..999, 1u32..20, 1u32..9)
            .prop_map(|(a, b, more, d)| format!(":{a}.{b}..{}/{d}.5", a + more)),
    ];
    let time = prop_oneof![
        1 => Just(String::new()),
        5 => (hour, minute, second).prop_map(|(h, m, s)| format!("{h}:{m}{s}")),
    ];
    let zone = select(vec![
        "",
        "",
        "",
        "",
        "",
        "",
        " UTC",
        " utc",
        " Europe/Berlin",
        " America/Sao_Paulo",
        " Australia/Lord_Howe",
        " Antarctica/Troll",
        " Pacific/Apia",
    ]);
    (weekday, date, time, zone).prop_map(|(weekday, date, time, zone)| {
        let blank = if date.is_empty() || time.is_empty() {
            ""
        } else {
            " "
        };
        format!("{weekday}{date}{blank}{time}{zone}")
            .trim_start()
            .to_owned()
    })
}

/// Values, ranges and repetitions within bounds, now and then a wrong one.
fn list(low: u32, high: u32) -> impl Strategy<Value = String> {
    let element = prop_oneof![
        6 => (low..=high).prop_map(|value| value.to_string()),
        2 => (low..=high).prop_map(|value| format!("{value:02}")),
        3 => (low..=high, 0u32..12).prop_map(move |(from, more)| {
            format!("{from}..{}", (from + more).min(high))
        }),
        3 => (low..=high, 1u32..15).prop_map(|(from, step)| format!("{from}/{step}")),
        2 => (low..=high, 0u32..20, 1u32..8).prop_map(move |(from, more, step)| {
            format!("{from}..{}/{step}", (from + more).min(high))
        }),
    ];
    proptest::collection::vec(element, 1..4).prop_map(|elements| elements.join(","))
}
