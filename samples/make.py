#!/usr/bin/env python3
"""Makes the samples again (README.md says what each is): samples/make.py

Needs cargo. The examples it runs live in crates/explain/examples and crates/shards/examples.
"""
import json
import math
import pathlib
import random
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
GB, GIB = 10**9, 2**30
DISK = 500 * GB


def example(package, name, *arguments):
    command = ["cargo", "run", "-q", "--locked", "-p", package, "--example", name, "--", *arguments]
    return subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True, text=True).stdout


def write(name, text):
    (HERE / name).parent.mkdir(parents=True, exist_ok=True)
    (HERE / name).write_text(text)


def lines(items):
    """A JSON array, one item per line."""
    return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in items) + "\n]\n"


def sizes_and_disks(state):
    """Shards of 16 to 28 GB, and nodes with 500 GB disks that hold them and 20 GB of other data."""
    names = {node_id: node["name"] for node_id, node in state["nodes"].items()}
    used = dict.fromkeys(names, 20 * GB)
    rows = []
    for index, table in sorted(state["routing_table"]["indices"].items()):
        for shard, copies in sorted(table["shards"].items()):
            size = (16 + len(rows) * 5 % 13) * GB
            for copy in sorted(copies, key=lambda copy: not copy["primary"]):
                kind = "p" if copy["primary"] else "r"
                rows.append({"index": index, "shard": shard, "prirep": kind, "state": copy["state"],
                             "store": str(size), "node": names[copy["node"]]})
                used[copy["node"]] += size
    nodes = {}
    for node_id, name in names.items():
        free = DISK - used[node_id]
        disk = {"path": "/var/lib/elasticsearch/nodes/0", "total_in_bytes": DISK,
                "free_in_bytes": free, "available_in_bytes": free}
        nodes[node_id] = {"name": name, "roles": ["data", "ingest", "master"], "fs": {"data": [disk]}}
    return rows, {"_nodes": {"total": len(nodes), "failed": 0}, "cluster_name": "made-up", "nodes": nodes}


def cluster():
    """What `trimtab collect --cluster` keeps of a 7.4.0 cluster with 25,000 shards on two data nodes."""
    nodes, stats = {}, {}
    for number, name in enumerate(["es1", "es2", "m1", "m2", "m3"], start=1):
        is_data = name.startswith("es")
        total, free, heap = (3840 * GB, 1460 * GB, 31 * GIB) if is_data else (100 * GB, 80 * GB, 8 * GIB)
        nodes[f"id-{name}"] = {
            "name": name, "host": f"10.0.0.{number}", "ip": f"10.0.0.{number}", "version": "7.4.0",
            "roles": ["data", "ingest"] if is_data else ["master"], "attributes": {},
            "jvm": {"version": "11.0.4", "mem": {"heap_max_in_bytes": heap, "heap_used_in_bytes": None}},
            "settings": {}}
        disk = {"total_in_bytes": total, "available_in_bytes": free}
        where = {"path": "/var/lib/elasticsearch/nodes/0", "mount": "/var/lib/elasticsearch (/dev/nvme0n1)"}
        stats[f"id-{name}"] = {
            "jvm": {"version": None, "mem": {"heap_max_in_bytes": None, "heap_used_in_bytes": heap // 2}},
            "fs": {"total": disk, "data": [{**where, "type": "xfs", **disk}]}}
    indices = {"open": 12500, "closed": 0, "example": "logs-0000"}
    values = {"index.number_of_shards": {"1": indices}, "index.number_of_replicas": {"1": indices},
              "index.version.created": {"7040099": indices}}
    count = {"total": len(nodes), "failed": 0}
    answers = {
        "root": {"flavour": "elasticsearch", "version": "7.4.0", "cluster_name": "made-up"},
        "nodes": {"_nodes": count, "cluster_name": "made-up", "nodes": nodes},
        "node_stats": {"_nodes": count, "nodes": stats},
        "health": {"status": "green", "in_flight_fetches": 0, "max_task_wait_ms": 0},
        "indices": {"open": 12500, "closed": 0, "closed_shards_configured": 0, "values": values},
        "routing": {"master": "id-m1", "total": 25000, "primaries": 12500, "started": 25000, "relocating": 0,
                    "initializing": 0, "unassigned": 0, "unassigned_reasons": {},
                    "by_node": {"id-es1": 12500, "id-es2": 12500}, "closed": {"indices": 0, "copies": 0}},
        "pending_tasks": {"total": 0, "tasks": []},
        "settings": {"transient": {}, "persistent": {"cluster.max_shards_per_node": "15000"}, "defaults": {}},
        "hot_threads": {"source": "hot_threads", "interval_ms": 500, "threads": []}}
    head = {"schema": "trimtab.cluster/1", "endpoint": "http://localhost:9200", "read_at": "2026-11-21T02:45:00Z"}
    return head | {page: {"answer": answer} for page, answer in answers.items()}


def race(side, night, factor, noise):
    """A race of Rally: bulk ingest, and searches at a fixed rate. `factor` slows the ingest down."""
    docs = 41_200 / factor * math.exp(noise.gauss(0, 0.012))
    p50 = 9.4 * math.exp(noise.gauss(0, 0.006))
    p99 = 4.1 * p50 * math.exp(noise.gauss(0, 0.008))
    rate = {"min": round(0.9 * docs), "mean": round(docs, 1), "median": round(docs, 1), "max": round(1.05 * docs),
            "unit": "docs/s"}
    bulk = 500 * 8 / docs * 1e3
    times = {"50_0": round(bulk, 2), "99_0": round(3 * bulk, 2), "mean": round(1.1 * bulk, 2), "unit": "ms"}
    latency = {"50_0": round(p50, 3), "99_0": round(p99, 3), "mean": round(1.2 * p50, 3), "unit": "ms"}
    tasks = [
        {"task": "index", "operation": "bulk", "throughput": rate, "latency": times, "service_time": times,
         "error_rate": 0.0, "duration": 300_000},
        {"task": "hour", "operation": "search", "latency": latency, "service_time": latency, "error_rate": 0.0,
         "throughput": {"min": 20, "mean": 20.0, "median": 20.0, "max": 20, "unit": "ops/s"}, "duration": 300_000},
    ]
    return {"rally-version": "2.13.0", "environment": "nightly", "race-id": f"{side}-{night}",
            "race-timestamp": f"202611{night:02}T020000Z", "pipeline": "benchmark-only", "user-tags": {},
            "track": "logs", "car": ["external"],
            "cluster": {"distribution-version": "8.15.0" if side == "before" else "8.16.1"},
            "results": {"op_metrics": tasks, "merge_time": round(20_500 * factor)}}


def races():
    """Five nights before an upgrade and five after it: ingest becomes 6 % slower, searches stay as they are."""
    noise = random.Random(5)
    for side, first, factor in (("before", 1, 1.0), ("after", 6, 1.06)):
        for night in range(first, first + 5):
            write(f"races/{side}/{night:02}/race.json", json.dumps(race(side, night, factor, noise), indent=1) + "\n")


races()
write("sawtooth.csv", example("explain", "sawtooth_2016", "curve"))
write("trims.csv", example("explain", "sawtooth_2016", "trims"))
state = example("shards", "write_state", "4", "10", "3", "1", "5")
write("state.json", state)
rows, stats = sizes_and_disks(json.loads(state))
write("sizes.json", lines(rows))
write("stats.json", json.dumps(stats, indent=1) + "\n")
write("cluster/trimtab/cluster.json", json.dumps(cluster(), indent=1) + "\n")
