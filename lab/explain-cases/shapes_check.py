#!/usr/bin/env python3
"""Checks what `trimtab explain` says of the files of shapes.py: shapes_check.py DIRECTORY.

Beside each file lie its answer (JSON) and the command's exit code. What can be said is in expected.json, argued from
each file's columns. One line for each shape of storm, and for each machine without one.
"""

import json
import sys
from pathlib import Path

GIB_KB = 1 << 20


def answer(path):
    """The answer's result, and the exit code."""
    code = int(Path(f"{path}.code").read_text())
    try:
        return json.loads(Path(f"{path}.answer").read_text())["result"], code
    except ValueError:
        return None, code


def storm(top, expected):
    """What is wrong in the answer for a storm."""
    result, code = answer(top / expected["file"])
    if result is None:
        return [f"not read (exit code {code})"]
    if not result["disk_logs"]:
        return ["no log of disks"]
    log, wrong = result["disk_logs"][0], []

    def expect(is_so, what):
        if not is_so:
            wrong.append(what)

    if "ever_discarded" in expected:
        text = " ".join(log["sentences"])
        expect(log["moved"] == "since_boot", f"moved {log['moved']}")
        expect(("Nothing has been discarded" in text) != expected["ever_discarded"], text)
        return wrong
    expect(code == 1, f"exit code {code}")
    if expected["counts_discards"]:
        moved = "discards"
    elif expected["old_kernel"]:
        # vmstat and copies of /proc/diskstats name no kernel; sadf's, which may change within a file, is not taken.
        has_kernel = not any(name in expected["file"] for name in ("vmstat", "diskstats", "sadf"))
        moved = "probably_discards" if has_kernel else "writes_or_discards"
    else:
        moved = "not_counted"
    expect(log["moved"] == moved, f"moved {log['moved']}")
    clearest = [burst for burst in log["bursts"] if burst["is_clearest"]]
    if not clearest:
        return [*wrong, "no burst"]
    # A first report about the time since boot is no sample; nor is one that may be.
    left_out = expected["reports"] - log["samples"]
    expect(0 <= left_out <= 1, f"{log['samples']} samples of {expected['reports']} reports")
    first = clearest[0]["first_sample"]
    expect(first == expected["first_sample_of_burst"] - left_out, f"first sample {first}, {left_out} left out")
    if expected["time_known"]:
        at = clearest[0]["at"] or "unknown"
        expect(at[:19] == expected["start"][:19], f"from {at}")
    else:
        expect(clearest[0]["at"] is None, f"dated {clearest[0]['at']}")
    if expected["devices"] and moved != "not_counted":
        drives = {one["device"]: max(kb or 0 for kb in one["after_kb_s"]) / GIB_KB for one in log["devices"]}
        drives = {name: rate for name, rate in drives.items() if name in expected["devices"]}
        expect(set(drives) == set(expected["devices"]), f"drives {sorted(drives)}")
        low, high = expected["gib_per_s_per_drive"]
        expect(all(low * 0.97 <= rate <= high * 1.03 for rate in drives.values()), f"GiB/s {drives}, not {low} to {high}")
    harm = {one["what"]: one for one in log["harm"]}
    expect(not expected["reads_fall"] or "reads" in harm, f"harm {sorted(harm)}")
    if expected["iowait_percent"]:
        before, during = expected["iowait_percent"]
        iowait = harm.get("iowait", {"from": -1, "to": -1})
        # vmstat prints whole numbers.
        expect(abs(iowait["from"] - before) <= 0.5 and abs(iowait["to"] - during) <= 0.5, f"iowait {iowait}")
    return wrong


def machine(top, file):
    """What is wrong in the answer for a machine without a storm."""
    result, code = answer(top / file)
    if result is None:
        return [f"not read (exit code {code})"]
    return [] if code == 0 else [" ".join(log["sentences"]) for log in result["disk_logs"]] or ["a finding"]


def curve(path):
    """What is wrong in the answer for a curve that has nothing to do with the jobs."""
    result, code = answer(path)
    if result is None:
        return [f"not read (exit code {code})"]
    verdicts = [one["verdict"] for one in result["series"]]
    return [one["sentence"] for one in verdicts if one["kind"] == "periodic"]


def main(top):
    top = Path(top)
    expected = json.loads((top / "expected.json").read_text())
    checked = [(one["file"], storm(top, one)) for one in expected["storms"]]
    checked += [(file, machine(top, file)) for file in (one["file"] for one in expected["nulls"])]
    curves = sorted((top / "curves").glob("*.csv"))
    checked += [(path.name, curve(path)) for path in curves]
    failed = [(file, wrong) for file, wrong in checked if wrong]
    for file, wrong in failed:
        print(f"  FAIL {file}: {'; '.join(wrong)}")
    counts = f"{len(expected['storms'])} storms, {len(expected['nulls'])} machines without one, {len(curves)} curves"
    print(f"  {counts}: {len(failed)} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
