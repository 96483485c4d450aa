#!/usr/bin/env python3
"""Makes a history of nightly trials with known causes in it: ./history.py FOLDER [NIGHTS]

400 nights of 40 metrics, each at 02:00 UTC, with the same noise for the same seed. What is planted:

- fstrim on Mondays at 06:47 (in FOLDER/../crontab): what writes slows down by 0.9 % a day after it, and
  recovers on Tuesday night;
- another kernel from night 200 on: aggregations take 6 % longer for good;
- another server version from night 280 on, and a note by hand on night 300: nothing follows from either;
- five trials that are not valid, one that was killed, and six nights on which the host was off.
"""

import json
import random
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

SEED = 20
FIRST = datetime(2025, 10, 20, 2, 0, tzinfo=timezone.utc)  # a Monday
KERNEL_NIGHT, VERSION_NIGHT, NOTE_NIGHT = 200, 280, 300
OFF = range(150, 156)
KILLED = 310
INVALID = {
    47: ("foreign_cpu", "other processes used 14.2 % of the CPU time",
         "Stop them, or move the trial to a time or host where they do not run.", 0.71),
    133: ("scheduled_job", "backup.sh ran within the trial", "Start the trial 40 min later.", 0.38),
    251: ("steal", "the hypervisor took 6.1 % of the CPU time",
          "Run on a host of your own, or at another time.", 0.90),
    252: ("steal", "the hypervisor took 5.7 % of the CPU time",
          "Run on a host of your own, or at another time.", 0.91),
    390: ("drift", "search was 9.3 % slower in the last third than in the first",
          "Warm up for longer.", 0.94),
}
# Operation, requests a second, whether it writes, documents in a request.
OPERATIONS = [
    ("bulk", 48.0, True, 1000),
    ("update", 2100.0, True, None),
    ("search", 880.0, False, None),
    ("aggregate", 64.0, False, None),
]
LATENCIES = [("mean_ms", 1.0, 0.01), ("p50_ms", 0.93, 0.01), ("p90_ms", 1.4, 0.012),
             ("p99_ms", 2.6, 0.02), ("p99_9_ms", 4.4, 0.04), ("max_ms", 9.0, 0.15)]


def stamp(at):
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def slowness(night, started, writes, operation):
    """How much longer a request takes than on the first night after a trim."""
    factor = 1.0
    if writes:
        trimmed = started.replace(hour=6, minute=47) - timedelta(days=started.weekday())
        if trimmed > started:
            trimmed -= timedelta(days=7)
        factor *= 1.0 + 0.009 * (started - trimmed).total_seconds() / 86400
    if operation == "aggregate" and night >= KERNEL_NIGHT:
        factor *= 1.06
    return factor


def operation(noise, night, started, name, rate, writes, documents):
    factor = slowness(night, started, writes, name)
    if night in INVALID:
        factor /= INVALID[night][3]
    rate = rate / factor * noise.gauss(1, 0.01)
    latency = {key: 8e3 / rate / 8 * share * noise.gauss(1, spread)
               for key, share, spread in LATENCIES}
    return {
        "phase": "measured", "operation": name, "open": False, "duration_s": 1200.0,
        "succeeded": round(rate * 1200), "errors": {}, "unfinished": 0,
        "requests_per_s": rate, "documents_per_s": documents and documents * rate,
        "latency": latency, "service": None, "lateness": None,
    }


def trial(night, noise):
    started = FIRST + timedelta(days=night)
    ended = started + timedelta(minutes=25)
    document = {
        "schema": "trimtab.trial/1", "tool_version": "0.1.0",
        "id": started.strftime("%Y%m%dT%H%M%SZ") + f"-{noise.getrandbits(16):04x}",
        "track": "logs", "track_crc32": "5f1c9a20", "target": "http://es-bench:9200",
        "started_at": stamp(started), "ended_at": stamp(ended), "time_zone": "UTC",
        "state": "complete", "state_detail": None,
        "environment": {
            "kernel": "6.1.0-41-amd64" if night >= KERNEL_NIGHT else "6.1.0-40-amd64",
            "server version": "8.19.2" if night >= VERSION_NIGHT else "8.19.1",
            "mount options": "rw,noatime", "governor": "performance",
        },
        "operations": [operation(noise, night, started, *one) for one in OPERATIONS],
        "server": {
            "merge_time_s": 310 * noise.gauss(1, 0.02), "merges": round(noise.gauss(540, 12)),
            "refreshes": round(noise.gauss(1210, 9)), "gc_time_s": 4.1 * noise.gauss(1, 0.05),
        },
        "host": {
            "written_bytes": 61e9 * noise.gauss(1, 0.01), "read_bytes": 2.2e9 * noise.gauss(1, 0.03),
            "discarded_bytes": 0.0, "cpu_steal": abs(noise.gauss(0, 0.0005)),
        },
        "jobs": [], "judgement": {"reasons": [], "unchecked": []}, "notes": [],
    }
    if night in INVALID:
        check, found, remedy, _ = INVALID[night]
        document["judgement"]["reasons"] = [{"check": check, "found": found, "remedy": remedy}]
    if night == 133:
        document["jobs"] = [{"name": "backup.sh", "started_at": stamp(started + timedelta(minutes=9)),
                             "is_logged": True, "is_within": True}]
    if night == KILLED:
        document.update(state="running", ended_at=None, judgement=None, operations=[], server={}, host={})
    return document


def make(folder, nights=400):
    noise = random.Random(SEED)
    for night in range(nights):
        document = trial(night, noise)
        if night in OFF:
            continue
        place = folder / document["id"]
        place.mkdir(parents=True)
        (place / "trial.json").write_text(json.dumps(document, indent=2))
        for name in ["client.csv", "host.csv"]:
            (place / name).write_text("time,value\n")
    note = (FIRST + timedelta(days=NOTE_NIGHT)).date()
    (folder / "notes.csv").write_text(f"{note},moved to new racks\n")
    (folder.parent / "crontab").write_text(
        "47 6 * * 1 /sbin/fstrim -av\n17 3 * * * /usr/local/bin/backup.sh\n25 6 * * * /usr/sbin/logrotate\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]), *map(int, sys.argv[2:]))
