#!/usr/bin/env python3
"""Makes a history in OpenMetrics' format of metrics that `trimtab check` wrote at several times, as a Prometheus that
scrapes a host every five minutes keeps them, beside the read latency of that host: 1 ms, and 9 ms for the 40 minutes after
each start of the job that ran."""
import random
import re
import sys

begin = int(sys.argv[1])
samples: dict[str, list[tuple[int, float]]] = {}
at = begin
for line in sys.stdin:
    if line.startswith("# at "):
        at = int(line.split()[2])
    else:
        series, value = line.rsplit(" ", 1)
        samples.setdefault(series, []).append((at, float(value)))
# What ran is by the calendar of the tree, not by what trimtab says of it: Sundays at 06:47.
first = begin + (6 - (begin // 86400 + 3) % 7) % 7 * 86400 + 6 * 3600 + 47 * 60
starts = range(first, begin + 84 * 86400, 7 * 86400)
noise = random.Random(7)
print("# TYPE lab_read_wait_ms gauge")
for now in range(begin, begin + 84 * 86400, 300):
    busy = any(start <= now < start + 2400 for start in starts)
    print(f'lab_read_wait_ms{{instance="db1:9100"}} {(9 if busy else 1) * noise.lognormvariate(0, 0.15):.4f} {now}')
families: dict[str, list[str]] = {}
for series, known in samples.items():
    families.setdefault(series.split("{")[0], []).append(series)
for family, names in sorted(families.items()):
    print(f"# TYPE {family} gauge")
    for series in names:
        labels = re.sub(r"^[^{]*\{", '{instance="db1:9100",', series)
        known = samples[series]
        for (now, value), following in zip(known, known[1:] + [(begin + 84 * 86400, 0)]):
            for scraped in range(now, following[0], 300):
                print(f"{family}{labels} {value:.0f} {scraped}")
print("# EOF")
