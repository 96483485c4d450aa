//! Phrases shared by the pages about drives.

use units::{number, percent};

/// Relative excess of the built over the requested spare area that is not mentioned.
const SPARE_EXCESS: f64 = 0.01;

/// Describes a spare area: `7 % spare`, `7.5 % spare (7 % asked: whole blocks)`.
pub fn spare(asked: f64, built: f64) -> String {
    if is_as_asked(asked, built) {
        return format!("{} spare", share(asked));
    }
    format!(
        "{} spare ({} asked: whole blocks)",
        share(built),
        share(asked)
    )
}

/// Returns whether the built spare area is close enough to the requested one.
pub fn is_as_asked(asked: f64, built: f64) -> bool {
    (built / asked - 1.0).abs() <= SPARE_EXCESS
}

/// Formats a share like [`percent`], but values below a tenth of a percent are not rounded to 0.
fn share(share: f64) -> String {
    if share < 0.001 {
        format!("{} %", number(share * 100.0))
    } else {
        percent(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_area_rounded_to_whole_blocks_is_mentioned() {
        assert_eq!(spare(0.07, 0.0705), "7 % spare");
        assert_eq!(spare(0.07, 0.075), "7.5 % spare (7 % asked: whole blocks)");
        assert_eq!(
            spare(0.0001, 0.00015),
            "0.015 % spare (0.01 % asked: whole blocks)"
        );
    }
}
