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
    /// The number of shares of the spare area differs from the number of classes.
    #[error("{found} shares of the spare area for {expected} classes")]
    Spare {
        /// Number of shares given.
        found: usize,
        /// Number of classes.
        expected: usize,
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

/// Write amplification with each class in its own blocks, collected separately, with
/// `share_of_spare[i]` of the spare area: `sum r_i A(1 + OP share_i / f_i)` (Desnoyers 2014, like
/// [`mixed_fifo`]). `uniform` is the write amplification of a single class by over-provisioning,
/// such as [`super::greedy`].
///
/// # Errors
/// [`SkewError`] if shares are out of bounds or do not add up to 1.
pub fn separated(
    over_provisioning: f64,
    classes: &[Class],
    share_of_spare: &[f64],
    uniform: impl Fn(f64) -> f64,
) -> Result<f64, SkewError> {
    check(classes)?;
    if share_of_spare.len() != classes.len() {
        return Err(SkewError::Spare {
            found: share_of_spare.len(),
            expected: classes.len(),
        });
    }
    for (class, &found) in share_of_spare.iter().enumerate() {
        share(class, "share of the spare area", found)?;
    }
    sum("the spare area", share_of_spare.iter().sum())?;
    Ok(classes
        .iter()
        .zip(share_of_spare)
        // A class that is never written costs nothing, even without spare area.
        .filter(|(class, _)| class.share_of_writes > 0.0)
        .map(|(class, spare)| {
            class.share_of_writes * uniform(over_provisioning * spare / class.share_of_pages)
        })
        .sum())
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
    use super::super::{fifo, greedy};
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
        for (share, mixed, apart) in [(0.2, 3.035, 1.966), (0.1, 3.533, 1.464)] {
            let found = mixed_fifo(0.25, &hot(share))?;
            assert!((found - mixed).abs() < 0.001, "mixed {share}: {found}");
            let found = separated(0.25, &hot(share), &[0.5, 0.5], |op| greedy(op, 128))?;
            assert!((found - apart).abs() < 0.001, "separated {share}: {found}");
        }
        Ok(())
    }

    #[test]
    fn equal_classes_are_uniform() -> Result<(), SkewError> {
        let halves = hot(0.5);
        for op in [0.07, 0.5] {
            assert!((mixed_fifo(op, &halves)? - fifo(op)).abs() < 1e-9);
            assert!((separated(op, &halves, &[0.5, 0.5], fifo)? - fifo(op)).abs() < 1e-9);
        }
        Ok(())
    }

    /// Cold pages that are never written: mixed, they are moved around forever; separated, they
    /// cost nothing, and the other class has all of the spare area.
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
        assert!((separated(0.25, &classes, &[1.0, 0.0], fifo)? - fifo(0.5)).abs() < 1e-12);
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
        assert!(separated(0.1, &hot(0.2), &[1.0], fifo).is_err());
        assert!(separated(0.1, &hot(0.2), &[0.9, 0.9], fifo).is_err());
        assert!(mixed_fifo(f64::NAN, &hot(0.2)).is_ok_and(f64::is_nan));
    }
}
