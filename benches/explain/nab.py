#!/usr/bin/env python3
"""Real series with a made-up job at each hour in turn: whoever is named is innocent.

The series are those of the Numenta Anomaly Benchmark (loads of servers, traffic, temperatures, tweets), which have
humps, working hours and outages, and none of whose causes runs on the host that the job is given for.

    benches/explain/nab.py TRIMTAB NAB [--hours N] [--each]

NAB: a clone of github.com/numenta/NAB. --hours: every Nth hour.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import tempfile

from verdicts import verdict_on


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trimtab", type=pathlib.Path)
    parser.add_argument("nab", type=pathlib.Path)
    parser.add_argument("--hours", type=int, default=1)
    parser.add_argument("--each", action="store_true", help="prints each sentence that names the job or says that it fits")
    args = parser.parse_args()
    trimtab = args.trimtab.resolve()
    all_series = sorted(args.nab.glob("data/real*/*.csv"))
    if not all_series:
        parser.error(f"{args.nab} holds no data/real*/*.csv")
    total = collections.Counter()
    print("| series | named | said to fit | recurs, no job | no pattern |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tabs = []
        for hour in range(0, 24, args.hours):
            tab = pathlib.Path(directory) / f"crontab-{hour}"
            # Most jobs of hosts run at a full hour.
            tab.write_text(f"0 {hour} * * * root /usr/local/bin/innocent\n")
            tabs.append(tab)
        for series in all_series:
            count = collections.Counter()
            ask = lambda tab: verdict_on(trimtab, series, "--better", "lower", "--tz", "UTC", "--jobs", tab)
            for verdict in pool.map(ask, tabs):
                is_listed = bool(verdict["classes"])
                kind = "named" if verdict["kind"] == "periodic" and is_listed else verdict["kind"]
                if kind == "unattributed" and is_listed:
                    kind = "fits"
                count[kind] += 1
                if args.each and is_listed:
                    print(f"<!-- {series.name}: {verdict['sentence']} -->")
            total += count
            none = sum(count.values()) - count["named"] - count["fits"] - count["unattributed"]
            print(f"| {series.parent.name}/{series.stem} | {count['named']} | {count['fits']} | {count['unattributed']} | {none} |", flush=True)
    none = sum(total.values()) - total["named"] - total["fits"] - total["unattributed"]
    print(f"| all {sum(total.values())} | {total['named']} | {total['fits']} | {total['unattributed']} | {none} |")


if __name__ == "__main__":
    main()
