#!/usr/bin/env python3
"""Makes sound filesystems, and changed copies of them, for lab/guest/test-crafted.sh.

    make.py bases DIR SEED                       as root, on loop devices of its own: DIR/TYPE.LANE and .json
    make.py images DIR DISKS SEED COUNT          COUNT images of each type, on the disks' files DISKS/LANE.raw, each
                                                 three times in slots side by side; DIR/images.json lists them
    make.py again DIR DISKS ID                   writes the three copies of an image again
    make.py compare DIR DISKS                    the files' blocks on the disks after the guest's boots, one line an
                                                 image: ID, and for each copy the bytes that are not what they were

Each lane is a kind of filesystem and a drive of its own. Images of a lane have the same uuid, so no two of
them may be mounted at a time.
"""

import base64
import fcntl
import hashlib
import json
import mmap
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from btrfs import Btrfs  # noqa: E402
from ext4 import Ext4  # noqa: E402
from image import Image, Unfit  # noqa: E402
from xfs import Xfs  # noqa: E402

MIB = 1 << 20
#: An image takes no more. Three copies of it lie side by side.
SLOT, COPIES = 128 * MIB, 3
SIZES = {"xfs": 96 * MIB, "ext4": 64 * MIB, "btrfs": 128 * MIB}
#: Files that are kept, and deleted ones between them that make the free space fragments.
FILES, KEEP, JUNK = 16, 96 << 10, 160 << 10
NO_DELAY = ["-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]
LANES = {
    "xfs": [
        ["-d", "agcount=4"],
        ["-d", "agcount=4", "-m", "rmapbt=1"],
        ["-d", "agcount=3", "-m", "bigtime=0", "-i", "size=1024,sparse=0"],
        ["-d", "agcount=4", "-b", "size=1024"],
        ["-d", "agcount=2", "-m", "reflink=0,finobt=0"],
        ["-d", "agcount=3", "-b", "size=2048", "-m", "rmapbt=1,inobtcount=1"],
    ],
    "ext4": [
        [],
        ["-O", "^metadata_csum,^64bit"],
        ["-b", "1024"],
        ["-b", "1024", "-O", "^metadata_csum,^resize_inode,^flex_bg,meta_bg"],
        ["-O", "bigalloc", "-C", "16384"],
        ["-b", "1024", "-O", "^metadata_csum,uninit_bg,^has_journal"],
    ],
    "btrfs": [
        ["-d", "single", "-m", "dup"],
        ["-d", "single", "-m", "single"],
        ["--mixed", "-n", "4096"],
        ["-m", "single", "-R", "^free-space-tree"],
        ["-m", "dup", "-n", "4096"],
        ["-m", "dup", "-n", "8192", "-O", "^no-holes"],
    ],
}
MUTATORS = {"xfs": (Xfs, "big"), "ext4": (Ext4, "little"), "btrfs": (Btrfs, "little")}


def run(*words, **environment):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})


def extents(path):
    """Physical extents of a file (FIEMAP), as offset and length; of Btrfs they are logical."""
    count = 64
    with open(path, "rb") as file:
        request = bytearray(struct.pack("=QQIIII", 0, 1 << 62, 1, 0, count, 0) + bytes(56 * count))
        fcntl.ioctl(file, 0xC020660B, request)
    mapped = struct.unpack_from("=I", request, 20)[0]
    found = [struct.unpack_from("=QQQ", request, 32 + 56 * index) for index in range(mapped)]
    return [(physical, length) for _, physical, length in found]


def make_base(where, fs, lane, seed):
    path = where / f"{fs}.{lane}"
    with open(path, "wb") as file:
        file.truncate(SIZES[fs])
    options = LANES[fs][lane]
    if fs == "xfs":
        # mkfs.xfs makes filesystems below 300 MB only for its own tests.
        run("mkfs.xfs", "-q", "-f", "-K", *options, path, TEST_DIR="1", TEST_DEV="1", QA_CHECK_FS="1")
    elif fs == "ext4":
        run("mkfs.ext4", "-q", "-F", *NO_DELAY, *options, path)
    else:
        run("mkfs.btrfs", "-q", "-f", "-K", *options, path)
    mount = where / "mnt"
    mount.mkdir(exist_ok=True)
    run("mount", "-t", fs, "-o", "loop", path, mount)
    try:
        rng = random.Random(f"{seed} {fs} {lane}")
        (mount / "files").mkdir()
        for index in range(FILES):
            for name, size in (("keep", KEEP), ("junk", JUNK)):
                (mount / "files" / f"{name}.{index}").write_bytes(rng.randbytes(size + rng.randrange(16384)))
        os.sync()
        for junk in (mount / "files").glob("junk.*"):
            junk.unlink()
        run("sync", "-f", mount)
        files = {keep.name: extents(keep) for keep in sorted((mount / "files").iterdir())}
    finally:
        run("umount", mount)
    (where / f"{fs}.{lane}.json").write_text(json.dumps(files))


class Base:
    """A sound filesystem: its bytes, where its files are, and which of its blocks are not zero."""

    def __init__(self, where, fs, lane):
        self.file = open(where / f"{fs}.{lane}", "rb")
        self.bytes = mmap.mmap(self.file.fileno(), 0, prot=mmap.PROT_READ)
        self.files = json.loads((where / f"{fs}.{lane}.json").read_text())
        self.fs = fs
        self.data = []
        at = 0
        while at < len(self.bytes):
            try:
                at = os.lseek(self.file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(self.file.fileno(), at, os.SEEK_HOLE)
            while at < end:
                block = self.bytes[at : min(end, at + 65536)]
                if block.count(0) < len(block):
                    self.data.append((at, block))
                at += len(block)

    def on_disk(self):
        """The files' extents on the device, all copies."""
        image = Image(self.bytes, "little")
        mapping = Btrfs(image, {}, None) if self.fs == "btrfs" else None
        for name, found in self.files.items():
            for start, length in found:
                for place in mapping.places(start) if mapping else [start]:
                    yield name, place, length


def mutate(base, rng):
    """Changes to a base, and what they are."""
    mutator, order = MUTATORS[base.fs]
    kinds, weights = zip(*mutator.KINDS)
    while True:
        image, told = Image(base.bytes, order), []
        wanted = rng.choice([1, 1, 1, 2, 3])
        try:
            filesystem = mutator(image, base.files, rng)
            while len(told) < wanted:
                told.append(rng.choices(kinds, weights)[0](filesystem))
            return image.changes, told
        except (Unfit, IndexError, ValueError):
            # It does not fit this image, or an earlier change has broken what this one needs.
            continue


def write_copies(file, slot, base, changes):
    for copy in range(COPIES):
        for at, data in (*base.data, *changes):
            os.pwrite(file, data, (slot + copy) * SLOT + at)


def make_images(where, disks, seed, count):
    images = []
    for fs, lanes in LANES.items():
        for number in range(count):
            lane = number % len(lanes)
            images.append({"id": f"{fs}-{number}", "fs": fs, "lane": lane})
    slots = [0] * max(map(len, LANES.values()))
    bases = {(fs, lane): Base(where, fs, lane) for fs, lanes in LANES.items() for lane in range(len(lanes))}
    files = [os.open(disks / f"{lane}.raw", os.O_RDWR | os.O_CREAT, 0o600) for lane in range(len(slots))]
    seen = set()
    for image in images:
        lane, base = image["lane"], bases[image["fs"], image["lane"]]
        rng = random.Random(f"{seed} {image['id']}")
        while True:
            changes, image["changes"] = mutate(base, rng)
            digest = hashlib.sha256(repr(changes).encode() + image["fs"].encode() + bytes([lane])).digest()
            if digest not in seen:
                seen.add(digest)
                break
        image["slot"], image["size"] = slots[lane], SIZES[image["fs"]]
        slots[lane] += COPIES
        write_copies(files[lane], image["slot"], base, changes)
        image["written"] = [(at, base64.b64encode(data).decode()) for at, data in changes]
    for lane, file in enumerate(files):
        os.ftruncate(file, slots[lane] * SLOT)
    (where / "images.json").write_text(json.dumps(images, indent=1))


def make_again(where, disks, name):
    image = next(image for image in json.loads((where / "images.json").read_text()) if image["id"] == name)
    path = disks / f"{image['lane']}.raw"
    place = ["--offset", str(image["slot"] * SLOT), "--length", str(COPIES * SLOT)]
    run("fallocate", "--punch-hole", *place, path)
    changes = [(at, base64.b64decode(data)) for at, data in image["written"]]
    file = os.open(path, os.O_RDWR)
    write_copies(file, image["slot"], Base(where, image["fs"], image["lane"]), changes)
    os.close(file)


def compare(where, disks):
    files = {}
    for image in json.loads((where / "images.json").read_text()):
        lane = image["lane"]
        base = Base(where, image["fs"], lane)
        if lane not in files:
            files[lane] = os.open(disks / f"{lane}.raw", os.O_RDONLY)
        differ = [0] * COPIES
        by_trim_alone = 0
        for _, place, length in base.on_disk():
            before = base.bytes[place : place + length]
            after = [os.pread(files[lane], length, (image["slot"] + copy) * SLOT + place) for copy in range(COPIES)]
            for copy in range(COPIES):
                if after[copy] != before:
                    differ[copy] += sum(old != new for old, new in zip(before, after[copy]))
            if after[2] != before:
                pairs = zip(before, after[0], after[1], after[2])
                by_trim_alone += sum(old != trimmed and old == left == fstrimmed for old, left, fstrimmed, trimmed in pairs)
        print(image["id"], *differ, by_trim_alone)


def main():
    command, where = sys.argv[1], Path(sys.argv[2])
    if command == "bases":
        for fs, lanes in LANES.items():
            for lane in range(len(lanes)):
                make_base(where, fs, lane, sys.argv[3])
    elif command == "images":
        make_images(where, Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    elif command == "again":
        make_again(where, Path(sys.argv[3]), sys.argv[4])
    else:
        compare(where, Path(sys.argv[3]))


if __name__ == "__main__":
    main()
