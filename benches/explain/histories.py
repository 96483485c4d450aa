#!/usr/bin/env python3
"""Histories as databases have them, with a known cause: does `trimtab explain` name it?

Each is made by a seeded generator from events (runs of a job, load by working hours, bursts) in noise that
remembers and has heavy tails, and comes with a crontab in which most jobs are innocent. A verdict is

    right   it names the job that does it, or none where none does
    honest  it names none, or several that cannot be told apart with the right one among them
    wrong   it names another job, or says that something recurs which does not

    benches/explain/histories.py TRIMTAB [--seeds N] [--only NAME]... [--each]
"""

import argparse
import bisect
import dataclasses
import datetime
import math
import pathlib
import random
import tempfile
import zoneinfo

from verdicts import verdict_on

MINUTE, HOUR, DAY = 60, 3600, 86400
MONDAY = datetime.datetime(2026, 6, 1, tzinfo=datetime.timezone.utc).timestamp()
# Directory of programs.
BIN = "/usr/local/bin/"
INNOCENT = "25 6 * * * report\n17 * * * * check\n47 6 * * 0 trim\n"
CASES = {}


@dataclasses.dataclass
class History:
    """A curve with what is known of it."""

    step_s: int
    days: int
    crontab: str
    # The job that causes the events; None if no job does.
    job: str | None
    # Events as (start, length) in seconds since the epoch.
    events: list = dataclasses.field(default_factory=list)
    # Factor by which values are larger during events.
    size: float = 1.2
    noise: float = 0.2
    # The baseline, as a factor.
    factor: object = lambda at: 1.0
    recurs: bool = True
    # Random deviation of event times, in seconds.
    jitter_s: float = 0.0
    shift_s: int = 0
    lower_is_better: bool = True
    zone: str = "UTC"
    log: str | None = None


def case(make):
    CASES[make.__name__] = make
    return make


def nights(days, hour, minute, zone="UTC", on=lambda day: True):
    """The moments at a local time of each day that `on` says yes to."""
    tz, first = zoneinfo.ZoneInfo(zone), datetime.datetime.fromtimestamp(MONDAY, datetime.timezone.utc).date()
    dates = [first + datetime.timedelta(days=i) for i in range(-1, days + 1)]
    at = datetime.time(hour, minute)
    return [datetime.datetime.combine(date, at, tz).timestamp() for date in dates if on(date)]


def office(at):
    """How busy people are: from 8 to 18 on working days."""
    now = datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
    hour = now.hour + now.minute / 60
    busy = 0.5 * (math.tanh((hour - 8) * 3) - math.tanh((hour - 18) * 3))
    return busy if now.weekday() < 5 else 0.0


def bursts(rng, days, a_day, shortest_s, longest_s):
    """Events at random times."""
    events, at = [], MONDAY
    while at < MONDAY + days * DAY:
        at += rng.expovariate(a_day / DAY)
        events.append((at, rng.uniform(shortest_s, longest_s)))
    return events


@case
def backup_of_any_length(rng):
    events = [(at, rng.uniform(300, 2400)) for at in nights(21, 2, 30)]
    return History(60, 21, INNOCENT + "30 2 * * * backup\n", "backup", events)


@case
def a_month_of_minutes(rng):
    events = [(at, 1200) for at in nights(30, 6, 30)]
    return History(60, 30, "30 6 * * * backup\n", "backup", events, size=1.5)


@case
def the_later_of_two(rng):
    events = [(at, 900) for at in nights(30, 3, 0)]
    return History(300, 30, INNOCENT + "0 2 * * * reindex\n0 3 * * * merge\n", "merge", events, size=1.5)


@case
def a_collector_seconds_late(rng):
    events = [(at, 1200) for at in nights(30, 6, 30)]
    return History(300, 30, "25 6 * * * daily\n30 6 * * * backup\n", "backup", events, jitter_s=2.0)


@case
def dated_by_the_start(rng):
    events = [(at, 600) for at in nights(30, 3, 5)]
    return History(300, 30, INNOCENT + "5 3 * * * merge\n", "merge", events, size=1.5, shift_s=-300)


@case
def on_working_days(rng):
    events = [(at, 1800) for at in nights(56, 22, 0, on=lambda day: day.weekday() < 5)]
    return History(600, 56, INNOCENT + "0 22 * * 1-5 load\n", "load", events)


@case
def on_two_days_a_week(rng):
    events = [(at, 1200) for at in nights(56, 22, 0, on=lambda day: day.weekday() in (1, 3))]
    return History(600, 56, INNOCENT + "0 22 * * 2,4 load\n", "load", events)


@case
def on_odd_days_of_the_month(rng):
    events = [(at, 2700) for at in nights(91, 3, 0, on=lambda day: day.day % 2 == 1)]
    return History(900, 91, INNOCENT + "0 3 1-31/2 * * merge\n", "merge", events)


@case
def on_the_first_of_a_month(rng):
    events = [(at, 4 * HOUR) for at in nights(400, 3, 0, on=lambda day: day.day == 1)]
    return History(HOUR, 400, INNOCENT + "0 3 1 * * billing\n", "billing", events, size=1.0, noise=0.15)


@case
def since_a_month(rng):
    events = [(at, 2700) for at in nights(90, 3, 30) if at > MONDAY + 60 * DAY]
    return History(900, 90, INNOCENT + "30 3 * * * snapshot\n", "snapshot", events, size=1.0)


@case
def in_new_york(rng):
    zone = "America/New_York"
    events = [(at, 1800) for at in nights(200, 2, 30, zone)]
    return History(900, 200, "30 2 * * * dump\n30 6 * * * utc\n", "dump", events, zone=zone)


@case
def a_log_with_holes(rng):
    runs = nights(60, 1, 15)
    lines = [
        f"{datetime.datetime.fromtimestamp(at + 1, datetime.timezone.utc).isoformat()}"
        f" db1 CRON[{rng.randrange(1000, 9999)}]: (root) CMD ({BIN}{job})\n"
        for at, job in sorted([(at, "backup") for at in runs] + [(at, "report") for at in nights(60, 6, 25)])
        if rng.random() > 0.15
    ]
    crontab = "15 1 * * * backup\n25 6 * * * report\n"
    events = [(at, rng.uniform(1500, 3000)) for at in runs]
    return History(600, 60, crontab, "backup", events, log="".join(lines))


@case
def below_working_hours(rng):
    events = [(at, 1200) for at in nights(42, 2, 0)]
    factor = lambda at: 1 + 0.8 * office(at)
    return History(300, 42, INNOCENT + "0 2 * * * backup\n", "backup", events, factor=factor)


@case
def a_stall_below_ten_times_the_load(rng):
    events = [(at, 600) for at in nights(70, 6, 47, on=lambda day: day.weekday() == 6)]
    factor = lambda at: 1 + 9 * office(at)
    crontab = INNOCENT + "0 1 * * * snapshot\n"
    return History(300, 70, crontab, "trim", events, -0.8, 0.06, factor, lower_is_better=False)


@case
def decay_until_a_trim(rng):
    trims = nights(112, 6, 47, on=lambda day: day.weekday() == 6)
    trims.insert(0, trims[0] - 7 * DAY)
    since = lambda at: at - trims[max(bisect.bisect_left(trims, at) - 1, 0)]
    factor = lambda at: (1 - 0.016 * since(at) / DAY) * (1.08 if at > MONDAY + 50 * DAY else 1.0)
    crontab = INNOCENT + "0 3 * * * dump\n"
    return History(HOUR, 112, crontab, "trim", noise=0.02, factor=factor, lower_is_better=False)


@case
def working_hours(rng):
    factor = lambda at: 1 + 0.8 * office(at)
    return History(900, 56, INNOCENT + "30 12 * * 1-5 snapshot\n", None, factor=factor)


@case
def working_hours_and_a_job_at_their_end(rng):
    factor = lambda at: 1 + 0.8 * office(at)
    return History(900, 56, INNOCENT + "0 18 * * * snapshot\n", None, factor=factor)


@case
def working_hours_by_the_hour(rng):
    busy = lambda at: 8 <= at % DAY // HOUR < 18 and (at - MONDAY) // DAY % 7 < 5
    return History(HOUR, 42, INNOCENT + "50 6 * * 6 full\n", None, noise=0.07, factor=lambda at: 1.6 if busy(at) else 1.0)


@case
def half_the_load_at_weekends(rng):
    share = lambda at: 1.0 if (at - MONDAY) // DAY % 7 < 5 else 0.5
    busy = lambda at: 8 <= at % DAY // HOUR < 18
    factor = lambda at: 1 + 0.8 * share(at) * busy(at)
    return History(HOUR, 56, INNOCENT + "50 6 * * 6 full\n", None, noise=0.08, factor=factor)


@case
def nobody_at_night(rng):
    events = [(at, 1800) for at in nights(60, 4, 0)]
    return History(600, 60, INNOCENT + "0 2 * * * backup\n", None, events)


@case
def storms_at_any_time(rng):
    return History(60, 28, INNOCENT, None, bursts(rng, 28, 8, 300, 3600), size=2.0, recurs=False)


@case
def rare_storms_at_any_time(rng):
    return History(300, 28, INNOCENT, None, bursts(rng, 28, 2, 600, 7200), size=2.0, recurs=False)


@case
def nothing(rng):
    return History(300, 28, INNOCENT + "0 2 * * * backup\n", None, noise=0.4, recurs=False)


def samples(history, rng):
    """Times and values: the time since the sample before is what one stands for."""
    events = sorted(history.events)
    starts = [start for start, _ in events]
    longest = max((length for _, length in events), default=0)
    kept, noise = 0.7, 0.0
    lines = []
    for number in range(1, history.days * DAY // history.step_s + 1):
        at = MONDAY + number * history.step_s + rng.gauss(0, 1) * history.jitter_s
        noise = kept * noise + rng.gauss(0, history.noise * math.sqrt(1 - kept * kept))
        first = bisect.bisect_left(starts, at - history.step_s - longest)
        share = sum(
            max(0.0, min(at, start + length) - max(at - history.step_s, start))
            for start, length in events[first : bisect.bisect_right(starts, at)]
        ) / history.step_s
        value = 25 * math.exp(noise) * (1 + history.size * min(share, 1.0)) * history.factor(at)
        when = datetime.datetime.fromtimestamp(at + history.shift_s, datetime.timezone.utc)
        lines.append(f"{when.isoformat()},{value:.5g}\n")
    return "time,value\n" + "".join(lines)


def judge(history, verdict):
    """Right, honest or wrong."""
    named = verdict["classes"][0]["jobs"] if verdict["kind"] == "periodic" and verdict["classes"] else []
    names = {name.rsplit(" ", 1)[-1] for name in named}
    recurs = verdict["kind"] in ("periodic", "unattributed")
    if history.job is None:
        return "wrong" if names or (recurs and not history.recurs) else "right"
    if names == {history.job}:
        return "right"
    return "honest" if not names or history.job in names else "wrong"


def explain(trimtab, history, rng, directory):
    """What the tool says: its verdict."""
    (directory / "curve.csv").write_text(samples(history, rng))
    jobs = [line.rsplit(" ", 1) for line in history.crontab.splitlines()]
    (directory / "crontab").write_text("".join(f"{when} {BIN}{job}\n" for when, job in jobs))
    better = "lower" if history.lower_is_better else "higher"
    arguments = ["--jobs", "crontab", "--better", better, "--tz", history.zone]
    if history.log is not None:
        (directory / "syslog.log").write_text(history.log)
        arguments += ["--log", "syslog.log"]
    return verdict_on(trimtab, "curve.csv", *arguments, directory=directory)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trimtab", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=sorted(CASES))
    parser.add_argument("--each", action="store_true", help="prints each sentence")
    args = parser.parse_args()
    trimtab = args.trimtab.resolve()
    if not trimtab.is_file():
        parser.error(f"there is no program {trimtab}: cargo build --release -p trimtab makes it")
    total = {"right": 0, "honest": 0, "wrong": 0}
    print("| history | right | honest | wrong |\n|---|---|---|---|")
    for name, make in CASES.items():
        if args.only and name not in args.only:
            continue
        count = dict.fromkeys(total, 0)
        for seed in range(1, args.seeds + 1):
            rng = random.Random(f"{name} {seed}")
            history = make(rng)
            with tempfile.TemporaryDirectory() as directory:
                verdict = explain(trimtab, history, rng, pathlib.Path(directory))
            count[judge(history, verdict)] += 1
            if args.each:
                print(f"<!-- {name} {seed} {judge(history, verdict)}: {verdict['sentence']} -->")
        print(f"| {name.replace('_', ' ')} | {count['right']} | {count['honest']} | {count['wrong']} |", flush=True)
        for key, number in count.items():
            total[key] += number
    print(f"| all | {total['right']} | {total['honest']} | {total['wrong']} |")


if __name__ == "__main__":
    main()
