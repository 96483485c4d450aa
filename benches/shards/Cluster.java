import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;

/**
 * A made-up cluster, all copies started, and the master's own allocation service for it, of whichever server version
 * is on the class path. Disks are 40 % used; copies lie on the data nodes in turn; copies have sizes and paths, so that
 * the disk decider has something to ask.
 */
final class Cluster {
    private static final Class<?> META = Reflect.type("cluster.metadata.Metadata", "cluster.metadata.MetaData");
    private static final Class<?> INDEX_META = Reflect.type("cluster.metadata.IndexMetadata", "cluster.metadata.IndexMetaData");
    private static final Class<?> STATE = Reflect.type(INDEX_META.getName().substring(Reflect.ROOT.length() + 1) + "$State");
    private static final Class<?> SHARD_ID = Reflect.type("index.shard.ShardId", "core.index.shard.ShardId");
    private static final Class<?> INDEX = Reflect.type("index.Index", "core.index.Index");
    private static final Class<?> SETTINGS = Reflect.type("common.settings.Settings");
    private static final Class<?> COPY = Reflect.type("cluster.routing.ShardRouting");
    private static final Class<?> INDEX_TABLE = Reflect.type("cluster.routing.IndexRoutingTable");
    private static final Class<?> TABLE = Reflect.type("cluster.routing.RoutingTable");
    private static final String PATH = "/data/nodes/0";

    final int indices;
    final int primaries;
    final int replicas;
    final int nodes;
    final int closed;
    private final Map<Object, Object> sizes = new HashMap<>();
    private final Map<Object, Object> paths = new HashMap<>();
    private final Map<Object, Object> disks = new HashMap<>();
    private final Object service;
    private Object info;
    /** The cluster state, as each operation finds it. */
    final Object state;

    Cluster(int indices, int primaries, int replicas, int nodes, int closed) throws Exception {
        this.indices = indices;
        this.primaries = primaries;
        this.replicas = replicas;
        this.nodes = nodes;
        this.closed = closed;
        state = initialState();
        info = info();
        service = service(settings());
    }

    /** Copies that the routing table of this version holds. */
    int routed() {
        int open = keepsClosed() ? indices : indices - closed;
        return open * primaries * (1 + replicas);
    }

    /** Whether closed indices stay in the routing table: from 7.2 on. */
    static boolean keepsClosed() {
        return Arrays.stream(Reflect.type("cluster.routing.RoutingTable$Builder").getMethods())
            .anyMatch(method -> method.getName().equals("addAsFromOpenToClose"));
    }

    // ---- operations: from one state to the next, as the master's cluster-state task makes it ----

    Object reroute(Object from) {
        try {
            return Reflect.call(service, "reroute", from, "measured");
        } catch (java.util.NoSuchElementException e) {
            return Reflect.call(service, "reroute", from, "measured", answer(Reflect.type("action.ActionListener"), null));
        }
    }

    /** An index more, as MetaDataCreateIndexService puts it before its reroute. */
    Object created(Object from) {
        Object index = indexMeta("created", false, Map.of());
        Object table = Reflect.call(tableBuilder(from), "addAsNew", index);
        return with(from, Reflect.call(metaBuilder(from), "put", index, false), table);
    }

    /** Without the last index, as MetaDataDeleteIndexService leaves it before its reroute. */
    Object deleted(Object from) {
        Object meta = Reflect.call(metaBuilder(from), "remove", name(indices - 1));
        return with(from, meta, Reflect.call(tableBuilder(from), "remove", name(indices - 1)));
    }

    /** All copies that initialize have started; without the reroute that follows. */
    Object started(Object from) {
        List<Object> initializing = new ArrayList<>();
        Object routing = Reflect.call(from, "getRoutingNodes");
        for (Object node : (Iterable<?>) routing) {
            for (Object copy : (Iterable<?>) node) {
                if ((boolean) Reflect.call(copy, "initializing")) {
                    initializing.add(copy);
                }
            }
        }
        return Reflect.call(service, "applyStartedShards", from, initializing);
    }

    // ---- states ----

    private static String name(int index) {
        return String.format(Locale.ROOT, "index-%07d", index);
    }

    private static Object meta(Object from) {
        return Reflect.call(from, Reflect.has(from, "metadata") ? "metadata" : "metaData");
    }

    private static Object metaBuilder(Object from) {
        return Reflect.callStatic(META, "builder", meta(from));
    }

    private static Object tableBuilder(Object from) {
        return Reflect.callStatic(TABLE, "builder", Reflect.call(from, "routingTable"));
    }

    private static Object with(Object from, Object meta, Object table) {
        Object builder = Reflect.callStatic(Reflect.type("cluster.ClusterState"), "builder", from);
        Reflect.call(builder, Reflect.has(builder, "metadata") ? "metadata" : "metaData", Reflect.call(meta, "build"));
        return Reflect.call(Reflect.call(builder, "routingTable", Reflect.call(table, "build")), "build");
    }

    private Object initialState() throws Exception {
        Object meta = Reflect.callStatic(META, "builder");
        Object table = Reflect.callStatic(TABLE, "builder");
        int turn = 0;
        for (int i = 0; i < indices; i++) {
            Object index = Reflect.make(INDEX, name(i), "uuid-" + name(i));
            Object copies = Reflect.callStatic(INDEX_TABLE, "builder", index);
            Map<Integer, Set<String>> inSync = new HashMap<>();
            for (int shard = 0; shard < primaries; shard++) {
                Object id = Reflect.make(SHARD_ID, index, shard);
                for (int copy = 0; copy <= replicas; copy++) {
                    Object started = startedCopy(id, copy == 0, "node-" + turn++ % nodes);
                    Reflect.call(copies, "addShard", started);
                    inSync.computeIfAbsent(shard, key -> new HashSet<>())
                        .add((String) Reflect.call(Reflect.call(started, "allocationId"), "getId"));
                }
            }
            boolean isClosed = i < closed;
            Reflect.call(meta, "put", indexMeta(name(i), isClosed, inSync), false);
            if (!isClosed || keepsClosed()) {
                Reflect.call(table, "add", Reflect.call(copies, "build"));
            }
        }
        Object builder = Reflect.callStatic(Reflect.type("cluster.ClusterState"), "builder", Reflect.make(Reflect.type("cluster.ClusterName"), "measured"));
        Reflect.call(builder, "nodes", discoveryNodes());
        Reflect.call(builder, Reflect.has(builder, "metadata") ? "metadata" : "metaData", Reflect.call(meta, "build"));
        return Reflect.call(Reflect.call(builder, "routingTable", Reflect.call(table, "build")), "build");
    }

    private Object startedCopy(Object id, boolean isPrimary, String node) {
        String source = "cluster.routing.RecoverySource$" + (isPrimary ? "EmptyStore" : "Peer") + "RecoverySource";
        Object unassigned = Reflect.make(Reflect.type("cluster.routing.UnassignedInfo"),
            Reflect.constant(Reflect.type("cluster.routing.UnassignedInfo$Reason"), "INDEX_CREATED"), "measured");
        Object copy = Reflect.callStatic(COPY, "newUnassigned", id, isPrimary, Reflect.constant(Reflect.type(source), "INSTANCE"), unassigned);
        copy = Reflect.call(Reflect.call(copy, "initialize", node, null, 0L), "moveToStarted");
        sizes.put(id + (isPrimary ? "[p]" : "[r]"), (1L + Math.floorMod(id.hashCode(), 64)) << 20);
        paths.put(copy, PATH);
        return copy;
    }

    private Object indexMeta(String name, boolean isClosed, Map<Integer, Set<String>> inSync) {
        Object settings = settings("index.version.created", version(), "index.uuid", "uuid-" + name, "index.number_of_shards", "" + primaries,
            "index.number_of_replicas", "" + replicas, "index.creation_date", "1", "index.verified_before_close", "" + isClosed);
        Object builder = Reflect.call(Reflect.callStatic(INDEX_META, "builder", name), "settings", settings);
        if (isClosed) {
            Reflect.call(builder, "state", Reflect.constant(STATE, "CLOSE"));
        }
        inSync.forEach((shard, ids) -> Reflect.call(builder, "putInSyncAllocationIds", shard, ids));
        return Reflect.call(builder, "build");
    }

    private Object discoveryNodes() throws Exception {
        Class<?> node = Reflect.type("cluster.node.DiscoveryNode");
        Class<?> address = Reflect.type("common.transport.TransportAddress", "core.common.transport.TransportAddress");
        Object role = Reflect.hasType("cluster.node.DiscoveryNodeRole")
            ? Reflect.constant(Reflect.type("cluster.node.DiscoveryNodeRole"), "DATA_ROLE")
            : Reflect.constant(Reflect.type("cluster.node.DiscoveryNode$Role"), "DATA");
        Object version = Reflect.constant(Reflect.type("Version"), "CURRENT");
        Object builder = Reflect.callStatic(Reflect.type("cluster.node.DiscoveryNodes"), "builder");
        for (int i = 0; i < nodes; i++) {
            Object at = Reflect.make(address, InetAddress.getByAddress(new byte[] { 10, 0, (byte) (i >> 8), (byte) i }), 9300);
            String name = "node-" + i;
            Reflect.call(builder, "add", Reflect.make(node, name, name, at, new HashMap<>(), new HashSet<>(List.of(role)), version));
            disks.put(name, Reflect.make(Reflect.type("cluster.DiskUsage"), name, name, PATH, 1L << 40, (1L << 40) / 100 * 60));
        }
        return Reflect.call(builder, "build");
    }

    private static String version() {
        try {
            Object current = Reflect.constant(Reflect.type("Version"), "CURRENT");
            return String.valueOf(current.getClass().getField("id").get(current));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    // ---- the service ----

    private static Object settings(String... pairs) {
        Object builder = Reflect.callStatic(SETTINGS, "builder");
        for (int i = 0; i < pairs.length; i += 2) {
            Reflect.call(builder, "put", pairs[i], pairs[i + 1]);
        }
        return Reflect.call(builder, "build");
    }

    private Object info() throws Exception {
        Constructor<?> constructor = Arrays.stream(Reflect.type("cluster.ClusterInfo").getConstructors())
            .filter(candidate -> candidate.getParameterCount() >= 4).findFirst().orElseThrow();
        List<Map<Object, Object>> maps = new ArrayList<>(List.of(disks, disks, sizes));
        if (constructor.getParameterCount() == 6 && Reflect.ROOT.contains("elasticsearch")) {
            maps.add(new HashMap<>()); // sizes of shards' data sets
        }
        maps.add(paths);
        while (maps.size() < constructor.getParameterCount()) {
            maps.add(new HashMap<>()); // reserved space
        }
        Object[] arguments = new Object[maps.size()];
        for (int i = 0; i < arguments.length; i++) {
            Class<?> wanted = constructor.getParameterTypes()[i];
            arguments[i] = maps.get(i);
            if (wanted != Map.class) {
                Object builder = Reflect.callStatic(wanted, "builder");
                maps.get(i).forEach((key, value) -> Reflect.call(builder, "put", key, value));
                arguments[i] = Reflect.call(builder, "build");
            }
        }
        return constructor.newInstance(arguments);
    }

    private Object service(Object settings) throws Exception {
        Class<?> known = Reflect.type("common.settings.ClusterSettings");
        Object clusterSettings = Reflect.make(known, settings, Reflect.constant(known, "BUILT_IN_CLUSTER_SETTINGS"));
        Object list = Reflect.callStatic(Reflect.type("cluster.ClusterModule"), "createAllocationDeciders", settings, clusterSettings, List.of());
        Object deciders = Reflect.make(Reflect.type("cluster.routing.allocation.decider.AllocationDeciders"), list);
        Object allocator = Reflect.make(Reflect.type("cluster.routing.allocation.allocator.BalancedShardsAllocator"), settings, clusterSettings);
        Object infos = Proxy.newProxyInstance(Cluster.class.getClassLoader(), new Class<?>[] { Reflect.type("cluster.ClusterInfoService") },
            (proxy, method, arguments) -> method.getName().equals("getClusterInfo") ? info : null);
        Object gateway = gateway();
        Class<?> type = Reflect.type("cluster.routing.allocation.AllocationService");
        if (Arrays.stream(type.getMethods()).anyMatch(method -> method.getName().equals("setGatewayAllocator"))) {
            Object service = Reflect.make(type, deciders, allocator, infos);
            Reflect.call(service, "setGatewayAllocator", gateway);
            return service;
        }
        Object service = Reflect.hasType("snapshots.SnapshotsInfoService")
            ? Reflect.make(type, deciders, allocator, infos, answer(Reflect.type("snapshots.SnapshotsInfoService"),
                Reflect.constant(Reflect.type("snapshots.SnapshotShardSizeInfo"), "EMPTY")))
            : Reflect.make(type, deciders, allocator, infos);
        Reflect.call(service, "setExistingShardsAllocators", Map.of("gateway_allocator", gateway));
        return service;
    }

    /** Its only work for indices just created is to look at each unassigned copy and to leave it to the balancer. */
    private static Object gateway() throws Exception {
        Object gateway = Reflect.make(Reflect.type("gateway.GatewayAllocator"));
        for (String kind : List.of("Primary", "Replica")) {
            Constructor<?> constructor = Reflect.type("gateway.GatewayAllocator$Internal" + kind + "ShardAllocator").getDeclaredConstructors()[0];
            Object[] arguments = new Object[constructor.getParameterCount()];
            arguments[0] = gateway; // the outer object; the client stays null
            constructor.setAccessible(true);
            Reflect.set(gateway, kind.toLowerCase(Locale.ROOT) + "ShardAllocator", constructor.newInstance(arguments));
        }
        return gateway;
    }

    private static Object answer(Class<?> type, Object result) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type },
            (proxy, method, arguments) -> method.getReturnType().isInstance(result) ? result : null);
    }

    /** Every copy in one number: equal numbers mean equal allocations. */
    static int digest(Object state) {
        List<String> copies = new ArrayList<>();
        Object all = Reflect.call(Reflect.call(state, "routingTable"), "allShards");
        Iterable<?> each = all instanceof java.util.stream.Stream<?> stream ? stream.toList() : (Iterable<?>) all;
        for (Object copy : each) {
            copies.add(Reflect.call(copy, "shardId") + " " + Reflect.call(copy, "primary") + " " + Reflect.call(copy, "state") + " "
                + Reflect.call(copy, "currentNodeId") + " " + Reflect.call(copy, "relocatingNodeId"));
        }
        copies.sort(null);
        return copies.hashCode();
    }
}
