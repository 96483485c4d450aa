"""Changes superblocks, group descriptors and bitmaps of ext4, with the right checksums where it has any."""

from image import Unfit, change_a_field, crc16, crc32c_raw, get, le32, other, put

SB = {
    "inodes": (0, 4), "blocks": (4, 4), "r_blocks": (8, 4), "free_blocks": (12, 4), "free_inodes": (16, 4),
    "first_data_block": (20, 4), "log_block": (24, 4), "log_cluster": (28, 4), "blocks_per_group": (32, 4),
    "clusters_per_group": (36, 4), "inodes_per_group": (40, 4), "mnt_count": (52, 2), "state": (58, 2), "errors": (60, 2),
    "first_ino": (84, 4), "inode_size": (88, 2), "feature_compat": (92, 4), "feature_incompat": (96, 4),
    "feature_ro_compat": (100, 4), "prealloc": (204, 2), "reserved_gdt": (206, 2), "journal_inum": (224, 4),
    "last_orphan": (232, 4), "hash_version": (252, 1), "desc_size": (254, 2), "mount_opts": (256, 4), "first_meta_bg": (260, 4),
    "blocks_hi": (336, 4), "r_blocks_hi": (340, 4), "free_blocks_hi": (344, 4), "min_extra": (348, 2), "want_extra": (350, 2),
    "flags": (352, 4), "raid_stride": (356, 2), "raid_stripe": (368, 4), "log_per_flex": (372, 1), "overhead": (584, 4),
    "error_count": (404, 4), "backup_groups": (588, 4),
}
DESCRIPTOR = {
    "block_bitmap": (0, 4), "inode_bitmap": (4, 4), "inode_table": (8, 4), "free_blocks": (12, 2), "free_inodes": (14, 2),
    "used_dirs": (16, 2), "flags": (18, 2), "itable_unused": (28, 2),
}
WIDE = {"block_bitmap_hi": (32, 4), "inode_table_hi": (40, 4), "free_blocks_hi": (44, 2), "free_inodes_hi": (46, 2)}


class Ext4:
    def __init__(self, image, files, rng):
        self.image, self.files, self.rng = image, files, rng
        sb = image.read(1024, 1024)
        self.block = 1024 << get(sb, 24, 4, "little")
        self.cluster_blocks = 1 << get(sb, 28, 4, "little") - get(sb, 24, 4, "little")
        self.first = get(sb, 20, 4, "little")
        self.group_blocks = get(sb, 32, 4, "little")
        self.groups = -(-(get(sb, 4, 4, "little") - self.first) // self.group_blocks)
        incompat, ro_compat = get(sb, 96, 4, "little"), get(sb, 100, 4, "little")
        self.descriptor = get(sb, 254, 2, "little") if incompat & 0x80 else 32
        self.has_checksums, self.has_crc16 = ro_compat & 0x400 != 0, ro_compat & 0x10 != 0
        # A superblock's changed uuid would change all checksums, so none of the fields above is the uuid.
        self.uuid = bytes(sb[104:120])
        self.seed = get(sb, 0x270, 4, "little") if incompat & 0x2000 else crc32c_raw(0xFFFFFFFF, self.uuid)

    def store_superblock(self, sb):
        if self.has_checksums:
            sb[1020:] = le32(crc32c_raw(0xFFFFFFFF, sb[:1020]))
        self.image.write(1024, sb)

    def descriptor_at(self, group):
        return (self.first + 1) * self.block + group * self.descriptor

    def load_descriptor(self, group):
        return self.image.read(self.descriptor_at(group), self.descriptor)

    def store_descriptor(self, group, data):
        if self.has_checksums:
            crc = crc32c_raw(self.seed, le32(group))
            crc = crc32c_raw(crc, bytes(data[:30]) + bytes(2) + bytes(data[32:]))
            put(data, 30, 2, crc & 0xFFFF, "little")
        elif self.has_crc16:
            crc = crc16(crc16(0xFFFF, self.uuid), le32(group))
            put(data, 30, 2, crc16(crc, bytes(data[:30]) + bytes(data[32:])), "little")
        self.image.write(self.descriptor_at(group), data)

    def superblock(self):
        sb = self.image.read(1024, 1024)
        changed = change_a_field(self.rng, sb, SB)
        self.store_superblock(sb)
        return f"sb {changed}"

    def group(self):
        group = self.rng.randrange(self.groups)
        data = self.load_descriptor(group)
        fields = {**DESCRIPTOR, **(WIDE if self.descriptor >= 64 else {})}
        name = self.rng.choice(list(fields))
        at, size = fields[name]
        old = get(data, at, size, "little")
        new = other(self.rng, old, size)
        if name == "flags":
            new = old ^ self.rng.choice([1, 2, 3, 4, 7, 0x80])
        put(data, at, size, new, "little")
        self.store_descriptor(group, data)
        return f"group {group} {name} {old} -> {new}"

    def pointers(self):
        """Two groups exchange, or share, a bitmap or inode table."""
        one, two = self.rng.randrange(self.groups), self.rng.randrange(self.groups)
        name = self.rng.choice(["block_bitmap", "inode_bitmap", "inode_table"])
        at = DESCRIPTOR[name][0]
        first, second = self.load_descriptor(one), self.load_descriptor(two)
        first[at : at + 4], second[at : at + 4] = second[at : at + 4], first[at : at + 4]
        self.store_descriptor(one, first)
        if self.rng.random() < 0.5:
            self.store_descriptor(two, second)
        return f"groups {one} and {two}: {name}"

    def store_bitmap(self, group, which, bitmap):
        data = self.load_descriptor(group)
        at = get(data, 0 if which == "block" else 4, 4, "little") * self.block
        self.image.write(at, bitmap)
        if self.has_checksums:
            size = self.image.number(1024 + (36 if which == "block" else 40), 4) // 8
            crc = crc32c_raw(self.seed, bitmap[:size])
            put(data, 24 if which == "block" else 26, 2, crc & 0xFFFF, "little")
            if self.descriptor >= 64:
                put(data, 56 if which == "block" else 58, 2, crc >> 16, "little")
        self.store_descriptor(group, data)

    def load_bitmap(self, group, which):
        data = self.load_descriptor(group)
        if get(data, 18, 2, "little") & (2 if which == "block" else 1):
            raise Unfit("not initialised")
        return self.image.read(get(data, 0 if which == "block" else 4, 4, "little") * self.block, self.block)

    def bitmap(self):
        group, which = self.rng.randrange(self.groups), self.rng.choice(["block", "block", "inode"])
        bitmap = self.load_bitmap(group, which)
        at, length = self.rng.randrange(self.block), self.rng.choice([1, 1, 8, 64])
        value = self.rng.choice([0, 0xFF, self.rng.randrange(256)])
        bitmap[at : at + length] = bytes([value]) * len(bitmap[at : at + length])
        self.store_bitmap(group, which, bitmap)
        return f"{which} bitmap {group}: {length} bytes at {at} are {value}"

    def lie(self):
        """A bitmap and all counters agree that some blocks of a file are free."""
        name, extents = self.rng.choice(list(self.files.items()))
        start_byte, length = self.rng.choice(extents)
        block = start_byte // self.block - self.first
        group, first = block // self.group_blocks, block % self.group_blocks // self.cluster_blocks
        clusters = max(1, length // self.block // self.cluster_blocks)
        count = self.rng.randrange(1, clusters + 1)
        bitmap = self.load_bitmap(group, "block")
        cleared = 0
        for bit in range(first, first + count):
            if bit < 8 * self.block and bitmap[bit // 8] >> bit % 8 & 1:
                bitmap[bit // 8] ^= 1 << bit % 8
                cleared += 1
        self.store_bitmap(group, "block", bitmap)
        data = self.load_descriptor(group)
        put(data, 12, 2, get(data, 12, 2, "little") + cleared, "little")
        self.store_descriptor(group, data)
        sb = self.image.read(1024, 1024)
        put(sb, 12, 4, get(sb, 12, 4, "little") + cleared * self.cluster_blocks, "little")
        self.store_superblock(sb)
        return f"lie: {cleared} clusters of {name} from {first} in group {group} are free"

    KINDS = [(superblock, 6), (group, 6), (pointers, 1), (bitmap, 5), (lie, 3)]
