import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

/** Calls the server's classes by name, so that one program serves every version of both products. */
final class Reflection {
    private static final String ROOT = System.getProperty("root");
    private static final Map<String, Method> KNOWN = new HashMap<>();

    private Reflection() {
    }

    /** The first of these classes that the server has; names differ between versions. */
    static Class<?> type(String... names) {
        for (String name : names) {
            try {
                return Class.forName(ROOT + "." + name, false, Reflection.class.getClassLoader());
            } catch (ClassNotFoundException e) {
                // The next spelling may be this version's.
            }
        }
        throw new NoSuchElementException("no class " + Arrays.toString(names));
    }

    static boolean exists(String name) {
        try {
            return type(name) != null;
        } catch (NoSuchElementException e) {
            return false;
        }
    }

    static boolean has(Class<?> type, String method) {
        return Arrays.stream(type.getMethods()).anyMatch(known -> known.getName().equals(method));
    }

    private static boolean fits(Executable code, Object[] given) {
        Class<?>[] types = code.getParameterTypes();
        if (types.length != given.length) {
            return false;
        }
        for (int i = 0; i < types.length; i++) {
            Class<?> type = types[i] == int.class ? Integer.class : types[i] == long.class ? Long.class
                : types[i] == boolean.class ? Boolean.class : types[i];
            if (given[i] == null ? types[i].isPrimitive() : type.isInstance(given[i]) == false) {
                return false;
            }
        }
        return true;
    }

    private static Object invoke(Class<?> type, Object self, String name, Object... given) {
        String key = type.getName() + "#" + name + "#" + given.length;
        Method method = KNOWN.get(key);
        for (Class<?> at = type; at != null && (method == null || fits(method, given) == false); at = at.getSuperclass()) {
            method = Arrays.stream(at.getDeclaredMethods())
                .filter(known -> known.getName().equals(name) && known.isBridge() == false && fits(known, given))
                .findFirst().orElse(null);
        }
        if (method == null) {
            throw new NoSuchElementException(type + "." + name + Arrays.toString(given));
        }
        try {
            method.setAccessible(true);
            KNOWN.put(key, method);
            return method.invoke(self, given);
        } catch (InvocationTargetException e) {
            throw thrown(e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static RuntimeException thrown(InvocationTargetException e) {
        if (e.getCause() instanceof Error) {
            throw (Error) e.getCause();
        }
        return e.getCause() instanceof RuntimeException ? (RuntimeException) e.getCause() : new IllegalStateException(e.getCause());
    }

    static Object call(Object self, String name, Object... given) {
        return invoke(self.getClass(), self, name, given);
    }

    static Object callStatic(Class<?> type, String name, Object... given) {
        return invoke(type, null, name, given);
    }

    static Object make(Class<?> type, Object... given) {
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            if (fits(constructor, given)) {
                try {
                    constructor.setAccessible(true);
                    return constructor.newInstance(given);
                } catch (InvocationTargetException e) {
                    throw thrown(e);
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        throw new NoSuchElementException("constructor of " + type + Arrays.toString(given));
    }

    /** The first of these attempts that this version has the methods for. */
    @SafeVarargs
    static Object first(java.util.function.Supplier<Object>... attempts) {
        NoSuchElementException last = null;
        for (java.util.function.Supplier<Object> attempt : attempts) {
            try {
                return attempt.get();
            } catch (NoSuchElementException e) {
                last = e;
            }
        }
        throw last;
    }

    static Object constant(Class<?> type, String name) {
        try {
            var field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(null);
        } catch (NoSuchFieldException e) {
            throw new NoSuchElementException(type + "." + name);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** An implementation of an interface. */
    static Object implement(Class<?> type, java.util.function.BiFunction<Method, Object[], Object> answer) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, (proxy, method, given) -> {
            switch (method.getName()) {
                case "toString":
                    return type.getName();
                case "hashCode":
                    return System.identityHashCode(proxy);
                case "equals":
                    return proxy == given[0];
                default:
                    return answer.apply(method, given == null ? new Object[0] : given);
            }
        });
    }

    @SuppressWarnings("unchecked")
    static Iterable<Object> each(Object of) {
        return of instanceof Map ? ((Map<Object, Object>) of).values()
            : of instanceof Iterable ? (Iterable<Object>) of : List.of((Object[]) of);
    }
}
