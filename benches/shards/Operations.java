import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Measures complete operations on an index, in processor time of the master's thread, task by task like the
 * server's own tasks, until all copies have started.
 *
 * Arguments: VERSION BUDGET_S CASE..., where a case is OPERATION[/COURSE]:SHAPE, with shapes as in
 * Cluster.of. Operations: `reroute`: one with nothing to do; `create`, `close` and `open` an index: the
 * reroute in the task, one when the nodes have answered the gateway (only if there is data of the index),
 * and then, for each batch of copies reported as started, the task that starts them and, from 7.4 on, a
 * separate reroute. In course `least` the nodes answer for all copies at once, and all concurrent
 * recoveries report in one batch; in `most` each does so separately.
 *
 * Prints a line of CSV per operation and course: numbers of reroutes and batches; total time of all tasks:
 * median, minimum and maximum of the runs; and the median time of each kind of task: the operation's own,
 * the reroute when the nodes have answered, starting copies, and the reroute after that.
 */
final class Operations {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int RUNS = 100;
    private static final List<String> COURSES = List.of("least", "most");
    private static Cluster last;
    private static String lastShape;

    /** Times of one operation, by kind of task, in order. */
    private static final class Run {
        final Map<String, List<Double>> tasksMs = new LinkedHashMap<>();
        Object state;

        <T> T timed(String task, Supplier<T> work) {
            long before = THREADS.getCurrentThreadCpuTime();
            T result = work.get();
            tasksMs.computeIfAbsent(task, key -> new ArrayList<>()).add((THREADS.getCurrentThreadCpuTime() - before) / 1e6);
            return result;
        }

        int count(String task) {
            return tasksMs.getOrDefault(task, List.of()).size();
        }

        double totalMs() {
            return tasksMs.values().stream().flatMap(List::stream).mapToDouble(Double::doubleValue).sum();
        }
    }

    private Operations() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("version,operation,course,shape,routed_copies,reroutes,start_batches,runs,total_ms_median,total_ms_min,total_ms_max,"
            + "task_ms,answer_ms,start_ms,follow_up_ms");
        System.out.flush();
        String version = arguments[0];
        double budgetS = Double.parseDouble(arguments[1]);
        // Otherwise the first case would also measure JIT compilation.
        for (String operation : List.of("reroute", "create", "close", "open")) {
            measure(version, operation, "most", "100x5x1@3", Math.min(budgetS, 4), false);
        }
        for (int i = 2; i < arguments.length; i++) {
            String[] parts = arguments[i].split(":", 2);
            String[] courses = parts[0].split("/");
            for (String course : courses.length > 1 ? List.of(courses[1]) : COURSES) {
                measure(version, courses[0], course, parts[1], budgetS, true);
            }
        }
    }

    private static void measure(String version, String operation, String course, String shape, double budgetS, boolean isTold) throws Exception {
        Cluster cluster = atRest(shape);
        if (cluster.replicas > 0 && !operation.equals("reroute") && !operation.equals("create")) {
            throw new IllegalArgumentException(operation + " is for indices without replicas: nobody answers what files nodes hold");
        }
        List<Run> runs = new ArrayList<>();
        long began = System.nanoTime();
        double tookS = 0;
        // At least twice, unless it takes minutes.
        while (runs.size() < RUNS && (tookS < budgetS || runs.size() < 2 && tookS < 60)) {
            runs.add(run(cluster, operation, course.equals("most")));
            tookS = (System.nanoTime() - began) / 1e9;
        }
        if (isTold) {
            tell(version, cluster, operation, course, shape, runs);
        }
    }

    /** The cluster of the given shape, reused if the previous case had the same. */
    private static Cluster atRest(String shape) throws Exception {
        if (!shape.equals(lastShape)) {
            last = Cluster.of(shape);
            lastShape = shape;
            if (Cluster.digest(last.reroute(last.state)) != Cluster.digest(last.state)) {
                throw new IllegalStateException(shape + " is not at rest: a reroute moves copies");
            }
        }
        return last;
    }

    private static Run run(Cluster cluster, String operation, boolean eachAlone) {
        Run run = new Run();
        switch (operation) {
            case "reroute":
                run.state = run.timed("task", () -> cluster.reroute(cluster.state));
                return run;
            case "create":
                Object created = cluster.created(cluster.state);
                run.state = run.timed("task", () -> cluster.reroute(created));
                break;
            case "close":
                closed(cluster, run, eachAlone);
                break;
            case "open":
                Run before = new Run();
                closed(cluster, before, false);
                start(cluster, before, false);
                Map<Object, Object> asked = cluster.ask();
                Object opened = cluster.opened(before.state);
                run.state = run.timed("task", () -> cluster.reroute(opened));
                answer(cluster, run, asked, eachAlone);
                break;
            default:
                throw new IllegalArgumentException("expected reroute, create, close or open, found " + operation);
        }
        start(cluster, run, eachAlone);
        if (Cluster.unassigned(run.state) > 0) {
            throw new IllegalStateException(operation + " leaves copies unassigned");
        }
        return run;
    }

    private static void closed(Cluster cluster, Run run, boolean eachAlone) {
        Map<Object, Object> asked = cluster.ask();
        Object closed = cluster.closed(cluster.state);
        run.state = run.timed("task", () -> cluster.reroute(closed));
        if (Cluster.keepsClosed()) {
            answer(cluster, run, asked, eachAlone);
        }
    }

    /** The nodes answer with the copies of the original state, which are still on their disks. */
    private static void answer(Cluster cluster, Run run, Map<Object, Object> asked, boolean eachAlone) {
        if (!Cluster.initializing(run.state).isEmpty()) {
            throw new IllegalStateException("copies were allocated before the nodes had answered");
        }
        List<Map<Object, Object>> batches = new ArrayList<>();
        if (eachAlone) {
            asked.forEach((shard, asking) -> batches.add(Map.of(shard, asking)));
        } else {
            batches.add(asked);
        }
        for (Map<Object, Object> batch : batches) {
            cluster.answered(batch, cluster.state);
            run.state = run.timed("answer", () -> cluster.reroute(run.state));
        }
    }

    private static void start(Cluster cluster, Run run, boolean eachAlone) {
        for (List<Object> copies = Cluster.initializing(run.state); !copies.isEmpty(); copies = Cluster.initializing(run.state)) {
            List<Object> batch = eachAlone ? copies.subList(0, 1) : copies;
            run.state = run.timed("start", () -> cluster.started(run.state, batch));
            if (Cluster.reroutesAfterStart()) {
                run.state = run.timed("follow-up", () -> cluster.reroute(run.state));
            }
        }
    }

    /** The second half if there are more than a few runs, because the first half warms up. */
    private static void tell(String version, Cluster cluster, String operation, String course, String shape, List<Run> runs) {
        List<Run> warm = runs.size() < 4 ? runs : runs.subList(runs.size() / 2, runs.size());
        double[] totals = warm.stream().mapToDouble(Run::totalMs).sorted().toArray();
        Run one = runs.get(0);
        int reroutes = one.count("task") + one.count("answer") + (Cluster.reroutesAfterStart() ? one.count("follow-up") : one.count("start"));
        System.out.printf(Locale.ROOT, "%s,%s,%s,%s,%d,%d,%d,%d,%.3f,%.3f,%.3f,%s,%s,%s,%s%n", version, operation, course, shape, cluster.routed(),
            reroutes, one.count("start"), runs.size(), totals[totals.length / 2], totals[0], totals[totals.length - 1], median(warm, "task"),
            median(warm, "answer"), median(warm, "start"), median(warm, "follow-up"));
        System.out.flush();
    }

    private static String median(List<Run> runs, String task) {
        double[] sorted = runs.stream().flatMap(run -> run.tasksMs.getOrDefault(task, List.of()).stream()).mapToDouble(Double::doubleValue)
            .sorted().toArray();
        return sorted.length == 0 ? "" : String.format(Locale.ROOT, "%.3f", sorted[sorted.length / 2]);
    }
}
