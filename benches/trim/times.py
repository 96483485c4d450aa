#!/usr/bin/env python3
"""Statistics of the latencies recorded by the neighbor process.

    times.py FILE KIND [FROM TO]     prints COUNT MEAN_MS P99_MS MAX_MS; FROM and TO are uptimes

The 99th percentile is the smallest time that at least 99 % of the operations did not exceed.
"""
import math
import sys

first = float(sys.argv[3]) if len(sys.argv) > 3 else -math.inf
last = float(sys.argv[4]) if len(sys.argv) > 4 else math.inf
times = []
for line in open(sys.argv[1]):
    kind, at, took = line.split()
    if kind == sys.argv[2] and first <= float(at) <= last:
        times.append(int(took) / 1e3)
if not times:
    raise SystemExit(f"times.py: {sys.argv[1]} has no {sys.argv[2]} between {first} and {last}")
times.sort()
print(len(times), f"{sum(times) / len(times):.1f}", f"{times[math.ceil(len(times) * 0.99) - 1]:.1f}", f"{times[-1]:.1f}")
