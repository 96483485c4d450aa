//! Numbers in words. Drives are sold by powers of ten, and so are bytes told here.

pub use report::digits;

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
}
