#!/usr/bin/env bash
# Kills processes of a pass at random moments and verifies that nothing is lost: on XFS, ext4 and Btrfs on
# loop devices, in every other run with a store that keeps writing.
#
#   lab/crash/kill.sh [BINARY]
#
#   COUNT   number of runs: 50
#   SEED    for contents, victims and moments; printed, taken from the clock by default
#   KEEP    1: keeps the directories of failed runs
#
# Each run kills a pass with a low --rate at a random moment. Afterwards
# - none of its processes is left after a short while;
# - the checkpoint is readable; the next start resumes from it, reports so, and completes;
# - every file is unchanged, umount works immediately, the filesystem's own checker finds nothing;
# - the file behind the loop device stores what it stores after one undisturbed pass, within 1 % of what
#   that pass freed (plus, with a store, space that no pass can have seen).
# Needs root. Touches only loop devices that it made.
# shellcheck disable=SC2317 # traps and `await` call functions, too
set -uo pipefail
PREFIX=kill DEFAULT_COUNT=50
# shellcheck source=lab/crash/lib.sh
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "killing passes on loop devices needs root"
need_tools "killing passes" losetup mkfs.xfs xfs_repair mkfs.ext4 e2fsck mkfs.btrfs btrfs python3 pgrep
begin "$@"
IMAGE_MIB=416 FILL_MIB=300 RATE=48MiB/s
# `twice` also hits the resumed pass. As many as share no factor with the filesystems, so that each of these gets all.
VICTIMS=(parent child all TERM INT HUP twice)
# Not a performance limit: the time after which a run counts as hung.
PATIENCE_S=120

# --- one filesystem type: everything below runs in its own process -----------------------------
attach() { # IMAGE: sets $loop
    loop=$(losetup --find --show "$1") || exit 2
}

detach() {
    [ -z "$loop" ] || losetup -d "$loop"
    loop=
}

# Whether nothing holds the device exclusively, as a mounted filesystem does.
is_unmounted() { python3 -c 'import os, sys; os.open(sys.argv[1], os.O_EXCL)' "$loop" 2>/dev/null; }

# A namespace of somebody else's may keep a copy of a mount for a while; a filesystem that is mounted there is not clean.
unmount() { # WHEN
    umount "$mnt" || { fail "umount $1: busy"; umount -l "$mnt"; }
    await "the filesystem is still mounted $1" is_unmounted
}

clean_up() {
    touch "$work"/*/ledger.stop 2>/dev/null
    [ -z "$pass" ] || kill -9 "$pass" 2>/dev/null
    local dir
    for dir in "$work"/*/mnt "$work/mnt"; do
        ! mountpoint -q "$dir" 2>/dev/null || umount "$dir" || umount -l "$dir"
    done
    detach
}

# Processes that belong to a run: their command lines contain its directory, or they trim and were
# children of the pass. Zombies have no command line.
left_running() {
    pgrep -f -- "--state $state( |\$)"
    comm -12 <(pgrep -f -- ' __fitrim' | sort) <(sort <<<"$children")
}

# Waits for the trimming child to appear, and prints its process id; nothing if the pass ends first.
await_child() {
    while kill -0 "$pass" 2>/dev/null && ! pgrep -P "$pass" -f -- ' __fitrim'; do sleep 0.02; done
}

await() { # WHAT COMMAND...: waits until the command succeeds
    local what=$1 tries=0
    shift
    until "$@"; do
        tries=$((tries + 1))
        if [ $tries -gt $((PATIENCE_S * 10)) ]; then
            fail "$what, after $PATIENCE_S s (processes: $(left_running | xargs))"
            return 1
        fi
        sleep 0.1
    done
}

nothing_runs() { [ -z "$(left_running)" ]; }
pass_is_over() { ! kill -0 "$pass" 2>/dev/null; }

start_pass() { # OUTPUT: sets $pass
    # Background jobs of a shell ignore SIGINT, and a pass keeps ignored signals ignored.
    env --default-signal=INT,QUIT,TERM,HUP "$trimtab" trim "$mnt" --now --state "$state" \
        --rate "$RATE" --accept-stall 60s --max-latency 5s --format json \
        >"$1.jsonl" 2>"$1.err" &
    pass=$!
}

# Waits for the moment to strike: any time from the start on or, mostly, while steps are being made.
await_moment() { # OUTPUT
    if [ "$moment" = any ]; then
        sleep "$((RANDOM % 9)).$((RANDOM % 10))"
    else
        while kill -0 "$pass" 2>/dev/null && ! grep -qs '"type":"begins"' "$1.jsonl"; do sleep 0.05; done
        sleep "$((1 + RANDOM % 4)).$((RANDOM % 100))"
    fi
}

# Waits for the end of the pass; sets $status.
await_end() { # OUTPUT
    await "the pass still runs" pass_is_over || kill -9 "$pass"
    wait "$pass"
    status=$?
    pass=
    check_stream "$1.jsonl"
}

# Kills the victim; sets $status, and $was_hit if the pass was under way.
strike() { # OUTPUT
    local killed=() signal=KILL
    was_hit=
    children=$(pgrep -P "$pass")
    case $victim in
    parent | twice) killed=("$pass") ;;
    child) mapfile -t killed < <(await_child) ;;
    all) mapfile -t killed < <(await_child; echo "$pass") ;;
    TERM | INT | HUP) killed=("$pass") signal=$victim ;;
    esac
    # If no child appeared, the pass has ended.
    if [ ${#killed[@]} -gt 0 ] && kill -0 "$pass" 2>/dev/null; then
        was_hit=yes
        kill "-$signal" "${killed[@]}" 2>/dev/null
    fi
    await_end "$1"
    # The pass may already have been complete when it was hit.
    if [ "$(event "$1.jsonl" ended outcome)" = complete ]; then was_hit=; fi
}

# Expected exit code and last event of the pass: outcome, resumable. No event after SIGKILL.
expected_end() {
    case ${was_hit:+$victim} in
    '') echo "0 complete False" ;;
    TERM) echo "143 signal True" ;;
    INT) echo "130 signal True" ;;
    HUP) echo "129 signal True" ;;
    child) echo "2 failed True" ;;
    *) echo "137 " ;;
    esac
}

# Checks that must hold after a kill, before anything else is started. Sets $resumes.
aftermath() { # OUTPUT
    local ended
    await "processes are left" nothing_runs
    ended="$status $(event "$1.jsonl" ended outcome resumable)"
    [ "$ended" = "$(expected_end)" ] || fail "the pass ended with '$ended', expected '$(expected_end)': $(tail -n 3 "$1.err")"
    if [ "${was_hit:+$victim}" = child ] && ! event "$1.jsonl" ended reason | grep -q SIGKILL; then
        fail "the pass does not report that its child was killed"
    fi
    # The next start must report what the checkpoint contains.
    resumes=$(visited_bytes "$state") || fail "the checkpoint is unreadable"
    if [ -n "$resumes" ]; then
        "$trimtab" trim --status --state "$state" >"$1.status" 2>&1 || fail "--status: $(cat "$1.status")"
        grep -qF "$mnt" "$1.status" || fail "--status does not name the mount: $(cat "$1.status")"
        [ "$status" != 0 ] || fail "a checkpoint is left after a complete pass"
    fi
}

# Verifies the files and, if a store wrote, its files.
check_files() { # WHEN
    (cd "$mnt" && sha256sum --quiet -c "$work/sums") >"$dir/sums" 2>&1 || fail "$1: files have changed: $(head -n 3 "$dir/sums")"
    [ -z "$writer" ] || "$here/writer.sh" verify "$mnt/written" "$dir/ledger" || fail "$1: the store's files have changed"
}

one_run() {
    local writer='' written_before attempt resumed stored allowed clustered
    dir=$work/$run mnt=$work/$run/mnt state=$work/$run/state was_hit='' resumes=''
    mkdir -p "$dir"
    cp --sparse=never "$work/master" "$dir/image"
    attach "$dir/image"
    mount_filesystem "$type" "$loop" "$mnt" || { fail "mount"; return; }
    written_before=$(written_bytes "$loop")
    if [ "$writes" = yes ]; then
        "$here/writer.sh" run "$mnt/written" "$dir/ledger" &
        writer=$!
    fi
    for attempt in first $([ "$victim" != twice ] || echo second); do
        start_pass "$dir/$attempt"
        await_moment "$dir/$attempt"
        strike "$dir/$attempt"
        resumed=$(event "$dir/$attempt.jsonl" begins resumed_bytes)
        [ "${resumed:-${resumes:-0}}" = "${resumes:-0}" ] || fail "the $attempt pass resumed from $resumed, expected '$resumes' from the checkpoint"
        aftermath "$dir/$attempt"
    done
    [ -z "$was_hit" ] || hits=$((hits + 1))
    # The pass resumes.
    start_pass "$dir/last"
    await_end "$dir/last"
    [ "$status" = 0 ] || fail "the final pass ended with $status: $(tail -n 5 "$dir/last.err"); $(tail -n 1 "$dir/last.jsonl")"
    resumed=$(event "$dir/last.jsonl" begins resumed_bytes)
    [ "$resumed" = "${resumes:-0}" ] || fail "the pass resumed from '$resumed', expected '${resumes:-0}' from the checkpoint"
    [ "${resumed:-0}" = 0 ] || resumptions=$((resumptions + 1))
    await "processes are left at the end" nothing_runs
    [ -s "$state/audit.jsonl" ] || fail "the audit log is missing"
    [ -z "$(ls "$state"/pass-*.json 2>/dev/null)" ] || fail "left in the state directory: $(find "$state" -type f)"
    if [ -n "$writer" ]; then
        touch "$dir/ledger.stop"
        wait "$writer"
    fi
    check_files "mounted"
    clustered=$(clustered_bytes "$type" "$mnt")
    unmount "after the passes"
    check_filesystem "$type" "$loop" >"$dir/fsck" 2>&1 || fail "fsck: $(tail -n 5 "$dir/fsck")"
    # Mount again, to read what is really on the device.
    mount_filesystem "$type" "$loop" "$mnt" || fail "the filesystem cannot be mounted again"
    check_files "on disk"
    unmount "at the end"
    # A byte stored now was also stored after the undisturbed pass, or was written since (and perhaps
    # deleted behind the cursor), or was free all along but invisible to FITRIM. The last two are zero
    # without a store: those runs prove the 1 % bound, the others that the result is not trivial.
    allowed=$((reference + (full - reference) / 100))
    [ -z "$writer" ] || allowed=$((allowed + $(written_bytes "$loop") - written_before + clustered))
    detach
    stored=$(stored_bytes "$dir/image")
    [ "$stored" -le "$allowed" ] || fail "the file stores $stored bytes, at most $allowed are allowed; after one pass it stored $reference (full: $full)"
    # The bound in percent of the free space shows how much a run with a store proves.
    slack=$((((allowed - reference) * 100 + full - reference - 1) / (full - reference)))
    if [ -z "${KEEP:-}" ] || [ $failures = "$failures_before" ]; then rm -rf "$dir"; fi
}

# One undisturbed pass sets the reference for the others.
prepare() {
    run=reference victim=none moment=none
    dir=$work/reference mnt=$work/reference/mnt state=$work/reference/state
    mkdir -p "$dir"
    fallocate -l ${IMAGE_MIB}M "$work/master"
    attach "$work/master"
    make_filesystem "$type" "$loop" || exit 2
    mount_filesystem "$type" "$loop" "$work/mnt" || exit 2
    "$here/fill.py" "$work/mnt" "$seed" $FILL_MIB >"$work/sums" || exit 2
    umount "$work/mnt"
    detach
    cp --sparse=never "$work/master" "$dir/image"
    attach "$dir/image"
    mount_filesystem "$type" "$loop" "$mnt" || exit 2
    local free_bytes
    free_bytes=$(($(stat -f -c '%f * %S' "$mnt")))
    full=$(stored_bytes "$dir/image")
    timeout -k 5 "$PATIENCE_S" "$trimtab" trim "$mnt" --now --state "$state" --accept-stall 60s --max-latency 5s --format json >"$dir/pass.jsonl" 2>"$dir/pass.err" || {
        fail "an undisturbed pass ended with $?: $(tail -n 5 "$dir/pass.err"); $(tail -n 1 "$dir/pass.jsonl")"
        exit 1
    }
    umount "$mnt"
    detach
    reference=$(stored_bytes "$dir/image")
    # Otherwise the comparison would be meaningless.
    if [ $((full - reference)) -lt $((free_bytes * 9 / 10)) ]; then
        fail "an undisturbed pass freed $((full - reference)) of $free_bytes bytes"
        exit 1
    fi
    rm -rf "$dir"
}

job() { # TYPE FIRST_INDEX
    type=$1 hits=0 resumptions=0 runs=0
    work=$top/$type loop='' pass='' children=''
    mkdir -p "$work"
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    prepare
    for ((index = $2; index < count; index += ${#TYPES[@]})); do
        seed_run $index
        run=$((index + 1))
        victim=${VICTIMS[(index + seed) % ${#VICTIMS[@]}]}
        writes=no
        [ $(((index + index / ${#VICTIMS[@]}) % 2)) = 0 ] || writes=yes
        moment=steps slack=-
        [ $((RANDOM % 5)) != 0 ] || moment=any
        failures_before=$failures
        one_run
        runs=$((runs + 1))
        printf 'run %3d: %-5s %-15s hit %-8s writer %-3s resumed %9s  left <= %2s %%  %s\n' "$run" "$type" "$victim" \
            "$([ -n "$was_hit" ] && echo "$moment" || echo "too late")" "$writes" "${resumes:-new}" "$slack" \
            "$([ $failures = $failures_before ] && echo ok || echo FAILED)"
    done
    echo "$runs $hits $resumptions $failures" >"$top/$type.result"
    [ $failures = 0 ]
}

jobs_started=()
for index in "${!TYPES[@]}"; do
    # Suppress the shell's messages about killed processes.
    job "${TYPES[index]}" "$index" 2> >(grep -v ': *[0-9]* Killed ' >&2) &
    jobs_started+=($!)
done
trap 'kill "${jobs_started[@]}" 2>/dev/null; wait; exit 130' INT TERM
verdict=0
for process in "${jobs_started[@]}"; do wait "$process" || verdict=1; done
read -r runs hits resumptions failures < <(cat "$top"/*.result 2>/dev/null | awk '{ for (i = 1; i <= 4; i++) sum[i] += $i } END { print sum[1] + 0, sum[2] + 0, sum[3] + 0, sum[4] + 0 }')
echo "kill: $runs runs, $hits hit a running pass, $resumptions resumed from a checkpoint; $failures failures (SEED=$seed)"
[ "$runs" = "$count" ] || { echo "FAILED: expected $count runs"; verdict=1; }
# Kills that all miss the pass prove nothing.
if [ $((hits * 2)) -lt "$runs" ] || [ "$resumptions" = 0 ]; then
    echo "FAILED: too few kills hit a running pass"
    verdict=1
fi
[ $verdict = 0 ] || [ -n "${KEEP:-}" ] || echo "KEEP=1 SEED=$seed keeps the directories of failed runs"
if [ $verdict != 0 ] && [ -n "${KEEP:-}" ]; then echo "kept: $top"; else rm -rf "$top"; fi
exit $verdict
