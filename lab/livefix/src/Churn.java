import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.elasticsearch.Version;
import org.elasticsearch.cluster.ClusterInfo;
import org.elasticsearch.cluster.ClusterInfoService;
import org.elasticsearch.cluster.ClusterModule;
import org.elasticsearch.cluster.ClusterName;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.DiskUsage;
import org.elasticsearch.cluster.metadata.IndexMetaData;
import org.elasticsearch.cluster.metadata.MetaData;
import org.elasticsearch.cluster.node.DiscoveryNode;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.cluster.routing.RecoverySource;
import org.elasticsearch.cluster.routing.RoutingNode;
import org.elasticsearch.cluster.routing.RoutingNodes;
import org.elasticsearch.cluster.routing.RoutingTable;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.ShardRoutingState;
import org.elasticsearch.cluster.routing.UnassignedInfo;
import org.elasticsearch.cluster.routing.allocation.AllocationService;
import org.elasticsearch.cluster.routing.allocation.FailedShard;
import org.elasticsearch.cluster.routing.allocation.RoutingAllocation;
import org.elasticsearch.cluster.routing.allocation.allocator.BalancedShardsAllocator;
import org.elasticsearch.cluster.routing.allocation.decider.AllocationDeciders;
import org.elasticsearch.cluster.routing.allocation.decider.Decision;
import org.elasticsearch.common.collect.ImmutableOpenMap;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.transport.TransportAddress;
import org.elasticsearch.gateway.GatewayAllocator;

/**
 * Random changes of a cluster on the server's own allocation service: indices come, go, close and open, copies start and
 * fail, nodes leave and come back, disks fill up. Equal output with and without the agent means that every decision was
 * the same. Compiled against the version that it runs with, 6.8 to 7.5.
 *
 * <p>Arguments: STEPS SEED. A line for each 100 steps: what was done, and a hash of all states so far, with the copies of
 * each node in their order and what the node lists for each set of states.
 */
public final class Churn {
    private static final int NODES = 6;
    private static final int INDICES_MIN = 20;
    private static final int INDICES_MAX = 60;
    private static final long DISK_BYTES = 1L << 40;
    private static final ShardRoutingState[] STATES = ShardRoutingState.values();

    /**
     * Stands in for nodes that are asked for data: every node that may hold a primary has it, so that the first one gets
     * it. All else is the balancer's.
     */
    private static final class Everywhere extends GatewayAllocator {
        @Override
        public void applyStartedShards(RoutingAllocation allocation, List<ShardRouting> started) {}

        @Override
        public void applyFailedShards(RoutingAllocation allocation, List<FailedShard> failed) {}

        @Override
        public void allocateUnassigned(RoutingAllocation allocation) {
            RoutingNodes nodes = allocation.routingNodes();
            RoutingNodes.UnassignedShards.UnassignedIterator unassigned = nodes.unassigned().iterator();
            while (unassigned.hasNext()) {
                ShardRouting copy = unassigned.next();
                if (copy.primary() && copy.recoverySource().getType() == RecoverySource.Type.EXISTING_STORE) {
                    allocate(copy, unassigned, allocation);
                }
            }
        }

        private static void allocate(
            ShardRouting copy, RoutingNodes.UnassignedShards.UnassignedIterator unassigned, RoutingAllocation allocation) {
            IndexMetaData index = allocation.metaData().getIndexSafe(copy.index());
            List<String> ids = new ArrayList<>();
            for (RoutingNode node : allocation.routingNodes()) {
                ids.add(node.nodeId());
            }
            Collections.sort(ids);
            for (String id : ids) {
                RoutingNode node = allocation.routingNodes().node(id);
                if (allocation.deciders().canAllocate(copy, node, allocation).type() == Decision.Type.YES) {
                    String inSync = Collections.min(index.inSyncAllocationIds(copy.id()));
                    unassigned.initialize(id, inSync, ShardRouting.UNAVAILABLE_EXPECTED_SHARD_SIZE, allocation.changes());
                    return;
                }
            }
            unassigned.removeAndIgnore(UnassignedInfo.AllocationStatus.DECIDERS_NO, allocation.changes());
        }
    }

    private final Random random;
    private final AllocationService service;
    private final List<DiscoveryNode> away = new ArrayList<>();
    private final Map<String, Integer> done = new TreeMap<>();
    private ClusterInfo info = ClusterInfo.EMPTY;
    private ClusterState state;
    private int created;
    private long hash;

    private Churn(long seed) throws Exception {
        random = new Random(seed);
        ClusterSettings known = new ClusterSettings(Settings.EMPTY, ClusterSettings.BUILT_IN_CLUSTER_SETTINGS);
        ClusterInfoService infos = (ClusterInfoService) Proxy.newProxyInstance(Churn.class.getClassLoader(),
            new Class<?>[] { ClusterInfoService.class },
            (proxy, method, arguments) -> method.getName().equals("getClusterInfo") ? info : null);
        service = new AllocationService(
            new AllocationDeciders(ClusterModule.createAllocationDeciders(Settings.EMPTY, known, Collections.emptyList())),
            new BalancedShardsAllocator(Settings.EMPTY, known), infos);
        service.setGatewayAllocator(new Everywhere());
        DiscoveryNodes.Builder nodes = DiscoveryNodes.builder();
        for (int number = 0; number < NODES; number++) {
            nodes.add(node("node-" + number, number));
        }
        state = ClusterState.builder(new ClusterName("churn")).nodes(nodes).build();
    }

    public static void main(String[] arguments) throws Exception {
        int steps = Integer.parseInt(arguments[0]);
        Churn churn = new Churn(Long.parseLong(arguments[1]));
        System.out.println("Elasticsearch " + Version.CURRENT);
        for (int step = 1; step <= steps; step++) {
            String what = churn.step();
            churn.done.merge(what, 1, Integer::sum);
            churn.hash = churn.hash * 31 + churn.digest();
            if (step % 100 == 0 || step == steps) {
                System.out.printf(Locale.ROOT, "step %d: %d indices, %d copies, %d nodes, %016x%n", step,
                    churn.state.metaData().indices().size(), churn.copies().size(), churn.state.nodes().getSize(),
                    churn.hash);
            }
        }
        System.out.println(churn.done);
    }

    /** Roles are constants of another class from 7.3 on, and known once they are named; nodes are hashed by an id that is random unless given. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    private static DiscoveryNode node(String name, int number) throws Exception {
        Object role;
        try {
            Class<?> roles = Class.forName("org.elasticsearch.cluster.node.DiscoveryNodeRole");
            role = roles.getField("DATA_ROLE").get(null);
            for (Method method : DiscoveryNode.class.getMethods()) {
                if (method.getName().equals("setPossibleRoles")) {
                    method.invoke(null, Collections.singleton(role));
                }
            }
        } catch (ClassNotFoundException before) {
            Class<?> roles = Class.forName("org.elasticsearch.cluster.node.DiscoveryNode$Role");
            role = roles.getField("DATA").get(null);
        }
        TransportAddress address = new TransportAddress(InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) number}), 9300);
        return new DiscoveryNode(name, name, name, "10.0.0." + number, "10.0.0." + number, address, new HashMap(),
            (java.util.Set) Collections.singleton(role), Version.CURRENT);
    }

    private String step() throws Exception {
        int indices = state.metaData().indices().size();
        int choice = random.nextInt(16);
        if (indices < INDICES_MIN || choice == 0 && indices < INDICES_MAX) {
            create();
            return "create";
        }
        switch (choice) {
            case 1:
                delete(anyIndex());
                return "delete";
            case 2:
                return closeOrOpen(anyIndex());
            case 3:
            case 4:
                return fail();
            case 5:
                return random.nextInt(4) == 0 ? nodeLeaves() : start(1);
            case 6:
                return nodeReturns();
            case 7:
                disks();
                state = service.reroute(state, "disks");
                return "disks";
            case 8:
                state = service.reroute(state, "asked");
                return "reroute";
            default:
                return start(random.nextInt(3) == 0 ? Integer.MAX_VALUE : 1 + random.nextInt(4));
        }
    }

    private String anyIndex() {
        List<String> names = new ArrayList<>();
        state.metaData().indices().keysIt().forEachRemaining(names::add);
        Collections.sort(names);
        return names.get(random.nextInt(names.size()));
    }

    private void create() {
        String name = String.format(Locale.ROOT, "index-%05d", created++);
        IndexMetaData index = IndexMetaData.builder(name).settings(Settings.builder()
            .put(IndexMetaData.SETTING_VERSION_CREATED, Version.CURRENT)
            .put(IndexMetaData.SETTING_INDEX_UUID, "uuid-" + name)
            .put(IndexMetaData.SETTING_NUMBER_OF_SHARDS, 1 + random.nextInt(3))
            .put(IndexMetaData.SETTING_NUMBER_OF_REPLICAS, random.nextInt(3))
            .put(IndexMetaData.SETTING_CREATION_DATE, created)
            // What happens would depend on the time.
            .put("index.unassigned.node_left.delayed_timeout", "0s")).build();
        update(MetaData.builder(state.metaData()).put(index, false),
            RoutingTable.builder(state.routingTable()).addAsNew(index), "create");
    }

    private void delete(String name) {
        update(MetaData.builder(state.metaData()).remove(name),
            RoutingTable.builder(state.routingTable()).remove(name), "delete");
    }

    private void update(MetaData.Builder metaData, RoutingTable.Builder table, String reason) {
        state = ClusterState.builder(state).metaData(metaData).routingTable(table.build()).build();
        state = service.reroute(state, reason);
    }

    /** Closed indices stay in the routing table from 7.2 on. */
    private String closeOrOpen(String name) throws Exception {
        IndexMetaData old = state.metaData().index(name);
        boolean isOpen = old.getState() == IndexMetaData.State.OPEN;
        IndexMetaData index = IndexMetaData.builder(old)
            .state(isOpen ? IndexMetaData.State.CLOSE : IndexMetaData.State.OPEN)
            .settings(Settings.builder().put(old.getSettings()).put("index.verified_before_close", isOpen)).build();
        MetaData.Builder metaData = MetaData.builder(state.metaData()).put(index, true);
        RoutingTable.Builder table = RoutingTable.builder(state.routingTable());
        Method keep = Arrays.stream(RoutingTable.Builder.class.getMethods())
            .filter(method -> method.getName().equals("addAsFromOpenToClose")).findFirst().orElse(null);
        if (isOpen == false) {
            table.addAsFromCloseToOpen(metaData.get(name));
        } else if (keep == null) {
            table.remove(name);
        } else {
            keep.invoke(table, metaData.get(name));
        }
        update(metaData, table, "closed or opened");
        return isOpen ? "close" : "open";
    }

    private String start(int most) {
        List<ShardRouting> initializing = new ArrayList<>();
        for (ShardRouting copy : copies()) {
            if (copy.initializing()) {
                initializing.add(copy);
            }
        }
        if (initializing.isEmpty()) {
            state = service.reroute(state, "nothing to start");
            return "reroute";
        }
        Collections.shuffle(initializing, random);
        state = service.applyStartedShards(state, initializing.subList(0, Math.min(most, initializing.size())));
        state = service.reroute(state, "started");
        return "start";
    }

    private String fail() {
        List<ShardRouting> copies = copies();
        if (copies.isEmpty()) {
            return "nothing";
        }
        ShardRouting copy = copies.get(random.nextInt(copies.size()));
        FailedShard failed = new FailedShard(copy, "planted", null, random.nextBoolean());
        state = service.applyFailedShards(state, Collections.singletonList(failed));
        return "fail " + copy.state().name().toLowerCase(Locale.ROOT);
    }

    private String nodeLeaves() throws Exception {
        if (state.nodes().getSize() <= 2) {
            return "nothing";
        }
        List<String> ids = nodeIds();
        DiscoveryNode node = state.nodes().get(ids.get(random.nextInt(ids.size())));
        away.add(node);
        state = ClusterState.builder(state).nodes(DiscoveryNodes.builder(state.nodes()).remove(node)).build();
        Method dead = Arrays.stream(AllocationService.class.getMethods())
            .filter(method -> method.getName().equals("deassociateDeadNodes") || method.getName().equals("disassociateDeadNodes"))
            .findFirst().orElseThrow(IllegalStateException::new);
        state = (ClusterState) dead.invoke(service, state, true, "left");
        return "node leaves";
    }

    private String nodeReturns() {
        if (away.isEmpty()) {
            state = service.reroute(state, "nobody is away");
            return "reroute";
        }
        DiscoveryNode node = away.remove(random.nextInt(away.size()));
        state = ClusterState.builder(state).nodes(DiscoveryNodes.builder(state.nodes()).add(node)).build();
        state = service.reroute(state, "joined");
        return "node returns";
    }

    /** Some are above the watermarks, so that copies must leave. */
    private void disks() {
        ImmutableOpenMap.Builder<String, DiskUsage> disks = ImmutableOpenMap.builder();
        for (String id : nodeIds()) {
            long free = DISK_BYTES / 100 * (5 + random.nextInt(50));
            disks.put(id, new DiskUsage(id, id, "/data", DISK_BYTES, free));
        }
        ImmutableOpenMap.Builder<String, Long> sizes = ImmutableOpenMap.builder();
        ImmutableOpenMap.Builder<ShardRouting, String> paths = ImmutableOpenMap.builder();
        for (ShardRouting copy : copies()) {
            String key = copy.shardId() + (copy.primary() ? "[p]" : "[r]");
            sizes.put(key, (1L + Math.floorMod(key.hashCode(), 64)) << 28);
            paths.put(copy, "/data");
        }
        // A builder builds once.
        ImmutableOpenMap<String, DiskUsage> usages = disks.build();
        info = new ClusterInfo(usages, usages, sizes.build(), paths.build());
    }

    private List<String> nodeIds() {
        List<String> ids = new ArrayList<>();
        state.nodes().getNodes().keysIt().forEachRemaining(ids::add);
        Collections.sort(ids);
        return ids;
    }

    private List<ShardRouting> copies() {
        List<ShardRouting> copies = new ArrayList<>();
        for (String id : nodeIds()) {
            RoutingNode node = state.getRoutingNodes().node(id);
            if (node != null) {
                node.forEach(copies::add);
            }
        }
        return copies;
    }

    /** Of everything but the random ids of allocations. */
    private long digest() {
        long digest = 1;
        for (String id : nodeIds()) {
            RoutingNode node = state.getRoutingNodes().node(id);
            digest = digest * 31 + id.hashCode();
            if (node == null) {
                continue;
            }
            for (ShardRouting copy : node) {
                digest = digest * 31 + hash(copy);
            }
            for (ShardRoutingState one : STATES) {
                for (ShardRoutingState other : STATES) {
                    // A state that is named twice is asked for as well.
                    for (ShardRouting copy : node.shardsWithState(one, other)) {
                        digest = digest * 31 + hash(copy);
                    }
                    digest = digest * 31 + node.numberOfShardsWithState(one, other);
                }
                digest = digest * 31 + node.numberOfShardsWithState(one);
            }
        }
        for (ShardRouting copy : state.getRoutingNodes().unassigned()) {
            digest = digest * 31 + hash(copy);
        }
        return digest;
    }

    private static long hash(ShardRouting copy) {
        return (copy.shardId() + " " + copy.primary() + " " + copy.state() + " " + copy.currentNodeId() + " "
            + copy.relocatingNodeId()).hashCode();
    }
}
