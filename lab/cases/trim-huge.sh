# shellcheck shell=bash
# Runs in a guest: a 2 TB XFS with four allocation groups of 512 GB, nearly all of it free. Where the
# kernel does not clip discards, no range can split such free extents. Drive: nvme0n1, sparse.
set -uo pipefail
# shellcheck source=lab/cases/lib.sh
. /lab/lib.sh
modprobe xfs
make_filesystem() {
    # A zeroed log would take 2 GB.
    mkfs.xfs -q -f -K -d agcount=4 -l size=64m "$2"
}
fill huge xfs /dev/nvme0n1 0 || exit 10

discarded_mib() { awk '{ print int($14 / 2048) }' /sys/block/nvme0n1/stat; }
now_us() { echo "${EPOCHREALTIME/./}"; }
# Longest time in milliseconds to create and sync a 1 MiB file while a command runs.
beside() { # COMMAND...
    local worst=0 started took index=0
    "$@" &
    local pid=$!
    while kill -0 $pid 2>/dev/null && [ $index -lt 400 ]; do
        started=$(now_us)
        xfs_io -f -c 'pwrite -q 0 1m' -c fsync "$mount/beside.$((index++))" >/dev/null
        took=$((($(now_us) - started) / 1000))
        [ $took -le $worst ] || worst=$took
    done
    wait $pid
    rm -f "$mount"/beside.*
    echo $worst
}

say "does this kernel clip a free extent to the requested range?"
uname -r
settled
before=$(discarded_mib)
# The last group's free space is a single extent: discard 64 MiB in its middle.
fstrim -v -o 1900G -l 64M "$mount"
settled
record huge clip_mib $(($(discarded_mib) - before))

say "without --accept-stall"
look huge --max-latency 5s
say "with it"
look huge-accepted --max-latency 5s --accept-stall 1h
say "how long a step blocks its space: 1 MiB files created and synced concurrently"
record huge quiet_worst_ms "$(beside sleep 5)"
settled
record huge group_worst_ms "$(beside fstrim -o 512G -l 512G "$mount")"
settled
started=$(now_us)
fstrim -o 512G -l 512G "$mount"
record huge group_ioctl_ms $((($(now_us) - started) / 1000))
settled
record huge group_settled_ms $((($(now_us) - started) / 1000))
empty
exit 0
