import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/**
 * What the master's allocation service takes, by version, in processor time of its thread: one line of CSV for each
 * operation and shape.
 *
 * Arguments: VERSION BUDGET_S SHAPE..., a shape is INDICESxPRIMARIESxCOPIES@NODES or, with closed indices,
 * INDICESxPRIMARIESxCOPIES@NODES-CLOSED.
 *
 * Operations: `reroute` with nothing to do; `create` and `delete` of an index: the one reroute in the master's task for
 * it; `start`: all copies of a new index reported as started, which from 7.4 on a reroute of its own follows.
 */
final class Measure {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Measure() {}

    public static void main(String[] arguments) throws Exception {
        String version = arguments[0];
        double budgetS = Double.parseDouble(arguments[1]);
        for (int i = 2; i < arguments.length; i++) {
            String[] parts = arguments[i].split("[x@-]");
            int closed = parts.length > 4 ? Integer.parseInt(parts[4]) : 0;
            Cluster cluster = new Cluster(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2]) - 1,
                Integer.parseInt(parts[3]), closed);
            row(version, cluster, "reroute", budgetS, cluster.state, cluster::reroute);
            Object created = cluster.created(cluster.state);
            row(version, cluster, "create", budgetS, created, cluster::reroute);
            row(version, cluster, "start", budgetS, cluster.reroute(created), cluster::started);
            row(version, cluster, "delete", budgetS, cluster.deleted(cluster.state), cluster::reroute);
        }
    }

    /** The median of the second half of the runs: the first warms up. */
    private static void row(String version, Cluster cluster, String operation, double budgetS, Object from, UnaryOperator<Object> step) {
        List<Double> cpuMs = new ArrayList<>();
        Object result = from;
        long began = System.nanoTime();
        while (cpuMs.size() < 3 || cpuMs.size() < 400 && (System.nanoTime() - began) / 1e9 < budgetS) {
            long before = THREADS.getCurrentThreadCpuTime();
            result = step.apply(from);
            cpuMs.add((THREADS.getCurrentThreadCpuTime() - before) / 1e6);
        }
        List<Double> warm = new ArrayList<>(cpuMs.subList(cpuMs.size() / 2, cpuMs.size()));
        warm.sort(null);
        System.out.printf(Locale.ROOT, "%s,%s,%d,%d,%d,%d,%d,%d,%.3f,%.3f,%.3f,%d,%08x%n", version, operation, cluster.nodes, cluster.indices,
            cluster.closed, cluster.primaries, cluster.replicas, cluster.routed(), warm.get(warm.size() / 2), warm.get(0),
            warm.get(warm.size() - 1), cpuMs.size(), Cluster.digest(result));
        System.out.flush();
    }
}
