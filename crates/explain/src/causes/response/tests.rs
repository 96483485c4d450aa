use super::*;

#[test]
fn common_lengths_are_those_of_most_events() {
    // Three lengths; the first suits 30 events, the last 10, and one event nothing.
    let suits = |length: usize| {
        let of = |other: usize| Sums {
            product: if other == length { 20.0 } else { 0.0 },
            square: 4.0,
        };
        vec![(0..3).map(of).collect::<Vec<Sums>>()]
    };
    let mut starts: Vec<Vec<Vec<Sums>>> = vec![suits(0); 30];
    starts.extend(vec![suits(2); 10]);
    starts.push(suits(3));
    let places: Vec<&[Vec<Sums>]> = starts.iter().map(Vec::as_slice).collect();
    let shares = common_lengths(&places, &[1.0 / 3.0; 3], 5.0);
    assert!((shares[0] - 0.75).abs() < 0.01, "{shares:?}");
    assert!((shares[2] - 0.25).abs() < 0.01, "{shares:?}");
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

/// A response to events of two and a half samples, with values and noise that differ from sample to sample.
fn of_times(until_us: Vec<i64>, gap_us: i64) -> Response {
    let len = until_us.len();
    let white: Vec<f64> = (0..len).map(|at| count_f64(at * 31 % 17) - 8.0).collect();
    let steps: Vec<(f64, f64)> = (0..len)
        .map(|at| (count_f64(at * 7 % 10) / 10.0, 1.0 + count_f64(at % 4)))
        .collect();
    Response {
        from_us: covered_from(&until_us, gap_us),
        whole: whole_sums(&white, &steps),
        white,
        steps,
        courses: courses(gap_us * 5 / 2, gap_us, gap_us),
        lengths: lengths(gap_us * 5 / 2, gap_us, gap_us),
        gap_us,
        shown_us: gap_us,
        len_us: gap_us * 5 / 2,
        size: 1.0,
        until_us,
    }
}

/// Samples ever further apart, from 50 to 66 seconds, with an outage of hours and one of months.
fn irregular() -> Response {
    let mut at_us = 1_700_000_000_000_000;
    let until_us = (0..2_000).map(|number: i64| {
        at_us += 50_000_000 + number * 7_919 % 20_000_000;
        at_us += match number {
            700 => 5 * 3_600_000_000,
            1_300 => 90 * 86_400_000_000,
            _ => 0,
        };
        at_us
    });
    of_times(until_us.collect(), 60_000_000)
}

#[test]
fn first_sample_after_a_time_is_found_across_outages() {
    let response = irregular();
    let until_us = &response.until_us;
    let ends = [i64::MIN, until_us[0] - 1, until_us[1_999] + 1, i64::MAX];
    let near = until_us
        .iter()
        .flat_map(|&at| [at - 1, at, at + 1, at + 86_400_000_000]);
    for at_us in ends.into_iter().chain(near) {
        let expected = until_us.iter().filter(|&&until| until <= at_us).count();
        assert_eq!(response.first_after(at_us), expected, "{at_us}");
    }
    assert_eq!(of_times(Vec::new(), 60_000_000).first_after(0), 0);
}

/// What [`Response::add`] adds for one course, from its definition: the share of each sample's time within the event.
fn by_definition(
    response: &Response,
    start_us: i64,
    next_us: Option<i64>,
    course: &Course,
) -> Sums {
    let until_next = next_us.map_or(f64::INFINITY, |next| as_f64(next - start_us));
    let mut sums = Sums::default();
    let mut before = 0.0;
    for at in 0..response.until_us.len() {
        let from = as_f64(response.from_us[at] - start_us);
        let until = as_f64(response.until_us[at] - start_us);
        let integral = |us: f64| course.until(us.min(until_next));
        let share = (integral(until) - integral(from)) / (until - from);
        let (kept, factor) = response.steps[at];
        let seen = (share - kept * before) * factor;
        sums.product += seen * response.white[at];
        sums.square += seen * seen;
        before = share;
    }
    sums
}

#[test]
fn sums_are_those_of_the_shares_of_all_samples() {
    let response = irregular();
    // Of the pattern's length, and of many samples.
    let long = courses(40 * 60_000_000, 60_000_000, 60_000_000);
    let courses = [&response.courses[..], &response.lengths, &long].concat();
    for (at, next_s) in [
        (0, None),
        (5, Some(100)),
        (9, Some(1_000)),
        (690, None),
        (699, None),
        (700, Some(70)),
        (1_299, None),
        (1_998, None),
    ] {
        let start_us = response.until_us[at] - 30_000_000;
        let next_us = next_s.map(|next_s| start_us + next_s * 1_000_000);
        let mut sums = vec![Sums::default(); courses.len()];
        response.add(start_us, next_us, &courses, &mut sums);
        for (course, sums) in courses.iter().zip(sums) {
            let expected = by_definition(&response, start_us, next_us, course);
            let apart =
                (sums.product - expected.product).abs() + (sums.square - expected.square).abs();
            assert!(
                apart < 1e-9,
                "{at} {next_s:?} {course:?}: {sums:?}, not {expected:?}"
            );
        }
    }
}
