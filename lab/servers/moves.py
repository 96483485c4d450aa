#!/usr/bin/env python3
"""Compares what `trimtab shards what-if` predicts with what a real cluster does.

    moves.py SERVER PLACEMENTS DIRECTORY [INDICES]

Starts four nodes of SERVER (see node.sh) in DIRECTORY, creates indices with the server's defaults, and
drains a node, gives it back, and kills it. Draining and giving back is done twice from the same state, so
that the prediction can be held against the server's own repeatability. PLACEMENTS is the example of that
name of the crate `shards`. Prints a line of a Markdown table for each change:

    | server | change | copies moved: predicted, real, both | same target: predicted, two real runs |

With TIERS=1, n1 and n2 are hot nodes, n3 and n4 are warm, and every third index prefers warm nodes. That
needs a distribution with the tier decider (8 or later).
"""
import json, os, random, shutil, subprocess, sys, time, urllib.error, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
EXCLUDE = "cluster.routing.allocation.exclude._name"
REBALANCE = "cluster.routing.rebalance.enable"
TIERS = os.environ.get("TIERS") == "1"
PATIENCE_S = 240


class Cluster:
    def __init__(self, server, top):
        self.server, self.top, self.runs = server, top, []

    def start(self):
        for number in range(1, 5):
            name = f"n{number}"
            run = f"{self.top}/run-{name}"
            env = dict(os.environ, NAME=name, JOIN=self.runs[0] if self.runs else "none")
            if TIERS:
                env["ROLES"] = "[master, data_hot, data_content]" if number < 3 else "[data_warm]"
            url = subprocess.run(
                ["bash", f"{HERE}/node.sh", "start", self.server, f"{self.top}/data-{name}", run],
                env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
            self.runs.append(run)
            if number == 1:
                self.url = url
        self.wait(lambda: len(self.ask("GET", "/_nodes")["nodes"]) == 4)

    def stop(self):
        for run in reversed(self.runs):
            subprocess.run(["bash", f"{HERE}/node.sh", "stop", run], check=False)

    def kill(self, name):
        run = self.runs[int(name[1:]) - 1]
        for line in subprocess.run(["ps", "-eo", "pid=,args="], stdout=subprocess.PIPE, text=True).stdout.splitlines():
            pid, arguments = line.split(None, 1)
            if f"{run}/" in arguments and "java" in arguments:
                os.kill(int(pid), 9)

    def ask(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def wait(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > end:
                raise SystemExit(f"{self.server}: gave up waiting")
            time.sleep(0.5)

    def set(self, **settings):
        names = {"exclude": EXCLUDE, "rebalance": REBALANCE}
        self.ask("PUT", "/_cluster/settings", {"transient": {names[key]: value for key, value in settings.items()}})

    def settle(self):
        """Waits until nothing has moved for three seconds."""
        quiet = 0
        end = time.monotonic() + PATIENCE_S
        while quiet < 6 and time.monotonic() < end:
            health = self.ask("GET", "/_cluster/health")
            busy = health["relocating_shards"] + health["initializing_shards"] + health["number_of_pending_tasks"]
            quiet = 0 if busy else quiet + 1
            time.sleep(0.5)

    def copies(self):
        """{(index, shard, copy's id): node name}; a copy that moves gets another id."""
        state = self.ask("GET", "/_cluster/state/nodes,routing_table")
        names = {key: node["name"] for key, node in state["nodes"].items()}
        return sorted(
            (index, int(shard), copy["primary"], names.get(copy["node"]))
            for index, table in state["routing_table"]["indices"].items()
            for shard, copies in table["shards"].items() for copy in copies)

    def save(self, directory):
        os.makedirs(directory, exist_ok=True)
        for name, path in [("state", "/_cluster/state"), ("nodes", "/_nodes/stats"),
                           ("sizes", "/_stats?level=shards"), ("settings", "/_cluster/settings?include_defaults=true")]:
            with urllib.request.urlopen(self.url + path, timeout=120) as answer, open(f"{directory}/{name}.json", "wb") as out:
                out.write(answer.read())

    def restore(self, wanted):
        """Moves every copy back to where it was."""
        self.set(rebalance="none", exclude=None)
        for _ in range(20):
            moves = []
            for (index, shard), nodes in moved(self.copies(), wanted).items():
                moves += [{"move": {"index": index, "shard": shard, "from_node": a, "to_node": b}}
                          for a, b in zip(nodes[0], nodes[1])]
            if not moves:
                break
            for move in moves:
                try:
                    self.ask("POST", "/_cluster/reroute", {"commands": [move]})
                except urllib.error.HTTPError:
                    pass  # the target still has another copy: in the next turn
            self.settle()
        self.set(exclude=None)


def holders(copies):
    found = {}
    for index, shard, _, node in copies:
        found.setdefault((index, shard), []).append(node)
    return {shard: sorted(nodes, key=str) for shard, nodes in found.items()}


def moved(before, after):
    """{shard: (nodes that lost a copy of it, nodes that got one)}"""
    old, new, result = holders(before), holders(after), {}
    for shard in old:
        gone, come = list(old[shard]), list(new.get(shard, []))
        for node in old[shard]:
            if node in come:
                come.remove(node)
                gone.remove(node)
        if come or gone:
            result[shard] = (gone, come)
    return result


def agree(one, other):
    """Copies that both moved, and those that both moved to the same node."""
    both = [shard for shard in one if shard in other and one[shard][0] == other[shard][0]]
    return len(both), sum(one[shard] == other[shard] for shard in both)


def main():
    server, placements, top = sys.argv[1:4]
    indices = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    os.makedirs(top, exist_ok=True)
    os.chmod(top, 0o755)
    cluster = Cluster(server, os.path.abspath(top))

    def predict(directory, *changes):
        rows = json.loads(subprocess.run([placements, directory, *changes], check=True, stdout=subprocess.PIPE).stdout)
        return sorted((i, s, p, n) for i, s, p, n in rows)

    def row(change, guess, real, again=None):
        both, target = agree(guess, real)
        real_both, real_target = agree(real, again) if again is not None else ("-", "-")
        print(f"| {server} | {change} | {len(guess)}, {len(real)}, {both} | {target} | {real_both}, {real_target} |", flush=True)

    try:
        cluster.start()
        chance = random.Random(1)
        for number in range(indices):
            settings = {"number_of_shards": chance.randint(1, 4), "number_of_replicas": chance.choice([0, 1, 1, 2])}
            if TIERS:
                settings["number_of_replicas"] = min(settings["number_of_replicas"], 1)
                if number % 3 == 0:
                    settings["index.routing.allocation.include._tier_preference"] = "data_warm,data_hot"
            cluster.ask("PUT", f"/i{number}", {"settings": settings})
            lines = "".join('{"index":{}}\n{"a":%d,"text":"%s"}\n' % (at, "x" * 200) for at in range(chance.randint(1, 400)))
            urllib.request.urlopen(urllib.request.Request(
                f"{cluster.url}/i{number}/_bulk?refresh=true", lines.encode(), {"Content-Type": "application/json"}), timeout=120).read()
        cluster.ask("POST", "/_flush")
        cluster.settle()
        start = cluster.copies()
        cluster.save(f"{top}/start")

        drained, real = predict(f"{top}/start", f"{EXCLUDE}=n4"), []
        for turn in range(2):
            if turn:
                cluster.restore(start)
                cluster.set(rebalance=None)
                cluster.settle()
            before = cluster.copies()
            if moved(start, before):
                print(f"{server}: not as at the start: {len(moved(start, before))} shards", file=sys.stderr)
            cluster.set(exclude="n4")
            cluster.settle()
            real.append(cluster.copies())
        row("drain n4", moved(start, drained), moved(start, real[0]), moved(start, real[1]))

        cluster.save(f"{top}/drained")
        empty, back = cluster.copies(), []
        returned = predict(f"{top}/drained", f"{EXCLUDE}=")
        for turn in range(2):
            if turn:
                cluster.restore(empty)
                cluster.set(exclude="n4")
                cluster.set(rebalance=None)
                cluster.settle()
            cluster.set(exclude=None)
            cluster.settle()
            back.append(cluster.copies())
        row("give n4 back", moved(empty, returned), moved(empty, back[0]), moved(empty, back[1]))

        before = cluster.copies()
        cluster.save(f"{top}/whole")
        lost = predict(f"{top}/whole", "-n3")
        cluster.ask("PUT", "/_all/_settings", {"settings": {"index.unassigned.node_left.delayed_timeout": "0"}})
        cluster.kill("n3")
        cluster.wait(lambda: len(cluster.ask("GET", "/_nodes")["nodes"]) == 3)
        cluster.settle()
        after = cluster.copies()
        unassigned = lambda copies: sum(node is None for *_, node in copies)
        primaries = lambda copies: sorted((i, s, n) for i, s, p, n in copies if p)
        same = len(set(primaries(lost)) & set(primaries(after)))
        row("lose n3", moved(before, lost), moved(before, after))
        print(f"| {server} | lose n3: unassigned | {unassigned(lost)}, {unassigned(after)} | primaries on the same node | {same} of {len(primaries(after))} |", flush=True)
    finally:
        cluster.stop()
        for number in range(1, 5):
            shutil.rmtree(f"{top}/data-n{number}", ignore_errors=True)


main()
