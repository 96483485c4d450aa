#!/usr/bin/env python3
"""Reads an event stream of `trimtab trim --format json`.

    lab/crash/events.py FILE TYPE KEY...  prints fields KEY... of the last event of TYPE, or nothing
    lab/crash/events.py FILE              fails if a line is not an event, or is out of order

An incomplete last line is ignored: the process may have been killed.
"""

import json
import sys

with open(sys.argv[1], "rb") as file:
    content = file.read()
lines = content.split(b"\n")
lines.pop()  # incomplete or empty
found = None
for seq, line in enumerate(lines):
    event = json.loads(line)
    if event["schema"] != "trimtab.trim/1" or event["seq"] != seq:
        sys.exit(f"event {seq} is {line!r}")
    if len(sys.argv) > 2 and event["type"] == sys.argv[2]:
        found = event
if found is not None:
    print(*(found[key] for key in sys.argv[3:]))
