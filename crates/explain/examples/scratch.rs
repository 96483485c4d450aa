use explain::simulate::*;
use explain::*;
fn main() {
    let arg: String = std::env::args().nth(1).unwrap();
    let zone = zone("Europe/Berlin");
    let mut saw = Sawtooth {
        noise: 0.02,
        ..Sawtooth::default()
    };
    if arg == "2016" {
        saw.first_day = jiff::civil::date(2016, 7, 1);
        saw.days = 180;
        saw.daily_from = Some(jiff::civil::date(2016, 10, 17));
    }
    let s = saw.simulate(3);
    let from =
        jiff::Timestamp::from_microsecond(s.series.times_us[0] - 40 * 86_400_000_000).unwrap();
    let until = jiff::Timestamp::from_microsecond(*s.series.times_us.last().unwrap()).unwrap();
    let mut jobs = four_jobs(from, until, &zone);
    if arg == "2016" {
        let cut: jiff::Timestamp = "2016-10-16T22:00:00Z".parse().unwrap();
        for job in jobs.iter_mut().take(2) {
            let daily = runs_of(
                &explain::simulate::job(
                    &job.name,
                    facts::host::Trigger::Cron {
                        spec: "25 6 * * *".into(),
                        time_zone: None,
                        source: "etc/crontab:17".into(),
                    },
                ),
                cut,
                until,
                &zone,
            );
            job.runs.retain(|r| r.earliest < cut);
            job.runs.extend(daily.runs);
        }
    }
    let a = explain(
        &[s.series],
        &jobs,
        &Options {
            zone,
            ..Options::default()
        },
    );
    let v = &a.series[0].verdict;
    println!(
        "{}\n{:?} {:?} {:?} {:?}",
        v.sentence, v.kind, v.phase, v.since, v.until
    );
    for c in &v.candidates {
        println!("{:.3} {:.1} {}", c.score, c.gain_nats, c.name);
    }
    for c in &v.classes {
        println!("{c:?}");
    }
    for c in &v.changes {
        println!("{c:?}");
    }
    println!("{:?}", v.would_change);
}
