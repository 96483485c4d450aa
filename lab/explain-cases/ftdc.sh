#!/usr/bin/env bash
# Real trims of a loop device that it makes, under flushed writes, in a history as MongoDB keeps it, which has no discards;
# and the same load without trims. `trimtab explain` has to tell them apart. Twenty seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
[ "$(id -u)" = 0 ] || skip "histories of real trims need root"
need_tools "histories of real trims" losetup mkfs.xfs fstrim python3
bin=${CARGO_TARGET_DIR:-target}/debug
trimtab=${TRIMTAB:-$bin/trimtab}
tool=lab/explain-cases/ftdc.py
work=$(mktemp -d)
device='' writer=''
finish() {
    [ -z "$writer" ] || kill "$writer" 2>/dev/null || true
    wait "$writer" 2>/dev/null || true
    for _ in 1 2 3 4 5; do
        mountpoint -q "$work/mnt" || break
        umount "$work/mnt" 2>/dev/null || sleep 1
    done
    [ -z "$device" ] || losetup -d "$device"
    [ -z "${KEEP:-}" ] || cp -r "$work" "$KEEP"
    rm -rf "$work"
}
trap finish EXIT
truncate -s 1G "$work/image"
device=$(losetup -f --show "$work/image") || skip "histories of real trims need a loop device"
name=$(basename "$device")
# A drive takes its time; the fewer bytes a request has, the more of them there are. XFS forgets what it trimmed before.
echo $((1 << 20)) >"/sys/block/$name/queue/discard_max_bytes"
mkfs.xfs -q "$device"
mkdir "$work/mnt"
mount "$device" "$work/mnt"

# A store's load: small writes, each flushed. It leaves the processors to what is measured.
(while :; do
    dd if=/dev/urandom of="$work/mnt/small" bs=16k count=1 conv=fsync 2>/dev/null
    sleep 0.02
done) &
writer=$!

# Records, and checks what is made of it.
try() { # NO|YES
    local history=$work/$1 mount=()
    [ "$1" = NO ] || mount=("$work/mnt")
    "$tool" record "$name" 8 "$history" "${mount[@]}"
    "$bin/examples/read" ftdc "$history" 0 'discard or flush time*' >"$history.samples" 2>/dev/null
    "$trimtab" explain "$history" --jobs none --exit-zero --format json --step 1s >"$history.json"
    "$tool" check "$history" "$history.samples" "$history.json" "$1" >"$work/said"
}
for trims in NO YES; do
    # A device of this machine's may be disturbed while it is recorded: once more, and again.
    try "$trims" || try "$trims" || try "$trims" || { cat "$work/said" && exit 1; }
    cat "$work/said"
done
