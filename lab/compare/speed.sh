#!/usr/bin/env bash
# Two builds of trimtab beside each other: is the new one as fast? Calls them in turn, so that what else
# the machine does meets both, and prints the medians of the times and their ratio.
#
#   lab/compare/speed.sh OLD_BINARY NEW_BINARY [ROUNDS]      11 rounds
#   PAGES=1048576 lab/compare/speed.sh OLD NEW 3                  a smaller drive
#
# Times are of whole processes, in user and system time of one call. The shard scheduler is called
# twice: `reroute` on 25,000 started shards reads a state and decides once (cold); `what-if` on
# them makes round after round on the same cluster (warm).
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
python3 lab/compare/speed.py "$old" "$new" "$work" "$rounds" "${PAGES:-16777216}"
