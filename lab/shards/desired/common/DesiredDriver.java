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
import org.elasticsearch.common.Strings;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.xcontent.XContentHelper;
import org.elasticsearch.xcontent.XContentBuilder;
import org.elasticsearch.xcontent.json.JsonXContent;

/**
 * The master of Elasticsearch from 8.19 on, with its desired balance. Reads JSON lines from stdin and writes one line to
 * stdout in response to each.
 *
 * <p>{@code {"cluster": {...}}} builds a state (see {@link Given}) and discards the previous one. {@code {"step": NAME,
 * ...}} applies a step to it (see {@link Master#step}). The response is that of {@link Told}, or {@code {"error": ...,
 * "stack": [...]}} when the server threw.
 */
public final class DesiredDriver {
    private static final int STACK_HEAD = 14;

    private Master master;

    public static void main(String[] args) throws Exception {
        // Before the JIT compiler takes it for a constant.
        Salt.set(Long.parseLong(args[0]));
        // Other output to System.out must not mix with the responses.
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        LogConfigurator.configureESLogging();
        DesiredDriver driver = new DesiredDriver();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(write(driver.answer(line)));
            out.flush();
        }
        // Threads of the server must not keep it alive.
        System.exit(0);
    }

    private Map<String, Object> answer(String line) {
        try {
            Map<String, Object> request = XContentHelper.convertToMap(JsonXContent.jsonXContent, line, true);
            if (request.containsKey("cluster")) {
                master = new Master(Json.object(request, "cluster"));
            } else if (master == null) {
                throw new IllegalArgumentException("a step before any cluster");
            } else {
                master.step(request);
            }
            return new Told(master).answer();
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

    private static String write(Map<String, Object> answer) throws Exception {
        try (XContentBuilder builder = JsonXContent.contentBuilder()) {
            return Strings.toString(builder.map(answer));
        }
    }
}
