package org.elasticsearch.cluster.routing.allocation.allocator;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import org.elasticsearch.cluster.metadata.IndexMetadata;
import org.elasticsearch.cluster.metadata.ProjectMetadata;
import org.elasticsearch.cluster.routing.allocation.RoutingAllocation;
import org.elasticsearch.cluster.routing.allocation.ShardAllocationDecision;
import org.elasticsearch.cluster.routing.allocation.WriteLoadForecaster;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.threadpool.ThreadPool;

/** The computer and the reconciler of 9.2, whose constructors are the package's own. */
public final class Balance {
    private final DesiredBalanceComputer computer;
    private final DesiredBalanceReconciler reconciler;
    public int iterations;
    /** Iterations after which newer input arrives, which ends a computation. */
    public int enough;

    /** The reconciler of the balance before is kept, with its orders. */
    public Balance(ClusterSettings settings, Balance before) {
        computer = new DesiredBalanceComputer(settings, new Clock(),
            new BalancedShardsAllocator(new BalancerSettings(settings), new Forecasts()),
            (shard, allocation) -> ShardAllocationDecision.NOT_TAKEN);
        reconciler = before != null ? before.reconciler
            : new DesiredBalanceReconciler(settings, new Clock());
    }

    public DesiredBalance compute(DesiredBalance previous, RoutingAllocation allocation) {
        iterations = 1;
        return computer.compute(previous, DesiredBalanceInput.create(1 + previous.lastConvergedIndex(), allocation),
            new ArrayDeque<>(), input -> ++iterations <= enough);
    }

    public void reconcile(DesiredBalance desired, RoutingAllocation allocation) {
        reconciler.reconcile(desired, allocation);
    }

    public static boolean converged(DesiredBalance desired) {
        return desired.finishReason() == DesiredBalance.ComputationFinishReason.CONVERGED;
    }

    public static List<Object> told(DesiredBalance desired) {
        List<Object> all = new ArrayList<>();
        desired.assignments().forEach((shard, assignment) -> all.add(Arrays.asList(shard.getIndexName(), shard.id(),
            new ArrayList<>(assignment.nodeIds()), assignment.total(), assignment.unassigned(), assignment.ignored())));
        return all;
    }

    private static final class Clock extends ThreadPool {
        @Override
        public long relativeTimeInMillis() {
            return 0;
        }
    }

    /** What the licensed plugin does: the forecast that the index has. */
    private static final class Forecasts implements WriteLoadForecaster {
        @Override
        public ProjectMetadata.Builder withWriteLoadForecastForWriteIndex(String stream, ProjectMetadata.Builder metadata) {
            return metadata;
        }

        @Override
        public OptionalDouble getForecastedWriteLoad(IndexMetadata index) {
            return index.getForecastedWriteLoad();
        }

        @Override
        public void refreshLicense() {
        }
    }
}
