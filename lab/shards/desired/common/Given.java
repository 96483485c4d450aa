import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.Version;
import org.elasticsearch.cluster.ClusterInfo;
import org.elasticsearch.cluster.DiskUsage;
import org.elasticsearch.cluster.metadata.IndexMetadata;
import org.elasticsearch.cluster.metadata.NodesShutdownMetadata;
import org.elasticsearch.cluster.metadata.SingleNodeShutdownMetadata;
import org.elasticsearch.cluster.node.DiscoveryNode;
import org.elasticsearch.cluster.node.DiscoveryNodeRole;
import org.elasticsearch.cluster.node.VersionInformation;
import org.elasticsearch.cluster.routing.IndexRoutingTable;
import org.elasticsearch.cluster.routing.IndexShardRoutingTable;
import org.elasticsearch.cluster.routing.RecoverySource;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.UnassignedInfo;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.transport.TransportAddress;
import org.elasticsearch.index.Index;
import org.elasticsearch.index.shard.ShardId;

/**
 * Builds the server's objects from JSON.
 *
 * <p>A node: {@code {"id", "name", "host", "address", "port", "attributes", "roles": [names]}}. An index: {@code {"name",
 * "uuid", "settings", "system", "write_load", "shard_bytes", "stream", "shards": [[copy, ...], ...]}}, without "shards" a
 * new one; "stream" names the data stream that it is part of, whose last index is the one it writes to. A copy: {@code
 * {"state", "node", "to", "id", "reason", "failures", "status", "last"}}, the first of each shard is the primary. A
 * shutdown: {@code {"node", "kind", "target"}}. Sizes and disks as in Disks of the driver of 7.4.0.
 */
final class Given {
    private Given() {
    }

    static DiscoveryNode node(Map<String, Object> spec) throws Exception {
        Set<DiscoveryNodeRole> roles = new HashSet<>();
        for (String role : Json.<String>list(spec, "roles")) {
            roles.add(DiscoveryNodeRole.getRoleFromRoleName(role));
        }
        String address = Json.string(spec, "address");
        String host = Json.string(spec, "host");
        return Release.node(Json.string(spec, "name"), Json.string(spec, "id"), host, address,
            new TransportAddress(InetAddress.getByAddress(host, InetAddress.getByName(address).getAddress()),
                (int) Json.number(spec, "port")),
            Json.strings(spec, "attributes"), roles);
    }

    static IndexMetadata index(Map<String, Object> spec, Map<Long, String> ids) {
        Settings settings = Settings.builder().put(Json.settings(spec, "settings"))
            .put(IndexMetadata.SETTING_INDEX_UUID, Json.string(spec, "uuid"))
            .put(IndexMetadata.SETTING_VERSION_CREATED, Release.created()).build();
        IndexMetadata.Builder builder = IndexMetadata.builder(Json.string(spec, "name")).settings(settings)
            .system(Json.flag(spec, "system"));
        if (spec.get("write_load") != null) {
            builder.indexWriteLoadForecast(((Number) spec.get("write_load")).doubleValue());
        }
        builder.shardSizeInBytesForecast(Json.longOr(spec, "shard_bytes", null));
        List<List<Map<String, Object>>> shards = Json.list(spec, "shards");
        for (int shard = 0; shard < shards.size(); shard++) {
            Set<String> inSync = new HashSet<>();
            for (Map<String, Object> copy : shards.get(shard)) {
                String state = Json.string(copy, "state");
                if (state.equals("STARTED") || state.equals("RELOCATING")) {
                    inSync.add(allocationId(ids, Json.number(copy, "id")));
                }
            }
            if (inSync.isEmpty()) {
                inSync.add("lost-" + shard);
            }
            builder.putInSyncAllocationIds(shard, inSync);
        }
        return builder.build();
    }

    static String allocationId(Map<Long, String> ids, long number) {
        return ids.computeIfAbsent(number, n -> "given-" + n);
    }

    static IndexRoutingTable table(Map<String, Object> spec, IndexMetadata index, Map<Long, String> ids) {
        IndexRoutingTable.Builder table = IndexRoutingTable.builder(Roles.ALL, index.getIndex());
        List<List<Map<String, Object>>> shards = Json.list(spec, "shards");
        if (spec.get("shards") == null) {
            return table.initializeAsNew(index).build();
        }
        for (int shard = 0; shard < shards.size(); shard++) {
            ShardId id = new ShardId(index.getIndex(), shard);
            IndexShardRoutingTable.Builder group = IndexShardRoutingTable.builder(id);
            for (int copy = 0; copy < shards.get(shard).size(); copy++) {
                group.addShard(copy(shards.get(shard).get(copy), id, copy == 0, ids));
            }
            table.addIndexShard(group);
        }
        return table.build();
    }

    private static ShardRouting copy(Map<String, Object> spec, ShardId shard, boolean primary, Map<Long, String> ids) {
        UnassignedInfo.Reason reason = UnassignedInfo.Reason.valueOf(Json.string(spec, "reason"));
        int failures = (int) Json.number(spec, "failures");
        UnassignedInfo info = new UnassignedInfo(reason, "given", null, failures, 0, 0, false,
            UnassignedInfo.AllocationStatus.valueOf(Json.stringOr(spec, "status", "NO_ATTEMPT")), Set.of(),
            Json.stringOr(spec, "last", null));
        RecoverySource source = primary == false ? RecoverySource.PeerRecoverySource.INSTANCE
            : reason == UnassignedInfo.Reason.INDEX_CREATED ? RecoverySource.EmptyStoreRecoverySource.INSTANCE
            : RecoverySource.ExistingStoreRecoverySource.INSTANCE;
        ShardRouting copy = ShardRouting.newUnassigned(shard, primary, source, info, ShardRouting.Role.DEFAULT);
        String state = Json.string(spec, "state");
        if (state.equals("UNASSIGNED")) {
            return copy;
        }
        copy = copy.initialize(Json.string(spec, "node"), allocationId(ids, Json.number(spec, "id")),
            ShardRouting.UNAVAILABLE_EXPECTED_SHARD_SIZE);
        if (state.equals("INITIALIZING")) {
            return copy;
        }
        copy = copy.moveToStarted(ShardRouting.UNAVAILABLE_EXPECTED_SHARD_SIZE);
        if (state.equals("STARTED")) {
            return copy;
        }
        return copy.relocate(Json.string(spec, "to"), ShardRouting.UNAVAILABLE_EXPECTED_SHARD_SIZE);
    }

    static NodesShutdownMetadata shutdowns(List<Map<String, Object>> specs) {
        Map<String, SingleNodeShutdownMetadata> all = new HashMap<>();
        for (Map<String, Object> spec : specs) {
            String node = Json.string(spec, "node");
            all.put(node, SingleNodeShutdownMetadata.builder().setNodeId(node).setReason("given").setStartedAtMillis(1)
                .setType(SingleNodeShutdownMetadata.Type.valueOf(Json.string(spec, "kind")))
                .setTargetNodeName(Json.stringOr(spec, "target", null))
                .setGracePeriod(Json.string(spec, "kind").equals("SIGTERM")
                    ? org.elasticsearch.core.TimeValue.timeValueMinutes(1) : null)
                .build());
        }
        return new NodesShutdownMetadata(all);
    }

    static ClusterInfo info(Map<String, Object> spec, Map<String, Index> indices) {
        Map<String, Long> sizes = new HashMap<>();
        for (List<Object> size : Json.<List<Object>>list(spec, "sizes")) {
            ShardId shard = new ShardId(indices.get((String) size.get(0)), ((Number) size.get(1)).intValue());
            sizes.put(ClusterInfo.shardIdentifierFromRouting(shard, (Boolean) size.get(2)),
                ((Number) size.get(3)).longValue());
        }
        Map<ClusterInfo.NodeAndShard, String> paths = new HashMap<>();
        for (List<Object> path : Json.<List<Object>>list(spec, "paths")) {
            ShardId shard = new ShardId(indices.get((String) path.get(0)), ((Number) path.get(1)).intValue());
            paths.put(new ClusterInfo.NodeAndShard((String) path.get(2), shard), (String) path.get(3));
        }
        return Release.info(usages(spec, "least"), usages(spec, "most"), sizes, paths);
    }

    private static Map<String, DiskUsage> usages(Map<String, Object> spec, String key) {
        Map<String, DiskUsage> usages = new HashMap<>();
        for (List<Object> usage : Json.<List<Object>>list(spec, key)) {
            String node = (String) usage.get(0);
            usages.put(node, new DiskUsage(node, node, (String) usage.get(1), ((Number) usage.get(2)).longValue(),
                ((Number) usage.get(3)).longValue()));
        }
        return usages;
    }
}
