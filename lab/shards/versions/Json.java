import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** As much of JSON as the test writes: the parsers of the servers have moved from package to package. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> parse(String text) {
        return (Map<String, Object>) new Json(text).value();
    }

    private Object value() {
        char first = next();
        switch (first) {
            case '{':
                Map<String, Object> map = new LinkedHashMap<>();
                for (char c = next(); c != '}'; c = next()) {
                    if (c == '"') {
                        String key = string();
                        next();
                        map.put(key, value());
                    }
                }
                return map;
            case '[':
                List<Object> list = new ArrayList<>();
                for (char c = next(); c != ']'; c = next()) {
                    if (c != ',') {
                        at--;
                    }
                    list.add(value());
                }
                return list;
            case '"':
                return string();
            default:
                int start = at - 1;
                while (at < text.length() && ",]} ".indexOf(text.charAt(at)) < 0) {
                    at++;
                }
                String word = text.substring(start, at);
                switch (word) {
                    case "null":
                        return null;
                    case "true":
                    case "false":
                        return Boolean.valueOf(word);
                    default:
                        return word.contains(".") || word.contains("e") ? (Object) Double.valueOf(word) : Long.valueOf(word);
                }
        }
    }

    private char next() {
        while (text.charAt(at) == ' ') {
            at++;
        }
        return text.charAt(at++);
    }

    private String string() {
        StringBuilder built = new StringBuilder();
        for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
            if (c == '\\') {
                throw new IllegalArgumentException("the test writes no escapes: " + text);
            }
            built.append(c);
        }
        return built.toString();
    }

    static void write(Object value, StringBuilder to) {
        if (value instanceof Map) {
            to.append('{');
            ((Map<?, ?>) value).forEach((key, of) -> {
                to.append(to.charAt(to.length() - 1) == '{' ? "" : ",");
                write(key, to);
                to.append(':');
                write(of, to);
            });
            to.append('}');
        } else if (value instanceof List) {
            to.append('[');
            for (Object of : (List<?>) value) {
                to.append(to.charAt(to.length() - 1) == '[' ? "" : ",");
                write(of, to);
            }
            to.append(']');
        } else if (value instanceof String) {
            to.append('"').append(((String) value).replace("\\", "\\\\").replace("\"", "\\\"").replace('\n', ' ')).append('"');
        } else {
            to.append(value);
        }
    }
}
