//! `trimtab plan --bundle` and `--cluster`: the nodes, and when they trim as things are.

use crate::cluster::{recorded, replay};
use crate::plan::{FSTRIM_SERVICE, FSTRIM_TIMER, host, output, plan, with_systemd};
use crate::support::{Tree, stderr};
use bounded_http::testing::{Answer, Server};
use serde_json::Value;

/// Hosts with fstrim.timer as Debian 12 has it, or as a test changes it.
fn fleet(hosts: &[(&str, &str)]) -> Vec<Tree> {
    let made = hosts.iter().map(|(name, timer)| {
        let tree = host("ID=debian\nVERSION_ID=\"12\"\n");
        tree.file("proc/sys/kernel/hostname", &format!("{name}\n"));
        tree.file("etc/timezone", "Etc/UTC\n");
        with_systemd(&tree, &[("fstrim", timer, FSTRIM_SERVICE)]);
        tree
    });
    made.collect()
}

fn arguments(trees: &[Tree]) -> Vec<String> {
    let bundles = trees.iter();
    bundles
        .flat_map(|tree| ["--bundle".to_owned(), tree.path()])
        .collect()
}

fn told(trees: &[Tree], more: &[&str]) -> String {
    let arguments = arguments(trees);
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    all.extend(more);
    plan(&all)
}

fn overlap(trees: &[Tree], more: &[&str]) -> f64 {
    let more: Vec<&str> = more.iter().copied().chain(["--format", "json"]).collect();
    let document: Value = serde_json::from_str(&told(trees, &more)).unwrap();
    document["result"]["today"]["overlap"].as_f64().unwrap()
}

#[test]
fn hosts_of_bundles_are_the_peers_and_their_jobs_tell_of_today() {
    let trees = fleet(&[
        ("es10", FSTRIM_TIMER),
        ("es1", FSTRIM_TIMER),
        ("es2", FSTRIM_TIMER),
    ]);
    let text = told(&trees, &["/data"]);
    let expected = "\
As things are, at least two trim at the same time in 78 % of all weeks, if a
pass takes 20 min (fstrim.timer). With these slots, no two of the 3 nodes ever
trim at the same time: es1 Tue 01:00, es2 Wed 01:00, es10 Thu 01:00 (UTC).
Nothing was changed; trimtab 0.2.0

node  slot       next        OnCalendar=
es1   Tue 01:00  2026-12-01  Tue *-*-* 01:00:00 UTC
es2   Wed 01:00  2026-12-02  Wed *-*-* 01:00:00 UTC
es10  Thu 01:00  2026-12-03  Thu *-*-* 01:00:00 UTC

to do it, on each node (without --apply it shows what would be changed there):
  sudo trimtab plan --apply --peers 'es1,es2,es10' /data
";
    assert_eq!(text, expected);
}

/// The formula has one window; hosts edited by hand have others.
#[test]
fn the_clearer_the_schedules_are_the_clearer_is_the_answer() {
    let on = |calendar: &str| {
        FSTRIM_TIMER
            .replace("weekly", calendar)
            .replace("100min", "0")
    };
    let (sunday, monday, late) = (on("Sun 03:00"), on("Mon 03:00"), on("Sun 03:15"));
    for (second, expected) in [(&monday, 0.0), (&late, 1.0), (&sunday, 1.0)] {
        let trees = fleet(&[("es1", &sunday), ("es2", second)]);
        assert!(
            (overlap(&trees, &[]) - expected).abs() < f64::EPSILON,
            "{second}"
        );
    }
    let trees = fleet(&[("es1", &sunday), ("es2", &late)]);
    assert!(overlap(&trees, &["--pass", "10min"]).abs() < f64::EPSILON);
    // Half of the second one's starts are before the first has ended.
    let wide = FSTRIM_TIMER
        .replace("weekly", "Sun 03:00")
        .replace("100min", "40min");
    let trees = fleet(&[("es1", &sunday), ("es2", &wide)]);
    let found = overlap(&trees, &[]);
    assert!((found - 0.5).abs() < 0.01, "{found}");
}

#[test]
fn a_delay_that_was_drawn_once_meets_every_week_or_never() {
    let fixed = FSTRIM_TIMER.replace("[Install]", "FixedRandomDelay=yes\n[Install]");
    let text = told(
        &fleet(&[("es1", &fixed), ("es2", &fixed), ("es3", &fixed)]),
        &["/data"],
    );
    let joined = text.replace('\n', " ");
    assert!(joined.contains("at the same time with a probability of 78 %, if a pass takes 20 min (fstrim.timer), and then every week"), "{text}");
}

#[test]
fn what_is_not_known_of_a_host_is_told() {
    let mut trees = fleet(&[("es1", FSTRIM_TIMER), ("es2", FSTRIM_TIMER)]);
    // A tree without crontabs and timers.
    let bare = host("ID=debian\n");
    bare.file("proc/sys/kernel/hostname", "es3\n");
    trees.push(bare);
    let text = told(&trees, &["/data"]);
    assert!(text.contains("es3: its jobs are not known."), "{text}");
    assert!(
        text.contains("at least two of the 2 whose jobs are known trim"),
        "{text}"
    );
    let same = fleet(&[("es1", FSTRIM_TIMER), ("es1", FSTRIM_TIMER)]);
    let arguments = arguments(&same);
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let refused = output(&all);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("two are of a host named es1"),
        "{}",
        stderr(&refused)
    );
    all.truncate(2);
    all.extend(["--apply", "/data"]);
    let refused = output(&all);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("name the nodes, the same on each"),
        "{}",
        stderr(&refused)
    );
}

/// A recorded server, whose one node stands for several.
fn cluster(nodes: &[(&str, &str, &[&str])]) -> Server {
    let mut answers = recorded("elasticsearch-7.17.28");
    let Some(Answer::Body(_, body)) = answers.get("nodes") else {
        unreachable!()
    };
    let mut document: Value = serde_json::from_slice(body).unwrap();
    let known = document["nodes"].as_object_mut().unwrap();
    let one = known.values().next().unwrap().clone();
    known.clear();
    for (name, ip, roles) in nodes {
        let mut node = one.clone();
        node["name"] = (*name).into();
        node["ip"] = (*ip).into();
        node["host"] = (*ip).into();
        node["roles"] = roles.to_vec().into();
        known.insert(format!("id-{name}"), node);
    }
    answers.insert(
        "nodes".to_owned(),
        Answer::Body(200, document.to_string().into_bytes()),
    );
    replay(answers)
}

/// Not every node has data, and nodes of one host share its drives.
#[test]
fn hosts_of_a_clusters_data_nodes_are_the_peers() {
    let data: &[&str] = &["data"];
    let server = cluster(&[
        ("es10", "10.0.0.10", data),
        ("es2", "10.0.0.2", data),
        ("es1", "10.0.0.1", data),
        ("es1-b", "10.0.0.1", data),
        ("m1", "10.0.0.9", &["master"]),
    ]);
    let url = server.url("");
    let text = plan(&["--cluster", &url, "/data"]);
    for expected in [
        "es1 Tue\n01:00, es2 Wed 01:00, es10 Thu 01:00 (UTC)",
        "es1 and es1-b share a host (10.0.0.1), which has one slot, named es1.",
        "sudo trimtab plan --apply --peers 'es1,es2,es10' /data\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains("m1"), "{text}");
    let playbook = plan(&["--cluster", &url, "/data", "--format", "ansible"]);
    assert!(playbook.contains("hosts: \"es1,es2,es10\"\n"), "{playbook}");
    assert!(
        playbook.contains("# es1 and es1-b share a host"),
        "{playbook}"
    );
    for name in ["all", "es1,es2", "es1\n- hosts: all"] {
        let odd = cluster(&[(name, "10.0.0.1", data)]);
        let refused = output(&["--cluster", &odd.url(""), "/data", "--format", "ansible"]);
        assert_eq!(refused.status.code(), Some(2), "{name}");
        assert!(
            stderr(&refused).contains("expected names of hosts, found"),
            "{}",
            stderr(&refused)
        );
    }
    for other in [&["--undo"][..], &["--load", "x.csv"], &["--peers", "a,b"]] {
        let arguments: Vec<&str> = ["--cluster", &url]
            .into_iter()
            .chain(other.iter().copied())
            .collect();
        let refused = output(&arguments);
        assert!(
            stderr(&refused).contains("cannot be used"),
            "{}",
            stderr(&refused)
        );
    }
    let masters = cluster(&[("m1", "10.0.0.9", &["master"])]);
    let refused = output(&["--cluster", &masters.url("")]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("no node with data was found"),
        "{}",
        stderr(&refused)
    );
}
