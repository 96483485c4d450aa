#!/usr/bin/env python3
"""Curves for the tests of real servers: writes them in a server's format, and compares what was read back.

    curves.py openmetrics                       the history for Prometheus
    curves.py bulk TYPED                        documents for Elasticsearch; TYPED: 1 with mapping types (6.8)
    curves.py compare CASE SAMPLES              SAMPLES: series, microseconds and value, separated by tabs
    curves.py verdict KIND DOCUMENT             DOCUMENT: output of `trimtab explain --format json` for `wait`

All curves are functions of the minute: two hosts, 14 days from 2026-01-05 (a Monday), one sample per minute.
- load: falls from 1,000 by 1/16 per minute and recovers each Monday; db2 is 100 higher. Eighths and sixteenths
  are exact in binary, in single precision as well.
- bytes: a counter that grows by 60 per minute, by 600 from 02:00 to 02:59; it is reset on the ninth day.
- wait: about 5, and 35 in the five minutes from 03:10 on each day; db2 has no such spikes.
- stall: of a third host, about 5, and 20 in the eight minutes after its timer `nightly` starts, at any time between 02:00
  and 04:00. node_exporter tells when that and another timer started last.
- There are no samples from day 3 12:00 to day 3 14:00.
"""

import json
import random
import sys

START_S = 1767571200
MINUTES = 14 * 1440
GAP = range(3 * 1440 + 720, 3 * 1440 + 840)
RESET = 8 * 1440
HOSTS = ("db1", "db2")


def load(host, minute):
    return 1000 - (minute % 10080) / 16 + 100 * HOSTS.index(host)


def waits():
    """Reproducible noise, in multiples of 1/16."""
    noise = random.Random(310)
    return {host: [round(16 * noise.gauss(5, 0.5)) / 16 for _ in range(MINUTES)] for host in HOSTS}


WAITS = waits()
# Minute of the day.
SPIKE = range(190, 195)


def wait(host, minute):
    return WAITS[host][minute] + (30 if host == "db1" and minute % 1440 in SPIKE else 0)


def counters():
    total = 0
    for minute in range(MINUTES):
        if minute == RESET:
            total = 0
        total += 600 if minute % 1440 // 60 == 2 else 60
        yield total


COUNTER = list(counters())


def openmetrics_of_timers():
    draw = random.Random(258)
    starts = {name: [86400 * day + draw.uniform(7200, 14400) for day in range(MINUTES // 1440)]
              for name in ("nightly", "tidy")}
    minutes = [minute for minute in range(MINUTES) if minute not in GAP]
    print("# TYPE node_systemd_timer_last_trigger_seconds gauge")
    for name, moments in starts.items():
        for minute in minutes:
            past = [at for at in moments[: minute // 1440 + 1] if at <= 60 * minute]
            last = f"{START_S + past[-1]:.6f}" if past else "0"
            print(f'node_systemd_timer_last_trigger_seconds{{instance="db3:9100",name="{name}.timer"}} {last} '
                  f"{START_S + 60 * minute}")
    print("# TYPE lab_stall gauge")
    for minute in minutes:
        is_stalled = 0 <= 60 * minute - starts["nightly"][minute // 1440] < 480
        print(f'lab_stall{{instance="db3:9114",job="lab"}} {draw.gauss(5, 0.5) + 15 * is_stalled:.4f} '
              f"{START_S + 60 * minute}")


def openmetrics():
    print("# TYPE lab_load gauge")
    for host in HOSTS:
        for minute in range(MINUTES):
            if minute not in GAP:
                value = "NaN" if minute % 5000 == 4999 else load(host, minute)
                print(f'lab_load{{host="{host}",job="lab"}} {value} {START_S + 60 * minute}')
    print("# TYPE lab_wait gauge")
    for host in HOSTS:
        for minute in range(MINUTES):
            if minute not in GAP:
                print(f'lab_wait{{host="{host}",job="lab"}} {wait(host, minute)} {START_S + 60 * minute}')
    print("# TYPE lab_bytes counter")
    for minute in range(MINUTES):
        if minute not in GAP:
            print(f'lab_bytes_total{{host="db1",job="lab"}} {COUNTER[minute]} {START_S + 60 * minute}')
    openmetrics_of_timers()
    print("# EOF")


def bulk(typed):
    kind = {"_type": "_doc"} if typed else {}
    for host in HOSTS:
        for minute in range(MINUTES):
            if minute in GAP:
                continue
            # At a different second within each minute.
            time_ms = (START_S + 60 * minute) * 1000 + minute * 7919 % 60000
            print(json.dumps({"index": {"_index": f"lab-{minute // 10080}", **kind}}))
            print(json.dumps({
                "@timestamp": time_ms, "load": load(host, minute), "bytes": COUNTER[minute],
                "wait": wait(host, minute),
                "host": {"name": host}, "text": f"of {host}", "odd": minute % 2 == 1,
            }))


def mean_per(step, value):
    """Mean values per step of minutes, keyed by the step."""
    out = {}
    for minute in range(MINUTES):
        if minute not in GAP:
            out.setdefault(minute // step, []).append(value(minute))
    return {at: sum(values) / len(values) for at, values in out.items()}


def at_s(seconds):
    return int((START_S + seconds) * 1_000_000)


def rates(step):
    """The counter's rate per second, keyed by the end of the step; omitted where it was reset."""
    largest = {}
    for minute in range(MINUTES):
        if minute not in GAP:
            largest[minute // step] = max(largest.get(minute // step, 0), COUNTER[minute])
    steps, out = sorted(largest), {}
    for before, step_at in zip(steps, steps[1:]):
        if largest[step_at] >= largest[before]:
            grown = largest[step_at] - largest[before]
            out[at_s(60 * step * (step_at + 1))] = grown / (60 * step * (step_at - before))
    return out


def expected(case):
    minutes = [minute for minute in range(MINUTES) if minute not in GAP]
    if case == "prometheus-load":
        # A sample is valid for the next five minutes, unless there is a newer one.
        last = {minute: minute for minute in minutes}
        for late in range(GAP.start, GAP.start + 5):
            last[late] = GAP.start - 1
        return {
            f'lab_load{{host="{host}"}}': {
                at_s(60 * at): float(load(host, of)) for at, of in sorted(last.items()) if of % 5000 != 4999
            }
            for host in HOSTS
        }
    if case == "prometheus-day":
        return {
            f'lab_load{{host="{host}"}}': {
                at_s(60 * at): float(load(host, at)) for at in range(1440, 2880)
            }
            for host in HOSTS
        }
    if case == "elastic-mean":
        values = mean_per(1, lambda minute: (load("db1", minute) + load("db2", minute)) / 2)
        return {"load mean": {at_s(60 * at + 60): value for at, value in values.items()}}
    if case == "elastic-split":
        return {
            f"load {figure} host.name.keyword={host}": {
                at_s(3600 * at + 3600): value
                for at, value in mean_per(60, lambda minute, host=host: load(host, minute)).items()
            }
            for host in HOSTS
            for figure in ("mean",)
        }
    if case == "elastic-filter":
        values = mean_per(60, lambda minute: load("db2", minute))
        whole = {at: value for at, value in values.items() if 24 <= at < 48}
        return {"load mean": {at_s(3600 * at + 3600): value for at, value in whole.items()}}
    if case == "elastic-rate":
        return {"bytes rate": rates(60)}
    sys.exit(f"unknown case {case}")


def compare(case, path):
    found = {}
    for line in open(path):
        name, time_us, value = line.rstrip("\n").split("\t")
        found.setdefault(name, {})[int(time_us)] = float(value)
    wanted = expected(case)
    if found.keys() != wanted.keys():
        sys.exit(f"{case}: series {sorted(found)}, expected {sorted(wanted)}")
    count = 0
    for name, samples in wanted.items():
        if found[name].keys() != samples.keys():
            odd = sorted(found[name].keys() ^ samples.keys())
            sys.exit(f"{case}: {name}: {len(odd)} times differ, such as {odd[:3]}")
        for at, value in samples.items():
            if abs(found[name][at] - value) > 1e-9 * max(1, abs(value)):
                sys.exit(f"{case}: {name} at {at}: {found[name][at]}, expected {value}")
        count += len(samples)
    print(f"{case}: {count} values of {len(wanted)} series agree")


def verdict(kind, path):
    """Checks one series for each host: db1's spikes recur daily at their time, and db2 has none."""
    series = json.load(open(path))["result"]["series"]
    by_host = {host: [one for one in series if host in one["name"]] for host in HOSTS}
    if len(series) != 2 or any(len(of_host) != 1 for of_host in by_host.values()):
        sys.exit(f"unexpected series {[one['name'] for one in series]}")
    (one,), (other,) = by_host.values()
    told = one["verdict"]
    said = told["sentence"]
    if (told["kind"], told["shape"], told["cycle"]) != (kind, "spike", "day") or told["period_s"] != 86400:
        sys.exit(f"{told['kind']}, {told['shape']} every {told['period_s']} s, expected {kind}: {said}")
    # Each detected spike begins within a step or two of 03:10, and nearly every day has one.
    begins = [event["from"] for event in told["events"]]
    days = {at[:10] for at in begins}
    if len(days) < 9 or not all("03:07" <= at[11:16] <= "03:12" for at in begins):
        sys.exit(f"spikes begin at {begins}")
    jobs = [job for each in told["classes"][:1] for job in each["jobs"]]
    if kind == "periodic" and not (len(jobs) == 1 and "backup" in jobs[0] and told["classes"][0]["role"] == "hurts"):
        sys.exit(f"unexpected jobs {told['classes']}")
    if other["verdict"]["kind"] != "none":
        sys.exit(f"{other['name']}, which is noise: {other['verdict']['sentence']}")
    print(said)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "compare":
        compare(*rest)
    elif what == "verdict":
        verdict(*rest)
    elif what == "openmetrics":
        openmetrics()
    else:
        {"bulk": bulk}[what](rest[0] == "1")
