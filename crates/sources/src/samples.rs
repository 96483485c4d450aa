//! What every source of samples needs: order, gaps, duplicates, counters.

/// Samples in order, with what was mended.
pub(crate) struct Mended {
    /// Microseconds since the epoch, strictly ascending.
    pub(crate) times_us: Vec<i64>,
    pub(crate) values: Vec<f64>,
    pub(crate) notes: Vec<String>,
}

/// Sorts samples, drops those that are no finite numbers, and takes the mean of several at one moment.
pub(crate) fn mended(mut samples: Vec<(i64, f64)>) -> Mended {
    let mut notes = Vec::new();
    let all = samples.len();
    samples.retain(|(_, value)| value.is_finite());
    if samples.len() < all {
        let count = all - samples.len();
        notes.push(format!(
            "values that are no finite numbers, left out: {count}"
        ));
    }
    if !samples.is_sorted_by_key(|(time_us, _)| *time_us) {
        notes.push("samples out of order, sorted".to_owned());
        samples.sort_by_key(|(time_us, _)| *time_us);
    }
    let mut times_us = Vec::with_capacity(samples.len());
    let mut values: Vec<f64> = Vec::with_capacity(samples.len());
    let mut repeated = 0_usize;
    for moment in samples.chunk_by(|one, other| one.0 == other.0) {
        let count = u32::try_from(moment.len()).unwrap_or(u32::MAX);
        repeated += moment.len() - 1;
        times_us.push(moment[0].0);
        values.push(
            moment
                .iter()
                .map(|(_, value)| value / f64::from(count))
                .sum(),
        );
    }
    if repeated > 0 {
        notes.push(format!(
            "several samples at one moment, averaged: {repeated}"
        ));
    }
    Mended {
        times_us,
        values,
        notes,
    }
}

/// What a counter grew by a second up to each sample but the first. Where it began anew there is no value.
pub(crate) fn rates(counter: Mended) -> Mended {
    let mut rates = Mended {
        times_us: Vec::with_capacity(counter.times_us.len()),
        values: Vec::with_capacity(counter.values.len()),
        notes: counter.notes,
    };
    let mut resets = 0_usize;
    let pairs = counter.times_us.windows(2).zip(counter.values.windows(2));
    for (times_us, values) in pairs {
        if values[1] < values[0] {
            resets += 1;
            continue;
        }
        #[allow(clippy::cast_precision_loss)]
        let elapsed_s = times_us[1].saturating_sub(times_us[0]) as f64 / 1e6;
        let rate = (values[1] - values[0]) / elapsed_s;
        // The ends of the range of numbers are further apart than the range is long.
        if rate.is_finite() {
            rates.times_us.push(times_us[1]);
            rates.values.push(rate);
        }
    }
    if resets > 0 {
        let note = format!("counters that began anew: {resets} times; no value there");
        rates.notes.push(note);
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_put_in_order_and_told_of() {
        let mended = mended(vec![(3, 1.0), (1, f64::NAN), (2, 5.0), (3, 2.0), (3, 6.0)]);
        assert_eq!(mended.times_us, [2, 3]);
        assert_eq!(mended.values, [5.0, 3.0]);
        assert_eq!(
            mended.notes,
            [
                "values that are no finite numbers, left out: 1",
                "samples out of order, sorted",
                "several samples at one moment, averaged: 2"
            ]
        );
    }

    #[test]
    fn a_counter_has_no_rate_where_it_begins_anew() {
        let second = 1_000_000;
        let counter = vec![
            (0, 5.0),
            (2 * second, 9.0),
            (3 * second, 1.0),
            (4 * second, 4.0),
        ];
        let rates = rates(mended(counter));
        assert_eq!(rates.times_us, [2 * second, 4 * second]);
        assert_eq!(rates.values, [2.0, 3.0]);
        assert_eq!(
            rates.notes,
            ["counters that began anew: 1 times; no value there"]
        );
    }
}
