#!/usr/bin/env python3
"""An independent decoder of MongoDB's diagnostic data, to compare with that of the crate `sources`.

    ftdc.py SAMPLES FILE...

SAMPLES is the output of `cargo run -p sources --example read -- ftdc FILE 0 PATTERN...` for the same files, in
their order: lines of series, microseconds and value. Each series is looked up in the files, which are decoded
according to MongoDB's src/mongo/db/ftdc/README.md, and must contain exactly the same values, or their rates
per second. Means (`mean latency` etc.) are recomputed.
"""

import struct
import sys
import zlib
from collections import defaultdict

FIXED = {0x07: 12, 0x06: 0, 0x0A: 0, 0x7F: 0, 0xFF: 0}
MEANS = {
    "mean latency": ("latency", "ops"),
    "mean read time": ("read_time_ms", "reads"),
    "mean write time": ("write_time_ms", "writes"),
}


def elements(data, at):
    """Yields (type, name, offset of the value) for the document at offset `at`."""
    end = at + struct.unpack_from("<i", data, at)[0] - 1
    at += 4
    while at < end:
        kind = data[at]
        close = data.index(0, at + 1)
        name = data[at + 1 : close].decode()
        at = close + 1
        yield kind, name, at
        if kind in (0x01, 0x09, 0x11, 0x12):
            at += 8
        elif kind == 0x10:
            at += 4
        elif kind == 0x08:
            at += 1
        elif kind == 0x13:
            at += 16
        elif kind in (0x02, 0x0D, 0x0E):
            at += 4 + struct.unpack_from("<i", data, at)[0]
        elif kind in (0x03, 0x04):
            at += struct.unpack_from("<i", data, at)[0]
        elif kind == 0x05:
            at += 5 + struct.unpack_from("<i", data, at)[0]
        else:
            at += FIXED[kind]


def numbers(data, at, above, out):
    for kind, name, place in elements(data, at):
        path = above + name
        if kind == 0x01:
            out.append((path, int(struct.unpack_from("<d", data, place)[0])))
        elif kind in (0x03, 0x04):
            numbers(data, place, path + ".", out)
        elif kind == 0x08:
            out.append((path, data[place]))
        elif kind in (0x09, 0x12):
            out.append((path, struct.unpack_from("<q", data, place)[0]))
        elif kind == 0x10:
            out.append((path, struct.unpack_from("<i", data, place)[0]))
        elif kind == 0x11:
            increment, seconds = struct.unpack_from("<II", data, place)
            out += [(path + ".t", seconds), (path + ".i", increment)]
        elif kind == 0x13:
            raise ValueError("decimals are not supported")


def varints(data, at):
    value = shift = 0
    for byte in data[at:]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def chunks(path):
    """Yields the columns of each chunk: a dictionary by path."""
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        kind = packed = None
        for element, name, place in elements(data, at):
            if name == "type":
                kind = struct.unpack_from("<i", data, place)[0]
            elif name == "data" and element == 0x05:
                packed = data[place + 5 : place + 5 + struct.unpack_from("<i", data, place)[0]]
        at += struct.unpack_from("<i", data, at)[0]
        if kind != 1:
            continue
        plain = zlib.decompress(packed[4:])
        reference = []
        numbers(plain, 0, "", reference)
        behind = struct.unpack_from("<i", plain, 0)[0]
        metrics, further = struct.unpack_from("<II", plain, behind)
        if metrics and metrics != len(reference):
            raise ValueError(f"{metrics} metrics, but {len(reference)} in the reference document")
        source, zeros, columns = varints(plain, behind + 8), 0, {}
        for name, value in reference:
            column = [value]
            for _ in range(further if metrics else 0):
                if zeros:
                    zeros -= 1
                else:
                    step = next(source)
                    if step:
                        value = (value + step + (1 << 63)) % (1 << 64) - (1 << 63)
                    else:
                        zeros = next(source)
                column.append(value)
            columns[name] = column
        if zeros or next(source, None) is not None:
            raise ValueError("trailing data after the last delta")
        yield columns


def pairs(times, one, other=None):
    """Increments of a value, per second or per increment of `other`, keyed by time."""
    out = {}
    for at in range(1, len(times)):
        seconds = (times[at] - times[at - 1]) / 1e6
        grown = one[at] - one[at - 1]
        under = seconds if other is None else other[at] - other[at - 1]
        if grown < 0 or under < 0 or seconds > 600 or (other is not None and under == 0):
            continue
        out[times[at]] = grown / under
    return out


def main():
    told = defaultdict(dict)
    for line in open(sys.argv[1]):
        name, time_us, value = line.rstrip("\n").split("\t")
        told[name][int(time_us)] = float(value)
    wanted = set()
    for name in told:
        parent, _, last = name.rpartition(".")
        wanted |= {f"{parent}.{part}" for part in MEANS[last]} if last in MEANS else {name}
    raw, last = defaultdict(lambda: ([], [])), None
    for path in sys.argv[2:]:
        for columns in chunks(path):
            fresh = []
            for at, time_ms in enumerate(columns["start"]):
                if last is None or time_ms > last:
                    last = time_ms
                    fresh.append(at)
            for name in wanted & columns.keys():
                raw[name][0].extend(columns["start"][at] * 1000 for at in fresh)
                raw[name][1].extend(columns[name][at] for at in fresh)
    same = defaultdict(int)
    for name, samples in told.items():
        parent, _, tail = name.rpartition(".")
        if tail in MEANS:
            above, below = (raw[f"{parent}.{part}"] for part in MEANS[tail])
            forms = {"mean": pairs(above[0], above[1], below[1])}
        else:
            times, values = raw[name]
            forms = {"gauge": dict(zip(times, map(float, values))), "rate": pairs(times, values)}
        fits = [
            form
            for form, expected in forms.items()
            if expected.keys() == samples.keys()
            and all(abs(expected[at] - value) <= 1e-9 * max(1, abs(value)) for at, value in samples.items())
        ]
        if not fits:
            sys.exit(f"{name}: differs from the files ({len(samples)} samples)")
        same[fits[0]] += 1
    if not all(same[form] for form in ("gauge", "rate")):
        sys.exit(f"too little was compared: {dict(same)}")
    count = sum(map(len, told.values()))
    print(f"{count} samples of {len(told)} series agree: " + ", ".join(f"{n} {form}s" for form, n in same.items()))


main()
