"""Detects change points in the same series with several tools. Called by compare.sh; prints Markdown.

Each detection runs in its own process. Only the detection itself is timed: not the start of the process,
imports, or reading the series. A process repeats it up to five times, for at most a second, and reports the
minimum, which other load on the machine affects least.
"""

import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy

LEVELS = 10
SIGMA = 2.0
# Tolerance in samples for a change to count as found.
MARGIN = 5

TOOLS = ["trimtab", "ruptures KernelCPD linear", "ruptures Pelt l2, jump 5", "Otava, defaults"]


def ten_levels(samples, seed):
    """Ten levels between 0 and 40, neighbours at least 2.5 sigma apart, in normal noise."""
    random = numpy.random.default_rng(seed)
    levels = [random.uniform(0, 40)]
    while len(levels) < LEVELS:
        level = random.uniform(0, 40)
        if abs(level - levels[-1]) >= 2.5 * SIGMA:
            levels.append(level)
    starts = [samples * k // LEVELS for k in range(LEVELS)]
    lengths = numpy.diff(starts + [samples])
    return numpy.repeat(levels, lengths) + random.normal(0, SIGMA, samples), starts[1:]


def detect(tool, path):
    """In a process of its own: prints seconds and indices."""
    import time

    values = numpy.loadtxt(path)
    # Penalty of 3 ln n in units of the noise, which is estimated from differences so that steps do not
    # affect it.
    noise = numpy.median(numpy.abs(numpy.diff(values))) * 1.4826 / math.sqrt(2)
    if noise <= 0:
        noise = numpy.std(values) or 1.0
    penalty = 3 * math.log(len(values)) * noise**2
    if tool.startswith("Otava"):
        from otava.analysis import compute_change_points

        series = values.tolist()

        def changes():
            return [point.index for point in compute_change_points(series)[0]]

    else:
        import ruptures

        def changes():
            if "KernelCPD" in tool:
                fitted = ruptures.KernelCPD(kernel="linear", min_size=2).fit(values)
            else:
                fitted = ruptures.Pelt(model="l2", jump=5, min_size=2).fit(values)
            return fitted.predict(pen=penalty)[:-1]

    least, total = math.inf, 0.0
    for _ in range(5):
        start = time.perf_counter()
        found = changes()
        taken = time.perf_counter() - start
        least, total = min(least, taken), total + taken
        if total > 1:
            break
    print(json.dumps({"seconds": least, "found": [int(i) for i in found]}))


def run(tool, ours, path, limit_s):
    """Seconds and indices, or None where it was stopped."""
    if tool == "trimtab":
        command = [ours, "find", path]
    else:
        command = [sys.executable, __file__, "--detect", tool, path]
    try:
        # numpy takes seconds to read a million lines, which is not the tool's time.
        done = subprocess.run(command, capture_output=True, timeout=limit_s + 15, check=True)
    except subprocess.TimeoutExpired:
        return None
    answer = json.loads(done.stdout)
    return None if answer["seconds"] > limit_s else answer


def matched(found, true):
    """Pairs of a true change and the nearest found one within the margin, each used once."""
    left, pairs = list(found), []
    for at in true:
        near = min(left, key=lambda index: abs(index - at), default=None)
        if near is not None and abs(near - at) <= MARGIN:
            left.remove(near)
            pairs.append((at, near))
    return pairs


def duration(seconds):
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def times_and_accuracy(ours, directory):
    sizes = [int(size) for size in os.environ.get("SIZES", "1000 10000 100000 1000000").split()]
    limit_s = float(os.environ.get("LIMIT_S", "120"))
    seeds = int(os.environ.get("SEEDS", "5"))
    print("Ten levels, sigma 2, neighbours at least 5 apart: nine changes. Found, and false ones, are")
    print(f"sums over the seeds; found is within {MARGIN} samples. Time is the median over the seeds.")
    print(f"One detection is stopped after {limit_s:.0f} s.")
    print()
    print("| samples | seeds | tool | time | found | false | largest error, samples |")
    print("|---|---|---|---|---|---|---|")
    stopped = set()
    for size in sizes:
        # The long series are only for timing.
        used = seeds if size <= 100_000 else 1
        paths, truths = [], []
        for seed in range(1, used + 1):
            values, true = ten_levels(size, seed)
            path = os.path.join(directory, f"{size}-{seed}.txt")
            numpy.savetxt(path, values, fmt="%.9g")
            paths.append(path)
            truths.append(true)
        for tool in TOOLS:
            seconds, found, false, errors = [], 0, 0, [0]
            for path, true in zip(paths, truths):
                answer = None if tool in stopped else run(tool, ours, path, limit_s)
                if answer is None:
                    stopped.add(tool)
                    break
                pairs = matched(answer["found"], true)
                seconds.append(answer["seconds"])
                found += len(pairs)
                false += len(answer["found"]) - len(pairs)
                errors += [abs(a - b) for a, b in pairs]
            if tool in stopped:
                row = f"over {limit_s:.0f} s | - | - | -"
            else:
                row = f"{duration(statistics.median(seconds))} | {found} of {9 * used} | {false} | {max(errors)}"
            print(f"| {size:,} | {used} | {tool} | {row} |", flush=True)
        for path in paths:
            os.remove(path)


def f1(annotations, found):
    """F1 of van den Burg and Williams (2020), margin 5; index 0 is a change for all."""
    found = {0, *found}
    of_all = [{0, *marked} for marked in annotations.values()]

    def true_positives(marked):
        left, hits = set(found), 0
        for at in sorted(marked):
            near = [index for index in left if abs(index - at) <= MARGIN]
            if near:
                left.remove(min(near, key=lambda index: abs(index - at)))
                hits += 1
        return hits

    precision = true_positives(set().union(*of_all)) / len(found)
    recall = statistics.mean(true_positives(marked) / len(marked) for marked in of_all)
    return 2 * precision * recall / (precision + recall)


def covering(annotations, found, samples):
    """Mean over the annotators of the covering metric of Arbelaez et al. (2010)."""

    def stretches(changes):
        ends = sorted({0, *changes, samples})
        return list(zip(ends, ends[1:]))

    ours = stretches(found)

    def overlap(a, b):
        common = max(0, min(a[1], b[1]) - max(a[0], b[0]))
        return common / (max(a[1], b[1]) - min(a[0], b[0])) if common else 0.0

    return statistics.mean(
        sum((a[1] - a[0]) * max(overlap(a, b) for b in ours) for a in stretches(marked)) / samples
        for marked in annotations.values()
    )


def told(directory, kept, values):
    """Indices of the changes that `trimtab explain` tells of values an hour apart."""
    from verdicts import verdict_on

    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    hour = datetime.timedelta(hours=1)
    path = os.path.join(directory, "series.csv")
    with open(path, "w") as file:
        print("time,value", file=file)
        for index in kept:
            print(f"{(start + index * hour).isoformat()},{values[index]!r}", file=file)
    changes = verdict_on(os.environ["TRIMTAB"], path, "--tz", "UTC")["changes"]
    return [round((datetime.datetime.fromisoformat(change["to"]) - start) / hour) for change in changes]


def annotated(ours, directory, clone):
    annotations = json.loads((pathlib.Path(clone) / "annotations.json").read_text())
    series = {}
    for path in sorted(pathlib.Path(clone).glob("datasets/*/*.json")):
        data = json.loads(path.read_text())
        raw = data["series"][0]["raw"] if data["n_dim"] == 1 else []
        values = [math.nan if value is None else float(value) for value in raw]
        if values and data["name"] in annotations:
            series[data["name"]] = values
    print()
    print(f"TCPD, the {len(series)} univariate series that come with the repository; F1 at margin 5 and covering,")
    print("means over the series; without z-scores or any setting chosen on these data.")
    print()
    print("| tool | F1 | covering |")
    print("|---|---|---|")
    whole = ["trimtab explain"] if os.environ.get("TRIMTAB") else []
    for tool in ["no change at all", *whole, *TOOLS]:
        scores = []
        for name, values in series.items():
            # Missing values are removed, and indices mapped back.
            kept = [index for index, value in enumerate(values) if math.isfinite(value)]
            found = []
            if tool in whole:
                found = told(directory, kept, values)
            elif tool in TOOLS:
                path = os.path.join(directory, "series.txt")
                numpy.savetxt(path, [values[index] for index in kept], fmt="%.17g")
                answer = run(tool, ours, path, 120)
                found = [kept[index] for index in answer["found"]]
            marked = annotations[name]
            scores.append((f1(marked, found), covering(marked, found, len(values))))
            if os.environ.get("EACH"):
                print(tool, name, len(values), found, scores[-1], file=sys.stderr)
        means = [statistics.mean(column) for column in zip(*scores)]
        name = "its detection of changes alone" if whole and tool == "trimtab" else tool
        print(f"| {name} | {means[0]:.3f} | {means[1]:.3f} |", flush=True)


def main():
    if sys.argv[1] == "--detect":
        return detect(*sys.argv[2:])
    load = os.getloadavg()
    print(f"Load average {load[0]:.1f} at the start, {os.cpu_count()} cores.")
    print()
    with tempfile.TemporaryDirectory() as directory:
        if os.environ.get("SIZES") != "":
            times_and_accuracy(sys.argv[1], directory)
        if os.environ.get("TCPD"):
            annotated(sys.argv[1], directory, os.environ["TCPD"])


main()
