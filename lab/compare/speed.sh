#!/usr/bin/env bash
# Compares the speed of two builds of trimtab. Runs them alternately, so that other load on the machine
# affects both, and prints the median times and their ratio.
#
#   lab/compare/speed.sh OLD_BINARY NEW_BINARY [ROUNDS]      11 rounds
#   PAGES=1048576 lab/compare/speed.sh OLD NEW 3                  a smaller drive
#
# Times are user plus system time of the whole process. The shard allocator is timed twice: `reroute` on
# 25,000 started shards reads a state and decides once (cold), `what-if` runs many rounds on the same
# cluster (warm).
set -euo pipefail
[ $# -ge 2 ] || {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
}
old=$(realpath -e "$1")
new=$(realpath -e "$2")
rounds=${3:-11}
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/trimtab-speed.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 lab/compare/speed.py "$old" "$new" "$work" "$rounds" "${PAGES:-4194304}"
