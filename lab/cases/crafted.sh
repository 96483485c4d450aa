# shellcheck shell=bash
# Runs in a guest: mounts crafted filesystems and trims them. Of each image there are three copies, side by
# side on a drive: the first is only mounted, the second gets fstrim, the third `trimtab trim`. Reads
# /lab/images (lines ID TYPE LANE SLOT BYTES) and /lab/wanted (lines TYPE COUNT: how many to mount).
# Records lines ID COPY KEY VALUE in /lab/out/lane.*, each before the next action: whatever comes next may
# be the guest's last. lab/crafted/judge.py evaluates them on the host.
# shellcheck disable=SC2317 # functions are called through `limited`
set -uo pipefail
out=/lab/out
SLOT_BYTES=$((128 << 20))
for module in xfs ext4 btrfs dm-mod; do modprobe $module; done
# A broken kernel must not go on.
echo 1 >/proc/sys/kernel/panic_on_oops
# Not /run/trimtab, which is the directory of the locks.
cp /lab/trimtab /run/trimtab-binary
mkdir -p /run/mounted

record() { # KEY VALUE
    echo "$id $copy $1 $2" >>"$out/lane.$lane"
}

# Runs a command in the background; 124 if it does not end in time, 125 if not even SIGKILL ends it.
limited() { # SECONDS COMMAND...
    local tries=$(($1 * 5)) process
    shift
    "$@" &
    process=$!
    while kill -0 $process 2>/dev/null; do
        if [ $((tries--)) = 0 ]; then
            kill -9 $process
            for _ in 1 2 3 4 5 6; do
                sleep 1
                kill -0 $process 2>/dev/null || return 124
            done
            return 125
        fi
        sleep 0.2
    done
    wait $process
}

# A filesystem remains mounted: nothing more can be tried in this lane, and no sync may wait for it.
end_lane() {
    touch /run/stuck
    exit 1
}

# Runs one action on a copy. Fails if it did not succeed; ends the lane if it cannot be ended, because the
# filesystem remains mounted then.
act() { # KEY SECONDS COMMAND...
    local key=$1 status=0
    shift
    record began "$key"
    limited "$@" || status=$?
    record "$key" $status
    if [ $status = 125 ]; then end_lane; fi
    return $status
}

# Each becomes the program itself, which `limited` then ends.
attach() { exec mount -t "$type" -o "$options" "/dev/mapper/$name" "$mount"; }
read_files() { (cd "$mount/files" && md5sum keep.* && ls) >"$1" 2>"$1.err"; }
look() { # WHEN
    act "read_$1" 120 read_files "/run/$name.$1" || true
    if [ "$1" != before ]; then
        record "files_$1" "$(cmp -s "/run/$name.before" "/run/$name.$1" && echo same || echo changed)"
    fi
}
trim() {
    # Without pacing, as in the other cases of emulated machines.
    exec /run/trimtab-binary trim "$mount" --now --format json --max-latency 5s --accept-stall 1h --state "/run/$name.state" \
        >"$out/$id.json" 2>"$out/$id.err"
}
discard() { exec fstrim "$mount"; }

# Whether the copy could be mounted.
one_copy() { # ACTION SECONDS COMMAND...
    name=$id-$copy mount=/mnt/$id-$copy
    mkdir -p "$mount"
    dmsetup create "$name" --table "0 $((bytes / 512)) linear /dev/nvme${lane}n1 $(((slot + copy) * SLOT_BYTES / 512))" || return 1
    dmsetup mknodes
    if act mount 120 attach; then
        look before
        act "$@" || true
        act sync 120 sync -f "$mount" || true
        echo 3 >/proc/sys/vm/drop_caches
        look after
        act umount 120 umount "$mount" || end_lane
        if act remount 120 attach; then
            look remounted
            act umount 120 umount "$mount" || end_lane
        fi
        mounted=yes
    else
        mounted=no
    fi
    dmsetup remove --retry "$name" || record broken dmsetup
    rm -rf "/run/$name".*
    [ $mounted = yes ]
}

one_image() {
    # Drives have a lane each; the kernel finds copies of one image by their uuid.
    case $type in
    xfs) options=nouuid ;;
    # An image may ask for a panic.
    ext4) options=errors=continue ;;
    btrfs) options=nodiscard ;;
    esac
    copy=0
    one_copy none 30 sleep 1 || return 0
    touch "/run/mounted/$type.$id"
    copy=1
    one_copy fstrim 120 discard
    copy=2
    one_copy trim 240 trim
    copy=-
    record finished -
}

run_lane() {
    lane=$1
    while read -r id type its_lane slot bytes; do
        [ "$its_lane" = "$lane" ] || continue
        wanted=$(awk -v type="$type" '$1 == type { print $2 }' /lab/wanted)
        [ "$(find /run/mounted -name "$type.*" | wc -l)" -lt "${wanted:-0}" ] || continue
        one_image
        if [ "$type" = btrfs ]; then btrfs device scan --forget >/dev/null 2>&1; fi
    done </lab/images
}

for number in 0 1 2 3 4 5; do run_lane $number </dev/null & done
wait
dmesg >"$out/dmesg"
if [ -e /run/stuck ]; then
    # Written here, because /init would sync first.
    echo 0 >"$out/status"
    poweroff -f
fi
exit 0
