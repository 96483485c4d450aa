# shellcheck shell=bash
# Runs in a guest: disturbs passes while they make steps. Stops their processes (SIGSTOP), fills the disk of
# their state, sets the clock, suspends the drive. Drive: nvme0n1, below a linear mapping.
# shellcheck disable=SC2317 # functions are called by name
set -uo pipefail
# shellcheck source=lab/cases/lib.sh
. /lab/lib.sh
for module in xfs dm-mod; do modprobe $module; done
dmsetup create drive --table "0 $(blockdev --getsz /dev/nvme0n1) linear /dev/nvme0n1 0"
dmsetup mknodes
fill disturbed xfs /dev/mapper/drive 0 || exit 10
# Not a performance limit: the time after which a pass counts as hung.
PATIENCE_S=300

# Not SECONDS, which follows the wall clock.
uptime_s() { cut -d. -f1 /proc/uptime; }
set_clock() { date -s "@$((EPOCHSECONDS + $1))" >/dev/null; } # SECONDS_FORWARD
utc() { TZ=UTC printf '%(%H:%M)T' $((EPOCHSECONDS + $1)); }
stream() { echo "$out/$1.trim.json"; }
child_of_pass() {
    local directory
    for directory in /proc/[0-9]*; do
        if [ "$(cat "$directory/comm" 2>/dev/null)" = trimtab-fitrim ] && grep -qs "^PPid:[[:space:]]*$pass$" "$directory/status"; then
            echo "${directory#/proc/}"
        fi
    done
}
until_seen() { # LABEL PATTERN
    local from
    from=$(uptime_s)
    while ! grep -qs "$2" "$(stream "$1")" && kill -0 "$pass" 2>/dev/null; do
        [ $(($(uptime_s) - from)) -lt $PATIENCE_S ] || return 1
        sleep 0.1
    done
}
start() { # LABEL ARGUMENT...
    local label=$1 consent=--now
    shift
    # Either of them.
    if [[ " $* " == *" --window "* ]]; then consent=; fi
    $trimtab trim "$mount" ${consent:+"$consent"} --state "$state" --accept-stall 1h --max-latency 5s --rate 40MiB/s --format json "$@" \
        >"$(stream "$label")" 2>"$out/$label.trim.err" &
    pass=$!
}
# Waits for the end of the pass; records its exit code, outcome and reason.
finish() { # LABEL
    local from status=0
    from=$(uptime_s)
    while kill -0 "$pass" 2>/dev/null; do
        if [ $(($(uptime_s) - from)) -gt $PATIENCE_S ]; then
            record "$1" hung yes
            kill -9 "$pass"
            break
        fi
        sleep 0.2
    done
    wait "$pass" || status=$?
    record "$1" exit $status
}
# Disturbs a pass once it makes steps, and lets a second one finish what it left.
#   disturb LABEL FUNCTION [ARGUMENT...]
disturb() {
    local label=$1 how=$2
    shift 2
    say "$label"
    state=/run/state.$label
    start "$label" --restart "$@"
    until_seen "$label" '"type":"step"'
    "$how"
    finish "$label"
    "after_$how" 2>/dev/null || true
    start "$label-again"
    finish "$label-again"
}

stop_child() { kill -STOP "$(child_of_pass)"; }
stop_child_briefly() {
    child=$(child_of_pass)
    kill -STOP "$child"
    sleep 3
    kill -CONT "$child"
}
stop_pass() {
    kill -STOP "$pass"
    sleep 20
    kill -CONT "$pass"
}
stop_all() {
    local all
    mapfile -t all < <(echo "$pass"; child_of_pass)
    kill -STOP "${all[@]}"
    sleep 20
    # The parent first: it must not take its child for one that nobody continues.
    kill -CONT "$pass"
    sleep 2
    kill -CONT "${all[@]:1}"
}
disturb stop-child stop_child
disturb stop-child-briefly stop_child_briefly
disturb stop-pass stop_pass
disturb stop-all stop_all

mkdir -p /run/state.full-disk
mount -t tmpfs -o size=256k,mode=700 tmpfs /run/state.full-disk
fill_disk() {
    # Checkpoints are written every two seconds.
    sleep 6
    dd if=/dev/zero of=/run/state.full-disk/full bs=4k 2>/dev/null
}
after_fill_disk() {
    $trimtab trim --status --state "$state" >"$out/full.status" 2>&1
    record full-disk status "$?"
    rm /run/state.full-disk/full
}
disturb full-disk fill_disk

forward_and_back() { # the window closes, and is open again
    set_clock 10800
    until_seen window-jumps 'outside of --window'
    # The checkpoint says so about a second later.
    sleep 4
    $trimtab trim --status --state "$state" >"$out/window.status" 2>&1
    record window-jumps waits "$(grep -c 'outside of --window' "$out/window.status")"
    set_clock -10800
}
disturb window-jumps forward_and_back --tz UTC --window "$(utc -3600)-$(utc 7200)"
days() {
    set_clock $((5 * 86400))
    sleep 2
    set_clock $((-10 * 86400))
    sleep 2
    set_clock $((5 * 86400))
}
disturb deadline-jumps days --deadline 250s
state=/run/state.opens
say "a window that the clock jumps into"
start opens --restart --tz UTC --window "$(utc 7200)-$(utc 14400)"
until_seen opens 'outside of --window'
set_clock 7300
finish opens
record opens began "$(grep -c '"type":"begins"' "$(stream opens)")"
say "a pass resumed at an earlier time"
state=/run/state.resumed
start resumed --restart
until_seen resumed '"type":"step"'
sleep 2
kill -TERM "$pass"
finish resumed
set_clock $((-3 * 86400))
start resumed-earlier
finish resumed-earlier
set_clock $((3 * 86400))

say "a drive that does not answer"
echo 3 >/proc/sys/vm/drop_caches
dmsetup suspend --nolockfs --noflush drive
bounded() { # KEY COMMAND...: whether it ends by itself
    local key=$1 from status=0
    shift
    "$@" >"$out/hung.$key" 2>&1 &
    pass=$!
    from=$(uptime_s)
    while kill -0 $pass 2>/dev/null; do
        if [ $(($(uptime_s) - from)) -gt 60 ]; then
            record hung-drive "$key" never
            kill -9 $pass
            return
        fi
        sleep 1
    done
    wait $pass || status=$?
    record hung-drive "$key" $status
}
bounded check $trimtab check --exit-zero
bounded status $trimtab trim --status --state "$state"
dmsetup resume drive
start after-hung --restart
finish after-hung
empty
exit 0
