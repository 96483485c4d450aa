# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are shared with the scripts that source this
# Common setup of kill.sh and power.sh, which set PREFIX and DEFAULT_COUNT first: arguments, binary, work
# directory and failure reporting.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lab/needs.sh
. "$here/../needs.sh"
# shellcheck source=lab/filesystems.sh
. "$here/../filesystems.sh"
TYPES=(xfs ext4 btrfs)
count=${COUNT:-$DEFAULT_COUNT}
seed=${SEED:-$(date +%s)}
failures=0

# Sets $trimtab and $top. Nothing is skipped after this point.
begin() { # [BINARY]
    if [ $# -gt 0 ]; then
        trimtab=$(realpath "$1")
    else
        cd "$here/../.." && lab/build.sh || exit 2
        trimtab=$(realpath "${CARGO_TARGET_DIR:-target}/debug/trimtab")
    fi
    top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-$PREFIX.XXXXXX")
    echo "== $PREFIX: $count runs, SEED=$seed"
}

# The same random numbers for the same seed and run, whatever was drawn before.
seed_run() { RANDOM=$(((seed + $1 * 7919) % 32768)); }

fail() {
    echo "FAILED: run $run ($type, ${victim:+$victim, }$moment): $*" >&2
    failures=$((failures + 1))
}

# Prints fields KEY... of the last event of a TYPE in the event stream of a pass.
event() { "$here/events.py" "$@"; }
check_stream() { # OUTPUT.jsonl
    event "$1" || fail "$1 is not an event stream"
}

# Progress of a pass according to its checkpoint; prints nothing if there is none. Fails if it cannot be
# read.
visited_bytes() { # STATE_DIR
    local checkpoint
    checkpoint=$(echo "$1"/pass-*.json)
    [ -e "$checkpoint" ] || return 0
    python3 -c '
import json, sys
checkpoint = json.load(open(sys.argv[1]))
assert checkpoint["schema"] == "trimtab.trim-checkpoint/1", checkpoint
print(checkpoint["visited_bytes"])' "$checkpoint"
}
