"""What a verdict on a history is worth, and tables of it."""

import collections
import dataclasses
import datetime
import pathlib
import tempfile

from making import UTC, Facts, make, write
from verdicts import verdict_on

COLUMNS = ("right", "among", "fits", "unnamed", "reversed", "wrong")
# The right job is named or listed.
LISTED = ("right", "among", "fits", "reversed")


@dataclasses.dataclass
class Answer:
    judged: str
    # The share that is said of the first class, if one is said, and whether that class has the right job.
    said: float | None
    is_first: bool
    sentence: str
    facts: Facts | None

    def __str__(self):
        drawn, facts = "", self.facts
        if facts:
            drawn = (f" [{'counts' if facts.counts else 'too faint'}, x {facts.factor:g}, delay {facts.delay}, "
                     f"{facts.length_s / 60:g} min, samples of {facts.step_s} s, {facts.kind}]")
        return f"{self.judged}{drawn}, said {self.said}, first listed {self.is_first}: {self.sentence}"


def judge(made, verdict):
    def short(jobs):
        return {job.rsplit("/", 1)[-1].rsplit(" ", 1)[-1].removesuffix(".timer").removesuffix(".service") for job in jobs}

    classes = [(short(listed["jobs"]), listed["score"]) for listed in verdict["classes"]]
    names = classes[0][0] if verdict["kind"] == "periodic" and classes else set()
    # A share is said, unless load looks the same; it counts as wrong where naming would.
    of_load = ("ordinary load", "more likely reduced load", "may be part of the larger wave of load", "looks like this.")
    is_load = any(words in verdict["sentence"] for words in of_load)
    is_said = bool(classes) and not is_load
    said = classes[0][1] if is_said else None
    is_right = made.job in classes[0][0] if classes else False
    if not names:
        if is_said and said >= 0.95 and not is_right:
            judged = "wrong"
        elif made.job is None or made.is_everywhere:
            judged = "right"
        else:
            judged = "fits" if any(made.job in jobs for jobs, _ in classes) else "unnamed"
    elif made.job is None:
        judged = "wrong"
    elif made.job in names and verdict["classes"][0]["role"] == "heals":
        judged = "reversed"
    else:
        judged = "right" if names == {made.job} else "among" if made.job in names else "wrong"
    return judged, said, is_right


def ask(trimtab, name, seed):
    made = make(name, seed)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        lines = (f"{datetime.datetime.fromtimestamp(at, UTC).isoformat()},{value:.6g}\n" for at, value in made.samples)
        (directory / "curve.csv").write_text("time,value\n" + "".join(lines))
        verdict = verdict_on(trimtab, directory / "curve.csv", "--better", "lower", *write(made.host, directory))
    return Answer(*judge(made, verdict), verdict["sentence"], made.facts)


def does_count(answer):
    return answer.facts is None or answer.facts.counts


def print_heading():
    print(f"| family | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")


def print_family(name, answers):
    """A row, and one of those that nobody could tell from the noise."""
    for counts in (True, False):
        count = collections.Counter(answer.judged for answer in answers if does_count(answer) == counts)
        if counts or count:
            row = " | ".join(str(count[column]) for column in COLUMNS)
            print(f"| {name}{'' if counts else ' (too faint)'} | {row} |", flush=True)


def share(answers, judged):
    return sum(answer.judged in judged for answer in answers) / len(answers)


def print_by_size(answers):
    """How often timers are named, by each thing that was drawn."""
    timers = [answer for answer in answers if answer.facts and answer.facts.is_timer and answer.facts.counts]
    if not timers:
        return
    number = lambda text: (0, int(text.split()[0])) if text[0].isdigit() else (1, 0)
    tables = (
        ("factor", lambda facts: facts.factor, None, lambda factor: f"{factor:g}"),
        ("delay", lambda facts: facts.delay, number, str),
        ("event", lambda facts: facts.length_s, None, lambda length_s: f"{length_s / 60:g} min"),
        ("samples of", lambda facts: facts.step_s, None, lambda step_s: f"{step_s} s"),
        ("a sample is", lambda facts: facts.kind, None, str),
    )
    for heading, key, order, shown in tables:
        print(f"\n| {heading} | n | right | listed | wrong |\n|---|---|---|---|---|")
        for value in sorted({key(answer.facts) for answer in timers}, key=order):
            of_value = [answer for answer in timers if key(answer.facts) == value]
            cells = " | ".join(f"{share(of_value, judged):.1%}" for judged in (("right",), LISTED, ("wrong",)))
            print(f"| {shown(value)} | {len(of_value)} | {cells} |")
    print_falls(timers)


def print_falls(timers):
    """Where the share of right answers falls from a factor to the next larger one.

    Larger factors let shorter events and rarer gauges count, which are harder; only the histories that were made at each
    factor, alike in everything else, compare like with like."""
    factors, falls = sorted({answer.facts.factor for answer in timers}), []
    for low, high in zip(factors, factors[1:]):
        before, after = (share([one for one in timers if one.facts.factor == at], ("right",)) for at in (low, high))
        if before - after > 0.03:
            falls.append(f"{low:g} to {high:g} ({before:.1%} to {after:.1%})")
    if len(factors) > 1:
        where = "from factor " + ", ".join(falls) if falls else "at no larger factor"
        print(f"\nRight falls by more than 3 points {where}.")
    by_group = collections.defaultdict(dict)
    for answer in timers:
        if answer.facts.group is not None:
            by_group[answer.facts.group][answer.facts.factor] = answer
    if not by_group:
        return
    print("\n| alike but for the factor | pairs | right before | right after | falls by more than 3 points |")
    print("|---|---|---|---|---|")
    for low, high in zip(factors, factors[1:]):
        pairs = [(group[low], group[high]) for group in by_group.values() if low in group and high in group]
        if pairs:
            before, after = (share(answers, ("right",)) for answers in zip(*pairs))
            falls = "yes" if before - after > 0.03 else "no"
            print(f"| {low:g} to {high:g} | {len(pairs)} | {before:.1%} | {after:.1%} | {falls} |")


def print_reliability(answers):
    """A table of shares that were said of the first class, and how often that was right, and the same as a picture."""
    told = [(answer.said, answer.is_first) for answer in answers if answer.said is not None]
    if not told:
        return
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
