"""Changes superblocks, group headers and free space btrees of XFS (version 5), with the right checksums."""

from image import Unfit, crc32c, get, other, put

SB = {
    "dblocks": (8, 8), "rblocks": (16, 8), "rextents": (24, 8), "logstart": (48, 8), "agblocks": (84, 4), "agcount": (88, 4),
    "rbmblocks": (92, 4), "logblocks": (96, 4), "versionnum": (100, 2), "inprogress": (126, 1), "imax_pct": (127, 1),
    "icount": (128, 8), "ifree": (136, 8), "fdblocks": (144, 8), "frextents": (152, 8), "qflags": (176, 2),
    "inoalignmt": (180, 4), "unit": (184, 4), "width": (188, 4), "logsunit": (196, 4), "features2": (200, 4),
    "features_compat": (208, 4), "features_ro_compat": (212, 4), "features_incompat": (216, 4), "lsn": (240, 8),
}
AGF = {
    "seqno": (8, 4), "length": (12, 4), "bno_root": (16, 4), "cnt_root": (20, 4), "rmap_root": (24, 4), "bno_level": (28, 4),
    "cnt_level": (32, 4), "rmap_level": (36, 4), "flfirst": (40, 4), "fllast": (44, 4), "flcount": (48, 4), "freeblks": (52, 4),
    "longest": (56, 4), "btreeblks": (60, 4), "rmap_blocks": (80, 4), "refcount_blocks": (84, 4), "refcount_root": (88, 4),
}
AGI = {
    "seqno": (8, 4), "length": (12, 4), "count": (16, 4), "root": (20, 4), "level": (24, 4), "freecount": (28, 4),
    "newino": (32, 4), "unlinked": (40, 4), "free_root": (328, 4), "free_level": (332, 4),
}

#: Size of the header of a btree's block.
HEADER = 56


class Xfs:
    def __init__(self, image, files, rng):
        self.image, self.files, self.rng = image, files, rng
        sb = image.read(0, 512)
        self.block = get(sb, 4, 4, "big")
        self.sector = get(sb, 102, 2, "big")
        self.group_blocks, self.groups = get(sb, 84, 4, "big"), get(sb, 88, 4, "big")

    def at(self, group, block=0):
        return (group * self.group_blocks + block) * self.block

    def store(self, at, block, crc_at):
        block[crc_at : crc_at + 4] = bytes(4)
        block[crc_at : crc_at + 4] = crc32c(block).to_bytes(4, "little")
        self.image.write(at, block)

    def change_field(self, what, at, fields, crc_at):
        block = self.image.read(at, self.sector)
        name = self.rng.choice(list(fields))
        offset, size = fields[name]
        if name == "unlinked":
            offset += 4 * self.rng.randrange(64)
        old = get(block, offset, size, "big")
        new = other(self.rng, old, size)
        put(block, offset, size, new, "big")
        self.store(at, block, crc_at)
        return f"{what} {name} {old} -> {new}"

    def superblock(self):
        return self.change_field("sb", 0, SB, 224)

    def agf(self):
        group = self.rng.randrange(self.groups)
        return self.change_field(f"agf {group}", self.at(group) + self.sector, AGF, 216)

    def agi(self):
        group = self.rng.randrange(self.groups)
        return self.change_field(f"agi {group}", self.at(group) + 2 * self.sector, AGI, 312)

    def agfl(self):
        group = self.rng.randrange(self.groups)
        at = self.at(group) + 3 * self.sector
        block = self.image.read(at, self.sector)
        entry = 36 + 4 * self.rng.randrange(16)
        new = self.rng.choice([0, 1, 0xFFFFFFFF, self.rng.randrange(self.group_blocks), self.group_blocks])
        put(block, entry, 4, new, "big")
        self.store(at, block, 32)
        return f"agfl {group} at {entry} -> {new}"

    def leaf(self, group, tree):
        """Offset and content of the root of a group's btree by "bno" or "cnt", which has to be a leaf."""
        root = self.image.number(self.at(group) + self.sector + AGF[f"{tree}_root"][0], 4)
        at = self.at(group, root)
        block = self.image.read(at, self.block)
        if get(block, 4, 2, "big") != 0 or get(block, 6, 2, "big") == 0:
            raise Unfit("no leaf")
        return at, block

    def records(self, block):
        places = range(HEADER, HEADER + 8 * get(block, 6, 2, "big"), 8)
        return [(get(block, at, 4, "big"), get(block, at + 4, 4, "big")) for at in places]

    def set_records(self, block, records):
        put(block, 6, 2, len(records), "big")
        for index, (start, length) in enumerate(records):
            put(block, HEADER + 8 * index, 4, start, "big")
            put(block, HEADER + 8 * index + 4, 4, length, "big")

    def btree(self):
        rng, group, tree = self.rng, self.rng.randrange(self.groups), self.rng.choice(["bno", "cnt"])
        at, block = self.leaf(group, tree)
        records = self.records(block)
        index = rng.randrange(len(records))
        start, length = records[index]
        kind = rng.choice(["start", "length", "overlap", "swap", "count", "sibling", "level", "owner", "byte"])
        if kind == "start":
            records[index] = other(rng, start, 4), length
        elif kind == "length":
            records[index] = start, other(rng, length, 4)
        elif kind == "overlap":
            records[index] = max(0, start - rng.randrange(1, 64)), length + rng.randrange(1, 64)
        elif kind == "swap":
            second = rng.randrange(len(records))
            records[index], records[second] = records[second], records[index]
        if kind in ("start", "length", "overlap", "swap"):
            self.set_records(block, records)
        elif kind == "count":
            put(block, 6, 2, other(rng, len(records), 2), "big")
        elif kind == "sibling":
            put(block, rng.choice([8, 12]), 4, rng.choice([0, rng.randrange(self.group_blocks), at // self.block % self.group_blocks]), "big")
        elif kind == "level":
            put(block, 4, 2, rng.randrange(1, 9), "big")
        elif kind == "owner":
            put(block, 48, 4, other(rng, get(block, 48, 4, "big"), 4), "big")
        else:
            block[rng.randrange(HEADER + 8 * len(records))] = rng.randrange(256)
        self.store(at, block, 52)
        return f"{tree} {group} {kind} at {index} of {len(records)}, was {start}+{length}"

    def roots(self):
        group = self.rng.randrange(self.groups)
        at = self.at(group) + self.sector
        block = self.image.read(at, self.sector)
        block[16:20], block[20:24] = block[20:24], block[16:20]
        self.store(at, block, 216)
        return f"agf {group} roots swapped"

    def lie(self):
        """Both btrees and all counters agree that some blocks of a file are free."""
        name, extents = self.rng.choice(list(self.files.items()))
        start_byte, length = self.rng.choice(extents)
        first = start_byte // self.block
        group, first = first // self.group_blocks, first % self.group_blocks
        count = self.rng.randrange(1, length // self.block + 1)
        by_start, block = self.leaf(group, "bno")
        records = self.records(block)
        merged, low, high = [], first, first + count
        for start, size in sorted(records):
            if start <= high and start + size >= low:
                low, high = min(low, start), max(high, start + size)
            else:
                merged.append((start, size))
        merged = sorted([*merged, (low, high - low)])
        self.set_records(block, merged)
        self.store(by_start, block, 52)
        by_size, block = self.leaf(group, "cnt")
        self.set_records(block, sorted(merged, key=lambda record: (record[1], record[0])))
        self.store(by_size, block, 52)
        more = sum(size for _, size in merged) - sum(size for _, size in records)
        at = self.at(group) + self.sector
        agf = self.image.read(at, self.sector)
        put(agf, 52, 4, get(agf, 52, 4, "big") + more, "big")
        put(agf, 56, 4, max(size for _, size in merged), "big")
        self.store(at, agf, 216)
        sb = self.image.read(0, self.sector)
        put(sb, 144, 8, get(sb, 144, 8, "big") + more, "big")
        self.store(0, sb, 224)
        return f"lie: {count} blocks of {name} from {first} in group {group} are free"

    KINDS = [(superblock, 4), (agf, 4), (agi, 2), (agfl, 2), (btree, 6), (roots, 1), (lie, 2)]
