import com.carrotsearch.hppc.cursors.ObjectCursor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.metadata.IndexMetaData;
import org.elasticsearch.cluster.node.DiscoveryNode;
import org.elasticsearch.cluster.routing.IndexRoutingTable;
import org.elasticsearch.cluster.routing.IndexShardRoutingTable;
import org.elasticsearch.cluster.routing.RoutingNode;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.UnassignedInfo;

/**
 * A state in the form in which both sides are compared.
 *
 * <p>"nodes": for each of RoutingNodes in its order, its id and then its copies in their order, as "index[shard] P|R
 * STATE [to|from node ]#id". "unassigned": the list in its order, as "index[shard] P|R REASON STATUS failures=N
 * delayed=true|false source=TYPE". "in_sync": "index[shard] #id,#id,..." for each shard whose in-sync set is not
 * that of its active copies. "order": the data nodes, and each index with its shards, in the server's
 * iteration order; null if unchanged since the previous response.
 *
 * <p>Allocation ids are random, so they are numbered in the order of their first occurrence in a response.
 */
final class Answer {
    private final Cluster cluster;
    private final ClusterState state;
    private final Map<String, Long> numbers;
    private long next;

    private Answer(Cluster cluster) {
        this.cluster = cluster;
        state = cluster.state;
        numbers = Spec.inverse(cluster.ids);
        next = cluster.ids.keySet().stream().mapToLong(Long::longValue).max().orElse(0) + 1;
    }

    static Map<String, Object> of(Cluster cluster) {
        Answer answer = new Answer(cluster);
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("nodes", answer.nodes());
        result.put("unassigned", answer.unassigned());
        result.put("in_sync", answer.inSync());
        Object order = answer.order();
        result.put("order", order.equals(cluster.lastOrder) ? null : order);
        cluster.lastOrder = order;
        return result;
    }

    private String id(String allocationId) {
        Long number = numbers.get(allocationId);
        if (number == null) {
            number = next++;
            numbers.put(allocationId, number);
            cluster.ids.put(number, allocationId);
        }
        return "#" + number;
    }

    private static String name(ShardRouting copy) {
        return copy.getIndexName() + "[" + copy.id() + "] " + (copy.primary() ? "P" : "R");
    }

    private List<List<String>> nodes() {
        List<List<String>> nodes = new ArrayList<>();
        for (RoutingNode node : state.getRoutingNodes()) {
            List<String> lines = new ArrayList<>();
            lines.add(node.nodeId());
            for (ShardRouting copy : node) {
                String other = copy.relocatingNodeId() == null ? ""
                    : (copy.relocating() ? "to " : "from ") + copy.relocatingNodeId() + " ";
                lines.add(name(copy) + " " + copy.state() + " " + other + id(copy.allocationId().getId()));
            }
            nodes.add(lines);
        }
        return nodes;
    }

    private List<String> unassigned() {
        List<String> lines = new ArrayList<>();
        for (ShardRouting copy : state.getRoutingNodes().unassigned()) {
            UnassignedInfo info = copy.unassignedInfo();
            lines.add(name(copy) + " " + info.getReason() + " " + info.getLastAllocationStatus() + " failures="
                + info.getNumFailedAllocations() + " delayed=" + info.isDelayed() + " source="
                + copy.recoverySource().getType());
        }
        return lines;
    }

    private List<String> inSync() {
        List<String> lines = new ArrayList<>();
        for (IndexRoutingTable table : state.routingTable()) {
            IndexMetaData index = state.metaData().index(table.getIndex());
            for (IndexShardRoutingTable shard : table) {
                Set<String> active = new TreeSet<>();
                shard.activeShards().forEach(copy -> active.add(copy.allocationId().getId()));
                Set<String> set = index.inSyncAllocationIds(shard.shardId().id());
                if (set.equals(active) == false) {
                    TreeSet<Long> sorted = new TreeSet<>();
                    set.forEach(id -> sorted.add(Long.valueOf(id(id).substring(1))));
                    StringBuilder line = new StringBuilder(index.getIndex().getName())
                        .append("[").append(shard.shardId().id()).append("]");
                    sorted.forEach(id -> line.append(" #").append(id));
                    lines.add(line.toString());
                }
            }
        }
        return lines;
    }

    private Map<String, Object> order() {
        List<String> dataNodes = new ArrayList<>();
        for (ObjectCursor<DiscoveryNode> node : state.nodes().getDataNodes().values()) {
            dataNodes.add(node.value.getId());
        }
        List<List<Object>> indices = new ArrayList<>();
        for (ObjectCursor<IndexRoutingTable> table : state.routingTable().indicesRouting().values()) {
            List<Object> line = new ArrayList<>();
            line.add(table.value.getIndex().getName());
            for (IndexShardRoutingTable shard : table.value) {
                line.add(shard.shardId().id());
            }
            indices.add(line);
        }
        Map<String, Object> order = new LinkedHashMap<>();
        order.put("data_nodes", dataNodes);
        order.put("indices", indices);
        return order;
    }
}
