#!/usr/bin/env python3
"""Apache Otava on the weekly sawteeth that trimtab is tried on, over a grid of its parameters.

    benches/explain/otava_sawtooth.sh

makes DIR, which holds sawtooth-NOISE-SEED.csv with the columns time, value, resets: how many resets lie
between a sample and the one before. A reset counts as found if a change point lies at its first sample or one
sample beside it; each change point serves one reset at most, and those that serve none are false.
Every combination of the grid is tried. The row shown for each noise and p-value is the combination that
is best for Otava: most resets found, then fewest false ones. Prints Markdown.
"""

import argparse
import csv
import importlib.metadata
import pathlib
import re
import sys

from otava.analysis import compute_change_points

P_VALUES = (0.001, 0.01, 0.05, 0.1, 0.2)
WINDOWS = (20, 30, 50, 100)
MAGNITUDES = (0.0, 0.02, 0.05)
NAME = re.compile(r"sawtooth-(\d+)-(\d+)\.csv")


def read(path):
    """Values, and the indices of the first samples after resets."""
    with path.open(newline="", encoding="ascii") as lines:
        rows = list(csv.DictReader(lines))
    resets = [index for index, row in enumerate(rows) if int(row["resets"]) > 0]
    return [float(row["value"]) for row in rows], resets


def score(resets, points):
    """Resets found, and change points at none."""
    free = set(points)
    found = 0
    for reset in resets:
        near = [point for point in (reset, reset - 1, reset + 1) if point in free]
        if near:
            free.discard(near[0])
            found += 1
    return found, len(free)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dir", type=pathlib.Path)
    directory = parser.parse_args().dir
    curves = {}
    for path in sorted(directory.iterdir()):
        match = NAME.fullmatch(path.name)
        if match:
            curves.setdefault(int(match[1]), []).append(read(path))
    if not curves:
        sys.exit(f"{directory}: no sawtooth-NOISE-SEED.csv; see the head of this script")
    version = importlib.metadata.version("apache-otava")
    print(f"\n### Apache Otava {version} on the same sawteeth\n")
    print(f"`benches/explain/otava_sawtooth.sh`; p-value {P_VALUES}, window {WINDOWS}, ")
    print(f"least magnitude {MAGNITUDES}; of each p-value the best of {len(WINDOWS) * len(MAGNITUDES)}.\n")
    print("| noise | p-value | window | magnitude | curves | resets found | a year | false points, a year |")
    print("|---|---|---|---|---|---|---|---|")
    for noise, series in sorted(curves.items()):
        total = sum(len(resets) for _, resets in series)
        for p_value in P_VALUES:
            rows = []
            for window in WINDOWS:
                for magnitude in MAGNITUDES:
                    scores = []
                    for values, resets in series:
                        points, _ = compute_change_points(
                            values, window_len=window, max_pvalue=p_value, min_magnitude=magnitude
                        )
                        scores.append(score(resets, [point.index for point in points]))
                    found = sum(one for one, _ in scores)
                    false = sum(one for _, one in scores)
                    rows.append((-found, false, window, magnitude))
            found, false, window, magnitude = min(rows)
            print(
                f"| {noise} % | {p_value} | {window} | {magnitude} | {len(series)} "
                f"| {-found} of {total} | {-found / len(series):.1f} of {total / len(series):.0f} "
                f"| {false / len(series):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
