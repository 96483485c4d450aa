use super::*;
use crate::chart::{Axis, Format, Point, Scale, Spans};
use proptest::prelude::*;

fn chart(curves: Vec<Curve>) -> LineChart {
    LineChart {
        curves,
        ..LineChart::default()
    }
}

#[test]
fn a_single_line() {
    // Eleven columns by thirteen rows: each column is 1.2 rows higher than the one before.
    let mut rise = chart(vec![Curve::line("rise", [(0.0, 0.0), (10.0, 4.0)])]);
    rise.x.label = "days".to_owned();
    assert_eq!(
        lines(&rise, 21, false),
        [
            "       4 |          *",
            "         |         *",
            "         |        *",
            "       3 |        *",
            "         |       *",
            "         |      *",
            "       2 |     *",
            "         |    *",
            "         |   *",
            "       1 |   *",
            "         |  *",
            "         | *",
            "       0 |*",
            "         ++----+----+",
            "          0    5   10",
            "             days",
            "          * rise",
        ]
    );
}

#[test]
fn a_range_and_its_mean() {
    let point = |x: f64, low: f64, y: f64, high: f64| Point {
        x,
        y,
        range: Some((low, high)),
    };
    let week = LineChart {
        x: Axis {
            scale: Scale::Week,
            ..Axis::default()
        },
        curves: vec![Curve {
            name: "median".to_owned(),
            range_name: "middle half".to_owned(),
            // No data for the time in between.
            stretches: vec![
                vec![point(0.0, 0.0, 1.0, 2.0)],
                vec![point(604_800.0, 2.0, 2.0, 2.0)],
            ],
            ..Curve::default()
        }],
        ..LineChart::default()
    };
    let drawn = lines(&week, 50, true);
    assert_eq!(drawn[0], format!("     2.0 │░{}▀", " ".repeat(38)));
    assert_eq!(drawn[6], "     1.0 │▀");
    assert_eq!(drawn[7], "         │░");
    assert_eq!(drawn[12], "       0 │░");
    assert_eq!(
        drawn[13..],
        [
            "         └┬─────┬────┬─────┬────┬─────┬────┬─────┬",
            "           Mon   Tue  Wed   Thu   Fri  Sat   Sun",
            "          ▀ median   ░ middle half",
        ]
    );
}

#[test]
fn several_curves_marks_and_runs() {
    let mut chart = chart(vec![
        Curve::line("as asked", [(0.0, 1.0), (10.0, 1.0)]),
        Curve::line("h", [(0.0, 1.0), (10.0, 1.0)]),
        Curve::dots("measured", [(5.0, 2.0), (50.0, 7.0)]),
    ]);
    chart.x.range = Some((0.0, 10.0));
    chart.marks = vec![
        Spans::new("resets", [(0.0, 0.0), (9.0, 99.0), (50.0, 60.0)]),
        Spans::new("trims unheard", [(5.0, 5.0)]),
    ];
    chart.runs = vec![
        Spans::new("never", [(50.0, 60.0)]),
        Spans::new("backup\u{7}", [(2.0, 3.0)]),
    ];
    let drawn = lines(&chart, 33, false);
    assert_eq!(drawn[0], "    2.00 |           +");
    assert_eq!(
        drawn[12..],
        [
            "    1.00 |***********************",
            "         ++---+----+---+----+---+",
            "  resets  ^                   ^^^",
            "                     #",
            "    runs      bbbb",
            "          0   2   4    6   8   10",
            "          * as asked",
            "          o h (behind the others)",
            "          + measured",
            "          # trims unheard",
            "          b backup\\u{7}",
        ]
    );
}

#[test]
fn nothing_to_draw() {
    assert!(lines(&LineChart::default(), 80, true).is_empty());
    assert!(lines(&chart(vec![Curve::line("a", [(1.0, f64::NAN)])]), 80, true).is_empty());
    assert!(lines(&chart(vec![Curve::line("a", [(1.0, 1.0)])]), 15, true).is_empty());
}

/// x, y and a range, all arbitrary.
type AnyPoint = (f64, f64, f64, f64);

fn any_chart() -> impl Strategy<Value = LineChart> {
    let point = (any::<f64>(), any::<f64>(), any::<f64>(), any::<f64>());
    let points = prop::collection::vec(point, 0..40);
    let curves = prop::collection::vec((points, ".{0,40}", any::<bool>()), 0..4);
    let spans = prop::collection::vec((any::<f64>(), any::<f64>()), 0..9);
    (curves, spans, ".{0,40}", 0_usize..5).prop_map(|(curves, spans, name, scale)| {
        let scales = [
            Scale::Number,
            Scale::Time(jiff::tz::TimeZone::UTC),
            Scale::Elapsed,
            Scale::Week,
            Scale::Day,
        ];
        let formats = [
            Format::Number,
            Format::Percent,
            Format::Bytes,
            Format::BytesPerSecond,
            Format::Seconds,
        ];
        let curve = |(points, name, dots): (Vec<AnyPoint>, String, bool)| Curve {
            name,
            style: if dots {
                CurveStyle::Dots
            } else {
                CurveStyle::Line
            },
            stretches: vec![
                points
                    .into_iter()
                    .map(|(x, y, low, high)| Point {
                        x,
                        y,
                        range: Some((low, high)),
                    })
                    .collect(),
            ],
            ..Curve::default()
        };
        LineChart {
            y_label: name.clone(),
            x: Axis {
                label: name.clone(),
                scale: scales[scale].clone(),
                ..Axis::default()
            },
            y_format: formats[4 - scale],
            curves: curves.into_iter().map(curve).collect(),
            marks: vec![Spans::new(name.clone(), spans.clone())],
            runs: vec![Spans::new(name, spans); 9],
            ..LineChart::default()
        }
    })
}

proptest! {
    #[test]
    fn no_line_is_too_wide(chart in any_chart(), width in 0_usize..130, unicode: bool) {
        for line in lines(&chart, width, unicode) {
            prop_assert!(display_width(&line) <= width, "{line}");
        }
        // The table has the same values.
        let table = chart.table();
        prop_assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        let _ = chart.events();
    }
}

#[test]
fn open_spans_extend_to_the_edge() {
    let chart = LineChart {
        curves: vec![Curve {
            stretches: vec![vec![
                Point {
                    x: 0.0,
                    y: 1.0,
                    range: None,
                },
                Point {
                    x: 10.0,
                    y: 2.0,
                    range: None,
                },
            ]],
            ..Curve::default()
        }],
        marks: vec![Spans::new("down", [(9.0, f64::INFINITY)])],
        ..LineChart::default()
    };
    let drawn = lines(&chart, 80, false);
    let marks = drawn
        .iter()
        .find(|line| line.trim_start().starts_with("down"));
    assert!(marks.unwrap().ends_with(MARKS[0]), "{drawn:#?}");
    assert_eq!(
        marks.unwrap().len(),
        drawn.iter().map(String::len).max().unwrap()
    );
}
