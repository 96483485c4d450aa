//! Device numbers as formatted in sysfs, mountinfo and device-mapper tables.

use facts::host::DeviceNumber;

/// Parses decimal `MAJOR:MINOR`; `None` for anything else, including signs.
pub fn parse(text: &str) -> Option<DeviceNumber> {
    let digits = |part: &str| {
        let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| part.parse::<u32>().ok()).flatten()
    };
    let (major, minor) = text.split_once(':')?;
    Some(DeviceNumber {
        major: digits(major)?,
        minor: digits(minor)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_are_two_decimal_numbers() {
        let number = DeviceNumber {
            major: 259,
            minor: 4_294_967_295,
        };
        assert_eq!(parse("259:4294967295"), Some(number));
        for other in ["", "9", "9:", ":9", "+9:0", "9:0:1", "9:0 ", "4294967296:0"] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }
}
