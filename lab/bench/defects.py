#!/usr/bin/env python3
"""Plants defects in trials on a real Elasticsearch, and counts which `trimtab bench run` finds.

    lab/bench/defects.py BINARY [--server elasticsearch-7.17.28] [--clean N] [--only NAME,...]

The server's data is on a loop device of its own (ext4, without online discards). Each defect is planted in one trial
of the same track; it counts as found if the trial is INVALID for this reason, with a remedy. Then N trials without a
defect (default 50) run. A machine disturbs some of them by itself: a hypervisor takes CPU time, other guests use the
caches. cyclictest(8) runs beside each as a witness that does not know trimtab, and tells which were quiet: steal of less
than 1 %, and timers late by less than 1 ms in 99 of 100 cases. Those that are quiet and INVALID count as false; the others
show what the checks say of such a machine. Needs root, cron and rt-tests.
"""

import argparse
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODE = ROOT / "lab/servers/node.sh"
INDEX = "trimtab-bench-defects"
CGROUP = pathlib.Path("/sys/fs/cgroup/cpu/trimtab-bench")
CRON = pathlib.Path("/etc/cron.d/trimtab-bench-defect")

TRACK = """
name = "{name}"
seed = 1
{start}

[operation.search]
kind = "search"
index = "{index}"
body = '{{"size":10,"query":{{"range":{{"number":{{"gte":{{{{from}}}},"lt":{{{{to}}}}}}}}}}}}'
parameters.from = {{ kind = "number", min = 0, max = 40000 }}
parameters.to = {{ kind = "number", min = 40001, max = 80000 }}
{more}

[[phase]]
name = "warm-up"
kind = "warm-up"
duration = "{warm_up}"
load = [{load}]

[[phase]]
name = "steady"
duration = "{duration}"
load = [{load}]
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options)


class Server:
    """Elasticsearch with its data on a filesystem of its own."""

    def __init__(self, name, work):
        self.name, self.work, self.mount = name, work, work / "mount"
        self.mount.mkdir()
        image = work / "image"
        with image.open("wb") as file:
            file.truncate(3 << 30)
        self.device = run("losetup", "--find", "--show", image).stdout.strip()
        run("mkfs.ext4", "-q", "-E", "nodiscard", self.device)
        run("mount", self.device, self.mount)
        self.url = self.start(self.mount / "data", work / "run")

    def start(self, data, at):
        return run(NODE, "start", self.name, data, at, env=os.environ | {"HEAP": "512m"}).stdout.strip().splitlines()[-1]

    def ask(self, method, path, body=None):
        headers = {"Content-Type": "application/x-ndjson" if "_bulk" in path else "application/json"}
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def fill(self):
        self.ask("PUT", f"/{INDEX}", b'{"settings":{"number_of_shards":1,"number_of_replicas":0}}')
        for start in range(0, 80_000, 2_000):
            lines = []
            for number in range(start, start + 2_000):
                lines.append('{"index":{}}')
                lines.append(json.dumps({"number": number, "text": f"word{number % 97} word{number % 1009}"}))
            self.ask("POST", f"/{INDEX}/_bulk", ("\n".join(lines) + "\n").encode())
        self.ask("POST", f"/{INDEX}/_forcemerge?max_num_segments=1")
        self.ask("POST", f"/{INDEX}/_flush")

    def pid(self):
        nodes = self.ask("GET", "/_nodes/process")["nodes"]
        return next(iter(nodes.values()))["process"]["id"]

    def stop(self):
        subprocess.run([NODE, "stop", self.work / "run"], check=False)
        subprocess.run(["umount", self.mount], check=False)
        subprocess.run(["losetup", "--detach", self.device], check=False)


class Witness:
    """cyclictest beside a trial, and the CPU time that the hypervisor took meanwhile."""

    STEAL, LATE_US = 0.01, 1_000

    def __init__(self):
        self.before = self.cpu()
        self.process = subprocess.Popen(["cyclictest", "-q", "-t2", "-i2000", "-h100000"], stdout=subprocess.PIPE, text=True)

    @staticmethod
    def cpu():
        return [int(ticks) for ticks in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]

    def end(self):
        """Whether it was quiet, and how quiet."""
        passed = [after - before for before, after in zip(self.before, self.cpu())]
        steal = passed[7] / sum(passed)
        self.process.send_signal(signal.SIGINT)
        late = collections.Counter()
        for line in self.process.communicate()[0].splitlines():
            if line[:1].isdigit():
                us, *counts = map(int, line.split())
                late[us] += sum(counts)
        later, p99_us, few = 0, 0, 0.01 * sum(late.values())
        for us in sorted(late, reverse=True):
            later += late[us]
            if later >= few:
                p99_us = us
                break
        quiet = steal < self.STEAL and p99_us < self.LATE_US
        return quiet, f"{'quiet' if quiet else 'noisy'} (steal {100 * steal:.1f} %, timers late by {p99_us} us)"


class Trials:
    def __init__(self, binary, server, work):
        self.binary, self.server, self.work = binary, server, work
        self.number = 0

    def run(self, name="defects", during=None, before=None, **change):
        """Runs a trial; `during` is called in a thread once the measured phase has begun."""
        values = {"name": name, "start": "", "index": INDEX, "more": "", "warm_up": "6s", "duration": "24s",
                  "load": '{ operation = "search", rate = "30/s", arrivals = "poisson" }'}
        values.update(change)
        self.number += 1
        track = self.work / f"{name}.toml"
        track.write_text(TRACK.format(**values))
        if before:
            before()
        command = [self.binary, "bench", "run", str(track), "--target", self.server.url, "--format", "json",
                   "--into", str(self.work / "trials" / name)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stop = threading.Event()
        thread = None
        if during:
            warm_up_s = float(values["warm_up"].rstrip("s"))
            def later():
                if not stop.wait(warm_up_s + 2):
                    during(process, stop)
            thread = threading.Thread(target=later)
            thread.start()
        out, err = process.communicate()
        stop.set()
        if thread:
            thread.join()
        try:
            return json.loads(out)["result"]["trials"][0]["trial"], err
        except (json.JSONDecodeError, KeyError, IndexError):
            return None, err


def spin(_process, stop):
    other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    stop.wait()
    other.kill()
    other.wait()


def starve(process, stop):
    """The driver runs for 60 of each 200 ms."""
    while not stop.is_set() and process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.14)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.06)


def set_clock(_process, stop):
    step = 3.0
    time.clock_settime(time.CLOCK_REALTIME, time.time() + step)
    stop.wait()
    time.clock_settime(time.CLOCK_REALTIME, time.time() - step)


def planted(trials, server, work):
    """Name, reason that must be found, and what plants it."""
    mount = server.mount
    junk = mount / "junk"

    def fill_and_trim(_process, _stop):
        run("dd", "if=/dev/zero", f"of={junk}", "bs=1M", "count=300", "oflag=direct")
        junk.unlink()
        run("sync", "-f", mount)
        run("fstrim", mount)

    def read_the_drive(_process, stop):
        while not stop.is_set():
            subprocess.run(["dd", f"if={server.device}", "of=/dev/null", "bs=1M", "count=20", "iflag=direct"],
                           stderr=subprocess.DEVNULL, check=False)
            stop.wait(0.5)

    def due():
        # Begins so that the next whole minute lies in the measured phase, and names the job of that minute.
        while not 40 <= time.time() % 60 <= 45:
            time.sleep(0.5)
        when = time.localtime(time.time() + 30)
        CRON.write_text(f"{when.tm_min} {when.tm_hour} * * * root fstrim {mount}\n")

    def write_much():
        run("dd", "if=/dev/zero", f"of={junk}", "bs=1M", "count=1200", "oflag=direct")
        junk.unlink()
        run("sync", "-f", mount)

    def limit(_process, stop):
        CGROUP.mkdir(exist_ok=True)
        (CGROUP / "cpu.cfs_quota_us").write_text("10000")
        stop.wait()
        (CGROUP / "cpu.cfs_quota_us").write_text("-1")

    def into_cgroup():
        CGROUP.mkdir(exist_ok=True)
        (CGROUP / "cgroup.procs").write_text(str(server.pid()))

    def slow_down(_process, stop):
        """Less CPU time each second makes the same searches slower."""
        step = 100_000
        CGROUP.mkdir(exist_ok=True)
        while not stop.wait(1):
            step = max(3_000, int(step * 0.8))
            (CGROUP / "cpu.cfs_quota_us").write_text(str(step))
        (CGROUP / "cpu.cfs_quota_us").write_text("-1")

    def merge(_process, stop):
        lines = "".join('{"index":{}}\n' + json.dumps({"text": f"w{n} " * 40}) + "\n" for n in range(1_000))
        server.ask("PUT", "/other", b'{"settings":{"refresh_interval":"200ms","number_of_replicas":0}}')
        while not stop.is_set():
            server.ask("POST", "/other/_bulk", lines.encode())
            server.ask("POST", "/other/_forcemerge?max_num_segments=1")
        server.ask("DELETE", "/other")

    second = {}

    def start_second():
        second["url"] = server.start(mount / "second", work / "second")

    def stop_second():
        subprocess.run([NODE, "stop", work / "second"], check=False)

    cached = """path = "/%s/_search?request_cache=true" """ % INDEX
    only_count = """
[operation.count]
kind = "search"
index = "%s"
body = '{"size":0,"query":{"range":{"number":{"gte":0}}}}'
%s
""" % (INDEX, cached)
    missing = """
[operation.missing]
kind = "get"
path = "/no-such-index/_doc/1"
"""
    # Enough that a tenth of a CPU is too little for it.
    much = '{ operation = "search", rate = "200/s", arrivals = "poisson" }'
    search = '{ operation = "search", rate = "30/s", arrivals = "poisson" }'
    return [
        ("a job is due", "scheduled_job", dict(before=due), lambda: CRON.unlink(missing_ok=True)),
        ("somebody trims", "scheduled_job", dict(during=fill_and_trim), None),
        ("much was written", "trim_debt", dict(before=write_much), trim(trials.binary, mount)),
        ("the driver is starved", "late_driver", dict(during=starve), None),
        ("another process spins", "foreign_cpu", dict(during=spin), None),
        ("the driver takes the CPU", "busy_driver",
         dict(load='{ operation = "root", clients = 16 }', more='[operation.root]\nkind = "get"\npath = "/"\n'), None),
        ("a CPU limit", "throttled", dict(before=into_cgroup, during=limit, load=much), None),
        ("cold, but in memory", "cold_without_reads", dict(start='start = "cold"'), None),
        ("warm, but drive reads", "warm_with_reads", dict(start='start = "warm"', during=read_the_drive), None),
        ("the request cache answers", "request_cache",
         dict(more=only_count, load=search + ', { operation = "count", rate = "20/s" }'), None),
        ("the clock is set", "clock_step", dict(during=set_clock), None),
        ("few samples", "few_samples", dict(duration="6s"), None),
        ("it becomes slower", "drift", dict(before=into_cgroup, during=slow_down, load=much), None),
        ("requests fail", "errors", dict(more=missing, load=search + ', { operation = "missing", rate = "5/s" }'), None),
        ("a second store", "other_store", dict(before=start_second), stop_second),
        ("too high a rate", "incomplete",
         dict(load='{ operation = "search", rate = "40000/s" }', duration="10s"), None),
        ("more merges", "merges", dict(name="merges", during=merge), None),
    ]


def start_cron():
    """A job that no daemon would start is not due: one must run."""
    if subprocess.run(["pidof", "cron"], stdout=subprocess.DEVNULL, check=False).returncode == 0:
        return None
    try:
        return subprocess.Popen(["cron", "-f"])
    except FileNotFoundError:
        sys.exit("no cron daemon: apt-get install cron")


def trim(binary, mount):
    def now():
        run(binary, "trim", "--now", mount)
    return now


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--server", default="elasticsearch-7.17.28")
    parser.add_argument("--clean", type=int, default=50)
    parser.add_argument("--only", default="", help="checks whose defects are planted; none: no defect")
    arguments = parser.parse_args()
    only = set(filter(None, arguments.only.split(",")))
    work = pathlib.Path(tempfile.mkdtemp(prefix="trimtab-bench-"))
    work.chmod(0o755)
    cron = start_cron()
    server = Server(arguments.server, work)
    found = missed = 0
    try:
        server.fill()
        binary = os.path.abspath(arguments.binary)
        trim(binary, server.mount)()
        trials = Trials(binary, server, work)
        # A server that has just been started becomes faster for minutes, which is drift.
        trials.run(warm_up="180s", duration="10s", name="warm-up")
        for defect, check, change, after in planted(trials, server, work):
            if only and check not in only:
                continue
            if check == "merges":
                for _ in range(3):
                    trials.run(name="merges")
            trial, err = trials.run(**{"name": "defects", **change})
            if after:
                after()
            reasons = trial["judgement"]["reasons"] if trial else []
            mine = [reason for reason in reasons if reason["check"] == check]
            others = sorted({reason["check"] for reason in reasons} - {check})
            if mine and mine[0]["remedy"]:
                found += 1
                print(f"found   {defect:26} {mine[0]['found']}. {mine[0]['remedy']}" + (f" (also {', '.join(others)})" if others else ""))
            else:
                missed += 1
                print(f"MISSED  {defect:26} {check}; found {others} {err.strip()[-300:]}")
            sys.stdout.flush()
        # The defects have written much.
        trim(binary, server.mount)()
        flagged = {quiet: collections.Counter() for quiet in (True, False)}
        count, invalid = collections.Counter(), collections.Counter()
        for number in range(arguments.clean):
            witness = Witness()
            trial, err = trials.run(name="clean")
            quiet, how = witness.end()
            reasons = trial["judgement"]["reasons"] if trial else [{"check": "none", "found": err}]
            count[quiet] += 1
            invalid[quiet] += bool(reasons)
            flagged[quiet].update(reason["check"] for reason in reasons)
            print(f"clean {number}, {how}: {'; '.join(reason['found'] for reason in reasons) or 'VALID'}")
            sys.stdout.flush()
        print(f"planted: {found} of {found + missed} found")
        for quiet, name in ((True, "quiet"), (False, "noisy")):
            print(f"clean and {name}: {invalid[quiet]} of {count[quiet]} INVALID {dict(flagged[quiet])}")
    finally:
        CRON.unlink(missing_ok=True)
        server.stop()
        if cron:
            cron.kill()
        if CGROUP.exists():
            # The server has just ended; the kernel removes its last threads in a moment.
            for _ in range(50):
                try:
                    CGROUP.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)
        subprocess.run(["rm", "-rf", work], check=False)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
