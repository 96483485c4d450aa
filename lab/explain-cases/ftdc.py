#!/usr/bin/env python3
"""A history as MongoDB keeps it, of a real device, and what `trimtab` makes of it.

    ftdc.py record DEVICE SECONDS FILE [MOUNT]
                                         samples /proc/diskstats 20 times a second, and writes the counters that mongod
                                         takes of it as diagnostic data (FTDC), 6 minutes apart: two hours a second.
                                         Trims MOUNT in the middle of each hour
    ftdc.py documents DEVICE SECONDS FILE [MOUNT]
                                         the same as documents of Metricbeat, 10 s apart as they are by default, as the
                                         body of a bulk request. Trims MOUNT every two minutes
    ftdc.py check FILE SAMPLES ANSWER YES|NO
                                         compares what was computed (`read ftdc FILE 0 'discard or flush*'`) with what
                                         the kernel counted, and what `explain` says (JSON) with whether there were trims

mongod keeps neither discards nor flushes. The kernel's own counts of them are kept beside FILE, in FILE.kernel.
"""

import json
import struct
import subprocess
import sys
import time
import zlib

EVERY_S = 0.05
APART_MS = 360_000
DOCUMENTS_APART_MS = 10_000
START_MS = 1_767_225_600_000
# Fields of /proc/diskstats behind the name, as in Linux' Documentation/admin-guide/iostats.rst, under mongod's names.
MONGODB = {"reads": 0, "read_time_ms": 3, "writes": 4, "write_time_ms": 7, "io_queued_ms": 10}
DISCARD_MS, FLUSH_MS = 14, 16


def counters(device):
    with open("/proc/diskstats", encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if words[2] == device:
                return [int(word) for word in words[3:]]
    raise SystemExit(f"no {device} in /proc/diskstats")


def document(elements):
    """A BSON document of dates and numbers, and documents of these."""
    body = b""
    for name, (kind, value) in elements.items():
        body += bytes([kind]) + name.encode() + b"\0"
        body += document(value) if kind == 3 else struct.pack("<q", value)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def chunk(device, rows):
    """A file's document of type 1: the first sample in full, then differences (src/mongo/db/ftdc/README.md)."""
    columns = [[START_MS + at * APART_MS for at in range(len(rows))]]
    columns += [[row[field] for row in rows] for field in MONGODB.values()]
    disk = {name: (0x12, columns[at + 1][0]) for at, name in enumerate(MONGODB)}
    disks = {"disks": (3, {device: (3, disk)})}
    reference = document({"start": (9, columns[0][0]), "systemMetrics": (3, disks)})
    deltas = [after - before for column in columns for before, after in zip(column, column[1:])]
    packed, zeros = b"", 0
    for delta in deltas + [None]:
        if delta == 0:
            zeros += 1
            continue
        if zeros:
            packed, zeros = packed + varint(0) + varint(zeros - 1), 0
        if delta is not None:
            packed += varint(delta % 2**64)
    plain = reference + struct.pack("<II", len(columns), len(rows) - 1) + packed
    data = struct.pack("<I", len(plain)) + zlib.compress(plain)
    body = b"\x09_id\0" + struct.pack("<q", START_MS) + b"\x10type\0" + struct.pack("<i", 1)
    body += b"\x05data\0" + struct.pack("<I", len(data)) + b"\0" + data
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def document_of(device, before, row, at):
    """A document of Metricbeat's (diskstat_linux.go of elastic-agent-system-metrics), which rounds to four decimals."""
    queue = (row[MONGODB["io_queued_ms"]] - before[MONGODB["io_queued_ms"]]) / DOCUMENTS_APART_MS
    disk = {
        "name": device,
        "read": {"count": row[MONGODB["reads"]], "time": row[MONGODB["read_time_ms"]]},
        "write": {"count": row[MONGODB["writes"]], "time": row[MONGODB["write_time_ms"]]},
        "iostat": {"queue": {"avg_size": round(queue, 4)}},
    }
    return {
        "@timestamp": START_MS + at * DOCUMENTS_APART_MS,
        "host": {"name": "es1"},
        "system": {"diskio": disk},
    }


def bulk(device, rows):
    documents = [document_of(device, rows[max(at - 1, 0)], row, at) for at, row in enumerate(rows)]
    lines = [json.dumps(line) for document in documents for line in ({"index": {}}, document)]
    return ("\n".join(lines) + "\n").encode()


def record(device, seconds, path, mount=None, write=chunk, trim_every=10):
    rows, trims, start = [], [], time.monotonic()
    for at in range(int(float(seconds) / EVERY_S)):
        time.sleep(max(0, start + at * EVERY_S - time.monotonic()))
        rows.append(counters(device))
        if mount and at % trim_every == 5:
            trims.append(subprocess.Popen(["fstrim", mount]))
    if any(trim.wait() for trim in trims):
        raise SystemExit("fstrim failed")
    with open(path, "wb") as file:
        file.write(write(device, rows))
    with open(path + ".kernel", "w", encoding="ascii") as file:
        json.dump([[row[DISCARD_MS] - rows[0][DISCARD_MS], row[FLUSH_MS] - rows[0][FLUSH_MS]] for row in rows], file)


def documents(device, seconds, path, mount=None):
    record(device, seconds, path, mount, bulk, 12)


def check(path, samples, answer, has_trims):
    kernel = json.load(open(path + ".kernel", encoding="ascii"))
    discards_ms, flushes_ms = kernel[-1]
    with open(samples, encoding="utf-8") as lines:
        rates = [float(line.split("\t")[2]) for line in lines]
    is_ftdc = open(path, "rb").read(1) != b"{"
    apart_ms = APART_MS if is_ftdc else DOCUMENTS_APART_MS
    computed_ms = sum(rates) * apart_ms / 1000
    series = json.load(open(answer, encoding="utf-8"))["result"]["series"]
    verdicts = [one["verdict"] for one in series if one["name"].startswith("discard or flush time")]
    found = [one for one in verdicts if one["requests"] == "discards"]
    failures = []
    if has_trims == "YES":
        # Flushes are taken off as their median; counters are cut to a millisecond.
        least, most = discards_ms - flushes_ms / 4, discards_ms + flushes_ms
        if not least - len(kernel) <= computed_ms <= most + len(kernel):
            failures.append(f"computed {computed_ms:.0f} ms of {discards_ms} + {flushes_ms}")
        if not found or not found[0]["sentence"].startswith("Probably discards"):
            failures.append(f"said {[one['sentence'] for one in verdicts]}")
        elif is_ftdc and found[0]["cycle"] != "hour":
            failures.append(f"cycle {found[0]['cycle']}")
    else:
        if computed_ms > flushes_ms + len(kernel):
            failures.append(f"computed {computed_ms:.0f} ms of {flushes_ms} of flushes")
        if found:
            failures.append(f"said {found[0]['sentence']}")
    what = "trims" if has_trims == "YES" else "flushes alone"
    figures = f"{computed_ms:.0f} ms computed; the kernel's {discards_ms} of discards, {flushes_ms} of flushes"
    form = "FTDC" if is_ftdc else "documents"
    print(f"  {'FAIL' if failures else 'ok  '} {form}, {what}: {figures}" + "".join(f"; {one}" for one in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    commands = {"record": record, "documents": documents, "check": check}
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))
