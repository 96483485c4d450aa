import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.elasticsearch.common.settings.Settings;

/** Accessors for parsed JSON; a missing value or one of the wrong type is an error that names the key. */
final class Json {
    private Json() {
    }

    private static <T> T get(Map<String, Object> of, String key, Class<T> type) {
        Object value = of.get(key);
        if (type.isInstance(value) == false) {
            throw new IllegalArgumentException("\"" + key + "\" is " + value + ", not a " + type.getSimpleName());
        }
        return type.cast(value);
    }

    static String string(Map<String, Object> of, String key) {
        return get(of, key, String.class);
    }

    static String stringOr(Map<String, Object> of, String key, String otherwise) {
        return of.get(key) == null ? otherwise : string(of, key);
    }

    static boolean flag(Map<String, Object> of, String key) {
        return of.get(key) != null && get(of, key, Boolean.class);
    }

    static long number(Map<String, Object> of, String key) {
        return get(of, key, Number.class).longValue();
    }

    static Long longOr(Map<String, Object> of, String key, Long otherwise) {
        return of.get(key) == null ? otherwise : Long.valueOf(number(of, key));
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Map<String, Object> of, String key) {
        return get(of, key, Map.class);
    }

    /** The list at this key; empty if the key is missing. */
    @SuppressWarnings("unchecked")
    static <T> List<T> list(Map<String, Object> of, String key) {
        return of.get(key) == null ? Collections.emptyList() : get(of, key, List.class);
    }

    static Map<String, String> strings(Map<String, Object> of, String key) {
        Map<String, String> result = new LinkedHashMap<>();
        if (of.get(key) != null) {
            object(of, key).forEach((name, value) -> result.put(name, String.valueOf(value)));
        }
        return result;
    }

    static Settings settings(Map<String, Object> of, String key) {
        Settings.Builder builder = Settings.builder();
        strings(of, key).forEach(builder::put);
        return builder.build();
    }
}
