#!/usr/bin/env python3
"""Makes the bundles of a fleet, as `trimtab collect` writes them: TRIMTAB DIRECTORY NUMBER [SEED]. Most hosts hold MongoDB's
data on NVMe and have fstrim.timer as the distribution has it; some differ in one or two things, and one archive is torn. Hosts
beyond the first thousand are those once more, under other names."""
import io
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor

trimtab, into, number = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
into.mkdir(parents=True, exist_ok=True)
here = pathlib.Path(__file__).parent


def make(index: int) -> None:
    chance = random.Random(f"{seed}/{index}")
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder) / "host"
        subprocess.run([here / "tree.py", top, str(chance.choice([1, 1, 2, 4])), "0"], check=True)

        def put(name: str, text: str) -> None:
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

        put("proc/sys/kernel/hostname", f"db{index:04}\n")
        (top / "etc/cron.weekly/fstrim").unlink()
        (top / "run/systemd/system").mkdir(parents=True)
        put("usr/lib/systemd/system/fstrim.service", "[Service]\nType=oneshot\nExecStart=/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo\n")
        put("usr/lib/systemd/system/fstrim.timer",
            "[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\nRandomizedDelaySec=6000\n[Install]\nWantedBy=timers.target\n")
        wants = top / "etc/systemd/system/timers.target.wants"
        wants.mkdir(parents=True)
        odd = chance.random()
        if odd < 0.03:  # one whose trim is off
            pass
        else:
            (wants / "fstrim.timer").symlink_to("/lib/systemd/system/fstrim.timer")
        if 0.03 <= odd < 0.08:  # an option of long ago
            mounts = (top / "proc/self/mountinfo").read_text()
            put("proc/self/mountinfo", mounts.replace("- xfs /dev/nvme0n1 rw", "- xfs /dev/nvme0n1 rw,nobarrier"))
        elif odd < 0.12:
            block = next(top.glob("sys/devices/*/*/nvme/nvme0/nvme0n1"))
            (block / "queue/discard_max_bytes").write_text("0\n")
        elif odd < 0.15:
            put("etc/cron.d/backup", "30 2 * * * root mongodump --out /backup\n")
        bundle = into / f"db{index:04}.tar.zst"
        subprocess.run([trimtab, "collect", "--root", top, "-o", bundle, "--force"], check=True, capture_output=True)


MADE_MAX = 1000


def repeat(index: int) -> None:
    """Copies a host under as many names as are wanted."""
    packed = into / f"db{index:04}.tar.zst"
    plain = subprocess.run(["zstd", "-dcq", packed], check=True, capture_output=True).stdout
    members = [(member, archive.extractfile(member)) for archive in [tarfile.open(fileobj=io.BytesIO(plain))] for member in archive]
    members = [(member, content.read() if content else b"") for member, content in members]
    for name in (f"db{other:04}" for other in range(index + MADE_MAX, number, MADE_MAX)):
        with tarfile.open(into / f"{name}.tar", "w") as archive:
            for member, content in members:
                if member.name.endswith("proc/sys/kernel/hostname"):
                    content = f"{name}\n".encode()
                    member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


with ThreadPoolExecutor(2) as pool:
    list(pool.map(make, range(min(number, MADE_MAX))))
    list(pool.map(repeat, range(min(number - MADE_MAX, MADE_MAX) if number > MADE_MAX else 0)))
torn = into / f"db{number:04}.tar.zst"
torn.write_bytes((into / "db0000.tar.zst").read_bytes()[:300])
