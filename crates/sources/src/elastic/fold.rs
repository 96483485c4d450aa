//! Weeks of many hosts, folded by the server: of each host 1,008 slots of ten minutes cross the network instead of a
//! sample every few seconds for months.

use super::answer::{Bucket, Search};
use super::query::{Figure, Query, SplitValue};
use super::session::Session;
use super::{BUCKETS_MAX, extent_or_empty, scope};
use crate::clean;
use crate::{SourceError, Times};
use bounded_http::{Client, Endpoint};
use facts::series::{Better, FoldedWeek};
use serde_json::{Value, json};

/// Maximum number of hosts.
const HOSTS_MAX: u32 = 9_999;
/// Fewer weeks cannot tell what recurs from what happened once.
const WEEKS_MIN: f64 = 5.0;
const WEEK_MS: f64 = 604_800_000.0;
/// Where in the week a document is, in milliseconds of Unix time and long arithmetic.
const SLOT: &str =
    "(doc[params.time].value.toInstant().toEpochMilli() / params.slot) % params.slots";

/// The folded weeks of the values of a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Folds {
    /// One per value, that with the most documents first.
    pub weeks: Vec<FoldedWeek>,
    /// Number of slots that crossed the network.
    pub slots: usize,
    /// Whether there are further values.
    pub is_cut: bool,
    /// Whether higher or lower is better, if the field's name tells.
    pub better: Option<Better>,
}

/// Folds the weeks of a field for each value of the query's `split_by`, if there are more of them than its `split_max`; else
/// `None`. `told` is called with the number of values done and of all.
///
/// The high and the low percentile of a slot leave out what happened in one of the weeks only. Slots are of UTC.
///
/// # Errors
/// As [`super::read`]; and when curves of this kind cannot be folded, or the server runs no scripts.
pub fn fold(
    client: &Client,
    endpoint: &Endpoint,
    query: &Query,
    times: &Times,
    told: &mut dyn FnMut(usize, usize),
) -> Result<Option<Folds>, SourceError> {
    let Some(split_by) = &query.split_by else {
        return Ok(None);
    };
    let mut session = Session::open(client, endpoint, &query.index)?;
    let time_field = session.fields(query)?;
    let scope = scope(query, &time_field, times);
    let mut values = session.values(&scope, split_by, HOSTS_MAX + 1)?;
    if values.len() <= query.split_max as usize {
        return Ok(None);
    }
    let is_cut = values.len() > HOSTS_MAX as usize;
    values.truncate(HOSTS_MAX as usize);
    if matches!(query.figure, Figure::Rate | Figure::Sum) {
        return Err(session.refused("counters and sums cannot be folded by the server"));
    }
    let (first_ms, last_ms) = extent_or_empty(&mut session, &scope, &time_field, query)?;
    #[allow(clippy::cast_precision_loss)]
    let weeks = (last_ms - first_ms) as f64 / WEEK_MS;
    if weeks < WEEKS_MIN {
        return Err(session.refused(&format!(
            "{weeks:.1} weeks are too few to be folded, {WEEKS_MIN} are needed"
        )));
    }
    // One week in so many is left out, and a third of another. The maximum of a step is that of one document of several,
    // such as those of the disks of a host.
    let share = 130.0 / weeks;
    #[allow(clippy::cast_precision_loss)]
    let documents = values[0].documents as f64;
    let each = (documents * f64::from(query.step_s) * 1000.0 / (weeks * WEEK_MS)).max(1.0);
    let (low, high) = match query.figure {
        Figure::Max | Figure::Percentile(_) => (share, share / each),
        Figure::Min => (share / each, share),
        Figure::Mean | Figure::Sum | Figure::Rate => (share, share),
    };
    let percents = [low, 100.0 - high];
    let most = usize::try_from(BUCKETS_MAX).unwrap_or(usize::MAX) / (FoldedWeek::SLOTS + 1);
    let mut folds = Folds {
        weeks: Vec::with_capacity(values.len()),
        slots: 0,
        is_cut,
        better: clean::better(&query.field, None),
    };
    for page in values.chunks(most) {
        let body = question(
            &scope,
            (&time_field, &query.field, split_by),
            page,
            percents,
        );
        let answer = session.search(&body)?;
        for value in page {
            let week = week(&answer, &value.name, &mut folds.slots);
            folds
                .weeks
                .push(week.ok_or_else(|| session.refused("the answer has no folded weeks"))?);
        }
        told(folds.weeks.len(), values.len());
    }
    Ok(Some(folds))
}

fn question(
    scope: &[Value],
    (time_field, field, split_by): (&str, &str, &str),
    page: &[SplitValue],
    percents: [f64; 2],
) -> Value {
    let names: Vec<&Value> = page.iter().map(|value| &value.key).collect();
    let mut clauses = scope.to_vec();
    clauses.push(json!({"terms": {split_by: names}}));
    let params =
        json!({"time": time_field, "slot": FoldedWeek::SLOT_S * 1000, "slots": FoldedWeek::SLOTS});
    json!({
        "size": 0,
        "query": {"bool": {"filter": clauses}},
        "aggs": {"values": {
            "terms": {"field": split_by, "size": page.len()},
            "aggs": {"slots": {
                "histogram": {
                    "script": {"lang": "painless", "source": SLOT, "params": params},
                    "interval": 1,
                    "min_doc_count": 1,
                },
                "aggs": {"figure": {"percentiles": {"field": field, "percents": percents, "keyed": false}}},
            }},
        }},
    })
}

/// Returns the week of a value in an answer; empty if it has no document.
fn week(answer: &Search, name: &str, slots: &mut usize) -> Option<FoldedWeek> {
    let values = answer.aggregations.get("values")?.get("buckets")?;
    let is_it = |bucket: &&Value| {
        let key = bucket.get("key_as_string").or_else(|| bucket.get("key"));
        match key {
            Some(Value::String(key)) => key == name,
            Some(other) => other.to_string().as_str() == name,
            None => false,
        }
    };
    let mut week = FoldedWeek {
        name: name.to_owned(),
        high: vec![f32::NAN; FoldedWeek::SLOTS],
        low: vec![f32::NAN; FoldedWeek::SLOTS],
    };
    let Some(found) = values.as_array()?.iter().find(is_it) else {
        return Some(week);
    };
    for bucket in Bucket::list(found.get("slots")?)? {
        let slot = usize::try_from(bucket.start_ms()?).ok()?;
        let figures = bucket.figure.as_ref()?.get("values")?.as_array()?;
        // In the order of the percents.
        let figure = |index: usize| figures.get(index)?.get("value")?.as_f64();
        *slots += 1;
        #[allow(clippy::cast_possible_truncation)]
        if let (Some(low), Some(high), Some(low_slot), Some(high_slot)) = (
            figure(0),
            figure(1),
            week.low.get_mut(slot),
            week.high.get_mut(slot),
        ) {
            *low_slot = low as f32;
            *high_slot = high as f32;
        }
    }
    Some(week)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bounded_http::Options;
    use bounded_http::testing::{Answer, Server};

    #[test]
    fn slots_are_taken_from_the_answer_and_missing_ones_are_no_numbers() {
        let answer: Search =
            serde_json::from_value(json!({"aggregations": {"values": {"buckets": [
                {"key": "db2", "doc_count": 1, "slots": {"buckets": []}},
                {"key": "db1", "doc_count": 52, "slots": {"buckets": [
                    {"key": 0.0, "doc_count": 26, "figure": {"values": [
                        {"key": 10.0, "value": 1.0}, {"key": 90.0, "value": 4.5}]}},
                    {"key": 1007.0, "doc_count": 26, "figure": {"values": [
                        {"key": 10.0, "value": null}, {"key": 90.0, "value": null}]}},
                    {"key": 5000.0, "doc_count": 26, "figure": {"values": [
                        {"key": 10.0, "value": 2.0}, {"key": 90.0, "value": 3.0}]}},
                ]}},
            ]}}}))
            .unwrap();
        let mut slots = 0;
        let found = week(&answer, "db1", &mut slots).unwrap();
        assert_eq!((found.low[0], found.high[0], slots), (1.0, 4.5, 3));
        assert!(found.high[1..].iter().all(|value| value.is_nan()));
        assert!(week(&answer, "db3", &mut slots).is_some());
        let none: Search = serde_json::from_value(json!({})).unwrap();
        assert!(week(&none, "db1", &mut slots).is_none());
    }

    /// A server with 25 hosts that have documents for some weeks. Each has one slot, whose number is the host's.
    fn server(weeks: i64) -> Server {
        Server::start(move |request| {
            if request.starts_with("GET / ") {
                return Answer::ok(r#"{"version":{"number":"7.17.28"}}"#);
            }
            if request.contains("/_field_caps?") {
                let kind = |kind: &str| json!({kind: {"aggregatable": true}});
                let fields = json!({"@timestamp": kind("date"), "await": kind("float"), "host.name": kind("keyword")});
                return Answer::ok(&json!({"fields": fields}).to_string());
            }
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            let question: Value = serde_json::from_str(body).unwrap();
            if question["aggs"].get("first").is_some() {
                let last = weeks * 604_800_000;
                let ends = json!({"first": {"value": 0.0}, "last": {"value": last}});
                return Answer::ok(&json!({"aggregations": ends}).to_string());
            }
            let values = &question["aggs"]["values"];
            let Some(slots) = values["aggs"].get("slots") else {
                let hosts =
                    (0..25).map(|host| json!({"key": format!("db{host}"), "doc_count": 1000}));
                let hosts: Vec<Value> = hosts.collect();
                return Answer::ok(
                    &json!({"aggregations": {"values": {"buckets": hosts}}}).to_string(),
                );
            };
            let script = &slots["histogram"]["script"];
            assert_eq!(script["params"]["slots"], 1008);
            assert_eq!(script["params"]["time"], "@timestamp");
            let percents = &slots["aggs"]["figure"]["percentiles"]["percents"];
            let (low, high) = (percents[0].as_f64().unwrap(), percents[1].as_f64().unwrap());
            assert!(
                (low - 10.0).abs() < 0.1 && (high - 90.0).abs() < 0.1,
                "{percents}"
            );
            let names = question["query"]["bool"]["filter"].as_array().unwrap();
            let names = names.last().unwrap()["terms"]["host.name"]
                .as_array()
                .unwrap();
            assert!(names.len() * 1009 <= 10_000, "too many buckets");
            let hosts = names.iter().map(|name| {
                let number: u32 = name.as_str().unwrap()[2..].parse().unwrap();
                let figure =
                    json!({"values": [{"key": 10.0, "value": 1.0}, {"key": 90.0, "value": 7.0}]});
                json!({"key": name, "slots": {"buckets": [{"key": number, "figure": figure}]}})
            });
            let hosts: Vec<Value> = hosts.collect();
            Answer::ok(&json!({"aggregations": {"values": {"buckets": hosts}}}).to_string())
        })
    }

    fn ask(server: &Server, query: &Query) -> Result<Option<Folds>, SourceError> {
        let client = Client::new(Options::default()).unwrap();
        fold(
            &client,
            &server.endpoint(),
            query,
            &Times::default(),
            &mut |_, _| (),
        )
    }

    fn by_host() -> Query {
        Query {
            split_by: Some("host.name".to_owned()),
            ..Query::new("m", "await", 60)
        }
    }

    #[test]
    fn the_weeks_of_many_hosts_are_asked_for_in_pages() {
        let folds = ask(&server(13), &by_host()).unwrap().unwrap();
        assert_eq!(
            (folds.weeks.len(), folds.slots, folds.is_cut),
            (25, 25, false)
        );
        for (host, week) in folds.weeks.iter().enumerate() {
            assert_eq!(week.name, format!("db{host}"));
            assert_eq!((week.low[host], week.high[host]), (1.0, 7.0));
        }
    }

    #[test]
    fn few_hosts_few_weeks_and_counters_are_not_folded() {
        let few = Query {
            split_max: 25,
            ..by_host()
        };
        assert_eq!(ask(&server(13), &few).unwrap(), None);
        let whole = Query::new("m", "await", 60);
        assert_eq!(ask(&server(13), &whole).unwrap(), None);
        let error = ask(&server(4), &by_host()).unwrap_err().to_string();
        assert!(error.contains("4.0 weeks are too few"), "{error}");
        let counter = Query {
            figure: Figure::Rate,
            ..by_host()
        };
        let error = ask(&server(13), &counter).unwrap_err().to_string();
        assert!(error.contains("cannot be folded"), "{error}");
    }
}
