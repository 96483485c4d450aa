import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.ShardRoutingRoleStrategy;

/** Every copy can do everything, as everywhere but in serverless clusters. */
final class Roles implements ShardRoutingRoleStrategy {
    static final Roles ALL = new Roles();

    @Override
    public ShardRouting.Role newReplicaRole() {
        return ShardRouting.Role.DEFAULT;
    }

    @Override
    public ShardRouting.Role newEmptyRole(int copyIndex) {
        return ShardRouting.Role.DEFAULT;
    }
}
