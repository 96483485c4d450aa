#!/usr/bin/env python3
"""Records what real clusters do after a change, and compares what `trimtab shards what-if` predicts.

    moves.py record SERVER DIRECTORY [SITUATION...]
    moves.py compare PLACEMENTS DIRECTORY

`record` starts nodes of SERVER (see node.sh) and makes each change of SITUATIONS three times from the same
start. In DIRECTORY/SITUATION, `changes.json` has the change, `start`, `start-2` and `start-3` the server's
answers before it, `begin-K.json` and `real-K.json` the copies before and after it, for 8.6 and later
`desired-after-K.json` the desired balance, and `about.json` what else happened. The placement is the same at
each start, but the maps in the state may be in another order.

`compare` prints a line of a Markdown table for each situation, without a server. PLACEMENTS is the example
of that name of the crate `shards`, which gets the server, the directory of each start and the change, or
`-` for none.

The situation `rebalance` is only recorded if it is named: `rows.json` has the number of moves until rest,
by `cluster_concurrent_rebalance`, when a fourth node may take shards of three.
"""
import collections, itertools, json, os, random, shutil, statistics, string, subprocess, sys, time, urllib.error

from nodes import Cluster, copies_of, enclose, moved

REPEATS = 3
ALLOCATION = "cluster.routing.allocation"
REBALANCE = "cluster.routing.rebalance.enable"
EXCLUDE = f"{ALLOCATION}.exclude._name"
WATERMARK = f"{ALLOCATION}.disk.watermark"
TIER = "index.routing.allocation.include._tier_preference"
NODES = ("n1", "n2", "n3", "n4")
ZONES = {"n1": "zone=a", "n2": "zone=a", "n3": "zone=b", "n4": "zone=b", "n5": "zone=a"}
BALLAST_BYTES = 500 << 20
# The cluster's own data is reported and freed with a delay.
DISK_QUIET_S = 13

# The changes are those of `what-if`: K=V sets it, -N loses a node, +N:A=V adds one with attributes,
# index:PATTERN:K=V sets it for indices, create:NAME:shards=S,replicas=R, shutdown:N:TYPE. The start may have
# settings, the placement that another situation led to (`after`), no n3 (`without`), a disk of n4 that is
# half full (`ballast`), or all copies of an index on some nodes (`gather`).
SITUATIONS = {
    "drain": dict(changes=[f"{EXCLUDE}=n4"]),
    "return": dict(changes=[f"{EXCLUDE}="], after="drain", start={EXCLUDE: "n4"}),
    "replicas": dict(changes=["index:a*:index.number_of_replicas=1"]),
    "create": dict(changes=[f"create:c{at}:shards=5,replicas=1" for at in (1, 2, 3)]),
    # Both nodes are in zone a.
    "awareness": dict(changes=[f"{ALLOCATION}.awareness.attributes=zone", f"{REBALANCE}=all"], gather=("big", ["n1", "n2"]),
                      start={REBALANCE: "none"}),
    "total": dict(changes=["index:big:index.routing.allocation.total_shards_per_node=4"], gather=("big", ["n1", "n2"]),
                  start={REBALANCE: "none"}),
    "join": dict(changes=["+n5:zone=a"]),
    "lose": dict(changes=["-n3"]),
    "back": dict(changes=["+n3:zone=b"], after="lose", without="n3"),
    # {short} is 8 MiB more than n4 has free, {ample} 100 MiB. The server accepts bytes only for all three.
    "high": dict(changes=[f"{WATERMARK}.low={{ample}}b", f"{WATERMARK}.high={{short}}b", f"{WATERMARK}.flood_stage=1b"],
                 ballast=True),
    # As above, but a copy takes longer than the master's next look at the disks: otherwise many small copies
    # leave before it knows that there is enough space.
    "high-slow": dict(changes=[f"{WATERMARK}.low={{ample}}b", f"{WATERMARK}.high={{short}}b", f"{WATERMARK}.flood_stage=1b"],
                      start={"indices.recovery.max_bytes_per_sec": "150kb"}, ballast=True),
    "low": dict(changes=[f"{WATERMARK}.low={{ample}}b", f"{WATERMARK}.high=1b", f"{WATERMARK}.flood_stage=1b", f"{EXCLUDE}=n3"],
                ballast=True),
    "shutdown-remove": dict(changes=["shutdown:n4:remove"]),
    "shutdown-restart": dict(changes=["shutdown:n4:restart", "-n4"]),
    "shutdown-replace": dict(changes=["shutdown:n4:replace=n5"], nodes=(*NODES, "n5"),
                             start={REBALANCE: "none"}),
    "warm": dict(changes=[f"index:w*:{TIER}=data_warm"], tiers=True),
}


def write(path, value):
    with open(path, "w") as out:
        json.dump(value, out)


def read(path):
    with open(path) as text:
        return json.load(text)


def create(cluster, name, shards, replicas, **settings):
    cluster.ask("PUT", f"/{name}?timeout=120s", {"settings": {
        "index.number_of_shards": shards, "index.number_of_replicas": replicas,
        "index.unassigned.node_left.delayed_timeout": "0", **settings}, "mappings": {"dynamic": False}})


def populate(cluster, tiers):
    chance = random.Random(1)
    if tiers:
        for name in [f"{kind}{at}" for kind in "wh" for at in range(5)]:
            create(cluster, name, chance.randint(1, 3), 1, **{TIER: "data_hot"})
        return
    for number in range(20):
        # One in two has no replica: which node has its only copy is the choice that counts.
        name, replicas = (f"b{number - 10}", chance.choice([1, 1, 2])) if number >= 10 else (f"a{number}", 0)
        shards = chance.randint(1, 4)
        create(cluster, name, shards, replicas)
        lines = []
        for _ in range(shards * chance.randint(1, 80)):
            lines += ['{"index":{}}', json.dumps({"text": "".join(chance.choices(string.ascii_letters, k=40_000))})]
        cluster.raw("POST", f"/{name}/_bulk?refresh=true", "\n".join([*lines, ""]).encode())
    create(cluster, "big", 8, 1)
    cluster.ask("POST", "/_flush")


class Change:
    """Makes a change to a cluster, and takes it back save for the nodes, which `bring` adds and removes."""

    def __init__(self, cluster, changes):
        self.cluster, self.changes, self.undo = cluster, changes, []

    def make(self):
        ask, settings = self.cluster.ask, {}
        for change in self.changes:
            kind, _, rest = change.partition(":")
            if change[0] == "-":
                self.cluster.kill(change[1:])
            elif change[0] == "+":
                self.cluster.start(kind[1:])
            elif kind == "index":
                pattern, _, pair = rest.partition(":")
                key, _, value = pair.partition("=")
                for index, old in ask("GET", f"/{pattern}/_settings?flat_settings=true").items():
                    self.undo.append(("PUT", f"/{index}/_settings", {key: old["settings"].get(key)}))
                ask("PUT", f"/{pattern}/_settings", {key: value})
            elif kind == "create":
                name, _, sizes = rest.partition(":")
                create(self.cluster, name, **{key: int(value) for key, value in (size.split("=") for size in sizes.split(","))})
                self.undo.append(("DELETE", f"/{name}", None))
            elif kind == "shutdown":
                name, _, how = rest.partition(":")
                how, _, target = how.partition("=")
                node = next(key for key, node in ask("GET", "/_nodes")["nodes"].items() if node["name"] == name)
                self.cluster.set({"lab.shutdown": f"{node} {how} {target}".strip()})
            else:
                key, _, value = change.partition("=")
                settings[key] = value or None
        if settings:
            self.cluster.set(settings)

    def take_back(self):
        for request in self.undo:
            self.cluster.ask(*request)
        self.undo = []


def gathered(placement, index, nodes):
    """The placement with all copies of an index on these nodes."""
    turn, rows = collections.Counter(), []
    for name, shard, primary, node in placement:
        if name == index:
            node = nodes[(shard + turn[shard]) % len(nodes)]
            turn[shard] += 1
        rows.append([name, shard, primary, node])
    return rows


def record(cluster, base, name, directory):
    situation = SITUATIONS[name]
    out = f"{directory}/{name}"
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    placement = base
    if "after" in situation:
        placement = read(f"{directory}/{situation['after']}/real-1.json")
    if "gather" in situation:
        placement = gathered(placement, *situation["gather"])
    quiet_s, changes = 3, situation["changes"]
    nodes = [node for node in situation.get("nodes", NODES) if node != situation.get("without")]
    ballast = f"{cluster.disk('n4')}/ballast"
    about = collections.defaultdict(list)
    try:
        if situation.get("ballast"):
            quiet_s = DISK_QUIET_S
            subprocess.run(["fallocate", "-l", str(BALLAST_BYTES), ballast], check=True)
            time.sleep(12)  # until the master has asked again
        for turn in range(1, REPEATS + 1):
            cluster.bring(placement, situation.get("start", {}), nodes)
            begin = cluster.copies()
            cluster.save(start_of(out, turn))
            if turn == 1:
                placement = begin
                if quiet_s > 3:
                    stats = read(f"{out}/start/nodes.json")["nodes"].values()
                    free = next(node["fs"]["total"]["available_in_bytes"] for node in stats if node["name"] == "n4")
                    changes = [change.format(short=free + (8 << 20), ample=free + (100 << 20)) for change in changes]
                write(f"{out}/changes.json", changes)
            about["begins_elsewhere"].append(len(moved(placement, begin)))
            about["other_primaries"].append(sum(row not in placement for row in begin))
            if cluster.desires:
                about["other_desired"].append(len(wishes(start_of(out, turn)) - wishes(start_of(out, 1))))
            write(f"{out}/begin-{turn}.json", begin)
            created, since = cluster.created(), time.monotonic()
            change = Change(cluster, changes)
            change.make()
            about["came_to_rest"].append(cluster.settle(quiet_s))
            about["seconds"].append(round(time.monotonic() - since - quiet_s, 1))
            about["copies_created"].append(cluster.created() - created)
            write(f"{out}/real-{turn}.json", cluster.copies())
            if cluster.desires:
                write(f"{out}/desired-after-{turn}.json", cluster.desired())
            # Without the next turn's return to the start, what is taken back would be balanced.
            cluster.clear(cluster__routing__rebalance__enable="none")
            change.take_back()
            write(f"{out}/about.json", about)
            print(f"{time.strftime('%T')} {cluster.server} {name} {turn}: {json.dumps(about)}", file=sys.stderr, flush=True)
    finally:
        if os.path.exists(ballast):
            os.remove(ballast)


def start_of(out, turn):
    return f"{out}/start" if turn == 1 else f"{out}/start-{turn}"


def wishes(start):
    return {(index, shard, *sorted(copies["desired"]["node_ids"]))
            for index, table in read(f"{start}/desired.json")["routing_table"].items() for shard, copies in table.items()}


def start(cluster):
    cluster.attributes = ZONES
    cluster.start(*NODES)
    cluster.ask("PUT", "/_cluster/settings", {"persistent": {
        "cluster.info.update.interval": "10s",
        # Logs a line for each copy that a node creates.
        f"logger.org.{cluster.product}.indices.cluster": "DEBUG"}})


def record_all(server, directory, names):
    os.makedirs(directory, exist_ok=True)
    write(f"{directory}/server.json", server)
    for tiers in (False, True):
        chosen = [name for name in names or SITUATIONS if SITUATIONS.get(name, {}).get("tiers", False) == tiers]
        with Cluster(server) as cluster:
            if chosen and tiers and not cluster.has_tiers:
                print(f"{server}: without data tiers: {', '.join(chosen)}", file=sys.stderr)
                continue
            if any(name.startswith("shutdown") for name in chosen) and not (cluster.shuts_down and cluster.build_plugin()):
                print(f"{server}: without node shutdown", file=sys.stderr)
                chosen = [name for name in chosen if not name.startswith("shutdown")]
            if not chosen:
                continue
            if tiers:
                cluster.roles = {node: "[master, data_hot, data_content]" if node < "n3" else "[data_warm]" for node in NODES}
            start(cluster)
            if "rebalance" in chosen:
                measure_rebalance(cluster, directory)
                chosen.remove("rebalance")
                if not chosen:
                    continue
            populate(cluster, tiers)
            cluster.settle()
            base = cluster.copies()
            for name in chosen:
                try:
                    record(cluster, base, name, directory)
                except urllib.error.HTTPError as error:
                    why = error.read().decode(errors="replace")[:300]
                    print(f"{server}: {name}: {error.code} {error.url}: {why}", file=sys.stderr, flush=True)
                    shutil.rmtree(f"{directory}/{name}")


def copies_moved(moves):
    return sum(max(len(gone), len(come)) for gone, come in moves.values())


def agreement(one, other):
    """Copies that both moved, and those that both moved to the same node."""
    both = same = 0
    common = lambda a, b: sum((collections.Counter(a) & collections.Counter(b)).values())
    for shard in one.keys() & other.keys():
        (gone, come), (gone_too, come_too) = one[shard], other[shard]
        # A copy that is new has left no node.
        shared = common(gone, gone_too) if gone or gone_too else min(len(come), len(come_too))
        both += shared
        same += min(shared, common(come, come_too))
    return both, same


def primaries_elsewhere(one, other):
    """Shards whose primary is on another node."""
    one, other = ({(i, s): n for i, s, p, n in rows if p} for rows in (one, other))
    return sum(one.get(shard) != node for shard, node in other.items())


def listed(numbers):
    return ", ".join(map(str, numbers)) or "-"


def compare(placements, directory):
    server = read(f"{directory}/server.json")
    columns = ["server", "change", "copies moved: predicted; real", "moved in both: predicted, real with real",
               "to the same node: predicted, real with real", "primaries elsewhere: predicted, real with real"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name in SITUATIONS:
        out = f"{directory}/{name}"
        turns = [turn for turn in range(1, REPEATS + 1) if os.path.exists(f"{out}/real-{turn}.json")]
        if not turns:
            continue
        ends = [read(f"{out}/real-{turn}.json") for turn in turns]
        real = [moved(read(f"{out}/begin-{turn}.json"), end) for turn, end in zip(turns, ends)]
        counts, guesses = [], []
        for turn, moves, end in zip(turns, real, ends) if placements != "-" else []:
            start = start_of(out, turn) if os.path.exists(start_of(out, turn)) else f"{out}/start"
            run = subprocess.run([placements, server, start, *read(f"{out}/changes.json")], stdout=subprocess.PIPE)
            if run.returncode == 0:
                rows = json.loads(run.stdout)
                guess = moved(copies_of(read(f"{start}/state.json")), rows)
                counts.append(copies_moved(guess))
                guesses.append((*agreement(guess, moves), primaries_elsewhere(rows, end)))
        pairs = [(*agreement(real[a], real[b]), primaries_elsewhere(ends[a], ends[b]))
                 for a, b in itertools.combinations(range(len(turns)), 2)]
        mean = lambda pairs, at: f"{statistics.mean(pair[at] for pair in pairs):.1f}" if pairs else "-"
        values = [f"{mean(guesses, at)}, {mean(pairs, at)}" for at in range(3)]
        counts = ["; ".join([listed(counts), listed(copies_moved(moves) for moves in real)])]
        print(f"| {server} | {name} | {' | '.join(counts + values)} |", flush=True)


def compare_rebalance(directory):
    if not os.path.exists(f"{directory}/rebalance/rows.json"):
        return
    server = read(f"{directory}/server.json")
    print("\n| server | cluster_concurrent_rebalance | relocations until rest | shards elsewhere | seconds |")
    print("|---|---|---|---|---|")
    for row in read(f"{directory}/rebalance/rows.json"):
        count = row["relocations"]
        for then in [row["then_2"]] if "then_2" in row else []:
            count = f"{count}, no rest; with 2: {then['relocations']}{'' if then['comes_to_rest'] else ', no rest'}"
        print(f"| {server} | {row['concurrent_rebalance']} | {count} | {row['shards_elsewhere']} | {row['seconds']} |")


def measure_rebalance(cluster, directory, limit_s=100):
    key = f"{ALLOCATION}.cluster_concurrent_rebalance"
    cluster.set({EXCLUDE: "n4"})
    for number in range(20):
        create(cluster, f"j{number}", 6, 0)
    cluster.settle()
    base, rows = cluster.copies(), []
    for value in (1, 2, 4, 8):
        cluster.bring(base, {EXCLUDE: "n4", key: str(value)}, NODES)
        cluster.save(f"{directory}/rebalance/start-{value}")
        begin, created, since = cluster.copies(), cluster.created(), time.monotonic()
        cluster.set({EXCLUDE: None})
        rests = cluster.settle(patience_s=limit_s)
        row = {"concurrent_rebalance": value, "comes_to_rest": rests, "seconds": round(time.monotonic() - since),
               "relocations": cluster.created() - created, "shards_elsewhere": len(moved(begin, cluster.copies()))}
        if not rests:
            created, since = cluster.created(), time.monotonic()
            cluster.set({key: "2"})
            row["then_2"] = {"comes_to_rest": cluster.settle(patience_s=limit_s), "seconds": round(time.monotonic() - since),
                             "relocations": cluster.created() - created}
        rows.append(row)
        write(f"{directory}/rebalance/rows.json", rows)
        print(f"{cluster.server}: {json.dumps(row)}", file=sys.stderr, flush=True)
    cluster.ask("DELETE", "/" + ",".join(f"j{number}" for number in range(20)))
    cluster.clear()


def main():
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    command, what, directory, *names = sys.argv[1:]
    if command == "compare":
        compare(what, directory)
        return compare_rebalance(directory)
    enclose()
    if command == "record":
        return record_all(what, directory, names)
    raise SystemExit(__doc__)


main()
