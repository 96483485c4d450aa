use serde::{Deserialize, Serialize};

/// The three thresholds of the disk decider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatermarkLevel {
    /// No further shard copies are allocated to a node above it.
    Low,
    /// Shard copies are moved off a node above it.
    High,
    /// Indices with a copy on a node above it are made read-only.
    FloodStage,
}

impl WatermarkLevel {
    /// Returns the key of its setting.
    pub fn key(self) -> &'static str {
        match self {
            Self::Low => "cluster.routing.allocation.disk.watermark.low",
            Self::High => "cluster.routing.allocation.disk.watermark.high",
            Self::FloodStage => "cluster.routing.allocation.disk.watermark.flood_stage",
        }
    }

    /// Returns the default in all versions since 6.8.
    pub fn default_used_percent(self) -> f64 {
        match self {
            Self::Low => 85.0,
            Self::High => 90.0,
            Self::FloodStage => 95.0,
        }
    }
}

/// A disk watermark, in one of its two forms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watermark {
    /// Maximum share of the disk in use, in percent: `85%`, or the ratio `0.85`.
    UsedPercent(f64),
    /// Minimum free bytes: `500gb`.
    FreeBytes(u64),
}

impl Watermark {
    /// Parses a watermark setting; `None` if it has neither form.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().ok()?;
            return (0.0..=100.0)
                .contains(&percent)
                .then_some(Self::UsedPercent(percent));
        }
        if let Some(bytes) = parse_bytes(text) {
            return Some(Self::FreeBytes(bytes));
        }
        // RatioValue: a plain number from 0 to 1.
        let ratio: f64 = text.parse().ok()?;
        (0.0..=1.0)
            .contains(&ratio)
            .then_some(Self::UsedPercent(ratio * 100.0))
    }

    /// Returns how many bytes must stay free on a disk of this size.
    pub fn free_bytes_min(self, total_bytes: u64) -> u64 {
        match self {
            Self::FreeBytes(bytes) => bytes,
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss
            )]
            Self::UsedPercent(percent) => (total_bytes as f64 * (100.0 - percent) / 100.0) as u64,
        }
    }
}

/// Parses a size with a unit as the servers write it (`ByteSizeValue`): `500gb`, `1.5tb`, `10b`.
/// Units are powers of 1024.
fn parse_bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (number, shift) = [
        ("pb", 50),
        ("tb", 40),
        ("gb", 30),
        ("mb", 20),
        ("kb", 10),
        ("p", 50),
        ("t", 40),
        ("g", 30),
        ("m", 20),
        ("k", 10),
        ("b", 0),
    ]
    .into_iter()
    .find_map(|(unit, shift)| Some((lower.strip_suffix(unit)?, shift)))?;
    let number = number.trim();
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift);
    }
    let value: f64 = number.parse().ok()?;
    #[allow(clippy::cast_precision_loss)]
    let bytes = value * (1_u64 << shift) as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..1.8e19).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_parsed() {
        for (text, watermark) in [
            ("85%", Some(Watermark::UsedPercent(85.0))),
            ("87.5 %", Some(Watermark::UsedPercent(87.5))),
            ("0.75", Some(Watermark::UsedPercent(75.0))),
            ("500gb", Some(Watermark::FreeBytes(500 << 30))),
            ("1.5TB", Some(Watermark::FreeBytes(3 << 39))),
            ("100b", Some(Watermark::FreeBytes(100))),
            ("0b", Some(Watermark::FreeBytes(0))),
            ("85", None),
            ("101%", None),
            ("-1gb", None),
            ("nan%", None),
            ("infgb", None),
            ("99999999999999999pb", None),
            ("", None),
            ("%", None),
        ] {
            assert_eq!(Watermark::parse(text), watermark, "{text}");
        }
    }

    #[test]
    fn what_must_be_free_depends_on_the_size_or_not() {
        assert_eq!(Watermark::UsedPercent(90.0).free_bytes_min(1000), 100);
        assert_eq!(Watermark::FreeBytes(50).free_bytes_min(1000), 50);
        assert_eq!(Watermark::UsedPercent(100.0).free_bytes_min(1000), 0);
    }
}
