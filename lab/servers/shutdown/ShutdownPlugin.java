import java.util.Collection;
import java.util.List;
import org.elasticsearch.action.ActionListener;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.ClusterStateUpdateTask;
import org.elasticsearch.cluster.metadata.Metadata;
import org.elasticsearch.cluster.metadata.NodesShutdownMetadata;
import org.elasticsearch.cluster.metadata.SingleNodeShutdownMetadata;
import org.elasticsearch.cluster.metadata.SingleNodeShutdownMetadata.Type;
import org.elasticsearch.common.Priority;
import org.elasticsearch.common.settings.Setting;
import org.elasticsearch.plugins.Plugin;

/**
 * The node shutdown API's effect on the cluster state, for archives that have its deciders but not the API:
 * the setting {@code lab.shutdown} is "NODE_ID remove", "NODE_ID restart", "NODE_ID replace TARGET_NAME" or
 * empty. For Elasticsearch 8.12 and later.
 */
public final class ShutdownPlugin extends Plugin {
    private static final Setting<String> SHUTDOWN =
        Setting.simpleString("lab.shutdown", "", Setting.Property.Dynamic, Setting.Property.NodeScope);

    @Override
    public List<Setting<?>> getSettings() {
        return List.of(SHUTDOWN);
    }

    @Override
    public Collection<?> createComponents(PluginServices services) {
        services.clusterService().getClusterSettings().addSettingsUpdateConsumer(SHUTDOWN, value -> {
            // All nodes submit it, only the master executes it.
            services.clusterService().submitUnbatchedStateUpdateTask("lab.shutdown", new ClusterStateUpdateTask() {
                @Override
                public ClusterState execute(ClusterState state) {
                    var metadata = Metadata.builder(state.metadata()).putCustom(NodesShutdownMetadata.TYPE, shutdowns(value));
                    return ClusterState.builder(state).metadata(metadata).build();
                }

                @Override
                public void clusterStateProcessed(ClusterState before, ClusterState after) {
                    services.rerouteService().reroute("lab.shutdown", Priority.URGENT, ActionListener.noop());
                }

                @Override
                public void onFailure(Exception e) {}
            });
        });
        return List.of();
    }

    private static NodesShutdownMetadata shutdowns(String value) {
        if (value.isEmpty()) {
            return NodesShutdownMetadata.EMPTY;
        }
        String[] words = value.split(" ");
        var shutdown = SingleNodeShutdownMetadata.builder()
            .setNodeId(words[0]).setType(Type.parse(words[1])).setReason("lab")
            .setStartedAtMillis(System.currentTimeMillis()).setNodeSeen(true);
        if (words.length > 2) {
            shutdown.setTargetNodeName(words[2]);
        }
        return NodesShutdownMetadata.EMPTY.putSingleNodeMetadata(shutdown.build());
    }
}
