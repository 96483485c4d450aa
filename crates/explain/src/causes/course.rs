//! The courses that an event may take.

use crate::numbers::{as_f64, as_i64};

/// Lengths of an event that are tried differ by this part of the usual distance of samples, up to so many shorter and longer:
/// a pattern counts samples that an event fills in part as whole.
pub(crate) const PARTS: i64 = 3;
const SHORTER: i64 = 6;
const LONGER: i64 = 3;
/// An event ends at once, or its end is spread until this many times its length: runs differ.
const ENDS: [f64; 2] = [1.0, 1.8];
/// The lengths of events where each has its own, in lengths of the pattern: most differ by a tenth or two, which so many
/// samples show by one more or less.
const LENGTHS_SHORT: [f64; 4] = [0.1, 0.18, 0.32, 0.5];
const LENGTHS_NEAR: [f64; 8] = [0.6, 0.71, 0.8, 0.9, 1.0, 1.12, 1.26, 1.41];
const LENGTHS_LONG: [f64; 3] = [1.6, 2.0, 2.5];
const SAMPLES_MAX: f64 = 16.0;
const SAMPLES_MORE: i64 = 4;

/// The course of an event: all of its effect until `whole_us`, then less and less until `end_us`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Course {
    pub whole_us: f64,
    pub end_us: f64,
    /// The effect, relative to the size that a sample shows at most.
    pub scale: f64,
    /// How fast it fades: half the inverse of the time from `whole_us` to `end_us`, or 0 if it ends at once.
    fading: f64,
}

impl Course {
    /// Returns a course that is longer by some microseconds, or shorter. `None` if nothing would be left of it.
    pub fn longer(self, by_us: f64, gap_us: i64, shown_us: i64) -> Option<Self> {
        let whole_us = self.whole_us + by_us;
        (whole_us > as_f64(gap_us) / 20.0)
            .then(|| Self::new(whole_us, self.end_us / self.whole_us, shown_us))
    }

    /// An effect that is whole for some microseconds, and ends after `end` times as many.
    fn new(whole_us: f64, end: f64, shown_us: i64) -> Self {
        Self {
            whole_us,
            end_us: whole_us * end,
            scale: (as_f64(shown_us) / whole_us).max(1.0),
            fading: if end > 1.0 {
                0.5 / (whole_us * end - whole_us)
            } else {
                0.0
            },
        }
    }

    /// Returns for how long its whole effect would last.
    pub fn mean_us(self) -> i64 {
        as_i64(f64::midpoint(self.whole_us, self.end_us))
    }

    /// Returns the integral of the effect over the first `us` microseconds.
    pub fn until(self, us: f64) -> f64 {
        let whole = us.max(0.0).min(self.whole_us);
        let after = (us.min(self.end_us) - self.whole_us).max(0.0);
        (whole + after - after * after * self.fading) * self.scale
    }
}

/// The courses of an event of about this length, in samples that each show this much time.
pub(crate) fn courses(len_us: i64, gap_us: i64, shown_us: i64) -> Vec<Course> {
    let part_us = as_f64(gap_us) / as_f64(PARTS);
    let mut courses = Vec::new();
    for longer in -SHORTER..=LONGER {
        let whole_us = as_f64(len_us) + as_f64(longer) * part_us;
        if whole_us >= 0.5 * part_us {
            courses.extend(ENDS.map(|end| Course::new(whole_us, end, shown_us)));
        }
    }
    if len_us <= gap_us * 2 {
        // It may be much shorter than samples are apart.
        courses.push(Course::new(as_f64(gap_us) / 20.0, 1.0, shown_us));
    }
    courses
}

/// The lengths that events may have if each has its own.
pub(crate) fn lengths(len_us: i64, gap_us: i64, shown_us: i64) -> Vec<Course> {
    let (len, gap) = (as_f64(len_us), as_f64(gap_us));
    let samples = (len / gap).round();
    let near: Vec<f64> = if samples < SAMPLES_MAX {
        (-SAMPLES_MORE..=SAMPLES_MORE)
            .map(|more| (samples + as_f64(more) - 0.5) * gap)
            .filter(|whole_us| (LENGTHS_SHORT[3]..LENGTHS_LONG[0]).contains(&(whole_us / len)))
            .collect()
    } else {
        LENGTHS_NEAR.map(|length| length * len).to_vec()
    };
    let least_us = (gap / 4.0).min(len);
    let shorter = LENGTHS_SHORT
        .into_iter()
        .map(|length| length * len)
        .filter(|whole_us| *whole_us > least_us);
    let longer = LENGTHS_LONG.into_iter().map(|length| length * len);
    std::iter::once(least_us.max(LENGTHS_SHORT[0] * len))
        .chain(shorter.filter(|whole_us| *whole_us > LENGTHS_SHORT[0] * len))
        .chain(near)
        .chain(longer)
        .map(|whole_us| Course::new(whole_us, 1.0, shown_us))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_US: i64 = 60_000_000;

    #[test]
    fn an_effect_adds_up_to_its_length() {
        for end in ENDS {
            let course = Course::new(30e6, end, 10_000_000);
            let all = course.until(f64::INFINITY);
            assert!((all - as_f64(course.mean_us())).abs() < 1.0, "{all}");
            assert!(course.until(-1.0).abs() < f64::EPSILON);
            assert!((course.until(10e6) - 10e6).abs() < 1e-3);
            assert!((course.until(course.end_us) - all).abs() < 1e-3);
        }
        // What is shorter than samples are apart fills one of them by its size.
        let short = Course::new(6e6, 1.0, MINUTE_US);
        assert!((short.until(f64::INFINITY) - as_f64(MINUTE_US)).abs() < 1e-3);
    }

    #[test]
    fn courses_cover_lengths_around_that_of_the_pattern() {
        // A pattern of two samples may be an event of less than one.
        let (gap_us, len_us) = (15 * MINUTE_US, 30 * MINUTE_US);
        let tried = courses(len_us, gap_us, gap_us);
        let shortest = tried
            .iter()
            .map(|one| one.whole_us)
            .fold(f64::MAX, f64::min);
        let longest = tried.iter().map(|one| one.whole_us).fold(0.0, f64::max);
        assert!(shortest < as_f64(gap_us) / 10.0, "{shortest}");
        assert!((longest - as_f64(len_us + gap_us)).abs() < 1.0, "{longest}");
        let varying = lengths(len_us, gap_us, gap_us);
        assert!(varying.is_sorted_by(|a, b| a.whole_us < b.whole_us));
        assert!((varying[varying.len() - 1].whole_us / as_f64(len_us) - 2.5).abs() < 1e-6);
    }
}
