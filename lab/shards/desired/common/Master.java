import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.elasticsearch.action.ActionListener;
import org.elasticsearch.cluster.ClusterInfo;
import org.elasticsearch.cluster.ClusterModule;
import org.elasticsearch.cluster.ClusterName;
import org.elasticsearch.cluster.ClusterState;
import org.elasticsearch.cluster.metadata.DataStream;
import org.elasticsearch.cluster.metadata.IndexMetadata;
import org.elasticsearch.cluster.metadata.Metadata;
import org.elasticsearch.cluster.metadata.NodesShutdownMetadata;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.cluster.routing.RoutingNode;
import org.elasticsearch.cluster.routing.RoutingTable;
import org.elasticsearch.cluster.routing.ShardRouting;
import org.elasticsearch.cluster.routing.allocation.AllocationService;
import org.elasticsearch.cluster.routing.allocation.FailedShard;
import org.elasticsearch.cluster.routing.allocation.RoutingAllocation;
import org.elasticsearch.cluster.routing.allocation.ShardAllocationDecision;
import org.elasticsearch.cluster.routing.allocation.allocator.Balance;
import org.elasticsearch.cluster.routing.allocation.allocator.DesiredBalance;
import org.elasticsearch.cluster.routing.allocation.allocator.ShardsAllocator;
import org.elasticsearch.cluster.routing.allocation.decider.AllocationDecider;
import org.elasticsearch.cluster.routing.allocation.decider.AllocationDeciders;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.index.Index;
import org.elasticsearch.snapshots.SnapshotShardSizeInfo;

/** A cluster state, its desired balance, and the services that change them. */
final class Master {
    private static final long ENOUGH = 20_000;
    private static final DesiredBalance NONE = new DesiredBalance(-1, Map.of());

    /** Allocation ids by number, as given and as found in responses. */
    final Map<Long, String> ids = new HashMap<>();
    ClusterState state;
    DesiredBalance desired = NONE;
    int iterations;

    private final Gateway gateway = new Gateway();
    private final Map<String, List<Index>> streams = new LinkedHashMap<>();
    private final Map<String, Index> indices = new HashMap<>();
    private ClusterInfo info = ClusterInfo.EMPTY;
    private AllocationService service;
    private Balance balance;
    private boolean balances;

    Master(Map<String, Object> spec) throws Exception {
        DiscoveryNodes.Builder nodes = DiscoveryNodes.builder();
        for (Map<String, Object> node : Json.<Map<String, Object>>list(spec, "nodes")) {
            nodes.add(Given.node(node));
        }
        state = ClusterState.builder(new ClusterName("given")).nodes(nodes).build();
        create(Json.list(spec, "indices"));
        configure(Json.settings(spec, "settings"));
        shutdowns(Json.list(spec, "shutdowns"));
        attachments(spec);
    }

    private void create(List<Map<String, Object>> specs) {
        Metadata.Builder metadata = Metadata.builder(state.metadata());
        RoutingTable.Builder table = new RoutingTable.Builder(Roles.ALL, state.routingTable());
        for (Map<String, Object> spec : specs) {
            IndexMetadata index = Given.index(spec, ids);
            indices.put(index.getIndex().getName(), index.getIndex());
            metadata.put(index, false);
            table.add(Given.table(spec, index, ids));
            if (spec.get("stream") != null) {
                streams.computeIfAbsent(Json.string(spec, "stream"), name -> new ArrayList<>()).add(index.getIndex());
            }
        }
        streams.forEach((name, of) -> metadata.put(DataStream.builder(name, of).setGeneration(of.size()).build()));
        state = ClusterState.builder(state).metadata(metadata).routingTable(table.build()).build();
    }

    /** Applies settings as on a newly elected master: all at once, over the defaults. The orders of the reconciler stay. */
    private void configure(Settings settings) {
        ClusterSettings clusterSettings =
            new ClusterSettings(settings, ClusterSettings.BUILT_IN_CLUSTER_SETTINGS);
        clusterSettings.validate(settings, true);
        List<AllocationDecider> deciders = new ArrayList<>(
            ClusterModule.createAllocationDeciders(settings, clusterSettings, List.of()));
        balance = new Balance(clusterSettings, balance);
        service = new AllocationService(new AllocationDeciders(deciders), new ShardsAllocator() {
            @Override
            public void allocate(RoutingAllocation allocation) {
                if (balances) {
                    round(allocation);
                }
            }

            @Override
            public ShardAllocationDecision decideShardAllocation(ShardRouting copy, RoutingAllocation allocation) {
                return ShardAllocationDecision.NOT_TAKEN;
            }
        }, () -> info, () -> SnapshotShardSizeInfo.EMPTY, Roles.ALL) {
            @Override
            protected long currentNanoTime() {
                return 0;
            }
        };
        service.setExistingShardsAllocators(Map.of("gateway_allocator", gateway));
        state = ClusterState.builder(state)
            .metadata(Metadata.builder(state.metadata()).persistentSettings(settings)).build();
    }

    /** Computes from the state before the round, as the server does beside its queue; then makes steps to the result. */
    private void round(RoutingAllocation allocation) {
        desired = balance.compute(desired, allocation);
        iterations = balance.iterations;
        balance.reconcile(desired, allocation);
    }

    private void shutdowns(List<Map<String, Object>> specs) {
        state = ClusterState.builder(state).metadata(Metadata.builder(state.metadata())
            .putCustom(NodesShutdownMetadata.TYPE, Given.shutdowns(specs))).build();
    }

    private void attachments(Map<String, Object> of) {
        if (of.get("info") != null) {
            info = Given.info(Json.object(of, "info"), indices);
        }
        gateway.claimed.clear();
        gateway.claimed.addAll(Json.<String>list(of, "claimed"));
    }

    /**
     * Applies a step. A step may have attached "info" for itself and later steps, and "claimed", the unassigned copies
     * that the gateway allocator keeps to itself in this step.
     *
     * <ul>
     * <li>"round": computes the desired balance, with "enough" iterations at most, and makes steps towards it
     * <li>"start", with "copies": [[index, shard, node], ...] or "all": started shards
     * <li>"fail", with "copies": [[index, shard, node], ...]: failed shards
     * <li>"node-left", with "nodes": ids; "node-joined", with "nodes": nodes
     * <li>"create", with "indices"; "replicas", with "index" and "number"
     * <li>"settings", with "settings": all the cluster's; "index-settings", with "index" and "settings": all the index's
     * <li>"shutdowns", with "shutdowns": all of them
     * <li>"reset": forgets the desired balance
     * </ul>
     */
    void step(Map<String, Object> step) throws Exception {
        attachments(step);
        String name = Json.string(step, "step");
        switch (name) {
            case "round" -> {
                balance.enough = (int) (long) Json.longOr(step, "enough", ENOUGH);
                balances = true;
                try {
                    state = service.reroute(state, "asked", ActionListener.noop());
                } finally {
                    balances = false;
                }
            }
            case "start" -> start(step);
            case "fail" -> {
                List<FailedShard> failed = new ArrayList<>();
                for (List<Object> copy : Json.<List<Object>>list(step, "copies")) {
                    failed.add(new FailedShard(find(copy), "given", null, false));
                }
                state = service.applyFailedShards(state, failed, List.of());
            }
            case "node-left" -> {
                DiscoveryNodes.Builder nodes = DiscoveryNodes.builder(state.nodes());
                Json.<String>list(step, "nodes").forEach(nodes::remove);
                state = ClusterState.builder(state).nodes(nodes).build();
                state = service.disassociateDeadNodes(state, false, "nodes left");
            }
            case "node-joined" -> {
                DiscoveryNodes.Builder nodes = DiscoveryNodes.builder(state.nodes());
                for (Map<String, Object> node : Json.<Map<String, Object>>list(step, "nodes")) {
                    nodes.add(Given.node(node));
                }
                state = ClusterState.builder(state).nodes(nodes).build();
            }
            case "create" -> create(Json.list(step, "indices"));
            case "replicas" -> {
                String index = Json.string(step, "index");
                int number = (int) Json.number(step, "number");
                RoutingTable.Builder table = new RoutingTable.Builder(Roles.ALL, state.routingTable());
                table.updateNumberOfReplicas(number, new String[] { index });
                state = ClusterState.builder(state).routingTable(table.build())
                    .metadata(Metadata.builder(state.metadata()).updateNumberOfReplicas(number, new String[] { index }))
                    .build();
            }
            case "settings" -> configure(Json.settings(step, "settings"));
            case "index-settings" -> {
                IndexMetadata index = Release.index(state, indices.get(Json.string(step, "index")));
                Settings.Builder settings = Settings.builder().put(index.getSettings());
                Json.strings(step, "settings").forEach(settings::put);
                IndexMetadata.Builder changed = IndexMetadata.builder(index).settings(settings)
                    .settingsVersion(index.getSettingsVersion() + 1);
                state = ClusterState.builder(state)
                    .metadata(Metadata.builder(state.metadata()).put(changed)).build();
            }
            case "shutdowns" -> shutdowns(Json.list(step, "shutdowns"));
            case "reset" -> desired = NONE;
            default -> throw new IllegalArgumentException("there is no step " + name);
        }
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
            copies.add(find(copy));
        }
        state = service.applyStartedShards(state, copies);
    }

    private ShardRouting find(List<Object> of) {
        RoutingNode node = state.getRoutingNodes().node((String) of.get(2));
        if (node != null) {
            for (ShardRouting copy : node) {
                if (copy.id() == ((Number) of.get(1)).intValue() && copy.getIndexName().equals(of.get(0))) {
                    return copy;
                }
            }
        }
        throw new IllegalArgumentException("there is no copy " + of);
    }
}
