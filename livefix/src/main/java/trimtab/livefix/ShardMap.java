package trimtab.livefix;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.ConcurrentModificationException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * The shards of a node, in the order in which they were put, with a list for each set of states that was asked for. A
 * list counts for one version of the map, which every change ends.
 *
 * <p>One thread changes a node at a time, as with the map that this one replaces. Readers on other threads see a list of
 * some version of the map that was theirs, or scan: a list is published whole, with the version that was current before
 * its scan began.
 */
public final class ShardMap extends LinkedHashMap<Object, Object> {
    private static final long serialVersionUID = 1;
    /** UNASSIGNED, INITIALIZING, STARTED, RELOCATING. */
    private static final int STATES = 4;
    /** Compares each list with a scan. */
    private static final boolean IS_CHECKED = isChecked();

    private static final AtomicLong COMPARED = new AtomicLong();
    private static final AtomicLong DIFFERED = new AtomicLong();
    /** So many compared lists make a line in the log; twice as many make the next. */
    private static final long FIRST_REPORT = 1024;

    /** {@code ShardRouting.state()}, found with the first shard. */
    private static volatile MethodHandle stateOf;

    private final transient AtomicInteger version = new AtomicInteger();
    private final transient AtomicReferenceArray<Listed> lists = new AtomicReferenceArray<>(1 << STATES);

    /** Shards with one set of states, in one version of the map. */
    private static final class Listed {
        final int version;
        final Object[] shards;

        Listed(int version, Object[] shards) {
            this.version = version;
            this.shards = shards;
        }
    }

    ShardMap(Map<?, ?> shards) {
        super(Math.max(16, shards.size() * 4 / 3 + 1));
        super.putAll(shards);
    }

    private static boolean isChecked() {
        try {
            return Boolean.getBoolean("trimtab.livefix.check");
        } catch (SecurityException hidden) {
            return false;
        }
    }

    /** Replaces the map of a new node. Nobody changes that map later: it was made for the node. */
    @SuppressWarnings({"rawtypes", "unchecked"}) // the server's own types
    public static LinkedHashMap of(LinkedHashMap shards) {
        try {
            return new ShardMap(shards);
        } catch (Throwable thrown) {
            Log.failed(thrown);
            return shards;
        }
    }

    /** The shards in any of these states as a list of the caller's own; null if the caller has to scan. */
    @SuppressWarnings("rawtypes")
    public static List list(LinkedHashMap shards, Object[] states) {
        Object[] listed = listed(shards, states);
        return listed == null ? null : new ArrayList<>(Arrays.asList(listed));
    }

    /** The number of shards in any of these states; -1 if the caller has to scan. */
    @SuppressWarnings("rawtypes")
    public static int count(LinkedHashMap shards, Object[] states) {
        Object[] listed = listed(shards, states);
        return listed == null ? -1 : listed.length;
    }

    private static Object[] listed(Object shards, Object[] states) {
        if (!(shards instanceof ShardMap)) {
            return null;
        }
        try {
            int set = setOf(states);
            return set < 0 ? null : ((ShardMap) shards).listed(set);
        } catch (ConcurrentModificationException changing) {
            // The caller's own scan meets it as well, or comes after the change.
            return null;
        } catch (Throwable thrown) {
            Log.failed(thrown);
            return null;
        }
    }

    /** Bits of the states; -1 if one stands twice, for which a scan lists shards twice, or is not known. */
    private static int setOf(Object[] states) {
        int set = 0;
        for (Object state : states) {
            int bit = 1 << ((Enum<?>) state).ordinal();
            if (bit >= 1 << STATES || (set & bit) != 0) {
                return -1;
            }
            set |= bit;
        }
        return set;
    }

    private Object[] listed(int set) throws Throwable {
        int current = version.get();
        if (current % 2 != 0) {
            return scan(set);
        }
        Listed listed = lists.get(set);
        if (listed == null || listed.version != current) {
            listed = new Listed(current, scan(set));
            lists.set(set, listed);
        } else if (IS_CHECKED) {
            Object[] scanned = scan(set);
            // A change under way is no mistake.
            boolean differs = !same(scanned, listed.shards) && version.get() == current;
            if (differs) {
                if (DIFFERED.incrementAndGet() == 1) {
                    Log.warn("a list was stale, and is scanned again");
                }
            }
            long compared = COMPARED.incrementAndGet();
            if (compared >= FIRST_REPORT && Long.bitCount(compared) == 1) {
                Log.say(compared + " lists compared with a scan, " + DIFFERED.get() + " differed");
            }
            if (differs) {
                return scanned;
            }
        }
        return listed.shards;
    }

    /** What {@code RoutingNode} itself does. */
    private Object[] scan(int set) throws Throwable {
        List<Object> found = new ArrayList<>();
        for (Object shard : super.values()) {
            if ((set & 1 << state(shard).ordinal()) != 0) {
                found.add(shard);
            }
        }
        return found.toArray();
    }

    private static Enum<?> state(Object shard) throws Throwable {
        MethodHandle known = stateOf;
        if (known == null) {
            Class<?> type = shard.getClass();
            Class<?> states = Class.forName(type.getName() + "State", false, type.getClassLoader());
            known = MethodHandles.publicLookup()
                    .findVirtual(type, "state", MethodType.methodType(states))
                    .asType(MethodType.methodType(Enum.class, Object.class));
            stateOf = known;
        }
        return (Enum<?>) known.invokeExact(shard);
    }

    private static boolean same(Object[] one, Object[] other) {
        if (one.length != other.length) {
            return false;
        }
        for (int at = 0; at < one.length; at++) {
            if (one[at] != other[at]) {
                return false;
            }
        }
        return true;
    }

    /** Odd while a change is under way. */
    private void changing() {
        version.incrementAndGet();
    }

    private <T> T changed(T result) {
        version.incrementAndGet();
        return result;
    }

    @Override
    public Object put(Object key, Object value) {
        changing();
        return changed(super.put(key, value));
    }

    @Override
    public Object remove(Object key) {
        changing();
        return changed(super.remove(key));
    }

    // The class uses none of these; a version that does is not patched.

    @Override
    public void putAll(Map<?, ?> shards) {
        changing();
        super.putAll(shards);
        changed(null);
    }

    @Override
    public void clear() {
        changing();
        super.clear();
        changed(null);
    }

    @Override
    public boolean remove(Object key, Object value) {
        changing();
        return changed(super.remove(key, value));
    }

    @Override
    public Object putIfAbsent(Object key, Object value) {
        changing();
        return changed(super.putIfAbsent(key, value));
    }

    @Override
    public boolean replace(Object key, Object old, Object value) {
        changing();
        return changed(super.replace(key, old, value));
    }

    @Override
    public Object replace(Object key, Object value) {
        changing();
        return changed(super.replace(key, value));
    }

    @Override
    public void replaceAll(BiFunction<? super Object, ? super Object, ?> function) {
        changing();
        super.replaceAll(function);
        changed(null);
    }

    @Override
    public Object computeIfAbsent(Object key, Function<? super Object, ?> function) {
        changing();
        return changed(super.computeIfAbsent(key, function));
    }

    @Override
    public Object computeIfPresent(Object key, BiFunction<? super Object, ? super Object, ?> function) {
        changing();
        return changed(super.computeIfPresent(key, function));
    }

    @Override
    public Object compute(Object key, BiFunction<? super Object, ? super Object, ?> function) {
        changing();
        return changed(super.compute(key, function));
    }

    @Override
    public Object merge(Object key, Object value, BiFunction<? super Object, ? super Object, ?> function) {
        changing();
        return changed(super.merge(key, value, function));
    }
}
