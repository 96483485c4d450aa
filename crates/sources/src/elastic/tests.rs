//! Tests against a misbehaving server; lab/servers/test-explain.sh tests real ones.

use super::session::is_before_7_2;
use super::*;
use crate::identify;
use crate::testing::names;
use bounded_http::Options;
use bounded_http::testing::{Answer, Server as Stub};
use proptest::prelude::*;
use std::time::Duration;

fn client() -> Client {
    Client::new(Options {
        deadline: Duration::from_secs(4),
        body_bytes_max: 4_000_000,
        ..Options::default()
    })
    .unwrap()
}

const ES7: &str = r#"{"version":{"number":"7.17.28"}}"#;
const ES6: &str = r#"{"version":{"number":"6.8.23"}}"#;

fn caps(fields: &[(&str, &str)]) -> String {
    let fields: BTreeMap<_, _> = fields
        .iter()
        .map(|(name, kind)| {
            (
                name,
                json!({*kind: {"type": kind, "searchable": true, "aggregatable": *kind != "text"}}),
            )
        })
        .collect();
    json!({"fields": fields}).to_string()
}

fn usual_caps() -> String {
    caps(&[
        ("@timestamp", "date"),
        ("system.load", "double"),
        ("host.name", "keyword"),
        ("text", "text"),
    ])
}

/// Returns the JSON body of a request.
fn body(request: &str) -> Value {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// A server with one document a minute, from the epoch on, for each of two hosts, a and b; the value is the
/// minute.
fn engine(root: &'static str, minutes: i64) -> impl Fn(&str) -> Answer + Send + Sync + 'static {
    move |request| {
        if request.starts_with("GET / ") {
            return Answer::ok(root);
        }
        if request.contains("/_field_caps?") {
            return Answer::ok(&usual_caps());
        }
        let question = body(request);
        let aggs = &question["aggs"];
        if aggs.get("first").is_some() {
            let last = (minutes - 1) * 60_000;
            return Answer::ok(
                &json!({"aggregations": {
                "first": {"value": 0.0}, "last": {"value": last}}})
                .to_string(),
            );
        }
        if aggs.get("values").is_some() {
            return Answer::ok(
                &json!({"aggregations": {"values": {"buckets": [
                {"key": "a", "doc_count": 2}, {"key": "b", "doc_count": 1}]}}})
                .to_string(),
            );
        }
        let clauses = question["query"]["bool"]["filter"].as_array().unwrap();
        let range = &clauses.last().unwrap()["range"]["@timestamp"];
        let (from, to) = (
            range["gte"].as_i64().unwrap(),
            range["lt"].as_i64().unwrap(),
        );
        let list: Vec<Value> = (from / 60_000..(to / 60_000).min(minutes))
            .map(|minute| json!({"key": minute * 60_000, "doc_count": 1, "figure": {"value": minute}}))
            .collect();
        let filters = aggs["groups"]["filters"]["filters"].as_array().unwrap();
        let buckets: Vec<Value> = filters
            .iter()
            .map(|_| json!({"over_time": {"buckets": &list}}))
            .collect();
        assert!(
            list.len() * filters.len() + filters.len() <= 10_000,
            "too many buckets"
        );
        Answer::ok(&json!({"aggregations": {"groups": {"buckets": buckets}}}).to_string())
    }
}

fn ask(server: &Stub, query: &Query) -> Result<Reading, SourceError> {
    let limits = Limits::default();
    read(
        &client(),
        &server.endpoint(),
        query,
        &Times::default(),
        &limits,
    )
}

fn usual() -> Query {
    Query::new("m-*", "system.load", 60)
}

/// Two hosts with a disk each, sampled every 10 s for a day, with documents that come up to a second late: reads and writes
/// all the time, flushes that follow them on `a`, and discards on `b` from the third hour on for ten minutes.
fn metricbeat(request: &str) -> Answer {
    const PERIOD_MS: i64 = 10_000;
    if request.starts_with("GET / ") {
        return Answer::ok(ES7);
    }
    if request.contains("/_field_caps?") {
        return Answer::ok(&caps(&[
            ("@timestamp", "date"),
            ("system.diskio.iostat.queue.avg_size", "float"),
            ("system.diskio.read.time", "long"),
            ("system.diskio.write.time", "long"),
            ("system.diskio.write.count", "long"),
            ("system.diskio.name", "keyword"),
            ("host.name", "keyword"),
        ]));
    }
    let question = body(request);
    let aggs = &question["aggs"];
    let clauses = question["query"]["bool"]["filter"].as_array().unwrap();
    if aggs.get("first").is_some() {
        let extent = json!({"first": {"value": 0.0}, "last": {"value": 86_400_000.0}});
        return Answer::ok(&json!({"aggregations": extent}).to_string());
    }
    if let Some(values) = aggs.get("values") {
        let is_host = values["terms"]["field"] == "host.name";
        let keys: &[&str] = if is_host { &["a", "b"] } else { &["sda"] };
        let list: Vec<Value> = keys.iter().map(|key| json!({"key": key})).collect();
        return Answer::ok(&json!({"aggregations": {"values": {"buckets": list}}}).to_string());
    }
    let is_b = clauses
        .iter()
        .any(|clause| clause["term"]["host.name"]["value"] == "b");
    let range = &clauses.last().unwrap()["range"]["@timestamp"];
    let (from, to) = (
        range["gte"].as_i64().unwrap(),
        range["lt"].as_i64().unwrap(),
    );
    let over = &aggs["groups"]["aggs"]["over_time"];
    let step = over["date_histogram"]["fixed_interval"].as_str().unwrap();
    let step_ms = step.trim_end_matches('s').parse::<i64>().unwrap() * 1000;
    // Late by 0 to 900 ms, so that some steps hold a document more than others.
    let at_ms = |doc: i64| doc * PERIOD_MS + doc * 7 % 10 * 100;
    let writes = |doc: i64| at_ms(doc) / 20;
    let list: Vec<Value> = (from / step_ms..to / step_ms)
        .filter_map(|step| {
            let first = step * step_ms / PERIOD_MS - 1;
            let docs: Vec<i64> = (first..first + step_ms / PERIOD_MS + 2)
                .filter(|doc| *doc > 0 && at_ms(*doc) / step_ms == step)
                .collect();
            let last = *docs.last()?;
            let queue = |doc: i64| {
                // 200 and 300 ms/s for reads and writes; 0.4 ms for the flushes of a write; 80 ms/s for discards.
                let hour = at_ms(doc) / 3_600_000;
                let discards = if is_b && hour == 3 && at_ms(doc) % 3_600_000 < 600_000 {
                    80.0
                } else {
                    0.0
                };
                let flushes = if is_b { 0.0 } else { 50.0 * 0.4 };
                (500.0 + discards + flushes) / 1000.0
            };
            #[expect(clippy::cast_precision_loss, reason = "documents of a step")]
            let mean = docs.iter().map(|doc| queue(*doc)).sum::<f64>() / docs.len() as f64;
            Some(json!({
                "key": step * step_ms, "queue": {"value": mean},
                "0": {"value": at_ms(last) / 5}, "1": {"value": at_ms(last) * 3 / 10},
                "2": {"value": writes(last)}, "last": {"value": at_ms(last)},
            }))
        })
        .collect();
    Answer::ok(
        &json!({"aggregations": {"groups": {"buckets": [{"over_time": {"buckets": list}}]}}})
            .to_string(),
    )
}

#[test]
fn discards_of_metricbeats_disks_are_computed() {
    let server = Stub::start(metricbeat);
    let asked = DiskQuery {
        index: "metricbeat-*".to_owned(),
        step_s: 60,
        filter: None,
    };
    let reading = read_disks(
        &client(),
        &server.endpoint(),
        &asked,
        &Times::default(),
        &Limits::default(),
    )
    .unwrap();
    let by_host = |host: &str| {
        let name = format!("discard or flush time of sda on {host}");
        reading.series.iter().find(|series| series.name == name)
    };
    let storm = by_host("b").unwrap();
    assert!(storm.values.len() > 1_400);
    for (at_us, value) in storm.times_us.iter().zip(&storm.values) {
        let minute = at_us / 60_000_000 - 1;
        // A document belongs to the ten seconds before it.
        let wanted = match minute {
            180 | 190 => continue,
            181..190 => 80.0,
            _ => 0.0,
        };
        assert!((value - wanted).abs() < 0.2, "minute {minute}: {value}");
    }
    assert!(storm.discard_time.as_ref().unwrap().flush_ms_per_write < 0.001);
    // Flushes follow writes, and so are taken off.
    assert!(by_host("a").is_none());
    assert_eq!(reading.skipped[0].what, "1 disk");
}

#[test]
fn requests_are_split_to_the_bucket_limit() {
    let server = Stub::start(engine(ES7, 25_000));
    let reading = ask(&server, &usual()).unwrap();
    let series = &reading.series[0];
    assert_eq!(series.name, "system.load mean");
    let ends: Vec<i64> = (1..=25_000).map(|minute| minute * 60_000_000).collect();
    assert_eq!(series.times_us, ends);
    let minutes: Vec<f64> = (0..25_000).map(f64::from).collect();
    assert_eq!(series.values, minutes);
    let questions = server.requests();
    let last = body(questions.last().unwrap());
    let histogram = &last["aggs"]["groups"]["aggs"]["over_time"]["date_histogram"];
    assert_eq!(histogram["fixed_interval"], "60s");
    assert_eq!(histogram["min_doc_count"], 1);
    // Groups multiply the number of buckets; the stub above enforces the limit.
    let server = Stub::start(engine(ES6, 9_000));
    let query = Query {
        split_by: Some("host.name".to_owned()),
        filter: Some("host.name:(a OR b)".to_owned()),
        figure: Figure::Percentile(99.0),
        ..usual()
    };
    let reading = ask(&server, &query).unwrap();
    assert_eq!(
        names(&reading),
        ["system.load p99 host.name=a", "system.load p99 host.name=b"]
    );
    assert!(
        reading
            .series
            .iter()
            .all(|series| series.values.len() == 9_000)
    );
    let questions = server.requests();
    let last = body(questions.last().unwrap());
    let histogram = &last["aggs"]["groups"]["aggs"]["over_time"]["date_histogram"];
    assert_eq!(histogram["interval"], "60s");
    let text = last.to_string();
    assert!(
        text.contains(r#""query_string":{"query":"host.name:(a OR b)"}"#),
        "{text}"
    );
    assert!(text.contains(r#""keyed":false"#) && text.contains(r#""percents":[99.0]"#));
}

#[test]
fn counters_become_rates_at_the_ends_of_steps() {
    let answer = json!({"aggregations": {"groups": {"buckets": [{"over_time": {"buckets": [
        {"key": 0, "figure": {"value": 10.0}},
        {"key": 60_000, "figure": {"value": null}},
        {"key": 120_000, "figure": {"value": 130.0}},
        {"key": 180_000, "figure": {"value": 7.0}},
        {"key": 240_000, "figure": {"value": 67.0}},
    ]}}]}}});
    let query = Query {
        figure: Figure::Rate,
        ..usual()
    };
    let answer = answer.to_string();
    let reading = read_answer(answer.as_bytes(), "saved", &query, &Limits::default()).unwrap();
    assert_eq!(reading.series[0].times_us, [180_000_000, 300_000_000]);
    assert_eq!(reading.series[0].values, [1.0, 1.0]);
    assert_eq!(
        reading.series[0].notes,
        [
            "a counter, turned into its rate per second",
            "the counter began anew 1 time: the samples across are left out"
        ]
    );
}

#[test]
fn fields_are_checked_before_searching() {
    let server = Stub::start(engine(ES7, 10));
    let refuses = |query: Query, words: &str| {
        let error = ask(&server, &query).unwrap_err();
        assert!(matches!(error, SourceError::Refused { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(words), "{error}");
    };
    let with = |field: &str| Query::new("m-*", field, 60);
    refuses(
        with("system.lod"),
        "there is no field system.lod; similar: system.load",
    );
    refuses(
        with("text"),
        "no number, but text: text; similar: system.load",
    );
    refuses(with("a,b"), "\"a,b\" is no name of a field");
    refuses(with("a*"), "is no name of a field");
    refuses(Query::new("_all/x", "system.load", 60), "name an index");
    refuses(Query::new("", "system.load", 60), "name an index");
    refuses(Query::new("m", "system.load", 0), "at least 1 s");
    let time = Query {
        time_field: Some("host.name".to_owned()),
        ..usual()
    };
    refuses(time, "no date, but keyword: host.name; similar: @timestamp");
    let split = Query {
        split_by: Some("hostname".to_owned()),
        ..usual()
    };
    refuses(split, "there is no field hostname");
    // No search was sent.
    assert!(
        server
            .requests()
            .iter()
            .all(|head| !head.starts_with("POST"))
    );
}

#[test]
fn the_only_date_field_is_used() {
    for (dates, outcome) in [
        (&["when"][..], "POST"),
        (
            &["one", "other"][..],
            "several fields are dates: name one of one, other",
        ),
        (&[][..], "no field of these documents is a date"),
    ] {
        let mut fields = vec![("system.load", "double")];
        fields.extend(dates.iter().map(|date| (*date, "date")));
        let caps = caps(&fields);
        let server = Stub::start(move |request| match request {
            root if root.starts_with("GET / ") => Answer::ok(ES7),
            page if page.contains("_field_caps") => Answer::ok(&caps),
            _ => Answer::ok(r#"{"aggregations":{"first":{"value":null},"last":{"value":null}}}"#),
        });
        let error = ask(&server, &usual()).unwrap_err();
        if outcome == "POST" {
            assert!(matches!(error, SourceError::Empty { .. }), "{error}");
            let asked = server.requests().pop().unwrap();
            assert!(asked.contains(r#""field":"when""#), "{asked}");
        } else {
            assert!(error.to_string().contains(outcome), "{error}");
        }
    }
}

/// Starts a server that sends this response to searches.
fn searched(answer: Answer) -> Stub {
    Stub::start(move |request| match request {
        root if root.starts_with("GET / ") => Answer::ok(ES7),
        page if page.contains("_field_caps") => Answer::ok(&usual_caps()),
        _ => answer.clone(),
    })
}

#[test]
fn refusals_include_the_servers_message() {
    let reason = r#"{"error":{"root_cause":[{"type":"x","reason":"Failed \u001b[1mto parse"}],"type":"y","reason":"all shards failed"},"status":400}"#;
    let server = searched(Answer::Body(400, reason.as_bytes().to_vec()));
    let error = ask(&server, &usual()).unwrap_err().to_string();
    assert!(
        error.contains("status 400: Failed \\u{1b}[1mto parse"),
        "{error}"
    );
    let server = Stub::start(|_| Answer::Body(401, b"{}".to_vec()));
    let SourceError::Http(error) = ask(&server, &usual()).unwrap_err() else {
        panic!("another error");
    };
    assert!(error.hint().contains("TRIMTAB_PASSWORD"));
    let late = searched(Answer::ok(r#"{"timed_out":true}"#));
    let error = ask(&late, &usual()).unwrap_err().to_string();
    assert!(error.contains("own time limit"), "{error}");
}

#[test]
fn transport_failures_are_errors() {
    let whole = r#"{"aggregations":{"first":{"value":0},"last":{"value":60000}}}"#;
    let half = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
        whole.len(),
        &whole[..20]
    );
    for (answer, words) in [
        (
            Answer::Slow(Duration::from_secs(9), Box::new(Answer::ok("{}"))),
            "not done within",
        ),
        (Answer::Drip(Duration::from_millis(20)), "not done within"),
        (Answer::Endless, "longer than 4000000 bytes"),
        (Answer::Raw(half.into_bytes()), "closed the connection"),
        (Answer::ok("<html>"), "unexpected JSON"),
        (Answer::ok("[]"), "not the times that were asked for"),
        (Answer::ok("{}"), "not the times that were asked for"),
        (Answer::ok(&whole[..20]), "unexpected JSON"),
        // The same response to every request: no buckets.
        (Answer::ok(whole), "no buckets"),
        (
            Answer::Body(502, b"bad gateway".to_vec()),
            "status 502: bad gateway",
        ),
    ] {
        let error = ask(&searched(answer), &usual()).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn failed_shards_are_reported() {
    let answer = json!({
        "_shards": {"total": 5, "failed": 2, "failures": [{"reason": {"reason": "disk \u{1b}gone"}}]},
        "aggregations": {
            "first": {"value": 0}, "last": {"value": 0},
            "groups": {"buckets": [{"over_time": {"buckets": [{"key": 0, "figure": {"value": 1}}]}}]},
        },
    });
    let server = searched(Answer::ok(&answer.to_string()));
    let reading = ask(&server, &usual()).unwrap();
    let wanted = "2 of 5 shards failed, so values are incomplete: disk \\u{1b}gone";
    assert_eq!(reading.warnings, [wanted]);
}

#[test]
fn limits_are_enforced() {
    let server = Stub::start(engine(ES7, 5_000));
    let limits = Limits {
        samples_max: 100,
        series_max: 1,
    };
    let ask = |query: &Query, times: &Times| {
        read(&client(), &server.endpoint(), query, times, &limits).unwrap_err()
    };
    let error = ask(&usual(), &Times::default());
    assert!(matches!(error, SourceError::TooMuch { .. }), "{error}");
    let far = searched(Answer::ok(
        r#"{"aggregations":{"first":{"value":-62e12},"last":{"value":2.5e14}}}"#,
    ));
    let query = Query::new("m", "system.load", 1);
    let error = read(
        &client(),
        &far.endpoint(),
        &query,
        &Times::default(),
        &limits,
    )
    .unwrap_err();
    assert!(matches!(error, SourceError::TooMuch { .. }), "{error}");
}

#[test]
fn servers_are_identified() {
    let build = r#"{"status":"success","data":{"version":"2.42.0+ds"}}"#;
    let plain = r#"{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}"#;
    let opensearch = r#"{"version":{"distribution":"opensearch","number":"2.19.1"}}"#;
    let at = |page: &'static str, answer: &'static str| {
        Stub::start(move |head| {
            if head.starts_with(&format!("GET {page} ")) {
                return Answer::ok(answer);
            }
            if head.starts_with("GET / ") {
                return Answer::Redirect("/graph".to_owned());
            }
            Answer::Body(404, Vec::new())
        })
    };
    for (page, answer, name) in [
        ("/", ES7, "Elasticsearch 7.17.28"),
        ("/", opensearch, "OpenSearch 2.19.1"),
        ("/api/v1/status/buildinfo", build, "Prometheus 2.42.0+ds"),
        ("/api/v1/query?query=1", plain, "Prometheus"),
    ] {
        let server = at(page, answer);
        assert_eq!(
            identify(&client(), &server.endpoint()).unwrap().to_string(),
            name
        );
    }
    let other = at("/x", "");
    let error = identify(&client(), &other.endpoint())
        .unwrap_err()
        .to_string();
    assert!(error.contains("neither"), "{error}");
    assert!(is_before_7_2("7.1.1") && is_before_7_2("6.8.23") && !is_before_7_2("7.2.0-SNAPSHOT"));
    assert!(!is_before_7_2("10.0.0"));
}

proptest! {
    #[test]
    fn any_text_parses_or_fails(text in ".{0,200}") {
        let _ = read_answer(text.as_bytes(), "x", &usual(), &Limits::default());
    }

    /// Arbitrary buckets give finite values in ascending order of time, each time once.
    #[test]
    fn any_buckets_give_a_valid_series(buckets in prop::collection::vec((any::<i64>(), prop::option::of(any::<f64>())), 0..20)) {
        let list: Vec<Value> = buckets.iter()
            .map(|(key, value)| json!({"key": key, "figure": {"value": value}})).collect();
        let answer = json!({"aggregations": {"groups": {"buckets": [{"over_time": {"buckets": list}}]}}});
        for figure in [Figure::Mean, Figure::Rate] {
            let query = Query { figure, ..usual() };
            let outcome = read_answer(answer.to_string().as_bytes(), "x", &query, &Limits::default());
            for series in outcome.iter().flat_map(|reading| &reading.series) {
                prop_assert!(series.times_us.is_sorted_by(|one, next| one < next));
                prop_assert_eq!(series.times_us.len(), series.values.len());
                if figure == Figure::Mean {
                    prop_assert!(series.values.iter().all(|value| value.is_finite()));
                }
            }
        }
    }
}
