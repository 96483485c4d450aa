//! Compares calendar events with the real `systemd-analyze calendar`: what it accepts, how it
//! normalizes it, and when the event occurs, in several time zones and around their clock changes.
//!
//! Skipped, with a message, if systemd-analyze is not installed. Expressions are generated from a
//! seed. `make test-schedules` compares 10,000 valid ones; `COUNT=` and `SEED=` override the number
//! and the seed. Expressions that systemd rejects come in addition and must be rejected here.
//!
//! Three behaviors of systemd 252 are outside the grammar of systemd.time(7). They are not
//! imitated; each has its own check here, and is counted:
//!
//! - **An open-ended repetition** (`3/9`) stands for "the value and all multiples of the
//!   repetition" added to it. systemd counts past the end of the unit (minute 66), lets the C
//!   library turn that into the next hour or day, and continues from there, so it omits occurrences
//!   at the start of the next unit, or loops and gives up. Everything it prints must be an
//!   occurrence here; what it omits is not compared.
//! - **A wall time skipped by a clock change** does not occur. If the C library moves it backward
//!   (winter time that counts as daylight saving), systemd drops the rest of the day, or of the
//!   month if midnight is skipped. Everything it prints must be an occurrence here, and the others
//!   must come after such a change.
//! - **Days from the end of the month** go up to 28. systemd mistakenly lowers that limit by 3 with
//!   each element of a list: `*~1,28` is rejected, `*~28` is not.
//!   element of a list, by mistake: `*~1,28` is refused, `*~28` is not.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use schedule::{Calendar, parse_zone};
use std::process::Command;

/// Northern and southern daylight saving time, including by half an hour (Lord Howe) and two hours
/// (Troll), offsets of half and three quarters of an hour, a skipped day (Apia), a change at
/// midnight (Sao Paulo, Beirut), winter time that counts as daylight saving (Dublin), a pause for
/// Ramadan (Casablanca), and no daylight saving time.
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

/// Occurrences requested per expression.
const ITERATIONS: usize = 6;
/// Expressions per call of the tool.
const BATCH_LEN: usize = 25;
/// Number of valid expressions in a plain `cargo test`.
const COUNT_QUICK: usize = 500;
/// Default number of valid expressions in `make test-schedules`.
const COUNT: usize = 10_000;

/// The tool's output for one expression.
#[derive(Debug, PartialEq)]
enum Answer {
    Refused,
    /// It went in a circle after some occurrences, and then prints none of them.
    GaveUp,
    Accepted {
        normalised: String,
        /// Seconds since the epoch; fewer than requested if the event ends.
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
    let (mut accepted, mut moments, mut refused, mut gave_up, mut beyond) = (0, 0, 0, 0, 0);
    let zones = Zones::open();
    for zone_name in ZONES.iter().cycle() {
        if accepted >= count {
            break;
        }
        let zone = zones.get(zone_name);
        let (base_s, texts) = draw(&mut runner, &zone);
        let answers = ask(zone_name, base_s, &texts);
        for (text, answer) in texts.iter().zip(answers) {
            beyond += usize::from(compare(text, zone_name, &zone, base_s, &answer));
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
         that are refused and on {gave_up} that it gives up on; {beyond} differ beyond the grammar",
        ZONES.len()
    );
    assert!(
        beyond * 20 < accepted,
        "nearly all expressions are compared in full"
    );
    // The comparison is meaningless if the generator produced mostly invalid expressions.
    assert!(moments > accepted && accepted > refused && refused > 0);
}

/// The zones known to systemd-analyze, which may be older or newer than the compiled-in ones: this
/// test compares calendar rules, not zone data.
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

/// Compares the answers; returns true if they differ only in behavior outside the grammar.
fn compare(
    text: &str,
    host_zone_name: &str,
    host_zone: &TimeZone,
    base_s: i64,
    theirs: &Answer,
) -> bool {
    let context = format!("`{text}` in {host_zone_name} after @{base_s}");
    let ours = Calendar::parse("test", text);
    let Answer::Accepted {
        normalised,
        moments_s,
    } = theirs
    else {
        return match (ours, theirs) {
            (Err(_), Answer::Refused) => false,
            (Ok(calendar), Answer::Refused) => {
                assert!(
                    is_beyond_lowered_limit(&calendar),
                    "{context}: systemd refuses it, we read {calendar}"
                );
                true
            }
            (Err(error), _) => panic!("{context}: systemd reads it: {error}"),
            (Ok(calendar), _) => {
                let moments = moments_after(&calendar, host_zone, base_s);
                let differs = moments.len() == ITERATIONS;
                assert!(
                    !differs || has_open_repetition(&calendar),
                    "{context}: systemd gives up, ours {moments:?}"
                );
                differs
            }
        };
    };
    let calendar =
        ours.unwrap_or_else(|error| panic!("{context}: systemd reads {normalised}: {error}"));
    assert_eq!(&calendar.to_string(), normalised, "{context}");
    let ours_s: Vec<i64> = moments_after(&calendar, host_zone, base_s)
        .into_iter()
        .map(Timestamp::as_second)
        .collect();
    if ours_s == *moments_s {
        return false;
    }
    let context = format!("{context}: {normalised}, ours {ours_s:?}, systemd's {moments_s:?}");
    for moment_s in moments_s {
        let before = Timestamp::from_microsecond(moment_s * 1_000_000 - 1).expect("in range");
        let next = calendar.next_after(before, host_zone);
        assert_eq!(next.map(Timestamp::as_second), Some(*moment_s), "{context}");
    }
    let left_out = ours_s.iter().filter(|at_s| !moments_s.contains(at_s));
    let zone = calendar.zone().unwrap_or(host_zone);
    for at_s in left_out {
        assert!(
            has_open_repetition(&calendar) || is_after_gap(*at_s, zone),
            "{context}: {at_s} is ours alone"
        );
    }
    true
}

/// Whether a list has an open-ended repetition, such as `3/9`. Seconds `*` are `0/1` in systemd.
fn has_open_repetition(calendar: &Calendar) -> bool {
    let text = calendar.to_string();
    let date_and_time = text.trim_start_matches(char::is_alphabetic);
    let elements = date_and_time.split([' ', ',', '-', '~', ':']);
    text.ends_with(":*")
        || elements
            .filter(|element| element.starts_with(|c: char| c.is_ascii_digit()))
            .any(|element| element.contains('/') && !element.contains(".."))
}

/// Whether an element in a list of days from the end is above the limit that systemd lowers by 3
/// with each preceding element.
fn is_beyond_lowered_limit(calendar: &Calendar) -> bool {
    let text = calendar.to_string();
    let Some((_, days)) = text.split_once('~') else {
        return false;
    };
    let days = days.split(' ').next().unwrap_or_default();
    (0..).zip(days.split(',')).any(|(index, element)| {
        element
            .split(['.', '/'])
            .filter_map(|number| number.parse::<i64>().ok())
            .any(|number| number > 28 - 3 * index)
    })
}

/// Whether the clock was set forward in the previous month, and not for daylight saving time.
fn is_after_gap(at_s: i64, zone: &TimeZone) -> bool {
    const MONTH_S: i64 = 31 * 86_400;
    let at = Timestamp::from_second(at_s).expect("in range");
    zone.preceding(at)
        .take_while(|change| at_s - change.timestamp().as_second() < MONTH_S)
        .any(|change| {
            let before = Timestamp::from_second(change.timestamp().as_second() - 1);
            let before = zone.to_offset_info(before.expect("in range"));
            let saves = !before.dst().is_dst() && change.dst().is_dst();
            before.offset() < change.offset() && !saves
        })
}

fn moments_after(calendar: &Calendar, zone: &TimeZone, base_s: i64) -> Vec<Timestamp> {
    let base = Timestamp::from_second(base_s).expect("in range");
    std::iter::successors(calendar.next_after(base, zone), |at| {
        calendar.next_after(*at, zone)
    })
    .take(ITERATIONS)
    .collect()
}

/// Runs the tool on a batch of expressions.
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

/// Parses `Sat 2024-03-30 01:30:00 UTC`, which has its own line in other zones.
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
            // systemd trims whitespace around a value before parsing it.
            .prop_map(|text| text.trim().to_owned()),
        1 => (0i64..4_000_000_000).prop_map(|second| format!("@{second}")),
    ]
}

/// Generates mostly valid expressions that cover the whole grammar.
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

/// Generates values, ranges and repetitions within bounds, occasionally an invalid one.
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
