use super::*;
use line::calls;
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
        .map(|thread| (thread.pool.as_str(), thread.stacks[0].state.as_deref()))
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
        let found: Vec<String> = calls(line).filter_map(frame).collect();
        assert_eq!(found, ["a.B$$Lambda.accept"], "{line}");
    }
    for line in [
        "",
        "(",
        "no frame at all",
        "a b.c(d)",
        "- locked <0x1> (a b.C)",
    ] {
        assert_eq!(calls(line).find_map(frame), None, "{line}");
    }
}

/// What of a paste's threads must not depend on how it was pasted.
fn shown(text: &str) -> Vec<HotThread> {
    from_file(text.as_bytes(), "hot.txt").expect(text).threads
}

#[test]
fn a_paste_is_read_as_what_was_copied() {
    let expected = shown(EARLY);
    let each =
        |change: &dyn Fn(&str) -> String| EARLY.lines().map(change).collect::<Vec<_>>().join("\n");
    for paste in [
        // Quoted, in a table, as a comment, in a fence, with an empty line between any two.
        each(&|line| format!("> > {line}")),
        each(&|line| format!("| {line}")),
        each(&|line| format!("# {line}")),
        each(&|line| format!("   // {line}")),
        format!("It stalls:\n```text\n{EARLY}```\nWhat can I do?\n"),
        format!("`{EARLY}`"),
        // As a JSON string, and with the line ends of another system.
        format!(r#"{{"text":"{}"}}"#, EARLY.replace('\n', "\\n")),
        EARLY.replace('\n', "\r\n"),
    ] {
        assert_eq!(shown(&paste), expected, "{paste}");
    }
}

#[test]
fn lines_that_were_wrapped_or_joined_are_told_apart() {
    let paste = "100.0% (500ms out of 500ms) cpu usage by thread\n\
        'elasticsearch[a b][masterService#updateTask][T#1]' 9/10 snapshots sharing following 2\n\
        elements sun.nio.ch.FileDispatcherImpl.force0(Native Method)\n\
        java.lang.Thread.run(Thread.java:748) unique snapshot a.B.c(B.java:1) 1.0% [cpu=0.5%, \
        other=0.5%] (5ms out of 500ms) cpu usage by thread 'it's [mine]' unique snapshot d.E.f(E.java:2)";
    for paste in [paste.to_owned(), paste.replace('\n', " ")] {
        let threads = shown(&paste);
        let pools: Vec<&str> = threads.iter().map(|thread| thread.pool.as_str()).collect();
        assert_eq!(
            pools,
            ["masterService#updateTask", "it's [mine]"],
            "{paste}"
        );
        assert_eq!(threads[0].node.as_deref(), Some("a b"));
        let stacks = &threads[0].stacks;
        assert_eq!((stacks[0].seen, stacks[0].snapshots), (9, 10));
        assert_eq!(
            stacks[0].frames,
            [
                "sun.nio.ch.FileDispatcherImpl.force0",
                "java.lang.Thread.run"
            ]
        );
        assert_eq!((stacks[1].seen, stacks[1].complete), (1, true));
        assert_eq!(threads[1].cpu_percent, Some(0.5));
        assert_eq!(threads[1].stacks[0].frames, ["d.E.f"]);
    }
}

#[test]
fn several_dumps_are_one_list_of_threads() {
    let expected = shown(EARLY);
    let several = shown(&EARLY.repeat(3));
    assert_eq!(several.len(), expected.len());
    let counts = |thread: &HotThread| -> Vec<(u32, u32)> {
        let stacks = thread.stacks.iter();
        stacks.map(|stack| (stack.seen, stack.snapshots)).collect()
    };
    assert_eq!(counts(&several[0]), [(21, 30), (3, 30)]);
    assert_eq!(counts(&several[1]), [(30, 30)]);
    // A thread that a dump does not list was not seen in it.
    let later = EARLY
        .replace("98.9%", "3.5%")
        .replace("Merge Thread #4", "Merge Thread #5");
    let both = shown(&format!("{EARLY}\n{later}"));
    assert_eq!(both[0].cpu_percent, Some(98.9));
    assert_eq!(
        both.iter().map(counts).collect::<Vec<_>>()[1..],
        [[(10, 10)], [(10, 10)]]
    );
    // Dumps of a JVM: what they do may differ.
    let waiting = DUMP
        .replace("RUNNABLE", "WAITING")
        .replace("shardsWithState", "x");
    let dumps = shown(&format!("{DUMP}{DUMP}{waiting}"));
    assert_eq!(counts(&dumps[1]), [(2, 3), (1, 3)]);
    assert_eq!(dumps[1].stacks[1].state.as_deref(), Some("WAITING"));
    // Threads of the same name in one answer are several.
    let writers =
        "1.0% (5ms out of 500ms) cpu usage by thread '[write]'\n unique snapshot\n a.B.c(d)\n";
    let head = "Hot threads at x, interval=500ms:\n";
    assert_eq!(shown(&format!("{head}{writers}{writers}")).len(), 2);
    assert_eq!(shown(&format!("{head}{writers}{head}{writers}")).len(), 1);
    // Both forms in a ticket.
    assert_eq!(shown(&format!("{EARLY}\n{DUMP}")).len(), 5);
}

#[test]
fn other_reports_of_the_server_have_no_processor_time() {
    let stack = "\n     10/10 snapshots sharing following 1 elements\n       a.B.c(B.java:1)\n";
    for head in [
        " 0.0% (0s out of 500ms) wait usage by thread 'elasticsearch[n][generic][T#3]'",
        "99.9% (499ms out of 500ms) block usage by thread 'elasticsearch[n][generic][T#3]'",
        "1.2mb memory allocated by thread 'elasticsearch[n][generic][T#3]'",
    ] {
        let threads = shown(&format!("{head}{stack}"));
        assert_eq!(threads.len(), 1, "{head}");
        assert_eq!(
            (threads[0].pool.as_str(), threads[0].cpu_percent),
            ("generic", None)
        );
        assert_eq!(threads[0].stacks[0].frames, ["a.B.c"], "{head}");
    }
    let idle = "0.0% [cpu=0.0%, idle=100.0%] (500ms out of 500ms) cpu usage by thread 'x'";
    assert_eq!(shown(idle)[0].cpu_percent, Some(0.0));
}

#[test]
fn what_follows_a_stack_is_not_part_of_it() {
    let text = format!(
        "{EARLY}\nIn the log (of the master) we found:\n\
         java.lang.IllegalStateException: no (x)\n\tat a.B.c(B.java:1)\n"
    );
    assert_eq!(shown(&text), shown(EARLY));
    // Fewer frames than promised are those of a paste with empty lines.
    let spaced = EARLY.replace('\n', "\n\n");
    assert_eq!(shown(&spaced)[0].stacks[0], shown(EARLY)[0].stacks[0]);
}

#[test]
fn a_dump_tells_who_holds_a_lock() {
    let dump = r#"Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):

"elasticsearch[n1][masterService#updateTask][T#1]" #52 daemon prio=5 waiting for monitor entry
   java.lang.Thread.State: BLOCKED (on object monitor)
	at org.elasticsearch.cluster.coordination.Coordinator.publish(Coordinator.java:1)
	- waiting to lock <0x00000000f7218a70> (a java.lang.Object)
	- locked <0x00000000f7200000> (a java.lang.Object)

"elasticsearch[n1][generic][T#3]" #25 daemon prio=5 runnable
   java.lang.Thread.State: RUNNABLE
	at sun.nio.ch.FileDispatcherImpl.force0(java.base@17.0.15/Native Method)
	- locked <0x00000000f7204488> (a org.apache.lucene.index.IndexWriter)
	at org.elasticsearch.cluster.coordination.Coordinator.handlePublishRequest(Coordinator.java:491)
	- locked <0x00000000f7218a70> (a java.lang.Object)

   Locked ownable synchronizers:
	- <0x00000000f7300000> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)

"elasticsearch[n1][flush][T#1]" #26 daemon prio=5 waiting on condition
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
	- parking to wait for  <0x00000000f7300000> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)

"notified" #27 daemon prio=5 in Object.wait()
   java.lang.Thread.State: WAITING (on object monitor)
	at java.lang.Object.wait(java.base@17.0.15/Native Method)
	- waiting on <0x00000000f7204488> (a java.lang.Object)
	- locked <0x00000000f7204488> (a java.lang.Object)
"#;
    for text in [dump.to_owned(), dump.repeat(2)] {
        let threads = shown(&text);
        let holders: Vec<Option<&str>> = threads
            .iter()
            .map(|thread| Some(thread.stacks[0].lock_holder.as_ref()?.pool.as_str()))
            .collect();
        assert_eq!(holders, [Some("generic"), None, Some("generic"), None]);
        let holder = threads[0].stacks[0].lock_holder.as_ref().unwrap();
        assert_eq!(holder.frames[0], "sun.nio.ch.FileDispatcherImpl.force0");
        assert_eq!(threads[3].pool, "notified");
    }
}

#[test]
fn an_answer_without_threads_says_how_to_get_some() {
    let text = "::: {n1}{x}\n   Hot threads at x, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:\n";
    let error = from_file(text.as_bytes(), "f").unwrap_err();
    assert!(
        error.expected.contains("ignore_idle_threads=false"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected(text in "(::: |> |unique snapshot|- locked <0x1>|- waiting to lock <0x1>| memory allocated by thread '|\\{|\\}|elasticsearch\\[|Hot threads at |1/10 snapshots sharing following 2 elements|\"|at |[a-z]+\\.[a-z]\\(|' |\\[|\\]|%|usage by thread '|\n|.){0,200}") {
        let _ = parse_hot_threads(&text);
        let _ = from_file(text.as_bytes(), "f");
    }
}
