//! The simple baseline: an analysis of variance by weekday.

use super::moment;
use facts::series::Series;
use jiff::tz::TimeZone;

/// Whether the means of the weekdays differ (one-way analysis of variance). Returns
/// the probability of differences this large by chance among independent samples, and the weekday, 0 for
/// Monday, into which the mean rises most.
pub(crate) fn fold_by_weekday(series: &Series, zone: &TimeZone) -> (f64, usize) {
    let mut groups: [Vec<f64>; 7] = Default::default();
    for (&at_us, &value) in series.times_us.iter().zip(&series.values) {
        let weekday = moment(at_us).to_zoned(zone.clone()).weekday();
        groups[weekday.to_monday_zero_offset().unsigned_abs() as usize].push(value);
    }
    let size = |values: &[f64]| f64::from(u32::try_from(values.len()).expect("few samples"));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / size(values);
    let grand = mean(&series.values);
    let means = groups.each_ref().map(|group| mean(group));
    let between: f64 = groups
        .iter()
        .zip(&means)
        .map(|(group, mean)| size(group) * (mean - grand).powi(2))
        .sum();
    let within: f64 = groups
        .iter()
        .zip(&means)
        .map(|(group, mean)| {
            group
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>()
        })
        .sum();
    let (freedom, freedom_within) = (6.0, size(&series.values) - 7.0);
    // Survival function of F (Abramowitz and Stegun 26.6.2).
    let ratio = between / freedom / (within / freedom_within);
    let x = freedom_within / (freedom_within + freedom * ratio);
    let p = incomplete_beta(freedom_within / 2.0, freedom / 2.0, x);
    let rise = |day: usize| means[day] - means[(day + 6) % 7];
    let steepest = (0..7)
        .max_by(|&a, &b| rise(a).total_cmp(&rise(b)))
        .unwrap_or(0);
    (p, steepest)
}

/// The regularised incomplete beta function for an integer `b`, by its finite sum
/// `x^a * sum over j < b of Γ(a+j) / (Γ(a) j!) * (1-x)^j` (Abramowitz and Stegun 26.5.6).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut j) = (1.0, 0.0, 0.0);
    while j < b {
        sum += term;
        term *= (a + j) / (j + 1.0) * (1.0 - x);
        j += 1.0;
    }
    x.powf(a) * sum
}
