//! Skewed writes: some pages are written more often than others.

use thiserror::Error;

/// A class of pages that are written equally often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// Share of all logical pages: above 0, at most 1.
    pub share_of_pages: f64,
    /// Share of all host writes: 0 to 1.
    pub share_of_writes: f64,
}

/// Invalid classes of pages.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SkewError {
    /// A share out of bounds.
    #[error("class {class}: {what} is {found}, expected {expected}")]
    Share {
        /// Index of the class, from 0.
        class: usize,
        /// The quantity, such as `share of pages`.
        what: &'static str,
        /// The value given.
        found: f64,
        /// The allowed range, in words.
        expected: &'static str,
    },
    /// Shares that do not add up to 1.
    #[error("the shares of {what} add up to {found}, expected 1")]
    Sum {
        /// The quantity, such as `pages`.
        what: &'static str,
        /// The sum.
        found: f64,
    },
}

/// Write amplification of FIFO with the classes mixed in the same blocks (Desnoyers 2014, "Analytic
/// models of SSD write performance", ACM Transactions on Storage 10(2)): the `A` with
/// `A = sum r_i / (1 - exp(-(r_i / f_i) alpha / A))`, where `r` are shares of writes and `f` of
/// pages.
///
/// # Errors
/// [`SkewError`] if shares are out of bounds or do not add up to 1.
pub fn mixed_fifo(over_provisioning: f64, classes: &[Class]) -> Result<f64, SkewError> {
    check(classes)?;
    if over_provisioning <= 0.0 {
        return Ok(f64::INFINITY);
    }
    let alpha = 1.0 + over_provisioning;
    if alpha.is_nan() {
        return Ok(alpha);
    }
    if alpha.is_infinite() {
        return Ok(1.0);
    }
    // With x = alpha / A the equation is x sum r / (1 - exp(-(r/f) x)) = alpha. Its left side
    // increases from 1 at x = 0, and is at least alpha at x = alpha.
    let left = |x: f64| {
        let term = |class: &Class| {
            let rate = class.share_of_writes / class.share_of_pages;
            // A class that is never written is moved completely in each pass; x r / (1 - e^(-(r/f)
            // x)) has the limit f.
            if rate * x < 1e-12 {
                class.share_of_pages
            } else {
                -x * class.share_of_writes / (-rate * x).exp_m1()
            }
        };
        classes.iter().map(term).sum::<f64>()
    };
    let (mut low, mut high) = (0.0, alpha);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if left(middle) < alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(alpha / (0.5 * (low + high)))
}

fn check(classes: &[Class]) -> Result<(), SkewError> {
    for (index, class) in classes.iter().enumerate() {
        share(index, "share of pages", class.share_of_pages)?;
        share(index, "share of writes", class.share_of_writes)?;
        if class.share_of_pages <= 0.0 {
            return Err(SkewError::Share {
                class: index,
                what: "share of pages",
                found: class.share_of_pages,
                expected: "above 0",
            });
        }
    }
    sum("pages", classes.iter().map(|c| c.share_of_pages).sum())?;
    sum("writes", classes.iter().map(|c| c.share_of_writes).sum())
}

fn share(class: usize, what: &'static str, found: f64) -> Result<(), SkewError> {
    if (0.0..=1.0).contains(&found) {
        return Ok(());
    }
    Err(SkewError::Share {
        class,
        what,
        found,
        expected: "0 to 1",
    })
}

fn sum(what: &'static str, found: f64) -> Result<(), SkewError> {
    if (found - 1.0).abs() < 1e-9 {
        Ok(())
    } else {
        Err(SkewError::Sum { what, found })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fifo;
    use super::*;

    fn hot(share: f64) -> [Class; 2] {
        [
            Class {
                share_of_pages: share,
                share_of_writes: 1.0 - share,
            },
            Class {
                share_of_pages: 1.0 - share,
                share_of_writes: share,
            },
        ]
    }

    #[test]
    fn published_values() -> Result<(), SkewError> {
        for (share, mixed) in [(0.2, 3.035), (0.1, 3.533)] {
            let found = mixed_fifo(0.25, &hot(share))?;
            assert!((found - mixed).abs() < 0.001, "mixed {share}: {found}");
        }
        Ok(())
    }

    #[test]
    fn equal_classes_are_uniform() -> Result<(), SkewError> {
        let halves = hot(0.5);
        for op in [0.07, 0.5] {
            assert!((mixed_fifo(op, &halves)? - fifo(op)).abs() < 1e-9);
        }
        Ok(())
    }

    /// Cold pages that are never written are moved around forever.
    #[test]
    fn cold_pages_are_never_written() -> Result<(), SkewError> {
        let classes = [
            Class {
                share_of_pages: 0.5,
                share_of_writes: 1.0,
            },
            Class {
                share_of_pages: 0.5,
                share_of_writes: 0.0,
            },
        ];
        // A = 1/(1 - e^(-2x)) + f/x with x = alpha/A.
        let a = mixed_fifo(0.25, &classes)?;
        let x = 1.25 / a;
        assert!((1.0 / (1.0 - (-2.0 * x).exp()) + 0.5 / x - a).abs() < 1e-9);
        Ok(())
    }

    #[test]
    fn invalid_shares_are_rejected() {
        let mut classes = hot(0.2);
        classes[0].share_of_writes = 1.5;
        assert!(matches!(
            mixed_fifo(0.1, &classes),
            Err(SkewError::Share { class: 0, .. })
        ));
        classes[0].share_of_writes = 0.5;
        assert!(matches!(
            mixed_fifo(0.1, &classes),
            Err(SkewError::Sum { what: "writes", .. })
        ));
        assert!(mixed_fifo(0.1, &[]).is_err());
        assert!(mixed_fifo(f64::NAN, &hot(0.2)).is_ok_and(f64::is_nan));
    }
}
