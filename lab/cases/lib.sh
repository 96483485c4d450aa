# shellcheck shell=bash
# Sourced by the cases that trim. A case makes a stack, and this file fills it, asks `trimtab check`
# what is wrong with it, trims it, reads from the drives' files how much the host stores before and
# after, and looks whether a single byte of what was kept has changed. Nothing is judged here: the
# records in /lab/out/records are judged on the host, by lab/guest/test-trim.sh.
# shellcheck source=lab/filesystems.sh
. /lab/filesystems.sh
out=/lab/out
trimtab=/lab/trimtab

# What is kept and what is deleted: PIECES files of each, one between the others, so that the free
# space is in pieces. The host knows these numbers too.
PIECES=24
KEEP_KIB=768
JUNK_MIB=4

say() { echo "== [$(cut -d' ' -f1 /proc/uptime)] $*"; }

# MiB that the host stores of the drives NAME...
stored_mib() {
    local name bytes=0
    for name in "$@"; do bytes=$((bytes + $(stored_bytes "/lab/disk/$name.raw"))); done
    echo $((bytes >> 20))
}

# One line for each thing that was seen: CASE KEY VALUE. The last one of a key holds.
record() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>$out/records; }

# Everything the kernel still has to write or discard. XFS discards behind the back of FITRIM.
settled() {
    local tries=0 before='' after
    sync
    while [ $((tries++)) -lt 60 ]; do
        after=$(awk '{ print $3, $10, $12, $16, $17 }' /proc/diskstats)
        [ "$after" != "$before" ] || return 0
        before=$after
        sleep 0.3
    done
    say "the drives do not come to rest"
}

# Makes the filesystem of a case, with files that stay and the space of deleted ones between them.
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
    # One directory: XFS would put two into two allocation groups.
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

# What `trimtab check` says.
#   ask LABEL [CHECK_ARGUMENT...]
ask() {
    local label=$1
    shift
    $trimtab check --exit-zero --format json "$@" >"$out/$label.check.json" 2>"$out/$label.check.err"
}

# Runs what is to trim, and measures before and after.
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

# Asks, trims and measures. A LABEL other than the case's name is for another look at one mount.
#   look [LABEL [TRIM_ARGUMENT...]]
look() {
    local label=${1:-$name}
    shift || true
    # An emulated machine that shares its processors keeps no budget, and Linux 6.1 discards each free
    # extent of XFS whole, Btrfs its unallocated space: what is in question here is what is freed.
    # Pacing has tests of its own, and trim-huge.sh asks for the refusal.
    [ $# -gt 0 ] || set -- --max-latency 5s --accept-stall 1h
    ask "$label"
    measure "$label" $trimtab trim "$mount" --now --format json "$@"
}

# Unmounts, mounts again and reads what was kept, and has the filesystem's own tool look at it.
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

# Mounts what was unmounted with `empty`, and looks at it under another name.
again() { # LABEL
    mount_filesystem "$type" "$device" "$mount" && look "$1"
}

# The usual case: fill, look, empty.
stack() {
    if ! { fill "$@" && look "$1" && empty; }; then record "$1" broken yes; fi
}

# Drives as they were when they were new.
renew() {
    local drive
    for drive in "$@"; do
        blkdiscard "$drive" || return 1
        blockdev --flushbufs "$drive"
    done
}
