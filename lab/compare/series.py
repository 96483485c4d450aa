"""Random time series with jobs: sawteeth, spikes, weekends, steps and autocorrelated noise."""

import csv
import datetime
import json
import math
import random
from pathlib import Path
from zoneinfo import ZoneInfo

ZONES = ["UTC", "UTC", "Europe/Berlin", "America/New_York", "Asia/Seoul", "Australia/Lord_Howe"]

# Name; schedule (cron's five fields); and the same as weekday (Monday is 0) or None, hour, minute.
JOBS = [
    ("/sbin/fstrim --all", "47 6 * * 0", (6, 6, 47)),
    ("/sbin/fstrim /data", "0 3 * * *", (None, 3, 0)),
    ("/usr/local/bin/backup.sh", "30 1 * * *", (None, 1, 30)),
    ("/usr/bin/mysqldump --all-databases", "15 2 * * 1-5", None),
    ("/usr/bin/find / -xdev -size +1G", "10 4 1 * *", None),
    ("/usr/sbin/logrotate /etc/logrotate.conf", "25 6 * * *", (None, 6, 25)),
    ("/usr/local/bin/reindex", "0 22 * * 5", (4, 22, 0)),
    ("/usr/local/bin/metrics", "*/30 * * * *", None),
    ("/usr/bin/updatedb", "@weekly", (6, 0, 0)),
    ("/usr/share/mdadm/checkarray --all", "57 0 1-7 * *", None),
]


def make(directory, seed):
    """Writes one time series with its jobs and events into `directory`; returns the arguments for `explain`."""
    rng = random.Random(f"series {seed}")
    directory = Path(directory)
    directory.mkdir(parents=True)
    zone = rng.choice(ZONES)
    step_s = rng.choice([300, 600, 900, 1800, 3600, 3600, 7200, 14400])
    days = rng.choice([10, 21, 35, 60, 90, 180, 400])
    samples = min(days * 86_400 // step_s, rng.choice([1_000, 2_000, 4_000]))
    start = datetime.datetime(2023, 1, 2, tzinfo=datetime.timezone.utc) + datetime.timedelta(
        days=rng.randrange(600), seconds=rng.randrange(0, 86_400, 60)
    )
    times = _times(rng, start, step_s, samples)
    jobs = rng.sample(JOBS, rng.randint(0, 5))
    culprit = rng.choice([job for job in jobs if job[2]] or [None])
    columns = {}
    for number in range(rng.choice([1, 1, 1, 2, 3])):
        columns[f"series-{number}"] = _values(rng, times, zone, culprit)
    arguments = ["explain", str(_history(rng, directory, times, columns, zone))]
    arguments += _jobs(rng, directory, jobs, zone)
    if rng.random() < 0.8:
        arguments += ["--tz", zone]
    if rng.random() < 0.7:
        arguments += ["--better", rng.choice(["higher", "lower"])]
    if rng.random() < 0.2:
        arguments += ["--events", str(_events(rng, directory, times))]
    if rng.random() < 0.15:
        arguments += ["--since", times[len(times) // 5].strftime("%Y-%m-%dT%H:%M:%SZ")]
    if rng.random() < 0.2:
        arguments += ["--seed", str(rng.randint(2, 9))]
    return arguments


def _times(rng, start, step_s, samples):
    """Sample times, with occasional gaps."""
    holes = []
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 6)):
            first = rng.randrange(samples)
            holes.append(range(first, first + rng.randint(1, max(2, samples // 20))))
    jitter_s = rng.choice([0, 0, step_s // 20])
    return [
        start + datetime.timedelta(seconds=index * step_s + rng.randint(0, jitter_s))
        for index in range(samples)
        if not any(index in hole for hole in holes)
    ]


def _values(rng, times, zone, culprit):
    """A curve: a base level plus some of the patterns."""
    zone = ZoneInfo(zone)
    level = rng.choice([1.0, 50.0, 1000.0, 250_000.0])
    kinds = [kind for kind in PATTERNS if rng.random() < 0.35]
    patterns = [PATTERNS[kind](rng, times, zone, culprit) for kind in kinds]
    remembered = rng.choice([0.0, 0.3, 0.6, 0.9, 0.98])
    deviation = rng.choice([0.005, 0.02, 0.05, 0.15])
    noise, values = 0.0, []
    for time in times:
        noise = remembered * noise + rng.gauss(0, deviation * math.sqrt(1 - remembered**2))
        local = time.astimezone(zone)
        factor = 1 + noise + sum(pattern(time, local) for pattern in patterns)
        if rng.random() < 0.0005:
            factor *= rng.choice([0.1, 5])
        values.append(max(0.0, level * factor))
    return values


def _when(rng, culprit):
    if culprit and rng.random() < 0.8:
        return culprit[2]
    return (rng.choice([None, rng.randrange(7)]), rng.randrange(24), rng.choice([0, 15, 30, 47]))


def _since(local, weekday, hour, minute):
    """Hours since the last run."""
    hours = local.hour - hour + (local.minute - minute) / 60 + local.second / 3600
    if weekday is None:
        return hours % 24
    return (hours + 24 * (local.weekday() - weekday)) % 168


def _sawtooth(rng, times, zone, culprit):
    weekday, hour, minute = _when(rng, culprit)
    depth = rng.choice([0.03, 0.1, 0.3])
    period = 24 if weekday is None else 168
    ends = times[-1] if rng.random() < 0.7 else times[len(times) * 2 // 3]

    def pattern(time, local):
        if time > ends:
            return 0.0
        return -depth * _since(local, weekday, hour, minute) / period

    return pattern


def _spike(rng, times, zone, culprit):
    weekday, hour, minute = _when(rng, culprit)
    height = rng.choice([-0.6, -0.2, 0.3, 1.5])
    hours = rng.choice([0.3, 1, 3])
    begins = times[0] if rng.random() < 0.7 else times[len(times) // 3]

    def pattern(time, local):
        if time < begins or _since(local, weekday, hour, minute) >= hours:
            return 0.0
        return height

    return pattern


def _wave(rng, times, zone, culprit):
    peak, height = rng.randrange(24), rng.choice([0.1, 0.4])
    return lambda time, local: height * math.cos((local.hour + local.minute / 60 - peak) * math.pi / 12)


def _weekend(rng, times, zone, culprit):
    depth = rng.choice([-0.5, -0.2, 0.2])
    return lambda time, local: depth if local.weekday() >= 5 else 0.0


def _step(rng, times, zone, culprit):
    steps = [(rng.choice(times), rng.choice([-0.3, -0.1, 0.1, 0.5])) for _ in range(rng.randint(1, 3))]
    return lambda time, local: sum(height for at, height in steps if time >= at)


def _drift(rng, times, zone, culprit):
    share = rng.choice([-0.3, 0.3])
    first, length = times[0], max(1.0, (times[-1] - times[0]).total_seconds())
    return lambda time, local: share * (time - first).total_seconds() / length


def _odd_period(rng, times, zone, culprit):
    period_s = rng.choice([5 * 3600, 17 * 3600, 52 * 3600])
    height, share = rng.choice([-0.3, 0.3]), rng.choice([0.05, 0.2])
    return lambda time, local: height if time.timestamp() % period_s < share * period_s else 0.0


PATTERNS = {
    "sawtooth": _sawtooth,
    "spike": _spike,
    "wave": _wave,
    "weekend": _weekend,
    "step": _step,
    "drift": _drift,
    "odd period": _odd_period,
}


def _history(rng, directory, times, columns, zone):
    """Writes the file: CSV or TSV with times in UTC, local time or since 1970, or JSON lines."""
    form = rng.choice(["csv", "csv", "tsv", "jsonl"])
    said = rng.choice(["utc", "utc", "epoch", "local"])
    if said == "utc":
        texts = [time.strftime("%Y-%m-%dT%H:%M:%SZ") for time in times]
    elif said == "epoch":
        texts = [int(time.timestamp()) for time in times]
    else:
        texts = [time.astimezone(ZoneInfo(zone)).isoformat() for time in times]
    path = directory / f"history.{form}"
    rows = zip(texts, *columns.values())
    with path.open("w", newline="") as file:
        if form == "jsonl":
            for text, *values in rows:
                named = {name: round(value, 4) for name, value in zip(columns, values)}
                file.write(json.dumps({"time": text, **named}) + "\n")
        else:
            writer = csv.writer(file, delimiter="\t" if form == "tsv" else ",", lineterminator="\n")
            writer.writerow(["time", *columns])
            for text, *values in rows:
                writer.writerow([text, *(f"{value:.4f}" for value in values)])
    return path


def _jobs(rng, directory, jobs, zone):
    form = rng.choice(["root", "root", "crontab", "none"])
    if form == "none" or not jobs:
        return ["--jobs", "none"]
    if form == "crontab":
        path = directory / "crontab"
        path.write_text("".join(f"{when} {command}\n" for command, when, _ in jobs))
        return ["--jobs", str(path)]
    root = directory / "root"
    for below in ("etc/cron.d", "etc/cron.weekly", "etc/systemd/system"):
        (root / below).mkdir(parents=True)
    (root / "etc/timezone").write_text(zone + "\n")
    (root / "etc/hostname").write_text("host-1\n")
    lines = [f"{when} root {command}\n" for command, when, _ in jobs]
    half = len(lines) // 2
    weekly = "47 6 * * 7 root cd / && run-parts --report /etc/cron.weekly\n"
    (root / "etc/crontab").write_text("SHELL=/bin/sh\n" + "".join(lines[:half]) + weekly)
    (root / "etc/cron.d/site").write_text("".join(lines[half:]))
    if rng.random() < 0.5:
        for name, command in (("fstrim", "/sbin/fstrim --all"), ("man-db", "mandb --quiet")):
            script = root / "etc/cron.weekly" / name
            script.write_text(f"#!/bin/sh\n{command} || true\n")
            script.chmod(0o755)
    if rng.random() < 0.4:
        units = root / "etc/systemd/system"
        when = rng.choice(["weekly", "Sun *-*-* 04:00:00", "*-*-* 02:30:00", "Mon..Fri 05:15"])
        (units / "scrub.timer").write_text(f"[Timer]\nOnCalendar={when}\nRandomizedDelaySec=600\n")
        (units / "scrub.service").write_text("[Service]\nExecStart=/usr/local/bin/scrub\n")
        (units / "timers.target.wants").mkdir()
        (units / "timers.target.wants/scrub.timer").symlink_to("../scrub.timer")
    return ["--jobs", str(root)]


def _events(rng, directory, times):
    path = directory / "events.csv"
    lines = []
    for number, time in enumerate(sorted(rng.sample(times, min(len(times), rng.randint(1, 8))))):
        length = f",{rng.choice([60, 600])}" if rng.random() < 0.5 else ""
        lines.append(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ')},deployment {number}{length}\n")
    path.write_text("".join(lines))
    return path
