//! Sizes and durations for people. The one place where numbers become words.

const BYTE_UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A size in binary units with at most one decimal, as `lsblk` prints it: `512 B`, `1.8 TiB`,
/// `2 GiB`. Rounded to the nearest tenth, halves up.
pub fn human_bytes(bytes: u64) -> String {
    let bytes = u128::from(bytes);
    let mut unit = 0;
    while unit + 1 < BYTE_UNITS.len() && tenths(bytes, unit) >= 10_240 {
        unit += 1;
    }
    let tenths = tenths(bytes, unit);
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if tenth == 0 {
        format!("{whole} {}", BYTE_UNITS[unit])
    } else {
        format!("{whole}.{tenth} {}", BYTE_UNITS[unit])
    }
}

/// Tenths of `1024^unit` in `bytes`, rounded.
fn tenths(bytes: u128, unit: usize) -> u128 {
    let size = 1_u128 << (10 * unit);
    (bytes * 10 + size / 2) / size
}

/// A duration in its two largest units: `45 s`, `12 min`, `3 h 20 min`, `5 days 2 h`. What is
/// smaller is cut, not rounded.
pub fn human_duration(seconds: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let two = |large: String, rest: u64, unit: &str| {
        if rest == 0 {
            large
        } else {
            format!("{large} {rest} {unit}")
        }
    };
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => two(format!("{} min", seconds / MINUTE), seconds % MINUTE, "s"),
        HOUR..DAY => two(
            format!("{} h", seconds / HOUR),
            seconds % HOUR / MINUTE,
            "min",
        ),
        _ => two(count(seconds / DAY, "day"), seconds % DAY / HOUR, "h"),
    }
}

/// Three digits that count, no zeros at the end: `3.84`, `62`, `0.071`.
pub fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value:.0}");
    }
    let magnitude = value.abs().log10().floor();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 12
    let decimals = (2.0 - magnitude).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// `7 %`, `62.5 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = if (percent - percent.round()).abs() < 0.05 {
        format!("{percent:.0}")
    } else {
        format!("{percent:.1}")
    };
    // A fall that rounds to nothing is none.
    format!("{} %", if text == "-0" { "0" } else { &text })
}

/// A number with a comma before each three digits: `999`, `25,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with its noun, which takes an `s` unless there is exactly one.
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_as_disks_people_read_them() {
        for (bytes, words) in [
            (0, "0 B"),
            (512, "512 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            // What an NVMe drive says it takes: 2 TiB less a sector.
            (2_199_023_255_040, "2 TiB"),
            // A "2 TB" drive.
            (2_000_398_934_016, "1.8 TiB"),
            // Just below the next unit: 1023.96 KiB is not "1024 KiB".
            (1_048_535, "1 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(human_bytes(bytes), words, "{bytes}");
        }
    }

    #[test]
    fn durations_in_two_units() {
        for (seconds, words) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (61, "1 min 1 s"),
            (12_000, "3 h 20 min"),
            (86_399, "23 h 59 min"),
            (86_400, "1 day"),
            (439_200, "5 days 2 h"),
        ] {
            assert_eq!(human_duration(seconds), words, "{seconds}");
        }
    }

    #[test]
    fn digits_that_count_and_shares() {
        assert_eq!(digits(0.0712), "0.0712");
        assert_eq!(digits(62.0), "62");
        assert_eq!(digits(1234.5), "1234");
        assert_eq!(percent(0.07), "7 %");
        assert_eq!(percent(0.625), "62.5 %");
        assert_eq!(percent(-0.0001), "0 %");
    }

    #[test]
    fn nouns_and_lists() {
        assert_eq!(count(1_usize, "error"), "1 error");
        assert_eq!(count(0_usize, "error"), "0 errors");
        assert_eq!(count(999_u64, "shard"), "999 shards");
        assert_eq!(count(1_234_567_u64, "shard"), "1,234,567 shards");
        let parts = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&parts), "a, b and c");
        assert_eq!(listed(&parts[..2]), "a and b");
    }

    proptest! {
        #[test]
        fn bytes_stay_within_a_tenth_of_their_unit(bytes: u64) {
            let words = human_bytes(bytes);
            let (number, unit) = words.split_once(' ').unwrap();
            let power = BYTE_UNITS.iter().position(|known| *known == unit).unwrap();
            let number: f64 = number.parse().unwrap();
            #[allow(clippy::cast_precision_loss)] // a tenth is far coarser than f64's 53 bits
            let exact = bytes as f64 / 1024_f64.powi(i32::try_from(power).unwrap());
            prop_assert!((number - exact).abs() <= 0.0501, "{bytes} became {words}");
            prop_assert!(number < 1024.0);
        }
    }
}
