#!/usr/bin/env bash
# Real trims of a loop device that it makes, under flushed writes, in a history as MongoDB keeps it, which has no discards;
# and the same load without trims. `trimtab explain` has to tell them apart. Twenty seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
[ "$(id -u)" = 0 ] || skip "histories of real trims need root"
need_tools "histories of real trims" losetup mkfs.xfs fstrim python3
bin=${CARGO_TARGET_DIR:-target}/debug
trimtab=${TRIMTAB:-$bin/trimtab}
tool=lab/explain-cases/ftdc.py
. lab/explain-cases/loop.sh
# A drive takes its time; the fewer bytes a request has, the more of them there are. XFS forgets what it trimmed before.
make_loop 1G xfs $((1 << 20))
name=$(basename "$device")
start_load 1 0.02

# Records, and checks what is made of it.
try() { # NO|YES SECONDS
    local history=$work/$1 mount=()
    [ "$1" = NO ] || mount=("$work/mnt")
    "$tool" record "$name" "$2" "$history" "${mount[@]}"
    "$bin/examples/read" ftdc "$history" 0 'discard or flush time*' >"$history.samples" 2>/dev/null
    "$trimtab" explain "$history" --jobs none --exit-zero --format json --step 1s >"$history.json"
    "$tool" check "$history" "$history.samples" "$history.json" "$1" >"$work/said"
}
try NO 8 || { cat "$work/said" && exit 1; }
cat "$work/said"
# Trims may be told in the first recording or, where this machine disturbed the device meanwhile, in another one.
try YES 14 || try YES 14 || try YES 14 || { cat "$work/said" && exit 1; }
cat "$work/said"
