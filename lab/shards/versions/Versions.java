import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The allocation service of any version from 7.4 on, with its {@code BalancedShardsAllocator} alone: no gateway, no
 * desired balance, no disks. Reads lines of JSON and answers each:
 * {@code {"cluster": ...}} with the nodes of copies that are started, and null for unassigned ones, and the steps "reroute", "start", "settings"
 * (which reroutes), "node-joined" (which reroutes) and "create" (which does not). A cluster may have "sizes": {@code
 * [[index, shard, primary, bytes], ...]}, and an index "write_load" and "shard_bytes", its forecasts.
 */
public final class Versions {
    private static final Class<?> METADATA = Reflection.type("cluster.metadata.Metadata", "cluster.metadata.MetaData");
    private static final Class<?> INDEX_METADATA =
        Reflection.type("cluster.metadata.IndexMetadata", "cluster.metadata.IndexMetaData");
    private static final Class<?> SHARD_ID = Reflection.type("index.shard.ShardId", "core.index.shard.ShardId");
    private static final Class<?> INDEX = Reflection.type("index.Index", "core.index.Index");
    private static final Class<?> SETTINGS = Reflection.type("common.settings.Settings");
    private static final Class<?> COPY = Reflection.type("cluster.routing.ShardRouting");
    private static final Class<?> TABLE = Reflection.type("cluster.routing.RoutingTable");
    private static final Class<?> INDEX_TABLE = Reflection.type("cluster.routing.IndexRoutingTable");
    private static final Class<?> INFO = Reflection.type("cluster.ClusterInfo");

    private Object state;
    private Object service;
    private Object info = Reflection.constant(INFO, "EMPTY");

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        if (Reflection.exists("logging.internal.spi.LoggerFactory")) {
            // From 8.19 on nothing logs, and so nothing runs, before this is set.
            Reflection.callStatic(Reflection.type("logging.internal.spi.LoggerFactory"), "setInstance",
                Reflection.make(Reflection.type("common.logging.internal.LoggerFactoryImpl")));
        }
        Versions versions = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer;
            try {
                Map<String, Object> request = Json.parse(line);
                if (request.containsKey("cluster")) {
                    versions = new Versions();
                    versions.build(map(request, "cluster"));
                } else {
                    versions.step(request);
                }
                answer = versions.answer();
            } catch (Exception | AssertionError e) {
                answer = new LinkedHashMap<>();
                answer.put("error", String.valueOf(e));
                List<Object> stack = new ArrayList<>();
                for (Throwable t = e; t != null; t = t.getCause()) {
                    stack.add("caused by " + t);
                    for (StackTraceElement frame : t.getStackTrace()) {
                        if (stack.size() < 40) {
                            stack.add(frame.toString());
                        }
                    }
                }
                answer.put("stack", stack);
            }
            StringBuilder text = new StringBuilder();
            Json.write(answer, text);
            out.println(text);
            out.flush();
        }
    }

    // What the test sends.

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Map<String, Object> of, String key) {
        return (Map<String, Object>) of.get(key);
    }

    @SuppressWarnings("unchecked")
    private static <T> List<T> list(Map<String, Object> of, String key) {
        return of.get(key) == null ? List.of() : (List<T>) of.get(key);
    }

    private static int number(Map<String, Object> of, String key) {
        return ((Number) of.get(key)).intValue();
    }

    // The server's objects.

    private static Object settings(Map<String, Object> of) {
        Object builder = Reflection.callStatic(SETTINGS, "builder");
        of.forEach((key, value) -> Reflection.call(builder, "put", key, String.valueOf(value)));
        return Reflection.call(builder, "build");
    }

    /** The version of an index created now. */
    private static String created() {
        return String.valueOf(Reflection.first(
            () -> Reflection.call(Reflection.callStatic(Reflection.type("index.IndexVersion"), "current"), "id"),
            () -> {
                try {
                    Class<?> version = Reflection.type("Version");
                    return version.getField("id").get(Reflection.constant(version, "CURRENT"));
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException(e);
                }
            }));
    }

    private static Object node(Map<String, Object> spec) throws Exception {
        Object role = Reflection.constant(Reflection.type("cluster.node.DiscoveryNodeRole"), "DATA_ROLE");
        Object version = Reflection.first(
            () -> Reflection.constant(Reflection.type("cluster.node.VersionInformation"), "CURRENT"),
            () -> Reflection.constant(Reflection.type("Version"), "CURRENT"));
        String id = (String) spec.get("id");
        InetAddress address = InetAddress.getByName((String) spec.get("address"));
        return Reflection.make(Reflection.type("cluster.node.DiscoveryNode"), (String) spec.get("name"), id,
            Reflection.make(Reflection.type("common.transport.TransportAddress", "core.common.transport.TransportAddress"),
                address, number(spec, "port")), new HashMap<>(), new HashSet<>(List.of(role)), version);
    }

    /** An index, and its table with every copy that it names; of a new index all are unassigned. */
    private Object[] index(Map<String, Object> spec) {
        String name = (String) spec.get("name"), uuid = (String) spec.get("uuid");
        Map<String, Object> settings = new LinkedHashMap<>(map(spec, "settings"));
        settings.put("index.version.created", created());
        settings.put("index.uuid", uuid);
        Object builder = Reflection.callStatic(INDEX_METADATA, "builder", name);
        Reflection.call(builder, "settings", settings(settings));
        if (spec.get("write_load") != null) {
            Reflection.call(builder, "indexWriteLoadForecast", ((Number) spec.get("write_load")).doubleValue());
        }
        if (spec.get("shard_bytes") != null) {
            Reflection.call(builder, "shardSizeInBytesForecast", ((Number) spec.get("shard_bytes")).longValue());
        }
        Object index = Reflection.make(INDEX, name, uuid);
        List<List<String>> shards = list(spec, "shards");
        if (shards.isEmpty()) {
            Object built = Reflection.call(builder, "build");
            Object table = Reflection.first(() -> Reflection.callStatic(INDEX_TABLE, "builder", roles(), index),
                () -> Reflection.callStatic(INDEX_TABLE, "builder", index));
            return new Object[] { built, Reflection.call(Reflection.call(table, "initializeAsNew", built), "build") };
        }
        Object table = Reflection.callStatic(INDEX_TABLE, "builder", index);
        for (int shard = 0; shard < shards.size(); shard++) {
            Set<String> inSync = new HashSet<>();
            for (int i = 0; i < shards.get(shard).size(); i++) {
                Object copy = copy(shards.get(shard).get(i), Reflection.make(SHARD_ID, index, shard), i == 0);
                if ((boolean) Reflection.call(copy, "active")) {
                    inSync.add((String) Reflection.call(Reflection.call(copy, "allocationId"), "getId"));
                }
                Reflection.call(table, "addShard", copy);
            }
            Reflection.call(builder, "putInSyncAllocationIds", shard, inSync);
        }
        return new Object[] { Reflection.call(builder, "build"), Reflection.call(table, "build") };
    }

    private static Object copy(String node, Object shard, boolean primary) {
        String kind = primary ? "EmptyStore" : "Peer";
        Object source = Reflection.constant(Reflection.type("cluster.routing.RecoverySource$" + kind + "RecoverySource"), "INSTANCE");
        Object why = Reflection.make(Reflection.type("cluster.routing.UnassignedInfo"),
            Reflection.constant(Reflection.type("cluster.routing.UnassignedInfo$Reason"), "INDEX_CREATED"), "given");
        Object copy = Reflection.first(() -> Reflection.callStatic(COPY, "newUnassigned", shard, primary, source, why),
            () -> Reflection.callStatic(COPY, "newUnassigned", shard, primary, source, why, role()));
        if (node == null) {
            return copy;
        }
        Object started = Reflection.call(copy, "initialize", node, null, 0L);
        return Reflection.first(() -> Reflection.call(started, "moveToStarted"),
            () -> Reflection.call(started, "moveToStarted", 0L));
    }

    private static Object role() {
        return Reflection.constant(Reflection.type("cluster.routing.ShardRouting$Role"), "DEFAULT");
    }

    private static Object roles() {
        return Reflection.implement(Reflection.type("cluster.routing.ShardRoutingRoleStrategy"), (method, given) -> role());
    }

    private static String metadata(Object of) {
        return Reflection.has(of.getClass(), "metadata") ? "metadata" : "metaData";
    }

    private void build(Map<String, Object> spec) throws Exception {
        Object nodes = Reflection.callStatic(Reflection.type("cluster.node.DiscoveryNodes"), "builder");
        for (Map<String, Object> node : Versions.<Map<String, Object>>list(spec, "nodes")) {
            Reflection.call(nodes, "add", node(node));
        }
        Object metadata = Reflection.callStatic(METADATA, "builder"), table = Reflection.callStatic(TABLE, "builder");
        for (Map<String, Object> index : Versions.<Map<String, Object>>list(spec, "indices")) {
            Object[] built = index(index);
            Reflection.call(metadata, "put", built[0], false);
            Reflection.call(table, "add", built[1]);
        }
        Object builder = Reflection.callStatic(Reflection.type("cluster.ClusterState"), "builder",
            Reflection.make(Reflection.type("cluster.ClusterName"), "given"));
        Reflection.call(builder, "nodes", Reflection.call(nodes, "build"));
        Reflection.call(builder, metadata(builder), (Object) Reflection.call(metadata, "build"));
        Reflection.call(builder, "routingTable", Reflection.call(table, "build"));
        state = Reflection.call(builder, "build");
        sizes(list(spec, "sizes"));
        configure(map(spec, "settings"));
    }

    /** Sizes of copies, for versions that weigh them. */
    private void sizes(List<List<Object>> sizes) throws Exception {
        if (sizes.isEmpty()) {
            return;
        }
        Map<Object, Object> known = new HashMap<>();
        for (List<Object> size : sizes) {
            known.put("[" + size.get(0) + "][" + size.get(1) + "][" + ((Boolean) size.get(2) ? "p" : "r") + "]",
                ((Number) size.get(3)).longValue());
        }
        for (var constructor : INFO.getConstructors()) {
            Class<?>[] types = constructor.getParameterTypes();
            if (types.length < 4 || types[2] != Map.class) {
                continue;
            }
            Object[] given = new Object[types.length];
            for (int i = 0; i < given.length; i++) {
                given[i] = i == 2 ? known : types[i] == Set.class ? Set.of() : Map.of();
            }
            info = constructor.newInstance(given);
        }
    }

    private void configure(Map<String, Object> of) throws Exception {
        Object settings = settings(of);
        Class<?> type = Reflection.type("common.settings.ClusterSettings");
        Object known = Reflection.make(type, settings, Reflection.constant(type, "BUILT_IN_CLUSTER_SETTINGS"));
        Object deciders = Reflection.make(Reflection.type("cluster.routing.allocation.decider.AllocationDeciders"),
            Reflection.callStatic(Reflection.type("cluster.ClusterModule"), "createAllocationDeciders", settings, known, List.of()));
        Object infos = Reflection.implement(Reflection.type("cluster.ClusterInfoService"),
            (method, given) -> method.getName().equals("getClusterInfo") ? info : null);
        Object allocator = allocator(settings, known);
        Class<?> service = Reflection.type("cluster.routing.allocation.AllocationService");
        if (Reflection.has(service, "setGatewayAllocator")) {
            this.service = Reflection.make(service, deciders, allocator, infos);
            Reflection.call(this.service, "setGatewayAllocator", gateway());
            return;
        }
        Object snapshots = Reflection.implement(Reflection.type("snapshots.SnapshotsInfoService"),
            (method, given) -> Reflection.constant(Reflection.type("snapshots.SnapshotShardSizeInfo"), "EMPTY"));
        this.service = Reflection.first(() -> Reflection.make(service, deciders, allocator, infos, snapshots),
            () -> Reflection.make(service, deciders, allocator, infos, snapshots, roles()),
            () -> Reflection.make(service, deciders, allocator, infos, snapshots, metrics()));
        Object none = Reflection.implement(Reflection.type("cluster.routing.allocation.ExistingShardsAllocator"),
            (method, given) -> method.getReturnType() == int.class ? Integer.valueOf(0) : null);
        Reflection.call(this.service, "setExistingShardsAllocators",
            Map.of("gateway_allocator", none, "shards_batch_gateway_allocator", none));
    }

    /** OpenSearch counts what its manager does. */
    private static Object metrics() {
        Class<?> registry = Reflection.type("telemetry.metrics.noop.NoopMetricsRegistry");
        return Reflection.make(Reflection.type("cluster.ClusterManagerMetrics"), Reflection.constant(registry, "INSTANCE"));
    }

    private static Object allocator(Object settings, Object known) {
        Class<?> type = Reflection.type("cluster.routing.allocation.allocator.BalancedShardsAllocator");
        if (Reflection.exists("cluster.routing.allocation.WriteLoadForecaster") == false) {
            return Reflection.make(type, settings, known);
        }
        Object forecaster = Reflection.implement(Reflection.type("cluster.routing.allocation.WriteLoadForecaster"),
            (method, given) -> method.getName().equals("getForecastedWriteLoad")
                ? Reflection.call(given[0], "getForecastedWriteLoad") : null);
        return Reflection.first(() -> Reflection.make(type, settings, known, forecaster),
            () -> Reflection.make(type, known, forecaster),
            () -> Reflection.make(type, Reflection.make(Reflection.type("cluster.routing.allocation.allocator.BalancerSettings"), known), forecaster));
    }

    /** The gateway of 7.4 to 7.7, which leaves the copies of new indices to the balancer. */
    private static Object gateway() throws Exception {
        Class<?> type = Reflection.type("gateway.GatewayAllocator");
        Object gateway = Reflection.make(type);
        for (String kind : List.of("Primary", "Replica")) {
            var constructor = Reflection.type("gateway.GatewayAllocator$Internal" + kind + "ShardAllocator").getDeclaredConstructors()[0];
            Object[] given = new Object[constructor.getParameterCount()];
            given[0] = gateway;
            constructor.setAccessible(true);
            var field = type.getDeclaredField(kind.toLowerCase(java.util.Locale.ROOT) + "ShardAllocator");
            field.setAccessible(true);
            field.set(gateway, constructor.newInstance(given));
        }
        return gateway;
    }

    // Steps.

    private void step(Map<String, Object> step) throws Exception {
        switch ((String) step.get("step")) {
            case "reroute":
                break;
            case "start":
                List<Object> started = new ArrayList<>();
                for (List<Object> at : Versions.<List<Object>>list(step, "copies")) {
                    started.add(find((String) at.get(0), ((Number) at.get(1)).intValue(), (String) at.get(2)));
                }
                state = Reflection.call(service, "applyStartedShards", state, started);
                return;
            case "settings":
                configure(map(step, "settings"));
                break;
            case "node-joined":
                Object nodes = Reflection.callStatic(Reflection.type("cluster.node.DiscoveryNodes"), "builder", Reflection.call(state, "nodes"));
                for (Map<String, Object> node : Versions.<Map<String, Object>>list(step, "nodes")) {
                    Reflection.call(nodes, "add", node(node));
                }
                Object builder = Reflection.callStatic(Reflection.type("cluster.ClusterState"), "builder", state);
                state = Reflection.call(Reflection.call(builder, "nodes", Reflection.call(nodes, "build")), "build");
                break;
            case "create":
                create(list(step, "indices"));
                return;
            default:
                throw new IllegalArgumentException("there is no step " + step.get("step"));
        }
        reroute();
    }

    private void reroute() {
        state = Reflection.first(() -> Reflection.call(service, "reroute", state, "asked"),
            () -> Reflection.call(service, "reroute", state, "asked",
                Reflection.implement(Reflection.type("action.ActionListener"), (method, given) -> null)));
    }

    private void create(List<Map<String, Object>> indices) {
        String word = metadata(state);
        Object metadata = Reflection.callStatic(METADATA, "builder", Reflection.call(state, word));
        Object table = Reflection.callStatic(TABLE, "builder", Reflection.call(state, "routingTable"));
        for (Map<String, Object> spec : indices) {
            Object[] built = index(spec);
            Reflection.call(metadata, "put", built[0], false);
            Reflection.call(table, "add", built[1]);
        }
        Object builder = Reflection.callStatic(Reflection.type("cluster.ClusterState"), "builder", state);
        Reflection.call(builder, metadata(builder), (Object) Reflection.call(metadata, "build"));
        state = Reflection.call(Reflection.call(builder, "routingTable", Reflection.call(table, "build")), "build");
    }

    private Object find(String index, int shard, String node) {
        for (Object copy : Reflection.each(Reflection.call(Reflection.call(state, "getRoutingNodes"), "node", node))) {
            if (Reflection.call(copy, "getIndexName").equals(index) && Reflection.call(copy, "id").equals(shard)) {
                return copy;
            }
        }
        throw new IllegalArgumentException("no copy of " + index + "[" + shard + "] is on " + node);
    }

    // Answers.

    private Map<String, Object> answer() {
        List<Object> nodes = new ArrayList<>(), unassigned = new ArrayList<>();
        Object routing = Reflection.call(state, "getRoutingNodes");
        for (Object node : Reflection.each(routing)) {
            List<Object> lines = new ArrayList<>();
            lines.add(Reflection.call(node, "nodeId"));
            for (Object copy : Reflection.each(node)) {
                Object other = Reflection.call(copy, "relocatingNodeId");
                String way = other == null ? "" : ((boolean) Reflection.call(copy, "relocating") ? " to " : " from ") + other;
                lines.add(name(copy) + " " + Reflection.call(copy, "state") + way);
            }
            nodes.add(lines);
        }
        for (Object copy : Reflection.each(Reflection.call(routing, "unassigned"))) {
            Object why = Reflection.call(copy, "unassignedInfo");
            unassigned.add(name(copy) + " " + Reflection.first(() -> Reflection.call(why, "getLastAllocationStatus"),
                () -> Reflection.call(why, "lastAllocationStatus")));
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("nodes", nodes);
        answer.put("unassigned", unassigned);
        answer.put("order", order());
        return answer;
    }

    private static String name(Object copy) {
        return Reflection.call(copy, "getIndexName") + "[" + Reflection.call(copy, "id") + "] "
            + ((boolean) Reflection.call(copy, "primary") ? "P" : "R");
    }

    /** Data nodes, and indices with their shards, as the server iterates over them. */
    private Map<String, Object> order() {
        List<Object> nodes = new ArrayList<>(), indices = new ArrayList<>();
        for (Object node : values(Reflection.call(Reflection.call(state, "nodes"), "getDataNodes"))) {
            nodes.add(Reflection.call(node, "getId"));
        }
        for (Object table : values(Reflection.call(Reflection.call(state, "routingTable"), "indicesRouting"))) {
            List<Object> line = new ArrayList<>();
            line.add(Reflection.call(Reflection.call(table, "getIndex"), "getName"));
            if (table instanceof Iterable) {
                for (Object shard : (Iterable<?>) table) {
                    line.add(Reflection.call(Reflection.call(shard, "shardId"), "id"));
                }
            } else {
                for (int shard = 0; shard < (int) Reflection.call(table, "size"); shard++) {
                    line.add(shard);
                }
            }
            indices.add(line);
        }
        Map<String, Object> order = new LinkedHashMap<>();
        order.put("data_nodes", nodes);
        order.put("indices", indices);
        return order;
    }

    /** The values of a map of any kind; those of hppc's come in cursors. */
    private static List<Object> values(Object map) {
        List<Object> values = new ArrayList<>();
        for (Object value : Reflection.each(map instanceof Map ? map : Reflection.call(map, "values"))) {
            values.add(value.getClass().getName().endsWith("ObjectCursor") ? field(value, "value") : value);
        }
        return values;
    }

    private static Object field(Object of, String name) {
        try {
            return of.getClass().getField(name).get(of);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
