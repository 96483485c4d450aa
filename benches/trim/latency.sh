#!/usr/bin/env bash
# Latency: how long other processes' reads take while a filesystem is trimmed, on three disk models
# (model.py), in a guest. Each contender gets its own drive with the same fragmented filesystem: random
# reads of 4 KiB, 100 per second, first for ten seconds without a trim, then from the first discard to the
# last; trimtab's measurement of the quiet level before the trim does not count. trimtab gets
# --deadline 2m: if a discard takes 50 ms, keeping the budget takes longer.
#
#   benches/trim/latency.sh            the table
#   MODELS="fifo fixed parallel" FILESYSTEMS="xfs ext4" benches/trim/latency.sh
#
# Needs root and QEMU. TRIMTAB names the binary. A model is not a real drive: the figures are only good for
# comparison.
set -euo pipefail
. "$(dirname "$0")/common.sh"
failed=0

figures() { # TIMES FROM TO -> mean p99 max
    local all
    read -ra all < <("$here/times.py" "$1" read "$2" "$3")
    echo "${all[@]:1}"
}

on_model() { # FS MODEL
    local index=0 out=$work/out arguments=() contender status began ended from to quiet_from quiet_to quiet seen verdict how
    mkdir -p "$work/share/disk" "$out"
    rm -rf "${out:?}"/* "$work"/log.*
    for contender in fstrim trimtab; do
        copy_of "$1" "$work/share/disk/$index.img"
        MODEL_LOG=$work/log.$contender serve "$work/share/disk/$index.img" "$2"
        nbd_drive "$socket" $index
        index=$((index + 1))
    done
    GUEST_TIMEOUT_S=${GUEST_TIMEOUT_S:-1800} guest "$here/guest-latency.sh" "$out" "${arguments[@]}"
    for contender in fstrim trimtab; do
        read -r _ status quiet_from quiet_to began ended discarded < <(grep "^$contender " "$out/phases")
        # The times at which the discard counter changed, sampled every 0.2 s; if none, the whole time.
        read -r from to < <(awk -v from="$began" -v to="$ended" '
            NR > 1 && $2 != last { if (!first) first = before; until = $1 }
            { last = $2; before = $1 }
            END { print first ? first : from, first ? until : to }' "$out/discards.$contender")
        read -ra quiet < <(figures "$out/times.$contender" "$quiet_from" "$quiet_to")
        read -ra seen < <(figures "$out/times.$contender" "$from" "$to")
        if [ $contender = fstrim ]; then
            verdict=-
        elif [ "$status" -gt 1 ]; then
            verdict=failed
            failed=1
        else
            verdict=$(awk -v quiet_mean="${quiet[0]}" -v quiet_p99="${quiet[1]}" -v mean="${seen[0]}" -v p99="${seen[1]}" \
                'BEGIN { print (mean <= 2 * quiet_mean ? "mean kept" : "mean over") ", " (p99 <= 3 * quiet_p99 ? "p99 kept" : "p99 over") }')
            if [ "$status" = 1 ]; then
                how='stopped itself'
                grep -q 'deadline has passed' "$out/audit.$contender" && how='to go on'
                verdict="$how; $verdict"
            fi
        fi
        printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$2" "$1" "$contender" "${quiet[0]}" "${seen[0]}" \
            "${quiet[1]}" "${seen[1]}" "${quiet[2]}" "${seen[2]}" "$(seconds "$from" "$to")" "$(seconds "$began" "$ended")" "$discarded" "$status" "$verdict"
        [ -s "$out/said.$contender" ] && sed "s/^/bench-trim: $2, $1: $contender: /" "$out/said.$contender" >&2
        [ -n "${KEEP:-}" ] && for file in "$work/log" "$out/times"; do cp "$file.$contender" "$KEEP/${file##*/}.$2.$1.$contender"; done
    done
    for child in "${children[@]}"; do kill "$child"; wait "$child" || true; done
    children=()
    rm -rf "$work/share"
}

for fs in ${FILESYSTEMS:-xfs ext4}; do base_image "$fs" "$fs" 2G 4096 256 2048; done
cat <<HEAD
| model | filesystem | trim | mean ms without | mean ms during | p99 without | p99 during | max without | max during | discarding s | took s | discarded MiB | exit | |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
HEAD
for model in ${MODELS:-fifo fixed parallel}; do
    for fs in ${FILESYSTEMS:-xfs ext4}; do on_model "$fs" "$model"; done
done
exit $failed
