#!/usr/bin/env bash
# Follows docs/paged.md, enable-trim.md, history.md and plan-shards.md line by line: each command that they show is run
# as it stands there, under a store's load and real fstrims, and has to give what the page says. A command that this
# script does not know fails it. Examples with samples/ and lab/ only have to run: what they print is checked by
# crates/trimtab/tests/it/docs.rs.
#
#   lab/explain-cases/pages.sh           all but what needs a cluster, or systemd (lab/cases/pages.sh): a minute
#   lab/explain-cases/pages.sh SERVER    what needs a cluster, with one of lab/servers/node.sh
#
# /data is a loop device, in a mount namespace of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
[ "$(id -u)" = 0 ] || skip "following the pages needs root"
need_tools "following the pages" unshare iostat losetup mkfs.xfs fstrim run-parts journalctl curl python3
[ -n "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
server=${1:-}
trimtab=$(realpath "${TRIMTAB:-${CARGO_TARGET_DIR:-target}/debug/trimtab}")
. lab/explain-cases/loop.sh
made_data='' node='' job='' command='' page='' line=''
leave() {
    [ -z "$job" ] || kill "$job" || true
    [ -z "$node" ] || lab/servers/node.sh stop "$node"
    finish
    [ -z "$made_data" ] || rmdir /data
}
trap leave EXIT

home=$work/home
mkdir -p "$home" "$work/bin"
ln -s "$PWD/samples" "$PWD/lab" "$home/"
ln -s "$trimtab" "$work/bin/trimtab"
# For a host that has no sudo.
install -m 755 /dev/stdin "$work/bin/sudo" <<<$'#!/bin/sh\nexec "$@"'
export PATH=$work/bin:$PATH TRIMTAB_STATE=$work/state

fail() { # WHAT
    echo "  FAIL $page: $command: $1"
    sed 's/^/     | /' "$work/said" "$work/err" 2>/dev/null | tail -n 40 || true
    exit 1
}
# Runs the line, or another COMMAND; its exit code has to be one of CODES.
run() { # CODES [COMMAND]
    local code=0
    (cd "$home" && bash -c "${2:-$line}") >"$work/said" 2>"$work/err" || code=$?
    [[ " $1 " == *" $code "* ]] || fail "exit code $code: ${2:-$line}"
}
says() { tr -s ' \n' ' ' <"$work/said" | grep -qE -- "$1" || fail "it does not say: $1"; }
lacks() { ! tr -s ' \n' ' ' <"$work/said" | grep -qE -- "$1" || fail "it says: $1"; }
discarded_bytes() { awk '{ printf "%.0f\n", $14 * 512 }' "/sys/block/$name/stat"; }
found_on_data() { # CHECK_ARGUMENT...
    (cd "$home" && trimtab check --exit-zero --format json "$@") | python3 -c '
import json, sys
print(*sorted(one["rule"] for one in json.load(sys.stdin)["result"]["findings"] if one["mount_point"] == "/data"))'
}

# An fstrim as cron starts it. It takes a while, because the device takes few bytes at a time.
start_fstrim() {
    max=/sys/block/$name/queue/discard_max_bytes
    usual=$(cat "$max")
    mkdir "$work/cron.weekly"
    install -m 755 /dev/stdin "$work/cron.weekly/fstrim" <<<$'#!/bin/sh\nfstrim /data\n:'
    echo 4096 >"$max"
    run-parts "$work/cron.weekly" 2>/dev/null &
    job=$!
    until pgrep -x fstrim | grep -qxFf <(pgrep -f "^fstrim /data$"); do sleep 0.05; done
}
end_fstrim() { # PID
    kill "$1"
    wait "$job" || true
    job='' && echo "$usual" >"$max"
}
start_pass() {
    trimtab trim --now /data >"$work/pass" 2>&1 &
    job=$!
    until trimtab trim --status | grep -q "^/data: running"; do sleep 0.1; done
}
pass_ends() { # CODE TEXT
    local code=0
    wait "$job" || code=$?
    job=''
    [[ $code = "$1" && $(cat "$work/pass") =~ $2 ]] || fail "the pass ended with $code: $(cat "$work/pass")"
}
# A pass whose figures have to agree with the device's. On a busy machine it may stop; the same command resumes it.
trims_data() {
    local before counted tries=0
    before=$(discarded_bytes)
    until run "0 1" && grep -q "^/data: complete" "$work/said" || [ $((tries += 1)) = 5 ]; do :; done
    says "^/data: complete discarded [0-9.]+ [GM]iB at $name of [0-9.]+ [GM]iB free"
    counted=$(($(discarded_bytes) - before))
    tail -n 1 "$TRIMTAB_STATE/audit.jsonl" | python3 -c '
import json, sys
line, name, counted = json.load(sys.stdin), sys.argv[1], int(sys.argv[2])
discarded, free = line["discarded_bytes"][name], line["free_bytes"]
assert line["outcome"] == "complete" and discarded <= counted, line
# XFS trims all that is free, also again; it may still be busy with the last of it, and the load frees a little.
assert line["resumed_bytes"] or (discarded >= 0.99 * counted and 0.99 <= discarded / free <= 1.01), (line, counted)' \
        "$name" "$counted" 2>"$work/err" || fail "its figures do not agree"
}

# What the pages leave to their reader, and what would take minutes or wait for a night.
adapt() {
    sed -e "s,\bMOUNT$,/data," -e "s,\bPPID$,${parent:-}," -e "s,\bURL$,${url:-}," -e "s,http://localhost:9200,${url:-}," \
        -e "s,\blocalhost:9200,${url:-}," -e "s,iostat -xt 3 100,iostat -xt 1 14," \
        -e "s,01:00-05:00,$(date -d '1 minute ago' +%H:%M)-$(date -d '2 hours' +%H:%M),"
}

follow() { # PAGE
    local pid='' parent='' before
    page=$1
    while read -r command <&3; do
        line=$(adapt <<<"$command") && rm -f "$work/said" "$work/err"
        case $command in
        "sudo trimtab plan "*) continue ;; # in a guest

        "trimtab check --cluster "* | "curl -s "*localhost:9200*) [ -n "$server" ] || continue ;;
        *) [ -z "$server" ] || continue ;;
        esac
        case $command in
        "sudo trimtab trim --status") run 0 && says "^no pass is running" && start_fstrim ;;
        "ps -C fstrim,blkdiscard "*)
            run 0 && says "PID PPID STARTED COMMAND .*$(date +%Y) fstrim /data"
            read -r pid parent < <(awk '/ fstrim \/data$/ { print $1, $2 }' "$work/said") ;;
        "ps -fp PPID") run 0 && says "cron.weekly/fstrim" && end_fstrim "$pid" ;;
        "sudo trimtab trim --cancel MOUNT")
            start_pass && run 0 && pass_ends 1 "/data: cancelled" && run 0 "trimtab trim --status" && says "none can be resumed" ;;
        "sudo kill PID") start_pass && run 0 "sudo kill $job" && pass_ends 143 "to resume " ;;
        "sudo trimtab check"*) run "0 1" && says "/data .* xfs, .* $name loop .* takes discards" && lacks "TRIM004|SCHED002" ;;
        "iostat -xt 3 100 > iostat.log") (sleep 4 && fstrim /data) & run 0 ;;
        "trimtab explain iostat.log")
            run "0 1" && says "^Discards come in .*$name (up to )?[0-9.]+ [GM]iB/s" && lacks "avg-cpu" ;;
        "sudo trimtab collect "*)
            run 0
            [ "$(found_on_data)" = "$(found_on_data --bundle "${command##* }")" ] || fail "the bundle's findings differ"
            run 1 "trimtab explain samples/sawtooth.csv --better higher --jobs ${command##* }" ;;
        "trimtab trim --dry-run /data")
            before=$(discarded_bytes)
            run 0 && says "^A trim of /data would take .* Nothing was changed"
            [ "$before" = "$(discarded_bytes)" ] || fail "it has trimmed" ;;
        "sudo trimtab trim --window 01:00-05:00 /data" | "sudo trimtab trim --now /data") trims_data ;;
        "trimtab ssd run --from-host /data")
            [ "$(cut -d. -f1 /proc/uptime)" -ge 86400 ] || {
                run 2
                grep -q "booted less than a day ago" "$work/err" || fail "it does not say why"
                run 0 "$line --writes-per-day 5GB"
                line="unshare --time --boottime 86400 $line"
            }
            run 0 && says "This host writes [0-9.]+ .iB a day" ;;
        "journalctl "*" > journal.json")
            run 0
            # Few machines have kept their journal since 2016.
            python3 -c '
import datetime, json
for line in open("samples/trims.csv").read().split("\n")[1:-1]:
    at = datetime.datetime.fromisoformat(line.split(",")[0].replace("Z", "+00:00"))
    print(json.dumps({"__REALTIME_TIMESTAMP": str(int(at.timestamp() * 1e6)), "SYSLOG_IDENTIFIER": "CRON",
                      "_PID": "1", "_HOSTNAME": "h", "MESSAGE": "(root) CMD (fstrim -av)"}))' >>"$home/journal.json"
            run 1 "trimtab explain samples/sawtooth.csv --better higher --jobs none --log journal.json"
            says "^Likely cause of the recovery: fstrim" ;;
        *" -o why.html")
            run 1
            grep -q "recovers every week" "$home/why.html" || fail "why.html does not say it"
            ! grep -qE '(src|href)="[^#"]|url\(|@import' "$home/why.html" || fail "why.html loads something" ;;
        "trimtab check --cluster "*) run "0 1" && says "cluster lab-$server" ;;
        "curl -s "*" > state.json" | "curl -s "*" > stats.json") run 0 ;;
        # Only Elasticsearch from 8.6 on has an answer to this.
        "curl -s "*" > desired.json") run 0 ;;
        "curl -s "*" > sizes.json")
            run 0
            line="--state state.json --nodes stats.json --sizes sizes.json --version 7.4.0"
            # Half of the four, or all of them where the disk of this machine is above the high watermark.
            run 0 "trimtab shards what-if $line --add-node n2:disk=2TB" && says "^Green: .* [234] shards move" && lacks "unknown"
            run 0 "trimtab shards reroute $line" ;;
        "trimtab rule "*) run 0 && says "^${command##* }: " ;;
        "trimtab plan "*) run 0 && says "es1 Tue 01:00, es2 Wed 01:00, es3 Thu 01:00" ;;
        trimtab*" samples/"* | trimtab*" lab/"* | "trimtab shards cost "*) run "0 1" ;;
        *) fail "this script does not know it" ;;
        esac
        echo "  ok   $page: $command"
    done 3< <(lab/explain-cases/commands.py "docs/$page.md")
}

if [ -n "$server" ]; then
    about="the pages' cluster"
    . lab/servers/expect.sh
    set +e && fetch_servers "$server" && set -e
    chmod 755 "$work"
    url=$(lab/servers/node.sh start "$server" "$work/data" "$work/node")
    node=$work/node
    curl -fsS -o /dev/null -X PUT -H 'Content-Type: application/json' "$url/logs" \
        -d '{"settings": {"number_of_shards": 4, "number_of_replicas": 0}}'
else
    [ -d /data ] || { mkdir /data && made_data=1; }
    ln -s /data "$work/mnt"
    make_loop 1G xfs
    name=$(basename "$device")
    start_load 4 0.1
fi
for page in paged enable-trim history plan-shards; do follow "$page"; done
[ -n "$server" ] || echo "  plan's lines are followed in a guest, the cluster's with a server"
