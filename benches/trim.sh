#!/usr/bin/env bash
# fstrim compared with `trimtab trim`: prints docs/trim-bench.md.
#
#   make bench-trim                       all tables, about an hour
#   TABLES="completeness stall latency" benches/trim.sh
#
# Needs root, loop devices, QEMU, nbdkit, and an otherwise idle machine. Only writes to files it creates,
# under /var/tmp (BENCH_DIR; 12 GB), and removes them at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked -q -p trimtab --example neighbour >&2
tables=" ${TABLES:-completeness stall latency} "
status=0
. benches/trim/common.sh
cat <<HEAD
# fstrim and \`trimtab trim\`, side by side

Made by \`make bench-trim\` on $(date -u +%Y-%m-%d).

- Machine: $(machine).
- Guest: Debian's kernel in QEMU's software emulation on that machine, two processors, 1 GiB.
- Contenders: $(versions).
- \`fstrim MOUNT\` as it is; \`trimtab trim MOUNT --now\` with its defaults, where nothing else is said.

HEAD
case $tables in *" completeness "*)
    cat <<'HEAD'
## Completeness

What is still stored in the image file of what the filesystem says is free, after one pass on copies
of the same image: files of random size are written and 55 % of them deleted (`fragment.py`, fixed
seed). Free extents come from the filesystem's own structures, stored data from the image file's map
(`left.py`); what is left is given in MiB and in per cent of what was there to free. The log, metadata
and live data are not free space and do not count. The time of trimtab includes eight seconds in which
it measures how fast the drive is when it is not trimming. trimtab is given `--accept-stall 60s`, for
Btrfs' unallocated space and the groups of XFS on kernels that cannot split them.

`benches/trim/completeness.sh`:

HEAD
    benches/trim/completeness.sh || status=1
    ;;
esac
case $tables in *" stall "*)
    cat <<'HEAD'

## Stall

How long others wait for space while discards are slow. A neighbour creates a file, allocates 64 KiB
for it and fsyncs it, 20 times a second, in every allocation group; the XFS was full before 55 % of its
files were deleted, so nearly all its free space is being discarded. On this kernel discards are slowed
by a cgroup in which the trim runs and the neighbour does not; in the guest by a model of a disk
(`model.py`) on which each discard takes 50 ms, and trimtab, which there takes most of an hour, is given
`--deadline 2m` (exit 1, to be gone on with). Each line has its own copy of the image.

`benches/trim/stall.sh`:

HEAD
    benches/trim/stall.sh || status=1
    ;;
esac
case $tables in *" latency "*)
    cat <<'HEAD'

## Latency (model)

What random reads of 4 KiB take, 100 a second, in the guest, on three models of a disk (`model.py`):
`fifo` serves one request after the other, and a discard costs 1 ms and its bytes at 300 MB/s; `fixed`
the same, and a discard costs 50 ms whatever its size; `parallel` is eight such servers as of `fifo`.
The figures are good for comparing the columns, not for knowing a drive. "Without" are ten seconds
before each trim, "during" is from the first discard to the last; trimtab is given `--deadline 2m`, which
ends what takes longer ("to go on"). The goal: mean at most twice, p99 at most three times what it is
without, or the pass stops itself (exit 1, to be gone on with).

`benches/trim/latency.sh`:

HEAD
    benches/trim/latency.sh || status=1
    ;;
esac
exit $status
