#!/usr/bin/env bash
# Real trims of a loop device that it makes, under flushed writes, as a Prometheus scrapes them from node_exporter: with its
# counters of discards, and without, as of older kernels and of OpenTelemetry. At the same time, copies of /proc/diskstats as
# pt-stalk keeps them. `trimtab explain` has to tell trims from the writes before them. Some seventy seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
[ "$(id -u)" = 0 ] || skip "scrapes of real trims need root"
need_tools "scrapes of real trims" losetup mkfs.xfs fstrim python3 curl
bin=${CARGO_TARGET_DIR:-target}/debug
trimtab=${TRIMTAB:-$bin/trimtab}
tool=lab/explain-cases/scraped.py
server=lab/servers/prometheus.sh
why=$($server fetch 2>&1 >/dev/null) || skip "${why##*$'\n'}"
exporter=$($server fetch prometheus-node-exporter) || skip "node_exporter cannot be fetched"
. lab/explain-cases/loop.sh
processes=()
trap 'kill "${processes[@]}" 2>/dev/null || true; [ ! -e "$work/run" ] || $server stop "$work/run"; finish' EXIT
# The fewer bytes a request has, the more of them there are, and the more time they take beside flushes.
make_loop 1G xfs $((1 << 19))
name=$(basename "$device")

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$exporter/prometheus-node-exporter" --collector.disable-defaults --collector.diskstats \
    --collector.diskstats.device-exclude='^$' --web.listen-address="127.0.0.1:$port" 2>"$work/exporter.log" &
processes+=($!)
cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: new
    static_configs: &exporter [{targets: ["127.0.0.1:$port"]}]
  - job_name: old
    static_configs: *exporter
    metric_relabel_configs: [{source_labels: [__name__], regex: "node_disk_(discard|flush).*", action: drop}]
END
url=$(CONFIG=$work/prometheus.yml $server start "$work/run")
start_load 1 0.1
mkdir "$work/stalk"
(while :; do
    { date +"TS %s.%N %F %T" && cat /proc/diskstats; } >>"$work/stalk/2026_11_28_10_46_00-diskstats"
    sleep 1
done) &
processes+=($!)

# The kernel's own time of discards and of flushes, and the time.
mark() {
    awk -v now="$(date +%s)" '{ print now, $15, $17 }' "/sys/block/$name/stat"
}
# Prometheus takes up to five seconds to find what it scrapes.
sleep 7
quiet=$(mark)
sleep 18
quiet_end=$(mark)
answers() { # JOB FROM UNTIL NAME: marks
    local filter="job=\"$1\",device=\"$name\"" since until
    since=$(date -u -d "@${2%% *}" +%FT%TZ)
    until=$(date -u -d "@${3%% *}" +%FT%TZ)
    "$bin/examples/read" discards "$url" "$since" "$until" 1 "$filter" >"$work/$4.samples" 2>/dev/null || true
    "$trimtab" explain "$url" --discards --filter "$filter" --step 1s --since "$since" --until "$until" \
        --jobs none --exit-zero --format json >"$work/$4.json" 2>"$work/$4.err" || true
    "$tool" scraped "$4" "$work/$4" "$2" "$3"
}
failed=0
for job in old new; do
    answers $job "$quiet" "$quiet_end" "$job, flushes alone" || failed=1
done
# Trims every four seconds. That they recur may be told in the first recording or, where this machine disturbed the device
# meanwhile, in another one.
trim() {
    trims=$(mark)
    for ((n = 1; n <= 10; n++)); do
        sleep "$(awk -v now="$(date +%s.%N)" -v at=$((${trims%% *} + 4 * n)) 'BEGIN { print (at > now) ? at - now : 0 }')"
        fstrim --length 512M "$work/mnt"
    done
    sleep 3
    end=$(mark)
    for job in old new; do
        answers $job "$trims" "$end" "$job, trims" >"$work/said.$job" || return 1
    done
}
trim || trim || trim || failed=1
cat "$work"/said.*
kill "${processes[1]}"
# pt-stalk's, of this kernel and as of one before 4.18.
"$trimtab" explain "$work/stalk" --jobs none --exit-zero --select "*$name*" --format json >"$work/stalk.json"
"$tool" stalked "$work/stalk.json" "$name" || failed=1
mkdir "$work/older"
awk 'NF > 14 { NF = 14 } { print }' "$work"/stalk/*-diskstats >"$work/older/2014_01_30_14_01_00-diskstats"
"$bin/examples/read" file "$work/older" "discard or flush time of $name" >"$work/older.samples" 2>/dev/null
"$tool" older "$work/older.samples" "$trims" "$end" || failed=1
exit $failed
