#!/usr/bin/env bash
# Completeness: how much free space is still stored in the backing file after fstrim and after trimtab,
# each on a copy of the same fragmented filesystem.
#
#   benches/trim/completeness.sh             the table, with XFS in a guest on an older kernel
#   benches/trim/completeness.sh --check     small images, no guest; fails if trimtab leaves more than 1 %
#                                            of what could be freed
#   GUEST=no benches/trim/completeness.sh    without the guest
#
# Uses loop devices over sparse files; needs root. TRIMTAB names the binary.
set -euo pipefail
. "$(dirname "$0")/common.sh"
check=
[ "${1:-}" = --check ] && check=1
size=4G mib=2458
[ -n "$check" ] && size=1G mib=700
failed=0
# Accepts the stall of space that can only be trimmed in one piece (Btrfs' unallocated space), because
# this is about completeness. A wide latency budget, so that a busy machine does not fail the test.
accept=(--accept-stall 60s)
[ -n "$check" ] && accept+=(--max-latency 2s)

# Prints a row of the table from the three measurements, and checks it.
report() { # LABEL KERNEL BEFORE AFTER_FSTRIM AFTER_TRIMTAB FSTRIM_S TRIMTAB_S
    local left_before left_fstrim left_trimtab
    left_before=$(json left <<<"$3")
    left_fstrim=$(json left <<<"$4")
    left_trimtab=$(json left <<<"$5")
    printf '| %s | %s | %s in %s | %s | %s | %s (%s %%) | %s (%s %%) | %s | %s | %s | %s |\n' \
        "$1" "$2" "$(mib "$(json free <<<"$3")")" "$(json free_extents <<<"$3")" \
        "$(mib "$(json stored <<<"$3")")" "$(mib "$left_before")" \
        "$(mib "$left_fstrim")" "$(percent "$left_fstrim" "$left_before")" \
        "$(mib "$left_trimtab")" "$(percent "$left_trimtab" "$left_before")" \
        "$(mib "$(json stored <<<"$4")")" "$(mib "$(json stored <<<"$5")")" "$6" "$7"
    if [ $((left_trimtab * 100)) -gt "$left_before" ]; then
        say "$1 on $2: trimtab left $(mib "$left_trimtab") MiB of $(mib "$left_before"): more than 1 %"
        failed=1
    fi
}

# One filesystem, on this kernel.
here_on() { # LABEL FS NAME
    local contender from sitting status before='' state image=$work/copy.img
    local -A after took
    for contender in fstrim trimtab; do
        copy_of "$3" "$image"
        attach "$image"
        [ "$2" = btrfs ] && state=$(left_of "$image" "$2")
        mount_image "$2"
        [ "$2" = btrfs ] || state=$(left_of "$image" "$2")
        if [ -z "$before" ]; then
            before=$state
        elif [ "$before" != "$state" ]; then
            say "$1: the copies differ: $before, $state"
            exit 2
        fi
        from=$(uptime)
        # Resume a pass that stopped because the budget could not be kept.
        for sitting in 1 2 3; do
            status=0
            trim_with $contender "$work/mount" "${accept[@]}" || status=$?
            [ $status = 1 ] || break
        done
        [ $status = 0 ] || { say "$1: $contender ended with $status"; failed=1; }
        took[$contender]=$(seconds "$from" "$(uptime)")
        [ $sitting = 1 ] || took[$contender]+=", $sitting sittings"
        settled "${device#/dev/}"
        sync -f "$work/mount"
        [ "$2" = btrfs ] || state=$(left_of "$image" "$2")
        umount "$work/mount"
        [ "$2" = btrfs ] && state=$(left_of "$image" "$2")
        after[$contender]=$state
        detach
        rm "$image"
    done
    report "$1" "$(uname -r | cut -d- -f1)" "$before" "${after[fstrim]}" "${after[trimtab]}" \
        "${took[fstrim]}" "${took[trimtab]}"
}

# The same in a guest, with two NVMe drives of the same content.
in_guest() { # LABEL FS NAME
    local index before state out=$work/out
    local after=() arguments=()
    mkdir -p "$work/share/disk" "$out"
    for index in 0 1; do
        copy_of "$3" "$work/share/disk/$index.raw"
        arguments+=(-drive "file={disk}/$index.raw,if=none,id=n$index,format=raw,discard=unmap,cache=unsafe"
            -device "nvme,serial=BENCH$index,drive=n$index")
    done
    attach "$work/share/disk/0.raw"
    mount -o ro "$device" "$work/mount"
    before=$(left_of "$work/share/disk/0.raw" "$2")
    umount "$work/mount"
    detach
    guest "$here/guest-completeness.sh" "$out" "${arguments[@]}"
    for index in 0 1; do
        attach "$work/share/disk/$index.raw"
        mount -o ro "$device" "$work/mount"
        state=$(left_of "$work/share/disk/$index.raw" "$2")
        umount "$work/mount"
        detach
        after+=("$state")
    done
    grep -q '^trimtab 0 ' "$out/times" || { say "$1: $(cat "$out/times")"; failed=1; }
    report "$1" "$(cut -d- -f1 "$out/release"), guest" "$before" "${after[0]}" "${after[1]}" \
        "$(awk '$1 == "fstrim" { print $3 }' "$out/times")" "$(awk '$1 == "trimtab" { print $3 }' "$out/times")"
    rm -rf "$work/share"
}

cat <<HEAD
| filesystem | kernel | free MiB, in extents | image MiB | of it free | left by fstrim | left by trimtab | image after fstrim | after trimtab | fstrim s | trimtab s |
|---|---|---|---|---|---|---|---|---|---|---|
HEAD
base_image xfs xfs $size $mib 64 512
here_on "XFS, files of 64-512 KiB" xfs xfs
if [ -z "$check" ]; then
    [ "${GUEST:-yes}" != yes ] || in_guest "XFS, files of 64-512 KiB" xfs xfs
    base_image xfs coarse $size $mib 256 2048
    here_on "XFS, files of 256 KiB-2 MiB" xfs coarse
    rm "$work/coarse.img"
fi
rm "$work/xfs.img"
base_image ext4 ext4 $size $mib 64 512
here_on "ext4, files of 64-512 KiB" ext4 ext4
rm "$work/ext4.img"
base_image btrfs btrfs $size $mib 64 512
here_on "Btrfs, files of 64-512 KiB" btrfs btrfs
rm "$work/btrfs.img"
exit $failed
