#!/usr/bin/env bash
# Runs the stages of `make test` and prints how long each took compared with its budget. A stage that
# exceeds its budget is reported but does not fail, since machines differ.
#
#   lab/stage.sh --begin
#   lab/stage.sh NAME BUDGET_S                      runs `make NAME`
#   lab/stage.sh --beside NAME:BUDGET_S... -- NAME:BUDGET_S... [-- ...]
#   lab/stage.sh --summary
#
# --beside runs lists of stages concurrently, each in order, and prints the output of a stage as a whole
# when it has ended. A list stops at its first failure while the others continue to their ends; the exit
# code is that of a failure.
#
# CPU seconds include a stage's processes and the children they waited for, and are more meaningful than
# elapsed time on a busy machine. They do not include a server that a test leaves running until it stops
# it.
set -euo pipefail
log=${TMPDIR:-/tmp}/trimtab-stages.$(id -u).$(pwd | cksum | cut -d' ' -f1)
# A test that cannot be run adds a line to this file, which the summary repeats.
export TRIMTAB_SKIPS=$log.skips

run_stage() { # NAME BUDGET_S
    local status=0 start=$SECONDS user system
    echo "== $1: begins"
    # `time` writes to standard error: the stage keeps the original one.
    { TIMEFORMAT='%U %S'; time make --no-print-directory "$1" 2>&3; } 3>&2 2>"$log.$1.times" || status=$?
    # Messages of make or the shell itself precede the last line.
    read -r user system < <(tail -n 1 "$log.$1.times")
    rm -f "$log.$1.times"
    if [ "$status" != 0 ]; then
        echo "== $1: FAILED with $status after $((SECONDS - start)) s"
        return "$status"
    fi
    echo "$1 $((SECONDS - start)) $2 $(awk "BEGIN { printf \"%.0f\", $user + $system }")" >>"$log"
    echo "== $1: $((SECONDS - start)) s of $2 s"
}

run_list() { # NAME:BUDGET_S...
    local stage status=0
    for stage in "$@"; do
        echo "== ${stage%%:*}: begins, its output follows when it has ended" >&4
        run_stage "${stage%%:*}" "${stage#*:}" >"$log.${stage%%:*}.out" 2>&1 || status=$?
        # Print whole outputs, one after the other.
        {
            flock 9
            cat "$log.${stage%%:*}.out"
        } 9>"$log.lock" >&4
        rm -f "$log.${stage%%:*}.out"
        [ "$status" = 0 ] || return "$status"
    done
}

case ${1:-} in
--begin)
    rm -f "$log" "$log".*
    date +%s >"$log.begin"
    ;;
--beside)
    shift
    lists=() stages=()
    # Run each list in its own process group, so that it can be stopped with everything it has started;
    # otherwise background jobs of a shell would also ignore SIGINT.
    set -m
    exec 4>&1
    for stage in "$@" --; do
        if [ "$stage" != -- ]; then
            stages+=("$stage")
            continue
        fi
        run_list "${stages[@]}" </dev/null &
        lists+=($!) stages=()
    done
    trap 'for list in "${lists[@]}"; do kill -TERM -- "-$list" 2>/dev/null || true; done; wait; exit 130' INT TERM HUP
    status=0
    for list in "${lists[@]}"; do wait "$list" || status=$?; done
    exit "$status"
    ;;
--summary)
    echo
    echo "stage            time    budget     CPU"
    while read -r name seconds budget cpu; do
        over=
        [ "$seconds" -gt "$budget" ] && over="  over budget"
        printf '%-14s %4d s   %4d s  %4d s%s\n' "$name" "$seconds" "$budget" "$cpu" "$over"
    done <"$log"
    printf '%-14s %4d s           %4d s\n' "all" $(($(date +%s) - $(cat "$log.begin"))) \
        "$(awk '{ sum += $4 } END { print sum + 0 }' "$log")"
    [ ! -s "$log.skips" ] || sed 's/^/SKIPPED: /' "$log.skips"
    rm -f "$log" "$log".*
    ;;
*)
    run_stage "$1" "$2"
    ;;
esac
