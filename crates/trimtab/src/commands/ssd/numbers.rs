//! Numbers in words. Drives are sold by powers of ten, and so are bytes told here.

pub use report::{digits, percent};

/// Units of bytes, each a thousand of the one before.
const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];

/// `3.84 TB`, `960 GB`, `512 B`: at most three digits that count.
pub fn bytes(bytes: f64) -> String {
    let mut value = bytes.max(0.0);
    let mut unit = 0;
    // Just below the next unit, 999.7 would be shown as "1000".
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", digits(value), UNITS[unit])
}

/// A write amplification: `1.3`, `12`.
pub fn amplification(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// The same to two digits after the point, for tables.
pub fn fine(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

/// Microseconds as people say them: `340 us`, `1.2 ms`, `3.4 s`.
pub fn micros(us: f64) -> String {
    if us < 999.5 {
        format!("{us:.0} us")
    } else if us < 999_500.0 {
        format!("{} ms", digits(us / 1e3))
    } else {
        format!("{} s", digits(us / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_drives_are_sold() {
        for (value, text) in [
            (3.84e12, "3.84 TB"),
            (1.9e12, "1.9 TB"),
            (960e9, "960 GB"),
            (512.0, "512 B"),
            (999_700.0, "1 MB"),
            (0.0, "0 B"),
            (1e18, "1000 PB"),
        ] {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn amplifications_and_times() {
        assert_eq!(amplification(3.94), "3.9");
        assert_eq!(amplification(15.3), "15");
        assert_eq!(micros(340.4), "340 us");
        assert_eq!(micros(1234.0), "1.23 ms");
    }
}
