import java.io.IOException;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.lucene.util.Version;
import org.elasticsearch.cluster.node.DiscoveryNode;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.allocation.FailedShard;
import org.elasticsearch.cluster.routing.allocation.RoutingAllocation;
import org.elasticsearch.env.ShardLockObtainFailedException;
import org.elasticsearch.gateway.AsyncShardFetch;
import org.elasticsearch.gateway.GatewayAllocator;
import org.elasticsearch.gateway.PrimaryShardAllocator;
import org.elasticsearch.gateway.ReplicaShardAllocator;
import org.elasticsearch.gateway.TransportNodesListGatewayStartedShards.NodeGatewayStartedShards;
import org.elasticsearch.index.store.Store;
import org.elasticsearch.index.store.StoreFileMetaData;
import org.elasticsearch.indices.store.TransportNodesListShardStoreMetaData.NodeStoreFilesMetaData;
import org.elasticsearch.indices.store.TransportNodesListShardStoreMetaData.StoreFilesMetaData;

/**
 * The server's gateway allocators, with simulated responses from the nodes.
 *
 * <p>{@code "stores": [{"index", "shard", "node", "id", "primary", "problem": "locked" | "broken", "sync", "files":
 * [[name, bytes, checksum], ...]}, ...]} sets the contents of a node's disk for a shard; an entry without id, problem,
 * sync id and files removes them. {@code "pending": [[index, shard], ...]} are the shards whose nodes have not
 * responded yet. Nodes respond in the order of their ids.
 */
final class Stores extends GatewayAllocator {
    private static final class Held {
        String allocationId;
        boolean primary;
        String problem;
        String syncId;
        Map<String, StoreFileMetaData> files = new LinkedHashMap<>();
    }

    private final Map<String, TreeMap<String, Held>> held = new HashMap<>();
    private final Set<String> pending = new HashSet<>();

    private final PrimaryShardAllocator primaries = new PrimaryShardAllocator() {
        @Override
        protected AsyncShardFetch.FetchResult<NodeGatewayStartedShards> fetchData(ShardRouting shard,
                                                                                  RoutingAllocation allocation) {
            if (pending.contains(key(shard))) {
                return new AsyncShardFetch.FetchResult<>(shard.shardId(), null, Collections.emptySet());
            }
            Map<DiscoveryNode, NodeGatewayStartedShards> found = new LinkedHashMap<>();
            holders(shard).forEach((id, store) -> {
                DiscoveryNode node = allocation.nodes().getDataNodes().get(id);
                if (node != null) {
                    Exception problem = store.problem == null ? null
                        : store.problem.equals("locked") ? new ShardLockObtainFailedException(shard.shardId(), "given")
                        : new IOException("given");
                    found.put(node,
                        new NodeGatewayStartedShards(node, store.allocationId, store.primary, problem));
                }
            });
            return new AsyncShardFetch.FetchResult<>(shard.shardId(), found, Collections.emptySet());
        }
    };

    private final ReplicaShardAllocator replicas = new ReplicaShardAllocator() {
        @Override
        protected AsyncShardFetch.FetchResult<NodeStoreFilesMetaData> fetchData(ShardRouting shard,
                                                                                RoutingAllocation allocation) {
            if (pending.contains(key(shard))) {
                return new AsyncShardFetch.FetchResult<>(shard.shardId(), null, Collections.emptySet());
            }
            Map<DiscoveryNode, NodeStoreFilesMetaData> found = new LinkedHashMap<>();
            holders(shard).forEach((id, store) -> {
                DiscoveryNode node = allocation.nodes().getDataNodes().get(id);
                if (node != null) {
                    Map<String, String> user = store.syncId == null ? Collections.emptyMap()
                        : Collections.singletonMap("sync_id", store.syncId);
                    found.put(node, new NodeStoreFilesMetaData(node, new StoreFilesMetaData(shard.shardId(),
                        new Store.MetadataSnapshot(store.files, user, 1))));
                }
            });
            return new AsyncShardFetch.FetchResult<>(shard.shardId(), found, Collections.emptySet());
        }

        @Override
        protected boolean hasInitiatedFetching(ShardRouting shard) {
            return true;
        }
    };

    private static String key(ShardRouting shard) {
        return shard.getIndexName() + "/" + shard.id();
    }

    private Map<String, Held> holders(ShardRouting shard) {
        return held.getOrDefault(key(shard), new TreeMap<>());
    }

    void set(List<Map<String, Object>> stores, Map<Long, String> ids) {
        for (Map<String, Object> spec : stores) {
            Held store = new Held();
            Long id = Json.longOr(spec, "id", null);
            store.allocationId = id == null ? null : Spec.allocationId(ids, id);
            store.primary = Json.flag(spec, "primary");
            store.problem = Json.stringOr(spec, "problem", null);
            store.syncId = Json.stringOr(spec, "sync", null);
            for (List<Object> file : Json.<List<Object>>list(spec, "files")) {
                String name = (String) file.get(0);
                store.files.put(name, new StoreFileMetaData(name, ((Number) file.get(1)).longValue(),
                    (String) file.get(2), Version.LUCENE_8_2_0));
            }
            TreeMap<String, Held> nodes = held.computeIfAbsent(
                Json.string(spec, "index") + "/" + Json.number(spec, "shard"), key -> new TreeMap<>());
            if (store.allocationId == null && store.problem == null && store.syncId == null && store.files.isEmpty()) {
                nodes.remove(Json.string(spec, "node"));
            } else {
                nodes.put(Json.string(spec, "node"), store);
            }
        }
    }

    void pending(List<List<Object>> shards) {
        pending.clear();
        shards.forEach(shard -> pending.add(shard.get(0) + "/" + shard.get(1)));
    }

    @Override
    public void applyStartedShards(RoutingAllocation allocation, List<ShardRouting> startedShards) {
        // No data is cached between steps, so there is nothing to clear.
    }

    @Override
    public void applyFailedShards(RoutingAllocation allocation, List<FailedShard> failedShards) {
        // As above.
    }

    @Override
    public void allocateUnassigned(RoutingAllocation allocation) {
        innerAllocatedUnassigned(allocation, primaries, replicas);
    }
}
