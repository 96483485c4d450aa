//! Trials over TLS, against the server that the tests of `bounded_http` use.

use super::run::{Control, Options, RunError, run};
use super::summary::TrialSummary;
use super::{Silent, Target};
use crate::track::Track;
use bounded_http::testing::{Answer, Authority, Server};
use bounded_http::{Credentials, Endpoint, ErrorKind, HttpError, Secret, TlsFault};
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::thread;
use tempfile::NamedTempFile;

fn pem(authority: &Authority) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(authority.pem().as_bytes()).unwrap();
    file
}

/// Options that trust this authority, and have credentials.
fn options(ca_file: Option<&NamedTempFile>) -> bounded_http::Options {
    bounded_http::Options {
        ca_file: ca_file.map(|file| file.path().to_owned()),
        credentials: Credentials::ApiKey(Secret::new("a2V5".to_owned())),
        ..bounded_http::Options::default()
    }
}

fn drive(target: &Target) -> Result<TrialSummary, RunError> {
    let track: Track = r#"
        name = "t"
        [generator.g]
        kind = "updates"
        keys = 1000
        [operation.write]
        kind = "bulk"
        generator = "g"
        index = "i"
        documents = 2000
        [operation.read]
        kind = "get"
        path = "/i/_doc/1"
        [[setup]]
        method = "PUT"
        path = "/i"
        body = "{}"
        [[phase]]
        name = "p"
        load = [
            { operation = "write", clients = 2, count = 20 },
            { operation = "read", rate = "1k/s", connections = 2, count = 50 },
        ]
        "#
    .parse()
    .unwrap();
    run(
        &track,
        target,
        &Options::default(),
        &Control::default(),
        &mut Silent,
        io::sink(),
    )
}

fn answer(request: &str) -> Answer {
    if request.starts_with("POST") {
        // More than one record of TLS, and in chunks.
        let items = format!(r#","items":[{}]}}"#, " ".repeat(100_000));
        Answer::Chunked(vec![br#"{"errors":false"#.to_vec(), items.into_bytes()])
    } else {
        Answer::ok("{}")
    }
}

#[test]
fn a_server_of_a_trusted_authority_is_measured() {
    let authority = Authority::new();
    let file = pem(&authority);
    for (names, by_name) in [(["localhost"], true), (["127.0.0.1"], false)] {
        let server = Server::start_tls(&authority, &names, answer);
        let url = if by_name {
            server.url_by_name() + "/base/"
        } else {
            server.url("/base/")
        };
        let endpoint = Endpoint::parse(&url).unwrap();
        let target = Target::at(&endpoint, &options(Some(&file))).unwrap();
        assert_eq!(format!("{target}/"), url);
        assert!(!format!("{target:?}").contains("a2V5"));
        let summary = drive(&target).unwrap();
        assert!(summary.is_complete(), "{:?}", summary.end);
        let classes = &summary.phases[0].classes;
        assert_eq!((classes[0].succeeded(), classes[1].succeeded()), (20, 50));
        assert_eq!(classes[0].documents_written, 20 * 2000);
        // A connection to see that the server is there, one for the setup, four for the phase.
        assert_eq!(server.connections(), 6);
        let requests = server.requests();
        assert_eq!(requests.len(), 71);
        assert!(
            requests[0].starts_with("PUT /base/i HTTP/1.1\r\n"),
            "{}",
            requests[0]
        );
        for request in &requests {
            assert!(request.contains("\r\nauthorization: ApiKey a2V5\r\n"));
            assert!(request.contains(" /base/"));
            // A bulk body has two lines a document, and came whole.
            if request.starts_with("POST") {
                let body = request.split_once("\r\n\r\n").unwrap().1;
                assert_eq!(body.lines().count(), 4000);
            }
        }
    }
}

#[test]
fn a_server_of_an_unknown_authority_is_refused_with_the_way_out() {
    let server = Server::start_tls(&Authority::new(), &["localhost"], answer);
    let endpoint = Endpoint::parse(&server.url_by_name()).unwrap();
    let other = pem(&Authority::new());
    for ca_file in [None, Some(&other)] {
        let target = Target::at(&endpoint, &options(ca_file)).unwrap();
        let error = drive(&target).unwrap_err();
        let RunError::Tls(HttpError { kind, .. }) = &error else {
            panic!("{error}");
        };
        if ca_file.is_none() {
            assert_eq!(*kind, ErrorKind::Tls(TlsFault::UnknownIssuer));
            let text = error.to_string();
            assert!(text.contains(&target.to_string()), "{text}");
            assert!(text.contains("issuer is not trusted"), "{text}");
            assert!(text.contains("--ca-file"), "{text}");
        }
    }
    assert!(server.requests().is_empty());
    let trustful = bounded_http::Options {
        accept_invalid_certificates: true,
        ..options(None)
    };
    let summary = drive(&Target::at(&endpoint, &trustful).unwrap()).unwrap();
    assert!(summary.is_complete());
}

#[test]
fn an_endpoint_that_cannot_be_a_target_is_refused() {
    let at = |url: &str, options: &bounded_http::Options| {
        let error = Target::at(&Endpoint::parse(url).unwrap(), options).unwrap_err();
        (error.kind, error.request)
    };
    let (kind, request) = at("http://es1:9200/?x=y", &bounded_http::Options::default());
    assert_eq!(
        (kind, &request[..]),
        (ErrorKind::Path, "http://es1:9200/?...")
    );
    let bad = bounded_http::Options {
        ca_file: Some("/nonexistent".into()),
        ..bounded_http::Options::default()
    };
    assert!(matches!(at("https://es1", &bad).0, ErrorKind::Setup(_)));
    let bad = bounded_http::Options {
        credentials: Credentials::Bearer(Secret::new("a\nb".to_owned())),
        ..bounded_http::Options::default()
    };
    let (kind, _) = at("http://es1", &bad);
    assert!(
        matches!(&kind, ErrorKind::Setup(reason) if !reason.contains("a\nb")),
        "{kind}"
    );
}

#[test]
fn the_wrong_scheme_is_named_as_the_fault() {
    // As Elasticsearch without TLS answers what is not HTTP.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1000]).unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    let endpoint = Endpoint::parse(&format!("https://{address}")).unwrap();
    let text = drive(&Target::at(&endpoint, &options(None)).unwrap()).unwrap_err();
    server.join().unwrap();
    assert!(
        matches!(&text, RunError::Tls(error) if error.kind == ErrorKind::Tls(TlsFault::NotTls))
    );
    assert!(text.to_string().contains("use http://"), "{text}");

    let server = Server::start_tls(&Authority::new(), &["localhost"], answer);
    let url = server.url_by_name().replace("https://", "http://");
    let target = Target::at(&Endpoint::parse(&url).unwrap(), &options(None)).unwrap();
    let text = drive(&target).unwrap_err();
    assert!(matches!(text, RunError::Setup(_)), "{text}");
    assert!(text.to_string().contains("https://"), "{text}");
}
