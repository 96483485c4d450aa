import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.Version;
import org.elasticsearch.cluster.ClusterInfo;
import org.elasticsearch.cluster.ClusterModule;
import org.elasticsearch.cluster.ClusterName;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.metadata.IndexMetaData;
import org.elasticsearch.cluster.metadata.MetaData;
import org.elasticsearch.cluster.metadata.MetaDataIndexStateService;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.cluster.routing.RoutingNode;
import org.elasticsearch.cluster.routing.RoutingTable;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.allocation.AllocationService;
import org.elasticsearch.cluster.routing.allocation.FailedShard;
import org.elasticsearch.cluster.routing.allocation.allocator.BalancedShardsAllocator;
import org.elasticsearch.cluster.routing.allocation.command.AllocationCommands;
import org.elasticsearch.cluster.routing.allocation.decider.AllocationDecider;
import org.elasticsearch.cluster.routing.allocation.decider.AllocationDeciders;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.Settings;

/**
 * A cluster state and the services that change it.
 *
 * <p>{@code {"nodes": [...], "indices": [...], "settings": {}, "clock", "info", "stores", "without"}}; "without" lists
 * classes of deciders to omit, to verify that this is detected.
 */
final class Cluster {
    /** Allocation ids by number, as given and as found in responses. */
    final Map<Long, String> ids = new HashMap<>();
    ClusterState state;
    /** Order of the routing table in the last response; only sent again if it changed. */
    Object lastOrder;

    private final Stores stores = new Stores();
    private final Set<String> without;
    private AllocationService service;
    private ClusterInfo info = ClusterInfo.EMPTY;
    private long clockNanos;

    Cluster(Map<String, Object> spec) throws Exception {
        DiscoveryNodes.Builder nodes = DiscoveryNodes.builder();
        for (Map<String, Object> node : Json.<Map<String, Object>>list(spec, "nodes")) {
            nodes.add(Spec.node(node));
        }
        MetaData.Builder metaData = MetaData.builder();
        RoutingTable.Builder table = RoutingTable.builder();
        for (Map<String, Object> index : Json.<Map<String, Object>>list(spec, "indices")) {
            IndexMetaData built = inSync(index, Spec.index(index, ids));
            metaData.put(built, false);
            table.add(Spec.table(index, built, ids));
        }
        state = ClusterState.builder(new ClusterName("given")).nodes(nodes).metaData(metaData)
            .routingTable(table.build()).build();
        without = new HashSet<>(Json.<String>list(spec, "without"));
        configure(Json.settings(spec, "settings"));
        attachments(spec);
    }

    /** Active copies are in sync by definition, whether their ids were listed or not. */
    private IndexMetaData inSync(Map<String, Object> spec, IndexMetaData index) {
        IndexMetaData.Builder builder = IndexMetaData.builder(index);
        List<List<Map<String, Object>>> shards = Json.list(spec, "shards");
        for (int shard = 0; shard < shards.size(); shard++) {
            HashSet<String> set = new HashSet<>(index.inSyncAllocationIds(shard));
            for (Map<String, Object> copy : shards.get(shard)) {
                String is = Json.string(copy, "state");
                if (is.equals("STARTED") || is.equals("RELOCATING")) {
                    set.add(Spec.allocationId(ids, Json.number(copy, "id")));
                }
            }
            builder.putInSyncAllocationIds(shard, set);
        }
        return builder.build();
    }

    /**
     * Applies settings as on a newly elected master: all at once, over the defaults. (In 7.4.0 a later change of
     * some of the cluster's filters makes FilterAllocationDecider forget the unchanged ones; its decisions are then
     * not a function of the settings, so this is not tested.)
     */
    private void configure(Settings settings) {
        ClusterSettings clusterSettings =
            new ClusterSettings(Settings.EMPTY, ClusterSettings.BUILT_IN_CLUSTER_SETTINGS);
        clusterSettings.validate(settings, true);
        List<AllocationDecider> deciders = new ArrayList<>(
            ClusterModule.createAllocationDeciders(Settings.EMPTY, clusterSettings, Collections.emptyList()));
        int all = deciders.size();
        deciders.removeIf(decider -> without.contains(decider.getClass().getSimpleName()));
        if (all - deciders.size() != without.size()) {
            throw new IllegalArgumentException("not all of " + without + " are deciders");
        }
        service = new AllocationService(new AllocationDeciders(deciders), stores,
            new BalancedShardsAllocator(Settings.EMPTY, clusterSettings), () -> info) {
            @Override
            protected long currentNanoTime() {
                return clockNanos;
            }
        };
        clusterSettings.applySettings(settings);
        state = ClusterState.builder(state)
            .metaData(MetaData.builder(state.metaData()).persistentSettings(settings)).build();
    }

    private void attachments(Map<String, Object> of) {
        clockNanos = Json.longOr(of, "clock", clockNanos);
        if (of.get("info") != null) {
            info = Disks.of(Json.object(of, "info"), state);
        }
        stores.set(Json.list(of, "stores"), ids);
        stores.pending(Json.list(of, "pending"));
    }

    /**
     * Applies a step, with the effect of the 7.4.0 service named after each.
     *
     * <ul>
     * <li>"reroute", with "retry_failed": AllocationService
     * <li>"start", with "copies": [[index, shard, node], ...] or "all": started shards, without a reroute
     * <li>"fail", with "copies": [[index, shard, node, stale], ...]: failed shards, and a reroute
     * <li>"node-left", with "nodes": ids: NodeRemovalClusterStateTaskExecutor
     * <li>"node-joined", with "nodes": nodes: JoinTaskExecutor, and the reroute that follows
     * <li>"create", with "indices"; "delete", with "indices": names: MetaDataCreateIndexService and
     * MetaDataDeleteIndexService
     * <li>"close" and "open", with "indices": names: MetaDataIndexStateService
     * <li>"settings", with "settings": all the cluster's; "index-settings", with "index" and "settings", where null
     * resets a setting: MetaDataUpdateSettingsService
     * <li>"nothing": only applies the data attached to the step
     * </ul>
     */
    void step(Map<String, Object> step) throws Exception {
        attachments(step);
        String name = Json.string(step, "step");
        switch (name) {
            case "nothing":
                return;
            case "reroute":
                reroute(Json.flag(step, "retry_failed"));
                return;
            case "start":
                start(step);
                return;
            case "fail":
                fail(Json.list(step, "copies"));
                return;
            case "node-left":
                nodesLeft(Json.list(step, "nodes"));
                return;
            case "node-joined":
                nodesJoined(Json.list(step, "nodes"));
                return;
            case "create":
                create(Json.list(step, "indices"));
                break;
            case "delete":
                delete(Json.list(step, "indices"));
                break;
            case "close":
                close(Json.list(step, "indices"));
                break;
            case "open":
                open(Json.list(step, "indices"));
                break;
            case "settings":
                configure(Json.settings(step, "settings"));
                break;
            case "index-settings":
                indexSettings(Json.string(step, "index"), Json.object(step, "settings"));
                break;
            default:
                throw new IllegalArgumentException("there is no step " + name);
        }
        state = service.reroute(state, name);
    }

    private void reroute(boolean retryFailed) {
        state = retryFailed
            ? service.reroute(state, new AllocationCommands(), false, true).getClusterState()
            : service.reroute(state, "asked");
    }

    private void start(Map<String, Object> step) {
        List<ShardRouting> copies = new ArrayList<>();
        if (Json.flag(step, "all")) {
            for (RoutingNode node : state.getRoutingNodes()) {
                for (ShardRouting copy : node) {
                    if (copy.initializing()) {
                        copies.add(copy);
                    }
                }
            }
        }
        for (List<Object> copy : Json.<List<Object>>list(step, "copies")) {
            copies.add(copy(copy));
        }
        state = service.applyStartedShards(state, copies);
    }

    private ShardRouting copy(List<Object> of) {
        return Disks.find(state, (String) of.get(0), (Number) of.get(1), (String) of.get(2));
    }

    private void fail(List<List<Object>> copies) {
        List<FailedShard> failed = new ArrayList<>();
        for (List<Object> copy : copies) {
            failed.add(new FailedShard(copy(copy), "given", null, (Boolean) copy.get(3)));
        }
        state = service.applyFailedShards(state, failed);
    }

    private void nodesLeft(List<String> left) {
        DiscoveryNodes.Builder nodes = DiscoveryNodes.builder(state.nodes());
        left.forEach(nodes::remove);
        state = ClusterState.builder(state).nodes(nodes).build();
        state = service.disassociateDeadNodes(state, true, "nodes left");
    }

    private void nodesJoined(List<Map<String, Object>> joined) throws Exception {
        DiscoveryNodes.Builder nodes = DiscoveryNodes.builder(state.nodes());
        for (Map<String, Object> node : joined) {
            nodes.add(Spec.node(node));
        }
        state = ClusterState.builder(state).nodes(nodes).build();
        state = service.reroute(service.adaptAutoExpandReplicas(state), "nodes joined");
    }

    private void create(List<Map<String, Object>> indices) {
        MetaData.Builder metaData = MetaData.builder(state.metaData());
        RoutingTable.Builder table = RoutingTable.builder(state.routingTable());
        for (Map<String, Object> spec : indices) {
            IndexMetaData index = Spec.index(spec, ids);
            metaData.put(index, false);
            table.addAsNew(index);
        }
        update(metaData, table);
    }

    private void update(MetaData.Builder metaData, RoutingTable.Builder table) {
        state = ClusterState.builder(state).metaData(metaData).routingTable(table.build()).build();
    }

    // Several indices are edited one after the other; apart from the order of a hash map this is equivalent.

    private void delete(List<String> indices) {
        for (String name : indices) {
            update(MetaData.builder(state.metaData()).remove(name),
                RoutingTable.builder(state.routingTable()).remove(name));
        }
    }

    private void close(List<String> indices) {
        boolean remove = state.nodes().getMinNodeVersion().before(Version.V_7_2_0);
        for (String name : indices) {
            IndexMetaData old = state.metaData().index(name);
            MetaData.Builder metaData = MetaData.builder(state.metaData());
            RoutingTable.Builder table = RoutingTable.builder(state.routingTable());
            IndexMetaData.Builder index = IndexMetaData.builder(old).state(IndexMetaData.State.CLOSE);
            if (remove) {
                metaData.put(index);
                table.remove(name);
            } else {
                metaData.put(index.settings(Settings.builder().put(old.getSettings())
                    .put(MetaDataIndexStateService.VERIFIED_BEFORE_CLOSE_SETTING.getKey(), true)));
                table.addAsFromOpenToClose(metaData.get(name));
            }
            update(metaData, table);
        }
    }

    private void open(List<String> indices) {
        for (String name : indices) {
            IndexMetaData old = state.metaData().index(name);
            MetaData.Builder metaData = MetaData.builder(state.metaData());
            RoutingTable.Builder table = RoutingTable.builder(state.routingTable());
            Settings.Builder settings = Settings.builder().put(old.getSettings());
            settings.remove(MetaDataIndexStateService.VERIFIED_BEFORE_CLOSE_SETTING.getKey());
            metaData.put(IndexMetaData.builder(old).state(IndexMetaData.State.OPEN).settings(settings));
            table.addAsFromCloseToOpen(metaData.get(name));
            update(metaData, table);
        }
    }

    private void indexSettings(String name, Map<String, Object> changes) {
        IndexMetaData old = state.metaData().index(name);
        Settings.Builder builder = Settings.builder().put(old.getSettings());
        changes.forEach((key, value) -> {
            if (value == null) {
                builder.remove(key);
            } else {
                builder.put(key, String.valueOf(value));
            }
        });
        Settings settings = builder.build();
        Spec.validate(settings);
        MetaData.Builder metaData = MetaData.builder(state.metaData());
        int replicas = IndexMetaData.INDEX_NUMBER_OF_REPLICAS_SETTING.get(settings);
        if (replicas != old.getNumberOfReplicas()) {
            RoutingTable.Builder table = RoutingTable.builder(state.routingTable());
            table.updateNumberOfReplicas(replicas, new String[] { name });
            metaData.updateNumberOfReplicas(replicas, new String[] { name });
            metaData.put(IndexMetaData.builder(metaData.get(name)).settings(settings));
            update(metaData, table);
        } else {
            metaData.put(IndexMetaData.builder(old).settings(settings));
            state = ClusterState.builder(state).metaData(metaData).build();
        }
    }
}
