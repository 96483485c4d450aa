"""Changes superblocks and trees of Btrfs, each node with the right checksum in all of its copies."""

from image import Unfit, change_a_field, crc32c, get, other, put

SUPER, MIRRORS = 65536, (65536, 64 << 20)
SB = {
    "flags": (56, 8), "generation": (72, 8), "root": (80, 8), "chunk_root": (88, 8), "total_bytes": (112, 8), "bytes_used": (120, 8),
    "num_devices": (136, 8), "sectorsize": (144, 4), "nodesize": (148, 4), "stripesize": (156, 4), "array_size": (160, 4),
    "chunk_root_generation": (164, 8), "compat": (172, 8), "compat_ro": (180, 8), "incompat": (188, 8), "root_level": (198, 1),
    "dev_total_bytes": (209, 8), "dev_bytes_used": (217, 8), "dev_io_align": (225, 4), "dev_sector_size": (233, 4),
    "dev_type": (237, 8), "dev_generation": (245, 8), "dev_start_offset": (253, 8), "dev_group": (261, 4),
    "cache_generation": (555, 8), "uuid_tree_generation": (563, 8),
}
ARRAY_AT, ARRAY_SIZE_AT, DEVID_AT = 811, 160, 201
CHUNK_TREE, EXTENT_TREE, DEV_TREE, FREE_SPACE_TREE, ROOT_TREE = 3, 2, 4, 10, 1
EXTENT_ITEM, METADATA_ITEM, BLOCK_GROUP, FREE_INFO, FREE_EXTENT = 168, 169, 192, 198, 199
DEV_EXTENT, DEV_ITEM, CHUNK, ROOT, DEV_STATS = 204, 216, 228, 132, 249
#: Fields of items, by their type: offset and size.
FIELDS = {
    BLOCK_GROUP: [(0, 8), (8, 8), (16, 8)],
    DEV_ITEM: [(0, 8), (8, 8), (16, 8), (24, 4), (32, 4), (36, 8), (44, 8), (52, 8), (60, 4)],
    CHUNK: [(0, 8), (8, 8), (16, 8), (24, 8), (32, 4), (36, 4), (40, 4), (44, 2), (46, 2), (48, 8), (56, 8)],
    DEV_EXTENT: [(0, 8), (8, 8), (16, 8), (24, 8)],
    EXTENT_ITEM: [(0, 8), (8, 8), (16, 8)],
    METADATA_ITEM: [(0, 8), (8, 8), (16, 8)],
    FREE_INFO: [(0, 4), (4, 4)],
    DEV_STATS: [(0, 8)],
}
TREES = {CHUNK_TREE: [CHUNK, DEV_ITEM], EXTENT_TREE: [EXTENT_ITEM, METADATA_ITEM, BLOCK_GROUP], DEV_TREE: [DEV_EXTENT, DEV_STATS],
         FREE_SPACE_TREE: [FREE_INFO]}
HEADER, ITEM = 101, 25


class Leaf:
    def __init__(self, logical, data):
        self.logical, self.data = logical, data

    def count(self):
        return get(self.data, 96, 4, "little")

    def key(self, index):
        at = HEADER + ITEM * index
        return get(self.data, at, 8, "little"), self.data[at + 8], get(self.data, at + 9, 8, "little")

    def set_key(self, index, key):
        at = HEADER + ITEM * index
        put(self.data, at, 8, key[0], "little")
        self.data[at + 8] = key[1]
        put(self.data, at + 9, 8, key[2], "little")

    def content(self, index):
        """Offset in the node, and size, of an item's data."""
        at = HEADER + ITEM * index
        return HEADER + get(self.data, at + 17, 4, "little"), get(self.data, at + 21, 4, "little")


class Btrfs:
    def __init__(self, image, files, rng):
        self.image, self.files, self.rng = image, files, rng
        sb = image.read(SUPER, 4096)
        self.node = get(sb, 148, 4, "little")
        self.chunks = []
        at, end = ARRAY_AT, ARRAY_AT + get(sb, ARRAY_SIZE_AT, 4, "little")
        while at < end:
            at += 17 + self.add_chunk(get(sb, at + 9, 8, "little"), sb[at + 17 :])
        self.roots = {ROOT_TREE: get(sb, 80, 8, "little"), CHUNK_TREE: get(sb, 88, 8, "little")}
        for leaf, index in self.items(CHUNK_TREE, CHUNK):
            at, _ = leaf.content(index)
            self.add_chunk(leaf.key(index)[2], leaf.data[at:])
        for leaf, index in self.items(ROOT_TREE, ROOT):
            at, _ = leaf.content(index)
            self.roots.setdefault(leaf.key(index)[0], get(leaf.data, at + 176, 8, "little"))

    def add_chunk(self, start, data):
        stripes = get(data, 44, 2, "little")
        places = [get(data, 48 + 32 * stripe + 8, 8, "little") for stripe in range(stripes)]
        self.chunks.append((start, get(data, 0, 8, "little"), places))
        return 48 + 32 * stripes

    def places(self, logical):
        """Offsets of all copies of a logical address."""
        for start, length, stripes in self.chunks:
            if start <= logical < start + length:
                return [stripe + logical - start for stripe in stripes]
        raise Unfit(f"{logical} is in no chunk")

    def leaves(self, tree):
        todo = [self.roots[tree]] if tree in self.roots else []
        while todo:
            logical = todo.pop()
            leaf = Leaf(logical, self.image.read(self.places(logical)[0], self.node))
            if leaf.data[100] == 0:
                yield leaf
            else:
                todo += [get(leaf.data, HEADER + 33 * index + 17, 8, "little") for index in range(leaf.count())]

    def items(self, tree, kind):
        return [(leaf, index) for leaf in self.leaves(tree) for index in range(leaf.count()) if leaf.key(index)[1] == kind]

    def store(self, leaf):
        leaf.data[:32] = crc32c(leaf.data[32:]).to_bytes(4, "little") + bytes(28)
        for place in self.places(leaf.logical):
            self.image.write(place, leaf.data)

    def store_superblock(self, sb):
        for mirror in MIRRORS:
            put(sb, 48, 8, mirror, "little")
            sb[:32] = crc32c(sb[32:]).to_bytes(4, "little") + bytes(28)
            self.image.write(mirror, sb)

    def superblock(self):
        sb = self.image.read(SUPER, 4096)
        changed = change_a_field(self.rng, sb, SB)
        self.store_superblock(sb)
        return f"sb {changed}"

    def drawn(self, tree, kind):
        found = self.items(tree, kind)
        if not found:
            raise Unfit("no such item")
        return self.rng.choice(found)

    def item(self):
        tree = self.rng.choice(list(TREES))
        kind = self.rng.choice(TREES[tree])
        leaf, index = self.drawn(tree, kind)
        at, length = leaf.content(index)
        offset, size = self.rng.choice(FIELDS[kind])
        if offset + size > length:
            raise Unfit("a short item")
        old = get(leaf.data, at + offset, size, "little")
        new = other(self.rng, old, size)
        put(leaf.data, at + offset, size, new, "little")
        self.store(leaf)
        return f"tree {tree} item {leaf.key(index)} at {offset}: {old} -> {new}"

    def key(self):
        tree, kind = self.rng.choice(
            [(FREE_SPACE_TREE, FREE_EXTENT), (FREE_SPACE_TREE, FREE_EXTENT), (FREE_SPACE_TREE, FREE_INFO), (DEV_TREE, DEV_EXTENT),
             (EXTENT_TREE, BLOCK_GROUP), (EXTENT_TREE, EXTENT_ITEM), (CHUNK_TREE, CHUNK), (CHUNK_TREE, DEV_ITEM)]
        )
        leaf, index = self.drawn(tree, kind)
        old = leaf.key(index)
        new = list(old)
        part = self.rng.choice([0, 2])
        step = self.rng.choice([4096, -4096, 65536, -65536, 1 << 20, -(1 << 20), 1])
        new[part] = (old[part] + step) % (1 << 64)
        leaf.set_key(index, new)
        self.store(leaf)
        return f"tree {tree} key {old} -> {tuple(new)}"

    def byte(self):
        leaf = self.rng.choice([leaf for tree in TREES for leaf in self.leaves(tree)])
        at = self.rng.randrange(HEADER, HEADER + ITEM * leaf.count()) if self.rng.random() < 0.3 else self.rng.randrange(self.node // 2, self.node)
        leaf.data[at] = self.rng.randrange(256)
        self.store(leaf)
        return f"node {leaf.logical}: byte {at}"

    def remove(self):
        """The last item of a leaf is gone, which loses an extent, a block group or a piece of free space."""
        tree = self.rng.choice([EXTENT_TREE, FREE_SPACE_TREE, DEV_TREE])
        leaves = [leaf for leaf in self.leaves(tree) if leaf.count() > 1]
        if not leaves:
            raise Unfit("no leaf")
        leaf = self.rng.choice(leaves)
        key = leaf.key(leaf.count() - 1)
        put(leaf.data, 96, 4, leaf.count() - 1, "little")
        self.store(leaf)
        return f"tree {tree} without {key}"

    def cache(self):
        """The free space has to be found in the extent tree, from which extents may be missing."""
        sb = self.image.read(SUPER, 4096)
        put(sb, 180, 8, get(sb, 180, 8, "little") & ~2, "little")
        put(sb, 555, 8, 1, "little")
        self.store_superblock(sb)
        return "the free space tree is not valid"

    def lie(self):
        """The free space tree has some blocks of a file."""
        name, extents = self.rng.choice(list(self.files.items()))
        start, length = self.rng.choice(extents)
        for leaf, index in self.items(FREE_SPACE_TREE, FREE_EXTENT):
            free_start, _, free_length = leaf.key(index)
            if free_start + free_length == start:
                more = 4096 * self.rng.randrange(1, length // 4096 + 1)
                leaf.set_key(index, (free_start, FREE_EXTENT, free_length + more))
            elif start + length == free_start:
                more = 4096 * self.rng.randrange(1, length // 4096 + 1)
                leaf.set_key(index, (free_start - more, FREE_EXTENT, free_length + more))
            else:
                continue
            self.store(leaf)
            return f"lie: {more} bytes of {name} at {start} are free"
        raise Unfit("no free space beside it")

    def device_id(self):
        """The only device has another number, in all places: as a device that was added after many others."""
        new = self.rng.choice([2, 1 << 16, 1 << 32, 1 << 48, (1 << 64) - 1, self.rng.randrange(1, 1 << 63)])
        sb = self.image.read(SUPER, 4096)
        put(sb, DEVID_AT, 8, new, "little")
        at, end = ARRAY_AT, ARRAY_AT + get(sb, ARRAY_SIZE_AT, 4, "little")
        while at < end:
            at += 17 + self.renumber(sb, at + 17, new)
        self.store_superblock(sb)
        for tree in (CHUNK_TREE, DEV_TREE):
            for leaf in self.leaves(tree):
                for index in range(leaf.count()):
                    owner, kind, offset = leaf.key(index)
                    at, _ = leaf.content(index)
                    if kind == CHUNK:
                        self.renumber(leaf.data, at, new)
                    elif kind == DEV_ITEM:
                        leaf.set_key(index, (owner, kind, new))
                        put(leaf.data, at, 8, new, "little")
                    elif kind == DEV_EXTENT:
                        leaf.set_key(index, (new, kind, offset))
                    elif kind == DEV_STATS:
                        leaf.set_key(index, (owner, kind, new))
                self.store(leaf)
        return f"device {new}"

    @staticmethod
    def renumber(data, at, new):
        stripes = get(data, at + 44, 2, "little")
        for stripe in range(stripes):
            put(data, at + 48 + 32 * stripe, 8, new, "little")
        return 48 + 32 * stripes

    KINDS = [(superblock, 6), (item, 6), (key, 3), (byte, 3), (remove, 1), (cache, 1), (lie, 3), (device_id, 2)]
