# shellcheck shell=bash
# Sourced by cases with real trims, after lab/needs.sh: a loop device of their own in $device, mounted at $work/mnt, and a
# store's load on it; all of it is gone at the end. Copies $work to $KEEP, if that is set.
work=$(mktemp -d)
device='' writer=''
finish() {
    [ -z "$writer" ] || kill "$writer" 2>/dev/null || true
    wait "$writer" 2>/dev/null || true
    # Its last write may still be under way.
    for _ in 1 2 3 4 5; do
        mountpoint -q "$work/mnt" || break
        umount "$work/mnt" 2>/dev/null || sleep 1
    done
    [ -z "$device" ] || losetup -d "$device"
    rm -f "$work/image"
    [ -z "${KEEP:-}" ] || cp -r "$work" "$KEEP"
    rm -rf "$work"
}
trap finish EXIT

# Makes the filesystem; its discards are no larger than these bytes, if any are given.
make_loop() { # SIZE FS_TYPE [DISCARD_MAX_BYTES]
    truncate -s "$1" "$work/image"
    device=$(losetup -f --show "$work/image") || skip "real trims need a loop device"
    [ $# -lt 3 ] || echo "$3" >"/sys/block/$(basename "$device")/queue/discard_max_bytes"
    "mkfs.$2" -q "$device"
    mkdir -p "$work/mnt"
    mount "$device" "$work/mnt"
}

# Writes and flushes until the end, with a pause that leaves the processors to what is measured.
start_load() { # BLOCKS PAUSE_S
    (while :; do
        dd if=/dev/urandom of="$work/mnt/small" bs=16k count="$1" conv=fsync 2>/dev/null
        sleep "$2"
    done) &
    writer=$!
}
