//! When a host's jobs ran, as `node_exporter` records it of systemd's timers, and `trimtab check` of those that keep disks
//! busy.

use super::{Query, read};
use crate::{Limits, SourceError, Times};
use bounded_http::{Client, Endpoint};
use facts::series::Series;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The time of a timer's last start, in seconds since 1970; 0 if it never started (`node_exporter`,
/// `collector/systemd_linux.go`).
const TIMERS: &str = "node_systemd_timer_last_trigger_seconds";
/// The time of a job's last start (`trimtab check --format openmetrics`).
const JOBS: &str = "trimtab_job_last_start_timestamp_seconds";
/// Seconds per point.
const STEP_S: u32 = 600;
/// A job whose time changes in more than one of so many steps may have started more often than that shows.
const OFTEN: usize = 4;
/// Maximum number of jobs whose starts are kept.
const JOBS_MAX: usize = 1_000;

/// The starts of a host's jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStarts {
    /// The host's name, from the label `instance`.
    pub host: String,
    /// Where they come from.
    pub source_name: String,
    /// The first and the last time at which a job's last start is known.
    pub from: Timestamp,
    /// See `from`.
    pub until: Timestamp,
    /// Jobs (`fstrim.timer`, `cron.weekly/fstrim`), each with its starts. Those that may have started more often than
    /// once in [`STEP_S`] are left out.
    pub jobs: Vec<(String, Vec<Timestamp>)>,
}

/// Asks a Prometheus when the jobs of the host of some series ran. `None` if it does not know, if the series are of several
/// hosts, or if they name none and it has several.
///
/// # Errors
/// As [`read`].
pub fn job_starts(
    client: &Client,
    endpoint: &Endpoint,
    series: &[Series],
    limits: &Limits,
) -> Result<Option<JobStarts>, SourceError> {
    let hosts: BTreeSet<&str> = series.iter().filter_map(Series::scraped_host).collect();
    let matcher = match hosts.iter().collect::<Vec<_>>()[..] {
        [] => String::new(),
        // A host's exporters have ports of their own.
        [host] if is_plain(host) => {
            format!(",instance=~\"{}(:[0-9]+)?\"", host.replace('.', "[.]"))
        }
        _ => return Ok(None),
    };
    let (since, until) = extent(series);
    let times = Times {
        since,
        until,
        ..Times::default()
    };
    let query = Query {
        promql: format!("{{__name__=~\"{TIMERS}|{JOBS}\"{matcher}}}"),
        step_s: STEP_S,
    };
    match read(client, endpoint, &query, &times, limits) {
        Ok(reading) => Ok(starts_of(&reading.series, &endpoint.to_string())),
        Err(SourceError::Empty { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The starts that the series of the metric tell. `None` if they are of several hosts.
fn starts_of(series: &[Series], source_name: &str) -> Option<JobStarts> {
    let host = series.first()?.scraped_host()?;
    if series.iter().any(|one| one.scraped_host() != Some(host)) {
        return None;
    }
    let of_timers = |one: &&Series| one.labels.get("metric").is_none_or(|name| name != JOBS);
    let (timers, jobs): (Vec<&Series>, Vec<&Series>) = series.iter().partition(of_timers);
    let mut starts = Starts::default();
    for one in timers {
        if let Some(unit) = one.labels.get("name").filter(|name| is_timer(name)) {
            starts.add(unit, one);
        }
    }
    // What node_exporter tells of a timer is to the microsecond, and not to be counted twice.
    let told: BTreeSet<&str> = starts.by_job.keys().copied().collect();
    for one in jobs {
        if let Some(job) = one
            .labels
            .get("name")
            .filter(|name| !told.contains(name.as_str()))
        {
            starts.add(job, one);
        }
    }
    let at = |us: &i64| Timestamp::from_microsecond(*us).ok();
    let known: Vec<(String, Vec<Timestamp>)> = starts
        .by_job
        .iter()
        .filter(|(job, at_us)| !starts.often.contains(*job) && !at_us.is_empty())
        .take(JOBS_MAX)
        .map(|(job, at_us)| ((*job).to_owned(), at_us.iter().filter_map(at).collect()))
        .collect();
    let (from, until) = extent(series);
    Some(JobStarts {
        host: host.to_owned(),
        source_name: source_name.to_owned(),
        from: from?,
        until: until?,
        jobs: known,
    })
}

/// The first and the last time of all series.
fn extent(series: &[Series]) -> (Option<Timestamp>, Option<Timestamp>) {
    let at = |us: &i64| Timestamp::from_microsecond(*us).ok();
    let first = series.iter().filter_map(|one| one.times_us.first()).min();
    let last = series.iter().filter_map(|one| one.times_us.last()).max();
    (first.and_then(at), last.and_then(at))
}

fn is_timer(name: &str) -> bool {
    name.strip_suffix(".timer").is_some()
}

/// Starts of jobs, in microseconds.
#[derive(Default)]
struct Starts<'s> {
    by_job: BTreeMap<&'s str, BTreeSet<i64>>,
    /// Those that start often.
    often: BTreeSet<&'s str>,
}

impl<'s> Starts<'s> {
    fn add(&mut self, job: &'s str, series: &Series) {
        // The same host may be known to several jobs of Prometheus.
        let starts = self.by_job.entry(job).or_default();
        let before = starts.len();
        let points = series.times_us.iter().zip(&series.values);
        starts.extend(points.filter_map(|(&at_us, &seconds)| start_us(seconds, at_us)));
        if (starts.len() - before) * OFTEN > series.values.len() {
            self.often.insert(job);
        }
    }
}

/// The start that a value tells, in microseconds. `None` for 0 and for what was not yet when the value was read.
fn start_us(seconds: f64, read_at_us: i64) -> Option<i64> {
    let us = super::answer::time_us(seconds)?;
    (us > 0 && us <= read_at_us).then_some(us)
}

/// Whether a name means itself in a regular expression, apart from its dots.
fn is_plain(host: &str) -> bool {
    let is_part = |one: u8| one.is_ascii_alphanumeric() || b".-_".contains(&one);
    !host.is_empty() && host.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prometheus::read_answer;
    use bounded_http::Options;
    use bounded_http::testing::{Answer, Server};
    use serde_json::{Value, json};

    const MONDAY_S: i64 = 1_764_547_200;
    const DAY_S: i64 = 86_400;

    /// A timer's time of last start at every ten minutes of three weeks.
    fn timer(instance: &str, name: &str, starts_s: &[i64]) -> Value {
        let values: Vec<Value> = (0..21 * 144)
            .map(|step| MONDAY_S + step * 600)
            .map(|at| {
                let last = starts_s.iter().rfind(|start| **start <= at);
                json!([
                    at,
                    last.map_or("0".to_owned(), |start| format!("{start}.5"))
                ])
            })
            .collect();
        let metric = if is_timer(name) { TIMERS } else { JOBS };
        let metric = json!({"__name__": metric, "instance": instance, "name": name});
        json!({"metric": metric, "values": values})
    }

    fn answer(result: &[Value]) -> Vec<u8> {
        let data = json!({"resultType": "matrix", "result": result});
        json!({"status": "success", "data": data})
            .to_string()
            .into_bytes()
    }

    fn starts(result: &[Value]) -> Option<JobStarts> {
        let reading = read_answer(&answer(result), "p", &Limits::default()).unwrap();
        starts_of(&reading.series, "p")
    }

    #[test]
    fn each_start_is_told_once_and_what_starts_often_is_left_out() {
        let weekly: Vec<i64> = (0..3)
            .map(|week| MONDAY_S + week * 7 * DAY_S + 2_345)
            .collect();
        let often: Vec<i64> = (0..21 * 144)
            .map(|step| MONDAY_S + step * 600 - 60)
            .collect();
        let hourly: Vec<i64> = (0..21 * 24)
            .map(|hour| MONDAY_S + hour * 3_600 + 17)
            .collect();
        let found = starts(&[
            timer("db1:9100", "fstrim.timer", &weekly),
            timer("db1:9100", "sysstat-collect.timer", &often),
            timer("db1:9100", "hourly.timer", &hourly),
            timer("db1:9100", "never.timer", &[]),
        ])
        .unwrap();
        assert_eq!(found.host, "db1");
        let units: Vec<&str> = found.jobs.iter().map(|timer| timer.0.as_str()).collect();
        assert_eq!(units, ["fstrim.timer", "hourly.timer"]);
        let told: Vec<i64> = found.jobs[0]
            .1
            .iter()
            .map(|at| at.as_millisecond())
            .collect();
        let made: Vec<i64> = weekly.iter().map(|start| start * 1_000 + 500).collect();
        assert_eq!(told, made);
        assert_eq!(found.jobs[1].1.len(), hourly.len());
        assert_eq!(found.from.as_second(), MONDAY_S);
    }

    #[test]
    fn jobs_of_cron_are_told_by_our_own_metric_and_no_timer_twice() {
        let weekly = [MONDAY_S + 2_345, MONDAY_S + 7 * DAY_S + 2_345];
        let mut ours = timer("db1:9100", "fstrim.timer", &weekly);
        ours["metric"]["__name__"] = json!(JOBS);
        for value in ours["values"].as_array_mut().unwrap() {
            let whole = value[1].as_str().unwrap().replace(".5", "");
            value[1] = json!(whole);
        }
        let theirs = timer("db1:9100", "fstrim.timer", &weekly);
        let cron = timer("db1:9100", "cron.weekly/fstrim", &weekly);
        let found = starts(&[ours.clone(), theirs, cron]).unwrap();
        let told: Vec<(&str, usize)> = (found.jobs.iter())
            .map(|(name, starts)| (name.as_str(), starts.len()))
            .collect();
        assert_eq!(told, [("cron.weekly/fstrim", 2), ("fstrim.timer", 2)]);
        assert_eq!(found.jobs[1].1[0].as_millisecond() % 1_000, 500);
        assert_eq!(starts(&[ours]).unwrap().jobs[0].1.len(), 2);
    }

    #[test]
    fn hosts_are_not_mixed() {
        let of = |instance| timer(instance, "fstrim.timer", &[MONDAY_S + 60]);
        assert_eq!(starts(&[of("db1:9100"), of("db2:9100")]), None);
        assert!(starts(&[of("db1:9100"), of("db1:9256")]).is_some());
        // A start in the future is none.
        let mut wrong = of("db1");
        wrong["values"] = json!([
            [MONDAY_S, "1e15"],
            [MONDAY_S + 600, "NaN"],
            [MONDAY_S + 1_200, "-5"]
        ]);
        assert!(starts(&[wrong]).is_none_or(|found| found.jobs.is_empty()));
    }

    #[test]
    fn the_series_own_host_is_asked_for() {
        let server = Server::start(|_| {
            Answer::Body(
                200,
                answer(&[timer(
                    "db1.example.org:9100",
                    "fstrim.timer",
                    &[MONDAY_S + 60],
                )]),
            )
        });
        let client = Client::new(Options::default()).unwrap();
        let series = |instances: &[&str]| -> Vec<Series> {
            let result: Vec<Value> = (instances.iter())
                .map(|instance| timer(instance, "x.timer", &[MONDAY_S]))
                .collect();
            read_answer(&answer(&result), "p", &Limits::default())
                .unwrap()
                .series
        };
        let ask = |instances: &[&str]| {
            job_starts(
                &client,
                &server.endpoint(),
                &series(instances),
                &Limits::default(),
            )
            .unwrap()
        };
        let found = ask(&["db1.example.org:9114"]).unwrap();
        assert_eq!(found.jobs.len(), 1);
        // ,instance=~"db1[.]example[.]org(:[0-9]+)?"}
        let head = &server.requests()[0];
        assert!(
            head.contains("%2Cinstance%3D~%22db1%5B.%5Dexample%5B.%5Dorg%28%3A"),
            "{head}"
        );
        assert!(head.contains("&step=600 "), "{head}");
        // What else a series calls its host is no target of Prometheus.
        let mut named = series(&["10.0.0.7:9100"]);
        named[0].labels.insert("host".to_owned(), "db1".to_owned());
        job_starts(&client, &server.endpoint(), &named, &Limits::default()).unwrap();
        let head = server.requests().pop().unwrap();
        assert!(
            head.contains("instance%3D~%2210%5B.%5D0%5B.%5D0%5B.%5D7%28"),
            "{head}"
        );
        // Several hosts have no starts in common, and a name with a quote is not put into a query.
        assert_eq!(ask(&["db1:9100", "db2:9100"]), None);
        assert_eq!(ask(&["a\"b"]), None);
    }
}
