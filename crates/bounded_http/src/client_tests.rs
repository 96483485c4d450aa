//! Tests of the client against a real server that misbehaves.

use crate::testing::{Answer, Authority, Server};
use crate::{
    Client, Credentials, Endpoint, ErrorKind, HttpError, Options, Secret, Stage, TlsFault,
};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn client() -> Client {
    Client::new(Options::default()).unwrap()
}

/// A client with a short deadline.
fn impatient_client() -> Client {
    Client::new(Options {
        deadline: Duration::from_millis(300),
        ..Options::default()
    })
    .unwrap()
}

fn kind(outcome: Result<crate::Response, HttpError>) -> ErrorKind {
    let error = outcome.unwrap_err();
    assert!(!error.hint().is_empty());
    error.kind
}

#[test]
fn a_response_has_its_status_and_body() {
    let server = Server::start(|_| Answer::Body(408, b"{\"timed_out\":true}".to_vec()));
    let response = client()
        .get(&server.endpoint(), "/_cluster/health?level=cluster")
        .unwrap();
    assert_eq!(response.status, 408);
    assert_eq!(
        response.json::<serde_json::Value>().unwrap()["timed_out"],
        true
    );
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /_cluster/health?level=cluster HTTP/1.1\r\n"));
    // Responses are not decompressed.
    assert!(!requests[0].to_ascii_lowercase().contains("accept-encoding"));
}

#[test]
fn a_json_body_is_sent_completely() {
    let server = Server::start(|_| Answer::Body(400, b"{\"took\":1}".to_vec()));
    let client = Client::new(Options {
        credentials: Credentials::Bearer(Secret::new("key".to_owned())),
        ..Options::default()
    })
    .unwrap();
    let question = serde_json::json!({"query": {"match_all": {}}, "text": "\u{e9}".repeat(50_000)});
    let response = client
        .post_json(&server.endpoint(), "/a,b/_search?size=0", &question)
        .unwrap();
    assert_eq!(response.status, 400);
    let error = response.success().unwrap_err().to_string();
    assert!(error.starts_with("POST http://127.0.0.1:"), "{error}");
    assert!(
        error.ends_with("/a,b/_search: status 400: {\"took\":1}"),
        "{error}"
    );
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /a,b/_search?size=0 HTTP/1.1\r\n"));
    let head = head.to_ascii_lowercase();
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("authorization: bearer key"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, question);
    // The connection is intact: it is reused, also after the server has closed it.
    client.post_json(&server.endpoint(), "/x", &1).unwrap();
    assert_eq!(server.connections(), 1);
    server.close_connections();
    client.post_json(&server.endpoint(), "/x", &2).unwrap();
    assert!(server.requests()[2].ends_with("\r\n\r\n2"));
}

#[test]
fn chunks_are_joined() {
    let server = Server::start(|_| Answer::Chunked(vec![b"[1,".to_vec(), b"2]".to_vec()]));
    let numbers: Vec<u32> = client().get_json(&server.endpoint(), "").unwrap();
    assert_eq!(numbers, [1, 2]);
}

#[test]
fn get_json_rejects_a_status_and_sanitizes_its_text() {
    let server = Server::start(|_| Answer::Body(503, b"no\r\n\x1b[31mmaster".to_vec()));
    let error = client()
        .get_json::<serde_json::Value>(&server.endpoint(), "/x?key=hunter2")
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with("/x: status 503: no \\u{1b}[31mmaster"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_401_hints_at_credentials() {
    let server = Server::start(|_| Answer::Body(401, Vec::new()));
    let error = client()
        .get(&server.endpoint(), "")
        .unwrap()
        .success()
        .unwrap_err();
    assert_eq!(
        error.kind,
        ErrorKind::Status {
            code: 401,
            body: String::new()
        }
    );
    assert!(error.hint().contains("TRIMTAB_PASSWORD"));
}

#[test]
fn redirects_are_not_followed_and_carry_no_credentials() {
    let other = Server::start(|_| Answer::ok("{}"));
    let target = other.url("/login?token=hunter2");
    let server = Server::start(move |_| Answer::Redirect(target.clone()));
    let client = Client::new(Options {
        credentials: Credentials::Bearer(Secret::new("key".to_owned())),
        ..Options::default()
    })
    .unwrap();
    let error = client
        .get_json::<serde_json::Value>(&server.endpoint(), "")
        .unwrap_err();
    assert_eq!(
        error.kind,
        ErrorKind::Redirect {
            code: 302,
            location: other.url("/login")
        }
    );
    assert!(other.requests().is_empty());
}

#[test]
fn credentials_are_sent() {
    let server = Server::start(|_| Answer::ok("{}"));
    let client = Client::new(Options {
        credentials: Credentials::Basic {
            user: "Aladdin".to_owned(),
            password: Secret::new("open sesame".to_owned()),
        },
        ..Options::default()
    })
    .unwrap();
    client.get(&server.endpoint(), "").unwrap();
    let head = server.requests().remove(0).to_ascii_lowercase();
    // RFC 7617, section 2; in lower case.
    assert!(
        head.contains("authorization: basic qwxhzgrpbjpvcgvuihnlc2ftzq=="),
        "{head}"
    );
    assert!(!format!("{client:?}").contains("sesame"));
    assert!(!client.sends_secrets_in_clear(&server.endpoint()));
    let remote = Endpoint::parse("http://es1.example").unwrap();
    assert!(client.sends_secrets_in_clear(&remote));
}

#[test]
fn credentials_that_cannot_be_sent_are_rejected() {
    let credentials = Credentials::ApiKey(Secret::new("a\nb".to_owned()));
    let options = Options {
        credentials,
        ..Options::default()
    };
    assert!(matches!(
        Client::new(options).unwrap_err().kind,
        ErrorKind::Setup(_)
    ));
}

#[test]
fn the_deadline_covers_every_stage() {
    let silent = Server::start(|_| Answer::Silence);
    let slow = Server::start(|_| Answer::Slow(Duration::from_secs(5), Box::new(Answer::ok("{}"))));
    let drip = Server::start(|_| Answer::Drip(Duration::from_millis(20)));
    // Accepts connections but never answers the TLS handshake.
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf_url = format!("https://{}", deaf.local_addr().unwrap());
    let limit = Duration::from_millis(300);
    for (endpoint, stage) in [
        (silent.endpoint(), Stage::Unknown),
        (slow.endpoint(), Stage::Unknown),
        (drip.endpoint(), Stage::Body),
        (Endpoint::parse(&deaf_url).unwrap(), Stage::Unknown),
    ] {
        let start = Instant::now();
        let found = kind(impatient_client().get(&endpoint, ""));
        assert_eq!(found, ErrorKind::Timeout { limit, stage }, "{endpoint}");
        // Not a measurement: the servers finish only after many seconds, or never.
        assert!(start.elapsed() < Duration::from_secs(4), "{endpoint}");
    }
}

#[test]
fn an_endless_body_hits_the_limit() {
    let server = Server::start(|_| Answer::Endless);
    let long = Server::start(|_| Answer::Body(200, vec![b'x'; 1001]));
    let fits = Server::start(|_| Answer::Body(200, vec![b'x'; 1000]));
    let client = Client::new(Options {
        body_bytes_max: 1000,
        ..Options::default()
    })
    .unwrap();
    for server in [&server, &long] {
        let found = kind(client.get(&server.endpoint(), ""));
        assert_eq!(found, ErrorKind::TooLarge { limit_bytes: 1000 });
    }
    assert_eq!(client.get(&fits.endpoint(), "").unwrap().body.len(), 1000);
}

#[test]
fn an_endless_head_hits_the_limit() {
    let server = Server::start(|_| {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        for _ in 0..20_000 {
            head.extend(b"X-Filler: xxxxxxxxxxxxxxxxxxxxxxxx\r\n");
        }
        Answer::Raw(head)
    });
    let found = kind(client().get(&server.endpoint(), ""));
    assert!(
        matches!(found, ErrorKind::TooLarge { .. } | ErrorKind::NotHttp(_)),
        "{found}"
    );
}

#[test]
fn garbage_is_not_http() {
    let server = Server::start(|_| Answer::Raw(b"\x15\x03\x03\x00\x02\x02\x16\r\n\r\n".to_vec()));
    let found = kind(client().get(&server.endpoint(), ""));
    assert!(matches!(found, ErrorKind::NotHttp(_)), "{found}");
}

#[test]
fn a_truncated_response_is_an_error() {
    for raw in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\nConte",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}",
    ] {
        let server = Server::start(move |_| Answer::Raw(raw.to_vec()));
        let found = kind(client().get(&server.endpoint(), ""));
        assert_eq!(found, ErrorKind::Cut, "{}", String::from_utf8_lossy(raw));
    }
}

#[test]
fn json_of_another_shape_is_an_error() {
    let deep = "[".repeat(100_000);
    for body in ["<html>", "{\"a\":", "", &deep] {
        let owned = body.to_owned();
        let server = Server::start(move |_| Answer::ok(&owned));
        let error = client()
            .get_json::<serde_json::Value>(&server.endpoint(), "")
            .unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Json(_)), "{error}");
    }
}

#[test]
fn refused_connections_and_unknown_hosts_are_distinct_errors() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let nobody = Endpoint::parse(&format!("http://127.0.0.1:{port}")).unwrap();
    assert_eq!(kind(client().get(&nobody, "")), ErrorKind::Refused);
    // RFC 6761: .invalid never resolves. Without a name service it fails in the same way.
    let nowhere = Endpoint::parse("http://trimtab.invalid").unwrap();
    let found = kind(client().get(&nowhere, ""));
    assert!(
        matches!(
            found,
            ErrorKind::Resolve(_)
                | ErrorKind::Timeout {
                    stage: Stage::Name,
                    ..
                }
        ),
        "{found}"
    );
}

#[test]
fn an_invalid_path_is_rejected() {
    let client = client();
    let page = Endpoint::parse("http://127.0.0.1:1/a?q=1").unwrap();
    assert_eq!(kind(client.get(&page, "/b")), ErrorKind::Path);
    let base = Endpoint::parse("http://127.0.0.1:1").unwrap();
    assert_eq!(kind(client.get(&base, "/b\r\nX: 1")), ErrorKind::Path);
}

#[test]
fn a_request_is_retried_if_the_server_closed_a_kept_connection() {
    let server = Server::start(|_| Answer::ok("{}"));
    let client = client();
    for _ in 0..5 {
        client.get(&server.endpoint(), "").unwrap();
        server.close_connections();
    }
    // Closes on the second request: only the request itself can notice.
    let server = Server::start({
        let count = std::sync::atomic::AtomicUsize::new(0);
        move |_| match count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            1 => Answer::Raw(Vec::new()),
            _ => Answer::ok("{}"),
        }
    });
    client.get(&server.endpoint(), "").unwrap();
    client.get(&server.endpoint(), "").unwrap();
    assert_eq!((server.requests().len(), server.connections()), (3, 2));
}

#[test]
fn shutting_down_aborts_pending_requests() {
    let server = Server::start(|_| Answer::Silence);
    let client = Client::new(Options {
        deadline: Duration::from_mins(5),
        ..Options::default()
    })
    .unwrap();
    let endpoint = server.endpoint();
    let waiting = std::thread::spawn({
        let client = client.clone();
        move || client.get(&endpoint, "")
    });
    while server.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    client.shut_down();
    waiting.join().unwrap().unwrap_err();
    client.get(&server.endpoint(), "").unwrap_err();
}

/// Writes the authority's certificate to a file.
fn pem(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn trusting(authority: &Authority) -> Client {
    let file = pem(authority.pem());
    Client::new(Options {
        ca_file: Some(file.path().to_owned()),
        ..Options::default()
    })
    .unwrap()
}

#[test]
fn tls_requires_a_trusted_authority() {
    let authority = Authority::new();
    let server = Server::start_tls(&authority, &["localhost"], |_| Answer::ok("{}"));
    let endpoint = Endpoint::parse(&server.url_by_name()).unwrap();
    let found = kind(client().get(&endpoint, ""));
    assert_eq!(found, ErrorKind::Tls(TlsFault::UnknownIssuer));
    let found = kind(trusting(&Authority::new()).get(&endpoint, ""));
    assert!(matches!(found, ErrorKind::Tls(_)), "{found}");
    assert!(server.requests().is_empty());
    assert_eq!(trusting(&authority).get(&endpoint, "").unwrap().body, b"{}");
}

#[test]
fn the_tls_configuration_for_other_clients_trusts_whom_the_client_trusts() {
    let authority = Authority::new();
    let server = Server::start_tls(&authority, &["localhost"], |_| Answer::ok("{}"));
    let endpoint = Endpoint::parse(&server.url_by_name()).unwrap();
    let handshake = |options: &Options| {
        let config = Arc::new(options.tls_config().unwrap());
        let name = endpoint.host().to_owned().try_into().unwrap();
        let mut connection = rustls::ClientConnection::new(config, name).unwrap();
        let mut stream = TcpStream::connect(("localhost", endpoint.port())).unwrap();
        let outcome = connection.complete_io(&mut stream);
        outcome.map(|_| ()).map_err(|error| TlsFault::of(&error))
    };
    let file = pem(authority.pem());
    let trusting = Options {
        ca_file: Some(file.path().to_owned()),
        ..Options::default()
    };
    let trustful = Options {
        accept_invalid_certificates: true,
        ..Options::default()
    };
    assert_eq!(handshake(&trusting), Ok(()));
    assert_eq!(handshake(&trustful), Ok(()));
    let refused = handshake(&Options::default());
    assert_eq!(refused, Err(Some(TlsFault::UnknownIssuer)));
    let missing = Options {
        ca_file: Some("/nonexistent".into()),
        ..Options::default()
    };
    assert!(matches!(
        missing.tls_config().unwrap_err().kind,
        ErrorKind::Setup(_)
    ));
}

#[test]
fn tls_requires_a_matching_name_and_a_valid_date() {
    let authority = Authority::new();
    let client = trusting(&authority);
    let named = Server::start_tls(&authority, &["es1.example"], |_| Answer::ok("{}"));
    for url in [named.url_by_name(), named.url("")] {
        let found = kind(client.get(&Endpoint::parse(&url).unwrap(), ""));
        assert_eq!(found, ErrorKind::Tls(TlsFault::WrongName), "{url}");
    }
    let expired = Server::start_expired(&authority, &["localhost"]);
    let found = kind(client.get(&Endpoint::parse(&expired.url_by_name()).unwrap(), ""));
    assert_eq!(found, ErrorKind::Tls(TlsFault::Expired));
    assert!(named.requests().is_empty() && expired.requests().is_empty());
    // An address is a name like any other.
    let address = Server::start_tls(&authority, &["127.0.0.1"], |_| Answer::ok("{}"));
    assert_eq!(client.get(&address.endpoint(), "").unwrap().status, 200);
}

#[test]
fn a_certificate_of_an_authority_is_named_as_the_fault() {
    let authority = Authority::new();
    let server = Server::start_as_authority(&authority, &["localhost"]);
    let endpoint = Endpoint::parse(&server.url_by_name()).unwrap();
    let error = trusting(&authority).get(&endpoint, "").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Tls(TlsFault::Authority));
    assert!(error.to_string().contains("CA:TRUE"), "{error}");
    assert!(error.hint().contains("--ca-file"), "{}", error.hint());
    assert!(!error.hint().contains("TLS 1.2"), "{}", error.hint());
}

#[test]
fn a_server_that_hangs_up_on_tls_may_be_unencrypted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(8) {
            drop(stream);
        }
    });
    for (scheme, needed) in [("https", "needs http://"), ("http", "needs https://")] {
        let endpoint = Endpoint::parse(&format!("{scheme}://{address}")).unwrap();
        let error = impatient_client().get(&endpoint, "").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cut, "{error}");
        assert!(error.hint().contains(needed), "{error}: {}", error.hint());
    }
}

#[test]
fn any_certificate_is_accepted_on_request() {
    let server = Server::start_tls(&Authority::new(), &["x.example"], |_| Answer::ok("{}"));
    let options = Options {
        accept_invalid_certificates: true,
        ..Options::default()
    };
    let client = Client::new(options).unwrap();
    assert_eq!(client.get(&server.endpoint(), "").unwrap().status, 200);
}

#[test]
fn tls_and_plaintext_do_not_mix() {
    let plain = Server::start(|_| Answer::ok("{}"));
    let url = plain.url("").replace("http://", "https://");
    let found = kind(impatient_client().get(&Endpoint::parse(&url).unwrap(), ""));
    // The test server waits for a line ending among the handshake's bytes; a real one returns an
    // error.
    assert!(matches!(found, ErrorKind::Timeout { .. }), "{found}");
    let complaining = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", complaining.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = complaining.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        std::thread::sleep(Duration::from_secs(2));
    });
    let found = kind(client().get(&Endpoint::parse(&url).unwrap(), ""));
    assert_eq!(found, ErrorKind::Tls(TlsFault::NotTls));
}

#[test]
fn an_unusable_ca_file_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let texts = [
        "",
        "no certificate",
        broken,
        "-----BEGIN CERTIFICATE-----\n!",
    ];
    let files: Vec<_> = texts.iter().map(|text| pem(text)).collect();
    let mut paths: Vec<_> = files.iter().map(|file| file.path().to_owned()).collect();
    paths.push(directory.path().join("missing"));
    for path in paths {
        let options = Options {
            ca_file: Some(path.clone()),
            ..Options::default()
        };
        let error = Client::new(options).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Setup(_)), "{error}");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
    }
}
