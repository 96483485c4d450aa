import java.lang.reflect.Field;
import sun.misc.Unsafe;

/**
 * The order in which the JDK's immutable maps and sets are iterated over. Each process draws it anew, and ties between
 * nodes follow from it: with a given one, a server repeats what it decided.
 */
final class Salt {
    private Salt() {
    }

    static void set(long number) throws ReflectiveOperationException {
        Field of = Unsafe.class.getDeclaredField("theUnsafe");
        of.setAccessible(true);
        Unsafe unsafe = (Unsafe) of.get(null);
        Class<?> collections = Class.forName("java.util.ImmutableCollections");
        Field start = collections.getDeclaredField("SALT32L");
        Field reverse = collections.getDeclaredField("REVERSE");
        // The high half of a product with the golden ratio: small numbers are spread over all starts.
        long salt = number * 0x9E37_79B9_7F4A_7C15L >>> 32;
        unsafe.putLong(unsafe.staticFieldBase(start), unsafe.staticFieldOffset(start), salt);
        unsafe.putBoolean(unsafe.staticFieldBase(reverse), unsafe.staticFieldOffset(reverse), (salt & 1) == 0);
    }
}
