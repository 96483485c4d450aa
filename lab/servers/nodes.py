"""A cluster of real nodes (see node.sh) that can be brought back to an earlier placement.

A copy is `[index, shard, primary, node name]`; the node is None if the copy is unassigned. Each node's data
is on an ext4 of its own in a loop device, so that a watermark can hit one node. Root is needed.
"""
import collections, glob, json, os, shutil, signal, subprocess, sys, tempfile, time, urllib.error, urllib.request, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 600
DISK_BYTES = 1 << 30


def enclose():
    """Runs this program in namespaces of its own: its processes and mounts end with it, however it ends."""
    if os.environ.get("TRIMTAB_ENCLOSED") != "1":
        if os.geteuid():
            raise SystemExit("needs root: each node has a file system of its own")
        os.environ["TRIMTAB_ENCLOSED"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child",
                              sys.executable, *sys.argv])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


class Cluster:
    def __init__(self, server):
        # Others must be able to enter it: the nodes do not run as root.
        self.server, self.top = server, tempfile.mkdtemp(prefix="trimtab-moves-")
        os.chmod(self.top, 0o755)
        self.runs, self.attributes, self.roles, self.ended, self.starts = {}, {}, {}, [], 0
        product, version = server.split("-")
        self.product, self.plugin = product, ""
        release = tuple(map(int, version.split(".")[:2])) if product == "elasticsearch" else (0, 0)
        # From 8.6 on the server works towards a desired balance; ShutdownPlugin.java is for 8.12 and later.
        self.has_tiers, self.desires, self.shuts_down = release >= (8, 0), release >= (8, 6), release >= (8, 12)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for run in [*reversed(self.runs.values()), *self.ended]:
            subprocess.run(["bash", f"{HERE}/node.sh", "stop", run], check=False)
            shutil.rmtree(run, ignore_errors=True)
        for image in glob.glob(f"{self.top}/disk-*.img"):
            subprocess.run(["umount", image[:-4]], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def build_plugin(self):
        """Lets the nodes have the setting `lab.shutdown`. False without a compiler for the server's classes."""
        archive = subprocess.run(["bash", f"{HERE}/node.sh", "fetch", self.server], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout.strip()
        with zipfile.ZipFile(archive) as server:
            jars = [server.extract(name, f"{self.top}/server") for name in server.namelist()
                    if "/lib/" in name and name.endswith(".jar")]
        java, version = "21" if "-9." in self.server else "17", self.server.split("-")[1]
        out = f"{self.top}/shutdown"
        for compiler in glob.glob("/usr/lib/jvm/*/bin/javac"):
            run = subprocess.run([compiler, "-nowarn", "--release", java, "-cp", ":".join(jars), "-d", f"{self.top}/classes",
                                  f"{HERE}/shutdown/ShutdownPlugin.java"], check=False, stderr=subprocess.DEVNULL)
            if run.returncode == 0:
                os.makedirs(out)
                with zipfile.ZipFile(f"{out}/shutdown.jar", "w") as jar:
                    for path in glob.glob(f"{self.top}/classes/*.class"):
                        jar.write(path, os.path.basename(path))
                with open(f"{out}/plugin-descriptor.properties", "w") as text:
                    text.write("description=lab\nversion=1\nname=shutdown\nclassname=ShutdownPlugin\n"
                               f"java.version={java}\nelasticsearch.version={version}\n")
                self.plugin = out
                return True
        return False

    def disk(self, name):
        return f"{self.top}/disk-{name}"

    def launch(self, name):
        disk, self.starts = self.disk(name), self.starts + 1
        if not os.path.exists(f"{disk}.img"):
            os.makedirs(disk)
            with open(f"{disk}.img", "wb") as image:
                image.truncate(DISK_BYTES)
            subprocess.run(["mkfs.ext4", "-q", "-m", "0", f"{disk}.img"], check=True)
            # The loop device goes with the mount.
            subprocess.run(["mount", "-o", "loop", f"{disk}.img", disk], check=True)
        run = f"{self.top}/run-{self.starts}-{name}"
        env = dict(os.environ, NAME=name, JOIN=next(iter(self.runs.values()), "none"), DISKS="1")
        env["ATTRS"], env["ROLES"] = self.attributes.get(name, ""), self.roles.get(name, "")
        env["PLUGIN"] = self.plugin
        # What counts is where copies go, not how fast: without the second compiler a node starts sooner.
        env["OPTIONS"] = "-XX:TieredStopAtLevel=1"
        self.runs[name] = run
        return subprocess.Popen(["nice", "-n", "5", "bash", f"{HERE}/node.sh", "start", self.server, f"{disk}/data", run],
                                env=env, stdout=subprocess.PIPE, text=True)

    def start(self, *names):
        launched = []
        for name in names:
            launched.append(self.launch(name))
            if len(self.runs) == 1:
                self.url = launched[0].stdout.readline().strip()
        for process in launched:
            process.wait()
            if process.returncode:
                raise SystemExit(f"{self.server}: a node did not start")
        self.wait(lambda: self.up() == set(self.runs))

    def kill(self, name):
        run = self.runs.pop(name)
        self.ended.append(run)
        for line in subprocess.run(["ps", "-eo", "pid=,args="], stdout=subprocess.PIPE, text=True).stdout.splitlines():
            pid, arguments = line.split(None, 1)
            if f"{run}/" in arguments and "java" in arguments:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass  # the server's launcher ends with it
        self.wait(lambda: self.up() == set(self.runs))

    def up(self):
        return {node["name"] for node in self.ask("GET", "/_nodes")["nodes"].values()}

    def raw(self, method, path, data=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.read()

    def ask(self, method, path, body=None):
        return json.loads(self.raw(method, path, json.dumps(body).encode() if body is not None else None) or "{}")

    def wait(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > end:
                raise SystemExit(f"{self.server}: gave up waiting")
            time.sleep(0.3)

    def is_busy(self):
        health = self.ask("GET", "/_cluster/health")
        if any(health[what] for what in ["relocating_shards", "initializing_shards", "number_of_pending_tasks",
                                         "number_of_in_flight_fetch"]):
            return True
        return self.desires and self.desired()["stats"]["computation_active"]

    def settle(self, quiet_s=3, patience_s=PATIENCE_S):
        """Waits until nothing has moved for a time. False if it still moves."""
        since = None
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if self.is_busy():
                since = None
            elif since is None:
                since = time.monotonic()
            elif time.monotonic() - since >= quiet_s:
                return True
            time.sleep(0.2)
        return False

    def set(self, settings):
        self.ask("PUT", "/_cluster/settings", {"transient": settings})

    def clear(self, **settings):
        """Removes all transient settings but those given."""
        old = self.ask("GET", "/_cluster/settings?flat_settings=true")["transient"]
        self.set({**dict.fromkeys(old), **{key.replace("__", "."): value for key, value in settings.items()}})

    def desired(self):
        return self.ask("GET", "/_internal/desired_balance")

    def copies(self):
        return copies_of(self.ask("GET", "/_cluster/state/nodes,routing_table"))

    def created(self):
        """How many copies the nodes have created so far, counted in their logs: each relocation creates one."""
        count = 0
        for run in [*self.runs.values(), *self.ended]:
            for log in glob.glob(f"{run}/logs/lab-{self.server}.log"):
                with open(log, errors="replace") as lines:
                    count += sum("creating shard with primary term" in line for line in lines)
        return count

    def save(self, directory):
        os.makedirs(directory, exist_ok=True)
        paths = {"state": "/_cluster/state", "nodes": "/_nodes/stats", "sizes": "/_stats?level=shards",
                 "settings": "/_cluster/settings?include_defaults=true"}
        if self.desires:
            paths["desired"] = "/_internal/desired_balance"
        for name, path in paths.items():
            with open(f"{directory}/{name}.json", "wb") as out:
                out.write(self.raw("GET", path))

    def reroute(self, commands):
        try:
            self.ask("POST", "/_cluster/reroute", {"commands": commands})
        except urllib.error.HTTPError:
            for command in commands if len(commands) > 1 else []:
                self.reroute([command])  # those that are refused may succeed in the next turn

    def restore(self, wanted):
        """Moves the copies back to where they were, and makes the same ones primaries. Needs rebalancing off."""
        primaries = {(i, s): n for i, s, p, n in wanted if p}
        for _ in range(20):
            now = self.copies()
            commands = [{"move": {"index": index, "shard": shard, "from_node": a, "to_node": b}}
                        for (index, shard), (gone, come) in moved(now, wanted).items()
                        for a, b in zip(gone, come) if a in self.runs and b in self.runs]
            if not commands:
                # A primary that is cancelled becomes a replica on the same node.
                held = {(i, s, n) for i, s, _, n in now}
                commands = [{"cancel": {"index": i, "shard": s, "node": n, "allow_primary": True}} for i, s, p, n in now
                            if p and n and (i, s, primaries.get((i, s))) in held and primaries[i, s] != n]
            if not commands:
                return
            self.reroute(commands)
            self.settle(0.6)

    def bring(self, placement, settings, nodes):
        """To a placement, these transient settings and these nodes, with nothing left of what was before."""
        self.clear(cluster__routing__rebalance__enable="none")
        missing = [node for node in nodes if node not in self.runs]
        if missing:
            self.start(*missing)
        self.settle(0.6)
        self.restore(placement)
        for node in [node for node in self.runs if node not in nodes]:
            self.kill(node)
        if self.desires:
            self.settle(0.6)
            self.raw("DELETE", "/_internal/desired_balance")  # now it is the actual one
        self.settle(0.6)
        self.set({"cluster.routing.rebalance.enable": None, **settings})
        self.settle(2)


def copies_of(state):
    names = {key: node["name"] for key, node in state["nodes"].items()}
    return sorted(([index, int(shard), copy["primary"], names.get(copy["node"])]
                   for index, table in state["routing_table"]["indices"].items()
                   for shard, copies in table["shards"].items() for copy in copies), key=str)


def moved(before, after):
    """{shard: (nodes that lost a copy of it, nodes that got one)}"""
    held = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    for at, rows in enumerate([before, after]):
        for index, shard, _, node in rows:
            held[index, shard][at][node] += 1
    sides = {shard: tuple(sorted(side.elements(), key=str) for side in (old - new, new - old))
             for shard, (old, new) in held.items()}
    return {shard: side for shard, side in sides.items() if any(side)}
