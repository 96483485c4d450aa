"""What the mutators of all three filesystems share: an image with changes on top, checksums, random values."""

import struct

_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _TABLE.append(_byte)


def crc32c_raw(crc, data):
    """CRC-32C without the final inversion, as ext4 stores it."""
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc


def crc32c(data):
    return crc32c_raw(0xFFFFFFFF, data) ^ 0xFFFFFFFF


def crc16(crc, data):
    """The CRC-16 of ext4's feature uninit_bg (lib/crc16.c)."""
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


class Image:
    """A base image, which stays as it is, and changes to it."""

    def __init__(self, base, order):
        self.base, self.order, self.changes = base, order, []

    def read(self, at, length):
        found = bytearray(self.base[at : at + length])
        if len(found) < length:
            raise Unfit(f"{at} is beyond the end")
        for start, data in self.changes:
            low, high = max(at, start), min(at + length, start + len(data))
            if low < high:
                found[low - at : high - at] = data[low - start : high - start]
        return found

    def write(self, at, data):
        self.changes.append((at, bytes(data)))

    def number(self, at, size):
        return int.from_bytes(self.read(at, size), self.order)


class Unfit(Exception):
    """This image has nothing for this kind of change: another is drawn."""


def get(block, at, size, order):
    return int.from_bytes(block[at : at + size], order)


def put(block, at, size, value, order):
    block[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, order)


def other(rng, old, size):
    """Another value for a field: near, far, or one bit."""
    top = (1 << 8 * size) - 1
    drawn = rng.choice(
        [0, 1, top, top >> 1, old + 1, old - 1, old * 2, old // 2, old + rng.randrange(64), old - rng.randrange(64),
         old ^ 1 << rng.randrange(8 * size), rng.randrange(top + 1), rng.randrange(1 << 16)]
    ) & top
    return drawn if drawn != old else old ^ 1


def change_a_field(rng, block, fields):
    """Another value in one of the little-endian `fields` (name: place and size) of a block; says which."""
    name = rng.choice(list(fields))
    at, size = fields[name]
    old = get(block, at, size, "little")
    new = other(rng, old, size)
    put(block, at, size, new, "little")
    return f"{name} {old} -> {new}"


def le32(value):
    return struct.pack("<I", value)
