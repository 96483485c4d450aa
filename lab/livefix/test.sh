#!/usr/bin/env bash
# Tests the live fix on the real servers' code: no server is started, root is not needed.
#
#   lab/livefix/test.sh [VERSION...]       default: 6.8.23 7.1.1 7.2.0 7.3.2 7.4.0 7.5.2
#
#   STEPS    random changes of the cluster in each run: 10000
#   SEED     of the changes: 1
#   STRESS_S seconds of each stress test: 10
#
# - STEPS changes of a cluster (src/Churn.java) with and without the agent: all decisions and lists are equal. The run
#   with the agent compares each list with a scan, and none differs; the agent says once that it is active.
# - One thread changes a node, three list its copies (src/org/.../Stress.java): no list is stale or torn.
# - Versions that it does not know or that do not need it load their class unchanged, with one line that says so.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
# shellcheck source=lab/shards/jars.sh
. lab/shards/jars.sh
about="the live fix"
need_tools "$about" java javac mvn python3
agent=$(lab/livefix/build.sh) || {
    code=$?
    [ "$code" = 77 ] && skip "$about: it could not be built"
    exit "$code"
}
[ $# -gt 0 ] || set -- 6.8.23 7.1.1 7.2.0 7.3.2 7.4.0 7.5.2
unneeded=${UNNEEDED:-7.6.0 7.17.28 8.11.0 opensearch-2.19.1}
steps=${STEPS:-10000} seed=${SEED:-1} stress_s=${STRESS_S:-10}
for version in "$@" $unneeded; do
    jars "$version" >/dev/null || {
        code=$?
        [ "$code" = 77 ] && skip "$about: the code of $version is unavailable"
        exit "$code"
    }
done
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh

# Runs a program with the code of $server. The server's log would go to the same place.
run() { # OUT JAVA_OPTION... PROGRAM ARGUMENT...
    local out=$1
    shift
    java -Xmx1g -XX:+UseSerialGC -XX:-UsePerfData -ea:org.elasticsearch... -Dhppc.bitmixer=DETERMINISTIC \
        -Dlog4j2.disable.jmx=true -Dlog4j2.level=OFF -Dorg.apache.logging.log4j.simplelog.StatusLogger.level=OFF \
        -cp "$top/classes:$(jars "$server")/*" "$@" >"$top/$out" 2>"$top/err"
    code=$?
    cp "$top/$out" "$top/out"
    grep -h "^trimtab-livefix: " "$top/err" >"$top/said"
    return 0
}
says() { # LINES PATTERN
    [ "$(wc -l <"$top/said")" = "$1" ] && grep -q -- "$2" "$top/said"
}
checked="-Dtrimtab.livefix.check=true"

for server in "$@"; do
    rm -rf "$top/classes"
    mapfile -t sources < <(find lab/livefix/src -name '*.java')
    javac -nowarn -proc:none -encoding UTF-8 --release 11 -cp "$(jars "$server")/*" -d "$top/classes" "${sources[@]}" \
        >"$top/out" 2>"$top/err" || { failed=$((failed + 1)); echo "FAILED: $server: the test does not compile"; cat "$top/err"; continue; }
    run plain Churn "$steps" "$seed"
    expect "changes run" test "$code" = 0
    run patched -javaagent:"$agent" "$checked" Churn "$steps" "$seed"
    expect "changes run with the agent" test "$code" = 0
    expect "it says once that it is active" test "$(grep -c "^trimtab-livefix: active" "$top/said")" = 1
    # A line comes after 1,024 lists, 2,048, and so on.
    compared=$(tail -n 1 "$top/said" | sed -nE 's/^trimtab-livefix: ([0-9]+) lists compared with a scan, 0 differed$/\1/p')
    expect "many lists were compared, and none differed" test "${compared:-0}" -gt "$steps"
    expect "all states are equal" cmp -s "$top/plain" "$top/patched"
    expect "there were states" grep -q "^step $steps: " "$top/plain"
    echo "$about: $server: $(tail -n 1 "$top/patched"), ${compared:-no} lists compared"
    for option in "$checked" "-javaagent:$agent"; do
        run stress "$option" org.elasticsearch.cluster.routing.Stress "$stress_s" 3 "$seed"
        expect "stress, ${option%%:*}: no list is wrong" test "$code" = 0
        [[ $option != -javaagent:* ]] || expect "stress: the agent is active" says 1 "^trimtab-livefix: active"
        echo "$about: $server: ${option%%:*}: $(tail -n 1 "$top/stress")"
    done
done

for server in $unneeded; do
    root=org.elasticsearch
    [[ $server != opensearch-* ]] || root=org.opensearch
    rm -rf "$top/classes"
    javac -d "$top/classes" lab/livefix/src/Load.java
    run load -javaagent:"$agent" Load "$root.cluster.routing.RoutingNode"
    expect "its class loads" grep -q "^loaded" "$top/load"
    expect "one line says that it is not needed" says 1 "^trimtab-livefix: not needed, the server runs unchanged: "
done

echo "$about: $passed passed, $failed failed"
[ "$failed" = 0 ]
