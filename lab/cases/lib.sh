# shellcheck shell=bash
# Sourced by the trim cases. A case creates a storage stack. This file fills it, runs `trimtab check` on
# it, trims it, measures how much of the drives' backing files the host stores before and after, and
# verifies that the kept files are unchanged. Only records, in /lab/out/records; lab/guest/test-trim.sh
# evaluates them on the host.
# shellcheck source=lab/filesystems.sh
. /lab/filesystems.sh
out=/lab/out
trimtab=/lab/trimtab

# PIECES files each are kept and deleted, alternating, so that the free space is fragmented. The host-side
# test uses the same numbers.
PIECES=24
KEEP_KIB=768
JUNK_MIB=4

say() { echo "== [$(cut -d' ' -f1 /proc/uptime)] $*"; }

# MiB of the drives NAME... that the host stores.
stored_mib() {
    local name bytes=0
    for name in "$@"; do bytes=$((bytes + $(stored_bytes "/lab/disk/$name.raw"))); done
    echo $((bytes >> 20))
}

# Records one observation as a line CASE KEY VALUE. The last line for a key wins.
record() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>$out/records; }

# Waits until the kernel has finished writing and discarding. XFS discards in the background after FITRIM
# has returned.
settled() {
    local tries=0 before='' after
    sync
    while [ $((tries++)) -lt 60 ]; do
        after=$(awk '{ print $3, $10, $12, $16, $17 }' /proc/diskstats)
        [ "$after" != "$before" ] || return 0
        before=$after
        sleep 0.3
    done
    say "the drives do not become idle"
}

# Creates a case's filesystem, with kept files alternating with the free space of deleted ones.
#   fill CASE TYPE DEVICE "DRIVE..."
fill() {
    local index
    name=$1 type=$2 device=$3 drives=$4
    mount=/mnt/$name
    say "$name: $type on $device"
    make_filesystem "$type" "$device" && mount_filesystem "$type" "$device" "$mount" || return 1
    [ -e /run/random ] || dd if=/dev/urandom of=/run/random bs=1M count=$JUNK_MIB 2>/dev/null
    settled
    # shellcheck disable=SC2086
    record "$name" empty_mib "$(stored_mib $drives)"
    # A single directory: XFS would place two in two allocation groups.
    mkdir "$mount/files"
    for ((index = 0; index < PIECES; index++)); do
        { printf '%-64s' "$name $index"; head -c $((KEEP_KIB * 1024 - 64)) /run/random; } >"$mount/files/keep.$index"
        cat /run/random >"$mount/files/junk.$index"
    done
    (cd "$mount/files" && sha256sum keep.* >"/run/$name.sums") || return 1
    settled
    rm "$mount"/files/junk.*
    settled
    # shellcheck disable=SC2086
    record "$name" junk_mib "$(stored_mib $drives)"
}

# Runs `trimtab check`.
#   ask LABEL [CHECK_ARGUMENT...]
ask() {
    local label=$1
    shift
    $trimtab check --exit-zero --format json "$@" >"$out/$label.check.json" 2>"$out/$label.check.err"
}

# Runs a command that trims, and measures before and after.
#   measure LABEL COMMAND...
measure() {
    local label=$1 exit_status started=$SECONDS
    shift
    # shellcheck disable=SC2086
    record "$label" untrimmed_mib "$(stored_mib $drives)"
    "$@" >"$out/$label.trim.json" 2>"$out/$label.trim.err"
    exit_status=$?
    record "$label" seconds $((SECONDS - started))
    record "$label" exit $exit_status
    settled
    # shellcheck disable=SC2086
    record "$label" trimmed_mib "$(stored_mib $drives)"
    say "$label: exit $exit_status"
    tail -n 4 "$out/$label.trim.err"
}

# Checks, trims and measures. A LABEL other than the case's name is for running a mount again.
#   look [LABEL [TRIM_ARGUMENT...]]
look() {
    local label=${1:-$name}
    shift || true
    # Without pacing: an emulated machine that shares its processors cannot keep a latency budget, Linux
    # 6.1 discards each free extent of XFS as a whole, and Btrfs its unallocated space. These cases only
    # test what is freed. Pacing has its own tests, and trim-huge.sh tests the refusal.
    [ $# -gt 0 ] || set -- --max-latency 5s --accept-stall 1h
    ask "$label"
    measure "$label" $trimtab trim "$mount" --now --format json "$@"
}

# Unmounts, remounts, verifies the kept files and runs the filesystem's own checker.
empty() {
    local state=same
    umount "$mount" || return 1
    check_filesystem "$type" "$device" >"$out/$name.fsck" 2>&1
    record "$name" fsck $?
    echo 3 >/proc/sys/vm/drop_caches
    mount_filesystem "$type" "$device" "$mount" || return 1
    (cd "$mount/files" && sha256sum -c "/run/$name.sums") >"$out/$name.sums" 2>&1 || state=changed
    [ "$(find "$mount/files" -type f | wc -l)" = "$PIECES" ] || state=changed
    record "$name" files $state
    umount "$mount"
}

# Mounts what `empty` unmounted and runs it again under another name.
again() { # LABEL
    mount_filesystem "$type" "$device" "$mount" && look "$1"
}

# The usual case: fill, look, empty.
stack() {
    if ! { fill "$@" && look "$1" && empty; }; then record "$1" broken yes; fi
}

# Resets the drives to their initial state.
renew() {
    local drive
    for drive in "$@"; do
        blkdiscard "$drive" || return 1
        blockdev --flushbufs "$drive"
    done
}
