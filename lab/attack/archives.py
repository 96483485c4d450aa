#!/usr/bin/env python3
"""Writes hostile support archives: bombs, vast directories, lying headers, and outputs of commands that describe
impossible hosts.

Usage: archives.py DIRECTORY FORGED ESCAPES     the last two are put where names are expected
"""

import io
import json
import lzma
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

TOP = "sosreport-db1-2026"
LSBLK = (
    'NAME="sda" KNAME="sda" PATH="/dev/sda" MAJ:MIN="8:0" MOUNTPOINT="/" RA="128" RO="0" MODEL="x" SIZE="894G" '
    'ROTA="0" TYPE="disk" DISC-GRAN="512B" DISC-MAX="2G" PKNAME=""\n'
)


def tar(files, links=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, text in files.items():
            data = text if isinstance(text, bytes) else text.encode()
            entry = tarfile.TarInfo(f"{TOP}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, target, kind in links:
            entry = tarfile.TarInfo(f"{TOP}/{name}")
            entry.type, entry.linkname = kind, target
            archive.addfile(entry)
    return out.getvalue()


def sos(**outputs):
    """A small sosreport; underscores of the names of outputs stay."""
    files = {
        "sos_commands/block/lsblk_-O_-P": LSBLK,
        "sos_commands/filesys/findmnt": "TARGET SOURCE   FSTYPE OPTIONS\n/      /dev/sda ext4   rw,relatime\n",
        "sos_commands/date/date_--utc": "Sat Nov 28 10:00:00 UTC 2026\n",
        "sos_commands/host/hostname": "db1\n",
        "sos_commands/process/ps_auxwww": "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\nroot 1 0 0 1 1 ? Ss Nov27 0:00 /sbin/init\n",
        "etc/fstab": "/dev/sda / ext4 defaults 0 1\n",
    }
    return {**files, **outputs}


def zeros(gib):
    """A tar whose one entry, which is wanted, holds this many GiB of zeros; compressed by its callers in pieces."""
    entry = tarfile.TarInfo(f"{TOP}/etc/zeros")
    entry.size = gib << 30
    return entry.tobuf(tarfile.GNU_FORMAT), bytes(1 << 20), gib << 10


def bomb_gz(gib):
    head, piece, count = zeros(gib)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    out = packer.compress(head)
    # A repeated piece of deflate's is not made here: gzip members are.
    member = zlib.compressobj(9, zlib.DEFLATED, 31)
    member = member.compress(piece) + member.flush()
    return out + packer.flush() + member * count


def bomb_xz(gib):
    head, piece, count = zeros(gib)
    return lzma.compress(head) + lzma.compress(piece) * count


def names(count, directory):
    """So many empty files: their headers alone are 512 bytes each."""
    blocks = []
    for at in range(count):
        blocks.append(tarfile.TarInfo(f"{TOP}/{directory}/{at}").tobuf(tarfile.USTAR_FORMAT))
    return b"".join(blocks) + bytes(1024)


def xz_that_claims(field):
    """An xz whose block header asks for a dictionary of 4 GiB, or whose index claims 2^60 bytes."""
    whole = bytearray(lzma.compress(tar(sos())))
    if field == "dictionary":
        # Block header: size, flags, filter id 0x21, size of its properties 1, the dictionary's size, padding, CRC32.
        size = (whole[12] + 1) * 4
        whole[12 + 4] = 40
        whole[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(bytes(whole[12 : 12 + size - 4])))
        return bytes(whole)
    backward = (struct.unpack("<I", whole[-8:-4])[0] + 1) * 4
    start = len(whole) - 12 - backward
    number = 1 << 60
    varint = bytearray()
    while number >= 0x80:
        varint.append(number & 0x7F | 0x80)
        number >>= 7
    varint.append(number)
    index = bytearray(b"\0\1") + varint + varint
    index += bytes(-len(index) % 4)
    index += struct.pack("<I", zlib.crc32(bytes(index)))
    footer = struct.pack("<I", len(index) // 4 - 1) + whole[-4 - 2 : -2]
    return bytes(whole[:start] + index + struct.pack("<I", zlib.crc32(footer)) + footer + b"YZ")


def zipped(files, **more):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, **more) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def cluster(**files):
    return {
        "version.json": '{"cluster_name":"x","version":{"number":"8.11.0"}}',
        "manifest.json": '{"collectionDate":"2026-11-28T10:00:00Z"}',
        "cluster_state.json": '{"cluster_name":"x","master_node":"m","nodes":{},"metadata":{"indices":{}},"routing_table":{"indices":{}}}',
        **files,
    }


def cases(forged, escapes):
    top = "local-diagnostics-20261128"
    nested = '{"a":' * 100_000 + "1" + "}" * 100_000
    return {
        "bomb.tar.gz": lambda: bomb_gz(10),
        "bomb.tar.xz": lambda: bomb_xz(10),
        "names.tar": lambda: names(1_000_000, "etc"),
        "unwanted.tar": lambda: names(1_000_000, "var/lib"),
        "dictionary.tar.xz": lambda: xz_that_claims("dictionary"),
        "index.tar.xz": lambda: xz_that_claims("index"),
        "cut.tar.xz": lambda: lzma.compress(tar(sos()))[:-30],
        "names.zip": lambda: zipped({f"{top}/{at}.json": "" for at in range(200_000)}, allowZip64=True),
        "bomb.zip": lambda: zipped({f"{top}/{name}": bytes(95 << 20) for name in ["nodes.json", "cluster_state.json", "version.json"]}),
        "nested.zip": lambda: zipped({f"{top}/{name}": text for name, text in cluster(**{"nodes.json": nested, "settings.json": nested}).items()}),
        "escapes.zip": lambda: zipped({f"{top}/{name}": text for name, text in cluster(**{
            "version.json": json.dumps({"cluster_name": f"x{forged}{escapes}", "version": {"number": "8.11.0"}}),
        }).items()}),
        "links.tar": lambda: tar(sos(), [
            ("etc/a", "b", tarfile.SYMTYPE), ("etc/b", "a", tarfile.SYMTYPE),
            ("etc/crontab", "../../../../etc/shadow", tarfile.SYMTYPE), ("etc/cron.d", "/etc", tarfile.SYMTYPE),
            ("etc/shadow", "etc/fstab", tarfile.LNKTYPE), ("dev/sda", "", tarfile.BLKTYPE),
        ]),
        "devices.tar": lambda: tar(sos(**{"sos_commands/block/lsblk_-O_-P": "".join(
            LSBLK.replace("sda", f"dm-{at}").replace("8:0", f"253:{at}").replace('PKNAME=""', f'PKNAME="dm-{(at + 1) % 50_000}"')
            for at in range(50_000)
        )})),
        "mounts.tar": lambda: tar(sos(**{"sos_commands/filesys/findmnt": "TARGET       SOURCE       FSTYPE OPTIONS\n" + "".join(
            f"/m{at:<10} /dev/sda     ext4   rw,discard\n" for at in range(50_000)
        )})),
        "dump.tar": lambda: tar(sos(**{"sos_commands/systemd/systemd-analyze_dump": "".join(
            f"-> Unit x{at}.timer:\n\tTimer State: waiting\n\tUnit: x{at}.service\n\tOnCalendar: *-*-* *:*:*\n"
            f"-> Unit x{at}.service:\n\tTriggeredBy: x{at}.timer\n\tService State: dead\n\t-> ExecStart:\n\t\tCommand Line: fstrim -av\n"
            for at in range(20_000)
        )})),
        "processes.tar": lambda: tar(sos(**{"sos_commands/process/ps_auxwww": "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n" + "".join(
            f"root {at} 0 0 1 1 ? Ss Nov27 0:00 /usr/bin/mongod --dbpath /m{at}\n" for at in range(1, 100_000)
        )})),
        "escapes.tar": lambda: tar(sos(**{
            "sos_commands/host/hostname": f"db1{escapes}{forged}",
            "sos_commands/filesys/findmnt": f"TARGET SOURCE   FSTYPE OPTIONS\n/{escapes}   /dev/sda ext4   rw,discard\n",
            "sos_commands/block/lsblk_-O_-P": LSBLK.replace("x", f"x{escapes}"),
        })),
        "mdiag.json": lambda: json.dumps(
            [{"ref": "x", "section": "x", "tag": {"$date": "2026-11-28T10:00:00+00:00"}}]
            + [{"ref": "x", "section": "x", "filename": f"/etc/{'../' * 9}{at}", "content": ["x"]} for at in range(100_000)],
        ).encode(),
    }


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, make in cases(*sys.argv[2:]).items():
        (directory / name).write_bytes(make())


if __name__ == "__main__":
    main()
