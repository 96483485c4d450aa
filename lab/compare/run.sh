#!/usr/bin/env bash
# Compares two builds of trimtab: does the new one still give the same results? Runs both on the same
# inputs (recorded hosts and servers, the articles' cases, generated time series, clusters and drives) and
# compares every field of their JSON output. Wording is counted separately (difference.py lists these
# fields). Prints a table, and each differing fact with its path.
#
#   lab/compare/run.sh OLD_BINARY NEW_BINARY
#   lab/compare/run.sh OLD NEW --words             how the wording differs, too
#   lab/compare/run.sh OLD NEW --only explain,ssd  some kinds
#   lab/compare/run.sh OLD NEW --seed 2 --series 1000 --clusters 1000
#
# Exit codes: 0 the same facts everywhere, 1 facts differ, 2 could not run. Inputs are made in a temporary
# directory; KEEP=1 keeps it. SAWTOOTH: a built example `sawtooth_2016` of crates/explain, which makes the
# articles' curve (otherwise cargo builds it).
set -euo pipefail
[ $# -ge 2 ] || {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
}
old=$(realpath -e "$1")
new=$(realpath -e "$2")
shift 2
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/trimtab-compare.XXXXXX")
if [ -n "${KEEP:-}" ]; then
    echo "inputs: $work" >&2
else
    trap 'rm -rf "$work"' EXIT
fi

sawtooth=${SAWTOOTH:-}
if [ -z "$sawtooth" ]; then
    cargo build --locked -q -p explain --example sawtooth_2016
    sawtooth=${CARGO_TARGET_DIR:-target}/debug/examples/sawtooth_2016
fi
"$sawtooth" curve >"$work/sawtooth.csv"
"$sawtooth" trims >"$work/trims.csv"

python3 lab/compare/compare.py "$old" "$new" "$work" "$@"
