package trimtab.livefix;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * What {@code RoutingNode} must look like: its only collection is one private map of shards, which nothing but a
 * constructor assigns; the map leaves the class in copies and read-only views alone; and the two methods that scan it
 * take states alone. Whatever else the class does with the map is unknown, and the class is left alone.
 */
final class Shape {
    static final String FIELD = "shards";

    private static final String STATES = "([Lorg/elasticsearch/cluster/routing/ShardRoutingState;)";
    private static final String MAP = "java/util/LinkedHashMap";
    /** What may be called on the map: reads, and the two writes that {@link ShardMap} notices. */
    private static final Set<String> CALLS = new HashSet<>(Arrays.asList(
            "get(Ljava/lang/Object;)Ljava/lang/Object;",
            "containsKey(Ljava/lang/Object;)Z",
            "size()I",
            "isEmpty()Z",
            "values()Ljava/util/Collection;",
            "put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
            "remove(Ljava/lang/Object;)Ljava/lang/Object;"));
    /** What may be called on its values: a copy, a read-only view, and iterators, whose remove() nobody calls. */
    private static final Set<String> VALUES = new HashSet<>(Arrays.asList(
            "java/util/Collections.unmodifiableCollection",
            "java/util/ArrayList.<init>",
            "java/util/Collection.iterator"));
    private static final Set<String> FIELDS = new HashSet<>(Arrays.asList(
            "nodeId:Ljava/lang/String;",
            "node:Lorg/elasticsearch/cluster/node/DiscoveryNode;",
            FIELD + ":L" + MAP + ";"));

    /** What versions from 7.6 on have beside the map. */
    private static final String KEPT_SET = "relocatingShards";

    /** The server does without the scan. */
    static final class NotNeeded extends Exception {
        private static final long serialVersionUID = 1;

        NotNeeded(String message) {
            super(message);
        }
    }

    /** A shape that is not known. */
    static final class Unknown extends Exception {
        private static final long serialVersionUID = 1;

        Unknown(String message) {
            super(message);
        }
    }

    final List<MethodNode> constructors = new ArrayList<>();
    MethodNode list;
    MethodNode count;

    private Shape() {}

    static Shape of(ClassNode node) throws NotNeeded, Unknown {
        for (FieldNode field : node.fields) {
            if (field.name.equals(KEPT_SET)) {
                throw new NotNeeded("this version keeps the relocating shards of a node in a set (7.6 and later)");
            }
        }
        Shape shape = new Shape();
        for (FieldNode field : node.fields) {
            boolean isStatic = (field.access & Opcodes.ACC_STATIC) != 0;
            // $assertionsDisabled
            boolean isSynthetic = (field.access & Opcodes.ACC_SYNTHETIC) != 0;
            if (!(isStatic && isSynthetic) && !FIELDS.contains(field.name + ":" + field.desc)) {
                throw new Unknown("RoutingNode has a field " + field.name);
            }
            int wanted = Opcodes.ACC_PRIVATE | Opcodes.ACC_FINAL;
            if (field.name.equals(FIELD) && (field.access & wanted) != wanted) {
                throw new Unknown("RoutingNode." + FIELD + " is not private and final");
            }
        }
        for (MethodNode method : node.methods) {
            shape.look(method);
        }
        if (shape.list == null || shape.count == null || shape.constructors.isEmpty()) {
            throw new Unknown("RoutingNode lacks shardsWithState, numberOfShardsWithState, or its map");
        }
        return shape;
    }

    private void look(MethodNode method) throws Unknown {
        if (method.name.equals("shardsWithState") && method.desc.equals(STATES + "Ljava/util/List;")) {
            list = method;
        }
        if (method.name.equals("numberOfShardsWithState") && method.desc.equals(STATES + "I")) {
            count = method;
        }
        for (AbstractInsnNode at : method.instructions.toArray()) {
            if (at instanceof FieldInsnNode && ((FieldInsnNode) at).name.equals(FIELD)) {
                lookAtField(method, at);
            }
            if (at instanceof MethodInsnNode) {
                lookAtCall(method, (MethodInsnNode) at);
            }
        }
    }

    private void lookAtField(MethodNode method, AbstractInsnNode at) throws Unknown {
        if (at.getOpcode() == Opcodes.PUTFIELD) {
            if (!method.name.equals("<init>")) {
                throw new Unknown("RoutingNode." + method.name + " assigns the map");
            }
            constructors.add(method);
        } else if (at.getOpcode() != Opcodes.GETFIELD || !isCalledOn(at)) {
            throw new Unknown("RoutingNode." + method.name + " gives the map away");
        }
    }

    private void lookAtCall(MethodNode method, MethodInsnNode call) throws Unknown {
        if (call.owner.equals(MAP) && !call.name.equals("<init>") && !CALLS.contains(call.name + call.desc)) {
            throw new Unknown("RoutingNode." + method.name + " calls " + call.name + " on the map");
        }
        if (call.owner.equals("java/util/Iterator") && call.name.equals("remove")) {
            throw new Unknown("RoutingNode." + method.name + " removes while it iterates");
        }
        if (call.owner.equals(MAP) && call.name.equals("values") && !isRead(call)) {
            throw new Unknown("RoutingNode." + method.name + " gives the map's values away");
        }
    }

    /**
     * Whether the map that {@code at} loads is only what a call of it is made on. Between both the call's arguments are
     * made, in straight-line code that stores nothing.
     */
    private static boolean isCalledOn(AbstractInsnNode at) {
        // Values on the stack above the map.
        int above = 0;
        for (AbstractInsnNode next = at.getNext(); next != null; next = next.getNext()) {
            int opcode = next.getOpcode();
            if (opcode < 0) {
                // Labels and lines; a frame would mean that a jump comes here.
                if (next.getType() == AbstractInsnNode.FRAME) {
                    return false;
                }
                continue;
            }
            if (next instanceof MethodInsnNode) {
                MethodInsnNode call = (MethodInsnNode) next;
                int arguments = org.objectweb.asm.Type.getArgumentTypes(call.desc).length;
                boolean isOurs = call.owner.equals(MAP) && above == arguments;
                if (isOurs) {
                    return opcode == Opcodes.INVOKEVIRTUAL;
                }
                int taken = arguments + (opcode == Opcodes.INVOKESTATIC ? 0 : 1);
                if (taken > above) {
                    return false;
                }
                above -= taken;
                above += org.objectweb.asm.Type.getReturnType(call.desc).getSize() == 0 ? 0 : 1;
            } else if (opcode == Opcodes.ALOAD) {
                above++;
            } else if (opcode == Opcodes.GETFIELD && above > 0) {
                continue;
            } else {
                return false;
            }
        }
        return false;
    }

    /** Whether the values are copied, wrapped, or iterated over here: an iterator that leaves could remove. */
    private static boolean isRead(MethodInsnNode values) {
        AbstractInsnNode next = values.getNext();
        while (next != null && next.getOpcode() < 0 && next.getType() != AbstractInsnNode.FRAME) {
            next = next.getNext();
        }
        if (!(next instanceof MethodInsnNode)) {
            return false;
        }
        MethodInsnNode call = (MethodInsnNode) next;
        if (call.name.equals("iterator")) {
            AbstractInsnNode kept = call.getNext();
            return kept != null && kept.getOpcode() == Opcodes.ASTORE && VALUES.contains(call.owner + "." + call.name);
        }
        return VALUES.contains(call.owner + "." + call.name);
    }
}
