//! Tests against a misbehaving server; lab/servers/test-explain.sh tests a real one.

use super::*;
use crate::testing::names;
use bounded_http::Options;
use bounded_http::testing::{Answer, Server};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn client() -> Client {
    Client::new(Options {
        deadline: Duration::from_secs(3),
        body_bytes_max: 200_000,
        ..Options::default()
    })
    .unwrap()
}

fn query(promql: &str) -> Query {
    Query {
        promql: promql.to_owned(),
        step_s: 60,
    }
}

/// The first `count` minutes of the epoch.
fn minutes(count: i64) -> Times {
    Times {
        since: Some(Timestamp::UNIX_EPOCH),
        until: Some(Timestamp::from_second(count * 60).unwrap()),
        ..Times::default()
    }
}

fn ask(server: &Server, times: &Times) -> Result<Reading, SourceError> {
    let limits = Limits::default();
    read(&client(), &server.endpoint(), &query("up"), times, &limits)
}

fn parameter(head: &str, name: &str) -> i64 {
    let from = head.find(&format!("&{name}=")).unwrap() + name.len() + 2;
    let digits: String = head[from..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}

/// Responds as Prometheus would, for a series `up` whose value is the minute.
fn honest(head: &str) -> Vec<u8> {
    let (start, end) = (parameter(head, "start"), parameter(head, "end"));
    let values: Vec<_> = (start / 60..=end / 60)
        .map(|minute| json!([minute * 60, minute.to_string()]))
        .collect();
    let data = json!({"resultType": "matrix", "result": [{"metric": {"__name__": "up"}, "values": values}]});
    json!({"status": "success", "data": data})
        .to_string()
        .into_bytes()
}

#[test]
fn samples_outside_the_asked_times_are_left_out() {
    // One of 1995, one of the time after.
    let server = Server::start(|head| {
        let end = parameter(head, "end");
        let values = json!([[60, "1"], [120, "2"], [end + 60, "9"], [800_000_000, "7"]]);
        let result = json!([{"metric": {"__name__": "up"}, "values": values}]);
        let data = json!({"resultType": "matrix", "result": result});
        let answer = json!({"status": "success", "data": data});
        Answer::Body(200, answer.to_string().into_bytes())
    });
    let reading = ask(&server, &minutes(10)).unwrap();
    assert_eq!(reading.series[0].values, [1.0, 2.0]);
    assert_eq!(reading.skipped[0].what, "2 samples");
    let why = &reading.skipped[0].why;
    assert!(why.contains("outside the times"), "{why}");
}

#[test]
fn requests_are_split_to_prometheus_limit() {
    let server = Server::start(|head| Answer::Body(200, honest(head)));
    let client = Client::new(Options::default()).unwrap();
    let (times, limits) = (minutes(30_000), Limits::default());
    let reading = read(&client, &server.endpoint(), &query("up"), &times, &limits).unwrap();
    let asked: Vec<i64> = server
        .requests()
        .iter()
        .map(|head| (parameter(head, "end") - parameter(head, "start")) / 60 + 1)
        .collect();
    assert_eq!(asked, [11_000, 11_000, 8_000]);
    let series = &reading.series[0];
    assert_eq!(series.name, "up");
    assert_eq!(series.labels["metric"], "up");
    let wanted: Vec<i64> = (0..30_000).map(|minute| minute * 60_000_000).collect();
    assert_eq!(series.times_us, wanted);
    let minutes: Vec<f64> = (0..30_000).map(f64::from).collect();
    assert_eq!(series.values, minutes);
}

#[test]
fn requests_shrink_when_a_response_is_too_large() {
    // 200,000 bytes hold about 10,000 of these points.
    let server = Server::start(|head| Answer::Body(200, honest(head)));
    let reading = ask(&server, &minutes(15_000)).unwrap();
    assert_eq!(reading.series[0].values.len(), 15_000);
    let refusals = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refusals);
    let server = Server::start(move |head| {
        if parameter(head, "end") - parameter(head, "start") < 6_000 {
            return Answer::Body(200, honest(head));
        }
        count.fetch_add(1, Ordering::Relaxed);
        let words = "query processing would load too many samples into memory in query execution";
        let body = json!({"status": "error", "errorType": "execution", "error": words});
        Answer::Body(422, body.to_string().into_bytes())
    });
    let reading = ask(&server, &minutes(300)).unwrap();
    assert_eq!(reading.series[0].values.len(), 300);
    assert!(refusals.load(Ordering::Relaxed) > 0);
}

#[test]
fn unusual_values_labels_and_warnings_are_reported() {
    let answer = json!({
        "status": "success",
        "warnings": ["PromQL warning: \u{1b}[31mred"],
        "data": {"resultType": "matrix", "result": [
            {"metric": {"__name__": "a", "job": "lab", "host": "x\"y"}, "values": [[0, "1"], [60.5, "NaN"], [120, "+Inf"], [180.001, "2e3"]]},
            {"metric": {"__name__": "a", "job": "lab", "host": "z"}, "values": [[60, "-Inf"]]},
            {"metric": {"__name__": "a", "job": "lab"}, "values": [[60, "5"]]},
            {"metric": {"job": "lab"}, "histograms": [[0, {"count": "1"}]]},
        ]},
    });
    let reading = read_answer(answer.to_string().as_bytes(), "saved", &Limits::default()).unwrap();
    assert_eq!(names(&reading), ["a{host=\"x\\\"y\"}", "a"]);
    assert_eq!(reading.series[0].times_us, [0, 180_001_000]);
    assert_eq!(reading.series[0].values, [1.0, 2000.0]);
    assert_eq!(
        reading.series[0].notes,
        ["2 samples left out: no number, or infinite"]
    );
    assert_eq!(reading.skipped[0].what, "a{host=\"z\"}");
    assert!(reading.skipped[1].what.starts_with("histograms"));
    assert_eq!(reading.warnings, ["PromQL warning: \\u{1b}[31mred"]);
}

#[test]
fn queries_are_encoded_and_aligned_to_steps() {
    let server = Server::start(|head| Answer::Body(200, honest(head)));
    let times = Times {
        since: Some(Timestamp::from_millisecond(61_500).unwrap()),
        until: Some(Timestamp::from_second(300).unwrap()),
        ..Times::default()
    };
    let promql = "rate(a{b=~\"c.+ü\"}[5m]) > 0";
    let limits = Limits::default();
    let reading = read(
        &client(),
        &server.endpoint(),
        &query(promql),
        &times,
        &limits,
    )
    .unwrap();
    // From 61.5 s, before 300 s.
    assert_eq!(
        reading.series[0].times_us,
        [120_000_000, 180_000_000, 240_000_000]
    );
    let head = server.requests().remove(0);
    let wanted = "GET /api/v1/query_range?query=rate%28a%7Bb%3D~%22c.%2B%C3%BC%22%7D%5B5m%5D%29%20%3E%200\
                  &start=120&end=240&step=60 HTTP/1.1\r\n";
    assert!(head.starts_with(wanted), "{head}");
}

#[test]
fn refusals_include_the_servers_message() {
    let server = Server::start(|_| {
        let body = r#"{"status":"error","errorType":"bad_data","error":"parse error: \u001b[1m unclosed"}"#;
        Answer::Body(400, body.as_bytes().to_vec())
    });
    let error = ask(&server, &minutes(5)).unwrap_err().to_string();
    assert!(
        error.contains("bad_data: parse error: \\u{1b}[1m unclosed"),
        "{error}"
    );
    let server = Server::start(|_| Answer::Body(401, Vec::new()));
    let SourceError::Http(error) = ask(&server, &minutes(5)).unwrap_err() else {
        panic!("another error");
    };
    assert!(error.hint().contains("TRIMTAB_PASSWORD"));
    let empty = br#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
    let server = Server::start(|_| Answer::Body(200, empty.to_vec()));
    assert!(matches!(
        ask(&server, &minutes(5)).unwrap_err(),
        SourceError::Empty { .. }
    ));
}

#[test]
fn transport_failures_are_errors() {
    let slow = Server::start(|_| Answer::Slow(Duration::from_secs(5), Box::new(Answer::ok("{}"))));
    let drip = Server::start(|_| Answer::Drip(Duration::from_millis(20)));
    let half = Server::start(|head| {
        let body = honest(head);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        Answer::Raw([head.as_bytes(), &body[..body.len() / 2]].concat())
    });
    let cut = Server::start(|head| {
        let body = honest(head);
        Answer::Body(200, body[..body.len() / 2].to_vec())
    });
    let page = Server::start(|_| Answer::ok("<html>"));
    let endless = Server::start(|_| Answer::Endless);
    let scalar = Server::start(|_| {
        Answer::ok(r#"{"status":"success","data":{"resultType":"scalar","result":[]}}"#)
    });
    for (server, words) in [
        (&slow, "not done within"),
        (&drip, "not done within"),
        (&half, "closed the connection"),
        (&cut, "unexpected JSON"),
        (&page, "unexpected JSON"),
        (&endless, "longer than 200000 bytes"),
        (&scalar, "a matrix was expected"),
    ] {
        let error = ask(server, &minutes(50)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn limits_are_enforced() {
    let server = Server::start(|head| Answer::Body(200, honest(head)));
    let limits = Limits {
        samples_max: 99,
        series_max: 1,
    };
    let (client, endpoint) = (client(), server.endpoint());
    let error = read(&client, &endpoint, &query("up"), &minutes(100), &limits).unwrap_err();
    assert!(matches!(error, SourceError::TooMuch { .. }), "{error}");
    let far = Times {
        until: Some(Timestamp::MAX),
        ..minutes(1)
    };
    let error = read(&client, &endpoint, &query("up"), &far, &limits).unwrap_err();
    assert!(matches!(error, SourceError::TooMuch { .. }), "{error}");
    for (promql, step_s) in [("", 60), ("up", 0), (&"x".repeat(5000)[..], 60)] {
        let query = Query {
            promql: promql.to_owned(),
            step_s,
        };
        let error = read(&client, &endpoint, &query, &minutes(1), &limits).unwrap_err();
        assert!(matches!(error, SourceError::Refused { .. }), "{error}");
    }
}

#[test]
fn disks_are_asked_for_in_one_query() {
    let stream = |name: &str, growth: f64| {
        let values: Vec<_> = (0..5)
            .map(|step| json!([step * 60, (f64::from(step) * growth).to_string()]))
            .collect();
        json!({"metric": {"__name__": name, "device": "sda", "instance": "db1:9100"}, "values": values})
    };
    let answer = json!({"status": "success", "data": {"resultType": "matrix", "result": [
        stream("diskio_weighted_io_time", 900.0),
        stream("diskio_read_time", 100.0),
        stream("diskio_write_time", 200.0),
        stream("diskio_writes", 0.0),
    ]}});
    let server = Server::start(move |_| Answer::Body(200, answer.to_string().into_bytes()));
    let asked = DiskQuery {
        step_s: 60,
        filter: Some("job=\"node\"".to_owned()),
    };
    let ask = |server: &Server| {
        read_disks(
            &client(),
            &server.endpoint(),
            &asked,
            &minutes(5),
            &Limits::default(),
        )
    };
    let reading = ask(&server).unwrap();
    assert_eq!(reading.series[0].name, "discard or flush time of sda");
    let values = &reading.series[0].values;
    assert!(values.len() == 4 && values.iter().all(|value| (value - 10.0).abs() < 1e-9));
    let head = &server.requests()[0];
    assert!(head.contains("node_disk_%28io_time_weighted%7C"), "{head}");
    // {__name__=~"...",job="node"}
    assert!(head.contains("%22%2Cjob%3D%22node%22%7D&"), "{head}");
    let empty = br#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
    let server = Server::start(|_| Answer::Body(200, empty.to_vec()));
    let error = ask(&server).unwrap_err().to_string();
    assert!(error.contains("no times of disks"), "{error}");
}

proptest! {
    /// Arbitrary samples come back in order, each time once.
    #[test]
    fn responses_are_read_completely(samples in prop::collection::vec((0_i64..100, -1e9_f64..1e9), 0..50)) {
        let values: Vec<_> = samples.iter().map(|(s, value)| json!([s, value.to_string()])).collect();
        let answer = json!({"status": "success", "data": {"resultType": "matrix",
            "result": [{"metric": {}, "values": values}]}});
        let outcome = read_answer(answer.to_string().as_bytes(), "x", &Limits::default());
        let mut moments: Vec<i64> = samples.iter().map(|(s, _)| s * 1_000_000).collect();
        moments.sort_unstable();
        moments.dedup();
        match outcome {
            Ok(reading) => prop_assert_eq!(&reading.series[0].times_us, &moments),
            Err(error) => prop_assert!(moments.is_empty(), "{}", error),
        }
    }

    #[test]
    fn any_text_parses_or_fails(text in ".{0,200}") {
        let _ = read_answer(text.as_bytes(), "x", &Limits::default());
    }
}
