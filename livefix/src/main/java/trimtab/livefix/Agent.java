package trimtab.livefix;

import java.lang.instrument.Instrumentation;
import java.util.LinkedHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Entry of the agent, at the start of a server ({@code -javaagent}) or in one that runs (attach). Whatever goes wrong
 * is logged, and the server goes on without the fix.
 */
public final class Agent {
    private static final AtomicBoolean IS_INSTALLED = new AtomicBoolean();

    private Agent() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        install(instrumentation, Log::early);
    }

    public static void agentmain(String arguments, Instrumentation instrumentation) {
        install(instrumentation, Log::warn);
    }

    private static void install(Instrumentation instrumentation, Consumer<String> log) {
        if (!IS_INSTALLED.compareAndSet(false, true)) {
            log.accept("loaded before, nothing to do");
            return;
        }
        Patch patch = new Patch();
        try {
            // Initialised now: what fails here changes nothing.
            new ShardMap(new LinkedHashMap<>());
            instrumentation.addTransformer(patch, true);
            // In a server that runs, the class is there already. Nodes that exist keep the scan; each new cluster state
            // makes new ones.
            for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
                if (Patch.isPatched(loaded.getName().replace('.', '/'))) {
                    instrumentation.retransformClasses(loaded);
                }
            }
        } catch (Throwable thrown) {
            instrumentation.removeTransformer(patch);
            log.accept("not active, the server runs unchanged: " + thrown);
        }
    }
}
