import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.elasticsearch.cluster.routing.RecoverySource;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.UnassignedInfo;
import org.elasticsearch.cluster.routing.allocation.AllocateUnassignedDecision;
import org.elasticsearch.cluster.routing.allocation.ExistingShardsAllocator;
import org.elasticsearch.cluster.routing.allocation.FailedShard;
import org.elasticsearch.cluster.routing.allocation.RoutingAllocation;

/** Stands in for the gateway allocator: ignores primaries with data, and the copies that it is told to. */
final class Gateway implements ExistingShardsAllocator {
    /** "index shard true", for a primary. */
    final Set<String> claimed = new HashSet<>();

    @Override
    public void beforeAllocation(RoutingAllocation allocation) {
    }

    @Override
    public void afterPrimariesBeforeReplicas(RoutingAllocation allocation, Predicate<ShardRouting> relevant) {
    }

    @Override
    public void allocateUnassigned(ShardRouting copy, RoutingAllocation allocation, UnassignedAllocationHandler handler) {
        if (copy.recoverySource().getType() == RecoverySource.Type.EXISTING_STORE
            || claimed.contains(copy.getIndexName() + " " + copy.id() + " " + copy.primary())) {
            handler.removeAndIgnore(UnassignedInfo.AllocationStatus.NO_ATTEMPT, allocation.changes());
        }
    }

    @Override
    public AllocateUnassignedDecision explainUnassignedShardAllocation(ShardRouting copy, RoutingAllocation allocation) {
        return AllocateUnassignedDecision.NOT_TAKEN;
    }

    @Override
    public void cleanCaches() {
    }

    @Override
    public void applyStartedShards(List<ShardRouting> started, RoutingAllocation allocation) {
    }

    @Override
    public void applyFailedShards(List<FailedShard> failed, RoutingAllocation allocation) {
    }

    @Override
    public int getNumberOfInFlightFetches() {
        return 0;
    }
}
