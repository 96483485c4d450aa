//! `trimtab livefix` on made-up installations.

use crate::support::{run, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};

struct Server {
    folder: tempfile::TempDir,
}

impl Server {
    fn new(version: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lib", "config"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let jar = format!("lib/elasticsearch-{version}.jar");
        fs::write(folder.path().join(jar), "").unwrap();
        fs::write(folder.path().join("agent.jar"), "PK agent").unwrap();
        let server = Self { folder };
        fs::write(server.options(), "-Xms1g\n-Xmx1g").unwrap();
        server
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn options(&self) -> PathBuf {
        Path::new(&self.path("config")).join("jvm.options")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.options()).unwrap()
    }
}

#[test]
fn nothing_is_changed_without_yes_and_all_is_restored() {
    let server = Server::new("7.4.2");
    let (config, jar) = (server.path("config"), server.path("agent.jar"));
    let before = server.text();
    let install = ["livefix", "install", "--config", &config, "--jar", &jar];
    let shown = run(&install);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let page = stdout(&shown);
    assert!(
        page.contains("Nothing was changed. To install the live fix for Elasticsearch 7.4.2"),
        "{page}"
    );
    assert!(page.contains("--yes"), "{page}");
    assert_eq!(server.text(), before);

    let done = run(&[&install[..], &["--yes"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let option = format!("-javaagent:{}", server.path("config/trimtab-livefix.jar"));
    assert!(
        server.text().lines().any(|line| line == option),
        "{}",
        server.text()
    );
    let again = run(&[&install[..], &["--yes"]].concat());
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr(&again).contains("is in it already, in line 4"),
        "{}",
        stderr(&again)
    );

    let removed = run(&["livefix", "uninstall", "--config", &config, "--yes"]);
    assert_eq!(removed.status.code(), Some(0), "{}", stderr(&removed));
    assert_eq!(server.text(), before);
    let left: Vec<_> = fs::read_dir(&config).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_version_that_needs_none_is_refused() {
    let server = Server::new("7.6.0");
    let (config, jar) = (server.path("config"), server.path("agent.jar"));
    let refused = run(&[
        "livefix", "install", "--config", &config, "--jar", &jar, "--yes",
    ]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("7.6.0 does not need the live fix"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(server.text(), "-Xms1g\n-Xmx1g");
}

#[test]
fn an_answer_that_cannot_be_written_changes_nothing() {
    let server = Server::new("7.4.2");
    let (config, jar) = (server.path("config"), server.path("agent.jar"));
    let output = server.path("missing/page.html");
    let call = [
        "livefix", "install", "--config", &config, "--jar", &jar, "--yes", "-o", &output,
    ];
    assert_eq!(run(&call).status.code(), Some(2));
    assert_eq!(server.text(), "-Xms1g\n-Xmx1g");
}

#[test]
fn a_process_that_is_no_server_is_named() {
    let pid = std::process::id().to_string();
    let answer = run(&["livefix", "status", &pid]);
    assert_eq!(answer.status.code(), Some(2));
    assert!(
        stderr(&answer).contains("is no Elasticsearch"),
        "{}",
        stderr(&answer)
    );
}
