"""Experiments that root runs where others can rename, and servers that put links in the place of their own files.

The race: while `bench trim` and `bench filesystems` run, their folder is renamed away and a link or a folder is put in its
place, in which `image`, `mount` and the other names are links to what must stay intact; the command is then killed, ended or left
alone, at random moments. TRIMTAB_ATTACK_RACES=1000 races as often; any race again: TRIMTAB_ATTACK_SEED.
"""

import io
import os
import pwd
import random
import re
import shutil
import signal
import subprocess
import tarfile
import threading
import time
from pathlib import Path

STATE = Path("/var/lib/trimtab")
NAMES = ["image", "mount", "server", "run-1", "data", "others", "benchmark-0"]
SECRET = "root:$6$KANARY9d5c1f"
SIZE = "64MiB"
#: Servers of experiments run under one of these.
USERS = range(58_200, 58_300)
#: A server: is found by its library, and starts this script under a user of its own.
HOSTILE = {
    "a link to a secret as its output": 'ln -sf "$SECRET" output; echo started; exit 1',
    "an endless device as its address": "ln -sf /dev/zero logs/http.ports; exec sleep 3",
    "a pipe as its address": "mkfifo logs/http.ports; exec sleep 3",
    "a link to a secret as its address": 'ln -sf "$SECRET" logs/http.ports; exec sleep 3',
    "other folders in the place of its own": 'mv logs gone; ln -s "${SECRET%/*}" logs; mv tmp went; ln -s / tmp; exec sleep 3',
    "much output and escapes": r"yes 'x'\''\033]0;PWN\007' | head -c 50000000; printf '\033[31m\n'; exit 1",
    "processes that stay": "setsid env -i sleep 4321 & setsid env -i sh -c 'while :; do sleep 1; done' & exit 1",
    "a file that never ends": "truncate -s 7E ../mount/data/huge 2>/dev/null; exit 1",
}


def experiments(lab):
    theirs, mine = pwd.getpwnam("nobody"), lab.dir / "experiments"
    mine.mkdir(mode=0o755)
    lab.dir.chmod(0o755)
    STATE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", STATE], check=True)
    try:
        refused(lab, mine, theirs)
        register(lab, mine)
        servers(lab, mine)
        two_at_once(lab, mine)
        races(lab, mine)
    finally:
        subprocess.run(["umount", STATE], check=True)


def trim(where):
    return ["bench", "trim", "--loop-dir", where, "--size", SIZE, "--runs", "3", "--threads", "1"]


def filesystems(where, server, into):
    words = ["bench", "filesystems", "--loop-dir", where, "--server", server, "--into", into, "--size", "512MiB"]
    return [*words, "--variants", "ext4,xfs", "--documents", "1000", "--repeats", "2"]


def archive(path, script):
    """A server of 6.8.23 that is no server."""
    contents = {
        "bin/elasticsearch": f"#!/bin/sh\n{script}\n",
        "jdk/bin/java": "#!/bin/sh\n",
        "lib/elasticsearch-6.8.23.jar": "",
        "config/jvm.options": "-Xms1g\n",
    }
    with tarfile.open(path, "w:gz") as out:
        for name, text in contents.items():
            entry = tarfile.TarInfo(f"elasticsearch-6.8.23/{name}")
            entry.size, entry.mode = len(text), 0o755
            out.addfile(entry, io.BytesIO(text.encode()))
    return path


def refused(lab, mine, theirs):
    """A folder that another user owns or may write to, or that lies below one."""
    places = {}
    for what, owner, mode in [("is another user's", theirs.pw_uid, 0o755), ("is open to all", 0, 0o777),
                              ("is open to a group", 0, 0o775), ("is another user's, and sticky", theirs.pw_uid, 0o1777)]:
        folder = mine / re.sub(r"\W+", "-", what)
        folder.mkdir()
        below = folder / "below"
        below.mkdir()
        link = mine / f"link-to-{folder.name}"
        link.symlink_to(below)
        os.chown(folder, owner, theirs.pw_gid)
        folder.chmod(mode)
        places[f"that {what}"] = folder
        places[f"below one that {what}"] = below
        places[f"behind a link to one below one that {what}"] = link
    server = archive(mine / "none.tar.gz", "exit 1")
    for what, place in places.items():
        for words in [trim(place), filesystems(place, server, mine / "into")]:
            lab.case(f"a folder {what}: {words[1]}", words, codes=(2,), says="nothing was changed")
            made = [path.name for path in place.iterdir() if path.name != "below"]
            lab.record(f"a folder {what}: {words[1]} makes nothing", "bench", [f"made {made}"] if made else [])


def register(lab, mine):
    """Entries of the register that were planted, or that another version left."""
    folder = STATE / "experiments"
    folder.mkdir(mode=0o700, exist_ok=True)
    precious = mine / "trimtab-experiment-precious"
    precious.mkdir()
    (precious / "file").write_text("precious")
    inode = precious.stat()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def entry(path, device=0, number=0):
        return (f'{{"workspace":"{path}"}}\n{{"folder":{{"device":{device},"inode":{number},"boot_id":"{boot}"}}}}\n'
                f'{{"image":{{"device":{inode.st_dev},"inode":{inode.st_ino}}}}}\n')

    texts = {
        "garbage": "garbage\n", "binary": "\x00\x1b]0;PWN\x07\n", "a path": str(precious), "nothing": "",
        "another folder": entry(precious), "the root": entry("/"), "no workspace": entry("/etc", inode.st_dev, 2),
        "a relative path": entry("trimtab-experiment-x"), "a way up": entry(f"{mine}/trimtab-experiment-y/.."),
        "numbers": '{"workspace":7}\n', "long": "x" * 2_000_000,
    }
    for what, text in texts.items():
        (folder / "planted").write_text(text)
        lab.case(f"planted in the register: {what}", trim(mine), seconds=60)
        (folder / "planted").unlink(missing_ok=True)
    for what, plant in {
        "a link": lambda path: path.symlink_to("/etc/shadow"),
        "a pipe": os.mkfifo,
        "a folder": lambda path: path.mkdir(),
        "an endless device": lambda path: path.symlink_to("/dev/zero"),
    }.items():
        plant(folder / "planted")
        lab.case(f"planted in the register: {what}", trim(mine), seconds=60)
        shutil.rmtree(folder / "planted") if (folder / "planted").is_dir() else (folder / "planted").unlink()
    whole = (precious / "file").read_text() == "precious" and Path("/etc/passwd").exists()
    lab.record("what planted entries name stays", "bench", [] if whole else ["removed"])
    shutil.rmtree(precious)
    folder.chmod(0o777)
    lab.case("a register that is open to all", trim(mine), codes=(2,), says="others|open to all")
    folder.chmod(0o700)


def servers(lab, mine):
    """What a server puts in the place of its files is not read, and what it leaves running is ended."""
    secrets = mine / "secrets"
    secrets.mkdir(mode=0o711)
    secret = secrets / "secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    for what, script in HOSTILE.items():
        server = archive(mine / "hostile.tar.gz", f"SECRET={secret}\n{script}")
        words = filesystems(mine, server, mine / "into")
        lab.case(f"a server with {what}", words, seconds=60, kb=300_000, codes=(2,), absent=[SECRET[:12], "KANARY"])
        running = [path.name for path in Path("/proc").iterdir() if path.name.isdigit() and runs_as_server(path)]
        lab.record(f"a server with {what}: its processes end", "bench", [f"{len(running)} run"] if running else [])
    lab.record("the secret stays", "bench", [] if secret.read_text() == f"{SECRET}\n" else ["overwritten"])
    still(lab, "hostile servers", mine)


def runs_as_server(process):
    """Whether a process has a user id of servers, and has not ended."""
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        return process.stat().st_uid in USERS and state != "Z"
    except OSError:
        return False


def two_at_once(lab, mine):
    first = subprocess.Popen([lab.binary, *map(str, trim(mine)[:-4]), "--runs", "9"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while first.poll() is None and not any(mine.glob("trimtab-experiment-*")):
        time.sleep(0.005)
    lab.case("a second experiment at once", trim(mine), codes=(2,), says="another experiment runs")
    first.send_signal(signal.SIGTERM)
    first.wait()
    still(lab, "two at once", mine)


class Victim:
    """A file and a folder of root's, and a folder full of links to them."""

    def __init__(self, mine):
        self.file, self.folder, self.links = mine / "victim", mine / "victims", mine / "links"
        self.file.write_text(SECRET)
        self.file.chmod(0o600)
        self.folder.mkdir(mode=0o700)
        (self.folder / "precious").write_text(SECRET)
        self.links.mkdir()
        for name in NAMES:
            (self.links / name).symlink_to(self.folder if name in ("mount", "run-1", "data", "server") else self.file)
        self.before = self.look()

    def look(self):
        def of(path):
            stat = path.lstat()
            content = path.read_bytes() if path.is_file() else sorted(entry.name for entry in path.iterdir())
            return stat.st_mode, stat.st_uid, stat.st_gid, stat.st_ino, content

        links = {name: os.readlink(self.links / name) for name in NAMES}
        return of(self.file), of(self.folder), of(self.folder / "precious"), links, sorted(os.listdir(self.links))


class Renamer(threading.Thread):
    """Renames the folder of the experiment at a random moment, and puts something else in its place."""

    def __init__(self, mine, victim, rng):
        super().__init__(daemon=True)
        self.mine, self.victim = mine, victim
        self.delay_s, self.is_link, self.ended = rng.choice([0, rng.random() * 0.05, rng.random() * 0.5]), rng.random() < 0.5, False
        self.renamed = False

    def run(self):
        found = None
        while found is None and not self.ended:
            found = next((self.mine / name for name in os.listdir(self.mine) if name.startswith("trimtab-experiment-")), None)
        if found is None:
            return
        time.sleep(self.delay_s)
        try:
            found.rename(self.mine / f"away-{found.name}")
            self.renamed = True
            if self.is_link:
                found.symlink_to(self.victim.links)
            else:
                shutil.copytree(self.victim.links, found, symlinks=True)
        except OSError:
            return


def races(lab, mine):
    count = int(os.environ.get("TRIMTAB_ATTACK_RACES", "40"))
    seed = int(os.environ.get("TRIMTAB_ATTACK_SEED", "1"))
    place = mine / "race"
    place.mkdir()
    victim = Victim(mine)
    server = archive(mine / "race.tar.gz", "exec sleep 2")
    counts = {"renamed": 0, "killed": 0, "terminated": 0, "ended": 0}
    for number in range(count):
        rng = random.Random(seed * 1_000_003 + number)
        words = trim(place) if number % 3 else filesystems(place, server, mine / "into")
        renamer = Renamer(place, victim, rng)
        renamer.start()
        child = subprocess.Popen([lab.binary, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        how = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, None])
        try:
            child.wait(rng.random() * 0.3 if how else 20)
            counts["ended"] += 1
        except subprocess.TimeoutExpired:
            child.send_signal(how or signal.SIGTERM)
            counts["killed" if how == signal.SIGKILL else "terminated"] += 1
        renamer.ended = True
        why = []
        try:
            child.wait(60)
        except subprocess.TimeoutExpired:
            child.kill()
            why.append("does not end")
        renamer.join()
        counts["renamed"] += renamer.renamed
        if victim.look() != victim.before:
            why.append("the victim changed")
            victim.before = victim.look()
        lab.record(f"race {number} of seed {seed}", f"bench {words[1]}", why)
        for path in place.glob("trimtab-experiment-*"):
            if path.is_symlink():
                path.unlink()
            elif not (path / "image").is_symlink():
                continue
            else:
                shutil.rmtree(path)
    # What the last one left is removed by the next start.
    lab.case("after the races", trim(place), seconds=60)
    for path in place.glob("away-*"):
        shutil.rmtree(path, ignore_errors=True)
    still(lab, "the races", place)
    print("races: " + ", ".join(f"{number} {what}" for what, number in counts.items()), flush=True)


def still(lab, what, place):
    """No loop device, mount, process or entry is left."""
    time.sleep(0.2)
    why = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            backing = path.read_text().strip()
        except OSError:
            continue
        if backing.startswith(str(place)) or "trimtab-experiment" in backing:
            why.append(f"{path.parts[3]} has {backing}")
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    why += [f"{point} is mounted" for point in mounts if point.startswith(str(place)) or "trimtab-experiment" in point]
    why += [f"{path} is there" for path in place.glob("trimtab-experiment-*")]
    entries = [name for name in os.listdir(STATE / "experiments") if name != ".lock"]
    why += [f"the register has {name}" for name in entries]
    lab.record(f"nothing is left after {what}", "bench", why)
