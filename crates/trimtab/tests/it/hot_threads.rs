//! `check --cluster --hot-threads`: what a busy or blocked master waits for, of texts as servers print them
//! and as people paste them.

use crate::cluster::{check, cluster_findings, document, recorded, replay};
use crate::support::{Tree, stderr, stdout};
use bounded_http::testing::Answer;
use serde_json::Value;

#[test]
fn a_hot_threads_file_replaces_the_clusters_threads() {
    let server = replay(recorded("elasticsearch-7.4.2"));
    let url = server.url("");
    let tree = Tree::new();
    tree.file(
        "jstack",
        "\"elasticsearch[n1][masterService#updateTask][T#1]\" #1 daemon\n   \
         java.lang.Thread.State: RUNNABLE\n\
         \tat org.elasticsearch.cluster.routing.RoutingNode.shardsWithState(RoutingNode.java:190)\n\
         \tat org.elasticsearch.cluster.service.MasterService.access$000(MasterService.java:73)\n",
    );
    tree.file("none", "nothing of the kind\n");
    let path = |name: &str| format!("{}/{name}", tree.path());
    let jstack = path("jstack");
    let rules = |arguments: &[&str]| {
        let mut all = vec!["--cluster", &url, "--format", "json"];
        all.extend(arguments);
        cluster_findings(&check(&all))
            .into_iter()
            .map(|(rule, _)| rule)
            .collect::<Vec<_>>()
    };
    assert!(!rules(&[]).contains(&"ES003".to_owned()));
    assert!(rules(&["--hot-threads", &jstack]).contains(&"ES003".to_owned()));
    for (arguments, message) in [
        (
            vec!["--cluster", &url, "--hot-threads", &path("none")],
            "jstack",
        ),
        (
            vec!["--cluster", &url, "--hot-threads", &path("missing")],
            "missing",
        ),
        (
            vec!["--root", &tree.path(), "--hot-threads", &jstack],
            "no cluster",
        ),
    ] {
        let output = check(&arguments);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

/// Hot threads of a master whose disk stands still, as pasted from `GET /_nodes/hot_threads`.
const DISK: &str = "::: {n1}{KBz7OsBEQnuTM9b3XX8lcA}{x}{10.0.0.1}{10.0.0.1:9300}{dim}
   Hot threads at 2026-11-21T19:02:46.065Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:

    0.4% (2ms out of 500ms) cpu usage by thread 'elasticsearch[n1][masterService#updateTask][T#1]'
     10/10 snapshots sharing following 4 elements
       sun.nio.ch.FileDispatcherImpl.force0(Native Method)
       org.elasticsearch.gateway.PersistedClusterStateService$Writer.commit(PersistedClusterStateService.java:941)
       org.elasticsearch.gateway.GatewayMetaState$LucenePersistedState.setLastAcceptedState(GatewayMetaState.java:593)
       org.elasticsearch.cluster.service.MasterService.publish(MasterService.java:272)
";

#[test]
fn a_master_that_waits_for_its_disk_is_told_from_a_busy_one() {
    let mut answers = recorded("elasticsearch-7.4.2");
    let server = replay(answers.clone());
    let url = server.url("");
    let tree = Tree::new();
    let cut = DISK.find("    0.4%").expect("a thread");
    let of_another = DISK
        .replace("n1", "n9")
        .replace("masterService#updateTask", "generic");
    for (name, text) in [
        ("whole", DISK),
        ("pasted", &DISK[cut..]),
        ("other", &of_another),
    ] {
        tree.file(name, text);
    }
    let text_of = |url: &str, file: &str| {
        let file = format!("{}/{file}", tree.path());
        let all = [
            "--cluster",
            url,
            "--hot-threads",
            &file,
            "--select",
            "ES003",
        ];
        let text = stdout(&check(&all));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for file in ["whole", "pasted"] {
        let text = text_of(&url, file);
        assert!(text.contains("the master waits for its disk"), "{text}");
        assert!(text.contains("10 of 10 snapshots"), "{text}");
        assert!(text.contains("trimtab explain iostat.log"), "{text}");
    }
    // Those of a node that is not the master say nothing about it.
    let text = text_of(&url, "other");
    assert!(!text.contains("waits for its disk"), "{text}");
    assert!(
        text.contains("those of other nodes than the master"),
        "{text}"
    );

    // A change that does not end is named, with the disk as its cause.
    let pending = r#"{"tasks":[{"priority":"HIGH","source":"put-mapping [logs-7/KBz7]","executing":true,
        "time_in_queue_millis":7200000},{"priority":"URGENT","source":"create-index [a], cause [api]",
        "executing":false,"time_in_queue_millis":5400000}]}"#;
    answers.insert("pending_tasks".to_owned(), Answer::ok(pending));
    let server = replay(answers);
    let text = text_of(&server.url(""), "whole");
    for part in [
        "the master waits for its disk: one change has not ended for 2 h",
        "put-mapping [logs-7/KBz7]",
        "executing for 1 h 30 min at least",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A finding as JSON, and its texts in one line.
fn finding(output: &std::process::Output, rule: &str) -> Option<(Value, String)> {
    let document = document(output);
    let findings = document["result"]["findings"].as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["rule"] == rule)?;
    let text = found.to_string();
    Some((found.clone(), text))
}

/// What a server has, and what it has to be told.
struct Case {
    name: &'static str,
    server: &'static str,
    /// The version, if it is not that of the recorded answers.
    version: Option<&'static str>,
    threads: &'static str,
    /// Parts of the finding's title, explanation, evidence and remedies.
    expected: &'static [&'static str],
    absent: &'static [&'static str],
}

/// Two changes that wait, and one that executes, for 45 s.
const WAITING: &str = r#"{"tasks":[
    {"insert_order":101,"priority":"URGENT","source":"create-index [logs-8], cause [api]","executing":true,
    "time_in_queue_millis":45012,"time_in_queue":"45s"},
    {"insert_order":103,"priority":"HIGH","source":"put-mapping [logs-7/KBz7OsBEQnuTM9b3XX8lcA]","executing":false,
    "time_in_queue_millis":44020,"time_in_queue":"44s"}]}"#;

const CASES: &[Case] = &[
    Case {
        name: "the disk, of a paste of 7.10 without the node's line",
        server: "elasticsearch-7.17.28",
        version: None,
        threads: "
    0.0% (0s out of 500ms) cpu usage by thread 'elasticsearch[n1][generic][T#4]'
     10/10 snapshots sharing following 8 elements
       java.base@15.0.1/sun.nio.ch.FileDispatcherImpl.force0(Native Method)
       java.base@15.0.1/sun.nio.ch.FileChannelImpl.force(FileChannelImpl.java:468)
       app//org.apache.lucene.util.IOUtils.fsync(IOUtils.java:467)
       app//org.apache.lucene.index.IndexWriter.prepareCommit(IndexWriter.java:3613)
       app//org.elasticsearch.gateway.PersistedClusterStateService$MetadataIndexWriter.prepareCommit(PersistedClusterStateService.java:579)
       app//org.elasticsearch.gateway.PersistedClusterStateService$Writer.commit(PersistedClusterStateService.java:854)
       app//org.elasticsearch.gateway.GatewayMetaState$LucenePersistedState.setLastAcceptedState(GatewayMetaState.java:653)
       app//org.elasticsearch.cluster.coordination.Coordinator.handlePublishRequest(Coordinator.java:491)
",
        expected: &[
            "the master waits for its disk: changes wait for 45 s",
            "10 of 10 snapshots",
            "FileDispatcherImpl.force0 below PersistedClusterStateService",
            "data path of n1",
            "trimtab explain iostat.log",
        ],
        absent: &["which was the master then"],
    },
    Case {
        name: "the disk, in JDK 21 and a mail",
        server: "elasticsearch-7.17.28",
        version: Some("9.2.0"),
        threads: "> ::: {n1}{E3NSCp5nTJeFzCN9yTNnSw}{Dzsao8wCTV-DyTabLnVUcQ}{n1}{127.0.0.1}{127.0.0.1:37299}{cdfhilmrstw}{9.2.0}\r
>    Hot threads at 2026-11-28T18:48:54.100Z, interval=500ms, busiestThreads=50, ignoreIdleThreads=true:\r
>    \r
>     0.0% [cpu=0.0%, other=0.0%] (0s out of 500ms) cpu usage by thread 'elasticsearch[n1][cluster_coordination][T#1]'\r
>      10/10 snapshots sharing following 4 elements\r
>        java.base@25.0.3/sun.nio.ch.UnixFileDispatcherImpl.force0(Native Method)\r
>        java.base@25.0.3/sun.nio.ch.FileChannelImpl.force(FileChannelImpl.java:635)\r
>        app/org.elasticsearch.server@9.2.0/org.elasticsearch.gateway.PersistedClusterStateService$Writer.commit(PersistedClusterStateService.java:1350)\r
>        app/org.elasticsearch.server@9.2.0/org.elasticsearch.gateway.GatewayMetaState$LucenePersistedState.writeClusterStateToDisk(GatewayMetaState.java:593)\r
",
        expected: &["the master waits for its disk", "UnixFileDispatcherImpl.force0"],
        absent: &[],
    },
    Case {
        name: "one file for each index, before 7.6",
        server: "elasticsearch-6.8.23",
        version: None,
        threads: "::: {n1}{KBz7OsBEQnuTM9b3XX8lcA}{x}{es1.example}{10.0.0.1:9300}
   Hot threads at 2019-11-21T19:02:46.065Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:

    2.1% (10.4ms out of 500ms) cpu usage by thread 'elasticsearch[n1][masterService#updateTask][T#1]'
     9/10 snapshots sharing following 6 elements
       sun.nio.ch.FileDispatcherImpl.force0(Native Method)
       sun.nio.ch.FileChannelImpl.force(FileChannelImpl.java:388)
       org.apache.lucene.util.IOUtils.fsync(IOUtils.java:471)
       org.elasticsearch.gateway.MetaDataStateFormat.write(MetaDataStateFormat.java:123)
       org.elasticsearch.gateway.MetaStateService.writeIndex(MetaStateService.java:155)
       org.elasticsearch.cluster.service.MasterService.runTasks(MasterService.java:268)
     unique snapshot
       org.elasticsearch.cluster.service.MasterService.runTasks(MasterService.java:268)
",
        expected: &["the master waits for its disk", "9 of 10 snapshots"],
        absent: &[],
    },
    Case {
        name: "other nodes",
        server: "opensearch-2.19.1",
        version: None,
        threads: "::: {n1}{pctEa3vyQHKFcn5LZ6Rr-Q}{SoELxJeQS7Wl8V6SUrFIrA}{127.0.0.1}{127.0.0.1:42345}{dimr}{shard_indexing_pressure_enabled=true}
   Hot threads at 2026-11-28T18:48:00.100Z, interval=500ms, busiestThreads=50, ignoreIdleThreads=true:
   
    0.0% (0s out of 500ms) cpu usage by thread 'opensearch[n1][clusterManagerService#updateTask][T#1]'
     10/10 snapshots sharing following 5 elements
       java.base@17.0.15/jdk.internal.misc.Unsafe.park(Native Method)
       app//org.opensearch.common.util.concurrent.BaseFuture.get(BaseFuture.java:104)
       app//org.opensearch.cluster.service.MasterService.publish(MasterService.java:393)
       app//org.opensearch.cluster.service.MasterService.runTasks(MasterService.java:371)
       java.base@17.0.15/java.lang.Thread.run(Thread.java:840)
",
        expected: &["the master waits for other nodes: changes wait for 45 s", "still waiting"],
        absent: &["iostat"],
    },
    Case {
        name: "a snapshot repository",
        server: "elasticsearch-7.17.28",
        version: None,
        threads: "100.0% [cpu=0.2%, other=99.8%] (500ms out of 500ms) cpu usage by thread 'elasticsearch[n1][masterService#updateTask][T#1]'
     10/10 snapshots sharing following 4 elements
       java.base@17.0.9/sun.nio.ch.NioSocketImpl.park(NioSocketImpl.java:186)
       app//org.elasticsearch.repositories.blobstore.BlobStoreRepository.getRepositoryData(BlobStoreRepository.java:1700)
       app//org.elasticsearch.snapshots.SnapshotsService.createSnapshot(SnapshotsService.java:300)
       app//org.elasticsearch.cluster.service.MasterService.executeTasks(MasterService.java:691)
",
        expected: &["the master waits for a snapshot repository", "GET /_snapshot"],
        absent: &[],
    },
    Case {
        name: "weights",
        server: "opensearch-2.19.1",
        version: None,
        threads: "   98.7% (493.4ms out of 500ms) cpu usage by thread 'opensearch[n1][clusterManagerService#updateTask][T#1]'
     6/10 snapshots sharing following 4 elements
       app//org.opensearch.cluster.routing.allocation.allocator.LocalShardsBalancer.balanceByWeights(LocalShardsBalancer.java:404)
       app//org.opensearch.cluster.routing.allocation.allocator.LocalShardsBalancer.balance(LocalShardsBalancer.java:202)
       app//org.opensearch.cluster.routing.allocation.AllocationService.reroute(AllocationService.java:551)
       app//org.opensearch.cluster.service.MasterService.executeTasks(MasterService.java:890)
     4/10 snapshots sharing following 2 elements
       app//org.opensearch.cluster.routing.allocation.AllocationService.reroute(AllocationService.java:551)
       app//org.opensearch.cluster.service.MasterService.executeTasks(MasterService.java:890)
",
        expected: &["the master is busy balancing shards", "10 of 10", "allocator_timeout"],
        absent: &["allocation/explain"],
    },
    Case {
        name: "unassigned copies",
        server: "opensearch-2.19.1",
        version: None,
        threads: "   99.2% (496ms out of 500ms) cpu usage by thread 'opensearch[n1][clusterManagerService#updateTask][T#1]'
     10/10 snapshots sharing following 4 elements
       app//org.opensearch.cluster.routing.allocation.decider.AllocationDeciders.canAllocate(AllocationDeciders.java:88)
       app//org.opensearch.cluster.routing.allocation.allocator.LocalShardsBalancer.decideAllocateUnassigned(LocalShardsBalancer.java:900)
       app//org.opensearch.cluster.routing.allocation.allocator.LocalShardsBalancer.allocateUnassigned(LocalShardsBalancer.java:801)
       app//org.opensearch.cluster.service.MasterService.executeTasks(MasterService.java:890)
",
        expected: &["the master is busy with unassigned shards", "_cluster/allocation/explain"],
        absent: &["balance.threshold"],
    },
    Case {
        name: "the desired balance is no cause; the frame that is one is named",
        server: "elasticsearch-7.17.28",
        version: Some("8.15.0"),
        threads: "::: {n1}{x}{y}{n1}{127.0.0.1}{127.0.0.1:37299}{cdfhilmrstw}{8.15.0}
   Hot threads at 2025-05-13T15:54:00.908Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:

   100.0% [cpu=98.1%, other=1.9%] (500ms out of 500ms) cpu usage by thread 'elasticsearch[n1][generic][T#5]'
     10/10 snapshots sharing following 4 elements
       app/org.elasticsearch.server@8.15.0/org.elasticsearch.cluster.routing.allocation.allocator.BalancedShardsAllocator$Balancer.balanceByWeights(BalancedShardsAllocator.java:558)
       app/org.elasticsearch.server@8.15.0/org.elasticsearch.cluster.routing.allocation.allocator.DesiredBalanceComputer.compute(DesiredBalanceComputer.java:251)
       app/org.elasticsearch.server@8.15.0/org.elasticsearch.cluster.routing.allocation.allocator.ContinuousComputation$Processor.doRun(ContinuousComputation.java:92)
       java.base@21.0.2/java.lang.Thread.run(Thread.java:1583)

   88.0% [cpu=87.1%, other=0.9%] (440ms out of 500ms) cpu usage by thread 'elasticsearch[n1][masterService#updateTask][T#1]'
     9/10 snapshots sharing following 3 elements
       app/org.elasticsearch.server@8.15.0/org.elasticsearch.index.mapper.MapperService.merge(MapperService.java:401)
       app/org.elasticsearch.server@8.15.0/org.elasticsearch.cluster.metadata.MetadataMappingService$PutMappingExecutor.applyRequest(MetadataMappingService.java:141)
       app/org.elasticsearch.server@8.15.0/org.elasticsearch.cluster.service.MasterService.executeTasks(MasterService.java:1053)
",
        expected: &["the master is busy in MapperService.merge: changes wait for 45 s", "9 of 10"],
        absent: &["desired_balance", "balance.threshold"],
    },
    Case {
        name: "a lock, and who holds it",
        server: "elasticsearch-7.17.28",
        version: None,
        threads: "2026-11-28 18:48:10
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):

\"elasticsearch[n1][masterService#updateTask][T#1]\" #27 daemon prio=5 os_prio=0 cpu=246.87ms elapsed=14.17s tid=0x00007f425c012220 nid=0x1a71 waiting for monitor entry  [0x00007f4255ffe000]
   java.lang.Thread.State: BLOCKED (on object monitor)
\tat org.elasticsearch.cluster.coordination.Coordinator.publish(Coordinator.java:1211)
\t- waiting to lock <0x00000000f7218a70> (a java.lang.Object)
\tat org.elasticsearch.cluster.service.MasterService.publish(MasterService.java:272)

\"elasticsearch[n1][management][T#2]\" #41 daemon prio=5 os_prio=0 cpu=3.1ms elapsed=12.17s tid=0x00007f425c012230 nid=0x1a7f runnable  [0x00007f4255ffd000]
   java.lang.Thread.State: RUNNABLE
\tat java.net.PlainSocketImpl.socketConnect(java.base@17.0.15/Native Method)
\tat org.elasticsearch.cluster.coordination.Coordinator.becomeLeader(Coordinator.java:700)
\t- locked <0x00000000f7218a70> (a java.lang.Object)
",
        expected: &[
            "the master waits for a lock: changes wait for 45 s",
            "The lock is held by management",
            "management in java.net.PlainSocketImpl.socketConnect",
        ],
        absent: &["jstack -l"],
    },
];

#[test]
fn each_cause_is_told_by_what_the_thread_waits_for() {
    for case in CASES {
        let mut answers = recorded(case.server);
        answers.insert("pending_tasks".to_owned(), Answer::ok(WAITING));
        if let Some(version) = case.version {
            for name in ["root", "nodes"] {
                let Some(Answer::Body(_, body)) = answers.get(name) else {
                    panic!("{name}")
                };
                let text = String::from_utf8_lossy(body).replace("7.17.28", version);
                answers.insert(name.to_owned(), Answer::ok(text.as_str()));
            }
            let balance = r#"{"stats":{"computation_active":true,"computation_submitted":9,
                "computation_executed":9,"computation_converged":8,"total_allocations":123,
                "undesired_allocations":0}}"#;
            answers.insert("desired_balance".to_owned(), Answer::ok(balance));
        }
        let server = replay(answers);
        let tree = Tree::new();
        tree.file("threads", case.threads);
        let file = format!("{}/threads", tree.path());
        let url = server.url("");
        let words = [
            "--cluster",
            &url,
            "--hot-threads",
            &file,
            "--format",
            "json",
        ];
        let (found, text) = finding(&check(&words), "ES003").expect(case.name);
        assert_eq!(found["severity"], "error", "{}: {text}", case.name);
        for part in case.expected {
            assert!(text.contains(part), "{}, {part}: {text}", case.name);
        }
        for part in case.absent {
            assert!(!text.contains(part), "{}, {part}: {text}", case.name);
        }
    }
}

#[test]
fn waiting_changes_are_counted_and_those_that_execute_are_timed() {
    let told = |tasks: &str| {
        let mut answers = recorded("opensearch-2.19.1");
        answers.insert("pending_tasks".to_owned(), Answer::ok(tasks));
        let server = replay(answers);
        let output = check(&["--cluster", &server.url(""), "--format", "json"]);
        finding(&output, "ES003").expect(tasks).1
    };
    let flood: Vec<String> = (0..900)
        .map(|number| {
            format!(
                r#"{{"insert_order":{number},"priority":"HIGH","source":"put-mapping [logs-{}/KBz7]",
                "executing":false,"time_in_queue_millis":{}}}"#,
                number % 7,
                31_000 - number
            )
        })
        .collect();
    let text = told(&format!(r#"{{"tasks":[{}]}}"#, flood.join(",")));
    assert!(
        text.contains("900 of 900 waiting changes are put-mapping"),
        "{text}"
    );
    assert!(text.contains("turn off dynamic mapping"), "{text}");
    // OpenSearch 3.1 and later tell how long it has been executing.
    let stuck = r#"{"tasks":[{"insert_order":5,"priority":"URGENT","source":"create-index [a], cause [api]",
        "executing":true,"time_in_queue_millis":7203000,"time_in_execution_millis":7200000},
        {"insert_order":6,"priority":"URGENT","source":"create-index [b], cause [api]","executing":false,
        "time_in_queue_millis":8999,"time_in_execution_millis":0}]}"#;
    let text = told(stuck);
    assert!(text.contains("one change has not ended for 2 h"), "{text}");
    assert!(text.contains("It has been executing for 2 h."), "{text}");
}

#[test]
fn threads_of_a_data_node_in_an_fsync_are_a_note() {
    use std::fmt::Write as _;
    let mut threads = "::: {es-7}{x}{y}{10.0.0.7}{10.0.0.7:9300}{d}\n   Hot threads at \
        2024-07-01T10:00:00.000Z, interval=500ms, busiestThreads=10, ignoreIdleThreads=true:\n"
        .to_owned();
    for number in 1..=5 {
        let _ = write!(
            threads,
            "\n    0.0% (0s out of 500ms) cpu usage by thread 'opensearch[es-7][management][T#{number}]'\n     \
             10/10 snapshots sharing following 4 elements\n       \
             java.base@17.0.9/sun.nio.ch.FileDispatcherImpl.force0(Native Method)\n       \
             app//org.opensearch.gateway.MetadataStateFormat.writeAndCleanup(MetadataStateFormat.java:330)\n       \
             app//org.opensearch.index.seqno.ReplicationTracker.persistRetentionLeases(ReplicationTracker.java:509)\n       \
             java.base@17.0.9/java.lang.Thread.run(Thread.java:840)\n"
        );
    }
    let tree = Tree::new();
    tree.file("threads", &threads);
    let server = replay(recorded("opensearch-2.19.1"));
    let file = format!("{}/threads", tree.path());
    let url = server.url("");
    let words = [
        "--cluster",
        &url,
        "--hot-threads",
        &file,
        "--select",
        "ES003,ES012",
        "--format",
        "json",
    ];
    let output = check(&words);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let (found, text) = finding(&output, "ES012").expect("a note");
    assert_eq!(
        (&found["severity"], &found["subject"]),
        (&"info".into(), &"node es-7".into())
    );
    assert!(text.contains("5 threads wait for one disk"), "{text}");
    assert!(finding(&output, "ES003").is_none(), "{text}");
}

#[test]
fn a_file_without_threads_says_what_was_expected() {
    let server = replay(recorded("elasticsearch-7.17.28"));
    let url = server.url("");
    let tree = Tree::new();
    for (text, expected) in [
        ("", "jstack PID"),
        (
            "{\"error\":{\"type\":\"security_exception\"},\"status\":403}",
            "jstack PID",
        ),
        (
            "::: {n1}{x}\n   Hot threads at 2026-11-28T18:48:00.100Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:\n",
            "ignore_idle_threads=false",
        ),
    ] {
        tree.file("threads", text);
        let file = format!("{}/threads", tree.path());
        let output = check(&["--cluster", &url, "--hot-threads", &file]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "{text}");
    }
}

#[test]
fn a_desired_balance_that_nothing_moves_towards() {
    let mut answers = recorded("elasticsearch-7.17.28");
    for name in ["root", "nodes"] {
        let Some(Answer::Body(_, body)) = answers.get(name) else {
            panic!("{name}")
        };
        let text = String::from_utf8_lossy(body).replace("7.17.28", "8.19.4");
        answers.insert(name.to_owned(), Answer::ok(text.as_str()));
    }
    let state = r#"{"master_node":"V73MznPTTF2WMyjoSjoSIw","routing_table":{"indices":{"a":{"shards":{"0":[
        {"state":"STARTED","primary":true,"node":"V73MznPTTF2WMyjoSjoSIw"}]}}}}}"#;
    answers.insert("state".to_owned(), Answer::ok(state));
    let balance = r#"{"stats":{"computation_converged_index":10,"computation_active":false,
        "computation_submitted":31,"computation_executed":31,"computation_converged":31,"computation_iterations":62,
        "computed_shard_movements":40,"computation_time_in_millis":201,"reconciliation_time_in_millis":9,
        "unassigned_shards":0,"total_allocations":123,"undesired_allocations":40,"undesired_allocations_ratio":0.325}}"#;
    answers.insert("desired_balance".to_owned(), Answer::ok(balance));
    let server = replay(answers.clone());
    let told = check(&["--cluster", &server.url(""), "--format", "json"]);
    let (_, text) = finding(&told, "ES013").expect("a finding");
    assert!(
        text.contains("40 of 123 shards should be on other nodes"),
        "{text}"
    );
    assert!(text.contains("31 computations submitted"), "{text}");
    // Who may not ask for it is told so.
    let refused = br#"{"error":{"type":"security_exception"},"status":403}"#.to_vec();
    answers.insert("desired_balance".to_owned(), Answer::Body(403, refused));
    let server = replay(answers);
    let output = check(&["--cluster", &server.url(""), "--format", "json"]);
    assert!(finding(&output, "ES013").is_none());
    let skipped = document(&output)["skipped"].to_string();
    assert!(
        skipped.contains("the cluster privilege manage"),
        "{skipped}"
    );
}
