package org.elasticsearch.cluster.routing;

import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.elasticsearch.index.Index;
import org.elasticsearch.index.shard.ShardId;

/**
 * One thread changes a node as the allocator does, others list its copies meanwhile. A reader must never see a list that
 * is older than what was complete when it asked, nor one that lacks a copy or has one twice. The unpatched class refuses
 * with a ConcurrentModificationException when copies come or go while it scans; so may this one.
 *
 * <p>Arguments: SECONDS READERS SEED. Exit code 1 if a list was wrong.
 */
public final class Stress {
    private static final int MARKED = 8;
    private static final int OTHERS = 200;

    private static final AtomicLong WRONG = new AtomicLong();
    private static final AtomicLong LISTS = new AtomicLong();
    private static final AtomicLong REFUSED = new AtomicLong();

    private static volatile boolean isOver;
    /** The writer's last change of a marked copy that is complete. */
    private static volatile long complete;

    private Stress() {}

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
        int readers = Integer.parseInt(arguments[1]);
        Random random = new Random(Long.parseLong(arguments[2]));
        RoutingNode node = new RoutingNode("node", null);
        // Marked copies are always there and INITIALIZING; their expected size is the number of the change.
        ShardRouting[] marked = new ShardRouting[MARKED];
        for (int at = 0; at < MARKED; at++) {
            marked[at] = copy(at).initialize("node", null, 0);
            node.add(marked[at]);
        }
        List<ShardRouting> others = new ArrayList<>();
        for (int at = MARKED; at < MARKED + OTHERS; at++) {
            ShardRouting started = copy(at).initialize("node", null, 0).moveToStarted();
            others.add(started);
            node.add(started);
        }
        List<Thread> threads = new ArrayList<>();
        for (int at = 0; at < readers; at++) {
            Thread thread = new Thread(() -> {
                try {
                    read(node);
                } catch (Throwable thrown) {
                    wrong(thrown.toString());
                }
            });
            threads.add(thread);
            thread.start();
        }
        long changes = 0;
        while (System.nanoTime() < end) {
            changes++;
            ShardRouting[] all = marked.clone();
            for (int at = 0; at < MARKED; at++) {
                ShardRouting next = copy(at).initialize("node", null, changes);
                node.update(all[at], next);
                marked[at] = next;
            }
            complete = changes;
            if (random.nextInt(4) == 0) {
                int at = random.nextInt(others.size());
                ShardRouting old = others.get(at);
                ShardRouting next = old.relocating() ? old.cancelRelocation() : old.relocate("elsewhere", 0);
                node.update(old, next);
                others.set(at, next);
            }
            if (random.nextInt(64) == 0) {
                int at = random.nextInt(others.size());
                node.remove(others.get(at));
                node.add(others.get(at));
            }
            check(node, others);
        }
        isOver = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(changes + " changes, " + LISTS.get() + " lists read beside them, " + REFUSED.get()
            + " refused, " + WRONG.get() + " wrong");
        System.exit(WRONG.get() == 0 && LISTS.get() > 0 ? 0 : 1);
    }

    private static ShardRouting copy(int number) {
        return ShardRouting.newUnassigned(new ShardId(new Index("index", "uuid"), number), true,
            RecoverySource.EmptyStoreRecoverySource.INSTANCE,
            new UnassignedInfo(UnassignedInfo.Reason.INDEX_CREATED, "planted"));
    }

    /** The writer's own view, which is exact. */
    private static void check(RoutingNode node, List<ShardRouting> others) {
        long relocating = others.stream().filter(ShardRouting::relocating).count();
        List<ShardRouting> listed = node.shardsWithState(ShardRoutingState.RELOCATING);
        if (listed.size() != relocating || node.numberOfShardsWithState(ShardRoutingState.STARTED) != OTHERS - relocating
            || new HashSet<>(listed).size() != listed.size() || !others.containsAll(listed)) {
            wrong("the writer's list");
        }
        // A list is its caller's own.
        listed.clear();
        if (node.shardsWithState(ShardRoutingState.RELOCATING).size() != relocating) {
            wrong("a list that another caller has emptied");
        }
    }

    private static void read(RoutingNode node) {
        while (isOver == false) {
            long before = complete;
            List<ShardRouting> listed;
            try {
                listed = node.shardsWithState(ShardRoutingState.INITIALIZING);
            } catch (ConcurrentModificationException changing) {
                REFUSED.incrementAndGet();
                continue;
            }
            LISTS.incrementAndGet();
            Set<Integer> numbers = new HashSet<>();
            for (ShardRouting copy : listed) {
                numbers.add(copy.id());
                if (copy.getExpectedShardSize() < before) {
                    wrong("a copy of change " + copy.getExpectedShardSize() + " after " + before);
                }
            }
            if (listed.size() != MARKED || numbers.size() != MARKED) {
                wrong(listed.size() + " copies instead of " + MARKED);
            }
        }
    }

    private static void wrong(String what) {
        if (WRONG.incrementAndGet() <= 10) {
            System.out.println("wrong: " + what);
        }
    }
}
