//! Parses the refresh interval of an index: `index.refresh_interval`.

/// The meaning of a refresh interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    Off,
    /// Below one second.
    Hasty,
    /// 1s, the default.
    Default,
    Slow,
    Unknown,
}

impl Refresh {
    /// Parses an interval as written by the servers.
    pub(crate) fn of(value: &str) -> Self {
        let value = value.trim();
        if value.starts_with('-') {
            return Self::Off;
        }
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = value.split_at(digits);
        let ms_per_unit: u64 = match unit.trim() {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Self::Unknown,
        };
        match number.parse::<u64>() {
            Ok(number) => match number.saturating_mul(ms_per_unit) {
                0..1_000 => Self::Hasty,
                1_000 => Self::Default,
                _ => Self::Slow,
            },
            Err(_) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_parsed() {
        for (value, expected) in [
            ("-1", Refresh::Off),
            ("-1ms", Refresh::Off),
            ("0s", Refresh::Hasty),
            ("200ms", Refresh::Hasty),
            ("1s", Refresh::Default),
            ("1000ms", Refresh::Default),
            ("30s", Refresh::Slow),
            ("5m", Refresh::Slow),
            ("s", Refresh::Unknown),
            ("(other)", Refresh::Unknown),
            ("99999999999999999999d", Refresh::Unknown),
            ("18446744073709551615d", Refresh::Slow),
        ] {
            assert_eq!(Refresh::of(value), expected, "{value}");
        }
    }
}
