package trimtab.livefix;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Collections;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Changes the bodies of a constructor and of two methods of {@code RoutingNode}: its map of shards becomes a
 * {@link ShardMap}, which is asked before the scan. No member is added, so that a class that is loaded can be changed
 * as well.
 */
final class Patch implements ClassFileTransformer {
    static final String CLASS = "org/elasticsearch/cluster/routing/RoutingNode";

    /** OpenSearch was forked from 7.10, and needs no fix. */
    private static final String OPENSEARCH_CLASS = "org/opensearch/cluster/routing/RoutingNode";

    private static final String MAP = "java/util/LinkedHashMap";
    private static final String OURS = "trimtab/livefix/ShardMap";

    static boolean isPatched(String name) {
        return CLASS.equals(name) || OPENSEARCH_CLASS.equals(name);
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (!isPatched(name)) {
            return null;
        }
        try {
            byte[] patched = patched(bytes);
            Log.say("active: shards of a node are listed without a scan");
            return patched;
        } catch (Shape.NotNeeded reason) {
            Log.say("not needed, the server runs unchanged: " + reason.getMessage());
        } catch (Shape.Unknown reason) {
            Log.warn("not active, the server runs unchanged: " + reason.getMessage());
        } catch (Throwable thrown) {
            Log.warn("not active, the server runs unchanged: " + thrown);
        }
        return null;
    }

    /** Returns the patched class. */
    static byte[] patched(byte[] bytes) throws Shape.NotNeeded, Shape.Unknown {
        ClassNode node = new ClassNode();
        new ClassReader(bytes).accept(node, 0);
        Shape shape = Shape.of(node);
        for (MethodNode constructor : shape.constructors) {
            replaceMap(constructor);
        }
        ask(shape.list, "list", "Ljava/util/List;", Opcodes.IFNULL, Opcodes.ARETURN, "java/util/List");
        ask(shape.count, "count", "I", Opcodes.IFLT, Opcodes.IRETURN, Opcodes.INTEGER);
        // Frames are given below, and sizes of stacks computed.
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        node.accept(writer);
        return writer.toByteArray();
    }

    /** Puts a {@link ShardMap} into the field instead of the map. */
    private static void replaceMap(MethodNode constructor) {
        for (AbstractInsnNode at : constructor.instructions.toArray()) {
            if (at.getOpcode() == Opcodes.PUTFIELD && ((FieldInsnNode) at).name.equals(Shape.FIELD)) {
                String descriptor = "(L" + MAP + ";)L" + MAP + ";";
                constructor.instructions.insertBefore(
                        at, new MethodInsnNode(Opcodes.INVOKESTATIC, OURS, "of", descriptor, false));
            }
        }
    }

    /** Lets the method return what the map answers, unless it answers null or -1. */
    private static void ask(
            MethodNode method, String name, String type, int jumpIfNone, int returns, Object stackType) {
        LabelNode scan = new LabelNode();
        InsnList ask = new InsnList();
        ask.add(new VarInsnNode(Opcodes.ALOAD, 0));
        ask.add(new FieldInsnNode(Opcodes.GETFIELD, CLASS, Shape.FIELD, "L" + MAP + ";"));
        ask.add(new VarInsnNode(Opcodes.ALOAD, 1));
        ask.add(new MethodInsnNode(
                Opcodes.INVOKESTATIC, OURS, name, "(L" + MAP + ";[Ljava/lang/Object;)" + type, false));
        ask.add(new InsnNode(Opcodes.DUP));
        ask.add(new JumpInsnNode(jumpIfNone, scan));
        ask.add(new InsnNode(returns));
        ask.add(scan);
        // The locals are the arguments still; what follows are differences to them.
        ask.add(new FrameNode(Opcodes.F_SAME1, 0, null, 1, Collections.singletonList(stackType).toArray()));
        ask.add(new InsnNode(Opcodes.POP));
        method.instructions.insert(ask);
    }
}
