//! Long events that are so large that no statistics are needed: at the same time of each day or week, values rise at once to
//! several times the level of all other times. In the noise that such events leave, each jump counts as one outlier, so that a wave
//! may seem as good.

use super::size::fit;
use crate::calendar::periods::DAY_US;
use crate::calendar::weekdays::Weekdays;
use crate::model::form::Form;
use crate::model::grid::{Grid, Variant};
use crate::model::pattern::{Clock, Pattern};
use crate::numbers::{as_count, as_f64, count_f64};
use crate::statistics::median;

/// Periods, with the number of bins that the finest grid may divide them in, and how many there are at least.
const PERIODS: [(i64, std::ops::RangeInclusive<usize>, usize); 2] =
    [(DAY_US, 24..=400, 8), (7 * DAY_US, 100..=1_400, 5)];
/// The share of periods that show the event.
const SHOWN_MIN: f64 = 0.7;
/// The event is at least this large, relative to the level, and lasts at most this share of the period.
const SIZE_MIN: f64 = 1.0;
const DUTY_MAX: f64 = 0.35;
/// Where it is: above this part of its size; elsewhere values differ by less than the other, but next to it, for a part of its
/// length: runs differ.
const HIGH: f64 = 0.5;
const ELSEWHERE: f64 = 0.25;
const BESIDE: f64 = 0.25;

/// Returns the daily or weekly event that is plain to see in the bins' means, if there is one, with the probability that periods
/// which have nothing to do with each other show it at the same time.
pub(super) fn clear_box(grids: &[Grid]) -> Option<(Pattern, f64)> {
    PERIODS
        .iter()
        .find_map(|(period_us, wanted, least)| of_period(grids, *period_us, wanted, *least))
}

fn of_period(
    grids: &[Grid],
    period_us: i64,
    wanted: &std::ops::RangeInclusive<usize>,
    least: usize,
) -> Option<(Pattern, f64)> {
    let bins = |grid: &Grid| as_count(as_f64(period_us) / as_f64(grid.width_us));
    let number = grids.iter().position(|grid| wanted.contains(&bins(grid)))?;
    let (grid, bins) = (&grids[number], bins(&grids[number]));
    let periods = Periods::new(grid, period_us, bins);
    let by_bin = periods.by_bin.iter();
    let profile: Vec<f64> = by_bin.map(|values| median(values.clone())).collect();
    if periods.all.len() < least {
        return None;
    }
    let level = median(profile.clone());
    let apart: Vec<f64> = profile.iter().map(|value| value - level).collect();
    let size = (apart.iter()).fold(0.0, |a, &b| if b.abs() > f64::abs(a) { b } else { a });
    if size.abs() < level.abs() * SIZE_MIN {
        return None;
    }
    let is_high = |bin: usize| apart[bin % bins] / size > HIGH;
    let mut begins = (0..bins).filter(|&bin| is_high(bin) && !is_high(bin + bins - 1));
    let (Some(begin), None) = (begins.next(), begins.next()) else {
        return None;
    };
    let len = (begin..begin + bins)
        .take_while(|&bin| is_high(bin))
        .count();
    let beside = as_count(count_f64(len) * BESIDE).max(1);
    let elsewhere = begin + len + beside..begin + bins - 1;
    let is_quiet = |bin: usize| (apart[bin % bins] / size).abs() < ELSEWHERE;
    let is_box =
        len >= 2 && count_f64(len) < count_f64(bins) * DUTY_MAX && elsewhere.clone().all(is_quiet);
    if !is_box {
        return None;
    }
    let shown = periods.shown(begin..begin + len, elsewhere, size)?;
    let first_us = as_f64(periods.first_us);
    let clock = Clock::Fixed {
        period_us: as_f64(period_us),
        origin_us: first_us + as_f64(period_us) * count_f64(begin) / count_f64(bins),
        days: Weekdays::ALL,
        zone: None,
    };
    let duty = count_f64(len) / count_f64(bins);
    let interval_us = (-grid.width_us, grid.width_us);
    let form = Form::Box { duty };
    let mut pattern = Pattern::unfitted(clock, form, number, Variant::Slow, interval_us);
    fit(&mut pattern, grid)?;
    let by_chance =
        (count_f64(len + beside) / count_f64(bins)).powf(count_f64(shown - 1)) * count_f64(bins);
    Some((pattern, by_chance.min(1.0)))
}

/// The means of bins, by period.
struct Periods {
    /// When the first one begins, in local time.
    first_us: i64,
    /// All values at each place of a period.
    by_bin: Vec<Vec<f64>>,
    /// Each period's places and values.
    all: Vec<Vec<(usize, f64)>>,
}

impl Periods {
    fn new(grid: &Grid, period_us: i64, bins: usize) -> Self {
        let first_us = grid.start_us + grid.index.first().copied().unwrap_or(0) * grid.width_us;
        let mut periods = Self {
            first_us,
            by_bin: vec![Vec::new(); bins],
            all: Vec::new(),
        };
        let mut last = None;
        for (&wall, &value) in grid.wall_us.iter().zip(&grid.means) {
            let since = wall - first_us;
            let part = as_f64(since.rem_euclid(period_us)) / as_f64(period_us);
            let at = as_count((part * count_f64(bins)).floor()).min(bins - 1);
            let one = since.div_euclid(period_us);
            if last != Some(one) {
                last = Some(one);
                periods.all.push(Vec::new());
            }
            periods.by_bin[at].push(value);
            if let Some(one) = periods.all.last_mut() {
                one.push((at, value));
            }
        }
        periods
    }

    /// The number of periods that show an event of about this size at these places. `None` if these are not most.
    fn shown(
        &self,
        event: std::ops::Range<usize>,
        elsewhere: std::ops::Range<usize>,
        size: f64,
    ) -> Option<usize> {
        let bins = self.by_bin.len();
        let of = |one: &[(usize, f64)], range: &std::ops::Range<usize>| {
            let within = |at: usize| range.contains(&at) || range.contains(&(at + bins));
            let values: Vec<f64> = one
                .iter()
                .filter(|place| within(place.0))
                .map(|place| place.1)
                .collect();
            (values.len() * 2 > range.len()).then(|| median(values))
        };
        let contrasts: Vec<f64> = (self.all.iter())
            .filter_map(|one| Some(of(one, &event)? - of(one, &elsewhere)?))
            .collect();
        let shown = contrasts
            .iter()
            .filter(|contrast| **contrast / size > HIGH)
            .count();
        let is_most = count_f64(shown) > count_f64(contrasts.len()) * SHOWN_MIN;
        is_most.then_some(shown)
    }
}
