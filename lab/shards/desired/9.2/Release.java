import java.util.Map;
import java.util.Set;
import org.elasticsearch.cluster.ClusterInfo;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.DiskUsage;
import org.elasticsearch.cluster.metadata.IndexMetadata;
import org.elasticsearch.cluster.node.DiscoveryNode;
import org.elasticsearch.cluster.node.DiscoveryNodeRole;
import org.elasticsearch.cluster.node.VersionInformation;
import org.elasticsearch.cluster.routing.IndexRoutingTable;
import org.elasticsearch.common.transport.TransportAddress;
import org.elasticsearch.index.Index;
import org.elasticsearch.index.IndexVersion;

/** What 9.2 calls otherwise than 8.19. */
final class Release {
    private Release() {
    }

    static String created() {
        return Integer.toString(IndexVersion.current().id());
    }

    static DiscoveryNode node(String name, String id, String host, String address, TransportAddress transport,
                              Map<String, String> attributes, Set<DiscoveryNodeRole> roles) {
        return new DiscoveryNode(name, id, "ephemeral-" + id, host, address, transport, attributes, roles,
            VersionInformation.CURRENT);
    }

    static ClusterInfo info(Map<String, DiskUsage> least, Map<String, DiskUsage> most, Map<String, Long> sizes,
                            Map<ClusterInfo.NodeAndShard, String> paths) {
        return new ClusterInfo(least, most, sizes, Map.of(), paths, Map.of(), Map.of(), Map.of(), Map.of(), Map.of());
    }

    static IndexMetadata index(ClusterState state, Index index) {
        return state.metadata().getDefaultProject().index(index);
    }

    static Iterable<IndexRoutingTable> tables(ClusterState state) {
        return state.routingTable().indicesRouting().values();
    }
}
