//! `trimtab bench`: trials on a responder, kept whatever ends them, and comparisons.

use crate::support::{repository, run, stderr, stdout, trimtab};
use bench::testing::{Behaviour, Responder};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TRACK: &str = r#"
name = "small"
seed = 7

[generator.metrics]
kind = "metricbeat"

[operation.index]
kind = "bulk"
generator = "metrics"
index = "metrics"
documents = 20

[operation.page]
kind = "get"
path = "/page"

[[phase]]
name = "warm-up"
kind = "warm-up"
duration = "500ms"
load = [{ operation = "page", clients = 1 }]

[[phase]]
name = "steady"
duration = "DURATION"
load = [
    { operation = "index", clients = 1 },
    { operation = "page", rate = "300/s", arrivals = "poisson" },
]
"#;

struct Bench {
    folder: tempfile::TempDir,
    responder: Responder,
}

impl Bench {
    fn new(duration: &str, behaviour: Behaviour) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let track = TRACK.replace("DURATION", duration);
        fs::write(folder.path().join("small.toml"), track).unwrap();
        Self {
            folder,
            responder: Responder::start(behaviour),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = trimtab();
        command
            .current_dir(self.folder.path())
            .args(["bench", "run", "small.toml", "--target"])
            .arg(format!("http://{}", self.responder.address()))
            .args(more);
        command
    }
}

/// The only folder below a folder.
fn only_folder(below: &Path) -> PathBuf {
    let mut folders = fs::read_dir(below)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let found = folders.next().expect("a trial's folder");
    assert!(folders.next().is_none());
    found
}

fn document(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("trial.json")).unwrap()).unwrap()
}

#[test]
fn a_trial_is_measured_judged_and_kept() {
    let bench = Bench::new("3s", Behaviour::default());
    let output = bench.command(&["--format", "json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    assert_eq!(answer["schema"], "trimtab.bench/1");
    let schema: Value = serde_json::from_slice(&run(&["bench", "--schema"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&answer)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    let trial = &answer["result"]["trials"][0]["trial"];
    // Whether it is valid depends on what else this machine does.
    let reasons = trial["judgement"]["reasons"].as_array().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!reasons.is_empty())));
    assert_eq!(trial["state"], "complete");
    let operations = trial["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 2);
    let (index, page) = (&operations[0], &operations[1]);
    // A Poisson process of 300 a second for 3 s: 900, give or take five standard deviations.
    let pages = page["succeeded"].as_f64().unwrap();
    assert!((pages - 900.0).abs() < 150.0, "{pages}");
    let documents = index["documents_per_s"].as_f64().unwrap();
    let requests = index["requests_per_s"].as_f64().unwrap();
    assert!((documents / requests - 20.0).abs() < 1e-6);
    assert_eq!(page["errors"], serde_json::json!({}));

    let folder = only_folder(&bench.path("trials"));
    assert_eq!(document(&folder), *trial);
    assert_eq!(
        fs::read_to_string(folder.join("track.toml")).unwrap(),
        fs::read_to_string(bench.path("small.toml")).unwrap()
    );
    for (file, column) in [
        ("client.csv", "index_latency_p99_ms"),
        ("host.csv", "cpu_steal"),
    ] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.lines().next().unwrap().contains(column), "{file}");
        assert!(text.lines().count() > 2, "{file}: {text}");
    }
    // Rally's format has the same figures.
    let race = fs::read(folder.join("race.json")).unwrap();
    let race = bench::results::read_race("race.json", &race).unwrap();
    let task = &race.results[0].tasks[1];
    assert_eq!(task.task, "page");
    let p99 = page["latency"]["p99_ms"].as_f64().unwrap();
    assert!(task.times["latency"].percentiles.contains(&(99.0, p99)));

    let explained = run(&[
        "explain",
        folder.to_str().unwrap(),
        "--jobs",
        "none",
        "--format",
        "json",
    ]);
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
    let series = explained["result"]["series"].as_array().unwrap();
    let named = |name: &str| series.iter().any(|series| series["name"] == name);
    assert!(named("page_latency_p99_ms") && named("cpu_steal"));
}

#[test]
fn errors_of_the_server_make_a_trial_invalid() {
    let behaviour = Behaviour {
        errors: vec![(10, 503)],
        ..Behaviour::default()
    };
    let bench = Bench::new("2s", behaviour);
    let output = bench.command(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("INVALID: "), "{text}");
    let trial = document(&only_folder(&bench.path("trials")));
    let reasons = trial["judgement"]["reasons"].as_array().unwrap();
    let errors: Vec<&Value> = reasons
        .iter()
        .filter(|reason| reason["check"] == "errors")
        .collect();
    // Both operations.
    assert_eq!(errors.len(), 2, "{reasons:?}");
    assert!(trial["operations"][0]["errors"]["status5xx"].as_u64() > Some(0));
}

#[test]
fn mongodb_is_not_loaded_and_the_error_says_what_to_do_instead() {
    for url in ["mongodb://localhost:27017/x", "mongodb+srv://db1/x"] {
        let output = run(&["bench", "run", "ingest", "--target", url]);
        assert_eq!(output.status.code(), Some(2));
        let error = stderr(&output);
        assert!(error.contains("error (usage): --target: "), "{error}");
        assert!(error.contains("YCSB"), "{error}");
    }
}

/// Waits until a trial has measured for about two seconds.
fn wait_for_rows(folder: &Path, rows: usize) -> PathBuf {
    let until = Instant::now() + Duration::from_mins(2);
    while Instant::now() < until {
        if let Ok(mut entries) = fs::read_dir(folder)
            && let Some(Ok(entry)) = entries.next()
            && let Ok(text) = fs::read_to_string(entry.path().join("client.csv"))
            && text.lines().count() > rows
        {
            return entry.path();
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("no rows in {}", folder.display());
}

#[test]
fn what_a_killed_trial_measured_is_readable() {
    let bench = Bench::new("10m", Behaviour::default());
    let mut child = bench
        .command(&["--into", "killed"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let folder = wait_for_rows(&bench.path("killed"), 4);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(document(&folder)["state"], "running");
    let folder = folder.to_str().unwrap();
    let explained = run(&["explain", folder, "--jobs", "none"]);
    assert_ne!(explained.status.code(), Some(2), "{}", stderr(&explained));
    // A trial of its own is no set, but its figures are read.
    let compared = run(&["bench", "compare", folder, folder]);
    let refused = stderr(&compared);
    assert!(refused.contains("it did not end"), "{refused}");
    let compared = run(&["bench", "compare", folder, folder, "--include-invalid"]);
    assert!(!stderr(&compared).contains("did not end"));
}

#[test]
fn a_signal_ends_a_trial_and_keeps_it() {
    let bench = Bench::new("10m", Behaviour::default());
    let mut child = bench
        .command(&["--into", "stopped"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let folder = wait_for_rows(&bench.path("stopped"), 3);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let trial = document(&folder);
    assert_eq!(trial["state"], "stopped");
    let reasons = trial["judgement"]["reasons"].as_array().unwrap();
    assert_eq!(reasons[0]["check"], "incomplete");
    // Requests that were on their way did not fail.
    assert!(reasons.iter().all(|reason| reason["check"] != "errors"));
    assert!(trial["operations"][0]["succeeded"].as_u64() > Some(0));
}

#[test]
fn two_tracks_alternate_and_are_compared() {
    let bench = Bench::new("2s", Behaviour::default());
    fs::copy(bench.path("small.toml"), bench.path("other.toml")).unwrap();
    let output = bench
        .command(&[
            "other.toml",
            "--interleave",
            "--trials",
            "2",
            "--into",
            "ab",
        ])
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
    let mut all: Vec<(String, &str)> = Vec::new();
    for side in ["a", "b"] {
        for entry in fs::read_dir(bench.path("ab").join(side)).unwrap() {
            let trial = document(&entry.unwrap().path());
            all.push((trial["started_at"].as_str().unwrap().to_owned(), side));
        }
    }
    all.sort();
    let order: Vec<&str> = all.iter().map(|(_, side)| *side).collect();
    assert_eq!(order, ["a", "b", "b", "a"]);
    let compared = trimtab()
        .current_dir(bench.folder.path())
        .args(["bench", "compare", "ab/a", "ab/b", "--include-invalid"])
        .args(["--format", "json"])
        .output()
        .unwrap();
    let compared: Value = serde_json::from_slice(&compared.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&compared)));
    let comparisons = compared["result"]["comparisons"].as_array().unwrap();
    let throughput = comparisons
        .iter()
        .find(|one| one["operation"] == "index" && one["metric"] == "throughput mean");
    assert_eq!(throughput.unwrap()["trials"], serde_json::json!([2, 2]));
}

#[test]
fn a_full_disk_keeps_what_was_measured() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let bench = Bench::new("10m", Behaviour::default());
    let small = bench.path("small-disk");
    fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "trimtab-bench"])
        .arg(&small)
        .status()
        .unwrap();
    assert!(mounted.success());
    let output = bench.command(&["--into", "small-disk"]).output().unwrap();
    let folder = only_folder(&small);
    let explained = run(&["explain", folder.to_str().unwrap(), "--jobs", "none"]);
    let compared = run(&[
        "bench",
        "compare",
        folder.to_str().unwrap(),
        folder.to_str().unwrap(),
    ]);
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    let told = stdout(&output) + &stderr(&output);
    assert_ne!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("No space left"), "{told}");
    assert_ne!(explained.status.code(), Some(2), "{}", stderr(&explained));
    // Its figures are there: what is wrong with it is that it did not end.
    assert!(
        !stderr(&compared).contains("no whole record"),
        "{}",
        stderr(&compared)
    );
}

#[test]
fn wrong_calls_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let warm = file(
        "warm.toml",
        "name = \"x\"\n[operation.a]\nkind = \"get\"\npath = \"/\"\n[[phase]]\nname = \"p\"\nkind = \"warm-up\"\n\
         load = [{ operation = \"a\", clients = 1, count = 1 }]\n",
    );
    let bad = file(
        "bad.toml",
        "name = \"x\"\n[operation.a]\nkind = \"scroll\"\n",
    );
    let url = "http://127.0.0.1:9";
    let two = ["--target", url, "--target", url];
    for (arguments, expected) in [
        (vec!["geonames", "--target", url], "trimtab bench tracks"),
        (vec!["missing.toml", "--target", url], "missing.toml"),
        (vec![".", "--target", url], "found a folder"),
        (vec![&warm, "--target", url], "nothing would be measured"),
        (
            vec!["ingest", "--target", url, "-o", "missing/x.html"],
            "--output missing/x.html: its folder does not exist",
        ),
        (vec![&bad, "--target", url], "bad.toml"),
        (vec!["ingest", "--target", "localhost:9200"], "--target"),
        (vec!["ingest", "--target", url], "127.0.0.1:9"),
        (
            vec!["ingest", "--target", url, "--interleave"],
            "--interleave",
        ),
        (
            [vec!["ingest", "logs", "updates"], two.to_vec()].concat(),
            "found 3 and 2",
        ),
    ] {
        let output = trimtab()
            .current_dir(folder.path())
            .args(["bench", "run"])
            .args(&arguments)
            .output()
            .unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    assert!(!folder.path().join("trials").exists());
}

#[test]
fn a_first_night_that_fails_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let output = trimtab()
        .current_dir(folder.path())
        .args(["bench", "nightly", "history", "--run", "ingest"])
        .args(["--target", "http://127.0.0.1:9"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(told.contains("127.0.0.1:9"), "{told}");
}

#[test]
fn tracks_are_listed_printed_and_described_by_a_schema() {
    let list = stdout(&run(&["bench", "tracks"]));
    for track in bench::track::BUILT_IN {
        assert!(list.contains(track.name));
        assert_eq!(stdout(&run(&["bench", "tracks", track.name])), track.text);
    }
    let schema: Value =
        serde_json::from_slice(&run(&["bench", "tracks", "--schema"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let track: bench::track::Track = TRACK.replace("DURATION", "1m").parse().unwrap();
    let written = serde_json::to_value(&track).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&written)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn one_file_against_one_is_refused() {
    let data = repository().join("crates/bench/tests/data");
    let file = |name: &str| data.join(name).display().to_string();
    let (one, two) = (file("hyperfine-one.json"), file("hyperfine-two.json"));
    let refused = run(&["bench", "compare", &one, &two]);
    assert_eq!(refused.status.code(), Some(2));
    let told = stderr(&refused);
    assert!(told.contains("cannot tell a change from"), "{told}");
}

/// Three trials of a command each, of which the later take twice as long.
#[test]
fn folders_of_other_tools_results_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let set = |name: &str, factor: f64| {
        let set = folder.path().join(name);
        fs::create_dir(&set).unwrap();
        for trial in 0..3 {
            let times: Vec<f64> = (0..10)
                .map(|run| factor * (1.0 + 0.001 * f64::from(run) + 0.0001 * f64::from(trial)))
                .collect();
            let results = serde_json::json!({"results": [{"command": "reindex", "mean": factor, "times": times}]});
            fs::write(set.join(format!("{trial}.json")), results.to_string()).unwrap();
        }
        set.display().to_string()
    };
    let (before, after) = (set("before", 1.0), set("after", 2.0));
    let output = run(&["bench", "compare", &before, &after]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("100 % higher"), "{told}");
    assert!(told.contains("which is worse"), "{told}");
    let output = run(&["bench", "compare", &before, &before]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("same within"), "{told}");
}

#[test]
fn a_trial_reads_the_facts_that_root_wrote() {
    let bench = Bench::new("1s", Behaviour::default());
    let facts = bench.path("host.tar.zst");
    let facts = facts.to_str().unwrap();
    let written = run(&["bench", "facts", facts]);
    assert!(written.status.success(), "{}", stderr(&written));
    let output = bench
        .command(&["--facts", facts, "--format", "json"])
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let trial = &answer["result"]["trials"][0]["trial"];
    assert_eq!(trial["state"], "complete");
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(trial["environment"]["kernel"], release.trim());

    // The page takes them for this host's as well; it has logs of its own, and no trial that is long enough.
    let nightly = run(&[
        "bench",
        "nightly",
        bench.path("trials").to_str().unwrap(),
        "--facts",
        facts,
        "--format",
        "json",
    ]);
    assert!(nightly.status.success(), "{}", stderr(&nightly));
}

#[test]
fn facts_that_are_not_of_a_trial_are_refused() {
    let bench = Bench::new("1s", Behaviour::default());
    let bundle = bench.path("collected.tar.zst");
    let bundle = bundle.to_str().unwrap();
    let collected = run(&["collect", "-o", bundle]);
    assert!(collected.status.success(), "{}", stderr(&collected));
    let output = bench.command(&["--facts", bundle]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(told.contains("trimtab/bench.json"), "{told}");
    assert!(told.contains("trimtab bench facts"), "{told}");
    assert!(!bench.path("trials").exists());
}
