#!/usr/bin/env python3
"""Fills a directory with files of seeded random contents, deletes more than half of them, and prints the
SHA-256 sums of the remaining ones in the format of sha256sum(1).

    lab/crash/fill.py DIR SEED MIB

Sizes are between 16 KiB and 1 MiB, which leaves hundreds of free extents.
"""

import hashlib
import os
import random
import sys

directory, seed, mib = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dice = random.Random(seed)
files = []
written = 0
while written < mib << 20:
    name = f"{len(files) % 16:x}/{len(files)}"
    os.makedirs(os.path.join(directory, os.path.dirname(name)), exist_ok=True)
    content = dice.randbytes(dice.randrange(16 << 10, 1 << 20))
    with open(os.path.join(directory, name), "wb") as file:
        file.write(content)
    files.append((name, hashlib.sha256(content).hexdigest()))
    written += len(content)
os.sync()
for name, digest in files:
    if dice.random() < 0.6:
        os.unlink(os.path.join(directory, name))
    else:
        print(f"{digest}  {name}")
os.sync()
