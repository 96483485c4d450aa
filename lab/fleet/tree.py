#!/usr/bin/env python3
"""Makes the tree of a host: DIRECTORY, number of drives, each with a filesystem, and number of jobs that copy them."""
import pathlib
import sys

top, drives, jobs = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])


def put(name: str, text: str, mode: int = 0o644) -> None:
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


put("proc/sys/kernel/hostname", "db1\n")
put("proc/sys/kernel/osrelease", "6.1.0-13-amd64\n")
put("proc/uptime", "9000000.00 1.00\n")
put("etc/os-release", 'ID=debian\nVERSION_ID="12"\n')
put("etc/timezone", "UTC\n")
put("usr/share/zoneinfo/UTC", "")
(top / "etc/localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")
mounts = []
for n in range(drives):
    name, number = f"nvme{n}n1", f"259:{n}"
    device = f"sys/devices/pci0000:00/0000:00:{n:02x}.0/nvme/nvme{n}"
    put(f"{device}/model", "SAMSUNG MZQL23T8HCLS\n")
    put(f"{device}/transport", "pcie\n")
    block = f"{device}/{name}"
    put(f"{block}/dev", f"{number}\n")
    put(f"{block}/size", "7501476528\n")
    put(f"{block}/ro", "0\n")
    put(f"{block}/stat", "1 0 8 0 1 0 8 0 0 0 0 9 0 65536 7 0 0\n")
    put(f"{block}/queue/rotational", "0\n")
    put(f"{block}/queue/discard_granularity", "512\n")
    put(f"{block}/queue/discard_max_bytes", "2199023255040\n")
    put(f"{block}/queue/discard_max_hw_bytes", "2199023255040\n")
    put(f"{block}/queue/logical_block_size", "512\n")
    put(f"{block}/queue/physical_block_size", "4096\n")
    for folder in ["sys/block", "sys/class/block", "sys/dev/block"]:
        (top / folder).mkdir(parents=True, exist_ok=True)
    (top / "sys/block" / name).symlink_to(f"../{block[4:]}")
    (top / "sys/class/block" / name).symlink_to(f"../../{block[4:]}")
    (top / "sys/dev/block" / number).symlink_to(f"../../{block[4:]}")
    at = "/data" if n == 0 else f'/data{n}\\040"x'
    mounts.append(f"{21 + n} 1 {number} / {at} rw,noatime - xfs /dev/{name} rw")
put("proc/self/mountinfo", "\n".join(mounts) + "\n")
put("proc/77/comm", "mongod\n")
put("proc/77/cmdline", "mongod\0--dbpath\0/data\0")
put("etc/crontab", "47 6 * * 7 root run-parts --report /etc/cron.weekly\n")
put("etc/cron.weekly/fstrim", "#!/bin/sh\n/sbin/fstrim --all || true\n", 0o755)
put("sbin/fstrim", "", 0o755)
if jobs > 1:
    lines = "".join(f"{n % 60} {n % 24} * * * root rsync -a /data /copy{n}\n" for n in range(jobs - 1))
    put("etc/cron.d/copies", lines)
