#!/usr/bin/env python3
"""Checks what `trimtab` makes of trims that were scraped or copied.

    scraped.py scraped NAME BASE FROM UNTIL   BASE.samples (`read discards`), BASE.json and BASE.err (`explain`); NAME is
                                              `old|new, trims|flushes alone`
    scraped.py stalked ANSWER DEVICE          of copies of /proc/diskstats as they are
    scraped.py older SAMPLES FROM UNTIL       of those without the kernel's counters of discards (`read file`)

FROM and UNTIL are seconds, and the kernel's own milliseconds of discards and of flushes: `SECONDS DISCARDS FLUSHES`.
"""

import json
import os
import sys


def samples(path, begins):
    """Times in seconds and values of the series whose name begins like this."""
    with open(path, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return [(int(at_us) / 1e6, float(value)) for name, at_us, value in rows if name.startswith(begins)]


def kernels(begin, end):
    """The seconds of both marks, and what the kernel counted between them."""
    (from_s, *before), (until_s, *after) = [list(map(int, mark.split())) for mark in (begin, end)]
    return from_s, until_s, *(last - first for first, last in zip(before, after))


def is_near(computed_ms, discards_ms, flushes_ms, count):
    """Three counters are cut to a millisecond in each sample, and what flushes usually take is taken off."""
    return discards_ms > 50 and abs(computed_ms - discards_ms) <= discards_ms * 0.02 + flushes_ms / 2 + 3 * count**0.5


def scraped(name, base, begin, end):
    job, what = name.split(", ")
    from_s, until_s, discards_ms, flushes_ms = kernels(begin, end)
    begins = "discard time of " if job == "new" else "discard or flush time of "
    found = samples(f"{base}.samples", begins)
    computed_ms = sum(value for _, value in found)
    is_answer = os.path.getsize(f"{base}.json") > 0
    series = json.load(open(f"{base}.json", encoding="utf-8"))["result"]["series"] if is_answer else []
    verdicts = [one["verdict"] for one in series if one["name"].startswith(begins)]
    said = [verdict["sentence"] for verdict in verdicts] or open(f"{base}.err", encoding="utf-8").read()
    if what == "trims":
        # As the exporter counts them, there are no others; how they are weighed is that of any other series.
        others_ms = 0 if job == "new" else flushes_ms
        is_told = len(verdicts) == 1 and (job == "new" or said[0].startswith("Probably discards"))
        is_right = is_told and is_near(computed_ms, discards_ms, others_ms, len(found))
    elif job == "new":
        is_right = "no disk spent time on discards" in said
    else:
        is_right = len(found) >= 16 and verdicts[0]["kind"] in ("none", "undecided") and computed_ms < flushes_ms
    what = f"{name}: {computed_ms:.0f} ms; the kernel's {discards_ms} of discards, {flushes_ms} of flushes in {until_s - from_s} s"
    return is_right, what, said


def stalked(path, device):
    logs = json.load(open(path, encoding="utf-8"))["result"]["disk_logs"]
    found = [one["device"] for log in logs if log["moved"] == "discards" for one in log["devices"]]
    return found == [device], "copies of /proc/diskstats", [log["sentences"] for log in logs]


def older(path, begin, end):
    from_s, until_s, discards_ms, flushes_ms = kernels(begin, end)
    found = samples(path, "discard or flush time of ")
    pairs = [(after[0] - before[0], after) for before, after in zip(found, found[1:])]
    spent = [length_s * value for length_s, (at, value) in pairs if from_s < at <= until_s]
    what = f"the same of Linux before 4.18: {sum(spent):.0f} ms; the kernel's {discards_ms} of discards, {flushes_ms} of flushes"
    return is_near(sum(spent), discards_ms, flushes_ms, len(spent)), what, spent


if __name__ == "__main__":
    is_right, what, said = {"scraped": scraped, "stalked": stalked, "older": older}[sys.argv[1]](*sys.argv[2:])
    print(f"  ok   {what}" if is_right else f"  FAIL {what}; said {said}")
    sys.exit(not is_right)
