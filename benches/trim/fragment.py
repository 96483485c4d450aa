#!/usr/bin/env python3
"""Fragments the free space of a mounted filesystem: writes files and deletes some of them.

    fragment.py DIRECTORY MIB SMALLEST_KIB LARGEST_KIB [PERCENT_DELETED [SEED]]

Writes files of random size into 16 directories until MIB are written (or the filesystem is full), then
deletes PERCENT_DELETED (55) of them at random. The same seed gives the same files. Prints what it did.
"""
import errno
import os
import random
import sys

directory, mib, smallest_kib, largest_kib = sys.argv[1], *map(int, sys.argv[2:5])
percent = int(sys.argv[5]) if len(sys.argv) > 5 else 55
chance = random.Random(int(sys.argv[6]) if len(sys.argv) > 6 else 1)
noise = memoryview(chance.randbytes((largest_kib + 64) << 10))
for index in range(16):
    os.makedirs(f"{directory}/d{index}", exist_ok=True)
files, written, wanted = [], 0, mib << 20
while written < wanted:
    size = chance.randrange(smallest_kib, largest_kib + 1, 4) << 10
    path = f"{directory}/d{len(files) % 16}/f{len(files)}"
    start = chance.randrange(0, 64 << 10)
    try:
        with open(path, "wb", buffering=0) as file:
            file.write(noise[start : start + size])
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        break
    files.append(path)
    written += size
    # Space is allocated at writeback; syncing in small batches keeps it in the files' order.
    if len(files) % 256 == 0:
        os.sync()
os.sync()
doomed = chance.sample(files, len(files) * percent // 100)
for path in doomed:
    os.unlink(path)
os.sync()
print(f"{len(files)} files, {written >> 20} MiB, {len(doomed)} deleted")
