//! Weeks of a drive of 3.84 TB by trim schedule and over-provisioning, and a benchmark run ten
//! times.
use std::ops::ControlFlow;

use flash::scenario::{DriveSpec, Part, Progress, Runs, Scenario, ScenarioError, Schedule, Trims};

fn main() -> Result<(), ScenarioError> {
    let mut watch = |_: Progress| ControlFlow::Continue(());
    println!("1.9 TB a day onto 3.84 TB, 62 % full, segments, a database and a journal:");
    for spare in [0.07, 0.28] {
        for (name, trims) in [
            ("never", Trims::Never),
            ("weekly", Trims::Periodic(Schedule::WEEKLY)),
            ("daily", Trims::Periodic(Schedule::every(1, 6))),
            ("online", Trims::Online),
        ] {
            let scenario = Scenario {
                drive: DriveSpec {
                    capacity_bytes: 3_840_000_000_000,
                    over_provisioning: spare,
                    ..DriveSpec::default()
                },
                parts: Part::MIXED.to_vec(),
                bytes_per_day: 1_900_000_000_000,
                trims,
                warm_up_days: 14,
                days: 28,
                interval_hours: 3,
                ..Scenario::default()
            };
            let outcome = scenario.run(&mut watch)?;
            let total = outcome.total;
            print!(
                "  {:.0} % spare, trimmed {name}: write amplification {:.2}, sustained {:.0} MB/s",
                spare * 100.0,
                total.write_amplification.unwrap_or(1.0),
                total.sustained_mb_s.unwrap_or(0.0)
            );
            match outcome.cycle(&scenario.drive) {
                Some(cycle) => println!(
                    "; from {:.2} after a trim to {:.2} before the next, throughput falls by {:.0} %",
                    cycle.after.write_amplification.unwrap_or(1.0),
                    cycle.before.write_amplification.unwrap_or(1.0),
                    cycle.throughput_fall().unwrap_or(0.0) * 100.0
                ),
                None => println!(),
            }
        }
    }
    println!("ten runs, MB/s:");
    for (name, trim_every) in [
        ("first", Some(10)),
        ("every third", Some(3)),
        ("each", Some(1)),
    ] {
        let outcome = Runs {
            trim_every,
            ..Runs::default()
        }
        .run(&mut watch)?;
        let rates: Vec<String> = (outcome.runs.iter())
            .map(|run| format!("{:.0}", run.mb_s))
            .collect();
        println!(
            "  trim before {name}: {}; the tenth by the first: {:.2}",
            rates.join(" "),
            outcome.last_by_first()
        );
    }
    Ok(())
}
