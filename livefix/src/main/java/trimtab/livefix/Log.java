package trimtab.livefix;

import java.util.concurrent.atomic.AtomicBoolean;

/** Lines on standard error, which a service manager keeps with the server's other output. */
final class Log {
    private static final AtomicBoolean HAS_FAILED = new AtomicBoolean();

    private Log() {}

    static void say(String line) {
        System.err.println("trimtab-livefix: " + line);
    }

    /** The first of the failures that make a caller scan: all others have the same reason. */
    static void failed(Throwable thrown) {
        if (HAS_FAILED.compareAndSet(false, true)) {
            say("shards are scanned as before: " + thrown);
        }
    }
}
