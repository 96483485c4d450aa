use super::*;
use facts::cluster::ThreadSource;

fn stack(seen: u32, frames: &[&str]) -> ThreadStack {
    ThreadStack {
        seen,
        snapshots: 10,
        complete: true,
        frames: frames.iter().map(|&frame| frame.to_owned()).collect(),
        state: None,
        lock_holder: None,
    }
}

fn thread(pool: &str, stacks: Vec<ThreadStack>) -> HotThread {
    HotThread {
        node: None,
        pool: pool.to_owned(),
        cpu_percent: None,
        stacks,
    }
}

fn master(stacks: Vec<ThreadStack>) -> HotThread {
    thread("masterService#updateTask", stacks)
}

fn seen(threads: Vec<HotThread>) -> Vec<(Work, String, u32)> {
    let threads = MasterThreads {
        source: ThreadSource::HotThreads,
        interval_ms: Some(500),
        threads,
    };
    of_master(threads.threads.iter())
        .into_iter()
        .map(|seen| (seen.work, seen.frame.to_owned(), seen.hits))
        .collect()
}

/// The work of a thread that shows these frames in every snapshot.
fn work(frames: &[&str]) -> Option<Work> {
    seen(vec![master(vec![stack(10, frames)])])
        .first()
        .map(|(work, ..)| *work)
}

/// As reported by 7.4.0, innermost frame first.
const SCANNING: &[&str] = &[
    "java.util.LinkedHashMap$LinkedHashIterator.nextNode",
    "org.elasticsearch.cluster.routing.RoutingNode.shardsWithState",
    "org.elasticsearch.cluster.routing.allocation.decider.DiskThresholdDecider\
     .sizeOfRelocatingShards",
    "org.elasticsearch.cluster.routing.allocation.decider.DiskThresholdDecider.getDiskUsage",
    "org.elasticsearch.cluster.routing.allocation.decider.AllocationDeciders.canRemain",
    "org.elasticsearch.cluster.routing.allocation.allocator.BalancedShardsAllocator$Balancer\
     .decideMove",
    "org.elasticsearch.cluster.routing.allocation.AllocationService.reroute",
    "org.elasticsearch.cluster.service.MasterService.runTasks",
];

/// Since 7.6.
const FSYNC_OF_STATE: &[&str] = &[
    "sun.nio.ch.FileDispatcherImpl.force0",
    "sun.nio.ch.FileDispatcherImpl.force",
    "sun.nio.ch.FileChannelImpl.force",
    "org.apache.lucene.util.IOUtils.fsync",
    "org.apache.lucene.store.FSDirectory.fsync",
    "org.apache.lucene.index.IndexWriter.prepareCommit",
    "org.elasticsearch.gateway.PersistedClusterStateService$MetadataIndexWriter.prepareCommit",
    "org.elasticsearch.gateway.PersistedClusterStateService$Writer.commit",
    "org.elasticsearch.gateway.GatewayMetaState$LucenePersistedState.setLastAcceptedState",
    "org.elasticsearch.cluster.coordination.Coordinator.publish",
    "org.elasticsearch.cluster.service.MasterService.publish",
];

#[test]
fn each_part_of_placing_shards_has_its_own_name() {
    let allocator =
        |call: &str| format!("org.opensearch.cluster.routing.allocation.allocator.{call}");
    for (call, expected) in [
        ("LocalShardsBalancer.balanceByWeights", Work::Weights),
        (
            "LocalShardsBalancer.decideAllocateUnassigned",
            Work::Unassigned,
        ),
        ("LocalShardsBalancer.moveShards", Work::Placement),
        (
            "BalancedShardsAllocator$Balancer.balanceByWeights",
            Work::Weights,
        ),
        (
            "BalancedShardsAllocator$Balancer.allocateUnassigned",
            Work::Unassigned,
        ),
        ("DesiredBalanceReconciler.reconcile", Work::Reconcile),
        ("DesiredBalanceComputer.compute", Work::DesiredBalance),
    ] {
        let outer = "org.opensearch.cluster.routing.allocation.AllocationService.reroute";
        // What the deciders are asked for is what matters, not that they are asked.
        let inner =
            "org.opensearch.cluster.routing.allocation.decider.AllocationDeciders.canAllocate";
        let frames = [inner, &allocator(call), outer];
        assert_eq!(work(&frames), Some(expected), "{call}");
    }
    assert_eq!(
        work(&["org.opensearch.gateway.ReplicaShardBatchAllocator.x"]),
        Some(Work::Gateway)
    );
    assert_eq!(work(&SCANNING[6..]), Some(Work::Reroute));
}

#[test]
fn the_computation_of_the_desired_balance_is_told_from_the_balancer_that_it_runs() {
    let frames = [
        "org.elasticsearch.cluster.routing.allocation.allocator.BalancedShardsAllocator$Balancer\
         .balanceByWeights",
        "org.elasticsearch.cluster.routing.allocation.allocator.BalancedShardsAllocator.allocate",
        "org.elasticsearch.cluster.routing.allocation.allocator.DesiredBalanceComputer.compute",
        "org.elasticsearch.cluster.routing.allocation.allocator.ContinuousComputation$1.doRun",
    ];
    assert_eq!(work(&frames), Some(Work::DesiredBalance));
    // It runs beside the queue, so that what happens in the queue explains more.
    let all = seen(vec![
        thread("generic", vec![stack(10, &frames)]),
        master(vec![stack(6, &frames[..2])]),
    ]);
    assert_eq!(all[0].0, Work::Weights);
    assert_eq!(all[1].0, Work::DesiredBalance);
}

#[test]
fn the_scan_is_recognised_below_the_balancer() {
    let all = seen(vec![
        master(vec![stack(10, &["java.lang.Object.wait"])]),
        master(vec![
            stack(6, SCANNING),
            stack(3, &SCANNING[3..]),
            stack(1, &[]),
        ]),
    ]);
    assert_eq!(
        all,
        [(Work::Scan, "RoutingNode.shardsWithState".to_owned(), 9)]
    );
}

#[test]
fn a_cluster_state_on_its_way_to_the_disk() {
    assert_eq!(work(FSYNC_OF_STATE), Some(Work::StateDisk));
    // As JDK 21 and versions before 7.6 call it.
    for frames in [
        [
            "sun.nio.ch.UnixFileDispatcherImpl.force0",
            "org.opensearch.gateway.PersistedClusterStateService$Writer.commit",
        ],
        [
            "sun.nio.ch.FileDispatcherImpl.force0",
            "org.elasticsearch.gateway.MetaStateService.writeIndex",
        ],
        // Slow files, too: the rename of a file on a disk that stands still.
        [
            "sun.nio.fs.UnixNativeDispatcher.rename0",
            "org.elasticsearch.gateway.IncrementalClusterStateWriter.writeManifest",
        ],
    ] {
        assert_eq!(work(&frames), Some(Work::StateDisk), "{frames:?}");
    }
    // Without a system call it is the processor that works.
    assert_eq!(work(&FSYNC_OF_STATE[5..]), Some(Work::StateWrite));
}

#[test]
fn each_state_is_written_by_another_thread() {
    let states = |hits: &[u32]| {
        let threads = hits.iter().map(|&hits| {
            thread(
                "generic",
                vec![stack(hits, FSYNC_OF_STATE), stack(10 - hits, &["a.B.c"])],
            )
        });
        seen(threads.collect())
    };
    assert_eq!(states(&[3, 4, 2])[0].2, 9);
    assert_eq!(states(&[10, 10])[0].2, 10);
    // Of different nodes they do not add up.
    let mut threads: Vec<HotThread> = (0..3)
        .map(|_| thread("generic", vec![stack(3, FSYNC_OF_STATE)]))
        .collect();
    for (thread, node) in threads.iter_mut().zip(["a", "b", "c"]) {
        thread.node = Some(node.to_owned());
    }
    assert!(seen(threads).iter().all(|(_, _, hits)| *hits == 3));
}

#[test]
fn files_of_shards_are_not_the_cluster_state() {
    for frames in [
        vec![
            "sun.nio.ch.FileDispatcherImpl.force0",
            "org.opensearch.index.translog.TranslogWriter.syncUpTo",
        ],
        vec![
            "sun.nio.ch.FileDispatcherImpl.force0",
            "org.elasticsearch.gateway.MetadataStateFormat.writeAndCleanup",
            "org.elasticsearch.index.seqno.ReplicationTracker.persistRetentionLeases",
        ],
    ] {
        assert_eq!(work(&frames), Some(Work::NodeDisk), "{frames:?}");
    }
    // A merge that reads waits for nothing but its turn.
    let merge = [
        "sun.nio.ch.FileDispatcherImpl.pread0",
        "org.elasticsearch.index.engine.ElasticsearchConcurrentMergeScheduler.doMerge",
    ];
    assert_eq!(work(&merge), None);
}

/// Up to 8.7, and in OpenSearch.
const PUBLISHING: &[&str] = &[
    "jdk.internal.misc.Unsafe.park",
    "java.util.concurrent.locks.LockSupport.park",
    "org.elasticsearch.common.util.concurrent.BaseFuture.get",
    "org.elasticsearch.cluster.service.MasterService.publish",
];

#[test]
fn a_master_that_waits_for_others() {
    for (frames, expected) in [
        (PUBLISHING.to_vec(), Work::Publication),
        (
            vec![
                "java.util.concurrent.locks.ReentrantLock.lock",
                "org.opensearch.cluster.coordination.Coordinator.publish",
            ],
            Work::Lock,
        ),
        (
            vec![
                "java.net.SocketInputStream.socketRead0",
                "org.elasticsearch.repositories.blobstore.BlobStoreRepository.startVerification",
            ],
            Work::Repository,
        ),
        (
            vec![
                "java.lang.Thread.sleep",
                "java.nio.Bits.reserveMemory",
                "org.elasticsearch.cluster.service.MasterService.publish",
            ],
            Work::Memory,
        ),
    ] {
        assert_eq!(work(&frames), Some(expected), "{frames:?}");
        // Other threads may wait without holding up the master.
        let other = thread("generic", vec![stack(10, &frames)]);
        assert_eq!(seen(vec![other]), [], "{frames:?}");
    }
}

#[test]
fn its_own_disk_is_why_a_master_waits_for_the_publication() {
    let all = seen(vec![
        master(vec![stack(10, PUBLISHING)]),
        thread("generic", vec![stack(7, FSYNC_OF_STATE)]),
    ]);
    assert_eq!(all[0].0, Work::StateDisk);
    // Not a disk that is seldom waited for.
    let all = seen(vec![
        master(vec![stack(10, PUBLISHING)]),
        thread("generic", vec![stack(2, FSYNC_OF_STATE)]),
    ]);
    assert_eq!(all[0].0, Work::Publication);
}

#[test]
fn the_state_in_a_dump_counts() {
    let with_state = |state: &str, frames: &[&str]| {
        let mut thread = master(vec![stack(10, frames)]);
        thread.stacks[0].state = Some(state.to_owned());
        seen(vec![thread]).first().map(|(work, ..)| *work)
    };
    // Its frames show what it will do.
    assert_eq!(with_state("TIMED_WAITING (parking)", SCANNING), None);
    assert_eq!(with_state("WAITING", PUBLISHING), Some(Work::Publication));
    assert_eq!(with_state("BLOCKED", PUBLISHING), Some(Work::Lock));
}

#[test]
fn whatever_else_a_change_is_made_of_is_named() {
    let mapping = &[
        "java.util.HashMap.get",
        "org.elasticsearch.common.util.concurrent.ThreadContext.x",
        "org.elasticsearch.index.mapper.MapperService.merge",
        "org.elasticsearch.cluster.metadata.MetadataMappingService.applyRequest",
        "org.elasticsearch.cluster.service.MasterService.executeTasks",
    ];
    let all = seen(vec![master(vec![stack(9, mapping)])]);
    let merge = "MapperService.merge".to_owned();
    assert_eq!(all, [(Work::Other, merge, 9)]);
    let applying = &[
        "org.opensearch.indices.cluster.IndicesClusterStateService.createIndices",
        "org.opensearch.cluster.service.ClusterApplierService.applyChanges",
    ];
    let applier = thread(
        "clusterApplierService#updateTask",
        vec![stack(10, applying)],
    );
    let create = "IndicesClusterStateService.createIndices".to_owned();
    assert_eq!(seen(vec![applier]), [(Work::Apply, create, 10)]);
}

#[test]
fn a_dump_tells_what_the_holder_of_a_lock_does() {
    let mut blocked = stack(
        1,
        &[
            "org.apache.lucene.index.IndexWriter.prepareCommit",
            "org.elasticsearch.gateway.PersistedClusterStateService$Writer.commit",
        ],
    );
    blocked.state = Some("BLOCKED".to_owned());
    blocked.lock_holder = Some(LockHolder {
        pool: "generic".to_owned(),
        frames: stack(1, FSYNC_OF_STATE).frames,
    });
    let thread = master(vec![blocked]);
    let all = of_master(std::iter::once(&thread));
    assert_eq!(all[0].work, Work::Lock);
    let (holder, work) = all[0].holder.expect("a holder");
    assert_eq!(
        (holder.pool.as_str(), work),
        ("generic", Some(Work::StateDisk))
    );
}

#[test]
fn other_work_is_ignored() {
    for frames in [
        vec!["org.apache.lucene.index.IndexWriter.updateDocument"],
        vec!["com.example.cluster.routing.RoutingNodes.x"],
        // An idle thread.
        vec![
            "jdk.internal.misc.Unsafe.park",
            "java.util.concurrent.LinkedTransferQueue.take",
        ],
        vec![""],
        vec![],
    ] {
        assert_eq!(work(&frames), None, "{frames:?}");
    }
    assert_eq!(seen(Vec::new()), []);
}

#[test]
fn threads_belong_to_their_nodes() {
    let mut threads = MasterThreads {
        source: ThreadSource::HotThreads,
        interval_ms: None,
        threads: vec![master(vec![]), master(vec![]), master(vec![])],
    };
    threads.threads[0].node = Some("a".to_owned());
    threads.threads[1].node = Some("b".to_owned());
    assert_eq!(of_node(&threads, Some("a")).count(), 2);
    assert_eq!(of_node(&threads, None).count(), 3);
}
