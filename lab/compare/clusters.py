"""Random cluster states in the format of 7.4's `_cluster/state`, similar to those of
crates/shards/tests/it/generate.rs: nodes with attributes and disks, indices with filters, copies in every
state, rarely used settings."""

import json
import random
from pathlib import Path


def make(directory, seed):
    """Writes one cluster into `directory`; returns the argument lists of the three commands."""
    rng = random.Random(f"cluster {seed}")
    directory = Path(directory)
    directory.mkdir(parents=True)
    nodes = [_node(rng, number) for number in range(_count(rng))]
    indices = [_index(rng, number, nodes) for number in range(rng.choice([1, 3, 8, 20, 60]))]
    settings = _settings(rng, nodes)
    files = {
        "state": _state(nodes, indices, settings),
        "nodes": _nodes_stats(rng, nodes, indices),
        "sizes": _sizes(indices),
        "settings": {"persistent": settings, "transient": {}},
    }
    given = []
    for name, content in files.items():
        path = directory / f"{name}.json"
        path.write_text(json.dumps(content))
        # Any file except the state may be missing.
        if name == "state" or rng.random() < 0.8:
            given += [f"--{name}", str(path)]
    if rng.random() < 0.8:
        given += ["--version", rng.choice(["7.4.0", "7.4.0", "6.8.23", "7.17.28"])]
    copies = sum(len(shard) for index in indices for shard in index["shards"])
    return {
        "reroute": ["shards", "reroute", *given, "--limit", str(rng.choice([5, 20, 1000]))]
        + (["--all-deciders"] if rng.random() < 0.3 else []),
        "what-if": ["shards", "what-if", *given, "--rounds", "300", *_change(rng, nodes, indices)],
        "cost": _cost(rng, copies, nodes, indices),
    }


def _count(rng):
    return rng.choice([1, 2, 2, 3, 3, 4, 6, 10, 20])


def _node(rng, number):
    attributes = {}
    if rng.random() < 0.9:
        attributes["rack"] = f"r{rng.randrange(3)}"
    if rng.random() < 0.85:
        attributes["zone"] = rng.choice(["east", "west", "north"])
    if rng.random() < 0.4:
        attributes["box_type"] = rng.choice(["hot", "warm", "cold"])
    host = number // 2 if rng.random() < 0.15 else number
    total = rng.choice([100, 100, 200, 1000]) * 10**9
    return {
        "id": f"id{rng.randrange(10**6):06}-{number}",
        "name": f"{rng.choice(['data', 'es', 'Hot'])}-{number}",
        "address": f"10.0.{host // 8}.{host % 8 + 1}:{9300 + number}",
        "host": f"host{host}.example",
        "attributes": attributes,
        "data": number == 0 or rng.random() > 0.06,
        "version": rng.choice(["7.4.0", "7.4.0", "7.4.0", "7.3.2"]),
        "total": total,
        "available": int(total * rng.choice([0.6, 0.5, 0.3, 0.14, 0.08, 0.02])),
    }


def _index(rng, number, nodes):
    data = [node for node in nodes if node["data"]]
    name = rng.choice([f"i{number}", f"logs-2019.{number % 12 + 1:02}-{number}", f".monitoring-{number:06}"])
    primaries = rng.choice([1, 1, 2, 5, 10])
    replicas = rng.choice([0, 1, 1, 1, 2, 3])
    closed = rng.random() < 0.15
    settings = {
        "number_of_shards": str(primaries),
        "number_of_replicas": str(replicas),
        "creation_date": str(1_570_000_000_000 + rng.randrange(20) * 86_400_000),
        "uuid": f"uuid-{number}",
        "version": {"created": "7040099"},
    }
    allocation = {}
    if rng.random() < 0.1:
        allocation[rng.choice(["include", "exclude", "require"])] = _filter(rng, nodes)
    if rng.random() < 0.08:
        allocation["total_shards_per_node"] = str(rng.randint(1, 4))
    if rng.random() < 0.05:
        allocation["enable"] = rng.choice(["none", "new_primaries", "primaries", "all"])
    if allocation:
        settings["routing"] = {"allocation": allocation}
    if rng.random() < 0.2:
        settings["priority"] = rng.choice(["0", "1", "5", "100"])
    shards = [
        _shard(rng, name, shard, replicas, data, created=rng.random() < 0.08) for shard in range(primaries)
    ]
    return {"name": name, "closed": closed, "settings": settings, "shards": shards}


def _shard(rng, name, shard, replicas, data, created):
    """The copies of a shard, the primary first."""
    free = rng.sample(data, len(data))
    copies = []
    primary_lives = not created and rng.random() > 0.04
    for copy in range(replicas + 1):
        primary = copy == 0
        entry = {
            "primary": primary,
            "relocating_node": None,
            "shard": shard,
            "index": name,
            "bytes": rng.choice([0, 10**6, 10**9, 8 * 10**9]),
        }
        identity = {"id": f"{name}-{shard}-{copy}"}
        luck = rng.random()
        if free and primary_lives and (primary or luck > 0.12):
            node = free.pop()
            entry |= {"state": "STARTED", "node": node["id"], "allocation_id": identity}
            if free and luck > 0.95:
                target = free.pop()
                identity["relocation_id"] = f"{name}-{shard}-{copy}-moved"
                entry |= {"state": "RELOCATING", "relocating_node": target["id"]}
            elif not primary and luck > 0.9:
                entry |= {
                    "state": "INITIALIZING",
                    "recovery_source": {"type": "PEER"},
                    "unassigned_info": _unassigned(rng, "REPLICA_ADDED"),
                }
        else:
            reason, source = "REPLICA_ADDED", "PEER"
            if primary:
                reason, source = ("INDEX_CREATED", "EMPTY_STORE") if created else ("NODE_LEFT", "EXISTING_STORE")
            elif rng.random() < 0.4:
                reason = rng.choice(["NODE_LEFT", "ALLOCATION_FAILED", "INDEX_CREATED"])
            entry |= {
                "state": "UNASSIGNED",
                "node": None,
                "recovery_source": {"type": source},
                "unassigned_info": _unassigned(rng, reason),
            }
        copies.append(entry)
    return copies


def _unassigned(rng, reason):
    info = {
        "reason": reason,
        "at": "2019-10-01T12:34:56.789Z",
        "delayed": False,
        "allocation_status": rng.choice(["no_attempt", "deciders_no"]),
    }
    if reason == "ALLOCATION_FAILED":
        info["failed_attempts"] = rng.randint(1, 6)
    return info


def _filter(rng, nodes):
    node = rng.choice(nodes)
    key, values = rng.choice(
        [
            ("_name", [node["name"], "data-*", "es-1*,Hot*"]),
            ("_ip", [node["address"].split(":")[0], "10.0.0.*"]),
            ("_id", [node["id"]]),
            ("rack", ["r0", "r1,r2"]),
            ("zone", ["east", "w*"]),
            ("box_type", ["hot", "warm,cold"]),
        ]
    )
    return {key: rng.choice(values)}


def _settings(rng, nodes):
    """Cluster settings by full name."""
    settings = {}

    def at_times(share, key, values):
        if rng.random() < share:
            settings[f"cluster.routing.{key}"] = rng.choice(values)

    few = ["0", "1", "2", "5", "20", "100"]
    at_times(0.2, "allocation.node_initial_primaries_recoveries", few)
    at_times(0.2, "allocation.node_concurrent_recoveries", few)
    at_times(0.15, "allocation.node_concurrent_incoming_recoveries", few)
    at_times(0.15, "allocation.node_concurrent_outgoing_recoveries", few)
    at_times(0.4, "allocation.cluster_concurrent_rebalance", ["-1", "0", "1", "2", "8", "50"])
    at_times(
        0.4, "allocation.allow_rebalance", ["always", "indices_primaries_active", "indices_all_active"]
    )
    at_times(0.08, "allocation.enable", ["none", "new_primaries", "primaries", "all"])
    at_times(0.12, "rebalance.enable", ["none", "primaries", "replicas", "all"])
    at_times(0.12, "allocation.same_shard.host", ["true", "false"])
    at_times(0.1, "allocation.total_shards_per_node", ["1", "10", "40"])
    at_times(0.25, "allocation.awareness.attributes", ["rack", "zone", "rack,zone"])
    at_times(0.12, "allocation.awareness.force.zone.values", ["east,west,south"])
    at_times(0.15, "allocation.disk.include_relocations", ["false"])
    at_times(0.1, "allocation.disk.threshold_enabled", ["false"])
    at_times(0.2, "allocation.balance.shard", ["0.0", "0.1", "0.9", "3.7"])
    at_times(0.2, "allocation.balance.index", ["0.2", "1.3"])
    at_times(0.2, "allocation.balance.threshold", ["0.5", "1.0", "1.5", "7.0"])
    if rng.random() < 0.3:
        marks = rng.choice(
            [["80%", "85%", "90%"], ["0.70", "0.75", "0.99"], ["60gb", "50gb", "40gb"], ["82.5%"] * 3]
        )
        for name, mark in zip(["low", "high", "flood_stage"], marks):
            settings[f"cluster.routing.allocation.disk.watermark.{name}"] = mark
    if rng.random() < 0.2:
        for key, value in _filter(rng, nodes).items():
            kind = rng.choice(["include", "exclude", "require"])
            settings[f"cluster.routing.allocation.{kind}.{key}"] = value
    return settings


def _state(nodes, indices, settings):
    def copy_of(entry):
        return {key: value for key, value in entry.items() if key != "bytes"}

    metadata, table = {}, {}
    for index in indices:
        in_sync = {
            str(shard): [copy["allocation_id"]["id"] for copy in copies if "allocation_id" in copy]
            for shard, copies in enumerate(index["shards"])
        }
        metadata[index["name"]] = {
            "state": "close" if index["closed"] else "open",
            "settings": {"index": index["settings"]},
            "in_sync_allocations": in_sync,
        }
        table[index["name"]] = {
            "shards": {
                str(shard): [copy_of(copy) for copy in copies]
                for shard, copies in enumerate(index["shards"])
            }
        }
    return {
        "cluster_name": "made-up",
        "master_node": nodes[0]["id"],
        "nodes": {
            node["id"]: {
                "name": node["name"],
                "transport_address": node["address"],
                "attributes": node["attributes"],
            }
            for node in nodes
        },
        "metadata": {"indices": metadata, "settings": settings},
        "routing_table": {"indices": table},
    }


def _nodes_stats(rng, nodes, indices):
    used = {node["id"]: 0 for node in nodes}
    for index in indices:
        for copies in index["shards"]:
            for copy in copies:
                if copy["node"]:
                    used[copy["node"]] += copy["bytes"]
    return {
        "nodes": {
            node["id"]: {
                "name": node["name"],
                "host": node["host"],
                "version": node["version"],
                "roles": (["data"] if node["data"] else []) + ["master"],
                "attributes": node["attributes"],
                "fs": {
                    "data": [
                        {
                            "path": f"/data/{number}",
                            "total_in_bytes": max(node["total"], used[node["id"]] + node["available"]),
                            "available_in_bytes": node["available"],
                        }
                    ]
                },
            }
            for number, node in enumerate(nodes)
        }
    }


def _sizes(indices):
    return [
        {
            "index": index["name"],
            "shard": str(shard),
            "prirep": "p" if copy["primary"] else "r",
            "store": str(copy["bytes"]),
        }
        for index in indices
        for shard, copies in enumerate(index["shards"])
        for copy in copies
        if copy["node"]
    ]


def _change(rng, nodes, indices):
    node = rng.choice(nodes)["name"]
    return rng.choice(
        [
            ["--add-node", "new-1"],
            ["--add-node", "new-1:zone=west,rack=r1,disk=2TB"],
            ["--add-node", "new-1", "--add-node", "new-2:disk=500GB"],
            ["--remove-node", node],
            ["--close", "*-0*"],
            ["--close", indices[0]["name"]],
            ["--set", f"cluster.routing.allocation.exclude._name={node}"],
            ["--set", "cluster.routing.allocation.awareness.attributes=zone"],
            ["--set", "cluster.routing.allocation.balance.threshold=3.0", "--add-node", "new-1"],
            ["--to-version", "7.17.28", "--add-node", "new-1"],
        ]
    )


def _cost(rng, copies, nodes, indices):
    arguments = ["shards", "cost", "--shards", str(rng.choice([copies, copies * 10, 25_000, 50_000]))]
    arguments += ["--nodes", str(max(len(nodes), rng.choice([1, 2, 12, 60])))]
    arguments += ["--version", rng.choice(["6.8.23", "7.4.0", "7.17.28", "opensearch-2.19.1"])]
    if rng.random() < 0.3:
        arguments += ["--closed", rng.choice(["10%", "90%", "0.5"])]
    if rng.random() < 0.4:
        arguments += ["--primaries", str(rng.choice([1, 5, 20]))]
    if rng.random() < 0.4:
        arguments += ["--replicas", str(rng.choice([0, 1, 2]))]
    if rng.random() < 0.2:
        arguments += ["--indices", str(max(1, min(copies, len(indices))))]
    if rng.random() < 0.2:
        arguments += ["--without-relocations"]
    return arguments
