"""Times two builds alternately: see speed.sh."""

import datetime
import json
import random
import resource
import statistics
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def main():
    old, new, work, rounds, pages = sys.argv[1:]
    work, rounds = Path(work), int(rounds)
    host = REPOSITORY / "lab/hosts/lvm-linear-thin.tar.zst"
    state = str(_state(work))
    calls = {
        "check, a recorded host": ["check", "--bundle", str(host), "--format", "json"],
        "explain, a year of minutes and 50 jobs": [
            "explain", str(_year(work)), "--jobs", str(_jobs(work)), "--tz", "UTC", "--format", "json",
        ],
        "shards, 25,000 on 2 nodes, cold": ["shards", "reroute", "--state", state, "--format", "json"],
        "shards, 25,000 on 2 nodes, warm": [
            "shards", "what-if", "--state", state, "--add-node", "new-1", "--rounds", "100", "--format", "json",
        ],
        f"ssd, {pages} pages": [
            "ssd", "run", "--capacity", "1TB", "--writes-per-day", "1TB", "--simulated-pages", pages,
            "--warm-up-days", "1", "--days", "1", "--alone", "--format", "json",
        ],
    }  # fmt: skip
    print(f"| {rounds} rounds, processor time | old, ms | new, ms | new / old |")
    print("|---|---:|---:|---:|")
    for name, arguments in calls.items():
        times = ([], [])
        for program in (old, new):
            _time_ms(program, arguments)  # warms the file cache
        for number in range(rounds):
            # The second program finds warmer caches, so alternate the order.
            for which in (0, 1) if number % 2 else (1, 0):
                times[which].append(_time_ms((old, new)[which], arguments))
        before, after = map(statistics.median, times)
        print(f"| {name} | {before:.1f} | {after:.1f} | {after / before:.3f} |", flush=True)


def _time_ms(program, arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # A recorded host has an answer and exit code 2 where some rules had nothing to look at.
    if done.returncode not in (0, 1) and not done.stdout:
        sys.exit(f"{program} {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
    return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def _year(work):
    """A weekly sawtooth plus noise, one sample per minute."""
    rng = random.Random(1)
    start = datetime.datetime(2023, 1, 1, tzinfo=datetime.timezone.utc)
    path = work / "year.csv"
    with path.open("w") as file:
        file.write("time,throughput\n")
        for minute in range(365 * 24 * 60):
            time = start + datetime.timedelta(minutes=minute)
            value = 1000 * (1 - 0.2 * ((minute - 407) % 10_080) / 10_080 + rng.gauss(0, 0.03))
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ')},{value:.2f}\n")
    return path


def _jobs(work):
    rng = random.Random(2)
    path = work / "crontab"
    lines = ["47 6 * * 0 /sbin/fstrim --all\n"]
    for number in range(49):
        when = rng.choice(["{m} {h} * * *", "{m} {h} * * {d}", "*/{s} * * * *", "{m} {h} 1 * *"])
        when = when.format(m=rng.randrange(60), h=rng.randrange(24), d=rng.randrange(7), s=rng.randint(5, 30))
        lines.append(f"{when} /usr/local/bin/job-{number}\n")
    path.write_text("".join(lines))
    return path


def _state(work):
    """2,500 indices with five primaries and a replica each, all started on two nodes."""
    metadata, table = {}, {}
    for number in range(2_500):
        name = f"index-{number:05}"
        shards, in_sync = {}, {}
        for shard in range(5):
            ids = [f"{name}-{shard}-{copy}" for copy in range(2)]
            in_sync[str(shard)] = ids
            shards[str(shard)] = [
                {
                    "state": "STARTED",
                    "primary": copy == 0,
                    "node": f"id-{(number + shard + copy) % 2}",
                    "relocating_node": None,
                    "shard": shard,
                    "index": name,
                    "allocation_id": {"id": identity},
                }
                for copy, identity in enumerate(ids)
            ]
        settings = {"number_of_shards": "5", "number_of_replicas": "1", "creation_date": "1570000000000"}
        metadata[name] = {
            "state": "open",
            "settings": {"index": settings | {"uuid": f"uuid-{number}"}},
            "in_sync_allocations": in_sync,
        }
        table[name] = {"shards": shards}
    nodes = {
        f"id-{number}": {
            "name": f"node-{number}",
            "transport_address": f"10.0.0.{number + 1}:9300",
            "attributes": {},
        }
        for number in range(2)
    }
    path = work / "state.json"
    path.write_text(
        json.dumps(
            {
                "cluster_name": "made-up",
                "master_node": "id-0",
                "nodes": nodes,
                "metadata": {"indices": metadata},
                "routing_table": {"indices": table},
            }
        )
    )
    return path


if __name__ == "__main__":
    main()
