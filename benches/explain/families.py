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
    reversed it names the right one, but says that values are better while it runs
    wrong    it names another job, or says of one that it fits by 95 % or more

The families of schedules.py, hosts as distributions install them today, are run as well. Some of their histories cannot be
told from noise and have rows of their own; tables by what was drawn are over the families of timers, without those.

Then a table says how often a share that was said of the first class was right.

    benches/explain/families.py TRIMTAB [--seeds N] [--only NAME]... [--today | --random] [--each]
"""

import argparse
import concurrent.futures
import datetime
import functools
import math
import os
import pathlib

import judging
from making import (BIN, DAY, DECOYS, FAMILIES, HOUR, MINUTE, MONDAY, UTC, WEEK, Family, Host, curve, family, grid, local,
                    shares, visible)


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


# They register themselves: after those above, so that tables have the order of the two files.
OLDER = set(FAMILIES)
import schedules  # noqa: E402,F401
TODAY = FAMILIES.keys() - OLDER


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trimtab", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--random", action="store_true", help="the family `timers` alone, which draws everything")
    parser.add_argument("--today", action="store_true", help="the families of schedules.py alone")
    parser.add_argument("--each", action="store_true", help="prints each sentence")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    args = parser.parse_args()
    trimtab = args.trimtab.resolve()
    if not trimtab.is_file():
        parser.error(f"there is no program {trimtab}: make release")
    names = ["timers"] if args.random else args.only or [name for name in FAMILIES if not args.today or name in TODAY]
    seeds = range(args.first, args.first + args.seeds)
    answers = []
    judging.print_heading()
    with concurrent.futures.ProcessPoolExecutor(args.processes) as pool:
        for name in names:
            of_family = []
            for seed, answer in zip(seeds, pool.map(functools.partial(judging.ask, trimtab, name), seeds)):
                of_family.append(answer)
                if args.each:
                    print(f"<!-- {name} {seed} {answer} -->", flush=True)
            judging.print_family(name.replace("_", " "), of_family)
            answers += of_family
    judging.print_family("all", answers)
    judging.print_by_size(answers)
    judging.print_reliability(answers)


if __name__ == "__main__":
    main()
