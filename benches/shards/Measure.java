import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/**
 * Measures the master's allocation service by version, in processor time of its thread: one line of CSV per
 * operation and shape.
 *
 * Arguments: VERSION BUDGET_S SHAPE..., a shape is INDICESxPRIMARIESxCOPIES@NODES or, with closed indices,
 * INDICESxPRIMARIESxCOPIES@NODES-CLOSED (more in Cluster.of).
 *
 * Operations: `reroute` with nothing to do; `create` and `delete` an index: the single reroute in the
 * master's task; `start`: all copies of a new index reported as started, which is followed by a separate
 * reroute from 7.4 on.
 */
final class Measure {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Measure() {}

    public static void main(String[] arguments) throws Exception {
        String version = arguments[0];
        double budgetS = Double.parseDouble(arguments[1]);
        // Otherwise the first shape would also measure JIT compilation.
        shape(version, "100x5x2@3", budgetS, false);
        for (int i = 2; i < arguments.length; i++) {
            shape(version, arguments[i], budgetS, true);
        }
    }

    private static void shape(String version, String shape, double budgetS, boolean isTold) throws Exception {
        Cluster cluster = Cluster.of(shape);
        row(version, cluster, "reroute", budgetS, isTold, cluster.state, cluster::reroute);
        Object created = cluster.created(cluster.state);
        row(version, cluster, "create", budgetS, isTold, created, cluster::reroute);
        row(version, cluster, "start", budgetS, isTold, cluster.reroute(created), cluster::started);
        row(version, cluster, "delete", budgetS, isTold, cluster.deleted(cluster.state), cluster::reroute);
    }

    /** The median of the second half of the runs, because the first half warms up. */
    private static void row(String version, Cluster cluster, String operation, double budgetS, boolean isTold, Object from,
        UnaryOperator<Object> step) {
        List<Double> cpuMs = new ArrayList<>();
        Object result = from;
        // The state of a real master has aged: the memory layout of objects matters as much as their number.
        System.gc();
        long began = System.nanoTime();
        while (cpuMs.size() < 3 || cpuMs.size() < 400 && (System.nanoTime() - began) / 1e9 < budgetS) {
            long before = THREADS.getCurrentThreadCpuTime();
            result = step.apply(from);
            cpuMs.add((THREADS.getCurrentThreadCpuTime() - before) / 1e6);
        }
        if (!isTold) {
            return;
        }
        List<Double> warm = new ArrayList<>(cpuMs.subList(cpuMs.size() / 2, cpuMs.size()));
        warm.sort(null);
        System.out.printf(Locale.ROOT, "%s,%s,%d,%d,%d,%d,%d,%d,%.3f,%.3f,%.3f,%d,%08x%n", version, operation, cluster.nodes, cluster.indices,
            cluster.closed, cluster.primaries, cluster.replicas, cluster.routed(), warm.get(warm.size() / 2), warm.get(0),
            warm.get(warm.size() - 1), cpuMs.size(), Cluster.digest(result));
        System.out.flush();
    }
}
