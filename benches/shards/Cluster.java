import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;

/**
 * A synthetic cluster with all copies started, and the master's own allocation service, of whichever server
 * version is on the class path. Disks are 40 % used; copies are assigned to the data nodes in turn; copies
 * have sizes and paths, so that the disk decider has work to do. The nodes' answers to the gateway are
 * available.
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
    /** Number of data nodes, including the warm ones. */
    final int nodes;
    /** Number of nodes reserved for the closed indices; 0 if those are on the same nodes as all others. */
    final int warm;
    final int closed;
    /** Whether closed indices are in the routing table. */
    final boolean hasClosedInTable;
    private final Map<Object, Object> sizes = new HashMap<>();
    private final Map<Object, Object> paths = new HashMap<>();
    private final Map<Object, Object> disks = new HashMap<>();
    private final Object gateway = gateway();
    private final Object service;
    private Object info;
    /** The cluster state at the start of each operation. */
    final Object state;

    /**
     * INDICESxPRIMARIESxCOPIES@NODES[+WARM][-CLOSED[out]]: WARM is the number of additional nodes that hold
     * the closed indices, by an index-level filter; CLOSED the number of closed indices; "out": not in the
     * routing table, in any version.
     */
    private static final Pattern SHAPE = Pattern.compile("(\\d+)x(\\d+)x(\\d+)@(\\d+)(?:\\+(\\d+))?(?:-(\\d+)(out)?)?");

    static Cluster of(String shape) throws Exception {
        Matcher parts = SHAPE.matcher(shape);
        if (!parts.matches()) {
            throw new IllegalArgumentException("expected INDICESxPRIMARIESxCOPIES@NODES[+WARM][-CLOSED[out]], found " + shape);
        }
        int[] numbers = new int[7];
        for (int i = 1; i < numbers.length; i++) {
            numbers[i] = parts.group(i) == null ? 0 : Integer.parseInt(parts.group(i));
        }
        return new Cluster(numbers[1], numbers[2], numbers[3] - 1, numbers[4], numbers[5], numbers[6], parts.group(7) == null && keepsClosed());
    }

    private Cluster(int indices, int primaries, int replicas, int others, int warm, int closed, boolean hasClosedInTable) throws Exception {
        this.indices = indices;
        this.primaries = primaries;
        this.replicas = replicas;
        this.nodes = others + warm;
        this.warm = warm;
        this.closed = closed;
        this.hasClosedInTable = hasClosedInTable;
        state = initialState();
        info = info();
        service = service(settings());
    }

    /** Number of copies in this version's routing table. */
    int routed() {
        int open = hasClosedInTable ? indices : indices - closed;
        return open * primaries * (1 + replicas);
    }

    /** Whether closed indices stay in the routing table: from 7.2 on. */
    static boolean keepsClosed() {
        return Arrays.stream(Reflect.type("cluster.routing.RoutingTable$Builder").getMethods())
            .anyMatch(method -> method.getName().equals("addAsFromOpenToClose"));
    }

    /** Whether the reroute after copies have started is a separate task: from 7.4 on. */
    static boolean reroutesAfterStart() {
        return Reflect.hasType("cluster.routing.BatchedRerouteService");
    }

    // ---- operations: from one state to the next, like the master's cluster-state tasks ----

    Object reroute(Object from) {
        try {
            return Reflect.call(service, "reroute", from, "measured");
        } catch (java.util.NoSuchElementException e) {
            return Reflect.call(service, "reroute", from, "measured", answer(Reflect.type("action.ActionListener"), null));
        }
    }

    /** With one more index, as MetaDataCreateIndexService adds it before its reroute. */
    Object created(Object from) {
        Object index = indexMeta("created", false, Map.of());
        Object table = Reflect.call(tableBuilder(from), "addAsNew", index);
        return with(from, Reflect.call(metaBuilder(from), "put", index, false), table);
    }

    /** Without the last index, as MetaDataDeleteIndexService leaves the state before its reroute. */
    Object deleted(Object from) {
        Object meta = Reflect.call(metaBuilder(from), "remove", name(indices - 1));
        return with(from, meta, Reflect.call(tableBuilder(from), "remove", name(indices - 1)));
    }

    /** With the last index closed, as MetaDataIndexStateService leaves the state before its reroute. */
    Object closed(Object from) {
        Object meta = withLast(from, true);
        Object table = tableBuilder(from);
        return with(from, meta, keepsClosed() ? Reflect.call(table, "addAsFromOpenToClose", Reflect.call(meta, "get", last()))
            : Reflect.call(table, "remove", last()));
    }

    /** With the last, closed index opened, as MetaDataIndexStateService leaves the state before its reroute. */
    Object opened(Object from) {
        Object meta = withLast(from, false);
        return with(from, meta, Reflect.call(tableBuilder(from), "addAsFromCloseToOpen", Reflect.call(meta, "get", last())));
    }

    private String last() {
        return name(indices - 1);
    }

    private Object withLast(Object from, boolean isClosed) {
        Object meta = metaBuilder(from);
        Object old = Reflect.call(meta, "get", last());
        Object settings = Reflect.call(Reflect.callStatic(SETTINGS, "builder"), "put", Reflect.call(old, "getSettings"));
        Reflect.call(settings, "put", "index.verified_before_close", "" + isClosed);
        Object index = Reflect.call(Reflect.callStatic(INDEX_META, "builder", old), "state", Reflect.constant(STATE, isClosed ? "CLOSE" : "OPEN"));
        return Reflect.call(meta, "put", Reflect.call(Reflect.call(index, "settings", Reflect.call(settings, "build")), "build"), true);
    }

    /** From now on the gateway may query the nodes for the last index; they do not answer yet. */
    Map<Object, Object> ask() {
        Map<Object, Object> asked = new HashMap<>();
        Class<?> fetch = Reflect.type("gateway.GatewayAllocator$InternalAsyncFetch");
        Object nobody = answer(Reflect.type("gateway.AsyncShardFetch$Lister"), null);
        Object index = Reflect.make(INDEX, last(), "uuid-" + last());
        for (int shard = 0; shard < primaries; shard++) {
            Object id = Reflect.make(SHARD_ID, index, shard);
            Object asking = fetch.getDeclaredConstructors()[0].getParameterCount() == 6
                ? Reflect.make(fetch, gateway, logger(), "shard_started", id, "", nobody)
                : Reflect.make(fetch, gateway, logger(), "shard_started", id, nobody);
            asked.put(id, asking);
        }
        Map<Object, Object> all = Reflect.get(Reflect.type("gateway.GatewayAllocator"), gateway, "asyncFetchStarted");
        all.clear();
        all.putAll(asked);
        return asked;
    }

    /** All nodes answer the gateway's query for the last index, with their copies in an earlier state. */
    void answered(Map<Object, Object> asked, Object earlier) {
        Class<?> response = Reflect.type("gateway.TransportNodesListGatewayStartedShards$NodeGatewayStartedShards");
        Class<?> fetch = Reflect.type("gateway.AsyncShardFetch");
        Object nodes = Reflect.call(earlier, "nodes");
        asked.forEach((id, asking) -> {
            Map<String, Object> held = new HashMap<>();
            Object table = Reflect.call(Reflect.call(earlier, "routingTable"), "shardRoutingTable", id);
            for (Object copy : (Iterable<?>) table) {
                held.put((String) Reflect.call(copy, "currentNodeId"), copy);
            }
            Map<String, Object> entries = Reflect.get(fetch, asking, "cache");
            if (entries.size() != this.nodes) {
                throw new IllegalStateException("the gateway asked " + entries.size() + " of " + this.nodes + " nodes for " + id);
            }
            entries.forEach((node, entry) -> {
                Object copy = held.get(node);
                String allocation = copy == null ? null : (String) Reflect.call(Reflect.call(copy, "allocationId"), "getId");
                boolean isPrimary = copy != null && (boolean) Reflect.call(copy, "primary");
                Reflect.call(entry, "doneFetching", Reflect.make(response, Reflect.call(nodes, "get", node), allocation, isPrimary));
            });
            if (Reflect.hasField(fetch, "fetchingCount")) {
                Reflect.set(fetch, asking, "fetchingCount", 0);
            }
        });
    }

    /** Number of unassigned copies. */
    static int unassigned(Object state) {
        return (int) Reflect.call(Reflect.call(Reflect.call(state, "getRoutingNodes"), "unassigned"), "size");
    }

    /** Starts all initializing copies, without the reroute that follows from 7.4 on. */
    Object started(Object from) {
        return started(from, initializing(from));
    }

    Object started(Object from, List<Object> copies) {
        return Reflect.call(service, "applyStartedShards", from, copies);
    }

    static List<Object> initializing(Object from) {
        List<Object> initializing = new ArrayList<>();
        Object routing = Reflect.call(from, "getRoutingNodes");
        for (Object node : (Iterable<?>) routing) {
            for (Object copy : (Iterable<?>) node) {
                if ((boolean) Reflect.call(copy, "initializing")) {
                    initializing.add(copy);
                }
            }
        }
        return initializing;
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
        int warmTurn = 0;
        for (int i = 0; i < indices; i++) {
            Object index = Reflect.make(INDEX, name(i), "uuid-" + name(i));
            Object copies = Reflect.callStatic(INDEX_TABLE, "builder", index);
            Map<Integer, Set<String>> inSync = new HashMap<>();
            boolean isClosed = i < closed;
            for (int shard = 0; shard < primaries; shard++) {
                Object id = Reflect.make(SHARD_ID, index, shard);
                for (int copy = 0; copy <= replicas; copy++) {
                    int node = isClosed && warm > 0 ? nodes - warm + warmTurn++ % warm : turn++ % (nodes - warm);
                    Object started = startedCopy(id, copy == 0, "node-" + node);
                    Reflect.call(copies, "addShard", started);
                    inSync.computeIfAbsent(shard, key -> new HashSet<>())
                        .add((String) Reflect.call(Reflect.call(started, "allocationId"), "getId"));
                }
            }
            Reflect.call(meta, "put", indexMeta(name(i), isClosed, inSync), false);
            if (!isClosed || hasClosedInTable) {
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
        if (warm > 0) {
            Object builder = Reflect.call(Reflect.callStatic(SETTINGS, "builder"), "put", settings);
            Reflect.call(builder, "put", "index.routing.allocation.require.box", isClosed ? "warm" : "hot");
            settings = Reflect.call(builder, "build");
        }
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
            Reflect.call(builder, "add", Reflect.make(node, name, name, at, attributes(i), new HashSet<>(List.of(role)), version));
            disks.put(name, Reflect.make(Reflect.type("cluster.DiskUsage"), name, name, PATH, 1L << 40, (1L << 40) / 100 * 60));
        }
        return Reflect.call(builder, "build");
    }

    private Map<String, String> attributes(int node) {
        return warm == 0 ? new HashMap<>() : new HashMap<>(Map.of("box", node < nodes - warm ? "hot" : "warm"));
    }

    private static Object logger() {
        try {
            return Class.forName("org.apache.logging.log4j.LogManager").getMethod("getLogger", String.class).invoke(null, "gateway");
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
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

    /** For newly created indices, it only examines each unassigned copy and leaves it to the balancer. */
    private static Object gateway() throws Exception {
        Object gateway = Reflect.make(Reflect.type("gateway.GatewayAllocator"));
        for (String kind : List.of("Primary", "Replica")) {
            Constructor<?> constructor = Reflect.type("gateway.GatewayAllocator$Internal" + kind + "ShardAllocator").getDeclaredConstructors()[0];
            Object[] arguments = new Object[constructor.getParameterCount()];
            arguments[0] = gateway; // the outer object; the client stays null
            constructor.setAccessible(true);
            Reflect.set(gateway.getClass(), gateway, kind.toLowerCase(Locale.ROOT) + "ShardAllocator", constructor.newInstance(arguments));
        }
        return gateway;
    }

    private static Object answer(Class<?> type, Object result) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type },
            (proxy, method, arguments) -> method.getReturnType().isInstance(result) ? result : null);
    }

    /** A hash of all copies: equal numbers mean equal allocations. */
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
