use super::*;
use proptest::prelude::*;

fn frames(threads: &[HotThread], at: usize) -> Vec<&str> {
    threads[at].stacks[0]
        .frames
        .iter()
        .map(String::as_str)
        .collect()
}

/// The format of 6.8 to 7.15: a single percentage.
const EARLY: &str = "::: {es-1}{KBz7OsBEQnuTM9b3XX8lcA}{x}{es1.example}{10.0.0.1:9300}
   Hot threads at 2019-11-21T19:02:46.065Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:
   
   98.9% (494.6ms out of 500ms) cpu usage by thread 'elasticsearch[es-1][masterService#updateTask][T#1]'
     7/10 snapshots sharing following 3 elements
       org.elasticsearch.cluster.routing.RoutingNode.shardsWithState(RoutingNode.java:190)
       org.elasticsearch.cluster.routing.allocation.decider.DiskThresholdDecider.sizeOfRelocatingShards(DiskThresholdDecider.java:117)
       java.lang.Thread.run(Thread.java:748)
     unique snapshot
       java.lang.Thread.run(Thread.java:748)
   
   12.0% (60ms out of 500ms) cpu usage by thread 'elasticsearch[es-1][[logs-secret][0]: Lucene Merge Thread #4]'
     10/10 snapshots sharing following 1 elements
       app//org.apache.lucene.index.ConcurrentMergeScheduler$MergeThread.run(ConcurrentMergeScheduler.java:662)
";

#[test]
fn hot_threads_of_early_versions() {
    let found = parse_hot_threads(EARLY);
    assert_eq!(found.interval_ms, Some(500));
    let pools: Vec<&str> = found.threads.iter().map(|t| t.pool.as_str()).collect();
    assert_eq!(
        pools,
        ["masterService#updateTask", "Lucene Merge Thread #4"]
    );
    assert_eq!(found.threads[0].cpu_percent, Some(98.9));
    assert_eq!(
        frames(&found.threads, 0),
        [
            "org.elasticsearch.cluster.routing.RoutingNode.shardsWithState",
            "org.elasticsearch.cluster.routing.allocation.decider.DiskThresholdDecider.\
             sizeOfRelocatingShards",
            "java.lang.Thread.run",
        ]
    );
    let stacks = &found.threads[0].stacks;
    assert_eq!(
        (stacks[0].seen, stacks[0].snapshots, stacks[0].complete),
        (7, 10, false)
    );
    assert_eq!((stacks[1].seen, stacks[1].complete), (1, true));
    assert_eq!(
        frames(&found.threads, 1),
        ["org.apache.lucene.index.ConcurrentMergeScheduler$MergeThread.run"]
    );
    // Neither node nor index names.
    let text = format!("{found:?}");
    assert!(!text.contains("es-1") && !text.contains("secret"), "{text}");
}

#[test]
fn hot_threads_since_7_16_report_cpu_separately() {
    let found = parse_hot_threads(
        "   Hot threads at 2026-11-21T19:02:46.065Z, interval=1s, busiestThreads=10:
    80.3% [cpu=55.5%, other=24.8%] (803ms out of 1s) cpu usage by thread 'opensearch[n[1]][clusterManagerService#updateTask][T#1]'
     10/10 snapshots sharing following 1 elements
       java.base@17.0.15/java.lang.Thread.run(Thread.java:840)
",
    );
    assert_eq!(found.interval_ms, Some(1000));
    assert_eq!(found.threads[0].cpu_percent, Some(55.5));
    assert_eq!(found.threads[0].pool, "clusterManagerService#updateTask");
    assert_eq!(frames(&found.threads, 0), ["java.lang.Thread.run"]);
}

/// Threads of two nodes, as `GET /_nodes/hot_threads` returns them.
const TWO_NODES: &str = "::: {es-1}{KBz7OsBEQnuTM9b3XX8lcA}{x}{10.0.0.1}{10.0.0.1:9300}{dimr}
   Hot threads at 2026-11-21T19:02:46.065Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:

    0.4% [cpu=0.1%, other=0.3%] (2ms out of 500ms) cpu usage by thread 'opensearch[es-1][clusterManagerService#updateTask][T#1]'
     10/10 snapshots sharing following 2 elements
       java.base@17.0.9/sun.nio.ch.FileDispatcherImpl.force0(Native Method)
       app//org.opensearch.gateway.PersistedClusterStateService$Writer.commit(PersistedClusterStateService.java:941)

::: {es-2}{d1yPzZ1nRJ-GCPnh1p1Q5w}{x}{10.0.0.2}{10.0.0.2:9300}{d}
   Hot threads at 2026-11-21T19:02:46.071Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:

   12.0% (60ms out of 500ms) cpu usage by thread '[write]'
     10/10 snapshots sharing following 1 elements
       java.lang.Thread.run(Thread.java:748)
";

fn nodes(threads: &MasterThreads) -> Vec<(Option<&str>, &str)> {
    let threads = threads.threads.iter();
    threads
        .map(|thread| (thread.node.as_deref(), thread.pool.as_str()))
        .collect()
}

#[test]
fn a_file_tells_whose_threads_they_are() {
    let found = from_file(TWO_NODES.as_bytes(), "hot.txt").unwrap();
    assert_eq!(
        nodes(&found),
        [
            (Some("es-1"), "clusterManagerService#updateTask"),
            // Some versions print the pool alone; the line above has the node.
            (Some("es-2"), "[write]"),
        ]
    );
    let dump = from_file(DUMP.as_bytes(), "jstack.txt").unwrap();
    assert_eq!(nodes(&dump)[1].0, Some("a \"quoted\" node"));
    // What is asked for live is kept without names.
    assert!(
        nodes(&parse_hot_threads(TWO_NODES))
            .iter()
            .all(|(node, _)| node.is_none())
    );
}

#[test]
fn a_paste_may_begin_anywhere() {
    let whole = from_file(EARLY.as_bytes(), "hot.txt").unwrap();
    let lines: Vec<&str> = EARLY.lines().collect();
    // Without the node's line, without the line of the time, and with the node's line indented.
    for (paste, interval_ms) in [
        (lines[1..].join("\n"), Some(500)),
        (lines[3..].join("\r\n"), None),
        (format!("> see below\n  {}", lines.join("\n  ")), Some(500)),
    ] {
        let found = from_file(paste.as_bytes(), "hot.txt").unwrap();
        assert_eq!(found.threads, whole.threads, "{paste}");
        assert_eq!(found.interval_ms, interval_ms);
    }
}

#[test]
fn only_processor_time_is_processor_time() {
    let usage = |what: &str| {
        let line = format!("99.0% (495ms out of 500ms) {what} usage by thread 'a'");
        from_file(line.as_bytes(), "hot.txt").unwrap().threads[0].cpu_percent
    };
    assert_eq!(usage("cpu"), Some(99.0));
    assert_eq!(usage("block"), None);
    assert_eq!(usage("wait"), None);
}

#[test]
fn an_idle_master_has_no_hot_threads() {
    let found = parse_hot_threads("::: {n1}{x}\n   Hot threads at x, interval=500ms, y\n\n");
    assert!(found.threads.is_empty());
    assert_eq!(found.interval_ms, Some(500));
}

const DUMP: &str = r#"2026-11-21 12:00:00
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):

Threads class SMR info:
_java_thread_list=0x00007f, length=31, elements={
0x00007f
}

"main" #1 prio=5 os_prio=0 cpu=12.3ms elapsed=9.9s tid=0x00007f nid=0x1 waiting on condition  [0x00007f]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
	- parking to wait for  <0x00000000c0> (a java.util.concurrent.CountDownLatch$Sync)
	at org.elasticsearch.bootstrap.Bootstrap$$Lambda$12/0x000000080012a3b0.run(Unknown Source)

"elasticsearch[a "quoted" node][masterService#updateTask][T#1]" #52 daemon prio=5 tid=0x0 nid=0x2 runnable  [0x0]
   java.lang.Thread.State: RUNNABLE
	at org.elasticsearch.cluster.routing.RoutingNode.shardsWithState(RoutingNode.java:190)
	- locked <0x00000000c1> (a java.lang.Object)
	at org.elasticsearch.server@8.11.0/org.elasticsearch.cluster.service.MasterService.run(MasterService.java:1)

"GC Thread#0" os_prio=0 cpu=7.9ms elapsed=9.9s tid=0x00007f nid=0x3 runnable

JNI global refs: 12, weak refs: 0
"#;

#[test]
fn a_thread_dump_is_parsed() {
    let found = from_file(DUMP.as_bytes(), "jstack.txt").unwrap();
    assert_eq!(
        found.source,
        ThreadSource::ThreadDumpFile("jstack.txt".to_owned())
    );
    let pools: Vec<(&str, Option<&str>)> = found
        .threads
        .iter()
        .map(|thread| (thread.pool.as_str(), thread.state.as_deref()))
        .collect();
    assert_eq!(
        pools,
        [
            ("main", Some("WAITING")),
            ("masterService#updateTask", Some("RUNNABLE")),
        ]
    );
    assert_eq!(
        frames(&found.threads, 0),
        [
            "jdk.internal.misc.Unsafe.park",
            "org.elasticsearch.bootstrap.Bootstrap$$Lambda.run"
        ]
    );
    assert_eq!(
        frames(&found.threads, 1),
        [
            "org.elasticsearch.cluster.routing.RoutingNode.shardsWithState",
            "org.elasticsearch.cluster.service.MasterService.run",
        ]
    );
}

#[test]
fn a_saved_response_is_distinguished_from_a_dump() {
    let found = from_file(EARLY.as_bytes(), "hot.txt").unwrap();
    assert_eq!(
        found.source,
        ThreadSource::HotThreadsFile("hot.txt".to_owned())
    );
    assert_eq!(found.threads.len(), 2);
}

#[test]
fn other_files_are_rejected_with_what_was_expected() {
    for text in [
        "",
        "hello\n",
        "{\"a\":1}",
        "\"name\" without frames\n",
        "\u{0}\u{1}",
    ] {
        let error = from_file(text.as_bytes(), "f").unwrap_err();
        assert!(error.expected.contains("jstack"), "{error}");
    }
    assert!(from_file(&[0xff, 0xfe, b'\n'], "f").is_err());
}

#[test]
fn lambdas_have_the_same_name_in_every_jvm() {
    for line in [
        "a.B$$Lambda$1234/0x0000000801234567.accept(Unknown Source)",
        "a.B$$Lambda$1234/123456789.accept(Unknown Source)",
        "a.B$$Lambda/0x0000000801234567.accept(Unknown Source)",
        "app//a.B$$Lambda$1.accept(Unknown Source)",
        "m@1.2/a.B$$Lambda/0x1.accept(m@1.2/Unknown Source)",
    ] {
        assert_eq!(frame(line).as_deref(), Some("a.B$$Lambda.accept"), "{line}");
    }
    for line in [
        "",
        "(",
        "no frame at all",
        "a b.c(d)",
        "- locked <0x1> (a b.C)",
    ] {
        assert_eq!(frame(line), None, "{line}");
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected(text in "(::: |\\{|\\}|elasticsearch\\[|Hot threads at |1/10 snapshots sharing following 2 elements|\"|at |[a-z]+\\.[a-z]\\(|' |\\[|\\]|%|usage by thread '|\n|.){0,200}") {
        let _ = parse_hot_threads(&text);
        let _ = from_file(text.as_bytes(), "f");
    }
}
