#!/usr/bin/env bash
# Drives' own write counters, read from QEMU's drives with Debian's smartctl and nvme-cli: what is read,
# what is unavailable and why, and that a bundle contains nothing else of the tools' output.
#
# QEMU's NVMe drives count host writes but have no OCP log, so that no drive here reports its flash
# writes: every scenario is "not prediction". Its SATA disks have seven attributes, none of which counts
# writes, and no device statistics.
set -euo pipefail
# shellcheck source=lab/guest/expect.sh
. "$(dirname "$0")/expect.sh"
GUEST_FILES="a:800M b:800M path:800M sata:800M magnets:200M scsi:200M virtio:200M" GUEST_COPY=lab/filesystems.sh GUEST_TIMEOUT_S=400 \
    lab/guest/run.sh lab/cases/drive-logs.sh "$binary" "$out" 0 -- \
    -drive "file={disk}/a,if=none,id=a,format=raw,cache=unsafe" \
    -device nvme,serial=S3R1AL-NVME-A,drive=a \
    -drive "file={disk}/b,if=none,id=b,format=raw,cache=unsafe" \
    -device nvme,id=ctrl-b,serial=S3R1AL-NVME-B \
    -device nvme-ns,bus=ctrl-b,drive=b,eui64=0x53a17e5e00000b0b \
    -device nvme-subsys,id=subsystem,nqn=lab-path \
    -drive "file={disk}/path,if=none,id=path,format=raw,cache=unsafe" \
    -device nvme,id=ctrl-path,serial=S3R1AL-NVME-P,subsys=subsystem \
    -device nvme-ns,bus=ctrl-path,drive=path,shared=on \
    -device ich9-ahci,id=ahci \
    -drive "file={disk}/sata,if=none,id=sata,format=raw,cache=unsafe" \
    -device ide-hd,bus=ahci.0,drive=sata,serial=S3R1AL-SATA,wwn=0x53a17e5e00000a0a,rotation_rate=1 \
    -drive "file={disk}/magnets,if=none,id=magnets,format=raw,cache=unsafe" \
    -device ide-hd,bus=ahci.1,drive=magnets,serial=S3R1AL-MAGNETS,rotation_rate=7200 \
    -device virtio-scsi-pci,id=scsi \
    -drive "file={disk}/scsi,if=none,id=scsi-disk,format=raw,cache=unsafe" \
    -device scsi-hd,bus=scsi.0,drive=scsi-disk,serial=S3R1AL-SCSI \
    -drive "file={disk}/virtio,if=none,id=virtio,format=raw,cache=unsafe" \
    -device virtio-blk-pci,drive=virtio,serial=S3R1AL-VIRTIO

recorded() { awk -F '\t' -v key="$1" '$1 == key { value = $2 } END { print value }' "$out/records"; }
paths=$(recorded paths) sata=$(recorded sata)
read -r one other <<<"$(recorded stripe)"
for bundle in nvme-only before after anonymous nobody; do zstd -dcqf "$out/$bundle.tar.zst" -o "$out/$bundle.tar"; done
# The tools' responses in a bundle.
answers() { tar -tf "$out/$1.tar" | grep -E '^(.*/)?cmd/(smartctl|nvme)' | sed 's|.*/||' | sort | xargs; }
answer() { tar -xOf "$out/$1.tar" --wildcards --no-anchored "cmd/$2"; }
is() {
    [ "$1" = "$2" ] || {
        echo "  expected '$1', found '$2'"
        return 1
    }
}
# Why a scenario has no media writes, as lines WHY / NEEDS.
why() {
    python3 -c '
import json, sys
document = json.load(open(sys.argv[1]))
result = document["result"]
if result["label"] != "scenario, not prediction" or result["measured"] is not None:
    sys.exit("the scenario has a result for media writes")
for skipped in document["skipped"]:
    if skipped["what"] == "media writes":
        print(skipped["why"], "/", skipped["needs"])' "$out/$1.json" 2>&1
}
flags="--host-written and --media-written"

# Nothing installed: each tool is named, with its package. One tool provides both values of a SATA drive.
expect "without tools, an NVMe drive" is \
    "smartctl -A: not installed; nvme smart-log: not installed / smartmontools; or $flags
nvme ocp smart-add-log: not installed / nvme-cli; or $flags" "$(why bare)"
expect "without tools, a SATA drive" is "smartctl -A: not installed / smartmontools; or $flags" "$(why bare-sata | sort -u)"
# Either tool provides host writes. The OCP log needs nvme-cli: only its status and what that may mean are
# reported, because its output may contain the drive's name.
refused="exit status: 1, as where a drive does not have this log or nvme-cli does not know it / $flags"
expect "nvme-cli only" is "nvme ocp smart-add-log $paths: $refused" "$(why nvme-only)"
expect "nvme-cli only, in a bundle" is \
    "$(for drive in "$one" "$other" "$paths"; do echo "nvme_smart_log_$drive"; done | sort | xargs)" "$(answers nvme-only)"
expect "smartctl only" is "nvme ocp smart-add-log: not installed / nvme-cli; or $flags" "$(why smartctl-only)"

# Namespaces (but no path of one) and the non-rotating SATA disk are queried; the other SATA disk, the
# SCSI disk and the virtio disk are not.
expect "queried drives" is \
    "$(for drive in "$one" "$other" "$paths" "$sata"; do echo "smartctl_$drive"; done | sort | xargs)" "$(answers after)"
unasked() { echo "$1 was not asked: it is neither an NVMe drive nor a SATA drive of flash / $flags"; }
expect "a rotating disk" is "$(unasked "$(recorded magnets)")" "$(why live-magnets)"
expect "a SCSI disk" is "$(unasked "$(recorded scsi)")" "$(why live-scsi)"
expect "a virtio disk" is "$(unasked vda)" "$(why live-virtio)"
expect "an NVMe drive" is "nvme ocp smart-add-log $paths: $refused" "$(why live-paths)"
expect "each drive of a stripe" is \
    "$(for drive in "$one" "$other"; do echo "nvme ocp smart-add-log $drive: $refused"; done)" "$(why live-stripe)"
expect "a SATA drive" is \
    "smartctl -A $sata: neither device statistics nor a known attribute with what hosts wrote / $flags
smartctl -A $sata: no attribute that smartctl's drive database knows to count it / $flags" "$(why live-sata)"
# smartctl reports that it could not read the statistics (status 4), and the sector size, without which
# device statistics of drives that have them could not be interpreted.
expect "the bundle contains smartctl's response for it" is '{"logical_block_size":512,"smartctl":{"exit_status":4}}' "$(answer after "smartctl_$sata")"

# 286 MiB were written between two bundles, half to each drive of the stripe. (Before that QEMU counts
# less than the kernel, which includes zeroes written without data.) A unit is 512,000 bytes, partial
# units count, and the filesystem may write its log while a bundle is created: a difference of at most two
# units.
wrote() { # DRIVE AT_LEAST
    python3 -c '
import json, sys
drive, least, kernel = sys.argv[1], *map(int, sys.argv[2:4])
units = [json.loads(text)["nvme_smart_health_information_log"]["data_units_written"] for text in sys.argv[4:]]
told = (units[1] - units[0]) * 512000
print(f"  {drive}: {units[0]} and {units[1]} units, {told} bytes; the kernel wrote {kernel}")
sys.exit(kernel < least or abs(told - kernel) > 2 * 512000)' \
        "$1" "$2" $(($(recorded "after.$1") - $(recorded "before.$1"))) "$(answer before "smartctl_$1")" "$(answer after "smartctl_$1")"
}
expect "writes are counted" wrote "$paths" $((286 << 20))
for drive in "$one" "$other"; do expect "half of them on each drive of the stripe" wrote "$drive" $((143 << 20)); done
# Both tools report the same value.
agree() {
    python3 -c '
import json, sys
one, other = (json.load(open(name)) for name in sys.argv[1:])
sys.exit(one["nvme_smart_health_information_log"]["data_units_written"] != int(other["data_units_written"]))' \
        "$out/raw.smartctl_$1" "$out/raw.nvme_smart_log_$1"
}
for drive in "$paths" "$one" "$other"; do expect "$drive: both tools agree" agree "$drive"; done

for mount in stripe paths sata magnets scsi virtio; do
    expect "$mount: the bundle gives the same result as the host" is "$(why "live-$mount")" "$(why "bundle-$mount")"
done
expect "so does an anonymised one" is "$(why live-stripe)" "$(why anonymous-stripe)"
elsewhere() {
    "$binary" ssd run --from-host /mnt/stripe --bundle "$out/after.tar.zst" --writes-per-day 10GB --fill 50% \
        --capacity 100GB --simulated-pages 8192 --days 1 --alone --quiet --format json >"$out/elsewhere.json"
    is "$(why live-stripe)" "$(why elsewhere)"
}
expect "and on another machine" elsewhere

# All drives' serial numbers begin alike, and so do two world wide names. smartctl prints that of the SATA
# disk; none of the collected kernel files contains it. Identifiers that the kernel shows in sysfs are in
# a bundle (use --anonymise before sharing it); none comes from the tools' responses.
for name in S3R1AL-SATA '"id":60129544714'; do
    expect "smartctl printed $name" grep -qF "$name" "$out/raw.smartctl_$sata"
done
lack() { # BUNDLE PATTERN
    [ -s "$out/$1.tar" ] && ! grep -qaiE -- "$2" "$out/$1.tar"
}
for bundle in nvme-only before after anonymous nobody; do
    expect "$bundle: no identifiers that only the tools print" lack $bundle 'S3R1AL-(SATA|MAGNETS|SCSI)|53a17e5e|60129544714'
done
without_serials() { [ -n "$(answers after)" ] && ! answer after '*' | grep -aiE 's3r1al|wwn|QEMU'; }
expect "no serial number in any tool's response" without_serials
expect "none at all in an anonymised bundle" lack anonymous 's3r1al'

# Only root gets a response, so other users do not run the tools.
denied="not asked, only root may"
expect "as nobody, an NVMe drive" is \
    "smartctl -A $paths: $denied; nvme smart-log $paths: $denied / root; or $flags
nvme ocp smart-add-log $paths: $denied / root; or $flags" "$(why nobody-paths)"
expect "as nobody, a SATA drive" is "smartctl -A $sata: $denied / root; or $flags" "$(why nobody-sata | sort -u)"
expect "nobody's bundle has no tool responses" is "" "$(answers nobody)"
expect "and reports that" is "$(why nobody-paths)" "$(why nobody-bundle)"
finish
