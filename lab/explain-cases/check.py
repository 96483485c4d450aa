#!/usr/bin/env python3
"""Checks the output of `trimtab explain` against the expectations in README.md: check.py CASE FILE.

CASE is curve (the generated CSV itself), jobs, blind, events or iostat (JSON documents).
"""

import csv
import json
import re
import sys
from datetime import datetime, timedelta, timezone

WEEK_S = 7 * 86_400
FSTRIM_AND_MAN_DB = {"cron.weekly/fstrim", "cron.weekly/man-db"}
MONDAYS = ("2016-09-26", "2016-10-03", "2016-10-10")
DAILY_FROM = datetime(2016, 10, 17, tzinfo=timezone.utc)

failures = []


def expect(what, is_so, found=""):
    """Prints one line for each expectation."""
    print(f"  {'ok  ' if is_so else 'FAIL'} {what}" + ("" if is_so else f": {found}"))
    if not is_so:
        failures.append(what)


def moment(text):
    """Parses a time in the document; a resolution of seconds is enough."""
    return datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)


def curve(path):
    """Checks that the generated curve matches the article's."""
    with open(path, newline="", encoding="ascii") as lines:
        rows = [(moment(row["time"]), float(row["throughput"])) for row in csv.DictReader(lines)]
    by_day = {at.strftime("%Y-%m-%d"): value for at, value in rows}
    for monday in MONDAYS:
        start = datetime.strptime(monday, "%Y-%m-%d")
        week = [(start + timedelta(days=day)).strftime("%Y-%m-%d") for day in range(7)]
        values = {day: by_day[day] for day in week if day in by_day}
        peak = max(values, key=values.get)
        expect(f"the week's peak is on Monday {monday}", peak == monday, peak)
        last = values[max(values)]
        expect("and it declines until Sunday", last < 0.93 * values[peak], values)
    late = [value for at, value in rows if at >= DAILY_FROM + timedelta(days=1)]
    spread = (max(late) - min(late)) / max(late)
    expect("from 2016-10-18 on it is level", len(late) > 50 and spread < 0.09, spread)


def pattern(verdict, last_seen):
    """Checks what all three analyses of the curve have in common."""
    expect("a sawtooth", verdict["shape"] == "sawtooth", verdict["shape"])
    period_s = verdict["period_s"] or 0
    expect("every week", abs(period_s / WEEK_S - 1) < 0.01, period_s)
    expect("chance of at most 1 in 100", (verdict["p"] or 1) <= 0.01, verdict["p"])
    until = moment(verdict["until"]) if verdict["until"] else None
    off = abs(until - DAILY_FROM) if until else None
    expect("it ends within a week of 2016-10-17", off is not None and off <= timedelta(days=7), until)
    since = moment(verdict["since"]) if verdict["since"] else None
    early = datetime(2016, 7, 18, tzinfo=timezone.utc)
    expect("it begins with the curve", since is not None and since < early, since)
    ends = [change for change in verdict["changes"] if change["what"] == "pattern_ends"]
    expect("its end is among the changes", len(ends) == 1, verdict["changes"])
    events = [(moment(event["from"]), moment(event["to"])) for event in verdict["events"]]
    for monday in MONDAYS:
        sunday = moment(f"{monday}T06:47:00") - timedelta(days=1)
        around = [(a, b) for a, b in events if a <= sunday <= b]
        expect(f"a recovery before Monday {monday}", len(around) == 1, around)
        for a, b in around:
            expect("no narrower than its nights, and no wider", timedelta(hours=22) <= b - a <= timedelta(hours=50), (a, b))
    expect("none after it ended", all(a <= last_seen for a, _ in events), events[-1:])


def only_verdict(document):
    """The verdict of the curve's only series."""
    series = document["result"]["series"]
    expect("one series", len(series) == 1, [one["name"] for one in series])
    return series[0]["verdict"]


def jobs(path):
    """Checks the analysis with the host's jobs."""
    verdict = only_verdict(load(path))
    pattern(verdict, DAILY_FROM)
    expect("a class of jobs explains it", verdict["kind"] == "periodic", verdict["kind"])
    first = verdict["classes"][0] if verdict["classes"] else {"jobs": [], "role": None, "separate_by": None}
    expect("fstrim and man-db, one class, first", set(first["jobs"]) == FSTRIM_AND_MAN_DB, first["jobs"])
    expect("which heals", first["role"] == "heals", first["role"])
    expect("with the experiment that separates them", bool(first["separate_by"]), first)
    sentence = verdict["sentence"]
    expect("the sentence names both", "fstrim" in sentence and "man-db" in sentence, sentence)
    expect("and the direction", "recover" in sentence, sentence)
    expect("'nothing' was weighed", any("nothing" in one["name"] for one in verdict["candidates"]), verdict["candidates"])


def blind(path):
    """Checks the analysis without jobs."""
    verdict = only_verdict(load(path))
    pattern(verdict, DAILY_FROM)
    expect("no known job", verdict["kind"] == "unattributed", verdict["kind"])
    expect("none is named", not verdict["classes"] and "fstrim" not in verdict["sentence"], verdict["sentence"])


def events(path):
    """Checks the analysis with the times at which fstrim ran."""
    verdict = only_verdict(load(path))
    pattern(verdict, DAILY_FROM)
    expect("the events explain it", verdict["kind"] == "periodic", verdict["kind"])
    first = verdict["classes"][0] if verdict["classes"] else {"jobs": [], "role": None}
    expect("fstrim heals", first["jobs"] == ["fstrim"] and first["role"] == "heals", first)
    ends = [change["beside"] or "" for change in verdict["changes"] if change["what"] == "pattern_ends"]
    rescheduled = re.compile(r"fstrim starts running every (day|24 h) instead of every 7 days")
    expect("the end lies beside the change of its schedule", len(ends) == 1 and rescheduled.search(ends[0]), ends)
    sentence = verdict["sentence"]
    expect("and the sentence says so", rescheduled.search(sentence) and "strong evidence" in sentence, sentence)


def near(found, wanted, within):
    """Whether a value is present and close enough."""
    return found is not None and abs(found - wanted) <= within


def iostat(path):
    """Checks the analysis of the MongoDB article's log."""
    document = load(path)
    logs = document["result"].get("disk_logs") or []
    expect("one log of disks", len(logs) == 1, len(logs))
    if not logs:
        return
    log = logs[0]
    devices = {device["device"]: device for device in log["devices"]}
    for name, times in (("nvme1n1", 13_465), ("md0", 17_429)):
        found = devices[name]["times"]
        expect(f"writes of {name} x{times:,}", near(found, times, 0.5), found)
    down = devices["md0"]["read_down_times"]
    expect("reads of md0 down 7x, then 200x", near(down[0], 7.4, 0.1) and near(down[1], 203, 1), down)
    iowait = next((one for one in log["harm"] if one["what"] == "iowait"), {"from": None, "to": None})
    expect("%iowait 0.2 to 9.8", near(iowait["from"], 0.2, 0.05) and near(iowait["to"], 9.8, 0.05), iowait)
    drives = [f"nvme{number}n1" for number in range(8)]
    rates = [kb_s / 2**20 for name in drives for kb_s in devices[name]["after_kb_s"]]
    expect("7 to 8 GiB/s a drive", 7 <= min(rates) and max(rates) < 8.5, rates)
    expect("probably discards", log["moved"] == "probably_discards", log["moved"])
    expect("md0 consists of the eight drives", devices["md0"]["members"] == drives, devices["md0"]["members"])
    total = sum(devices[name]["after_kb_s"][0] for name in drives)
    expect("and is not added to them", near(log["drives_kb_s"], total, total / 1000), log["drives_kb_s"])
    said, open_questions = " ".join(log["sentences"]), " ".join(log["cannot_tell"])
    expect("that is the harm", "harm" in said, said)
    expect("Sunday's cron neither confirmed nor excluded", "neither confirms nor excludes" in open_questions and "Monday 2020-04-13" in open_questions, open_questions)
    mounts = " ".join(log["mounts"])
    expect("trimmed twice", "trimmed twice" in mounts, mounts)
    expect("nobarrier", "nobarrier" in mounts, mounts)
    for never in ("fstrim", "06:47", "Sunday", "every"):
        expect(f"no claim of {never!r}", never not in said, said)
    kinds = {one["verdict"]["kind"] for one in document["result"]["series"]}
    expect("no pattern in four samples", kinds <= {"none", "undecided"}, kinds)


def load(path):
    """Reads a JSON document written by trimtab explain."""
    with open(path, encoding="utf-8") as text:
        document = json.load(text)
    expect("the document's schema", document["schema"] == "trimtab.explain/1", document["schema"])
    return document


CASES = {case.__name__: case for case in (curve, jobs, blind, events, iostat)}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in CASES:
        sys.exit(f"usage: check.py {'|'.join(CASES)} FILE")
    print(f"case {sys.argv[1]}")
    CASES[sys.argv[1]](sys.argv[2])
    if failures:
        sys.exit(f"{sys.argv[1]}: {len(failures)} expectations of README.md not met")
