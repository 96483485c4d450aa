#!/usr/bin/env bash
# The metrics of `trimtab check` under a real node_exporter and Prometheus: promtool and OpenMetrics' strict parser accept
# them, an alert fires on a recorded host that drops its discards, and `explain` names a job of cron by the starts that
# twelve weeks of hourly checks told. The alerts are tested each. Two minutes; as root, which reads any tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
about="metrics" server=prometheus
. lab/servers/expect.sh
need_tools "metrics" python3 curl faketime
trimtab=${CARGO_TARGET_DIR:-target}/debug/trimtab
prometheus=lab/servers/prometheus.sh
fetch_servers prometheus
bin=$($prometheus fetch)
exporter=$($prometheus fetch prometheus-node-exporter) || skip_servers "node_exporter cannot be fetched"
top=$(mktemp -d)
exporter_pid=
trap '[ -z "$exporter_pid" ] || kill "$exporter_pid"; [ ! -e "$top/run" ] || $prometheus stop "$top/run"; rm -rf "$top"' EXIT
run() { "$@" >"$top/out" 2>"$top/err"; }
grep_out() { grep -qE -- "$1" "$top/out"; }

cp packaging/prometheus/trimtab.rules.yml lab/monitoring/alerts.yml "$top"
expect "promtool accepts the alerts" run "$bin/promtool" check rules "$top/trimtab.rules.yml"
expect "each fires when it should, and none on a healthy host" run "$bin/promtool" test rules "$top/alerts.yml"

# A tree with many drives, jobs and filesystems, whose names would break a line.
tree=$top/tree
lab/fleet/tree.py "$tree" 64 200
check() { "$trimtab" check --exit-zero --format openmetrics "$@"; }
check --root "$tree" >"$top/large.prom"
check --bundle lab/hosts/crypt-drops-discards.tar.zst --data-path /mnt/x >"$top/crypt.prom"
check --bundle lab/hosts >"$top/fleet.prom"
for file in large crypt fleet; do
    expect "promtool finds nothing wrong with $file" run "$bin/promtool" check metrics <"$top/$file.prom"
    expect "and says nothing about it" test ! -s "$top/out"
    # Not that of pip, which may be of any version.
    run /usr/bin/python3 lab/monitoring/strict.py "$top/$file.prom" || [ $? = 77 ] || expect "OpenMetrics' own parser reads $file" false
done
series() { grep -vc '^#' "$1"; }
expect "64 drives and 200 jobs are fewer than 700 series" test "$(series "$top/large.prom")" -lt 700
expect "of which 400 are the jobs'" test "$(grep -c '^trimtab_job_' "$top/large.prom")" = 400
echo "64 drives, 64 filesystems and 200 jobs: $(series "$top/large.prom") series, $(stat -c %s "$top/large.prom") bytes"

# Twelve weeks of a host with cron.weekly/fstrim, looked at every hour; scraped every five minutes.
rm -rf "$tree"
lab/fleet/tree.py "$tree" 1 0
begin=1767225600 # 2026-01-01
export TZ=UTC
checks() {
    for ((at = begin; at < begin + 84 * 86400; at += 3 * 3600)); do
        echo "# at $at"
        faketime "@$at" "$trimtab" check --exit-zero --format openmetrics --root "$tree" | grep '^trimtab_job_'
    done
}
checks | lab/monitoring/history.py "$begin" >"$top/history"

mkdir "$top/textfile"
cp "$top/crypt.prom" "$top/textfile/trimtab.prom"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$exporter/prometheus-node-exporter" --collector.disable-defaults --collector.textfile \
    --collector.textfile.directory="$top/textfile" --web.listen-address="127.0.0.1:$port" 2>"$top/exporter.log" &
exporter_pid=$!
# Two hours are too long for a test, and the recorded host was looked at long ago.
sed 's/for: .*/for: 2s/' packaging/prometheus/trimtab.rules.yml >"$top/rules.yml"
cat >"$top/prometheus.yml" <<END
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [$top/rules.yml]
scrape_configs:
  - {job_name: node, static_configs: [{targets: ["127.0.0.1:$port"]}]}
END
url=$(CONFIG=$top/prometheus.yml $prometheus start "$top/run" "$top/history")
fires() {
    local tries=0
    until [ $((tries += 1)) -gt 60 ]; do
        run curl -fsS -m 5 "$url/api/v1/alerts"
        ! grep -qE '"alertname":"TrimtabFinding"[^}]*"rule":"TRIM001"[^}]*"severity":"critical"[^]]*"state":"firing"' "$top/out" || return 0
        sleep 1
    done
    false
}
expect "the alert of a recorded host that drops its discards fires" fires
run curl -fsS -m 5 "$url/api/v1/targets"
expect "node_exporter had nothing to complain of" bash -c "! grep -q 'level=error' '$top/exporter.log'"
run curl -fsS -m 5 -g "$url/api/v1/query?query=node_textfile_scrape_error"
expect "and read the file" grep_out '"value":\[[0-9.]+,"0"\]'

# What the dashboard asks for.
# shellcheck disable=SC2016
panels() {
    python3 -c '
import json, sys
board = json.load(open(sys.argv[1]))
for panel in board["panels"]:
    for target in panel["targets"]:
        print(target["expr"].replace("$instance", ".*"))
for note in board["annotations"]["list"]:
    print(note["expr"].replace("$instance", ".*"))' packaging/grafana/trimtab.json
}
asked=0
while read -r expression; do
    run curl -fsS -m 5 -G --data-urlencode "query=$expression" "$url/api/v1/query"
    expect "Prometheus understands $expression" grep_out '"status":"success"'
    asked=$((asked + 1))
done < <(panels)
expect "all panels of the dashboard were asked" [ "$asked" -ge 9 ]

explain() {
    run "$trimtab" explain "$url" --query 'lab_read_wait_ms{instance="db1:9100"}' --step 5m \
        --since "$(date -d "@$begin" +%F)" --until "$(date -d "@$((begin + 84 * 86400))" +%F)" --jobs none --exit-zero "$@"
}
explain
expect "explain names cron's job by the metrics" grep_out 'cron.weekly/fstrim'
expect "as the cause" bash -c "head -n 4 '$top/out' | tr -s ' \n' ' ' | grep -q 'cron.weekly/fstrim'"
head -n 3 "$top/out"
explain --split-by instance --agg max
expect "and so for a series of each instance" bash -c "head -n 4 '$top/out' | tr -s ' \n' ' ' | grep -q 'cron.weekly/fstrim'"
explain --log none
expect "without them no job is known" bash -c "! grep -q 'cron.weekly/fstrim' '$top/out'"
echo "metrics: $passed expectations met, $failed not"
[ $failed = 0 ]
