#!/usr/bin/env bash
# Cuts the power of a guest in the middle of a pass, boots it again with the same drives, and resumes the
# pass.
#
#   lab/crash/power.sh [BINARY]
#
#   COUNT   number of runs: 10, on XFS, ext4 and Btrfs in turn
#   SEED    for the moments; printed, taken from the clock by default
#   KEEP    1: keeps the files of failed runs
#
# After the second boot: logs are replayed, every file is unchanged (including those that a store had just
# fsynced), the filesystem's own checker finds nothing, and the pass resumes from its checkpoint and
# completes, in some runs with a clock that jumps.
set -uo pipefail
PREFIX=power DEFAULT_COUNT=10
# shellcheck source=lab/crash/lib.sh
. "$(dirname "$0")/lib.sh"
need_tools "cutting a guest's power" "${GUEST_TOOLS[@]}" pkill setsid
begin "$@"
cuts=0 resumptions=0 guest=''
# shellcheck disable=SC2317 # a trap's
clean_up() {
    [ -z "$guest" ] || pkill -9 -s "$guest"
    if [ $failures = 0 ] || [ -z "${KEEP:-}" ]; then rm -rf "$top"; fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM
"$here/../guest/prepare.sh" >/dev/null || exit 2

boot() { # OUT: in its own session; sets $guest
    GUEST_SHARE=$share GUEST_DRIVE_OPTIONS=discard=unmap,cache=writethrough GUEST_TIMEOUT_S=300 \
        GUEST_COPY="$here/../filesystems.sh $here/writer.sh" \
        setsid "$here/../guest/run.sh" "$here/power-case.sh" "$trimtab" "$1" 2 "${DRIVE_KIB}K" >"$1.log" 2>&1 &
    guest=$!
}
DRIVE_KIB=$((400 * 1024))

# Kills the emulated machine itself: no flush, no shutdown. run.sh then reports an error, which is
# expected.
cut_power() {
    pkill -9 -s "$guest" -f '^qemu-system-x86_64 ' || fail "there is no guest process to kill"
    wait "$guest" 2>/dev/null
    guest=''
}

# Looks up a value recorded by the guest: KEY [DIRECTORY].
recorded() { awk -F'\t' -v key="$1" '$1 == key { value = $2 } END { print value }' "${2:-$second}/records"; }
expect() { # KEY VALUE
    [ "$(recorded "$1")" = "$2" ] || fail "$1 is '$(recorded "$1")', expected '$2'"
}

one_run() {
    share=$top/$run/share first=$top/$run/first second=$top/$run/second
    mkdir -p "$share/keep" "$first" "$second"
    echo "$type" >"$share/keep/type"
    [ $((RANDOM % 2)) = 0 ] || touch "$share/keep/clock"
    boot "$first"
    while kill -0 "$guest" 2>/dev/null; do
        if [ "$moment" = any ]; then
            [ ! -e "$share/keep/begun" ] || break
        else
            ! grep -qs '"type":"step"' "$share/out/first.jsonl" || break
            [ ! -e "$share/keep/over" ] || break
        fi
        sleep 0.1
    done
    if ! kill -0 "$guest" 2>/dev/null; then
        fail "the first boot did not start a pass: $(tail -n 5 "$share/out/log" "$first.log")"
        return
    fi
    sleep "$((1 + RANDOM % 9)).$((RANDOM % 100))"
    cut_power
    if [ -e "$share/keep/over" ]; then
        moment="too late"
        [ "$(recorded first_exit "$share/out")" = 0 ] || fail "the first pass failed without a power cut: $(cat "$share/out/first.err")"
    else
        cuts=$((cuts + 1))
    fi
    boot "$second"
    wait "$guest" || fail "the second boot failed: $(tail -n 20 "$second.log")"
    guest=''

    expect state_at_end ""
    expect status_exit 0
    expect second_exit 0
    expect third_exit 0
    expect umount 0
    local when
    for when in replayed trimmed again; do
        expect ${when}_files same
        expect ${when}_written same
    done
    expect replayed_fsck 0
    expect trimmed_fsck 0
    # The second pass must resume from the position in the checkpoint.
    local visited resumed
    visited=$(visited_bytes "$second/found") || fail "the checkpoint is unreadable"
    if [ -n "$visited" ]; then
        grep -q /mnt/data "$second/status.txt" || fail "--status does not name the mount: $(cat "$second/status.txt")"
    fi
    check_stream "$second/second.jsonl"
    resumed=$(event "$second/second.jsonl" begins resumed_bytes)
    [ "$resumed" = "${visited:-0}" ] || fail "the pass resumed from '$resumed', expected '${visited:-0}' from the checkpoint"
    [ "${visited:-0}" = 0 ] || resumptions=$((resumptions + 1))

    # What the passes before and after the cut left for one more pass from the beginning: at most 1 %,
    # plus what the store wrote and deleted behind the cursor, and what it hid from FITRIM.
    local stored another written_kib filled
    stored=$(recorded stored_kib) another=$(recorded stored_after_another_kib)
    filled=$(cat "$share/keep/filled_kib")
    # writer.sh: the maximum file size.
    written_kib=$(($(grep -c ^made "$share/keep/ledger") * 96))
    [ "$stored" -le $((another + (DRIVE_KIB - another) / 100 + written_kib + $(recorded clustered_kib))) ] ||
        fail "$stored KiB are stored after the resumed pass, $another KiB after another pass"
    # And that pass did free what had been deleted before.
    [ "$another" -le $((filled - $(cat "$share/keep/junk_kib") * 9 / 10 + written_kib)) ] ||
        fail "$another KiB are stored at the end, $filled KiB before the first pass, of which $(cat "$share/keep/junk_kib") were deleted"
    printf 'run %2d: %-5s cut %-8s resumed %9s of its bytes%s  %s\n' "$run" "$type" "$moment" "${visited:-0}" \
        "$([ -e "$share/keep/clock" ] && echo ", clock jumps")" \
        "$([ $failures = $failures_before ] && echo ok || echo FAILED)"
    if [ -z "${KEEP:-}" ] || [ $failures = $failures_before ]; then rm -rf "${top:?}/$run"; fi
}

for ((run = 1; run <= count; run++)); do
    seed_run $run
    type=${TYPES[(run + seed) % ${#TYPES[@]}]}
    moment=steps failures_before=$failures
    [ $((RANDOM % 4)) != 0 ] || moment=any
    one_run
done
echo "power: $count runs, $cuts cut a running pass, $resumptions resumed from a checkpoint; $failures failures (SEED=$seed)"
# A single run may cut too early or too late.
if [ "$count" -ge 4 ] && { [ $((cuts * 2)) -lt "$count" ] || [ $resumptions = 0 ]; }; then
    echo "FAILED: too few cuts in the middle of a pass"
    failures=$((failures + 1))
fi
[ $failures = 0 ] || [ -z "${KEEP:-}" ] || echo "kept: $top"
[ $failures = 0 ]
