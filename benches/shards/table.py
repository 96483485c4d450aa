"""Formats the figures of measure.sh and of the example `speed` as Markdown: times side by side, slopes, and
whether the decisions are the same.

    python3 benches/shards/table.py FIGURES.csv
"""

import csv
import math
import sys
from collections import defaultdict

OPERATIONS = {"reroute": "a reroute with nothing to do", "create": "creating an index"}


def milliseconds(value):
    return f"{value:,.1f}" if value >= 10 else f"{value:.2g}"


def slope(points):
    """Least squares on logarithms of copies and milliseconds."""
    logs = [(math.log(copies), math.log(ms)) for copies, ms in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    over = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return over / sum((x - mean_x) ** 2 for x, _ in logs)


def main(path):
    times = defaultdict(dict)
    digests = defaultdict(dict)
    versions = []
    with open(path, encoding="utf-8") as file:
        header = None
        for row in csv.reader(file):
            if row[0] == "version":
                header = row
                continue
            if header is None:
                header = (
                    "version,operation,nodes,indices,closed_indices,primaries,replicas,routed_copies,"
                    "cpu_ms_median,cpu_ms_min,cpu_ms_max,runs,digest"
                ).split(",")
            row = dict(zip(header, row))
            if row["operation"] not in OPERATIONS:
                continue
            if row["version"] not in versions:
                versions.append(row["version"])
            key = (row["operation"], int(row["nodes"]), int(row["routed_copies"]))
            times[key][row["version"]] = float(row["cpu_ms_median"])
            digests[key][row["version"]] = row["digest"]
    for operation, words in OPERATIONS.items():
        keys = sorted(key for key in times if key[0] == operation)
        print(f"\n{words[0].upper()}{words[1:]}, milliseconds:\n")
        columns = [v for v in versions if any(v in times[key] for key in keys)]
        print("| nodes | shards | " + " | ".join(columns) + " | decisions |")
        print("|---:|---:|" + "---:|" * len(columns) + "---|")
        for key in keys:
            cells = [milliseconds(times[key][v]) if v in times[key] else "" for v in columns]
            known = set(digests[key].values())
            alone = set(digests[key]) <= {"cold", "warm"}
            same = "differ" if len(known) > 1 else "cold and warm alike" if alone else "all alike"
            same = "" if len(digests[key]) < 2 else same
            print(f"| {key[1]:,} | {key[2]:,} | " + " | ".join(cells) + f" | {same} |")
        print("\nSlopes on logarithmic scales, over all sizes of a column:\n")
        print("| nodes | " + " | ".join(columns) + " |")
        print("|---:|" + "---:|" * len(columns))
        for nodes in sorted({key[1] for key in keys}):
            cells = []
            for version in columns:
                points = [
                    (key[2], times[key][version])
                    for key in keys
                    if key[1] == nodes and version in times[key]
                ]
                cells.append(f"{slope(points):.2f}" if len(points) > 1 else "")
            print(f"| {nodes:,} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(sys.argv[1])
