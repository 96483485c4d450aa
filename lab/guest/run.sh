#!/usr/bin/env bash
# Boots a guest with empty NVMe drives, runs a case in it as root, and leaves what it wrote.
#
#   lab/guest/run.sh CASE.sh BINARY OUT_DIR [DRIVES [SIZE]]
#
# In the guest the case finds /lab/trimtab and writes to /lab/out. The drives are sparse files that this script makes and removes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case_file=$1 binary=$2 out=$3 drives=${4:-2} size=${5:-600M}
image=$("$here/prepare.sh")

share=$(mktemp -d)
trap 'rm -rf "$share"' EXIT
mkdir -p "$share/out" "$share/disk" "$out"
cp "$case_file" "$share/case.sh"
cp "$binary" "$share/trimtab"

arguments=()
for index in $(seq 0 $((drives - 1))); do
    truncate -s "$size" "$share/disk/$index.raw"
    arguments+=(-drive "file=$share/disk/$index.raw,if=none,id=d$index,format=raw,discard=unmap,cache=unsafe"
        -device "nvme,serial=LAB$index,drive=d$index")
done
status=0
timeout -k 5 "${GUEST_TIMEOUT_S:-240}" qemu-system-x86_64 -M pc -accel tcg,thread=multi -cpu max \
    -m 1024 -smp 2 -nodefaults -display none -monitor none -serial "file:$share/out/console" -no-reboot \
    -device virtio-rng-pci -kernel "$image/vmlinuz" -initrd "$image/initramfs" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on rdinit=/init" \
    -virtfs "local,path=$share,mount_tag=lab,security_model=none,multidevs=remap" \
    "${arguments[@]}" || status=$?
cp -r "$share/out/." "$out/"
guest_status=$(cat "$out/status" 2>/dev/null || echo none)
if [ "$status" != 0 ] || [ "$guest_status" != 0 ]; then
    echo "guest: $(basename "$case_file"): qemu ended with $status, the case with $guest_status" >&2
    tail -n 40 "$out/log" "$out/console" >&2 2>/dev/null || true
    exit 1
fi
