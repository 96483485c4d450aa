//! Words that answers about drives share.

use units::{number, percent};

/// Whole blocks may have so much more spare area than was asked without a word of it.
const SPARE_EXCESS: f64 = 0.01;

/// `7 % spare`, `7.5 % spare (7 % asked: whole blocks)`.
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

/// Whether whole blocks come close enough to the spare area that was asked for.
pub fn is_as_asked(asked: f64, built: f64) -> bool {
    (built / asked - 1.0).abs() <= SPARE_EXCESS
}

/// As [`percent`], and below a tenth of a percent not 0.
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
    fn what_whole_blocks_make_of_the_spare_is_said() {
        assert_eq!(spare(0.07, 0.0705), "7 % spare");
        assert_eq!(spare(0.07, 0.075), "7.5 % spare (7 % asked: whole blocks)");
        assert_eq!(
            spare(0.0001, 0.00015),
            "0.015 % spare (0.01 % asked: whole blocks)"
        );
    }
}
