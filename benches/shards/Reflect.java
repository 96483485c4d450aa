import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.NoSuchElementException;

/** Calls by name, so that one program works with every server version, as names and packages vary. */
final class Reflect {
    static final String ROOT = System.getProperty("root", "org.elasticsearch");
    private static final Map<String, Method> METHODS = new HashMap<>();

    private Reflect() {}

    /** The first of the classes, named relative to the server's root package, that exists in this version. */
    static Class<?> type(String... names) {
        for (String name : names) {
            try {
                return Class.forName(ROOT + "." + name);
            } catch (ClassNotFoundException e) {
                // try the next spelling
            }
        }
        throw new NoSuchElementException("none of the classes " + Arrays.toString(names));
    }

    static boolean hasType(String name) {
        try {
            Class.forName(ROOT + "." + name);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    static boolean has(Object self, String name) {
        return Arrays.stream(self.getClass().getMethods()).anyMatch(method -> method.getName().equals(name));
    }

    static Object call(Object self, String name, Object... arguments) {
        return invoke(self.getClass(), self, name, arguments);
    }

    static Object callStatic(Class<?> type, String name, Object... arguments) {
        return invoke(type, null, name, arguments);
    }

    private static Object invoke(Class<?> type, Object self, String name, Object... arguments) {
        try {
            String key = type.getName() + "#" + name + "#" + arguments.length;
            Method known = METHODS.get(key);
            if (known != null && fits(known.getParameterTypes(), arguments)) {
                return known.invoke(self, arguments);
            }
            for (Class<?> at = type; at != null; at = at.getSuperclass()) {
                for (Method method : at.getDeclaredMethods()) {
                    if (method.getName().equals(name) && !method.isBridge() && fits(method.getParameterTypes(), arguments)) {
                        method.setAccessible(true);
                        METHODS.put(key, method);
                        return method.invoke(self, arguments);
                    }
                }
            }
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(type.getName() + "." + name, e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        throw new NoSuchElementException(type.getName() + "." + name + Arrays.toString(arguments));
    }

    static Object make(Class<?> type, Object... arguments) {
        try {
            for (Constructor<?> constructor : type.getDeclaredConstructors()) {
                if (fits(constructor.getParameterTypes(), arguments)) {
                    constructor.setAccessible(true);
                    return constructor.newInstance(arguments);
                }
            }
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(type.getName(), e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        throw new NoSuchElementException("a constructor of " + type.getName() + Arrays.toString(arguments));
    }

    static Object constant(Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new NoSuchElementException(type.getName() + "." + name);
        }
    }

    @SuppressWarnings("unchecked")
    static <T> T get(Class<?> type, Object self, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return (T) field.get(self);
        } catch (ReflectiveOperationException e) {
            throw new NoSuchElementException(type.getName() + "." + name);
        }
    }

    static boolean hasField(Class<?> type, String name) {
        return Arrays.stream(type.getDeclaredFields()).anyMatch(field -> field.getName().equals(name));
    }

    static void set(Class<?> type, Object self, String name, Object value) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            field.set(self, value);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean fits(Class<?>[] types, Object[] arguments) {
        if (types.length != arguments.length) {
            return false;
        }
        for (int i = 0; i < types.length; i++) {
            if (arguments[i] == null ? types[i].isPrimitive() : !boxed(types[i]).isInstance(arguments[i])) {
                return false;
            }
        }
        return true;
    }

    private static Class<?> boxed(Class<?> type) {
        if (type == int.class) {
            return Integer.class;
        }
        if (type == long.class) {
            return Long.class;
        }
        return type == boolean.class ? Boolean.class : type;
    }
}
