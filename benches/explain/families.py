#!/usr/bin/env python3
"""Families of histories with a known cause, among ten jobs of a Debian host that are innocent.

Where histories.py collects what earlier versions got wrong, each family here is one thing that real hosts do:
summer time, late collectors, timers with a random delay, jobs that grow, load with edges at which idle jobs run.
Every seed draws its own time, length, samples and size; an event is at least twice the noise of a sample, so that
the samples can tell. A verdict is

    right    it names the job that does it, or none where none does
    among    it names several that cannot be told apart, the right one among them
    fits     it names none, but says that the right one fits
    unnamed  it says neither
    wrong    it names another job, or says of one that it fits by 95 % or more

Then a table says how often a share that was said of the first class was right.

    benches/explain/families.py TRIMTAB [--seeds N] [--only NAME]... [--each]
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import datetime
import functools
import math
import os
import pathlib
import random
import tempfile
import zoneinfo

from verdicts import verdict_on

MINUTE, HOUR, DAY, WEEK = 60, 3600, 86400, 7 * 86400
UTC = datetime.timezone.utc
MONDAY = datetime.datetime(2026, 6, 1, tzinfo=UTC).timestamp()
BIN = "/usr/local/bin/"
# What runs on a Debian host with a few packages, as lines of /etc/crontab without the user.
DECOYS = """17 * * * * hourly
25 6 * * * daily
47 6 * * 7 weekly
52 6 1 * * monthly
0 0 * * * logrotate
5-55/10 * * * * sysstat
59 23 * * * sysstat-night
9,39 * * * * php-sessions
30 3 * * 0 e2scrub
57 0 * * 0 checkarray
"""
FAMILIES = {}


@dataclasses.dataclass
class Host:
    """What the tool is told of jobs, by path."""

    crontab: str = ""
    zone: str = "UTC"
    files: dict = dataclasses.field(default_factory=dict)
    links: dict = dataclasses.field(default_factory=dict)
    log: str | None = None


@dataclasses.dataclass
class Family:
    """One history: samples, the host, and who did it."""

    samples: list
    host: Host
    # The job's name; None if no job does anything.
    job: str | None


def family(make):
    FAMILIES[make.__name__] = make
    return make


def local(zone, days, hour, minute, start=MONDAY):
    """Moments at a local time on each day from the one before `start` on; an hour that is skipped counts an hour later."""
    tz = zoneinfo.ZoneInfo(zone)
    first = datetime.datetime.fromtimestamp(start, tz).date()
    dates = (first + datetime.timedelta(days=day) for day in range(-1, days + 2))
    at = datetime.time(hour, minute)
    return [datetime.datetime.combine(date, at, tz).timestamp() for date in dates]


def grid(rng, step_s, days, start=MONDAY, aligned=False, jitter_s=0.0, lost=0.0):
    """Times of samples; each stands for the time since the one before."""
    phase = 0 if aligned else rng.uniform(0, step_s)
    times = (start + phase + step_s * n + rng.gauss(0, 1) * jitter_s for n in range(1, int(days * DAY // step_s)))
    return sorted(at for at in times if rng.random() >= lost)


def shares(times, events, step_s):
    """The part of each sample's time that events fill."""
    events = sorted(events)
    out, first = [], 0
    for number, at in enumerate(times):
        since = times[number - 1] if number and at - times[number - 1] < 1.5 * step_s else at - step_s
        while first < len(events) and events[first][0] + events[first][1] < since - DAY:
            first += 1
        share = 0.0
        for start, length in events[first:]:
            if start >= at:
                break
            share += max(0.0, min(at, start + length) - max(since, start))
        out.append(min(1.0, share / (at - since)))
    return out


def curve(rng, times, share, size, noise=0.1, kept=0.0, factor=lambda at: 1.0, shape=None):
    """Values: a level with noise that remembers, and events that add `size` times the level."""
    values, left = [], 0.0
    for at, part in zip(times, share):
        left = kept * left + rng.gauss(0, noise * math.sqrt(1 - kept * kept))
        value = 100 * factor(at) * (1 + size * part) * (1 + left)
        values.append(shape(value) if shape else value)
    return list(zip(times, values))


def visible(rng, share, noise, sigmas=(2, 6)):
    """A size at which an event is so many times the noise of its sample."""
    largest = max(share, default=0.0)
    return rng.uniform(*sigmas) * noise / max(largest, 1e-9)


def daily(rng, step_s, zone="UTC", at=None, start=MONDAY, weeks=None, aligned=False, length_s=None, samples=None, **more):
    """A daily job of one length, and its samples: those of `curve`, unless `samples` makes others."""
    weeks = weeks or rng.randint(4, 12)
    hour, minute = at or (rng.randrange(24), rng.randrange(60))
    times = grid(rng, step_s, weeks * 7, start, aligned, more.pop("jitter_s", 0.0), more.pop("lost", 0.0))
    length_s = length_s or rng.uniform(5, 60) * MINUTE
    events = [(run, length_s) for run in local(zone, weeks * 7, hour, minute, start)]
    share = shares(times, events, step_s)
    noise, sigmas = more.pop("noise", 0.1), more.pop("sigmas", (2, 6))
    if samples:
        made = samples(times, share)
    else:
        made = curve(rng, times, share, visible(rng, share, noise, sigmas), noise, **more)
    return Family(made, Host(DECOYS + f"{minute} {hour} * * * job\n", zone), "job")


def any_step(rng):
    return rng.choice([5, 10, 15, 30, 60]) * MINUTE


@family
def daily_job(rng):
    return daily(rng, any_step(rng))


@family
def daily_job_in_whole_hours(rng):
    return daily(rng, HOUR, aligned=True)


@family
def across_summer_time(rng):
    spring = datetime.datetime(2026, 3, 29, tzinfo=UTC).timestamp()
    weeks = rng.randint(6, 12)
    return daily(rng, any_step(rng), "Europe/Berlin", None, spring - rng.randint(2, weeks - 2) * WEEK, weeks)


@family
def across_summer_time_at_half_past_two(rng):
    autumn = datetime.datetime(2026, 10, 25, tzinfo=UTC).timestamp()
    weeks = rng.randint(6, 12)
    return daily(rng, any_step(rng), "Europe/Berlin", (2, 30), autumn - rng.randint(2, weeks - 2) * WEEK, weeks)


@family
def late_collectors_and_gaps(rng):
    step_s = rng.choice([5, 10, 15, 30]) * MINUTE
    return daily(rng, step_s, jitter_s=step_s * 0.15, lost=0.2)


def add_timer(host, name, time, more=""):
    """A systemd timer that starts a job each day."""
    unit = f"etc/systemd/system/{name}"
    host.files[unit + ".timer"] = f"[Timer]\nOnCalendar=*-*-* {time}\n{more}\n[Install]\nWantedBy=timers.target\n"
    host.files[unit + ".service"] = f"[Service]\nType=oneshot\nExecStart={BIN}{name}\n"
    host.links[f"etc/systemd/system/timers.target.wants/{name}.timer"] = f"/etc/systemd/system/{name}.timer"


def beside_each_other(rng, culprit):
    """A cron job by local time and a timer in UTC, which begin together until summer time begins; one of them does it."""
    weeks, change = rng.randint(6, 12), datetime.datetime(2026, 3, 29, tzinfo=UTC).timestamp()
    start = change - rng.randint(2, weeks - 2) * WEEK
    hour, minute = rng.randrange(23), rng.randrange(60)
    zone, local_hour = "Europe/Berlin", hour + 1
    own = (zone, (local_hour, minute)) if culprit == "backup" else ("UTC", (hour, minute))
    made = daily(rng, any_step(rng), *own, start, weeks)
    made.host = Host(DECOYS + f"{minute} {local_hour} * * * backup\n", zone)
    add_timer(made.host, "report", f"{hour:02}:{minute:02}:00 UTC")
    made.job = culprit
    return made


@family
def a_utc_job_beside_a_local_one(rng):
    return beside_each_other(rng, "report")


@family
def a_local_job_beside_one_in_utc(rng):
    return beside_each_other(rng, "backup")


@family
def random_delay(rng):
    """A systemd timer with RandomizedDelaySec, anew each day."""
    step_s, weeks, delay_s = any_step(rng), rng.randint(4, 12), 100 * MINUTE
    hour, minute = rng.randrange(24), rng.randrange(60)
    times = grid(rng, step_s, weeks * 7)
    length_s = rng.uniform(10, 60) * MINUTE
    events = [(at + rng.uniform(0, delay_s), length_s) for at in local("UTC", weeks * 7, hour, minute)]
    share = shares(times, events, step_s)
    samples = curve(rng, times, share, visible(rng, share, 0.1))
    host = Host(DECOYS)
    add_timer(host, "job", f"{hour:02}:{minute:02}:00", "RandomizedDelaySec=100min\n")
    return Family(samples, host, "job")


@family
def a_job_that_grows(rng):
    step_s, weeks = any_step(rng), rng.randint(6, 12)
    hour, minute = rng.randrange(24), rng.randrange(60)
    times = grid(rng, step_s, weeks * 7)
    runs = local("UTC", weeks * 7, hour, minute)
    first_s, last_s = rng.uniform(5, 15) * MINUTE, rng.uniform(60, 180) * MINUTE
    events = [(at, first_s + (last_s - first_s) * number / len(runs)) for number, at in enumerate(runs)]
    share = shares(times, events, step_s)
    samples = curve(rng, times, share, visible(rng, share, 0.1))
    return Family(samples, Host(DECOYS + f"{minute} {hour} * * * job\n"), "job")


@family
def drift_and_steps(rng):
    """A job every four hours, while the level drifts and steps."""
    step_s, weeks = rng.choice([5, 10, 15, 30]) * MINUTE, rng.randint(4, 8)
    first, minute = rng.randrange(4), rng.randrange(60)
    times = grid(rng, step_s, weeks * 7)
    begin = MONDAY + first * HOUR + minute * MINUTE
    events = [(begin + 4 * HOUR * n, rng.uniform(10, 30) * MINUTE) for n in range(-6, weeks * 42 + 6)]
    share = shares(times, events, step_s)
    steps = sorted(rng.uniform(0, weeks * WEEK) for _ in range(3))
    levels = [rng.uniform(0.7, 1.4) for _ in range(4)]
    drift = rng.uniform(-0.3, 0.5)
    factor = lambda at: levels[sum(at - MONDAY > step for step in steps)] * (1 + drift * (at - MONDAY) / (weeks * WEEK))
    samples = curve(rng, times, share, visible(rng, share, 0.1), factor=factor)
    return Family(samples, Host(DECOYS + f"{minute} {first}-23/4 * * * job\n"), "job")


@family
def at_midnight(rng):
    made = daily(rng, any_step(rng), at=(0, rng.choice([0, 0, 1, 5])))
    return made


@family
def lognormal_noise(rng):
    shape = lambda value: 100 * math.exp(value / 100 - 1)
    return daily(rng, any_step(rng), noise=0.4, shape=shape)


@family
def means_of_lognormal_times(rng):
    """An event adds to a sample in proportion to its share of the time; the noise multiplies all."""
    sigma = 0.4

    def samples(times, share):
        # Where it fills most of a sample, it is as many times the noise as in other families, by logarithms.
        size = math.expm1(rng.uniform(2, 6) * sigma) / max(share)
        return [(at, 100 * (1 + size * part) * rng.lognormvariate(0, sigma)) for at, part in zip(times, share)]

    return daily(rng, any_step(rng), samples=samples)


@family
def an_integer_gauge(rng):
    return daily(rng, any_step(rng), shape=lambda value: round(value / 12))


def humps(rng, step_s, edges, busy_days=range(7)):
    """Load between hours of the day with steep edges, and idle jobs near these."""
    weeks = rng.randint(4, 12)
    times = grid(rng, step_s, weeks * 7, aligned=rng.random() < 0.5)
    sizes = [rng.uniform(0.4, 1.5) for _ in edges]

    def factor(at):
        if int((at - MONDAY) // DAY) % 7 not in busy_days:
            return 1.0
        hour = (at - step_s / 2) % DAY / HOUR
        return 1 + sum(size for size, (since, until) in zip(sizes, edges) if since <= hour < until)

    samples = curve(rng, times, [0.0] * len(times), 0.0, rng.choice([0.05, 0.1]), rng.choice([0, 0.5]), factor)
    jobs = ""
    for number, (since, until) in enumerate(edges):
        for name, at in (("rise", since), ("fall", until)):
            minute = (round(at * 60) + rng.randint(-20, 20)) % 1440
            jobs += f"{minute % 60} {minute // 60} * * * {name}-{number}\n"
    return Family(samples, Host(DECOYS + jobs), None)


def edges_of(rng):
    first = rng.uniform(5, 10)
    second = first + rng.uniform(5, 8)
    return [(first, first + rng.uniform(2, 4.5)), (second, min(23.5, second + rng.uniform(2, 4.5)))]


@family
def nobody_humps_by_the_hour(rng):
    return humps(rng, HOUR, edges_of(rng))


@family
def nobody_humps_by_half_an_hour(rng):
    return humps(rng, 30 * MINUTE, edges_of(rng))


@family
def nobody_working_hours(rng):
    begin = rng.uniform(7, 9.5)
    return humps(rng, rng.choice([5, 15, 60]) * MINUTE, [(begin, begin + rng.uniform(8, 10))], range(5))


@family
def nobody_a_morning_job_at_the_edge(rng):
    """Working hours that begin gently, and a job in the middle of that which does nothing."""
    step_s, weeks, begin = rng.choice([5, 60]) * MINUTE, rng.randint(4, 12), rng.uniform(7, 9)
    times = grid(rng, step_s, weeks * 7)

    def factor(at):
        hour = at % DAY / HOUR
        if int((at - MONDAY) // DAY) % 7 > 4:
            return 1.0
        return 1 + 0.4 * (math.tanh((hour - begin) * 3) - math.tanh((hour - begin - 9) * 3))

    samples = curve(rng, times, [0.0] * len(times), 0.0, 0.1, 0.5, factor)
    minute = round(begin * 60)
    return Family(samples, Host(DECOYS + f"{minute % 60} {minute // 60} * * * job\n"), None)


def by_hand(rng, step_s, factor, hours):
    """Load by a factor of time, and idle jobs at some hours of the day."""
    weeks = rng.randint(4, 12)
    times = grid(rng, step_s, weeks * 7, aligned=rng.random() < 0.5)
    samples = curve(rng, times, [0.0] * len(times), 0.0, rng.choice([0.05, 0.1]), rng.choice([0, 0.5]), factor)
    minutes = [round(hour * 60) % 1440 for hour in hours]
    jobs = "".join(f"{at % 60} {at // 60} * * * job-{number}\n" for number, at in enumerate(minutes))
    return Family(samples, Host(DECOYS + jobs), None)


def by_the_hour(rng, steps_min, kept, is_straight):
    """Each hour has a level, more or less like that of the hour before, with straight lines between or none, and less at
    weekends; jobs run at the steepest."""
    step_s, weekend = rng.choice(steps_min) * MINUTE, rng.uniform(0.3, 1.0)
    logs = [rng.gauss(0, 0.5)]
    for _ in range(23):
        logs.append(kept * logs[-1] + math.sqrt(1 - kept * kept) * rng.gauss(0, 0.5))
    levels = [math.exp(log) for log in logs]

    def factor(at):
        hour, part = divmod((at - step_s / 2) % DAY / HOUR, 1)
        part = part if is_straight else 0.0
        level = levels[int(hour)] * (1 - part) + levels[(int(hour) + 1) % 24] * part
        return 1 + level * (weekend if int((at - MONDAY) // DAY) % 7 > 4 else 1.0)

    steepest = sorted(range(24), key=lambda hour: -abs(levels[(hour + 1) % 24] - levels[hour]))[:3]
    return by_hand(rng, step_s, factor, [hour + rng.uniform(-0.3, 0.3) for hour in steepest])


@family
def nobody_load_by_the_hour_of_the_day(rng):
    return by_the_hour(rng, [5, 15, 30, 60], 0.7, is_straight=True)


@family
def nobody_hours_unlike_each_other(rng):
    """Samples that show no edge."""
    return by_the_hour(rng, [30, 60], 0.0, is_straight=False)


@family
def nobody_a_break_at_noon(rng):
    """Working hours with a break, which people begin and end within a quarter of an hour or so, and jobs at noon."""
    step_s, begin, soft = rng.choice([5, 10, 15]) * MINUTE, rng.uniform(7, 9), rng.uniform(0.1, 0.3)
    noon, length, depth = rng.uniform(11.6, 12.6), rng.uniform(0.7, 1.3), rng.uniform(0.3, 0.8)

    def factor(at):
        hour = (at - step_s / 2) % DAY / HOUR
        if int((at - MONDAY) // DAY) % 7 > 4:
            return 1.0
        rise = lambda since, width: (1 + math.tanh((hour - since) / width)) / 2
        work = rise(begin, 0.3) - rise(begin + 9, 0.3)
        return 1 + work - depth * (rise(noon, soft) - rise(noon + length, soft))

    return by_hand(rng, step_s, factor, [noon, noon + rng.uniform(-0.3, 0.3), noon + length])


@family
def nobody_a_weekly_cause_that_no_list_has(rng):
    """Nightly samples; each week one is bad, and no job runs on that day alone."""
    weeks, day, hour = rng.randint(12, 40), rng.randrange(7), rng.randrange(24)
    times = [MONDAY + n * DAY + hour * HOUR + rng.uniform(0, 20 * MINUTE) for n in range(weeks * 7)]
    share = [1.0 if n % 7 == day else 0.0 for n in range(len(times))]
    samples = curve(rng, times, share, rng.uniform(0.25, 0.6))
    # The decoys' own weekly jobs run on Sundays.
    recurring = "".join(f"{rng.randrange(60)} {rng.randrange(24)} * * * {name}\n" for name in ("backup", "report"))
    daily_only = "".join(line + "\n" for line in DECOYS.splitlines() if not line.split()[4] in "07")
    return Family(samples, Host(daily_only + recurring), None)


def syslog(rng, runs):
    """Lines of cron for (moment, job)."""
    lines = []
    for at, job in sorted(runs):
        when = datetime.datetime.fromtimestamp(at + rng.uniform(0, 2), UTC).isoformat(timespec="microseconds")
        lines.append(f"{when} db1 CRON[{rng.randrange(1000, 30000)}]: (root) CMD ({BIN}{job})\n")
    return "".join(lines)


@family
def a_job_that_only_a_log_knows(rng):
    made = daily(rng, any_step(rng))
    *decoys, own = made.host.crontab.splitlines()
    minute, hour = own.split()[:2]
    made.host.crontab = "\n".join(decoys) + "\n"
    days = int((made.samples[-1][0] - MONDAY) // DAY)
    runs = [(at, "job") for at in local("UTC", days, int(hour), int(minute))]
    runs += [(at, "daily") for at in local("UTC", days, 6, 25)]
    made.host.log = syslog(rng, runs)
    return made


@family
def a_job_that_stopped(rng):
    """It ran until the middle, as its log shows; the crontab has it no more."""
    step_s, weeks = any_step(rng), rng.randint(6, 12)
    hour, minute = rng.randrange(24), rng.randrange(60)
    times = grid(rng, step_s, weeks * 7)
    ended = MONDAY + weeks * WEEK * rng.uniform(0.4, 0.6)
    length_s = rng.uniform(5, 60) * MINUTE
    runs = [at for at in local("UTC", weeks * 7, hour, minute) if at < ended]
    share = shares(times, [(at, length_s) for at in runs], step_s)
    samples = curve(rng, times, share, visible(rng, share, 0.1))
    logged = [(at, "job") for at in runs] + [(at, "daily") for at in local("UTC", weeks * 7, 6, 25)]
    return Family(samples, Host(DECOYS, log=syslog(rng, logged)), "job")


@family
def ten_minutes_apart(rng):
    """Another job runs ten minutes before or after; samples of five minutes can tell."""
    made = daily(rng, 5 * MINUTE, at=(rng.randrange(1, 23), rng.randrange(60)), length_s=rng.uniform(5, 30) * MINUTE)
    minute, hour = map(int, made.host.crontab.splitlines()[-1].split()[:2])
    other = hour * 60 + minute + rng.choice([-10, 10])
    made.host.crontab += f"{other % 60} {other // 60} * * * other\n"
    return made


@family
def a_loud_job(rng):
    """Events of 20 to 100 times the noise."""
    return daily(rng, any_step(rng), noise=0.02, sigmas=(20, 100))


@family
def idle_neighbours(rng):
    """Jobs a quarter of an hour to 40 minutes before and after, and one of every half hour, do nothing."""
    made = daily(rng, rng.choice([5, 10, 15]) * MINUTE)
    minute, hour = map(int, made.host.crontab.splitlines()[-1].split()[:2])
    for name, sign in (("before", -1), ("after", 1)):
        at = (hour * 60 + minute + sign * rng.randint(15, 40)) % 1440
        made.host.crontab += f"{at % 60} {at // 60} * * * {name}\n"
    made.host.crontab += "*/30 * * * * half-hourly\n"
    return made


def write(host, directory):
    """The host's files, and the arguments that name them."""
    root = directory / "host"
    (root / "etc").mkdir(parents=True)
    lines = [line.split(maxsplit=5) for line in host.crontab.splitlines()]
    (root / "etc/crontab").write_text("".join(f"{' '.join(line[:5])} root {BIN}{line[5]}\n" for line in lines))
    (root / "etc/timezone").write_text(host.zone + "\n")
    (root / "etc/localtime").symlink_to(f"/usr/share/zoneinfo/{host.zone}")
    for path, text in host.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path, target in host.links.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    if host.log is not None:
        (root / "var/log").mkdir(parents=True)
        (root / "var/log/syslog").write_text(host.log)
    return ["--jobs", str(root), "--tz", host.zone]


def judge(made, verdict):
    def short(jobs):
        return {job.rsplit("/", 1)[-1].rsplit(" ", 1)[-1].removesuffix(".timer").removesuffix(".service") for job in jobs}

    classes = [(short(listed["jobs"]), listed["score"]) for listed in verdict["classes"]]
    names = classes[0][0] if verdict["kind"] == "periodic" and classes else set()
    # A share is said, unless load looks the same; it counts as wrong where naming would.
    of_load = ("may be ordinary load", "more likely reduced load", "may be part of the larger wave of load")
    is_load = any(words in verdict["sentence"] for words in of_load)
    is_said = bool(classes) and not is_load
    said = classes[0][1] if is_said else None
    is_right = made.job in classes[0][0] if classes else False
    if not names:
        if is_said and said >= 0.95 and not is_right:
            judged = "wrong"
        elif made.job is None:
            judged = "right"
        else:
            judged = "fits" if any(made.job in jobs for jobs, _ in classes) else "unnamed"
    elif made.job is None:
        judged = "wrong"
    else:
        judged = "right" if names == {made.job} else "among" if made.job in names else "wrong"
    return judged, said, is_right


def run(trimtab, name, seed):
    rng = random.Random(f"{name} {seed}")
    made = FAMILIES[name](rng)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        lines = (f"{datetime.datetime.fromtimestamp(at, UTC).isoformat()},{value:.6g}\n" for at, value in made.samples)
        (directory / "curve.csv").write_text("time,value\n" + "".join(lines))
        verdict = verdict_on(trimtab, directory / "curve.csv", "--better", "lower", *write(made.host, directory))
    return *judge(made, verdict), verdict["sentence"]


def reliability(told):
    """A table of shares that were said of the first class, and how often that was right, and the same as a picture."""
    edges = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
    print("\n| said | verdicts | mean said | right |\n|---|---|---|---|")
    error, bars, width = 0.0, [], 50
    for low, high in zip(edges, edges[1:]):
        within = [(said, right) for said, right in told if low <= said < high or said == high == 1.0]
        if within:
            mean = sum(said for said, _ in within) / len(within)
            found = sum(right for _, right in within) / len(within)
            error += abs(mean - found) * len(within) / len(told)
            print(f"| {low:.0%} to {high:.0%} | {len(within)} | {mean:.1%} | {found:.1%} |")
            bar = list(("#" * round(found * width)).ljust(width + 1))
            bar[round(mean * width)] = "|"
            bars.append(f"{low:>4.0%} to {high:>4.0%}  {''.join(bar).rstrip()}")
    print("\nRight (#), and what was said (|):\n\n```text")
    print("\n".join(bars) + f"\n{'':14}0%{'50%':>{width // 2}}{'100%':>{width // 2}}\n```")
    print(f"\nExpected calibration error over {len(told)} verdicts: {error:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trimtab", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--each", action="store_true", help="prints each sentence")
    args = parser.parse_args()
    trimtab = args.trimtab.resolve()
    if not trimtab.is_file():
        parser.error(f"there is no program {trimtab}: make release")
    told = []
    total, columns = collections.Counter(), ("right", "among", "fits", "unnamed", "wrong")
    print(f"| family | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in args.only or FAMILIES:
            seeds = range(args.first, args.first + args.seeds)
            count = collections.Counter()
            for seed, (judged, said, is_right, sentence) in zip(seeds, pool.map(functools.partial(run, trimtab, name), seeds)):
                count[judged] += 1
                if said is not None:
                    told.append((said, is_right))
                if args.each:
                    print(f"<!-- {name} {seed} {judged}, said {said}, first listed {is_right}: {sentence} -->")
            print(f"| {name.replace('_', ' ')} | {' | '.join(str(count[column]) for column in columns)} |", flush=True)
            total += count
    print(f"| all | {' | '.join(str(total[column]) for column in columns)} |")
    reliability(told)


if __name__ == "__main__":
    main()
