#!/usr/bin/env python3
"""Makes the histories of a fleet: DIRECTORY [NODES SERIES WEEKS STEP_S AFFECTED SEED]. One CSV for each node, with a column
for each series; in some of the columns of the affected nodes, something takes 20 to 40 minutes every Monday, from a random
moment between 00:00 and 01:40 on, as fstrim.timer does it. All have a wave of load, noise, and spikes of their own."""
import math
import pathlib
import random
import sys
from datetime import datetime, timezone

into = pathlib.Path(sys.argv[1])
nodes, columns, weeks, step_s, affected, seed = [int(word) for word in sys.argv[2:]] + [20, 10, 8, 300, 12, 1][len(sys.argv) - 2:]
into.mkdir(parents=True, exist_ok=True)
begin = 1767571200  # Monday 2026-01-05
for node in range(nodes):
    chance = random.Random(f"{seed}/{node}")
    count = weeks * 7 * 86400 // step_s
    starts = [week * 7 * 86400 + chance.uniform(0, 6000) for week in range(weeks)]
    busy = [(start, start + chance.uniform(1200, 2400)) for start in starts]
    series = []
    for column in range(columns):
        base = chance.uniform(5, 500)
        wave, noise, phase = chance.uniform(0, 0.4), chance.uniform(0.03, 0.15), chance.uniform(0, 86400)
        rise = chance.uniform(1, 6) if node < affected and column < 3 else 0
        memory, values = 0.0, []
        for index in range(count):
            at = index * step_s
            memory = 0.6 * memory + chance.gauss(0, noise)
            value = 1 + wave * math.sin(2 * math.pi * (at + phase) / 86400) + memory
            if chance.random() < 2e-4:
                value += chance.uniform(1, 5)
            for first, last in busy if rise else []:
                value += rise * max(0.0, min(last, at) - max(first, at - step_s)) / step_s
            values.append(base * max(value, 0.01))
        series.append(values)
    with open(into / f"node{node + 1:02}.csv", "w") as out:
        out.write("time," + ",".join(f"metric{column}" for column in range(columns)) + "\n")
        for index, row in enumerate(zip(*series)):
            at = datetime.fromtimestamp(begin + index * step_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            out.write(at + "," + ",".join(f"{value:.4g}" for value in row) + "\n")
