#!/usr/bin/env bash
# Kills the processes of a pass at random moments, and proves that nothing is lost by it: on XFS,
# ext4 and Btrfs on loop devices, with a store that goes on writing in every other run.
#
#   lab/crash/kill.sh [BINARY]
#
#   COUNT   runs: 50
#   SEED    of contents, victims and moments: printed, taken from the clock if not given
#   KEEP    1: the directory of a failed run stays
#
# A run: a pass with --max-request and a low --rate is hit at a random moment. Then
# - none of its processes is left after a while;
# - discard_max_bytes is what it was: put back by the guardian, or, where it was killed too, by
#   --restore-limits or the next start;
# - the checkpoint is readable; the next start goes on from it, says so, and completes;
# - every file is what it was, umount works at once, the filesystem's own tool finds nothing;
# - the file below the loop device stores what it stores after one undisturbed pass, within 1 % of
#   what that pass freed.
# Needs root. Touches only loop devices that it made.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lab/crash/lib.sh
. "$here/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
if [ "$(id -u)" != 0 ]; then
    echo "SKIPPED: killing passes on loop devices needs root"
    exit 0
fi
for tool in losetup mkfs.xfs xfs_repair mkfs.ext4 e2fsck mkfs.btrfs btrfs python3; do
    command -v "$tool" >/dev/null || {
        echo "SKIPPED: killing passes needs $tool (make test as root installs it)"
        exit 0
    }
done
if [ $# -gt 0 ]; then
    trimtab=$(realpath "$1")
else
    cd "$here/../.." && cargo build --locked -q -p trimtab || exit 2
    trimtab=$(realpath "${CARGO_TARGET_DIR:-target}/debug/trimtab")
fi
count=${COUNT:-50}
seed=${SEED:-$(date +%s)}
IMAGE_MIB=416 FILL_MIB=300 RATE=48MiB/s REQUEST_BYTES=1048576
# The eighth hits the resumed pass as well.
VICTIMS=(parent child guardian parent+guardian all TERM INT twice)
TYPES=(xfs ext4 btrfs)
# Nothing here is a limit on how fast it has to be: it is a limit on how long a hang is watched.
PATIENCE_S=120
top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-kill.XXXXXX")
echo "== kill: $count runs, SEED=$seed"

# --- one filesystem type: everything below runs in a process of its own -------------------------
fail() {
    echo "FAILED: run $run ($type, $victim, $moment): $*" >&2
    failures=$((failures + 1))
}

# Bytes written to the device so far: field 7 of its stat, in sectors of 512 bytes.
written_bytes() {
    local fields
    read -ra fields <"/sys/block/${loop#/dev/}/stat"
    echo $((fields[6] * 512))
}

limit_file() { echo "/sys/block/${loop#/dev/}/queue/discard_max_bytes"; }

attach() { # IMAGE: sets $loop
    loop=$(losetup --find --show "$1") || exit 2
}

detach() {
    [ -z "${loop:-}" ] || losetup -d "$loop"
    loop=
}

clean_up() {
    touch "$work"/*/ledger.stop 2>/dev/null
    [ -z "${pass:-}" ] || kill -9 "$pass" 2>/dev/null
    local dir
    for dir in "$work"/*/mnt "$work/mnt"; do
        ! mountpoint -q "$dir" 2>/dev/null || umount "$dir" || umount -l "$dir"
    done
    detach
}

# Each argument with a blank behind it; nothing for a process that is gone or a zombie.
command_line() { { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null; }

# Processes that belong to a run: their command lines name its directory, or they are children of
# the pass.
left_running() {
    local process arguments
    for process in /proc/[0-9]*; do
        arguments=$(command_line "${process#/proc/}")
        case $arguments in
        *" trim "*"--state $state "* | *" __guardian $state "*) echo "${process#/proc/}" ;;
        esac
    done
    for process in ${children:-}; do
        case $(command_line "$process") in
        *" __fitrim "*) echo "$process" ;;
        esac
    done | sort -u
}

find_helper() { # NAME: its process id, if there is one
    local process
    for process in $(pgrep -P "$pass") $(pgrep -f -- " $1 $state"); do
        case $(command_line "$process") in
        *" $1 "*)
            echo "$process"
            return
            ;;
        esac
    done
}

# Waits for a helper to appear; nothing if the pass ends before.
await_helper() {
    local found
    while kill -0 "$pass" 2>/dev/null; do
        found=$(find_helper "$1")
        [ -z "$found" ] || { echo "$found"; return; }
        sleep 0.02
    done
}

await() { # WHAT COMMAND...: until it succeeds
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
limit_is_back() { [ "$(cat "$(limit_file)")" = "$limit" ]; }

start_pass() { # OUTPUT: sets $pass
    # A shell's background ignores SIGINT, and a pass leaves ignored signals ignored.
    env --default-signal=INT,QUIT,TERM,HUP "$trimtab" trim "$mnt" --now --state "$state" \
        --rate "$RATE" --accept-stall 60s --max-request "$REQUEST_BYTES" --max-latency 5s --format json \
        >"$1.jsonl" 2>"$1.err" &
    pass=$!
}

# The moment: at any time from the start on, or, mostly, while steps are made.
await_moment() { # OUTPUT
    if [ "$moment" = any ]; then
        sleep "$((RANDOM % 9)).$((RANDOM % 10))"
    else
        while kill -0 "$pass" 2>/dev/null && ! grep -qs '"type":"begins"' "$1.jsonl"; do sleep 0.05; done
        sleep "$((1 + RANDOM % 4)).$((RANDOM % 100))"
    fi
}

# Waits for the end of the pass; sets $status.
await_end() {
    local tries=0
    while kill -0 "$pass" 2>/dev/null; do
        tries=$((tries + 1))
        if [ $tries -gt $((PATIENCE_S * 10)) ]; then
            fail "the pass still runs after $PATIENCE_S s"
            kill -9 "$pass"
            break
        fi
        sleep 0.1
    done
    wait "$pass"
    status=$?
    pass=
}

# Hits the pass; sets $status, and $was_hit if it was under way.
strike() { # VICTIM OUTPUT
    local killed=()
    was_hit=
    status=
    children=$(pgrep -P "$pass")
    case $1 in
    child) mapfile -t killed < <(await_helper __fitrim) ;;
    guardian | parent+guardian) mapfile -t killed < <(await_helper __guardian) ;;
    all) mapfile -t killed < <(await_helper __guardian; find_helper __fitrim) ;;
    esac
    case $1 in
    child | guardian) ;;
    *) killed+=("$pass") ;;
    esac
    lowered=$(cat "$(limit_file)")
    # Whoever waited for a helper in vain has met the end of the pass.
    if [ ${#killed[@]} -gt 0 ] && kill -0 "$pass" 2>/dev/null; then
        was_hit=yes
        case $1 in
        TERM | INT) kill "-$1" "$pass" ;;
        *) kill -9 "${killed[@]}" 2>/dev/null ;;
        esac
    fi
    await_end
    # It may have been complete already when the blow fell.
    if [ "$("$here/events.py" "$2.jsonl" ended outcome 2>/dev/null)" = complete ] && [ "$1" != guardian ]; then was_hit=; fi
    if [ -n "$was_hit" ] && [ "$lowered" = "$REQUEST_BYTES" ]; then saw_lowered=$((saw_lowered + 1)); fi
    "$here/events.py" "$2.jsonl" || fail "the output of the pass is no stream of events"
}

# What must hold after a blow, before anything else is started.
aftermath() { # VICTIM OUTPUT
    await "processes are left" nothing_runs
    local outcome
    outcome=$("$here/events.py" "$2.jsonl" ended outcome)
    if [ -z "$was_hit" ]; then
        [ "$status" = 0 ] || fail "nobody hit it, and it ended with $status: $(tail -n 3 "$2.err")"
    else
        case $1 in
        parent | parent+guardian | all | twice) [ "$status" = 137 ] || fail "exit $status after SIGKILL" ;;
        TERM) [ "$status" = 143 ] && [ "$outcome" = signal ] || fail "exit $status, outcome '$outcome' after SIGTERM: $(tail -n 3 "$2.err")" ;;
        INT) [ "$status" = 130 ] && [ "$outcome" = signal ] || fail "exit $status, outcome '$outcome' after SIGINT: $(tail -n 3 "$2.err")" ;;
        child)
            [ "$status" = 2 ] && [ "$("$here/events.py" "$2.jsonl" ended resumable)" = True ] ||
                fail "exit $status, outcome '$outcome' after the child was killed"
            "$here/events.py" "$2.jsonl" ended reason | grep -q SIGKILL || fail "it does not say that its child was killed"
            ;;
        guardian) [ "$status" = 0 ] && [ "$outcome" = complete ] || fail "exit $status, outcome '$outcome' after the guardian was killed: $(tail -n 3 "$2.err")" ;;
        esac
    fi
    case $1 in
    parent+guardian | all)
        if [ -n "$was_hit" ] && [ $((RANDOM % 2)) = 0 ]; then
            "$trimtab" trim --restore-limits --state "$state" >"$2.restore" 2>&1 || fail "--restore-limits: $(cat "$2.restore")"
            limit_is_back || fail "discard_max_bytes is $(cat "$(limit_file)") after --restore-limits, it was $limit"
        fi
        ;;
    *)
        await "discard_max_bytes is $(cat "$(limit_file)") and was $limit" limit_is_back
        ;;
    esac
    # What the checkpoint says is what the next start must say.
    resumes=
    checkpoint=$(echo "$state"/pass-*.json)
    if [ -e "$checkpoint" ]; then
        resumes=$(python3 -c '
import json, sys
checkpoint = json.load(open(sys.argv[1]))
assert checkpoint["schema"] == "trimtab.trim-checkpoint/1", checkpoint
print(checkpoint["visited_bytes"])' "$checkpoint") || fail "the checkpoint cannot be read"
        "$trimtab" trim --status --state "$state" >"$2.status" 2>&1 || fail "--status: $(cat "$2.status")"
        grep -qF "$mnt" "$2.status" || fail "--status does not name the mount: $(cat "$2.status")"
        [ "$status" != 0 ] || fail "a complete pass left a checkpoint"
    fi
}

one_run() {
    local dir=$work/$run attempts
    mnt=$dir/mnt state=$dir/state
    mkdir -p "$dir"
    cp --sparse=never "$work/master" "$dir/image"
    attach "$dir/image"
    mount_filesystem "$type" "$loop" "$mnt" || { fail "mount"; return; }
    # An administrator's own limit, which is neither the drive's nor the pass's.
    echo $((1 << 30)) >"$(limit_file)"
    limit=$(cat "$(limit_file)")
    local writer='' written_before
    written_before=$(written_bytes)
    if [ "$writes" = yes ]; then
        "$here/writer.sh" run "$mnt/written" "$dir/ledger" &
        writer=$!
    fi
    attempts=1
    [ "$victim" != twice ] || attempts=2
    resumes=
    local attempt number
    for ((attempt = 1; attempt <= attempts; attempt++)); do
        number=$dir/pass$attempt
        start_pass "$number"
        await_moment "$number"
        strike "$victim" "$number"
        if [ "$attempt" -gt 1 ] && [ "${resumes:-0}" -gt 0 ] && grep -q '"type":"begins"' "$number.jsonl"; then
            [ "$("$here/events.py" "$number.jsonl" begins resumed_bytes)" = "$resumes" ] || fail "the second pass did not go on from $resumes"
        fi
        aftermath "$victim" "$number"
    done
    [ -z "$was_hit" ] || hits=$((hits + 1))
    # It goes on.
    start_pass "$dir/last"
    await_end
    [ "$status" = 0 ] || fail "the pass that should complete ended with $status: $(tail -n 5 "$dir/last.err"); $(tail -n 1 "$dir/last.jsonl")"
    "$here/events.py" "$dir/last.jsonl" || fail "the output of the last pass is no stream of events"
    local resumed
    resumed=$("$here/events.py" "$dir/last.jsonl" begins resumed_bytes)
    [ "$resumed" = "${resumes:-0}" ] || fail "it went on from '$resumed', the checkpoint said '${resumes:-0}'"
    [ "${resumed:-0}" = 0 ] || resumptions=$((resumptions + 1))
    await "processes are left at the end" nothing_runs
    limit_is_back || fail "discard_max_bytes is $(cat "$(limit_file)") at the end, it was $limit"
    [ -z "$(ls "$state"/pass-*.json "$state"/limits/* 2>/dev/null)" ] || fail "left in the state directory: $(find "$state" -type f)"
    if [ -n "$writer" ]; then
        touch "$dir/ledger.stop"
        wait "$writer"
        "$here/writer.sh" verify "$mnt/written" "$dir/ledger" || fail "what was written during the pass is not what was written"
    fi
    (cd "$mnt" && sha256sum --quiet -c "$work/sums") >"$dir/sums" 2>&1 || fail "files have changed: $(head -n 3 "$dir/sums")"
    # While a store writes, Btrfs keeps the extents that its allocator is working with in clusters,
    # which FITRIM does not see (btrfs_find_space_cluster, fs/btrfs/free-space-cache.c): of metadata
    # that may be all of its free space.
    local clusters=0
    if [ "$type" = btrfs ]; then
        clusters=$(btrfs filesystem df -b "$mnt" | awk -F'[=, ]+' '/^Metadata/ { print 2 * $4 }')
    fi
    umount "$mnt" || { fail "umount: busy"; umount -l "$mnt"; }
    check_filesystem "$type" "$loop" >"$dir/fsck" 2>&1 || fail "fsck: $(tail -n 5 "$dir/fsck")"
    # Once more, from what is really there.
    mount_filesystem "$type" "$loop" "$mnt" || fail "it cannot be mounted again"
    (cd "$mnt" && sha256sum --quiet -c "$work/sums") >"$dir/sums" 2>&1 || fail "files have changed on disk: $(head -n 3 "$dir/sums")"
    [ -z "$writer" ] || "$here/writer.sh" verify "$mnt/written" "$dir/ledger" || fail "what was written is not on disk"
    umount "$mnt" || fail "umount at the end"
    local stored allowed written=0
    # What the store deleted behind the cursor is left to the next pass.
    if [ -n "$writer" ]; then written=$(($(written_bytes) - written_before + clusters)); fi
    detach
    stored=$(stored_bytes "$dir/image")
    allowed=$((reference + (full - reference) / 100 + written))
    [ "$stored" -le "$allowed" ] || fail "the file stores $stored bytes, after one pass it was $reference (full: $full, written: $written)"
    if [ -z "${KEEP:-}" ] || [ $failures = "$failures_before" ]; then rm -rf "$dir"; fi
}

# One undisturbed pass tells what the others have to reach.
prepare() {
    run=reference victim=none moment=none
    mkdir -p "$work/reference"
    fallocate -l ${IMAGE_MIB}M "$work/master"
    attach "$work/master"
    make_filesystem "$type" "$loop" || exit 2
    mount_filesystem "$type" "$loop" "$work/mnt" || exit 2
    "$here/fill.py" "$work/mnt" "$seed" $FILL_MIB >"$work/sums" || exit 2
    umount "$work/mnt"
    detach
    cp --sparse=never "$work/master" "$work/reference/image"
    attach "$work/reference/image"
    mnt=$work/reference/mnt state=$work/reference/state
    mount_filesystem "$type" "$loop" "$mnt" || exit 2
    local free_bytes
    free_bytes=$(($(stat -f -c '%f * %S' "$mnt")))
    full=$(stored_bytes "$work/reference/image")
    timeout -k 5 "$PATIENCE_S" "$trimtab" trim "$mnt" --now --state "$state" --accept-stall 60s --max-latency 5s --format json >"$work/reference/pass.jsonl" 2>"$work/reference/pass.err" || {
        fail "an undisturbed pass ended with $?: $(tail -n 5 "$work/reference/pass.err"); $(tail -n 1 "$work/reference/pass.jsonl")"
        exit 1
    }
    umount "$mnt"
    detach
    reference=$(stored_bytes "$work/reference/image")
    # Else the comparison would say nothing.
    if [ $((full - reference)) -lt $((free_bytes * 9 / 10)) ]; then
        fail "an undisturbed pass freed $((full - reference)) of $free_bytes bytes"
        exit 1
    fi
    rm -rf "$work/reference"
}

job() { # TYPE FIRST_INDEX
    type=$1 failures=0 hits=0 saw_lowered=0 resumptions=0 runs=0
    work=$top/$type loop='' pass='' children=''
    mkdir -p "$work"
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    prepare
    for ((index = $2; index < count; index += ${#TYPES[@]})); do
        RANDOM=$(((seed + index * 7919) % 32768))
        run=$((index + 1))
        victim=${VICTIMS[(index + seed) % ${#VICTIMS[@]}]}
        writes=no
        [ $(((index + index / ${#VICTIMS[@]}) % 2)) = 0 ] || writes=yes
        moment=steps
        [ $((RANDOM % 5)) != 0 ] || moment=any
        failures_before=$failures
        one_run
        runs=$((runs + 1))
        printf 'run %3d: %-5s %-15s hit %-8s writer %-3s resumed %9s  %s\n' "$run" "$type" "$victim" \
            "$([ -n "$was_hit" ] && echo "$moment" || echo "too late")" "$writes" "${resumes:-new}" \
            "$([ $failures = $failures_before ] && echo ok || echo FAILED)"
    done
    echo "$runs $hits $saw_lowered $resumptions $failures" >"$top/$type.result"
    [ $failures = 0 ]
}

jobs_started=()
for index in "${!TYPES[@]}"; do
    # The shell has its own word about processes that were killed.
    job "${TYPES[index]}" "$index" 2> >(grep -v ': *[0-9]* Killed ' >&2) &
    jobs_started+=($!)
done
trap 'kill "${jobs_started[@]}" 2>/dev/null; wait; exit 130' INT TERM
verdict=0
for process in "${jobs_started[@]}"; do wait "$process" || verdict=1; done
read -r runs hits lowered resumptions failures < <(cat "$top"/*.result 2>/dev/null | awk '{ for (i = 1; i <= 5; i++) sum[i] += $i } END { print sum[1] + 0, sum[2] + 0, sum[3] + 0, sum[4] + 0, sum[5] + 0 }')
echo "kill: $runs runs, $hits hit a pass under way, $lowered of the blows fell while the limit was lowered, $resumptions went on from a checkpoint; $failures failures (SEED=$seed)"
[ "$runs" = "$count" ] || { echo "FAILED: $count runs were wanted"; verdict=1; }
# Blows that all miss prove nothing.
if [ $((hits * 2)) -lt "$runs" ] || [ $((lowered * 2)) -lt "$runs" ] || [ "$resumptions" = 0 ]; then
    echo "FAILED: too few blows fell in the middle of a pass"
    verdict=1
fi
[ $verdict = 0 ] || [ -n "${KEEP:-}" ] || echo "KEEP=1 SEED=$seed keeps the directories of failed runs"
if [ $verdict != 0 ] && [ -n "${KEEP:-}" ]; then echo "kept: $top"; else rm -rf "$top"; fi
exit $verdict
