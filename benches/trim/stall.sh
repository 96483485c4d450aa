#!/usr/bin/env bash
# Stall: how long other processes wait for space while discards are slow. A neighbor process creates files,
# allocates 64 KiB for each and fsyncs it, 20 times per second, in every allocation group of an XFS
# filesystem whose free space is almost entirely in extents being discarded.
#
#   benches/trim/stall.sh            the table
#   GUEST=no benches/trim/stall.sh   without the guest; HERE=no: only in the guest
#
# Uses loop devices over sparse files, and QEMU; needs root. TRIMTAB names the binary.
set -euo pipefail
. "$(dirname "$0")/common.sh"
per_s=${WRITES_PER_S:-20}

line() { # LABEL KERNEL CONTENDER TIMES FROM TO DISCARDS STATUS
    local create allocate fsync
    read -ra create < <("$here/times.py" "$4" create "$5" "$6")
    read -ra allocate < <("$here/times.py" "$4" allocate "$5" "$6")
    read -ra fsync < <("$here/times.py" "$4" fsync "$5" "$6")
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "$3" "${allocate[0]}" \
        "${create[3]}" "${allocate[2]}" "${allocate[3]}" "${fsync[2]}" "${fsync[3]}" "$(seconds "$5" "$6")" "$7" "$8"
}

discards() { awk '{ print $12 }' "/sys/block/$1/stat"; }

here_on() { # LABEL FS IMAGE_NAME
    local contender image=$work/copy.img from to status allocating before
    for contender in none fstrim trimtab; do
        copy_of "$3" "$image"
        attach "$image"
        mount_image "$2"
        throttle "$device" "$per_s"
        [ $contender != none ] || say "$1: $throttled_by"
        # XFS places each new directory in the next allocation group.
        mkdir "$work/mount"/n{0..15}
        sync -f "$work/mount"
        rm -f "$work/stop"
        "$neighbour" allocate 20 65536 "$work/stop" "$work/mount"/n* >"$work/times" &
        allocating=$!
        sleep 2
        before=$(discards "${device#/dev/}")
        from=$(uptime)
        status=0
        if [ $contender = none ]; then
            sleep 20
        else
            # The trim and its child processes run in the throttled cgroup.
            (
                echo $BASHPID >"$cgroup/cgroup.procs"
                trim_with $contender "$work/mount"
            ) || status=$?
            # Until there have been no discards for a second; the neighbor's writes do not count.
            settled "${device#/dev/}"
        fi
        to=$(uptime)
        touch "$work/stop"
        wait $allocating || { say "$1: the neighbour failed"; exit 2; }
        line "$1" "$(uname -r | cut -d- -f1)" "$contender" "$work/times" "$from" "$to" "$(($(discards "${device#/dev/}") - before))" "$status"
        umount "$work/mount"
        rmdir "$cgroup"
        cgroup=
        detach
        rm "$image"
    done
}

# CONTENDERS: none, fstrim, trimtab, trimtab-accepted (--accept-stall 10m).
in_guest() { # LABEL IMAGE_NAME MODEL CONTENDERS
    local contenders=$4 contender status from to count index=0 out=$work/out arguments=()
    mkdir -p "$work/share/disk" "$out"
    rm -rf "${out:?}"/*
    echo "$contenders" >"$work/share/contenders"
    for contender in $contenders; do
        copy_of "$2" "$work/share/disk/$index.img"
        MODEL_LOG=$work/log.$contender serve "$work/share/disk/$index.img" "$3"
        nbd_drive "$socket" $index
        index=$((index + 1))
    done
    GUEST_TIMEOUT_S=1500 guest "$here/guest-stall.sh" "$out" "${arguments[@]}"
    for contender in $contenders; do
        read -r _ status from to count < <(grep "^$contender " "$out/phases")
        line "$1" "$(cut -d- -f1 "$out/release"), guest" "$contender" "$out/times.$contender" "$from" "$to" "$count" "$status"
        [ -s "$out/said.$contender" ] && sed "s/^/bench-trim: $1: $contender: /" "$out/said.$contender" >&2
        [ -n "${KEEP:-}" ] && cp "$work/log.$contender" "$out/times.$contender" "$KEEP/" 2>/dev/null
    done
    for child in "${children[@]}"; do kill "$child"; wait "$child" || true; done
    children=()
    rm -rf "$work/share"
}

base_image xfs full 2G 4096 256 2048
cat <<HEAD
| filesystem | kernel | trim | allocations | create max ms | allocate p99 ms | allocate max ms | fsync p99 ms | fsync max ms | watched s | discards | exit |
|---|---|---|---|---|---|---|---|---|---|---|---|
HEAD
if [ "${HERE:-yes}" = yes ]; then
    here_on "XFS, 4 groups of 512 MiB, $per_s discards/s" xfs full
    base_image ext4 ext4 2G 4096 256 2048
    here_on "ext4, 16 groups of 128 MiB, $per_s discards/s" ext4 ext4
    rm "$work/ext4.img"
fi
if [ "${GUEST:-yes}" = yes ]; then
    in_guest "XFS, 4 groups of 512 MiB, 50 ms a discard (model)" full fixed "none fstrim trimtab"
    rm "$work/full.img"
    truncate -s 2T "$work/large.img"
    mkfs.xfs -q -K -d agcount=4 -l size=64m "$work/large.img"
    in_guest "XFS, 4 groups of 512 GiB, empty, 50 ms a discard (model)" large fixed "none fstrim trimtab trimtab-accepted"
fi
