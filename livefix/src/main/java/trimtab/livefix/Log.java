package trimtab.livefix;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Lines on standard error, which a service manager keeps, and in the server's own log, which is there when standard error
 * is closed ({@code elasticsearch -d}).
 */
final class Log {
    private static final AtomicBoolean HAS_FAILED = new AtomicBoolean();

    private Log() {}

    /** Before the server has set up its log, which it must be the first to use. */
    static void early(String line) {
        System.err.println("trimtab-livefix: " + line);
    }

    static void say(String line) {
        early(line);
        inServersLog("info", line);
    }

    static void warn(String line) {
        early(line);
        inServersLog("warn", line);
    }

    /** The first of the failures that make a caller scan: all others have the same reason. */
    static void failed(Throwable thrown) {
        if (HAS_FAILED.compareAndSet(false, true)) {
            warn("shards are scanned as before: " + thrown);
        }
    }

    /** On a thread of its own: the caller may be loading a class, or hold locks. */
    private static void inServersLog(String level, String line) {
        try {
            new Writer(level, line).start();
        } catch (Throwable thrown) {
            early("not in the server's log: " + thrown);
        }
    }

    private static final class Writer extends Thread {
        private final String level;
        private final String line;

        Writer(String level, String line) {
            super("trimtab-livefix-log");
            this.level = level;
            this.line = line;
        }

        @Override
        public void run() {
            try {
                ClassLoader servers = Log.class.getClassLoader();
                Object logger = Class.forName("org.apache.logging.log4j.LogManager", true, servers)
                        .getMethod("getLogger", String.class)
                        .invoke(null, "trimtab.livefix");
                Class.forName("org.apache.logging.log4j.Logger", false, servers)
                        .getMethod(level, String.class)
                        .invoke(logger, line);
            } catch (Throwable thrown) {
                early("not in the server's log: " + thrown);
            }
        }
    }
}
