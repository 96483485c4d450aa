import java.util.List;
import java.util.Map;
import org.elasticsearch.cluster.ClusterInfo;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.DiskUsage;
import org.elasticsearch.cluster.routing.RoutingNode;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.common.collect.ImmutableOpenMap;

/**
 * The master's information about disks: {@code {"least": [[node, path, total_bytes, free_bytes], ...], "most": [...],
 * "sizes": [[index, shard, primary, bytes], ...], "paths": [[index, shard, node, path], ...]}}. Always complete.
 */
final class Disks {
    private Disks() {
    }

    /** Paths are recorded for the copies in this state: the server looks for an equal entry. */
    static ClusterInfo of(Map<String, Object> info, ClusterState state) {
        ImmutableOpenMap.Builder<String, Long> sizes = ImmutableOpenMap.builder();
        for (List<Object> size : Json.<List<Object>>list(info, "sizes")) {
            sizes.put("[" + size.get(0) + "][" + size.get(1) + "][" + ((Boolean) size.get(2) ? "p" : "r") + "]",
                ((Number) size.get(3)).longValue());
        }
        ImmutableOpenMap.Builder<ShardRouting, String> paths = ImmutableOpenMap.builder();
        for (List<Object> path : Json.<List<Object>>list(info, "paths")) {
            paths.put(find(state, (String) path.get(0), (Number) path.get(1), (String) path.get(2)),
                (String) path.get(3));
        }
        return new ClusterInfo(usages(info, "least", state), usages(info, "most", state), sizes.build(), paths.build());
    }

    private static ImmutableOpenMap<String, DiskUsage> usages(Map<String, Object> info, String key,
                                                              ClusterState state) {
        ImmutableOpenMap.Builder<String, DiskUsage> usages = ImmutableOpenMap.builder();
        for (List<Object> usage : Json.<List<Object>>list(info, key)) {
            String node = (String) usage.get(0);
            String name = state.nodes().get(node) == null ? node : state.nodes().get(node).getName();
            usages.put(node, new DiskUsage(node, name, (String) usage.get(1), ((Number) usage.get(2)).longValue(),
                ((Number) usage.get(3)).longValue()));
        }
        return usages.build();
    }

    /** The copy of a shard on a node. */
    static ShardRouting find(ClusterState state, String index, Number shard, String nodeId) {
        RoutingNode node = state.getRoutingNodes().node(nodeId);
        if (node != null) {
            for (ShardRouting copy : node) {
                if (copy.id() == shard.intValue() && copy.getIndexName().equals(index)) {
                    return copy;
                }
            }
        }
        throw new IllegalArgumentException("no copy of " + index + "[" + shard + "] is on " + nodeId);
    }
}
