//! A driver that is killed while it measures.

use super::run::{Control, Options, run};
use super::summary::TrialSummary;
use super::{Ending, Silent, Target, create};
use crate::random::Random;
use crate::testing::{Behaviour, Responder};
use crate::track::Track;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Where the killed process finds its work.
const DIRECTORY: &str = "TRIMTAB_TEST_TRIAL";
const PORT: &str = "TRIMTAB_TEST_PORT";

/// The process that is killed: this test's own program, told to run this test alone.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn a_driver_to_be_killed() {
    let (Some(directory), Ok(port)) = (std::env::var_os(DIRECTORY), std::env::var(PORT)) else {
        return;
    };
    let track: Track = r#"
        name = "t"
        [operation.read]
        kind = "get"
        path = "/"
        [[phase]]
        name = "p"
        duration = "10m"
        load = [{ operation = "read", rate = "2k/s" }]
        "#
    .parse()
    .unwrap();
    let out = create(Path::new(&directory)).unwrap();
    let target = Target::new("127.0.0.1", port.parse().unwrap());
    let options = Options::default();
    run(
        &track,
        &target,
        &options,
        &Control::default(),
        &mut Silent,
        out,
    )
    .unwrap();
}

/// A driver in a process of its own, which does not outlive the test.
struct Driver(Child);

impl Driver {
    fn kill(&mut self) {
        // SIGKILL: nothing is left for the driver to do.
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_driver(directory: &Path, port: u16) -> Driver {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "driver::kill_tests::a_driver_to_be_killed",
        ])
        .env(DIRECTORY, directory)
        .env(PORT, port.to_string())
        .stdout(Stdio::null())
        .spawn();
    Driver(child.unwrap())
}

/// Waits until a trial has measurements, and returns their number.
fn measurements(directory: &Path) -> u64 {
    let begun = Instant::now();
    loop {
        let count = TrialSummary::read(directory).ok().and_then(|summary| {
            let phase = summary.phases.first()?;
            Some(phase.classes[0].succeeded()).filter(|count| *count > 0)
        });
        if let Some(count) = count {
            return count;
        }
        assert!(
            begun.elapsed() < Duration::from_mins(2),
            "nothing was measured"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_driver_leaves_what_it_measured() {
    let responder = Responder::start(Behaviour::default());
    let mut random = Random::new(1);
    for _ in 0..3 {
        let directory = tempfile::tempdir().unwrap();
        let mut driver = start_driver(directory.path(), responder.address().port());
        let before = measurements(directory.path());
        thread::sleep(Duration::from_millis(random.below(1200)));
        driver.kill();
        let summary = TrialSummary::read(directory.path()).unwrap();
        assert!(
            matches!(summary.ending, Ending::NoEnd | Ending::Cut { .. }),
            "{:?}",
            summary.ending
        );
        assert_eq!(summary.end, None);
        let class = &summary.phases[0].classes[0];
        assert!(class.succeeded() >= before);
        assert!(class.succeeded() <= responder.requests());
    }
}
