/** Loads a class as the server would, so that an agent sees it. Argument: its name. */
final class Load {
    private Load() {}

    public static void main(String[] arguments) throws Exception {
        Class<?> loaded = Class.forName(arguments[0], true, Load.class.getClassLoader());
        System.out.println(loaded.getDeclaredMethods().length > 0 ? "loaded" : "empty");
    }
}
