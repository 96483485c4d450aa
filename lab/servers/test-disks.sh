#!/usr/bin/env bash
# Real trims of a loop device that it makes, under flushed writes, in documents as Metricbeat and Elastic Agent write them,
# in a real server: no field of theirs has discards, and `explain --discards` computes their time. A minute a server.
#
#   lab/servers/test-disks.sh [SERVER...]      default: 7.17.28 of Elasticsearch, 2.19.1 of OpenSearch
#
# The same load without trims gives no discards.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
about="discards out of documents of Metricbeat"
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
[ "$(id -u)" = 0 ] || skip_servers "real trims need root"
need_tools "$about" losetup mkfs.xfs fstrim python3 curl
[ $# -gt 0 ] || set -- elasticsearch-7.17.28 opensearch-2.19.1
fetch_servers "$@"
bin=${CARGO_TARGET_DIR:-target}/debug
trimtab=${TRIMTAB:-$bin/trimtab} node=lab/servers/node.sh tool=lab/explain-cases/ftdc.py
# shellcheck source=lab/explain-cases/loop.sh
. lab/explain-cases/loop.sh
trap '[ ! -e "$work/run" ] || $node stop "$work/run"; finish' EXIT
top=$work
# The server's user needs access to it.
chmod 755 "$work"
make_loop 1G xfs $((1 << 20))
name=$(basename "$device")

# Metricbeat's own template has these types.
mapping='{"settings": {"number_of_replicas": 0}, "mappings": {"properties": {
    "@timestamp": {"type": "date"},
    "host": {"properties": {"name": {"type": "keyword"}}},
    "system": {"properties": {"diskio": {"properties": {
        "name": {"type": "keyword"},
        "read": {"properties": {"count": {"type": "long"}, "time": {"type": "long"}}},
        "write": {"properties": {"count": {"type": "long"}, "time": {"type": "long"}}},
        "iostat": {"properties": {"queue": {"properties": {"avg_size": {"type": "float"}}}}}}}}}}}}'
ask() { # METHOD PATH CURL-OPTION...
    local method=$1 path=$2
    shift 2
    curl -fsS -m 120 -o /dev/null -X "$method" -H 'Content-Type: application/json' "$@" "$url$path"
}
# What is computed of the documents of a recording, and said.
explained() { # NO|YES
    local index metricbeat
    index=metricbeat-$(tr '[:upper:]' '[:lower:]' <<<"$1") metricbeat=$work/$1
    ask PUT "/$index" -d "$mapping" && ask POST "/$index/_bulk?refresh=true" --data-binary "@$metricbeat" || return 1
    "$trimtab" explain "$url" --index "$index" --discards --step 10s --jobs none --exit-zero --format json \
        >"$work/answer.json" 2>"$work/err" || { cat "$work/err"; return 1; }
    "$bin/examples/read" disks "$url" 10 "$index" 2>"$work/err" | grep '^discard or flush time' >"$work/samples"
    "$tool" check "$metricbeat" "$work/samples" "$work/answer.json" "$1"
}

start_load 1 0.02
"$tool" documents "$name" 12 "$work/NO" || exit 1
"$tool" documents "$name" 12 "$work/YES" "$work/mnt" || exit 1
kill "$writer"
for server in "$@"; do
    if url=$(HEAP=512m $node start "$server" "$work/data" "$work/run"); then
        expect "flushes alone are no discards" explained NO
        expect "the discards of trims are computed" explained YES
        $node stop "$work/run"
    else
        expect "it starts" false
    fi
    rm -rf "$work/data" "$work/run"
done
echo "$about: $passed expectations met, $failed not ($*)"
[ "$failed" = 0 ]
