#!/usr/bin/env bash
# Tests the live fix in real clusters of three nodes, a master and two data nodes, beside the same clusters without it.
#
#   lab/livefix/cluster.sh [SERVER...]    default: elasticsearch-6.8.23 elasticsearch-7.2.0 elasticsearch-7.4.2 elasticsearch-7.5.2
#
#   INDICES   tiny indices of five shards that are made, and closed, before times are taken: 300
#   CREATES   indices whose creation is timed, one after the other: 20
#
# Each cluster creates, writes, searches, closes, opens, relocates, loses a node and recovers. With the agent its check
# mode compares each list with a scan: no list differs, the cluster ends green, and no node's log has an error. The time of
# index creations is printed for both, and not tested.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
about="the live fix in real clusters"
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
need_tools "$about" java javac mvn python3 curl jq
agent=$(lab/livefix/build.sh) || {
    code=$?
    [ "$code" = 77 ] && skip "$about: the agent could not be built"
    exit "$code"
}
[ $# -gt 0 ] || set -- elasticsearch-6.8.23 elasticsearch-7.2.0 elasticsearch-7.4.2 elasticsearch-7.5.2
fetch_servers "$@"
top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-livefix.XXXXXX")
chmod 755 "$top"
# The servers' user reads it.
install -m 644 "$agent" "$top/trimtab-livefix.jar"
nodes=(n1 n2 n3)
stop_all() {
    local node
    for node in "${nodes[@]}"; do lab/servers/node.sh stop "$top/$node" >/dev/null 2>&1; done
}
clean() {
    stop_all
    rm -rf "${top:?}"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

ask() { # METHOD PATH [BODY]
    curl -fsS -m 120 -X "$1" "$url/$2" -H 'Content-Type: application/json' ${3:+-d "$3"} >"$top/out" 2>"$top/err"
}
is_green() {
    ask GET "_cluster/health?wait_for_status=green&wait_for_no_relocating_shards=true&timeout=100s" &&
        [ "$(jq -r .status "$top/out")" = green ]
}
start_node() { # NAME
    local join=none
    [ "$1" = n1 ] || join=$top/n1
    OPTIONS=$options DISKS=1 JOIN=$join NAME=$1 HEAP=768m lab/servers/node.sh start "$server" "$top/data-$1" "$top/$1" 2>"$top/err"
}
seconds() { date +%s.%N; }

run_cluster() { # with|without
    options= compared=
    stop_all
    [ "$1" = without ] || options="-javaagent:$top/trimtab-livefix.jar -Dtrimtab.livefix.check=true"
    rm -rf "$top"/data-*
    url=$(start_node n1) || { expect "$1: the master starts" false; return; }
    for node in n2 n3; do start_node "$node" >/dev/null || { expect "$1: $node starts" false; return; }; done
    expect "$1: three nodes" ask GET "_cluster/health?wait_for_nodes=3&timeout=60s"
    local many=${INDICES:-300} began
    for number in $(seq "$many"); do
        ask PUT "old-$number" '{"settings":{"number_of_shards":5,"number_of_replicas":0}}' || { expect "$1: old-$number is created" false; return; }
        ask POST "old-$number/_close" || { expect "$1: old-$number is closed" false; return; }
    done
    expect "$1: green" is_green
    began=$(seconds)
    for number in $(seq "${CREATES:-20}"); do
        ask PUT "new-$number" '{"settings":{"number_of_shards":2,"number_of_replicas":1}}' || { expect "$1: new-$number is created" false; return; }
    done
    created=$(awk -v a="$began" -v b="$(seconds)" -v n="${CREATES:-20}" 'BEGIN { printf "%.0f", (b - a) / n * 1000 }')
    expect "$1: documents are written" ask POST "new-1/_doc/1?refresh=true" '{"number":1}'
    expect "$1: and found" eval 'ask GET "new-1/_search?q=number:1" && jq -e ".hits.hits | length == 1" "$top/out" >/dev/null'
    expect "$1: closed" ask POST "new-2/_close"
    expect "$1: opened" ask POST "new-2/_open"
    expect "$1: green after that" is_green
    ask GET "_cat/shards/new-1?h=prirep,node&format=json"
    local from
    from=$(jq -r '[.[] | select(.prirep == "p")][0].node' "$top/out")
    expect "$1: a replica is given up" ask PUT "new-1/_settings" '{"index.number_of_replicas":0}'
    expect "$1: a shard moves" ask PUT "_cluster/settings" "{\"transient\":{\"cluster.routing.allocation.exclude._name\":\"$from\"}}"
    left_there() { ask GET "_cat/shards?h=node&format=json" && jq -r '.[].node' "$top/out" | grep -c "^$from"; }
    for _ in $(seq 300); do [ "$(left_there)" != 0 ] || break; sleep 0.2; done
    expect "$1: all have moved" test "$(left_there)" = 0
    expect "$1: and may come back" ask PUT "_cluster/settings" '{"transient":{"cluster.routing.allocation.exclude._name":null}}'
    expect "$1: green before the loss" is_green
    kill -KILL "$(cat "$top/n3/pid")"
    expect "$1: a node is lost" ask GET "_cluster/health?wait_for_nodes=2&timeout=100s"
    rm -rf "${top:?}/n3"
    expect "$1: it comes back" eval "start_node n3 >/dev/null"
    expect "$1: green at the end" is_green
    if [ "$1" = with ]; then
        said=$(grep -h "^trimtab-livefix: " "$top/n1/out")
        expect "the agent is active" grep -q "^trimtab-livefix: active" <<<"$said"
    fi
    # The master ends with what it compared.
    local master
    master=$(cat "$top/n1/pid")
    kill "$master"
    for _ in $(seq 300); do kill -0 "$master" 2>/dev/null || break; sleep 0.1; done
    cp "$top/n1/out" "$top/master-$1"
    if [ "$1" = with ]; then
        compared=$(sed -nE 's/^trimtab-livefix: ([0-9]+) lists compared with a scan, 0 differed$/\1/p' "$top/master-with" | tail -n 1)
        expect "lists were compared, and none differed" test "${compared:-0}" -gt 1000
        expect "no list was stale" eval '! grep -q "trimtab-livefix: a list was stale" "$top/master-with"'
    fi
    grep -hE "\]\[ERROR|\]\[FATAL|AccessControlException|trimtab.livefix.*(Exception|Error)" "$top/master-$1" "$top/n2/out" \
        "$top/n3/out" >"$top/out"
    expect "$1: the logs are free of errors" test ! -s "$top/out"
    stop_all
}

for server in "$@"; do
    created=?
    run_cluster without
    without=$created
    run_cluster with
    echo "$about: $server: an index is created in $without ms without, $created ms with it; ${compared:-no} lists compared"
done
echo "$about: $passed passed, $failed failed"
[ "$failed" = 0 ]
