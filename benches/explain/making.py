"""What histories are made of: hosts with their jobs, samples and noise, and the list of families."""

import dataclasses
import datetime
import math
import random
import zoneinfo

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
# Families whose seeds come in groups: one history at each of these sizes, alike in everything else.
SIZES = {}


@dataclasses.dataclass
class Host:
    """What the tool is told of jobs, by path."""

    crontab: str = ""
    zone: str = "UTC"
    files: dict = dataclasses.field(default_factory=dict)
    links: dict = dataclasses.field(default_factory=dict)
    log: str | None = None


@dataclasses.dataclass
class Facts:
    """What was drawn, for tables by each."""

    # Whether six runs or more stand five standard deviations above the noise.
    counts: bool
    # Whether it belongs to the families of timers, over which the tables are.
    is_timer: bool
    # The level is multiplied by this while the job runs.
    factor: float
    delay: str
    length_s: float
    step_s: float
    # What a sample is.
    kind: str
    # A group of SIZES.
    group: int | None = None


@dataclasses.dataclass
class Family:
    """One history: samples, the host, and who did it."""

    samples: list
    host: Host
    # The job's name; None if no job does anything.
    job: str | None
    # Nobody can name the job from its windows, so whoever blames no other job is right.
    is_everywhere: bool = False
    facts: Facts | None = None


def family(make):
    FAMILIES[make.__name__] = make
    return make


def make(name, seed):
    """The history of a family's seed."""
    sizes = SIZES.get(name)
    if sizes is None:
        return FAMILIES[name](random.Random(f"{name} {seed}"))
    group, size = divmod(seed - 1, len(sizes))
    made = FAMILIES[name](random.Random(f"{name} {group}"), sizes[size])
    made.facts.group = group
    return made


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
