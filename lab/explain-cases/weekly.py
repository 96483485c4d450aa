#!/usr/bin/env python3
"""One weekly storm in ten forms of histories that people keep, and the same histories without it.

    weekly.py write DIRECTORY    writes DIRECTORY/storms/*, DIRECTORY/nulls/*, and the crontab of that host
    weekly.py check DIRECTORY    checks what `trimtab explain` says of them (FILE.answer, FILE.code)

Five weeks, a sample every 10 minutes. Each Sunday at 03:30 the crontab's fstrim discards for 40 minutes; reads and
writes wait meanwhile. The nulls are the same weeks with the same noise, and no storm; the crontab is the same, too. Which
series tells it, and what else may show it, is argued from the form's own columns (FORMS).
"""

import json
import os
import random
import sys
from dataclasses import replace
from pathlib import Path

import ftdc
from shapes import NEW, OPS, Disk, Report, clock, iostat, iostat_json, noisy, sadf_json, sar, varied, vmstat, write

STEP_S = 600
WEEKS = 5
PER_DAY = 86400 // STEP_S
START_S = 1788739200        # Monday 2026-09-07, 00:00 UTC
SUNDAY_0330 = 6 * PER_DAY + 3 * 6 + 3
STORM_SAMPLES = 4
CRONTAB = """\
17 * * * * root run-parts /etc/cron.hourly
25 6 * * * root run-parts /etc/cron.daily
0 2 * * 6 root /usr/local/bin/backup
30 3 * * 0 root /sbin/fstrim --all
0 22 1 * * root /usr/local/bin/monthly-report
"""
QUIET = Disk(r=156, r_kb=2500, r_ms=0.8, w=85, w_kb=590, w_ms=0.5, w_mrg=4, f=9.7, f_ms=0.4)
STORM = replace(QUIET, r=70, r_kb=1100, r_ms=18, w_ms=9, d=60, d_kb=520_000, d_ms=14, f_ms=11)


def weeks(has_storm, seed="weekly"):
    """The reports, the first of which ends one step after the start."""
    rng, reports = random.Random(seed), []
    for n in range(WEEKS * 7 * PER_DAY):
        at = n % (7 * PER_DAY) - SUNDAY_0330
        is_storm = 0 <= at < STORM_SAMPLES
        # Drawn either way, so that nothing else differs.
        quiet, storm, busy, waits = varied(rng, QUIET), varied(rng, STORM), noisy(rng, 4), noisy(rng, 9)
        disk = storm if has_storm and is_storm else quiet
        cpu = (busy, busy / 4, waits if has_storm and is_storm else busy / 8)
        blocked = 3 if has_storm and is_storm else rng.randrange(2)
        reports.append(Report(START_S + (n + 1) * STEP_S, STEP_S, cpu, {"nvme0n1": disk}, blocked))
    return reports


def latencies_ms(reports):
    return [report.disks["nvme0n1"].r_ms for report in reports]


def days_of_sar(reports):
    """One file a day, one after the other, as `for day in sa??; do sar -d -u -f $day; done` prints them."""
    days = [reports[at:at + PER_DAY] for at in range(0, len(reports), PER_DAY)]
    # The day's last report, at midnight, is in the next day's file.
    return "\n\n".join(sar(NEW, day[:-1], where="C") for day in days) + "\n"


def csv(reports):
    rows = zip(reports, latencies_ms(reports))
    return "time,latency_ms\n" + "".join(f"{clock(r.end_s, '%Y-%m-%dT%H:%M:%SZ')},{ms:.3f}\n" for r, ms in rows)


def query_range(reports):
    values = [[report.end_s, f"{ms / 1000:.6f}"] for report, ms in zip(reports, latencies_ms(reports))]
    metric = {"__name__": "store:read_latency_seconds:p99", "instance": "es1:9100", "job": "node"}
    data = {"resultType": "matrix", "result": [{"metric": metric, "values": values}]}
    return json.dumps({"status": "success", "data": data})


def search(reports):
    """Buckets are named by their start."""
    buckets = [{"key_as_string": clock(r.end_s - STEP_S, "%Y-%m-%dT%H:%M:%S.000Z"), "key": (r.end_s - STEP_S) * 1000,
                "doc_count": 60, "latency_ms": {"value": ms}} for r, ms in zip(reports, latencies_ms(reports))]
    return json.dumps({"took": 12, "timed_out": False, "_shards": {"total": 5, "successful": 5, "failed": 0},
                       "hits": {"total": {"value": 10000, "relation": "gte"}, "hits": []},
                       "aggregations": {"per_10m": {"buckets": buckets}}})


def counters(reports):
    """The fields of /proc/diskstats behind the name, at the end of each report."""
    totals, rows = [0.0] * 17, []
    for report in reports:
        disk, rates = report.disks["nvme0n1"], []
        for op in OPS:
            rate, kb, merged, ms = (getattr(disk, op + tail) for tail in ("", "_kb", "_mrg", "_ms"))
            rates += [rate, rate * ms] if op == "f" else [rate, merged, 2 * kb, rate * ms]
        rates[8:8] = [0, disk.util() * 10, disk.queue() * 1000]
        totals = [total + rate * report.seconds for total, rate in zip(totals, rates)]
        rows.append([int(total) for total in totals])
    return rows


def diagnostic_data(reports):
    """mongod's file, a chunk for each 300 samples."""
    rows, chunks = counters(reports), []
    ftdc.APART_MS = STEP_S * 1000
    for at in range(0, len(rows), 300):
        ftdc.START_MS = reports[at].end_s * 1000
        chunks.append(ftdc.chunk("nvme0n1", rows[at:at + 300]))
    return b"".join(chunks)


def json_lines(reports):
    rows = zip(reports, latencies_ms(reports))
    return "".join(json.dumps({"@timestamp": r.end_s * 1000, "host": "es1", "latency_ms": ms}) + "\n" for r, ms in rows)


# file, writer, what tells the storm: parts of names of series, of which each must
FORMS = [
    ("iostat-xt.txt", lambda reports: iostat(NEW, reports, where="ISO", stamped=True), ["r_await", "w_await", "%iowait"]),
    ("iostat-xt.json", lambda reports: iostat_json(NEW, reports, where="ISO", stamped=True), ["r_await", "w_await"]),
    ("sar-d.txt", days_of_sar, ["await", "%iowait"]),
    ("sadf.json", lambda reports: sadf_json(NEW, reports), ["await", "iowait"]),
    ("vmstat-t.txt", lambda reports: vmstat(NEW, reports, stamped=True), ["wa"]),
    ("latency.csv", csv, ["latency_ms"]),
    ("query_range.json", query_range, ["store:read_latency_seconds:p99"]),
    ("metrics.2026-09-07T00-00-00Z-00000", diagnostic_data, ["read_time_ms"]),
    ("search.json", search, ["latency_ms"]),
    ("latency.jsonl", json_lines, ["latency_ms"]),
]


# Further nulls, of the forms with the most series and with whole numbers.
MORE_NULLS = [(f"{seed}-{name}", seed, writer) for seed in range(1, 6) for name, writer, _ in FORMS
              if name in ("sadf.json", "vmstat-t.txt")]
# A false claim in one log of twenty: the false discovery rate that explain allows among a log's series is 5 %.
FALSE_MAX = 1


def write_one(out, path, text):
    if isinstance(text, bytes):
        os.makedirs(os.path.dirname(f"{out}/{path}"), exist_ok=True)
        Path(f"{out}/{path}").write_bytes(text)
    else:
        write(out, path, text)


def write_all(out):
    for folder, has_storm in (("storms", True), ("nulls", False)):
        reports = weeks(has_storm)
        for name, writer, _ in FORMS:
            write_one(out, f"{folder}/{name}", writer(reports))
    for name, seed, writer in MORE_NULLS:
        write_one(out, f"nulls/{name}", writer(weeks(False, seed)))
    write(out, "etc/crontab", CRONTAB)


def answer(path):
    code = int(Path(f"{path}.code").read_text())
    try:
        return {one["name"]: one["verdict"] for one in json.loads(Path(f"{path}.answer").read_text())["result"]["series"]}, code
    except ValueError:
        return None, code


def blamed(verdict):
    return [job for one in verdict["classes"][:1] for job in one["jobs"]]


def storm(path, telling):
    """What is wrong in the answer for a storm."""
    series, code = answer(path)
    if series is None:
        return [f"not read (exit code {code})"]
    wrong = [] if code == 1 else [f"exit code {code}"]
    for part in telling:
        told = [verdict for name, verdict in series.items() if part in name]
        good = [one for one in told if one["kind"] == "periodic" and any("fstrim" in job for job in blamed(one))]
        if not good:
            wrong.append(f"{part}: {[one['sentence'] for one in told] or sorted(series)}")
    others = [name for name, one in series.items() if any("fstrim" not in job for job in blamed(one))]
    return wrong + ([f"blames another job: {others}"] if others else [])


def null(path):
    """What is wrong in the answer for the same weeks without a storm."""
    series, code = answer(path)
    if series is None:
        return [f"not read (exit code {code})"]
    claims = [f"{name}: {one['sentence']}" for name, one in series.items() if one["kind"] not in ("none", "undecided")]
    return claims + ([] if code == 0 else [f"exit code {code}"])


def check(out):
    names = [name for name, _, _ in FORMS]
    missed = {name: storm(f"{out}/storms/{name}", telling) for name, _, telling in FORMS}
    claimed = {name: null(f"{out}/nulls/{name}") for name in names + [name for name, _, _ in MORE_NULLS]}
    for folder, judged in (("storms", missed), ("nulls", claimed)):
        for name, wrong in judged.items():
            if wrong:
                print(f"  {folder}/{name}: {'; '.join(wrong)}")
    storms, nulls = (sum(map(bool, judged.values())) for judged in (missed, claimed))
    print(f"  a weekly storm in {len(missed)} forms: {storms} missed; {len(claimed)} logs without one: {nulls} with a claim "
          f"(at most {FALSE_MAX})")
    return 1 if storms or nulls > FALSE_MAX else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    sys.exit(write_all(sys.argv[2]) if sys.argv[1] == "write" else check(sys.argv[2]))
