import java.net.InetAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.Version;
import org.elasticsearch.cluster.metadata.IndexMetaData;
import org.elasticsearch.cluster.metadata.MetaDataIndexStateService;
import org.elasticsearch.cluster.node.DiscoveryNode;
import org.elasticsearch.cluster.node.DiscoveryNodeRole;
import org.elasticsearch.cluster.routing.IndexRoutingTable;
import org.elasticsearch.cluster.routing.RecoverySource;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.UnassignedInfo;
import org.elasticsearch.common.settings.IndexScopedSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.transport.TransportAddress;
import org.elasticsearch.index.Index;
import org.elasticsearch.index.shard.ShardId;

/**
 * Builds the server's objects from their specifications.
 *
 * <p>A node: {@code {"id", "name", "host", "address", "port", "attributes": {}, "data": true, "master": true,
 * "version"}}.
 *
 * <p>An index: {@code {"name", "uuid", "settings": {}, "closed": false, "in_sync": [[id, ...], ...], "shards":
 * [[copy, ...], ...]}}. Without "shards" it is a new index with every copy unassigned. A copy, the primary first:
 * {@code {"node", "state": "STARTED" | "RELOCATING" | "INITIALIZING" | "UNASSIGNED", "to", "id", "reason",
 * "failures", "delayed"}}; an id is a number that stands for an allocation id.
 */
final class Spec {
    private static final IndexScopedSettings KNOWN =
        new IndexScopedSettings(Settings.EMPTY, IndexScopedSettings.BUILT_IN_INDEX_SETTINGS);

    private Spec() {
    }

    static DiscoveryNode node(Map<String, Object> spec) throws Exception {
        Set<DiscoveryNodeRole> roles = new HashSet<>();
        if (Json.flag(spec, "data")) {
            roles.add(DiscoveryNodeRole.DATA_ROLE);
        }
        if (Json.flag(spec, "master")) {
            roles.add(DiscoveryNodeRole.MASTER_ROLE);
        }
        String id = Json.string(spec, "id");
        String address = Json.string(spec, "address");
        // Nodes are hashed by their ephemeral id, which is random; use the id instead.
        return new DiscoveryNode(Json.string(spec, "name"), id, id, Json.string(spec, "host"), address,
            new TransportAddress(InetAddress.getByName(address), Math.toIntExact(Json.number(spec, "port"))),
            Json.strings(spec, "attributes"), roles, Version.fromString(Json.string(spec, "version")));
    }

    static IndexMetaData index(Map<String, Object> spec, Map<Long, String> ids) {
        Settings settings = Settings.builder()
            .put(IndexMetaData.SETTING_VERSION_CREATED, Version.V_7_0_0)
            .put(IndexMetaData.SETTING_INDEX_UUID, Json.string(spec, "uuid"))
            .put(Json.settings(spec, "settings")).build();
        validate(settings);
        boolean closed = Json.flag(spec, "closed");
        if (closed) {
            settings = Settings.builder().put(settings)
                .put(MetaDataIndexStateService.VERIFIED_BEFORE_CLOSE_SETTING.getKey(), true).build();
        }
        IndexMetaData.Builder builder = IndexMetaData.builder(Json.string(spec, "name")).settings(settings)
            .state(closed ? IndexMetaData.State.CLOSE : IndexMetaData.State.OPEN);
        List<List<Number>> inSync = Json.list(spec, "in_sync");
        for (int shard = 0; shard < inSync.size(); shard++) {
            Set<String> set = new HashSet<>();
            inSync.get(shard).forEach(id -> set.add(allocationId(ids, id.longValue())));
            builder.putInSyncAllocationIds(shard, set);
        }
        return builder.build();
    }

    /** Fails if a setting is unknown or its value invalid. */
    static void validate(Settings settings) {
        KNOWN.validate(settings.filter(key -> KNOWN.isPrivateSetting(key) == false), true);
    }

    static String allocationId(Map<Long, String> ids, long id) {
        return ids.computeIfAbsent(id, number -> "allocation-" + number);
    }

    static IndexRoutingTable table(Map<String, Object> spec, IndexMetaData index, Map<Long, String> ids) {
        IndexRoutingTable.Builder builder = IndexRoutingTable.builder(index.getIndex());
        if (spec.containsKey("shards") == false) {
            return (index.getState() == IndexMetaData.State.OPEN ? builder.initializeAsNew(index)
                : builder.initializeAsFromOpenToClose(index)).build();
        }
        List<List<Map<String, Object>>> shards = Json.list(spec, "shards");
        for (int shard = 0; shard < shards.size(); shard++) {
            for (int i = 0; i < shards.get(shard).size(); i++) {
                builder.addShard(copy(shards.get(shard).get(i), index, shard, i == 0, ids));
            }
        }
        return builder.build();
    }

    private static ShardRouting copy(Map<String, Object> spec, IndexMetaData index, int shard, boolean primary,
                                     Map<Long, String> ids) {
        Index of = index.getIndex();
        RecoverySource source = primary == false ? RecoverySource.PeerRecoverySource.INSTANCE
            : index.inSyncAllocationIds(shard).isEmpty() ? RecoverySource.EmptyStoreRecoverySource.INSTANCE
            : RecoverySource.ExistingStoreRecoverySource.INSTANCE;
        int failures = Math.toIntExact(Json.longOr(spec, "failures", 0L));
        UnassignedInfo info = new UnassignedInfo(
            UnassignedInfo.Reason.valueOf(Json.stringOr(spec, "reason", "INDEX_CREATED")), "given", null, failures, 0,
            0, Json.flag(spec, "delayed"), UnassignedInfo.AllocationStatus.NO_ATTEMPT);
        ShardRouting copy = ShardRouting.newUnassigned(new ShardId(of, shard), primary, source, info);
        String state = Json.string(spec, "state");
        if (state.equals("UNASSIGNED")) {
            return copy;
        }
        copy = copy.initialize(Json.string(spec, "node"), allocationId(ids, Json.number(spec, "id")),
            ShardRouting.UNAVAILABLE_EXPECTED_SHARD_SIZE);
        if (state.equals("INITIALIZING")) {
            return copy;
        }
        copy = copy.moveToStarted();
        if (state.equals("STARTED")) {
            return copy;
        }
        if (state.equals("RELOCATING")) {
            return copy.relocate(Json.string(spec, "to"), ShardRouting.UNAVAILABLE_EXPECTED_SHARD_SIZE);
        }
        throw new IllegalArgumentException("there is no state " + state);
    }

    /** Numbers of allocation ids, keyed by id. */
    static Map<String, Long> inverse(Map<Long, String> ids) {
        Map<String, Long> result = new HashMap<>();
        ids.forEach((number, id) -> result.put(id, number));
        return result;
    }
}
