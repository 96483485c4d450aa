#!/usr/bin/env python3
"""Checks what `trimtab explain` says of a recording of one trim: recorders.py RECORDING DEVICE FILE."""

import json
import sys

# vmstat and `iostat -s` do not tell discards from the rest: nothing may be claimed of them.
BLIND = ("vmstat", "vmstat-t", "iostat-s")
# Without times, or without a date.
UNDATED = ("iostat", "iostat-x", "iostat-xm", "iostat-dk", "iostat-xh", "iostat-h", "iostat-xy", "iostat-Nx")


def main(recording, device, path):
    with open(path, encoding="utf-8") as text:
        result = json.load(text)["result"]
    logs = result["disk_logs"]
    log = logs[0] if logs else {"moved": None, "devices": [], "bursts": [], "samples": 0, "dating": None}
    failures = []

    def expect(is_so, what):
        if not is_so:
            failures.append(what)

    if recording in BLIND:
        expect(log["moved"] in ("nothing", "writes_or_discards", "writes"), f"moved {log['moved']}")
    else:
        expect(log["moved"] == "discards", f"moved {log['moved']}")
        # A slow device may pause within the trim, and a busy machine may skip a second.
        expect(1 <= len(log["bursts"]) <= 3, f"bursts {log['bursts']}")
        expect(10 <= log["samples"] <= 14, f"{log['samples']} samples")
        # Samples of a second; the device has 3 GB, most of which is trimmed at once, however long that takes.
        discarded = {one["device"]: sum(kb or 0 for kb in one["after_kb_s"]) for one in log["devices"]}
        name = device if device in discarded else "all disks"
        expect(1e6 <= discarded.get(name, 0) <= 4e6, f"discarded {discarded}")
        is_dated = recording not in UNDATED and "without" not in recording
        expect((log["dating"] == "absolute") == is_dated, f"dating {log['dating']}")
    print(f"  {'FAIL' if failures else 'ok  '} {recording}" + "".join(f"; {one}" for one in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
