import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.elasticsearch.cluster.node.DiscoveryNode;
import org.elasticsearch.cluster.node.DiscoveryNodeRole;
import org.elasticsearch.common.Strings;
import org.elasticsearch.common.xcontent.DeprecationHandler;
import org.elasticsearch.common.xcontent.NamedXContentRegistry;
import org.elasticsearch.common.xcontent.XContentBuilder;
import org.elasticsearch.common.xcontent.XContentParser;
import org.elasticsearch.common.xcontent.json.JsonXContent;

/**
 * Reads JSON lines from stdin and writes one line to stdout in response to each.
 *
 * <p>{@code {"cluster": {...}}} builds a state (see {@link Spec}) and discards the previous one.
 * {@code {"step": NAME, ...}} applies a step to it (see {@link Cluster#step}). A step may have attached, for itself
 * and later steps: {@code "clock"} (nanoseconds), {@code "info"} (disks, sizes and paths, see {@link Disks}),
 * {@code "stores"} (what the nodes' disks hold, see {@link Stores}).
 *
 * <p>The response is an {@link Answer}, or {@code {"error": ..., "stack": [...]}} when the server threw.
 */
public final class Driver {
    private static final int STACK_HEAD = 12;

    private Cluster cluster;

    public static void main(String[] args) throws Exception {
        // Other output to System.out must not mix with the responses.
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        DiscoveryNode.setPossibleRoles(DiscoveryNodeRole.BUILT_IN_ROLES);
        Driver driver = new Driver();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(write(driver.answer(line)));
            out.flush();
        }
    }

    private Map<String, Object> answer(String line) {
        try {
            Map<String, Object> request = parse(line);
            if (request.containsKey("cluster")) {
                cluster = new Cluster(Json.object(request, "cluster"));
            } else if (cluster == null) {
                throw new IllegalArgumentException("a step before any cluster");
            } else {
                cluster.step(request);
            }
            return Answer.of(cluster);
        } catch (Exception | AssertionError e) {
            Map<String, Object> error = new LinkedHashMap<>();
            error.put("error", String.valueOf(e));
            List<String> stack = new ArrayList<>();
            for (Throwable t = e; t != null; t = t.getCause()) {
                if (t != e) {
                    stack.add("caused by " + t);
                }
                for (int i = 0; i < t.getStackTrace().length && i < STACK_HEAD; i++) {
                    stack.add(t.getStackTrace()[i].toString());
                }
            }
            error.put("stack", stack);
            return error;
        }
    }

    private static Map<String, Object> parse(String line) throws Exception {
        try (XContentParser parser = JsonXContent.jsonXContent.createParser(NamedXContentRegistry.EMPTY,
                DeprecationHandler.THROW_UNSUPPORTED_OPERATION, line)) {
            return parser.mapOrdered();
        }
    }

    private static String write(Map<String, Object> answer) throws Exception {
        try (XContentBuilder builder = XContentBuilder.builder(JsonXContent.jsonXContent)) {
            return Strings.toString(builder.map(answer));
        }
    }
}
