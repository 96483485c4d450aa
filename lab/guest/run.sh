#!/usr/bin/env bash
# Boots a guest with empty NVMe drives, runs a case in it as root, and collects its output.
#
#   lab/guest/run.sh CASE.sh BINARY OUT_DIR [DRIVES [SIZE]] [-- QEMU_ARGUMENT...]
#
# In the guest, the case finds /lab/trimtab and writes to /lab/out. The drives are sparse files, also
# visible in the guest as /lab/disk/0.raw and so on, so that it can see how much the host still stores.
#
# QEMU_ARGUMENTs are passed on unchanged, except that {disk} is replaced with the directory of those
# files. Environment variables:
#   GUEST_FILES    "NAME:SIZE ...": more sparse files in {disk}, for drives that QEMU_ARGUMENTs add
#   GUEST_COPY     "PATH ...": copied to /lab
#   GUEST_FIO      1: the case finds /lab/fio/fio
#   GUEST_SHARE    a directory to use as /lab and to keep: existing files in its disk/ are preserved, so
#                  that a second boot finds what the first one left
#   GUEST_DRIVE_OPTIONS   for the NVMe drives' -drive: discard=unmap,cache=unsafe
#   GUEST_MEMORY_MIB      1024
#   GUEST_TIMEOUT_S       400
#   GUEST_EXPECT_STATUS   expected exit code of the case: 0
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case_file=$1 binary=$2 out=$3
shift 3
drives=2 size=600M
if [ $# -gt 0 ] && [ "$1" != -- ]; then drives=$1; shift; fi
if [ $# -gt 0 ] && [ "$1" != -- ]; then size=$1; shift; fi
if [ "${1:-}" = -- ]; then shift; fi
image=$("$here/prepare.sh")

if [ -n "${GUEST_SHARE:-}" ]; then
    share=$GUEST_SHARE
else
    share=$(mktemp -d)
    trap 'rm -rf "$share"' EXIT
fi
mkdir -p "$share/out" "$share/disk" "$out"
rm -rf "${share:?}/out/"*
cp "$case_file" "$share/case.sh"
cp "$binary" "$share/trimtab"
for path in ${GUEST_COPY:-}; do cp -r "$path" "$share/"; done
[ "${GUEST_FIO:-}" != 1 ] || cp -r "$image/fio" "$share/"

arguments=()
for ((index = 0; index < drives; index++)); do
    [ -e "$share/disk/$index.raw" ] || truncate -s "$size" "$share/disk/$index.raw"
    arguments+=(-drive "file=$share/disk/$index.raw,if=none,id=d$index,format=raw,${GUEST_DRIVE_OPTIONS:-discard=unmap,cache=unsafe}"
        -device "nvme,serial=LAB$index,drive=d$index")
done
for file in ${GUEST_FILES:-}; do
    [ -e "$share/disk/${file%%:*}" ] || truncate -s "${file#*:}" "$share/disk/${file%%:*}"
done
for argument in "$@"; do arguments+=("${argument//\{disk\}/$share/disk}"); done
status=0
timeout -k 5 "${GUEST_TIMEOUT_S:-400}" qemu-system-x86_64 -M pc -accel tcg,thread=multi -cpu max \
    -m "${GUEST_MEMORY_MIB:-1024}" -smp 2 -nodefaults -display none -monitor none -serial "file:$share/out/console" -no-reboot \
    -device virtio-rng-pci -kernel "$image/vmlinux" -initrd "$image/initramfs" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on rdinit=/init" \
    -virtfs "local,path=$share,mount_tag=lab,security_model=none,multidevs=remap" \
    "${arguments[@]}" || status=$?
cp -r "$share/out/." "$out/"
guest_status=$(cat "$share/out/status" 2>/dev/null || echo none)
if [ "$status" != 0 ] || [ "$guest_status" != "${GUEST_EXPECT_STATUS:-0}" ]; then
    echo "guest: $(basename "$case_file"): qemu ended with $status, the case with $guest_status" >&2
    tail -n 40 "$out/log" "$out/console" >&2 2>/dev/null || true
    exit 1
fi
