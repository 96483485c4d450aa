"""Families of hosts as distributions install them today: timers with random delays, guards, jobs that skip runs.

Every history has the ten decoys, the timers of Debian 12, Debian 13 or Ubuntu 24.04 and up to two idle jobs more, a
daily wave of load, and noise with or without memory. The job's time is drawn such that no other job of the same cadence
could have run at the same times.
"""

import bisect
import dataclasses
import datetime
import math
import zoneinfo

from making import (BIN, DAY, DECOYS, FAMILIES, HOUR, MINUTE, MONDAY, SIZES, WEEK, Facts, Family, family, local)
from packaged import Starts, add_unit, daily_at, default_host, is_told_apart, own_unit

FACTORS = (1.5, 3, 10, 50)
DELAYS_MIN = (0, 5, 20, 100, 360, 720)
LENGTHS_MIN = (5, 20, 60, 180)
STEPS_S = (15, 60, 300, 900, 3600)
KINDS = ("gauge", "mean before", "mean after", "max")
DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
NAMES = ("backup", "report", "reindex", "vacuum", "sync", "snapshot", "compact", "import")
# Enough for 15 seconds over three weeks.
MOST_SAMPLES = 150_000


@dataclasses.dataclass
class Load:
    """Values without any job: a level with a wave by the local time of day, and noise."""

    zone: str
    # By minutes of the week.
    wave: list
    noise: float
    # Seconds after which noise has lost most of its memory; 0 for white noise.
    memory_s: float
    is_proportional: bool

    def level(self, at):
        return self.wave[int((at + self.offset_s(at) - MONDAY) % WEEK // MINUTE)]

    def offset_s(self, at):
        if self.zone == "UTC":
            return 0.0
        return datetime.datetime.fromtimestamp(at // HOUR * HOUR, zoneinfo.ZoneInfo(self.zone)).utcoffset().total_seconds()

    def deviation(self, level):
        return self.noise * (level if self.is_proportional else 100)


def any_load(rng, zone):
    """The wave is 20 to 60 % of the level: smooth, or hours of work with gentle edges."""
    height, minutes = rng.uniform(0.2, 0.6), range(WEEK // MINUTE)
    if rng.random() < 0.5:
        peak = rng.uniform(10, 20)
        wave = [100 * (1 + height * (1 + math.cos((minute / 60 - peak) * math.pi / 12)) / 2) for minute in minutes]
    else:
        begin, length, width = rng.uniform(6, 10), rng.uniform(7, 11), rng.uniform(0.5, 1.5)
        days = rng.choice([5, 7])
        hump = lambda hour: (math.tanh((hour - begin) / width) - math.tanh((hour - begin - length) / width)) / 2
        wave = [100 * (1 + height * (hump(minute / 60 % 24) if minute // 1440 < days else 0.0)) for minute in minutes]
    memory_s = rng.uniform(5, 60) * MINUTE if rng.random() < 0.5 else 0.0
    return Load(zone, wave, math.exp(rng.uniform(math.log(0.02), math.log(0.2))), memory_s, rng.random() < 0.5)


def any_zone(rng):
    return "Europe/Berlin" if rng.random() < 0.25 else "UTC"


def any_weeks(rng, step_s, fewest=4, most=26):
    most = min(most, MOST_SAMPLES * step_s // WEEK)
    return rng.randint(min(fewest, most), most)


def observed(rng, load, events, weeks, step_s, kind, factor):
    """Samples, and for each event that some sample shows by how many deviations of the noise its samples are higher."""
    first = MONDAY + (0 if rng.random() < 0.5 else rng.uniform(0, step_s))
    number = int((weeks * WEEK - (first - MONDAY)) // step_s)
    levels, offset_s = [], 0.0
    for n in range(number):
        at = first + n * step_s
        if n == 0 or at % HOUR < step_s:
            offset_s = load.offset_s(at)
        levels.append(load.wave[int((at + offset_s - MONDAY) % WEEK // MINUTE)])
    parts, excesses = [0.0] * number, []
    for start, length_s in events:
        seen = list(seen_in(kind, start - first, length_s, step_s, number))
        for n, part in seen:
            parts[n] = min(1.0, parts[n] + part)
        if seen:
            highs = [levels[n] * (factor - 1) * part / load.deviation(levels[n]) for n, part in seen]
            excesses.append(sum(highs) / len(highs))
    kept = math.exp(-step_s / load.memory_s) if load.memory_s else 0.0
    fresh, left, samples = math.sqrt(1 - kept * kept), rng.gauss(0, 1), []
    for n, (level, part) in enumerate(zip(levels, parts)):
        left = kept * left + fresh * rng.gauss(0, 1)
        value = level * (1 + (factor - 1) * part)
        samples.append((first + n * step_s, value + left * load.deviation(value)))
    return samples, excesses


def seen_in(kind, start_s, length_s, step_s, number):
    """The samples that show an event, and the part of each."""
    end_s = start_s + length_s
    if kind == "gauge":
        yield from ((n, 1.0) for n in range(max(0, math.ceil(start_s / step_s)), min(number, math.ceil(end_s / step_s))))
        return
    # Sample n stands for the time from `shift` steps before it on.
    shift = 0 if kind == "mean after" else 1
    low, high = math.floor(start_s / step_s) + shift, math.ceil(end_s / step_s) + shift
    for n in range(max(0, low), min(number, high)):
        since = (n - shift) * step_s
        part = (min(end_s, since + step_s) - max(start_s, since)) / step_s
        # A collector that keeps the highest value asks about once a second.
        yield n, part if kind != "max" else float(part * step_s >= 1)


@dataclasses.dataclass
class Job:
    """When a job runs: from a time of the day on, on one day of the week (None: every day)."""

    name: str
    weekday: int | None
    at_s: tuple
    delay_s: float = 0.0
    accuracy_s: float = 0.0
    # The delay, if it is the same each time.
    same_s: float | None = None

    def starts(self):
        """When it begins, as its runs show it: a delay that is always the same shows as one time."""
        days = range(7) if self.weekday is None else (self.weekday,)
        spread_s = (0.0 if self.same_s is not None else self.delay_s) + self.accuracy_s
        return Starts(self.name, tuple(day * DAY + at + (self.same_s or 0.0) for day in days for at in self.at_s), spread_s)

    def runs(self, rng, zone, weeks):
        """Moments at which it begins, from the day before the samples on."""
        due = []
        for at_s in self.at_s:
            days = enumerate(local(zone, weeks * 7, at_s // HOUR, at_s % HOUR // MINUTE), -1)
            due += [at for day, at in days if self.weekday is None or day % 7 == self.weekday]
        aligned_s = rng.uniform(0, MINUTE)
        out = []
        for at in sorted(due):
            at += rng.uniform(0, self.delay_s) if self.same_s is None else self.same_s
            # systemd wakes up once a minute, at a second that each host has for itself, or earlier for something else.
            late_s = (aligned_s - at) % MINUTE if self.accuracy_s == MINUTE else rng.uniform(0, self.accuracy_s)
            out.append(at + late_s)
        return out

    def calendar(self):
        (at_s,) = self.at_s
        if at_s == 0 and self.weekday in (None, 0):
            return "daily" if self.weekday is None else "weekly"
        day = "" if self.weekday is None else DAY_NAMES[self.weekday] + " "
        return f"{day}*-*-* {at_s // HOUR:02}:{at_s % HOUR // MINUTE:02}:00"

    def cron(self):
        (at_s,) = self.at_s
        day = "*" if self.weekday is None else (self.weekday + 1) % 7
        return f"{at_s % HOUR // MINUTE} {at_s // HOUR} * * {day}"


def written(length_s):
    """A length of time as people write it."""
    return f"{length_s // HOUR}h" if length_s % HOUR == 0 else f"{length_s // MINUTE}min"


def add_timer(rng, host, job):
    """A timer of the host's own."""
    more = ""
    if job.delay_s:
        if job.same_s is not None and rng.random() < 0.5:
            more = f"RandomizedOffsetSec={written(job.delay_s)}\n"
        else:
            more = f"RandomizedDelaySec={written(job.delay_s)}\n" + ("" if job.same_s is None else "FixedRandomDelay=true\n")
    more += "AccuracySec=1s\n" if job.accuracy_s < MINUTE else ""
    add_unit(host, job.name, own_unit(job.name, job.calendar(), more + "Persistent=true\n"))


def any_time(rng, hours=(0, 24)):
    """Most people write full hours, halves and quarters."""
    minute = rng.choice([0, 0, 15, 30, 45, rng.randrange(60), rng.randrange(60)])
    return int(rng.uniform(*hours)) % 24 * HOUR + minute * MINUTE


def add_idle_jobs(rng, host, names, own, runs, step_s):
    for name in names:
        for _ in range(50):
            weekday, delay_s = rng.choice([None, rng.randrange(7)]), rng.choice([0, 0, 20, 100]) * MINUTE
            job = Job(name, weekday, (any_time(rng),), delay_s, MINUTE)
            if own is None or is_told_apart(own, job.starts(), runs, step_s):
                break
        else:
            continue
        if job.delay_s or rng.random() < 0.5:
            add_timer(rng, host, job)
        else:
            host.crontab += f"{job.cron()} {name}\n"


def history(rng, *, is_weekly=None, delay_min=None, is_fixed=False, length_min=None, factor=None, step_s=None, kind=None,
            weeks=None, culprit=None, hours=(0, 24), is_timer=True, system=None, works=lambda number: True,
            one_in=1, growth=None, place=None, is_everywhere=False):
    """One history; what is None is drawn.

    `culprit` names a timer of the distribution; `works` says by a run's number whether it does anything, which about one in
    `one_in` does; `growth` is how many times longer the last event is than the first; `place` puts the job on the host,
    instead of a timer or a line of the crontab, and returns by a run's moment whether it does anything."""
    zone = any_zone(rng)
    host, units, others = default_host(rng, zone, system)
    if is_weekly is None:
        is_weekly = rng.random() < 0.5
    delay_min = rng.choice(DELAYS_MIN) if delay_min is None else delay_min
    # Three weeks hold no six weekly runs.
    step_s = step_s or rng.choice(STEPS_S[1:] if is_weekly else STEPS_S)
    weeks = weeks or any_weeks(rng, step_s)
    length_s = (length_min or rng.choice(LENGTHS_MIN)) * MINUTE
    factor_drawn, kind = rng.choice(FACTORS), kind or rng.choice(KINDS)
    factor = factor or factor_drawn
    load = any_load(rng, zone)
    own_name, *idle = rng.sample(NAMES, 1 + rng.randint(0, 2))
    is_packaged = rng.random() < 0.5
    if culprit is None and place is None and is_packaged and not is_fixed:
        culprit = {(True, 100): "fstrim", (False, 720): "man-db"}.get((is_weekly, delay_min))
    # So many runs show: fewer of gauges that miss short events. Histories of less than six do not count.
    shown = min(1.0, length_s / step_s) if kind == "gauge" else 1.0
    telling = max(6, (weeks if is_weekly else weeks * 7) / one_in * shown)
    works_at, is_cron = None, False
    if culprit:
        unit = units[culprit]
        days = {at // DAY for at in unit.at_s}
        weekday = None if len(days) == 7 else days.pop()
        job = Job(culprit, weekday, tuple(sorted({at % DAY for at in unit.at_s})), unit.delay_s, unit.accuracy_s)
        delay_min = unit.delay_s // MINUTE
    else:
        is_cron = delay_min == 0 and (place is not None or rng.random() < 0.5)
        accuracy_s = 0 if is_cron else rng.choice([1, MINUTE])
        weekday = rng.randrange(7) if is_weekly else None
        job = Job(own_name, weekday, (any_time(rng, hours),), delay_min * MINUTE, accuracy_s)
        job.same_s = rng.uniform(0, job.delay_s) if is_fixed else None
        while not all(is_told_apart(job.starts(), other, telling, step_s) for other in others):
            job.at_s = (any_time(rng, hours),)
        if place:
            works_at = place(host, job, zone)
        elif is_cron:
            host.crontab += f"{job.cron()} {own_name}\n"
        else:
            add_timer(rng, host, job)
    add_idle_jobs(rng, host, idle, job.starts(), telling, step_s)
    runs = job.runs(rng, zone, weeks)
    working = [at for n, at in enumerate(runs) if (works_at(at) if works_at else works(n))]
    varies, events = rng.uniform(0.1, 0.2), []
    for at in working:
        grown = 1 + (growth - 1) * (at - MONDAY) / (weeks * WEEK) if growth else 1.0
        events.append((at, length_s * grown * max(0.3, rng.gauss(1, varies))))
    samples, excesses = observed(rng, load, events, weeks, step_s, kind, factor)
    counts = sum(excess >= 5 for excess in excesses) >= 6
    delay = "always the same" if is_fixed and delay_min else f"{int(delay_min)} min"
    facts = Facts(counts, is_timer, factor, delay, length_s, step_s, kind)
    return Family(samples, host, job.name, is_everywhere, facts)


@family
def timers(rng):
    """Everything at random."""
    return history(rng, is_fixed=rng.random() < 0.1)


@family
def a_timer_at_each_size(rng, factor):
    return history(rng, factor=factor)


SIZES["a_timer_at_each_size"] = FACTORS


def of_delay(is_weekly, delay_min):
    return lambda rng: history(rng, is_weekly=is_weekly, delay_min=delay_min)


for delay_min in DELAYS_MIN:
    for cadence in ("daily", "weekly"):
        FAMILIES[f"{cadence}_delay_{delay_min}_min"] = of_delay(cadence == "weekly", delay_min)


@family
def delay_of_always_the_same(rng):
    """FixedRandomDelay=true, or RandomizedOffsetSec."""
    return history(rng, delay_min=rng.choice(DELAYS_MIN[1:]), is_fixed=True)


@family
def the_default_fstrim(rng):
    return history(rng, is_weekly=True, culprit="fstrim", weeks=rng.randint(8, 26), step_s=rng.choice([300, 900, 3600]))


@family
def the_default_upgrade(rng):
    """Samples that can tell it from cron's daily jobs of 06:25."""
    return history(rng, is_weekly=False, culprit="apt-daily-upgrade", step_s=rng.choice([15, 60, 300, 900]))


@family
def the_default_scrub(rng):
    """Samples that can tell it from cron's line of twenty minutes later."""
    return history(rng, is_weekly=True, culprit="e2scrub_all", step_s=rng.choice([60, 300]))


def of_kind(kind):
    return lambda rng: history(rng, kind=kind, delay_min=rng.choice([0, 0, 5, 20]))


for kind in KINDS:
    FAMILIES[f"samples_that_are_{kind.replace(' ', '_')}"] = of_kind(kind)


@family
def a_window_of_the_whole_day(rng):
    """The default apt-daily, or Ubuntu's message of the day, whose runs may begin at any time."""
    culprit, system = rng.choice([("apt-daily", None), ("motd-news", "Ubuntu 24.04")])
    return history(rng, is_weekly=False, culprit=culprit, system=system, is_timer=False, is_everywhere=True)


def every(number):
    def make(rng):
        first = rng.randrange(number)
        return history(rng, delay_min=rng.choice([0, 0, 5, 20, 100]), weeks=rng.randint(12, 26), is_timer=False,
                       step_s=rng.choice([300, 900, 3600]), works=lambda run: run % number == first)
    return make


for number, ordinal in ((2, "second"), (3, "third"), (4, "fourth")):
    FAMILIES[f"only_every_{ordinal}_run"] = every(number)


@family
def growing_over_months(rng):
    """It takes 5 to 15 minutes first and 4 to 16 times as long in the end."""
    return history(rng, delay_min=rng.choice([0, 0, 5, 20, 100]), weeks=rng.randint(12, 26), is_timer=False,
                   step_s=rng.choice([300, 900, 3600]), length_min=rng.randint(5, 15), growth=rng.uniform(4, 16))


@family
def weekly_hours_at_night(rng):
    return history(rng, is_weekly=True, delay_min=rng.choice([0, 0, 5, 20, 100]), length_min=rng.randint(60, 240),
                   hours=(22, 29), is_timer=False, step_s=rng.choice([300, 900, 3600]), weeks=rng.randint(6, 26))


def guarded(rng, job, test, name):
    """A line of cron.d that does its work only if a test holds."""
    command = BIN + name
    text = rng.choice([f"{test} && {command}", f"if {test}; then {command}; fi",
                       f"if [ -x {command} ] && {test}; then {command} --quiet; fi"])
    return f"{job.cron()} root {text}\n"


def guards(rng, test, holds, other_test, **more):
    """A job behind a guard, in half of the histories beside an idle one whose guard holds at other times.

    `holds` is asked with the local time and the seconds since 1970 at which the line starts."""
    def place(host, job, zone):
        lines = [guarded(rng, job, test, job.name)]
        if rng.random() < 0.5:
            lines.insert(rng.randrange(2), guarded(rng, job, other_test, "other"))
        host.files["etc/cron.d/guarded"] = "".join(lines)
        tz = zoneinfo.ZoneInfo(zone)
        return lambda at: holds(datetime.datetime.fromtimestamp(at, tz), at)

    return history(rng, delay_min=0, place=place, is_timer=False, **more)


@family
def checkarray_of_debian(rng):
    """The line of Debian's mdadm: on Sundays, in the first week of a month."""
    def place(host, job, zone):
        host.crontab = "".join(line + "\n" for line in DECOYS.splitlines() if not line.endswith("checkarray"))
        host.files["etc/cron.d/mdadm"] = (
            "57 0 * * 0 root if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\\%d) -le 7 ]; then "
            "/usr/share/mdadm/checkarray --cron --all --idle --quiet; fi\n")
        job.name, job.weekday, job.at_s = "checkarray", 6, (57 * MINUTE,)
        tz = zoneinfo.ZoneInfo(zone)
        return lambda at: datetime.datetime.fromtimestamp(at, tz).day <= 7

    return history(rng, is_weekly=True, delay_min=0, place=place, is_timer=False, one_in=4, weeks=rng.randint(28, 40),
                   step_s=rng.choice([300, 900, 3600]), length_min=rng.choice([20, 60, 180, 360]))


@family
def guards_of_a_week_of_two(rng):
    """A weekly line, for even or odd weeks since 1970, or of the year."""
    parity, number = rng.randrange(2), rng.random() < 0.5
    week = "$(date +\\%s) / 604800" if number else "10#$(date +\\%V)"
    test = f"[ $(( {week} \\% 2 )) -eq {parity} ]"
    other = f"[ $(( {week} \\% 2 )) -eq {1 - parity} ]"
    holds = lambda when, at: (int(at) // WEEK if number else when.isocalendar().week) % 2 == parity
    return guards(rng, test, holds, other, is_weekly=True, one_in=2, weeks=rng.randint(12, 26),
                  step_s=rng.choice([300, 900, 3600]))


@family
def guards_of_a_day_of_the_week(rng):
    """A daily line, for one day of the week or for working days."""
    day = rng.randint(1, 7)
    if rng.random() < 0.5:
        test, other, days, one_in = f"[ $(date +\\%u) -eq {day} ]", f"[ $(date +\\%u) -eq {day % 7 + 1} ]", {day}, 7
    else:
        test, other, days, one_in = "[ $(date +\\%u) -le 5 ]", "[ $(date +\\%u) -gt 5 ]", set(range(1, 6)), 1
    return guards(rng, test, lambda when, at: when.isoweekday() in days, other, is_weekly=False, one_in=one_in,
                  weeks=rng.randint(8, 26), step_s=rng.choice([300, 900, 3600]))


@family
def guards_of_days_of_a_month(rng):
    """A weekly line for the first or third week of a month, or a daily one for one day."""
    steps = dict(weeks=rng.randint(28, 40), step_s=rng.choice([300, 900, 3600]))
    which = rng.randrange(3)
    if which == 0:
        day = rng.choice([1, 15])
        return guards(rng, f'[ "$(date +\\%d)" = {day:02} ]', lambda when, at: when.day == day,
                      f'[ "$(date +\\%d)" = {day + 1:02} ]', is_weekly=False, one_in=30, **steps)
    if which == 1:
        return guards(rng, "[ $(date +\\%d) -le 7 ]", lambda when, at: when.day <= 7,
                      "[ $(date +\\%d) -gt 7 ]", is_weekly=True, one_in=4, **steps)
    return guards(rng, "[ $(date +\\%d) -ge 15 ] && [ $(date +\\%d) -le 21 ]", lambda when, at: 15 <= when.day <= 21,
                  "[ $(date +\\%d) -ge 22 ]", is_weekly=True, one_in=4, **steps)


def nobody(rng, *, change=None, events=None, shape=None, step_s=None, weeks=None, host=None, load=None, factor=1.0,
           kind=None):
    """A history whose jobs do nothing. `change` multiplies the level by a local moment, in seconds since 1970."""
    zone = host.zone if host else any_zone(rng)
    step_s = step_s or rng.choice(STEPS_S[1:])
    weeks = weeks or any_weeks(rng, step_s)
    load, kind = load or any_load(rng, zone), kind or rng.choice(KINDS)
    if host is None:
        host, _, _ = default_host(rng, zone, rng.choice(["Debian 12", "Ubuntu 24.04"]))
    add_idle_jobs(rng, host, rng.sample(NAMES, rng.randint(0, 3)), None, 0, step_s)
    samples, _ = observed(rng, load, events or [], weeks, step_s, kind, factor)
    if change:
        samples = [(at, value * change(at + load.offset_s(at))) for at, value in samples]
    if shape:
        samples = [(at, shape(value)) for at, value in samples]
    return Family(samples, host, None)


@family
def nobody_today_humps_at_any_hour(rng):
    """One to three humps of half an hour to six hours each day, with edges of up to half an hour."""
    humps = [(rng.uniform(0, 24), rng.uniform(0.5, 6), math.exp(rng.uniform(math.log(0.3), math.log(4))))
             for _ in range(rng.randint(1, 3))]
    width = rng.uniform(0.02, 0.5)

    def change(at):
        hour = (at - MONDAY) % DAY / HOUR
        rise = lambda since: (1 + math.tanh((since + 12) % 24 / width - 12 / width)) / 2
        return 1 + sum(size * max(0.0, rise(hour - begin) - rise(hour - begin - length)) for begin, length, size in humps)

    return nobody(rng, change=change)


@family
def nobody_today_working_hours(rng):
    begin, length = rng.uniform(6.5, 9.5), rng.uniform(7, 10)
    size, width = math.exp(rng.uniform(math.log(0.5), math.log(10))), rng.uniform(0.02, 1)

    def change(at):
        day, hour = (at - MONDAY) // DAY % 7, (at - MONDAY) % DAY / HOUR
        if day > 4:
            return 1.0
        return 1 + size * (math.tanh((hour - begin) / width) - math.tanh((hour - begin - length) / width)) / 2

    return nobody(rng, change=change)


@family
def nobody_today_steps(rng):
    """A level that steps a few times."""
    weeks, step_s = rng.randint(4, 12), rng.choice([300, 900, 3600])
    steps = sorted(rng.uniform(0, weeks * WEEK) for _ in range(rng.randint(1, 6)))
    levels = [math.exp(rng.gauss(0, 0.5)) for _ in range(len(steps) + 1)]
    return nobody(rng, weeks=weeks, step_s=step_s, change=lambda at: levels[bisect.bisect(steps, at - MONDAY)])


@family
def nobody_today_a_weekly_backup_elsewhere(rng):
    """Once a week for one to four hours, by a job that is on no list, at a time when no weekly job can begin."""
    zone = any_zone(rng)
    host, _, others = default_host(rng, zone, rng.choice(["Debian 12", "Ubuntu 24.04"]))
    step_s, weeks = rng.choice([300, 900, 3600]), rng.randint(6, 26)
    job = Job("elsewhere", rng.randrange(7), (any_time(rng),), rng.choice([0, 0, 5, 20]) * MINUTE)
    while not all(is_told_apart(job.starts(), other, weeks, step_s) for other in others):
        job.at_s = (any_time(rng),)
    length_s = rng.uniform(1, 4) * HOUR
    events = [(at, length_s * max(0.3, rng.gauss(1, 0.15))) for at in job.runs(rng, zone, weeks)]
    return nobody(rng, host=host, events=events, step_s=step_s, weeks=weeks, factor=rng.choice(FACTORS))


@family
def nobody_today_bursts(rng):
    """Bursts at any time, one every two days to five a day."""
    weeks, step_s = rng.randint(4, 12), rng.choice([60, 300, 900, 3600])
    events, at, gap_s = [], MONDAY, DAY / math.exp(rng.uniform(math.log(0.5), math.log(5)))
    while at < MONDAY + weeks * WEEK:
        at += rng.expovariate(1 / gap_s)
        events.append((at, rng.lognormvariate(math.log(20 * MINUTE), 0.8)))
    return nobody(rng, events=events, step_s=step_s, weeks=weeks, factor=rng.choice(FACTORS))


@family
def nobody_today_whole_numbers(rng):
    """A gauge of few whole numbers, as of connections or of a queue, with and without bursts."""
    unit = rng.uniform(15, 120)
    zone = any_zone(rng)
    host, _, _ = default_host(rng, zone, rng.choice(["Debian 12", "Ubuntu 24.04"]))
    load = dataclasses.replace(any_load(rng, zone), noise=rng.uniform(0.1, 0.5))
    weeks, events = rng.randint(4, 12), []
    for _ in range(rng.choice([0, 20, 100])):
        events.append((MONDAY + rng.uniform(0, weeks * WEEK), rng.lognormvariate(math.log(10 * MINUTE), 0.8)))
    return nobody(rng, host=host, load=load, events=sorted(events), weeks=weeks, step_s=rng.choice([60, 300, 900]),
                  factor=3, kind="gauge", shape=lambda value: max(0, round(value / unit)))
