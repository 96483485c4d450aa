"""Pipes, sockets, devices and directories where files are wanted, and files of credentials that others can read."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

#: Nothing listens there.
NOWHERE = "http://127.0.0.1:1"


def special(lab):
    """What is no file is refused at once where a file is wanted; elsewhere a signal ends the wait."""
    folder = lab.dir / "special"
    for name in ("home/lib", "config", "races", "diagnostics", "trial"):
        (folder / name).mkdir(parents=True)
    csv = lab.file("special/series.csv", "time,v\n2026-01-01,1\n")
    lab.file("special/home/lib/elasticsearch-7.4.2.jar", "")
    lab.file("special/config/jvm.options", "-Xms1g\n")
    lab.file("special/trial/trial.json", "{}")
    pipe = folder / "pipe"
    for path in (pipe, folder / "races/race.json", folder / "diagnostics/metrics.1", folder / "trial/client.csv"):
        os.mkfifo(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    none = ["--jobs", "none"]
    bench = ["bench", "run", "ingest", "--target", NOWHERE, "--into", folder / "out"]
    livefix = ["livefix", "install", "--config", folder / "config", "--home", folder / "home"]

    def regular_only(path):
        return {
            "a track": ["bench", "run", path, "--target", NOWHERE, "--into", folder / "out"],
            "authorities of bench": [*bench, "--ca-file", path],
            "credentials of bench": [*bench, "--credentials-file", path],
            "a result": ["bench", "compare", path, path],
            "authorities": ["check", "--cluster", NOWHERE, "--ca-file", path],
            "credentials": ["check", "--cluster", NOWHERE, "--credentials-file", path],
            "a jar": [*livefix, "--jar", path],
        }

    def streams(path):
        return {
            "a configuration": ["--config", path, "check", "--exit-zero"],
            "a bundle": ["check", "--bundle", path],
            "a history": ["explain", path, *none],
            "a crontab": ["explain", csv, "--jobs", path],
            "a log": ["explain", csv, *none, "--log", path],
            "events": ["explain", csv, *none, "--events", path],
            "a drive": ["ssd", "run", "--drive", path],
            "a state": ["shards", "reroute", "--state", path],
            "volumes": ["plan", "--volumes", path],
        }

    kinds = {"a pipe": pipe, "a socket": folder / "socket", "a device": "/dev/zero", "a directory": folder / "config"}
    for found, path in kinds.items():
        for what, words in regular_only(path).items():
            # A folder holds results.
            says = "no file whose name ends" if (what, found) == ("a result", "a directory") else f"found {found}"
            if (what, found) == ("a track", "a directory"):
                says = "found a folder"
            lab.case(f"special {found} for {what}", words, codes=(2,), says=says)
        if found != "a directory":
            lab.case(f"special {found} for a root", ["check", "--root", path], codes=(2,), says="expected a directory")
        if found != "a pipe":
            for what, words in streams(path).items():
                lab.case(f"special {found} for {what}", words)
    for name in ("races", "diagnostics", "trial"):
        lab.case(f"special a pipe in {name}", ["explain", folder / name, *none], codes=(2,))
    for what, words in streams(pipe).items():
        for number in (signal.SIGINT, signal.SIGTERM):
            ends_by(lab, f"special {number.name} while {what} is awaited", words, number)
    listener.close()


def ends_by(lab, name, words, number):
    """Records whether a signal ends a command that waits for a pipe."""
    child = subprocess.Popen([lab.binary, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    began = time.monotonic()
    while time.monotonic() - began < 10:
        try:
            with open(f"/proc/{child.pid}/wchan", encoding="ascii") as wchan:
                if any(word in wchan.read() for word in ("wait_for_partner", "fifo", "pipe")):
                    break
        except OSError:
            pass
        time.sleep(0.01)
    child.send_signal(number)
    why = []
    try:
        if child.wait(5) != -number:
            why.append(f"ended with {child.returncode}")
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        why.append("goes on waiting")
    lab.record(name, str(words[0]), why, time.monotonic() - began, answered=not why)


def credentials(lab):
    """Credentials that others can read or could have written are not used, as root and as another user."""
    nobody = pwd.getpwnam("nobody")
    place = lab.dir / "credentials"
    place.mkdir()
    for path in (lab.dir, place):
        path.chmod(0o755)
    # Others may not enter the folder of the build.
    program = place / "trimtab"
    shutil.copy(lab.binary, program)
    secret = "kanarypassword"
    text = f"user = u\npassword = {secret}\n"

    def make(name, mode, uid, gid):
        path = lab.file(f"credentials/{name}", text)
        os.chown(path, uid, gid)
        path.chmod(mode)
        return path

    os.mkfifo(place / "pipe", 0o600)
    (place / "folder").mkdir(mode=0o700)
    for name in ("pipe", "folder"):
        os.chown(place / name, nobody.pw_uid, nobody.pw_gid)
    their = make("their", 0o600, nobody.pw_uid, nobody.pw_gid)
    roots = make("roots", 0o600, 0, 0)
    links = {}
    for name, target in {"to-theirs": their, "to-roots": roots, "to-nothing": place / "nothing"}.items():
        links[name] = place / name
        links[name].symlink_to(target)
    used = "connection was refused"
    exposed, owner = "lets others read it", "belongs to user"
    cases = [
        # What, path, as root, as nobody.
        ("0644", make("world", 0o644, 0, 0), exposed, exposed),
        ("0640 of another group", make("group", 0o640, 0, nobody.pw_gid), exposed, exposed),
        ("0602", make("writable", 0o602, 0, 0), exposed, "Permission denied"),
        ("another user's", their, owner, used),
        ("root's", roots, used, "Permission denied"),
        ("a link to another user's", links["to-theirs"], owner, used),
        ("a link to root's", links["to-roots"], used, "Permission denied"),
        ("a link to nothing", links["to-nothing"], "No such file", "No such file"),
        ("a pipe", place / "pipe", "found a pipe", "found a pipe"),
        ("a directory", place / "folder", "found a directory", "found a directory"),
    ]
    commands = {
        "check": ["check", "--cluster", NOWHERE, "--credentials-file"],
        "explain": ["explain", NOWHERE, "--query", "up", "--jobs", "none", "--credentials-file"],
        "bench": ["bench", "run", "ingest", "--target", NOWHERE, "--into", place / "out", "--credentials-file"],
        "shards": ["shards", "reroute", "--state", NOWHERE, "--credentials-file"],
    }
    binary, lab.binary = lab.binary, str(program)
    try:
        for what, path, as_root, as_nobody in cases:
            for command, words in commands.items():
                for user, says in (("root", as_root), ("nobody", as_nobody)):
                    run_as = None if user == "root" else nobody
                    name = f"credentials {what}, as {user}: {command}"
                    out = lab.case(name, [*words, path], codes=(2,), says=says, absent=[secret], user=run_as)
                    lab.record(f"{name}: the way out", command, [] if "hint: " in out else [f"no hint in {out!a}"])
    finally:
        lab.binary = binary
