# shellcheck shell=bash
# Sourced by the scripts of the trim benchmark: a work directory that is removed at exit, loop devices and
# mounts that are released with it, fragmented images, guests.
#
# Provides $root, $work, $trimtab, $neighbour; attach, detach, base_image, copy_of, settled, uptime,
# trim_with, guest, say, row.
PATH=$PATH:/usr/sbin:/sbin
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/benches/trim
target=${CARGO_TARGET_DIR:-$root/target}
trimtab=${TRIMTAB:-$target/static/trimtab}
neighbour=$target/debug/examples/neighbour
# shellcheck source=lab/filesystems.sh
. "$root/lab/filesystems.sh"

say() { echo "bench-trim: $*" >&2; }

# Destructive operations only touch files created here.
[ "$(id -u)" = 0 ] || { echo "SKIPPED: this needs root, for loop devices and mounts"; exit 0; }
for tool in losetup mkfs.xfs mkfs.ext4 mkfs.btrfs xfs_io btrfs fstrim python3; do
    command -v $tool >/dev/null || { echo "SKIPPED: this needs $tool (make deps installs it)"; exit 0; }
done
[ -x "$trimtab" ] || { say "no $trimtab: run 'make release' first"; exit 2; }

work=$(mktemp -d "${BENCH_DIR:-/var/tmp}/trimtab-bench.XXXXXX")
mkdir "$work/mount" "$work/state"
children=() cgroup=
cleanup() {
    local child device file
    set +e # clean up the rest even if something is gone already
    touch "$work/stop"
    for child in "${children[@]}"; do kill "$child" 2>/dev/null; done
    if [ -n "$cgroup" ]; then
        while read -r child; do kill "$child" 2>/dev/null; done <"$cgroup/cgroup.procs"
    fi
    wait 2>/dev/null
    mountpoint -q "$work/mount" && { umount "$work/mount" || umount -l "$work/mount"; }
    losetup --list --noheadings --output NAME,BACK-FILE | while read -r device file; do
        case $file in "$work"/*) losetup --detach "$device" ;; esac
    done
    [ -n "$cgroup" ] && { sleep 0.2; rmdir "$cgroup"; }
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# attach IMAGE: sets $device. A loop device whose discard_max_bytes was set to 0 keeps that when reused, and
# rejects any other value (seen on 6.18), so it is removed and created again.
attach() {
    local attempt
    for attempt in 1 2 3; do
        device=$(losetup --find --show "$1")
        [ "$(cat "/sys/block/${device#/dev/}/queue/discard_max_bytes")" != 0 ] && return
        losetup --detach "$device"
        python3 -c 'import fcntl, sys
fcntl.ioctl(open("/dev/loop-control"), 0x4C81, int(sys.argv[1]))' "${device#/dev/loop}" || sleep 1 # LOOP_CTL_REMOVE
    done
    say "$device takes no discards here"
    exit 2
}
detach() { losetup --detach "$device"; }

mount_image() { mount_filesystem "$1" "$device" "$work/mount"; } # FS

# base_image FS NAME SIZE MIB SMALLEST_KIB LARGEST_KIB: creates a filesystem with fragmented free space in
# $work/NAME.img. The same arguments give the same files.
base_image() {
    local image=$work/$2.img made
    truncate -s "$3" "$image"
    make_filesystem "$1" "$image"
    attach "$image"
    mount_image "$1"
    made=$("$here/fragment.py" "$work/mount" "$4" "$5" "$6")
    umount "$work/mount"
    detach
    say "$2: $3 of $1, $made"
}

# copy_of NAME FILE
copy_of() { cp --sparse=auto --reflink=auto "$work/$1.img" "$2"; sync -f "$2"; }

# left_of IMAGE FS: see left.py. XFS and ext4 have to be mounted from $device, Btrfs must not be.
left_of() {
    if [ "$2" = btrfs ]; then "$here/left.py" "$1" btrfs; else "$here/left.py" "$1" "$2" "$work/mount"; fi
}

uptime() { cut -d' ' -f1 /proc/uptime; }

# settled NAME: waits until the device's counters have not changed for a second, because FITRIM on XFS
# returns before its discards are done.
settled() {
    local was='' now
    while :; do
        now=$(awk '{ print $12, $14 }' "/sys/block/$1/stat")
        [ "$now" = "$was" ] && return
        was=$now
        sleep 1
    done
}

# trim_with CONTENDER MOUNT [ARGUMENT...]: returns the contender's exit status.
trim_with() {
    local contender=$1 mount=$2
    shift 2
    case $contender in
    fstrim) fstrim "$mount" ;;
    trimtab) "$trimtab" trim "$mount" --now --state "$work/state" -q "$@" >&2 ;;
    esac
}

# json KEY <<<OBJECT
json() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
mib() { awk -v bytes="$1" 'BEGIN { printf "%.1f", bytes / 1048576 }'; }
percent() { awk -v part="$1" -v whole="$2" 'BEGIN { printf "%.2f", whole ? 100 * part / whole : 0 }'; }
seconds() { awk -v from="$1" -v to="$2" 'BEGIN { printf "%.1f", to - from }'; }

machine() {
    printf '%s, %s x %s, %s MiB of memory\n' "$(uname -sr)" "$(nproc)" \
        "$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)" \
        "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)"
}
versions() {
    printf '%s; %s\n' "$("$trimtab" --version)" "$(fstrim --version)"
}

# guest CASE OUT QEMU_ARGUMENT...: boots Debian's kernel with $share mounted as /lab.
guest() {
    local case_file=$1 out=$2
    shift 2
    (
        # If other jobs start guests too, run one at a time.
        [ -z "${GUEST_LOCK:-}" ] || flock 9
        GUEST_SHARE=$work/share GUEST_TIMEOUT_S=${GUEST_TIMEOUT_S:-600} \
            GUEST_COPY="$neighbour $here/guest.sh" \
            "$root/lab/guest/run.sh" "$case_file" "$trimtab" "$out" 0 -- "$@"
    ) 9>"${GUEST_LOCK:-/dev/null}"
}

# serve IMAGE MODEL: runs nbdkit with model.py over an image; sets $socket.
serve() {
    socket=$1.socket
    nbdkit --foreground --exit-with-parent --threads 32 --unix "$socket" python "$here/model.py" \
        "file=$1" "model=$2" "log=${MODEL_LOG:-/dev/null}" 9>&- &
    children+=($!)
    while [ ! -S "$socket" ]; do sleep 0.05; kill -0 $! || { say "nbdkit did not start"; exit 2; }; done
}
# Adds a drive with serial BENCH$2, connected through the socket, to the array $arguments.
nbd_drive() { # SOCKET INDEX
    arguments+=(-drive "file=nbd+unix:///?socket=$1,if=none,id=n$2,format=raw,discard=unmap,cache=none"
        -device "nvme,serial=BENCH$2,drive=n$2")
}

# throttle DEVICE WRITES_PER_S: creates a cgroup, $cgroup, that limits requests to the device; discards count
# as writes. Uses cgroup v2 if its io controller is available, otherwise v1's blkio, which is the same
# throttle.
throttle() {
    local numbers root_group
    numbers=$(lsblk --nodeps --noheadings --output MAJ:MIN "$1" | tr -d ' ')
    root_group=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET || true)
    if [ -n "$root_group" ] && grep -qw io "$root_group/cgroup.controllers"; then
        echo +io >"$root_group/cgroup.subtree_control"
        cgroup=$root_group/trimtab-bench.$$
        mkdir -p "$cgroup"
        echo "$numbers wiops=$2" >"$cgroup/io.max"
        throttled_by="cgroup v2, io.max wiops=$2"
    else
        root_group=$(findmnt --noheadings --first-only --types cgroup --options blkio --output TARGET || true)
        [ -n "$root_group" ] || { say "no cgroup with an io or blkio controller is mounted"; return 1; }
        cgroup=$root_group/trimtab-bench.$$
        mkdir -p "$cgroup"
        echo "$numbers $2" >"$cgroup/blkio.throttle.write_iops_device"
        throttled_by="cgroup v1, blkio.throttle.write_iops_device=$2"
    fi
}
