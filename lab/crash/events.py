#!/usr/bin/env python3
"""Reads a stream of `trimtab trim --format json`.

    lab/crash/events.py FILE TYPE KEY...  KEYs of the last event of this TYPE, or nothing
    lab/crash/events.py FILE              complains about a line that is no event, or out of order

A torn last line is no fault of a process that was killed, and passed over.
"""

import json
import sys

with open(sys.argv[1], "rb") as file:
    content = file.read()
lines = content.split(b"\n")
lines.pop()  # torn, or empty
found = None
for seq, line in enumerate(lines):
    event = json.loads(line)
    if event["schema"] != "trimtab.trim/1" or event["seq"] != seq:
        sys.exit(f"event {seq} is {line!r}")
    if len(sys.argv) > 2 and event["type"] == sys.argv[2]:
        found = event
if found is not None:
    print(*(found[key] for key in sys.argv[3:]))
