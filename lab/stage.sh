#!/usr/bin/env bash
# Runs one stage of `make test` and prints how long it took against its budget. A stage over its
# budget is said, not failed: machines differ.
#
#   lab/stage.sh NAME BUDGET_S COMMAND...
#   lab/stage.sh --summary
set -euo pipefail
log=${TMPDIR:-/tmp}/trimtab-stages.$(id -u).$(pwd | cksum | cut -d' ' -f1)
if [ "${1:-}" = --summary ]; then
    echo
    echo "stage            time    budget"
    while read -r name seconds budget; do
        over=
        [ "$seconds" -gt "$budget" ] && over="  over budget"
        printf '%-14s %4d s   %4d s%s\n' "$name" "$seconds" "$budget" "$over"
    done <"$log"
    [ ! -s "$log.skips" ] || sed 's/^/SKIPPED: /' "$log.skips"
    rm -f "$log" "$log.skips"
    exit 0
fi
name=$1 budget=$2
shift 2
# A test that cannot be run here adds a line to this file, and the summary repeats it.
export TRIMTAB_SKIPS=$log.skips
[ "$name" = lint ] && : >"$log" && : >"$TRIMTAB_SKIPS"
echo "== $name: $*"
start=$SECONDS
"$@"
echo "$name $((SECONDS - start)) $budget" >>"$log"
echo "== $name: $((SECONDS - start)) s of $budget s"
