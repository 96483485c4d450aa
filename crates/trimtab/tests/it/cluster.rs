//! `--cluster` of check and collect: recorded answers of real servers (crates/cluster/tests/data),
//! and servers that fail.

use crate::support::{Tree, repository, run, stderr, stdout, trimtab};
use bounded_http::testing::{Answer, Authority, Server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Output;

pub const SERVERS: [&str; 4] = [
    "elasticsearch-6.8.23",
    "elasticsearch-7.4.2",
    "elasticsearch-7.17.28",
    "opensearch-2.19.1",
];

/// Returns the name of the recorded answer to a request.
fn answer_name(head: &str) -> &'static str {
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path {
        "/" => "root",
        "/_cluster/health" => "health",
        "/_cluster/pending_tasks" => "pending_tasks",
        "/_cluster/settings" => "settings",
        path if path.starts_with("/_cluster/state/") => "state",
        path if path.starts_with("/_nodes/stats/") => "node_stats",
        path if path.ends_with("/hot_threads") => "hot_threads",
        path if path.starts_with("/_nodes/") => "nodes",
        "/_internal/desired_balance" => "desired_balance",
        _ if query.contains("expand_wildcards=closed") => "closed",
        _ => "open",
    }
}

pub fn recorded(server: &str) -> BTreeMap<String, Answer> {
    let directory = repository().join("crates/cluster/tests/data").join(server);
    let pages = std::fs::read_dir(directory).expect("recorded answers");
    pages
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            let body = std::fs::read(&path).expect("an answer");
            (name.into_owned(), Answer::Body(200, body))
        })
        .collect()
}

pub fn replay(answers: BTreeMap<String, Answer>) -> Server {
    Server::start(move |head| answers[answer_name(head)].clone())
}

pub fn check(arguments: &[&str]) -> Output {
    let mut all = vec!["check"];
    all.extend(arguments);
    run(&all)
}

pub fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

/// Returns rule and severity of each finding about the cluster.
pub fn cluster_findings(output: &Output) -> Vec<(String, String)> {
    let document = document(output);
    let findings = document["result"]["findings"].as_array().expect("a list");
    findings
        .iter()
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().expect(key).to_owned();
            (text("rule"), text("severity"))
        })
        .filter(|(rule, _)| rule.starts_with("ES"))
        .collect()
}

#[test]
fn recorded_servers_have_the_expected_findings() {
    for name in SERVERS {
        let server = replay(recorded(name));
        let output = check(&["--cluster", &server.url(""), "--format", "json"]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", stderr(&output));
        let found = cluster_findings(&output);
        let severity = |rule: &str| {
            let of_rule = found.iter().find(|(id, _)| id == rule);
            of_rule.map(|(_, severity)| severity.as_str())
        };
        // lab/servers/test-cluster.sh gives the reasons.
        assert_eq!(severity("ES002").is_some(), name != "elasticsearch-6.8.23");
        let scans = ["elasticsearch-6.8.23", "elasticsearch-7.4.2"].contains(&name);
        let expected = if scans { "info" } else { "warning" };
        assert_eq!(severity("ES004"), Some(expected), "{name}");
        assert_eq!(severity("ES006"), Some("warning"), "{name}");
        assert!(severity("ES008").is_some(), "{name}");
        for rule in ["ES001", "ES007"] {
            assert_eq!(severity(rule), None, "{name}");
        }
    }
}

#[test]
fn cluster_reports_match_the_golden_files() {
    for name in SERVERS {
        let server = replay(recorded(name));
        let url = server.url("");
        for format in ["text", "markdown"] {
            let output = check(&["--cluster", &url, "--format", format]);
            let port = url.rsplit(':').next().expect("a port");
            // Ports mostly have five digits; a placeholder of the same length keeps the line
            // breaks.
            let text = stdout(&output).replace(port, "PORT0");
            if format == "text" {
                // Commands and evidence locations are never wrapped.
                let unbroken = ["GET /", "curl", "-H ", "cluster.routing"];
                let prose = text
                    .lines()
                    .filter(|line| !unbroken.iter().any(|word| line.contains(word)));
                for line in prose {
                    assert!(line.chars().count() <= 80, "{line}");
                }
            }
            if port.len() == 5 {
                insta::with_settings!({ snapshot_path => "../golden", prepend_module_to_snapshot => false, omit_expression => true }, {
                    insta::assert_snapshot!(format!("cluster-{name}.{format}"), text);
                });
            }
        }
    }
}

#[test]
fn every_format_covers_clusters() {
    let server = replay(recorded("elasticsearch-7.4.2"));
    for (format, word) in [
        ("nagios", "TRIMTAB WARNING"),
        ("sarif", "\"ES002\""),
        ("markdown", "ES002"),
    ] {
        let output = check(&["--cluster", &server.url(""), "--format", format]);
        assert_eq!(output.status.code(), Some(1), "{format}");
        assert!(
            stdout(&output).contains(word),
            "{format}: {}",
            stdout(&output)
        );
    }
}

#[test]
fn the_live_fix_is_told_to_be_missing_where_it_is_needed() {
    for (name, code, lead) in [
        (
            "elasticsearch-7.4.2",
            1,
            "The live fix is missing on 1 of 1 master-eligible node.",
        ),
        (
            "elasticsearch-7.17.28",
            0,
            "Elasticsearch 7.17.28 does not need the live fix.",
        ),
        (
            "opensearch-2.19.1",
            0,
            "OpenSearch 2.19.1 does not need the live fix.",
        ),
    ] {
        let server = replay(recorded(name));
        let answer = run(&["livefix", "status", &server.url("")]);
        assert_eq!(answer.status.code(), Some(code), "{}", stderr(&answer));
        let page = stdout(&answer).replace('\n', " ");
        assert!(page.contains(lead), "{page}");
        // What it prints are commands that the program has. An empty directory is no node's.
        let empty = Tree::new();
        for line in stdout(&answer).lines() {
            let Some(command) = line.trim().strip_prefix("sudo trimtab ") else {
                continue;
            };
            let command = command.replace("/etc/elasticsearch", &empty.path());
            let message = stderr(&run(&command.split_whitespace().collect::<Vec<_>>()));
            assert!(
                !message.is_empty() && !message.contains("(usage)"),
                "{command}: {message}"
            );
        }
        assert_eq!(
            page.contains("sudo trimtab livefix install"),
            code == 1,
            "{page}"
        );
    }
}

/// Returns the files of a small host, for bundles.
fn host() -> Tree {
    let tree = Tree::new();
    tree.file("proc/self/mountinfo", "");
    tree.file("proc/sys/kernel/hostname", "n1\n");
    tree
}

#[test]
fn a_bundle_reproduces_the_live_findings() {
    for name in SERVERS {
        let server = replay(recorded(name));
        let url = server.url("");
        let live = check(&["--cluster", &url, "--format", "json"]);
        let tree = host();
        let bundle = format!("{}/bundle.tar.zst", tree.path());
        let output = run(&[
            "collect",
            "--root",
            &tree.path(),
            "--cluster",
            &url,
            "-o",
            &bundle,
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        drop(server);
        let stored = check(&["--bundle", &bundle, "--select", "ES", "--format", "json"]);
        let findings = |output: &Output| {
            let document = document(output);
            let findings = document["result"]["findings"]
                .as_array()
                .expect("a list")
                .clone();
            // ES010 depends on the hosts given: the bundle adds one.
            findings
                .into_iter()
                .filter(|finding| finding["rule"] != "ES010")
                .collect::<Vec<_>>()
        };
        assert_eq!(findings(&live), findings(&stored), "{name}");
        assert_eq!(
            document(&live)["result"]["cluster"]["shards"],
            document(&stored)["result"]["cluster"]["shards"]
        );
    }
}

#[test]
fn an_anonymised_bundle_has_no_names_and_the_same_findings() {
    let server = replay(recorded("elasticsearch-7.17.28"));
    let url = server.url("");
    let tree = host();
    let bundle = format!("{}/bundle.tar.zst", tree.path());
    let output = run(&[
        "collect",
        "--anonymise",
        "--root",
        &tree.path(),
        "--cluster",
        &url,
        "-o",
        &bundle,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let file = std::fs::File::open(&bundle).expect("the bundle");
    let mut archive = tar::Archive::new(zstd::stream::Decoder::new(file).expect("zstd"));
    let mut json = String::new();
    for entry in archive.entries().expect("entries") {
        let mut entry = entry.expect("an entry");
        if entry
            .path()
            .expect("a path")
            .ends_with("trimtab/cluster.json")
        {
            std::io::Read::read_to_string(&mut entry, &mut json).expect("text");
        }
    }
    assert!(json.contains("trimtab.cluster/1"));
    for name in [
        "\"n1\"", "plain", "dense", "risky", "old-1", "old-2", "lab-",
    ] {
        assert!(!json.contains(name), "{name} in {json}");
    }
    // The node had the host's name, and must still have it after anonymisation.
    assert!(json.contains("\"name\": \"host1\""), "{json}");
    let live = check(&["--cluster", &url, "--format", "json", "--ignore", "ES010"]);
    let stored = check(&[
        "--bundle", &bundle, "--select", "ES", "--ignore", "ES010", "--format", "json",
    ]);
    assert_eq!(cluster_findings(&live), cluster_findings(&stored));
}

#[test]
fn a_failing_cluster_is_an_error_with_a_hint() {
    let html = Answer::ok("<html><body>hello</body></html>");
    for (answer, message, hint) in [
        (Answer::Body(401, Vec::new()), "status 401", "TRIMTAB_USER"),
        (html, "found HTML or XML, not JSON", "9200"),
        (Answer::ok("{\"version\""), "half an answer", "9200"),
        (Answer::Body(503, Vec::new()), "status 503", ""),
        (Answer::Silence, "not done within 700ms", ""),
    ] {
        let server = Server::start(move |_| answer.clone());
        let output = check(&["--cluster", &server.url(""), "--timeout", "700ms"]);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert_eq!(stdout(&output), "");
        let error = stderr(&output);
        assert!(error.contains("--cluster"), "{error}");
        assert!(error.contains(message) && error.contains(hint), "{error}");
    }
    // Nothing listens on port 1: no test server is given it.
    let url = "http://127.0.0.1:1";
    let output = check(&["--cluster", url]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("refused"), "{}", stderr(&output));
    // No bundle is written if the cluster does not answer.
    let tree = host();
    let bundle = format!("{}/bundle.tar.zst", tree.path());
    let output = run(&[
        "collect",
        "--root",
        &tree.path(),
        "--cluster",
        url,
        "-o",
        &bundle,
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!std::path::Path::new(&bundle).exists());
}

#[test]
fn missing_parts_are_listed() {
    let mut answers = recorded("elasticsearch-7.4.2");
    let body = br#"{"error":{"type":"security_exception","reason":"user [hunter2]"}}"#;
    answers.insert("settings".to_owned(), Answer::Body(403, body.to_vec()));
    answers.insert("state".to_owned(), Answer::ok("<html>"));
    let server = replay(answers);
    let output = check(&["--cluster", &server.url(""), "--verbose"]);
    let text = stdout(&output);
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains("cluster: cluster settings"), "{text}");
    assert!(joined.contains("status 403 (security_exception)"), "{text}");
    assert!(joined.contains("view_index_metadata"), "{text}");
    assert!(joined.contains("HTML or XML, not JSON"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn secrets_from_the_environment_are_not_printed() {
    let authority = Authority::new();
    let answers = recorded("opensearch-2.19.1");
    let server = Server::start_tls(&authority, &["127.0.0.1"], move |head| {
        if head.to_lowercase().contains("\r\nauthorization: basic ") {
            answers[answer_name(head)].clone()
        } else {
            Answer::Body(401, Vec::new())
        }
    });
    let tree = Tree::new();
    tree.file("ca.pem", authority.pem());
    let ca_file = format!("{}/ca.pem", tree.path());
    let url = server.url("");
    let check = |ca_file: Option<&str>| {
        let mut command = trimtab();
        command
            .args(["-vv", "check", "--exit-zero", "--cluster", &url])
            .env("TRIMTAB_USER", "reader")
            .env("TRIMTAB_PASSWORD", "hunter2");
        if let Some(path) = ca_file {
            command.args(["--ca-file", path]);
        }
        command.output().expect("the binary starts")
    };
    let output = check(Some(&ca_file));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("OpenSearch 2.19.1"));
    assert!(!stdout(&output).contains("hunter2") && !stderr(&output).contains("hunter2"));
    let untrusted = check(None);
    assert_eq!(untrusted.status.code(), Some(2));
    assert!(
        stderr(&untrusted).contains("issuer is not trusted"),
        "{}",
        stderr(&untrusted)
    );
    // Secrets in a URL are refused: other processes can see the command line.
    let output = run(&["check", "--cluster", "https://reader:hunter2@127.0.0.1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!stderr(&output).contains("hunter2"), "{}", stderr(&output));
}

#[test]
fn several_bundles_form_one_cluster() {
    let server = replay(recorded("elasticsearch-7.4.2"));
    let url = server.url("");
    let tree = host();
    let plain = format!("{}/plain.tar.zst", tree.path());
    let with = format!("{}/with.tar.zst", tree.path());
    for (bundle, cluster) in [(&plain, None), (&with, Some(&url))] {
        let root = tree.path();
        let mut arguments = vec!["collect", "--root", &root, "-o", bundle];
        if let Some(url) = cluster {
            arguments.extend(["--cluster", url]);
        }
        let output = run(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let output = check(&["--bundle", &plain, "--bundle", &with, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let document = document(&output);
    assert_eq!(document["result"]["cluster"]["nodes"], 1);
    // The rules about hosts run on both.
    assert_eq!(document["result"]["coverage"]["rules"], 12 + 2 * 21);
    let warnings = document["warnings"].to_string();
    assert!(
        warnings.contains("2 bundles are of a host named n1"),
        "{warnings}"
    );
}

#[test]
fn a_damaged_answer_in_a_bundle_is_an_error_with_its_position() {
    let tree = host();
    for (text, message) in [
        (
            "{\"schema\": \"trimtab.cluster/1\",\n",
            "trimtab/cluster.json:",
        ),
        ("{\"schema\": \"trimtab.cluster/9\"}", "trimtab.cluster/9"),
        ("[]", "trimtab/cluster.json:1"),
    ] {
        tree.file("trimtab/cluster.json", text);
        let output = check(&["--root", &tree.path()]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

/// Writes a configuration with these lines under `[check]`, and returns its path.
fn configuration(tree: &Tree, lines: &str) -> String {
    tree.file("trimtab.toml", &format!("[check]\n{lines}"));
    format!("{}/trimtab.toml", tree.path())
}

#[test]
fn a_configured_cluster_is_checked_with_this_host() {
    let server = replay(recorded("elasticsearch-7.4.2"));
    let tree = host();
    let config = configuration(&tree, &format!("cluster = \"{}\"\n", server.url("")));
    let output = check(&["--config", &config, "--format", "json"]);
    let both = document(&output);
    let source = format!("live, cluster {}", server.url(""));
    assert_eq!(both["source"], source.as_str(), "{}", stderr(&output));
    assert_eq!(both["result"]["cluster"]["nodes"], 1);
    // Host rules run too.
    let rules = both["result"]["rules_run"].to_string();
    assert!(
        rules.contains("TRIM001") && rules.contains("ES002"),
        "{rules}"
    );

    // A cluster named by a flag is checked alone.
    let requests_before = server.requests().len();
    let other = replay(recorded("opensearch-2.19.1"));
    let url = other.url("");
    let output = check(&["--config", &config, "--cluster", &url, "--format", "json"]);
    assert_eq!(
        document(&output)["source"],
        format!("cluster {url}").as_str()
    );

    // The configured cluster is not combined with other hosts.
    let root = tree.path();
    let output = check(&["--config", &config, "--root", &root, "--format", "json"]);
    assert_eq!(document(&output)["result"]["cluster"], Value::Null);
    let bundle = format!("{root}/other.tar.zst");
    let output = run(&[
        "collect", "--config", &config, "--root", &root, "-o", &bundle,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = check(&["--config", &config, "--bundle", &bundle, "--format", "json"]);
    assert_eq!(document(&output)["result"]["cluster"], Value::Null);
    assert_eq!(server.requests().len(), requests_before);

    let bundle = format!("{root}/this.tar.zst");
    let output = run(&["collect", "--config", &config, "-o", &bundle]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = check(&["--bundle", &bundle, "--format", "json"]);
    assert_eq!(document(&output)["result"]["cluster"]["nodes"], 1);
}

#[test]
fn cluster_requests_can_be_configured() {
    let silent = Server::start(|_| Answer::Silence);
    let tree = Tree::new();
    let lines = format!("cluster = \"{}\"\ntimeout = \"400ms\"\n", silent.url(""));
    let config = configuration(&tree, &lines);
    for (flags, limit) in [(&[][..], "400ms"), (&["--timeout", "300ms"], "300ms")] {
        let output = check(&[&["--config", &config][..], flags].concat());
        assert_eq!(output.status.code(), Some(2));
        let error = stderr(&output);
        let expected = format!("not done within {limit}");
        assert!(
            error.contains("[check] cluster: GET") && error.contains(&expected),
            "{error}"
        );
    }

    // TLS with a CA file and a credentials file; credentials in the environment override the file.
    let authority = Authority::new();
    let answers = recorded("elasticsearch-7.4.2");
    let server = Server::start_tls(&authority, &["127.0.0.1"], move |head| {
        answers[answer_name(head)].clone()
    });
    tree.file("ca.pem", authority.pem());
    tree.file("credentials", "api_key = aaa:of-the-file\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(format!("{}/credentials", tree.path()), mode).expect("a mode");
    let lines = format!(
        "ca_file = \"{0}/ca.pem\"\ncredentials_file = \"{0}/credentials\"\n",
        tree.path()
    );
    let config = configuration(&tree, &lines);
    // base64 of "aaa:of-the-file" and of "reader:hunter2".
    for (user, authorization) in [
        (None, "ApiKey YWFhOm9mLXRoZS1maWxl"),
        (Some("reader"), "Basic cmVhZGVyOmh1bnRlcjI="),
    ] {
        let mut command = trimtab();
        command.args(["check", "--exit-zero", "--config", &config]);
        command.args(["--cluster", &server.url("")]);
        if let Some(user) = user {
            command
                .env("TRIMTAB_USER", user)
                .env("TRIMTAB_PASSWORD", "hunter2");
        }
        let output = command.output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let requests = server.requests();
        let headers = requests.last().expect("requests").lines();
        let sent = headers
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        assert_eq!(sent.expect("credentials").1, authorization);
    }
}

#[test]
fn an_invalid_cluster_configuration_is_refused() {
    let tree = host();
    for (lines, expected) in [
        (
            "timeout = \"soon\"\ncluster = \"http://127.0.0.1:1\"\n",
            "[check] timeout: expected a duration",
        ),
        ("cluster = \"es1:9200\"\n", "[check] cluster: "),
        (
            "cluster = \"https://reader:hunter2@es1\"\n",
            "without user and password",
        ),
        ("password = \"hunter2\"\n", "unknown field `password`"),
    ] {
        let config = configuration(&tree, lines);
        let output = check(&["--config", &config, "--timeout", "1s"]);
        assert_eq!(output.status.code(), Some(2), "{lines}");
        let error = stderr(&output);
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    // Connection options without a cluster.
    let config = configuration(&tree, "cluster = \"http://127.0.0.1:1\"\n");
    let root = tree.path();
    for arguments in [
        &["--timeout", "1s"][..],
        &["--ca-file", "/nonexistent"],
        &["--credentials-file", "/nonexistent"],
        &["--config", &config, "--root", &root, "--timeout", "1s"],
    ] {
        let output = check(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = stderr(&output);
        assert!(error.contains("no cluster is given"), "{error}");
        assert!(error.contains("--cluster URL"), "{error}");
    }
}
