"""Servers that replay the recorded responses of crates/cluster/tests/data, unchanged or modified."""

import copy
import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = {
    "/": "root",
    "/_cluster/health": "health",
    "/_cluster/pending_tasks": "pending_tasks",
    "/_cluster/settings": "settings",
}


def _page(target):
    """The recorded page for a request, as in crates/trimtab/tests/it/cluster.rs."""
    path, _, query = target.partition("?")
    if path in PAGES:
        return PAGES[path]
    if path.startswith("/_cluster/state/"):
        return "state"
    if path.startswith("/_nodes/stats/"):
        return "node_stats"
    if path.endswith("/hot_threads"):
        return "hot_threads"
    if path.startswith("/_nodes/"):
        return "nodes"
    return "closed" if "expand_wildcards=closed" in query else "open"


def recorded(directory):
    """The pages of each recorded server, by server name."""
    return {
        server.name: {page.name: page.read_bytes() for page in sorted(server.iterdir())}
        for server in sorted(directory.iterdir())
        if server.is_dir()
    }


def changed(servers, seed):
    """One of the servers with some of its responses modified; a page that is None gives status 403."""
    rng = random.Random(f"server {seed}")
    name = rng.choice(sorted(servers))
    pages = dict(servers[name])
    for change in rng.sample(CHANGES, rng.randint(1, 3)):
        change(rng, pages)
    if rng.random() < 0.15:
        pages[rng.choice(["health", "pending_tasks", "settings", "hot_threads", "node_stats"])] = None
    return name, pages


def _settings(rng, pages):
    answer = json.loads(pages["settings"])
    allocation = "cluster.routing.allocation"
    for key, values in {
        f"{allocation}.disk.include_relocations": ["true", "false"],
        f"{allocation}.enable": ["all", "none", "primaries"],
        f"{allocation}.disk.watermark.low": ["85%", "10gb", "99%"],
        f"{allocation}.disk.threshold_enabled": ["true", "false"],
        f"{allocation}.exclude._name": ["n1", "nobody"],
        "cluster.max_shards_per_node": ["10", "1000", "100000"],
        f"{allocation}.cluster_concurrent_rebalance": ["0", "2", "50"],
    }.items():
        if rng.random() < 0.4:
            answer.setdefault(rng.choice(["persistent", "transient"]), {})[key] = rng.choice(values)
    pages["settings"] = json.dumps(answer).encode()


def _health(rng, pages):
    answer = json.loads(pages["health"])
    answer["status"] = rng.choice(["green", "yellow", "red"])
    answer["task_max_waiting_in_queue_millis"] = rng.choice([0, 900, 40_000])
    pages["health"] = json.dumps(answer).encode()


def _tasks(rng, pages):
    tasks = [
        {
            "priority": rng.choice(["URGENT", "HIGH", "NORMAL"]),
            "source": rng.choice(
                ["cluster_reroute(reroute after starting shards)", "create-index [a], cause [api]", "put-mapping"]
            ),
            "executing": number == 0,
            "time_in_queue_millis": rng.choice([5, 2_000, 90_000]),
        }
        for number in range(rng.choice([0, 1, 30, 400]))
    ]
    pages["pending_tasks"] = json.dumps({"tasks": tasks}).encode()


def _growth(rng, pages):
    """More indices of the same kind, which increases the master's work."""
    state = json.loads(pages["state"])
    indices = state["routing_table"]["indices"]
    for name, index in list(indices.items()):
        for number in range(rng.choice([1, 10, 40])):
            indices[f"{name}-{number}"] = copy.deepcopy(index)
    pages["state"] = json.dumps(state).encode()


def _threads(rng, pages):
    pages["hot_threads"] = b"" if rng.random() < 0.5 else pages["hot_threads"] * 2


CHANGES = [_settings, _health, _tasks, _growth, _threads]


def serve(pages):
    """Starts a server and returns its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = pages.get(_page(self.path))
            self.send_response(403 if body is None else 200)
            body = body or b""
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
