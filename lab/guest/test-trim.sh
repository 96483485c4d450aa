#!/usr/bin/env bash
# Real storage stacks in guests: `trimtab check` finds the planted problems, `trimtab trim` frees the
# space on the host or refuses for the right reason, and no kept data is lost.
#
#   lab/guest/test-trim.sh [drives] [volumes] [huge] [schedules] [disturbed]      without arguments: all
#
# The reasons for each expectation are given beside it. Sizes are those of the drives' backing files as
# stored by the host, so that no reported number is taken on trust.
set -euo pipefail
# shellcheck source=lab/guest/expect.sh
. "$(dirname "$0")/expect.sh"
all=$out
[ $# -gt 0 ] || set -- drives volumes huge schedules disturbed

# Written by lab/cases/lib.sh.
PIECES=24 KEEP_KIB=768 JUNK_MIB=4

recorded() { # CASE KEY
    awk -F '\t' -v name="$1" -v key="$2" '$1 == name && $2 == key { value = $3 } END { print value }' "$out/records"
}
# RULE:SEVERITY of every finding on the case's mount and elsewhere, with the layer for layers that lose
# discards.
found() {
    python3 -c '
import json, sys
for finding in json.load(open(sys.argv[1]))["result"]["findings"]:
    layer = ":" + finding["subject"] if finding["rule"] in ("TRIM001", "TRIM008") else ""
    print(finding["rule"] + ":" + finding["severity"] + layer)' "$out/$1.check.json" 2>&1 | sort | xargs
}
# Result of the pass as EXIT OUTCOME, with RULE:LAYER of each finding given as a reason.
ended() {
    echo "$(recorded "$1" exit) $(
        python3 -c '
import json, sys
ended = [event for event in map(json.loads, open(sys.argv[1])) if event["type"] == "ended"][-1]
reasons = [finding["rule"] + ":" + finding["subject"] for finding in ended.get("findings", [])]
print(ended["outcome"], *reasons)' "$out/$1.trim.json" 2>&1
    )"
}
# All output, JSON and text. (Without a pipe, which would fail once grep exits early.)
says() { grep -qE -- "$2" "$out/$1.trim.json" "$out/$1.trim.err"; }
is() {
    [ "$1" = "$2" ] || {
        echo "  expected '$1', found '$2'"
        return 1
    }
}

# Checks that the host stores no more than necessary. COPIES of each byte are on the drives; GRAIN_KIB is
# the smallest unit a layer frees, so that each piece of free space may lose as much at its ends. In
# addition 1 % of the deleted data may remain, plus 2 MiB for the log and for rounding to whole MiB.
# Storing less is fine: metadata that was empty when written is freed as well.
freed() { # CASE COPIES GRAIN_KIB
    python3 -c '
import sys
label, empty, junk, trimmed, copies, grain_kib, pieces, keep_kib, junk_mib = sys.argv[1], *map(float, sys.argv[2:])
must = empty + copies * pieces * keep_kib / 1024
deleted = copies * pieces * junk_mib
may = must + deleted / 100 + 2 + copies * pieces * grain_kib / 1024
if not must - 8 <= trimmed <= may:
    sys.exit(f"  {label}: {trimmed:.0f} MiB on the host, at least {must:.0f} and at most {may:.0f} expected ({junk:.0f} before)")
if junk - trimmed < 0.99 * deleted - 2 - copies * pieces * grain_kib / 1024:
    sys.exit(f"  {label}: {junk:.0f} MiB before, {trimmed:.0f} after")
' "$1" "$(recorded "${1%%/*}" empty_mib)" "$(recorded "${1%%/*}" junk_mib)" "$(recorded "${1##*/}" trimmed_mib)" \
        "$2" "$3" "$PIECES" "$KEEP_KIB" "$JUNK_MIB"
}
# The log and the superblock may add some writes.
nothing_freed() { # CASE
    python3 -c '
import sys
before, after = map(float, sys.argv[1:])
if before < 90 or not -1 <= after - before <= 4:
    sys.exit(f"  {before:.0f} MiB on the host before, {after:.0f} after")
' "$(recorded "$1" untrimmed_mib)" "$(recorded "$1" trimmed_mib)"
}

# The pass reports at least as many discarded bytes as the host's files have lost; it may report more,
# because space that was never written is discarded as well.
accounts_for() { # LABEL
    python3 -c '
import json, sys
ended = [event for event in map(json.loads, open(sys.argv[1])) if event["type"] == "ended"][-1]
told = sum(layer["discarded_bytes"] for layer in ended["layers"] if layer["is_leaf"]) / (1 << 20)
lost = float(sys.argv[2]) - float(sys.argv[3])
if told < lost - 1:
    sys.exit(f"  the pass reports {told:.0f} MiB discarded by the drives, but the host got back {lost:.0f}")
' "$out/$1.trim.json" "$(recorded "$1" untrimmed_mib)" "$(recorded "$1" trimmed_mib)"
}

# CASE or FILLED_CASE/LABEL, COPIES and GRAIN_KIB as above, FINDINGS in sorted order.
trims() { # CASE COPIES GRAIN_KIB FINDINGS
    local label=${1##*/}
    printf '%-18s %s\n' "$label" "$(row "$label")"
    expect "$label: findings" is "$4" "$(found "$label")"
    expect "$label: complete" is "0 complete" "$(ended "$label")"
    expect "$label: the host's space is free" freed "$1" "$2" "$3"
    expect "$label: the reported amount was freed" accounts_for "$label"
    expect "$label: no skipped space is reported" is "" "$(skipped_space_warnings "$label")"
}
# REASON: the RULE:LAYER for which the pass is refused.
keeps() { # CASE FINDINGS REASON
    printf '%-18s %s\n' "$1" "$(row "$1")"
    expect "$1: findings" is "$2" "$(found "$1")"
    expect "$1: refused" is "2 refused $3" "$(ended "$1")"
    expect "$1: nothing is freed" nothing_freed "$1"
}
row() { echo "exit $(recorded "$1" exit) after $(recorded "$1" seconds) s, host MiB $(recorded "$1" untrimmed_mib) -> $(recorded "$1" trimmed_mib)"; }
# The kept files are unchanged, and the filesystem's own checker finds nothing.
unharmed() { # CASE...
    local label
    for label in "$@"; do
        expect "$label: ran to its end" is "" "$(recorded "$label" broken)"
        expect "$label: files" is same "$(recorded "$label" files)"
        expect "$label: filesystem" is 0 "$(recorded "$label" fsck)"
    done
}
boot() { # CASE DRIVES SIZE [-- QEMU_ARGUMENT...]
    out=$all/$1
    GUEST_COPY="lab/filesystems.sh lab/cases/lib.sh" GUEST_TIMEOUT_S=900 lab/guest/run.sh "lab/cases/$1.sh" "$binary" "$out" "${@:2}"
}

drives() {
    GUEST_FILES="scsi.raw:800M scsi-ignored.raw:800M ahci.raw:400M ahci-ignored.raw:400M" boot trim-drives 4 800M -- \
        -device virtio-scsi-pci -device ahci,id=ahci \
        -drive "file={disk}/scsi.raw,if=none,id=scsi,format=raw,discard=unmap,cache=unsafe" \
        -device scsi-hd,drive=scsi,serial=SCSI \
        -drive "file={disk}/scsi-ignored.raw,if=none,id=scsi-ignored,format=raw,discard=ignore,cache=unsafe" \
        -device scsi-hd,drive=scsi-ignored,serial=SCSI-IGNORED \
        -drive "file={disk}/ahci.raw,if=none,id=ahci-disk,format=raw,discard=unmap,cache=unsafe" \
        -device ide-hd,bus=ahci.0,drive=ahci-disk,serial=AHCI \
        -drive "file={disk}/ahci-ignored.raw,if=none,id=ahci-ignored,format=raw,discard=ignore,cache=unsafe" \
        -device ide-hd,bus=ahci.1,drive=ahci-ignored,serial=AHCI-IGNORED
    # All drives are QEMU's, and whether QEMU frees anything cannot be seen from inside: TRIM012 on every
    # stack that accepts discards. Nothing else is wrong with a plain drive. Grain: the host's filesystem
    # frees blocks of 4 KiB.
    trims nvme-xfs 1 4 TRIM012:info
    trims nvme-ext4 1 4 TRIM012:info
    trims nvme-btrfs 1 4 TRIM012:info
    # Linux before 6.7 starts with the first of an allocation group's longest free extents and continues
    # with shorter ones; if several are equally long, the others are never discarded, whatever the range
    # (fs/xfs/xfs_discard.c, xfs_trim_extents). Here the 19 pieces in the first group are its longest. No
    # pass can avoid this, but none may report itself complete either.
    printf '%-18s %s\n' nvme-alike "$(row nvme-alike)"
    expect "nvme-alike: findings" is TRIM012:info "$(found nvme-alike)"
    expect "nvme-alike: complete, as far as possible" is "0 complete" "$(ended nvme-alike)"
    expect "nvme-alike: space skipped by the kernel is reported" reports_skipped_space nvme-alike
    expect "nvme-alike: the reported amount was freed" accounts_for nvme-alike
    # RAID 0, 1 and 10 pass discards on; mirrors store every byte twice.
    trims raid0 1 4 TRIM012:info
    trims raid1 2 4 TRIM012:info
    trims raid10 2 4 TRIM012:info
    # raid456 rejects discards by default, whatever its drives support: the array is named, and since
    # nothing is accepted there is no TRIM012.
    keeps raid5 TRIM001:warning:/dev/md0 TRIM001:/dev/md0
    # If allowed, it discards whole stripes: two data chunks of 64 KiB here, plus half as much parity.
    trims raid5/raid5-allowed 1.5 128 TRIM012:info
    # SCSI UNMAP and ATA TRIM are passed on.
    trims scsi 1 4 TRIM012:info
    trims ahci 1 4 TRIM012:info
    # The host ignores discards from these two drives. This cannot be detected from inside: trim
    # completes, the drive's counters agree, and only TRIM012 warns that this proves nothing. The output
    # must not claim otherwise.
    local label
    for label in scsi-ignored ahci-ignored; do
        printf '%-18s %s\n' $label "$(row $label)"
        expect "$label: findings" is TRIM012:info "$(found $label)"
        expect "$label: complete, as far as this kernel can tell" is "0 complete" "$(ended $label)"
        expect "$label: the drive accepted discards" says $label '"discarded_bytes":[1-9]'
        expect "$label: nothing is freed" nothing_freed $label
        expect "$label: claims nothing for the medium" lacks_claim $label
    done
    expect "scsi-ignored: nor does the text output" lacks_claim scsi-ignored-text
    unharmed nvme-xfs nvme-ext4 nvme-btrfs nvme-alike raid0 raid1 raid10 raid5 scsi scsi-ignored ahci ahci-ignored
}
# Warnings of a pass that the kernel skipped free space.
skipped_space_warnings() {
    python3 -c '
import json, sys
for event in map(json.loads, open(sys.argv[1])):
    if event["type"] == "warning" and "passed over" in event["text"]:
        print(event["text"])' "$out/$1.trim.json" 2>&1
}
# Some of the visited space was not discarded (otherwise this case shows nothing), and the pass reports
# it.
reports_skipped_space() {
    python3 -c '
import json, sys
ended = [event for event in map(json.loads, open(sys.argv[1])) if event["type"] == "ended"][-1]
took = sum(layer["discarded_bytes"] for layer in ended["layers"] if layer["depth"] == 0)
short = ended["visited_bytes"] - took
if short <= ended["visited_bytes"] / 100:
    sys.exit("  this kernel skipped nothing")
if not sys.argv[2]:
    sys.exit(f"  the pass reports itself complete, but {short >> 20} MiB of the visited space were not discarded")' \
        "$out/$1.trim.json" "$(skipped_space_warnings "$1")"
}
# "freed" would describe the medium; the output may only say that a drive "took" or a layer "discarded"
# bytes.
lacks_claim() {
    [ -s "$out/$1.trim.json" ] && ! says "$1" '(^ *|")freed|[0-9] ?(bytes|MiB|GiB) (were |are )?freed|reached the (medium|flash)'
}

volumes() {
    boot trim-volumes 2 800M
    # The table lacks allow_discards, so the mapping is named. Then it gets it, on the same mount.
    keeps crypt TRIM001:warning:/dev/mapper/locked TRIM001:/dev/mapper/locked
    trims crypt/crypt-allowed 1 4 TRIM012:info
    # A linear volume passes discards on; issue_discards is at its default 0, which only concerns
    # lvremove.
    trims linear 1 4 "TRIM011:info TRIM012:info"
    # A thin volume returns capacity to its pool (TRIM010, information); the pool passes whole chunks of
    # 64 KiB down.
    trims thin-passdown 1 64 "TRIM010:info TRIM012:info"
    # Accepted by the thin volume but kept by the pool, as the pool's table indicates.
    keeps thin-nopassdown "TRIM008:warning:/dev/mapper/vg-pool-tpool TRIM010:info" TRIM008:/dev/mapper/vg-pool-tpool
    # Not even accepted: the pool is named, not the volume that inherits it.
    keeps thin-ignore TRIM001:warning:/dev/mapper/vg-pool-tpool TRIM001:/dev/mapper/vg-pool-tpool
    # Three layers, of which the topmost rejects discards; the volume below is LVM's, as above.
    keeps deep "TRIM001:warning:/dev/mapper/deep TRIM011:info" TRIM001:/dev/mapper/deep
    trims deep/deep-allowed 1 4 "TRIM011:info TRIM012:info"
    unharmed crypt linear thin-passdown thin-nopassdown thin-ignore deep
}

huge() {
    boot trim-huge 1 2T
    # Linux 6.1 discards a free extent as a whole if a range touches it: 64 MiB were requested, in the
    # middle of a 512 GiB allocation group that is nearly one free extent.
    echo "huge: a range of 64 MiB discarded $(recorded huge clip_mib) MiB"
    expect "6.1 does not clip" [ "$(recorded huge clip_mib)" -gt 400000 ]
    # Such an extent is a single step that no pacing can reduce: the pass announces it with the stall it
    # may cause, and skips it without explicit consent.
    expect "huge: findings" is TRIM012:info "$(found huge)"
    expect "huge: stopped" is "1 stopped" "$(ended huge)"
    expect "huge: asks for --accept-stall" says huge '"reason":"[^"]*--accept-stall'
    expect "huge: because of an extent of hundreds of GB, not of a small one" announces_large_extent huge
    trims huge/huge-accepted 1 4 TRIM012:info
    for key in quiet_worst_ms group_worst_ms group_ioctl_ms group_settled_ms; do
        echo "huge: $key $(recorded huge $key)"
    done
    unharmed huge
}
announces_large_extent() {
    python3 -c '
import json, sys
announced = [event for event in map(json.loads, open(sys.argv[1])) if event.get("predicted_stall_s") is not None]
if not announced or announced[-1]["bytes"] < 400 << 30:
    sys.exit(f"  announced last: {announced[-1:]}")' "$out/$1.trim.json"
}

schedules() {
    boot schedules 1 600M
    # Every check gets a store's data path. Whatever the schedule, the stack is sound.
    local label
    # The distribution's weekly timer: nobody chose its time, and it is not paced.
    trims timer-enabled 1 4 "TRIM007:warning TRIM012:info"
    # Installed but disabled: people assume that it runs.
    trims timer-disabled 1 4 "TRIM003:warning TRIM012:info"
    # Masking is a deliberate decision (information), but it remains true that nothing trims the store.
    trims timer-masked 1 4 "TRIM002:warning TRIM003:info TRIM012:info"
    # Nobody chose the time of cron.weekly either. The masked timer is not reported as missing.
    trims cron-weekly 1 4 "TRIM007:warning TRIM012:info"
    trims anacron 1 4 "TRIM007:warning TRIM012:info"
    # Both start cron.weekly, and both trim.
    trims cron-unguarded 1 4 "SCHED002:warning TRIM007:warning TRIM012:info"
    trims cron-and-timer 1 4 "SCHED002:warning TRIM007:warning TRIM012:info"
    # The planted jobs do trim at their scheduled time.
    for label in timer-enabled-job cron-weekly-job anacron-job; do
        expect "$label: the planted job trims" freed $label 1 4
    done
    unharmed timer-enabled timer-enabled-job timer-disabled timer-masked cron-weekly cron-weekly-job anacron anacron-job \
        cron-unguarded cron-and-timer
}

# What a disturbed pass leaves is finished by the next one, which resumes it if RESUMES is yes.
continues() { # LABEL RESUMES
    local label=$1 resumes=$2
    expect "$label: the next pass completes" is "0 complete" "$(ended "$label-again")"
    expect "$label: resumed: $resumes" is "$resumes" "$(resumes "$label-again")"
    expect "$label: ends by itself" is "" "$(recorded "$label" hung)$(recorded "$label-again" hung)"
}
resumes() { if says "$1" '"resumed_bytes":[1-9]'; then echo yes; else echo no; fi; }
disturbed() {
    boot disturbed 1 600M
    local label
    # A child that nobody continues is ended, and the pass says so; one that is continued in time costs
    # nothing, nor does a stop of the whole pass.
    expect "stop-child: fails" is "2 failed" "$(ended stop-child)"
    expect "stop-child: says why" says stop-child SIGSTOP
    continues stop-child yes
    for label in stop-child-briefly stop-pass stop-all window-jumps deadline-jumps; do
        expect "$label: completes" is "0 complete" "$(ended $label)"
        continues $label no
    done
    # The last checkpoint that could be written is kept.
    expect "full-disk: fails" is "2 failed" "$(ended full-disk)"
    expect "full-disk: says why" says full-disk "No space left"
    expect "full-disk: --status" is 0 "$(recorded full-disk status)"
    continues full-disk yes
    # Only windows follow the wall clock. A window that has closed is waited for.
    expect "window-jumps: waits meanwhile" is 1 "$(recorded window-jumps waits)"
    expect "opens: begins when the window opens" is "0 complete 1" "$(ended opens) $(recorded opens began)"
    expect "resumed: by SIGTERM" is "143 signal" "$(ended resumed)"
    expect "resumed: three days before that" is "0 complete yes" "$(ended resumed-earlier) $(resumes resumed-earlier)"
    # What only reads facts must not wait for a drive. (A pass and a dry run read the filesystem's own
    # structures, and wait in the kernel as long as the drive does.)
    expect "hung drive: check ends" is 0 "$(recorded hung-drive check)"
    expect "hung drive: --status ends" is 0 "$(recorded hung-drive status)"
    expect "after-hung: completes" is "0 complete" "$(ended after-hung)"
    unharmed disturbed
}

for group in "$@"; do
    case $group in
    drives | volumes | huge | schedules | disturbed) ;;
    *)
        echo "$0: no cases named '$group': drives, volumes, huge, schedules or disturbed" >&2
        exit 2
        ;;
    esac
    before=$failed
    started=$SECONDS
    "$group"
    [ "$failed" = "$before" ] || tail -n 60 "$out/log"
    echo "$group: $((SECONDS - started)) s"
done
out=$all
finish
