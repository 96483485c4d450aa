import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.elasticsearch.cluster.routing.IndexRoutingTable;
import org.elasticsearch.cluster.routing.IndexShardRoutingTable;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.UnassignedInfo;
import org.elasticsearch.cluster.routing.allocation.allocator.Balance;

/**
 * The state after a step: "data_nodes" in the order of the server's map; "indices" in the order of the server's table,
 * each {@code [name, [[copy, ...], ...]]} with its shards by number and a copy as {@code [primary, state, node, to, id,
 * relocation id, recovery source, expected bytes, reason, status, failures, last node,
 * failed relocations]}; "routed": the nodes in the order
 * of RoutingNodes; "desired": {@code [[index, shard, [node, ...], total, unassigned, ignored], ...]}, "converged" and
 * "iterations" of the last round.
 */
final class Told {
    private final Master master;
    private final Map<String, Long> numbers = new HashMap<>();
    private long next;

    Told(Master master) {
        this.master = master;
        master.ids.forEach((number, id) -> numbers.put(id, number));
        next = master.ids.keySet().stream().mapToLong(Long::longValue).max().orElse(0) + 1;
    }

    Map<String, Object> answer() {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("data_nodes", new ArrayList<>(master.state.nodes().getDataNodes().keySet()));
        List<Object> routed = new ArrayList<>();
        master.state.getRoutingNodes().forEach(node -> routed.add(node.nodeId()));
        answer.put("routed", routed);
        List<Object> indices = new ArrayList<>();
        for (IndexRoutingTable table : Release.tables(master.state)) {
            List<Object> shards = new ArrayList<>();
            for (int shard = 0; shard < table.size(); shard++) {
                List<Object> copies = new ArrayList<>();
                IndexShardRoutingTable group = table.shard(shard);
                for (int copy = 0; copy < group.size(); copy++) {
                    copies.add(copy(group.shard(copy)));
                }
                shards.add(copies);
            }
            indices.add(Arrays.asList(table.getIndex().getName(), shards));
        }
        answer.put("indices", indices);
        answer.put("desired", Balance.told(master.desired));
        answer.put("converged", Balance.converged(master.desired));
        answer.put("iterations", master.iterations);
        return answer;
    }

    private Long number(String id) {
        if (id == null) {
            return null;
        }
        return numbers.computeIfAbsent(id, unknown -> {
            master.ids.put(next, id);
            return next++;
        });
    }

    private List<Object> copy(ShardRouting copy) {
        UnassignedInfo info = copy.unassignedInfo();
        return Arrays.asList(copy.primary(), copy.state().name(), copy.currentNodeId(), copy.relocatingNodeId(),
            copy.allocationId() == null ? null : number(copy.allocationId().getId()),
            copy.allocationId() == null ? null : number(copy.allocationId().getRelocationId()),
            copy.recoverySource() == null ? null : copy.recoverySource().getType().name(),
            copy.getExpectedShardSize(),
            info == null ? null : info.reason().name(), info == null ? null : info.lastAllocationStatus().name(),
            info == null ? 0 : info.failedAllocations(), info == null ? null : info.lastAllocatedNodeId(),
            copy.relocationFailureInfo().failedRelocations());
    }
}
