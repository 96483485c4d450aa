#!/usr/bin/env python3
"""How much of a filesystem's free space is still stored in the image file below it.

    left.py IMAGE xfs|ext4 MOUNT_POINT       mounted from IMAGE
    left.py IMAGE btrfs                      not mounted

Prints one JSON object, in bytes: `free` and `free_extents` as the filesystem's own structures have
them (FS_IOC_GETFSMAP through xfs_io; chunk and extent trees of Btrfs), `stored` in the image file, and
`left`: what of it lies inside free space. Everything else that is stored is in use: live data,
metadata, log. The blocks in which the host keeps the image file's own map are not counted: copies
of one image differ in them.
"""
import json
import os
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def merged(ranges):
    """Sorted ranges (start, end) without overlaps and borders."""
    out = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def without(whole, taken):
    """What of the merged ranges `whole` is in none of the merged ranges `taken`."""
    out, index = [], 0
    for start, end in whole:
        while index < len(taken) and taken[index][1] <= start:
            index += 1
        at, look = start, index
        while look < len(taken) and taken[look][0] < end:
            if taken[look][0] > at:
                out.append((at, taken[look][0]))
            at = max(at, taken[look][1])
            look += 1
        if at < end:
            out.append((at, end))
    return out


def free_by_fsmap(mount):
    """Free extents of XFS or ext4: `xfs_io -c 'fsmap -m'` counts in sectors of 512 bytes."""
    free = []
    lines = run("xfs_io", "-r", "-c", "fsmap -m", mount).splitlines()
    columns = lines[0].split(",")
    first, last = columns.index("PSTART"), columns.index("PEND")
    owner = columns.index("OWNER")
    for line in lines[1:]:
        fields = line.split(",")
        if fields[owner].strip() in ("free space", "special_0:1"):
            free.append((int(fields[first]) * 512, (int(fields[last]) + 1) * 512))
    if not free:
        raise SystemExit(f"left.py: no free extents in the map of {mount}")
    return merged(free)


def free_of_btrfs(image):
    """Device bytes that belong to no extent, from the trees; profiles single and DUP."""
    dump = run("btrfs", "inspect-internal", "dump-tree", "-t", "chunk", image)
    header = run("btrfs", "inspect-internal", "dump-super", image)
    node = int(re.search(r"^nodesize\s+(\d+)", header, re.MULTILINE).group(1))
    size = int(re.search(r"total_bytes (\d+) bytes_used", dump).group(1))
    chunks = []  # logical start, length, device offsets
    for part in re.split(r"\n\titem \d+ key ", dump)[1:]:
        key = re.match(r"\(FIRST_CHUNK_TREE CHUNK_ITEM (\d+)\)", part)
        if key:
            length = int(re.search(r"length (\d+) owner", part).group(1))
            profile = re.search(r"type (\S+)", part).group(1)
            if re.search("RAID", profile):
                raise SystemExit(f"left.py: profile {profile} is not understood")
            chunks.append((int(key.group(1)), length, [int(o) for o in re.findall(r"devid \d+ offset (\d+)", part)]))
    chunks.sort()
    extents = []
    dump = run("btrfs", "inspect-internal", "dump-tree", "-t", "extent", image)
    for at, kind, number in re.findall(r"key \((\d+) (EXTENT_ITEM|METADATA_ITEM) (\d+)\)", dump):
        extents.append((int(at), int(number) if kind == "EXTENT_ITEM" else node))
    used = [(0, 1 << 20)]  # reserved; and the copies of the superblock
    used += [(at, at + 65536) for at in (64 << 20, 256 << 30) if at < size]
    index = 0
    for at, length in sorted(extents):
        while chunks[index][0] + chunks[index][1] <= at:
            index += 1
        start = at - chunks[index][0]
        assert 0 <= start and start + length <= chunks[index][1], (at, length, chunks[index])
        used += [(stripe + start, stripe + start + length) for stripe in chunks[index][2]]
    return without([(0, size)], merged(used))


def stored(image):
    """Ranges of data in the image file."""
    descriptor = os.open(image, os.O_RDONLY)
    os.fsync(descriptor)
    size, at, data = os.fstat(descriptor).st_size, 0, []
    while at < size:
        try:
            at = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:
            break
        end = os.lseek(descriptor, at, os.SEEK_HOLE)
        data.append([at, end])
        at = end
    return data


image, kind = sys.argv[1:3]
free = free_of_btrfs(image) if kind == "btrfs" else free_by_fsmap(sys.argv[3])
data = stored(image)
total = sum(end - start for start, end in data)
in_use = sum(end - start for start, end in without(data, [list(extent) for extent in free]))
print(json.dumps({
    "free": sum(end - start for start, end in free),
    "free_extents": len(free),
    "stored": total,
    "left": total - in_use,
}))
