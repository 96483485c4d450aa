#!/usr/bin/env python3
"""Writes small bundles that describe very large hosts, to measure how long they keep the program busy.

Usage: bundles.py DIRECTORY [NAME...]

Each is written as DIRECTORY/NAME.tar, within the limits for bundles. The names:

fstab        20,000 mounts, as many lines of fstab, and one job `fstrim --fstab`
fstab-jobs   2,000 mounts, as many lines of fstab, and 50 such jobs
members      60,000 mounts of one array of 20,000 members
jobs         60,000 mounts, and 20,000 jobs of ten `fstrim /mN`
timer        one timer with 9,990 lines of OnCalendar
findings     20,000 mounts with `nobarrier`, each with a line of fstab that XFS refuses
stacks       2,000 mounts, each of a device above the same 2,000 drives
"""

import io
import json
import sys
import tarfile
from pathlib import Path

NOW = "2026-11-21T02:45:00Z"


class Bundle:
    """Files of a host, by path below the root."""

    def __init__(self):
        self.files = {
            "etc/os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12"\n',
            "proc/sys/kernel/hostname": "db1\n",
            "proc/sys/kernel/osrelease": "6.1.0-13-amd64\n",
            "proc/uptime": "4000000.00 1.00\n",
            "etc/timezone": "UTC\n",
            # A store, so that all rules about stores look at it.
            "proc/1/comm": "systemd\n",
            "proc/4711/comm": "mongod\n",
            "proc/4711/cmdline": "mongod\0--dbpath\0/m0\0",
        }
        self.links = {}

    def device(self, name, number, below=()):
        """Adds a block device that takes discards."""
        base = f"sys/devices/virtual/block/{name}"
        self.links[f"sys/class/block/{name}"] = f"../../devices/virtual/block/{name}"
        self.links[f"sys/block/{name}"] = f"../devices/virtual/block/{name}"
        for path, value in {
            "dev": number,
            "size": "3907029168",
            "queue/rotational": "0",
            "queue/discard_granularity": "512",
            "queue/discard_max_bytes": "2199023255040",
            "queue/discard_max_hw_bytes": "2199023255040",
        }.items():
            self.files[f"{base}/{path}"] = value + "\n"
        for other in below:
            self.links[f"{base}/slaves/{other}"] = f"../../{other}"

    def mount(self, mounts):
        """Adds mountinfo: (number, mount point, type, source, options)."""
        lines = ["1 0 8:0 / / rw,relatime - ext4 /dev/sda rw\n"]
        for at, (number, point, fs_type, source, options) in enumerate(mounts, 2):
            lines.append(f"{at} 1 {number} / {point} rw,noatime - {fs_type} {source} {options}\n")
        self.files["proc/self/mountinfo"] = "".join(lines)

    def write(self, path):
        with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
            manifest = {"schema": "trimtab.bundle/1", "tool_version": "attack", "collected_at": NOW,
                        "complete": False}
            add(tar, "manifest.json", json.dumps(manifest))
            for name, text in self.files.items():
                add(tar, f"root/{name}", text)
            for name, target in self.links.items():
                entry = tarfile.TarInfo(f"root/{name}")
                entry.type = tarfile.SYMTYPE
                entry.linkname = target
                tar.addfile(entry)


def add(tar, name, text):
    data = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = 0o755 if "cron.weekly" in name else 0o644
    tar.addfile(entry, io.BytesIO(data))


def fstab(count, jobs, options="rw"):
    # Without sysfs, as many filesystems as lines fit; with it, the number of entries is limited.
    bundle = Bundle()
    if count <= 2_000:
        for index in range(count):
            bundle.device(f"dm-{index}", f"253:{index}")
    bundle.mount((f"253:{at}", f"/m{at}", "xfs", f"/dev/dm-{at}", options) for at in range(count))
    bundle.files["etc/fstab"] = "".join(
        f"/dev/dm-{at} /m{at} xfs {'nobarrier' if 'nobarrier' in options else 'defaults'} 0 0\n"
        for at in range(count)
    )
    bundle.files["etc/crontab"] = "".join(
        f"{at % 60} {at // 60 % 24} * * 0 root fstrim --fstab\n" for at in range(jobs)
    )
    return bundle


def members():
    bundle = Bundle()
    bundle.device("sda", "8:0")
    names = [f"x{at}" for at in range(20_000)]
    bundle.device("md0", "9:0", names)
    for at, name in enumerate(names):
        bundle.files[f"sys/devices/virtual/block/{name}/dev"] = f"250:{at}\n"
        bundle.links[f"sys/class/block/{name}"] = f"../../devices/virtual/block/{name}"
    bundle.files["sys/devices/virtual/block/md0/md/level"] = "raid0\n"
    bundle.mount(("9:0", f"/m{at}", "xfs", "/dev/md0", "rw") for at in range(60_000))
    bundle.files["etc/crontab"] = "0 3 * * 0 root fstrim --all\n"
    return bundle


def jobs():
    bundle = Bundle()
    bundle.device("sda", "8:0")
    for at in range(1_000):
        bundle.device(f"dm-{at}", f"253:{at}")
    bundle.mount((f"253:{at}", f"/m{at}", "xfs", f"/dev/dm-{at}", "rw") for at in range(60_000))
    command = "; ".join(f"fstrim /m{at}" for at in range(10))
    for part in range(5):
        bundle.files[f"etc/cron.d/trim{part}"] = "".join(
            f"{at % 60} {at // 60 % 24} * * {at % 7} root {command}\n" for at in range(4_000)
        )
    return bundle


def timer():
    bundle = Bundle()
    bundle.device("sda", "8:0")
    bundle.mount([("8:0", "/m0", "xfs", "/dev/sda", "rw")])
    calendar = "".join(
        f"OnCalendar=*-*-* {at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}\n"
        for at in range(0, 9_990 * 8, 8)
    )
    unit = "lib/systemd/system/fstrim"
    bundle.files[f"{unit}.timer"] = f"[Timer]\n{calendar}"
    bundle.files[f"{unit}.service"] = "[Service]\nExecStart=/sbin/fstrim --all\n"
    wants = "etc/systemd/system/timers.target.wants/fstrim.timer"
    bundle.links[wants] = "/lib/systemd/system/fstrim.timer"
    return bundle


def stacks():
    bundle = Bundle()
    bundle.device("sda", "8:0")
    drives = [f"x{at}" for at in range(2_000)]
    for at, name in enumerate(drives):
        bundle.device(name, f"250:{at}")
    bundle.device("dm-pool", "253:9999", drives)
    for at in range(2_000):
        bundle.device(f"dm-{at}", f"253:{at}", ["dm-pool"])
    mounts = ((f"253:{at}", f"/m{at}", "xfs", f"/dev/dm-{at}", "rw,nobarrier") for at in range(2_000))
    bundle.mount(mounts)
    bundle.files["etc/crontab"] = "0 3 * * 0 root fstrim --all\n"
    return bundle


BUNDLES = {
    "fstab": lambda: fstab(20_000, 1),
    "fstab-jobs": lambda: fstab(2_000, 50),
    "members": members,
    "jobs": jobs,
    "timer": timer,
    "findings": lambda: fstab(20_000, 1, "rw,nobarrier"),
    "stacks": stacks,
}


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or BUNDLES:
        if name not in BUNDLES:
            sys.exit(f"{name}: no such bundle; there are {', '.join(BUNDLES)}")
        BUNDLES[name]().write(directory / f"{name}.tar")


if __name__ == "__main__":
    main()
