//! A real server: `TRIMTAB_TEST_SERVER` names its archive or folder. Needs root and Java.

use bounded_http::Client;
use experiments::server::{Distribution, Node, NodeOptions};
use experiments::{GroupLimits, Workspace};
use std::path::Path;

#[test]
#[ignore = "needs TRIMTAB_TEST_SERVER"]
fn a_node_starts_answers_and_stops() {
    let archive = std::env::var_os("TRIMTAB_TEST_SERVER").expect("TRIMTAB_TEST_SERVER");
    let work = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(
        work.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o711),
    )
    .unwrap();
    let workspace = Workspace::create(&work.path().join("register"), work.path(), "t").unwrap();
    let server = Distribution::open(archive.as_ref(), workspace.folder()).unwrap();
    for (name, limits) in [
        ("free", None),
        (
            "limited",
            Some(GroupLimits {
                memory_bytes: Some(1500 << 20),
                cpus: Some(1.5),
            }),
        ),
    ] {
        let make = |name: &str| workspace.folder().make_folder(name, 0o755).unwrap();
        let (run, data) = (make(name), make(&format!("{name}-data")));
        let options = NodeOptions {
            data: &data,
            run: &run,
            heap_bytes: 512 << 20,
            limits,
        };
        let node = Node::start(&workspace, &server, &options, &|| false)
            .unwrap_or_else(|error| panic!("{error}"));
        let client = Client::new(bounded_http::Options::default()).unwrap();
        let health = client.get(node.endpoint(), "/_cluster/health").unwrap();
        let pid = node.pid();
        println!("{server}, process {pid}: {:?}", health.status);
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        assert_eq!(
            groups.contains("trimtab-experiment-t"),
            limits.is_some(),
            "{groups}"
        );
        node.stop().unwrap();
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
    workspace.remove().unwrap();
    let left = Path::new("/sys/fs/cgroup/memory/trimtab-experiment-t");
    assert!(!left.exists());
}
