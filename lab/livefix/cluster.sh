#!/usr/bin/env bash
# Tests the live fix in real clusters of three nodes, a master and two data nodes, beside the same clusters without it.
#
#   lab/livefix/cluster.sh [SERVER...]    default: elasticsearch-6.8.23 elasticsearch-7.2.0 elasticsearch-7.4.2 elasticsearch-7.5.2
#
#   INDICES   tiny indices of five shards that are made, and closed, at first: 60
#   MANY      indices of fifty shards that are there when times are taken: 100
#   CREATES   indices whose creation is timed, one after the other: 20
#   ARMS      "checked attached without with"
#
# checked   the agent is loaded at the start, and compares each list with a scan. The cluster creates, writes, searches,
#           closes, opens, relocates, loses a node and recovers: no list differs, it ends green, and no log has an error.
# attached  the same, but the agent is loaded into the master while it runs.
# without, with  the time of index creations beside many shards (nodes of 2 GiB), printed and not tested. From 7.2 on these
#           shards are of closed indices; before, closed indices have none that are allocated.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
about="the live fix in real clusters"
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
need_tools "$about" java javac jcmd mvn python3 curl jq setpriv
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
    # A second signal would leave servers behind.
    trap '' INT TERM
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
    OPTIONS=$options DISKS=1 JOIN=$join NAME=$1 HEAP=${HEAP:-768m} lab/servers/node.sh start "$server" "$top/data-$1" "$top/$1" 2>"$top/err"
}
seconds() { date +%s.%N; }

start_cluster() { # ARM
    stop_all
    rm -rf "$top"/data-*
    url=$(start_node n1) || { expect "$1: the master starts" false; return 1; }
    for node in n2 n3; do start_node "$node" >/dev/null || { expect "$1: $node starts" false; return 1; }; done
    expect "$1: three nodes" ask GET "_cluster/health?wait_for_nodes=3&timeout=60s"
}
says_active() { grep -q "^trimtab-livefix: active" "$top/n1/out"; }

# As the server's user: the JVM answers nobody else.
attach() {
    local master
    master=$(cat "$top/n1/pid")
    setpriv --reuid "$(stat -c %u "/proc/$master")" --regid "$(stat -c %g "/proc/$master")" --clear-groups \
        jcmd "$master" JVMTI.agent_load "$top/trimtab-livefix.jar" >"$top/out" 2>"$top/err"
}

check_cluster() { # checked|attached
    options="-Dtrimtab.livefix.check=true"
    [ "$1" = attached ] || options="-javaagent:$top/trimtab-livefix.jar $options"
    start_cluster "$1" || return
    local number
    for number in $(seq "${INDICES:-60}"); do
        ask PUT "old-$number" '{"settings":{"number_of_shards":5,"number_of_replicas":0}}' || { expect "$1: old-$number is created" false; return; }
        ask POST "old-$number/_close" || { expect "$1: old-$number is closed" false; return; }
    done
    expect "$1: green" is_green
    if [ "$1" = attached ]; then
        expect "$1: it was not there before" eval '! says_active'
        expect "$1: the agent is loaded while the master runs" attach
        # By which `trimtab livefix status PID` sees it.
        expect "$1: the JVM keeps the jar open" eval 'ls -l "/proc/$(cat "$top/n1/pid")/fd" | grep -q "trimtab-livefix.jar$"'
    fi
    for number in $(seq "${CREATES:-20}"); do
        ask PUT "new-$number" '{"settings":{"number_of_shards":2,"number_of_replicas":1}}' || { expect "$1: new-$number is created" false; return; }
    done
    expect "$1: the agent is active" says_active
    expect "$1: the server's log has it" eval 'grep -q "livefix.*active: shards of a node" "$top"/n1/logs/*.log'
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
    compared=$(sed -nE 's/^trimtab-livefix: ([0-9]+) lists compared with a scan, 0 differed$/\1/p' "$top/n1/out" | tail -n 1)
    expect "$1: lists were compared, and none differed" test "${compared:-0}" -gt 1000
    expect "$1: no list was stale" eval '! grep -q "a list was stale\|[1-9][0-9]* differed" "$top/n1/out"'
    grep -hE "\]\[ERROR|\]\[FATAL|AccessControlException|trimtab.livefix.*(Exception|Error)|not in the server's log" \
        "$top"/n?/out >"$top/out"
    expect "$1: the logs are free of errors" test ! -s "$top/out"
    echo "$about: $server: $1: at least ${compared:-0} lists compared, none differed"
}

time_creations() { # without|with
    options=
    [ "$1" = without ] || options="-javaagent:$top/trimtab-livefix.jar"
    HEAP=${HEAP:-2g} start_cluster "$1" || return
    # Its shards start together, and may be as many as fit.
    local shards='?' settings='"cluster.routing.allocation.node_initial_primaries_recoveries":50' number began
    [[ $server == elasticsearch-6.* ]] || settings+=',"cluster.max_shards_per_node":100000'
    expect "$1: settings" ask PUT "_cluster/settings" "{\"transient\":{$settings}}"
    for number in $(seq "${MANY:-100}"); do
        ask PUT "many-$number" '{"settings":{"number_of_shards":50,"number_of_replicas":0}}' || { expect "$1: many-$number is created" false; return; }
        [[ $server == elasticsearch-6.* ]] || ask POST "many-$number/_close" || { expect "$1: many-$number is closed" false; return; }
    done
    expect "$1: green" is_green
    ask GET "_cluster/health" && shards=$(jq -r .active_shards "$top/out")
    began=$(seconds)
    for number in $(seq "${CREATES:-20}"); do
        ask PUT "new-$number" '{"settings":{"number_of_shards":1,"number_of_replicas":0}}' || { expect "$1: new-$number is created" false; return; }
    done
    created_ms=$(awk -v a="$began" -v b="$(seconds)" -v n="${CREATES:-20}" 'BEGIN { printf "%.0f", (b - a) / n * 1000 }')
    echo "$about: $server: $1: an index is created in $created_ms ms beside $shards shards on two data nodes"
}

for server in "$@"; do
    for arm in ${ARMS:-checked attached without with}; do
        case $arm in
        checked | attached) check_cluster "$arm" ;;
        without | with) time_creations "$arm" ;;
        *) echo "unknown arm '$arm'" >&2; exit 2 ;;
        esac
    done
    stop_all
done
echo "$about: $passed passed, $failed failed"
[ "$failed" = 0 ]
