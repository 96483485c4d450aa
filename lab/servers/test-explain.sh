#!/usr/bin/env bash
# Tests with histories from real servers: the crate `sources` reads what was written, and `trimtab
# explain` finds the recurring pattern in it.
#
#   lab/servers/test-explain.sh [SERVER...]      default: prometheus, 6.8.23 and 7.17.28 of
#                                                Elasticsearch, 2.19.1 of OpenSearch
#
#   REQUIRE_SERVERS  1: a server that cannot be run is a failure, not SKIPPED
#   FTDC             a directory with MongoDB's diagnostic data, which is read as well and compared with
#                    a second decoder (ftdc.py). None is included: MongoDB's servers write them.
#
# Each server gets the curves of curves.py: a sawtooth of two hosts, one sample a minute over 14 days with
# a gap of two hours, a counter that restarts, and noise in which one host has a daily spike. From these
# follow the expectations:
# - every value is read with its time, and none in the gap; 20,160 points arrive in several pieces,
#   because Prometheus returns at most 11,000 and Elasticsearch 6.8 and 7.17 create at most 10,000
#   buckets;
# - two hosts give two series; a filter or a shorter time range gives the matching part;
# - a counter gives its rates, and none where it restarted;
# - errors contain the server's own message, or the names that exist;
# - `trimtab explain` names the timer whose starts node_exporter recorded, wherever in their window they were;
# - `trimtab explain` finds that one host's spikes recur daily at 03:10 and attributes them to a crontab's
#   job of that time; it finds nothing for the other host. With wrong credentials it fails with exit code
#   2.
# Durations are not tested. Servers are started one after the other, on loopback.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
node=lab/servers/node.sh prometheus=lab/servers/prometheus.sh curves=lab/servers/curves.py
# Time after which a command counts as hung.
PATIENCE_S=120

about="histories out of real servers"
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
for tool in python3 curl; do
    command -v "$tool" >/dev/null || skip_servers "$tool is missing"
done
[ $# -gt 0 ] || set -- prometheus elasticsearch-6.8.23 elasticsearch-7.17.28 opensearch-2.19.1
fetch_servers "$@"
lab/build.sh || exit 2
unset TRIMTAB_USER TRIMTAB_PASSWORD TRIMTAB_API_KEY TRIMTAB_BEARER_TOKEN TRIMTAB_CREDENTIALS_FILE

top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-explain.XXXXXX")
# The server's user needs access to it.
chmod 755 "$top"
# A hidden copy that clean leaves alone; a concurrent build would replace the original.
reader=$top/.read
cp "${CARGO_TARGET_DIR:-target}/debug/examples/read" "$reader" || exit 2
trimtab=$top/.trimtab
cp "${CARGO_TARGET_DIR:-target}/debug/trimtab" "$trimtab" || exit 2
proxy_pid=
clean() {
    [ -z "$proxy_pid" ] || kill "$proxy_pid" 2>/dev/null
    proxy_pid=
    if [ -e "$top/run" ]; then
        case $server in
        prometheus) $prometheus stop "$top/run" ;;
        *) $node stop "$top/run" ;;
        esac
    fi
    rm -rf --one-file-system "${top:?}"/*
}
trap 'clean; rm -f "$reader" "$trimtab"; rmdir "$top"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

read_history() { # ARGUMENT...
    timeout "$PATIENCE_S" "$reader" "$@" </dev/null >"$top/out" 2>"$top/err"
}
# Checks that the result equals a case of curves.py, sample by sample.
gives() { # CASE ARGUMENT...
    local case=$1
    shift
    read_history "$@" || return 1
    # Show differences with the rest of the output.
    python3 $curves compare "$case" "$top/out" >"$top/compared" 2>>"$top/err" || return 1
    sed "s/^/   $server: /" "$top/compared"
}
says() { # TEXT: checks the error message
    grep -qF -- "$1" "$top/err"
}
refused() { # TEXT ARGUMENT...
    local text=$1
    shift
    ! read_history "$@" && [ ! -s "$top/out" ] && says "$text"
}
# Runs `trimtab explain` on the curve with spikes: JSON in out, exit code in code.
explain() { # ARGUMENT...
    timeout "$PATIENCE_S" "$trimtab" explain "$@" --format json --tz UTC </dev/null >"$top/out" 2>"$top/err"
    code=$?
}
blames() { # KIND
    [ "$code" = 1 ] || return 1
    python3 $curves verdict "$1" "$top/out" >"$top/said" 2>>"$top/err" || return 1
    sed "s/^/   $server: /" "$top/said"
}
explained() { # ARGUMENT...: that select the server's curve
    # Ten whole days.
    local asked=("$@" --since "$begin" --until 2026-01-15T00:00:00Z --better lower)
    explain "${asked[@]}" --jobs none
    expect "spikes recur daily, and no job is known" blames unattributed
    explain "${asked[@]}" --jobs "$top/crontab"
    expect "spikes recur daily, and a job is behind them" blames periodic
}
names() { # JOB: as the only one of a daily pattern
    python3 -c '
import json, sys
(one,) = json.load(open(sys.argv[1]))["result"]["series"]
told = one["verdict"]
jobs = told["classes"][0]["jobs"] if told["classes"] else []
if (told["kind"], jobs) != ("periodic", [sys.argv[2]]):
    sys.exit(told["sentence"])
print(told["sentence"])
' "$top/out" "$1" >"$top/said" 2>>"$top/err" && sed "s/^/   $server: /" "$top/said"
}
blames_nobody() {
    python3 -c '
import json, sys
(one,) = json.load(open(sys.argv[1]))["result"]["series"]
sys.exit(one["verdict"]["kind"] == "periodic")
' "$top/out" 2>>"$top/err"
}
cannot_run() { # TEXT
    [ "$code" = 2 ] && [ ! -s "$top/out" ] && says "$1" && ! says wrong-password
}
told() { # TEXT: checks the response
    grep -qxF -- "$1" "$top/out"
}

day1=2026-01-06T00:00:00Z day2=2026-01-07T00:00:00Z
begin=2026-01-05T00:00:00Z end=2026-01-19T00:00:00Z

# Jobs other than the one that causes the spikes.
jobs() {
    echo "10 3 * * * root backup"
    echo "25 6 * * * root run-parts /etc/cron.daily"
    echo "17 * * * * root run-parts /etc/cron.hourly"
}

test_prometheus() {
    local url
    python3 $curves openmetrics >"$top/history"
    local -x TRIMTAB_USER=lab TRIMTAB_PASSWORD=lab-password
    url=$(LOGIN=1 $prometheus start "$top/run" "$top/history") || {
        expect "it starts" false
        return
    }
    read_history identify "$url"
    expect "it is recognised" grep -qE '^Prometheus [0-9]+\.[0-9.]+' "$top/out"
    expect "14 days of two hosts, minute by minute" \
        gives prometheus-load prometheus "$url" "$begin" "$end" 60 lab_load
    expect "non-numeric values are reported" says "no number, or infinite"
    expect "one day of it" gives prometheus-day prometheus "$url" "$day1" "$day2" 60 lab_load
    read_history prometheus "$url" "$begin" "$end" 60 'rate(lab_bytes_total{host=~"db.+"}[5m])'
    expect "Prometheus' own rates" python3 -c '
import sys
rates = [float(line.split("\t")[2]) for line in open(sys.argv[1])]
assert len(rates) > 19000 and {1.0, 10.0} <= {round(rate, 6) for rate in rates} and max(rates) < 11, len(rates)
' "$top/out"
    expect "an invalid query is rejected with Prometheus' message" refused "parse error" \
        prometheus "$url" "$begin" "$end" 60 'rate(lab_load[5m]'
    expect "an empty result is an error" refused "gives nothing within the times" \
        prometheus "$url" "$begin" "$end" 60 no_such_metric
    expect "it is not mistaken for Elasticsearch" refused "neither Elasticsearch nor OpenSearch" \
        elastic "$url" - - 60 lab load mean
    jobs >"$top/crontab"
    explained "$url" --query lab_wait
    explain "$url" --query lab_stall --since "$begin" --until "$end" --jobs none
    expect "node_exporter's timers say which one it was" names nightly.service
    explain "$url" --query lab_stall --since "$begin" --until "$end" --jobs none --log none
    expect "without them no job is known" blames_nobody
    TRIMTAB_PASSWORD=wrong-password explain "$url" --query lab_wait --jobs none
    expect "wrong credentials are reported" cannot_run "status 401"
    explain "$url" --query 'rate(lab_wait[5m]' --jobs none
    expect "the command reports the rejection as well" cannot_run "parse error"
    $prometheus stop "$top/run"
}

ask() { # METHOD PATH [CURL OPTION...]
    local method=$1 path=$2
    shift 2
    curl -fsS -m 120 -o /dev/null -X "$method" -H 'Content-Type: application/json' "$@" "$url$path"
}
load() { # CASE
    python3 $curves "$1" "$typed" | split -l 20000 - "$top/bulk."
    for part in "$top"/bulk.*; do
        curl -fsS -m 120 -H 'Content-Type: application/x-ndjson' --data-binary "@$part" "$url/_bulk" |
            grep -q '"errors":false' || return 1
        rm "$part"
    done
    ask POST "/_refresh"
}

test_elastic() {
    local url typed=0
    url=$(HEAP=512m $node start "$server" "$top/data" "$top/run") || {
        expect "it starts" false
        return
    }
    read_history identify "$url"
    case $server in
    opensearch-*) expect "it is recognised" told "OpenSearch ${server#*-}" ;;
    *) expect "it is recognised" told "Elasticsearch ${server#*-}" ;;
    esac
    # Dynamic mapping would turn numbers into neither a date nor a date in milliseconds.
    local documents='{"properties": {"@timestamp": {"type": "date"}}}'
    case $server in
    elasticsearch-6.*) typed=1 documents="{\"_doc\": $documents}" ;;
    esac
    for week in 0 1; do
        ask PUT "/lab-$week" -d "{\"mappings\": $documents}"
    done
    expect "documents are accepted" load bulk
    expect "14 days, minute by minute" gives elastic-mean elastic "$url" - - 60 'lab-*' load mean
    expect "one series for each host" \
        gives elastic-split elastic "$url" - - 3600 'lab-*' load mean split=host.name.keyword
    expect "one day of one host" gives elastic-filter elastic "$url" "$day1" "$day2" 3600 'lab-*' load mean \
        filter=host.name:db2
    expect "a counter's rates" gives elastic-rate elastic "$url" - - 3600 'lab-*' bytes rate
    expect "its reset is reported" says "began anew 1 time:"
    read_history elastic "$url" "$begin" "$day1" 86400 'lab-*' load 50 split=odd time=@timestamp
    expect "a percentile, split by a boolean" python3 -c '
import sys
found = {line.split("\t")[0]: float(line.split("\t")[2]) for line in open(sys.argv[1])}
assert set(found) == {"load p50 odd=true", "load p50 odd=false"}, found
# Both hosts: from 1,000 down to 910 and from 1,100 down to 1,010; values between 1,010 and 1,000.
assert all(abs(value - 1005) < 10 for value in found.values()), found
' "$top/out"
    read_history elastic "$url" - - 86400 'lab-*' load max split=host.name.keyword most=1
    expect "a split is limited, and reports it" python3 -c '
import sys
assert len({line.split("\t")[0] for line in open(sys.argv[1])}) == 1
assert "more than the 1 with the most documents" in open(sys.argv[2]).read()
' "$top/out" "$top/err"
    expect "a missing field, with similar names" refused "similar: load" \
        elastic "$url" - - 60 'lab-*' host.load mean
    expect "a non-numeric field" refused "no number, but text" elastic "$url" - - 60 'lab-*' text mean
    expect "a time field that is not a date" refused "no date, but" elastic "$url" - - 60 'lab-*' load mean time=bytes
    expect "a missing index" refused "no index fits the pattern" \
        elastic "$url" - - 60 'nowhere-*' load mean
    expect "an invalid filter is rejected with the server's message" refused "Failed to parse query" \
        elastic "$url" - - 60 'lab-*' load mean 'filter=host:('
    expect "a time range without data" refused "within the times" \
        elastic "$url" 2020-01-01T00:00:00Z 2020-02-01T00:00:00Z 60 'lab-*' load mean
    expect "it is not mistaken for Prometheus" refused "status" prometheus "$url" "$begin" "$end" 60 up
    jobs >"$top/crontab"
    explained "$url" --index 'lab-*' --field wait --split-by host.name.keyword --agg max
    explain "$url" --index 'lab-*' --field waits --jobs none
    expect "the command reports a missing field as well" cannot_run "no field waits; similar:"
    # These servers have no users, so use a proxy.
    echo lab:lab-password >"$top/users"
    local proxy
    coproc proxied { exec python3 lab/servers/proxy.py "$url" --credentials "$top/users"; }
    # shellcheck disable=SC2154
    proxy_pid=$proxied_PID
    read -r proxy <&"${proxied[0]}"
    TRIMTAB_USER=lab TRIMTAB_PASSWORD=wrong-password explain "$proxy" --index 'lab-*' --field wait --jobs none
    expect "wrong credentials are reported" cannot_run "status 401"
    kill "$proxy_pid"
    wait "$proxy_pid" 2>/dev/null
    proxy_pid=
    $node stop "$top/run"
}

if [ -n "${FTDC:-}" ]; then
    server="diagnostic data"
    for path in "$FTDC"/metrics.*; do
        expect "$path is read" read_history ftdc "$path" 0
        expect "$path: another decoder agrees" python3 lab/servers/ftdc.py "$top/out" "$path"
    done
    clean
fi
for server in "$@"; do
    case $server in
    prometheus) test_prometheus ;;
    *) test_elastic ;;
    esac
    clean
done
echo "histories out of real servers: $passed expectations met, $failed not ($*)"
[ "$failed" = 0 ]
