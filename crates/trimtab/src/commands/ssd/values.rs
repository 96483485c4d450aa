//! Shares, policies and patterns as people write them.

use crate::values;
use flash::calibrate::HostWrites;
use flash::ftl::{Collection, PowerOn};
use flash::scenario::History;
use flash::theory::Start;
use flash::time::Timing;
use flash::trace::Format;
use flash::workload::rhythm::Rhythm;

/// Drive writes above this are a mistake.
pub const PASSES_MAX: f64 = 1e6;

/// A share above this without a percent sign is most likely meant in percent.
const PLAIN_SHARE_MAX: f64 = 3.0;

/// A number of zero or more: `7%`, `7 %`, `0.07`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn share(text: &str) -> Result<f64, String> {
    let expected = || format!("expected a share such as 7% or 0.07, found {text:?}");
    let trimmed = text.trim();
    let (number, percent) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (trimmed, false),
    };
    // "inf", "nan" and "1e3" are numbers to Rust, and no shares to people.
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(expected());
    }
    let value: f64 = number.parse().map_err(|_| expected())?;
    if !percent && value > PLAIN_SHARE_MAX {
        return Err(format!(
            "expected a share such as 7% or 0.07, found {text:?}: {value} % is written {value}%"
        ));
    }
    Ok(if percent { value / 100.0 } else { value })
}

/// A share of 0 to 1.
///
/// # Errors
/// As [`share`].
pub fn part(text: &str) -> Result<f64, String> {
    let value = share(text)?;
    if value > 1.0 {
        return Err(format!("expected a share of 0 to 100%, found {text:?}"));
    }
    Ok(value)
}

/// Spare area: above 0, to 1000 %.
///
/// # Errors
/// As [`share`].
pub fn over_provisioning(text: &str) -> Result<f64, String> {
    let value = share(text)?;
    if value <= 0.0 || value > 10.0 {
        return Err(format!(
            "expected spare area above 0 and up to 1000%, found {text:?}"
        ));
    }
    Ok(value)
}

/// A share of requests that trim: 0 to 0.49.
///
/// # Errors
/// As [`share`].
pub fn trim_share(text: &str) -> Result<f64, String> {
    let value = share(text)?;
    if value > 0.49 {
        return Err(format!(
            "expected a share of 0 to 0.49, found {text:?}: from a half on, nothing stays in use"
        ));
    }
    Ok(value)
}

/// A number of pages: `1048576`, `1_048_576`, `1M` and `64K` (powers of 1024).
///
/// # Errors
/// A sentence that says what was expected.
pub fn pages(text: &str) -> Result<u64, String> {
    let plain = text.trim().replace(['_', ','], "");
    let is_number = plain
        .trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G'])
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b'.');
    // Read as a size in bytes, of which letters are powers of 1024.
    let unit = if plain.ends_with(|c: char| c.is_ascii_digit()) {
        "B"
    } else {
        ""
    };
    is_number
        .then(|| values::size(&format!("{plain}{unit}")).ok())
        .flatten()
        .ok_or_else(|| format!("expected a number of pages such as 1000000 or 16M, found {text:?}"))
}

/// Pages of a block: what the counts of valid pages can hold.
const PAGES_PER_BLOCK: std::ops::RangeInclusive<u64> = 1..=65_535;

/// Pages of a block: `256`, `16K`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn pages_per_block(text: &str) -> Result<u32, String> {
    let pages = pages(text).ok();
    pages
        .filter(|pages| PAGES_PER_BLOCK.contains(pages))
        .and_then(|pages| u32::try_from(pages).ok())
        .ok_or_else(|| format!("expected 1 to 65535 pages such as 256 or 16K, found {text:?}"))
}

/// A whole number of `LOW` to `HIGH`: days, drives, hours.
///
/// # Errors
/// A sentence that says what was expected.
pub fn whole<const LOW: u32, const HIGH: u32>(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|number| (LOW..=HIGH).contains(number))
        .ok_or_else(|| format!("expected a whole number of {LOW} to {HIGH}, found {text:?}"))
}

/// A seed, or another number of 64 bits.
///
/// # Errors
/// A sentence that says what was expected.
pub fn number(text: &str) -> Result<u64, String> {
    let number = text.trim().parse();
    number.map_err(|_| {
        format!(
            "expected a whole number of 0 to {}, found {text:?}",
            u64::MAX
        )
    })
}

/// Bytes of a page: a sector at least, and no more than what a model counts by the page.
const PAGE_BYTES: std::ops::RangeInclusive<u64> = 512..=1 << 30;

/// Bytes of a page: `4KiB`, `16384B`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn page_bytes(text: &str) -> Result<u64, String> {
    let bytes = values::size(text).map_err(|error| error.to_string())?;
    if PAGE_BYTES.contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!(
            "expected pages of 512 bytes to 1 GiB, found {text:?}"
        ))
    }
}

/// A number of drive writes: above 0, at most a million.
///
/// # Errors
/// A sentence that says what was expected.
pub fn passes(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value <= PASSES_MAX => Ok(value),
        _ => Err(format!(
            "expected a number of drive writes above 0, at most 1000000, found {text:?}"
        )),
    }
}

/// As [`passes`], or 0.
///
/// # Errors
/// As [`passes`].
pub fn warm_up(text: &str) -> Result<f64, String> {
    if text.trim() == "0" {
        return Ok(0.0);
    }
    passes(text)
}

/// `greedy`, `fifo`, `d-choices:D`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn policy(text: &str) -> Result<Collection, String> {
    match text.trim().split_once(':') {
        None if text.trim() == "greedy" => Ok(Collection::Greedy),
        None if text.trim() == "fifo" => Ok(Collection::Fifo),
        Some(("d-choices", number)) => match number.parse() {
            Ok(choices @ 1..=1_000_000) => Ok(Collection::DChoices(choices)),
            _ => Err(format!(
                "expected d-choices:D with 1 to 1000000 choices, found {text:?}"
            )),
        },
        _ => Err(format!(
            "expected greedy, fifo or d-choices:D (d-choices:10), found {text:?}"
        )),
    }
}

/// The word that [`policy`] reads.
pub fn policy_word(collection: Collection) -> String {
    match collection {
        Collection::Greedy => "greedy".to_owned(),
        Collection::Fifo => "fifo".to_owned(),
        Collection::DChoices(choices) => format!("d-choices:{choices}"),
    }
}

/// `empty`, `filled`, `aged:P`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn power_on(text: &str) -> Result<PowerOn, String> {
    match text.trim().split_once(':') {
        None if text.trim() == "empty" => Ok(PowerOn::Empty),
        None if text.trim() == "filled" => Ok(PowerOn::Filled),
        Some(("aged", number)) => match number.parse() {
            Ok(passes @ 1..=1000) => Ok(PowerOn::Aged { passes }),
            _ => Err(format!(
                "expected aged:P with 1 to 1000 overwrites of the drive, found {text:?}"
            )),
        },
        _ => Err(format!(
            "expected empty, filled or aged:P (aged:3), found {text:?}"
        )),
    }
}

/// A fill level: above 0, below 100 %.
///
/// # Errors
/// As [`share`].
pub fn fill(text: &str) -> Result<f64, String> {
    let value = share(text)?;
    if value <= 0.0 || value >= 1.0 {
        return Err(format!(
            "expected a share above 0 and below 100%, found {text:?}"
        ));
    }
    Ok(value)
}

/// `steady`, `daily:14/20%`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn rhythm(text: &str) -> Result<Rhythm, String> {
    let expected = || format!("expected steady or daily:HOUR/SHARE (daily:14/20%), found {text:?}");
    match text.trim().split_once(':') {
        None if text.trim() == "steady" => Ok(Rhythm::STEADY),
        Some(("daily", rest)) => {
            let (peak, trough) = rest.split_once('/').ok_or_else(expected)?;
            let peak = peak.parse().map_err(|_| expected())?;
            Rhythm::daily(peak, part(trough)?).map_err(|error| error.to_string())
        }
        _ => Err(expected()),
    }
}

/// Reads by write: 0 to 1000.
///
/// # Errors
/// A sentence that says what was expected.
pub fn reads(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if (0.0..=1000.0).contains(&value) => Ok(value),
        _ => Err(format!(
            "expected bytes read by byte written, 0 to 1000, found {text:?}"
        )),
    }
}

/// `new`, `used:P`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn history(text: &str) -> Result<History, String> {
    match text.trim().split_once(':') {
        None if text.trim() == "new" => Ok(History::Discarded),
        Some(("used", number)) => match number.parse() {
            Ok(passes @ 1..=100) => Ok(History::Used { passes }),
            _ => Err(format!(
                "expected used:P with 1 to 100 overwrites of the drive, found {text:?}"
            )),
        },
        _ => Err(format!("expected new or used:P (used:2), found {text:?}")),
    }
}

/// The name of a preset.
///
/// # Errors
/// A sentence that lists them.
pub fn preset(text: &str) -> Result<String, String> {
    let name = text.trim().to_ascii_lowercase();
    if Timing::preset(&name).is_some() {
        return Ok(name);
    }
    let known: Vec<&str> = Timing::PRESETS.iter().map(|(name, _, _)| *name).collect();
    Err(format!(
        "expected one of {}, found {text:?}",
        known.join(", ")
    ))
}

/// A trace format.
///
/// # Errors
/// A sentence that lists them.
pub fn trace_format(text: &str) -> Result<Format, String> {
    text.trim()
        .parse()
        .map_err(|error: flash::trace::UnknownFormat| error.to_string())
}

/// Seconds: above 0.
///
/// # Errors
/// A sentence that says what was expected.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('s').parse::<f64>() {
        Ok(value) if (1e-6..=1e9).contains(&value) => Ok(value),
        _ => Err(format!("expected seconds above 0, found {text:?}")),
    }
}

/// Bytes that the host wrote a second.
///
/// # Errors
/// A sentence that says what was expected.
pub fn written_per_second(text: &str) -> Result<HostWrites, String> {
    let size = text.trim().trim_end_matches("/s");
    let bytes = values::size(size).map_err(|error| error.to_string())?;
    #[allow(clippy::cast_precision_loss)] // a rate
    let rate = bytes as f64;
    Ok(HostWrites::Rate(rate))
}

/// `filled:100%`, `trimmed:62%`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn start(text: &str) -> Result<Start, String> {
    match text.trim().split_once(':') {
        Some(("filled", share)) => Ok(Start::Filled {
            mapped_share: part(share)?,
        }),
        Some(("trimmed", share)) => Ok(Start::Trimmed {
            mapped_share: part(share)?,
        }),
        _ => Err(format!(
            "expected filled:SHARE or trimmed:SHARE (trimmed:62%), found {text:?}"
        )),
    }
}

/// A cost in pages: above 0.
///
/// # Errors
/// A sentence that says what was expected.
pub fn cost(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 100.0 => Ok(value),
        _ => Err(format!(
            "expected a cost in pages, above 0 and at most 100, found {text:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: Result<f64, String>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn shares() {
        close(share("7%"), 0.07);
        close(share(" 7 % "), 0.07);
        close(share("0.28"), 0.28);
        close(share("1.0"), 1.0);
        close(over_provisioning("150%"), 1.5);
        for text in [
            "", "%", "-7%", "7", "nan", "inf", "1e-2", "7%%", "0,07", "７%",
        ] {
            assert!(share(text).unwrap_err().starts_with("expected"), "{text}");
        }
        assert!(share("7").unwrap_err().contains("written 7%"));
        assert!(over_provisioning("0").is_err() && over_provisioning("2000%").is_err());
        assert!(trim_share("50%").unwrap_err().contains("nothing stays"));
        assert!(fill("100%").is_err() && fill("0").is_err());
    }

    #[test]
    fn numbers_of_pages() {
        assert_eq!(pages("1000000"), Ok(1_000_000));
        assert_eq!(pages("1_048_576"), Ok(1 << 20));
        assert_eq!(pages("16M"), Ok(16 << 20));
        for text in ["", "0", "-1", "16MB", "16MiB", "many", "1e6"] {
            assert!(
                pages(text).unwrap_err().contains("number of pages"),
                "{text}"
            );
        }
    }

    #[test]
    fn whole_numbers() {
        assert_eq!(pages_per_block("16K"), Ok(16_384));
        for text in ["0", "1M", "-1", "65536", "abc"] {
            let error = pages_per_block(text).unwrap_err();
            assert!(error.contains("1 to 65535"), "{error}");
        }
        assert_eq!(whole::<1, 168>("6"), Ok(6));
        for text in ["0", "0.0001", "169", "-3", "x"] {
            let error = whole::<1, 168>(text).unwrap_err();
            assert!(error.contains("of 1 to 168, found"), "{error}");
        }
        assert_eq!(number("7"), Ok(7));
        assert!(number("abc").unwrap_err().contains("found \"abc\""));
        assert!(number("-1").is_err());
    }

    #[test]
    fn policies_and_states() {
        for text in ["greedy", "fifo", "d-choices:10"] {
            assert_eq!(policy_word(policy(text).unwrap()), text);
        }
        for text in [
            "",
            "Greedy!",
            "d-choices",
            "d-choices:0",
            "d-choices:x",
            "lru",
        ] {
            assert!(policy(text).is_err(), "{text}");
        }
        assert_eq!(power_on("aged:3"), Ok(PowerOn::Aged { passes: 3 }));
        assert!(power_on("aged:0").is_err() && power_on("old").is_err());
        assert_eq!(history("used:2"), Ok(History::Used { passes: 2 }));
        assert!(history("used").is_err());
    }

    #[test]
    fn the_rest() {
        assert!(rhythm("daily:14/20%").is_ok() && rhythm("steady").is_ok());
        assert!(rhythm("daily:24/20%").is_err() && rhythm("weekly").is_err());
        assert_eq!(preset("TLC"), Ok("tlc".to_owned()));
        assert!(preset("plc").unwrap_err().contains("qlc"));
        assert_eq!(
            start("trimmed:62%"),
            Ok(Start::Trimmed { mapped_share: 0.62 })
        );
        assert!(start("trimmed:162%").is_err() && start("new").is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*|[a-z]{0,8}[:@ /,0-9.%]{0,12}") {
            let _ = (share(&text), pages(&text), policy(&text), power_on(&text));
            let _ = (rhythm(&text), history(&text), start(&text), seconds(&text));
            let _ = (reads(&text), cost(&text), passes(&text), warm_up(&text), preset(&text));
        }

        #[test]
        fn percent_and_plain_agree(percent in 0.0_f64..100.0) {
            let a = share(&format!("{percent:.4}%")).unwrap();
            let b = share(&format!("{:.6}", percent / 100.0)).unwrap();
            prop_assert!((a - b).abs() < 1e-6);
        }
    }
}
