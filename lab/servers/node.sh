#!/usr/bin/env bash
# Fetches, starts and stops one node of a real Elasticsearch or OpenSearch.
#
#   lab/servers/node.sh fetch SERVER             prints the archive's path
#   lab/servers/node.sh start SERVER DATA RUN    prints the URL once the cluster responds
#   lab/servers/node.sh stop RUN                 stops the node and removes RUN; keeps the data
#   lab/servers/node.sh list
#
# The archive is fetched through Maven as configured on this machine, and cached by version in
# ${TRIMTAB_CACHE:-~/.cache/trimtab}/servers. RUN is a new directory for the unpacked server, its
# configuration and its logs. The node listens on loopback only, on ports chosen by the kernel. If started
# by root it runs under a user id without an account, otherwise as the current user. Exit code 77: the
# server is unavailable, and the last line says why.
#
#   HEAP    heap size of the JVM: 512m
#   JOIN    none: other nodes may join this one; the RUN of such a node: join it as another data node
#           (same version). By default the node stays alone.
#   NAME    the name of a node that joins: n2
#   OPTIONS more options of the JVM: -javaagent:/somewhere.jar
#   DISKS   1: the disk decider stays switched on, with watermarks that no disk reaches
#   ROLES   roles of the node instead of the server's defaults (7.9 or later): "[master, data_hot]"
#   ATTRS   attributes of the node: "zone=a rack=r1"
#   PLUGIN  directory of a plugin that the node loads
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
# Coordinates in Maven Central and the archive's SHA-256. The archives made for integration tests are a
# third of the size of the full ones; 6.8 has none.
servers="
elasticsearch-6.8.23 org.elasticsearch.distribution.zip:elasticsearch:6.8.23:zip 490e9b9fbab9ffb3499938c45850318bd6554d439497842450b60ef22c114fb6
elasticsearch-7.17.28 org.elasticsearch.distribution.integ-test-zip:elasticsearch:7.17.28:zip 37004c9bd95165eb41b229204bbb9f311d8099d6db22ec22b2f019664f0a75ab
opensearch-2.19.1 org.opensearch.distribution.integ-test-zip:opensearch:2.19.1:zip af7152d8b7f6f1cee09d47276b32b70479fe6dd8cdbb61213f84eb7f8098b261
"
# Supported but not listed: only needed by test-cluster.sh and moves.py.
others="
elasticsearch-8.11.0 org.elasticsearch.distribution.integ-test-zip:elasticsearch:8.11.0:zip 97233f3c34721fde97b81c65fe83a8b78410a85f66ad7b0989d2fa063a50f862
elasticsearch-8.19.16 org.elasticsearch.distribution.integ-test-zip:elasticsearch:8.19.16:zip c3d95992e27741b33a8057118379cda8b17cfda9e46ff4ec25e3f5b94fc22b52
elasticsearch-9.2.0 org.elasticsearch.distribution.integ-test-zip:elasticsearch:9.2.0:zip bf44938a0490ba2a303d39c9cb64b38963dd08c812ce93e10816e878585bcb6b
opensearch-3.0.0 org.opensearch.distribution.integ-test-zip:opensearch:3.0.0:zip 6c118171bb941ecc195851fcc7f28c310913a2249d197ee77091a10b6ac6b885
elasticsearch-7.4.2 org.elasticsearch.distribution.integ-test-zip:elasticsearch:7.4.2:zip 3dc850939eaee5e85488a90cecd954455ab93b34530d8313237c29c653ca0e4b
elasticsearch-7.2.0 org.elasticsearch.distribution.integ-test-zip:elasticsearch:7.2.0:zip e407e21edf873e2867847946db4999bc60592574a7655c10095a68c8bb06815c
elasticsearch-7.5.2 org.elasticsearch.distribution.integ-test-zip:elasticsearch:7.5.2:zip 1b7ece67555965c58de9ff5e67b6838d25d2f63a558933e125409a856765a656
"
# Time after which a start or stop counts as hung; not a performance limit.
PATIENCE_S=300
UID_FIRST=58200 UID_LAST=58299

# shellcheck source=lab/servers/run.sh
. "$(dirname "${BASH_SOURCE[0]}")/run.sh"

# Sets artifact and sum.
find_server() { # SERVER
    local name
    while read -r name artifact sum; do
        [ "$name" != "$1" ] || return 0
    done <<<"$servers$others"
    die "unknown server '$1': $(awk 'NF { print $1 }' <<<"$servers" | xargs)"
}

has_sum() { # FILE SUM
    [ "$(sha256sum "$1" 2>/dev/null | cut -d' ' -f1)" = "$2" ]
}

fetch() { # SERVER
    find_server "$1"
    local cache=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/servers
    local archive=$cache/$1.zip work
    mkdir -p "$cache"
    # Of two concurrent fetches, the second waits.
    exec 9>"$cache/.lock"
    flock 9
    if ! has_sum "$archive" "$sum"; then
        command -v mvn >/dev/null || skip "mvn is missing (Debian package maven)"
        work=$(mktemp -d "$cache/.fetch.XXXXXX")
        # shellcheck disable=SC2064
        trap "rm -rf '$work'" EXIT
        echo "== fetching $1 with Maven" >&2
        # Compare with the known checksum; for some archives the repository has none.
        if ! timeout "$PATIENCE_S" mvn -B -q dependency:get -Dtransitive=false -Dartifact="$artifact" \
            >"$work/log" 2>&1 ||
            ! timeout "$PATIENCE_S" mvn -B -q -o dependency:copy -Dartifact="$artifact" \
                -DoutputDirectory="$work/out" >>"$work/log" 2>&1; then
            skip "Maven cannot fetch $artifact: $(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")"
        fi
        set -- "$work"/out/*.zip
        has_sum "$1" "$sum" || die "$artifact has an unexpected checksum: SHA-256 $(sha256sum "$1" | cut -c1-64)"
        mv "$1" "$archive"
        rm -rf "$work"
        trap - EXIT
    fi
    exec 9>&-
    echo "$archive"
}

# A Java version that runs the server: at least 17, for the latest 21; 24 removed the security manager,
# which only they do without.
find_java() { # SERVER
    local home version from=17 to=23
    case $1 in
    elasticsearch-9.* | opensearch-3.*) from=21 to=25 ;;
    esac
    for home in /usr/lib/jvm/java-17-openjdk* /usr/lib/jvm/* "${JAVA_HOME:-}" "$(realpath -q "$(command -v java)" | sed 's,/bin/java$,,')"; do
        [ -x "$home/bin/java" ] || continue
        version=$("$home/bin/java" -XshowSettings:properties -version 2>&1 |
            sed -n 's/^ *java.specification.version = //p')
        if [[ $version =~ ^[0-9]+$ ]] && [ "$version" -ge $from ] && [ "$version" -le $to ]; then
            echo "$home"
            return 0
        fi
    done
    skip "java $from to $to is missing (Debian package openjdk-$from-jre-headless)"
}

# A user id that has neither an account nor a process.
free_uid() {
    local uid
    for ((uid = UID_FIRST; uid <= UID_LAST; uid++)); do
        if ! getent passwd "$uid" >/dev/null && [ -z "$(ps -o pid= -U "$uid")" ]; then
            echo "$uid"
            return 0
        fi
    done
    die "no user id from $UID_FIRST to $UID_LAST is free"
}

require_tools() {
    local tool
    for tool in python3 curl setpriv ps; do
        command -v "$tool" >/dev/null || skip "$tool is missing"
    done
}

configure() { # SERVER HOME DATA RUN
    local product=${1%%-*} options=$2/config/jvm.options
    {
        echo "cluster.name: lab-$1"
        echo "network.host: 127.0.0.1"
        local seeds=discovery.seed_hosts
        [[ $1 != elasticsearch-6.* ]] || seeds=discovery.zen.ping.unicast.hosts
        case ${JOIN:-} in
        "") printf '%s\n' "node.name: n1" "discovery.type: single-node" ;;
        none)
            printf '%s\n' "node.name: n1" "$seeds: []"
            [[ $1 == elasticsearch-6.* ]] || echo "cluster.initial_master_nodes: [n1]"
            ;;
        *) printf '%s\n' "node.name: ${NAME:-n2}" "$seeds: ['$(head -n 1 "$JOIN/logs/transport.ports")']" ;;
        esac
        if [ -n "${ROLES:-}" ]; then
            echo "node.roles: $ROLES"
        elif [[ ${JOIN:-none} != none && $1 =~ ^(elasticsearch-[67]|opensearch-2)\. ]]; then
            echo "node.master: false"
        fi
        local attribute
        for attribute in ${ATTRS:-}; do echo "node.attr.${attribute%%=*}: ${attribute#*=}"; done
        case $1 in
        elasticsearch-[89].*) echo "xpack.security.enabled: false" ;;
        esac
        # The kernel picks both ports; the node writes its choice to http.ports, next to its logs.
        echo "http.port: 0"
        echo "transport.port: 0"
        echo "node.portsfile: true"
        echo "path.data: $3"
        echo "path.logs: $4/logs"
        # A small filesystem fills up quickly, which does not matter here.
        if [ "${DISKS:-}" = 1 ]; then
            for mark in low high flood_stage; do echo "cluster.routing.allocation.disk.watermark.$mark: 1b"; done
        else
            echo "cluster.routing.allocation.disk.threshold_enabled: false"
        fi
        case $1 in
        elasticsearch-6.*)
            for part in ml security monitoring watcher; do echo "xpack.$part.enabled: false"; done
            ;;
        esac
    } >"$2/config/$product.yml"
    case $1 in
    elasticsearch-6.* | elasticsearch-7.[0-5].*)
        # The default options name a collector that was removed in Java 14.
        cat >"$options" <<'OPTIONS'
-XX:+UseG1GC
-Xss1m
-Djava.awt.headless=true
-Dfile.encoding=UTF-8
-Djna.nosys=true
-Dio.netty.noUnsafe=true
-Dio.netty.noKeySetOptimization=true
-Dio.netty.recycler.maxCapacityPerThread=0
-Dio.netty.allocator.type=unpooled
-Dlog4j.shutdownHookEnabled=false
-Dlog4j2.disable.jmx=true
-Dlog4j2.formatMsgNoLookups=true
-Djava.security.manager=allow
--add-opens=java.base/java.lang=ALL-UNNAMED
--add-opens=java.base/java.io=ALL-UNNAMED
--add-opens=java.base/java.nio=ALL-UNNAMED
--add-opens=java.base/sun.nio.ch=ALL-UNNAMED
--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED
OPTIONS
        ;;
    esac
}

start() { # SERVER DATA RUN
    local server=$1 product=${1%%-*} data run archive java home address give_up heap=${HEAP:-512m}
    local as=()
    require_tools
    java=$(find_java "$server")
    archive=$(fetch "$server")
    mkdir -p "$2"
    mkdir "$3" || die "$3 must be a new directory"
    data=$(realpath "$2") run=$(realpath "$3")
    mkdir "$run/logs" "$run/tmp"
    python3 -m zipfile -e "$archive" "$run"
    home=$(echo "$run/$server"*)
    # The unpacker drops file modes; 6.8 starts a program of its own even with machine learning disabled.
    find "$home/bin" "$home/modules" -path '*/bin/*' -type f -exec chmod a+x {} +
    configure "$server" "$home" "$data" "$run"
    [ -z "${PLUGIN:-}" ] || cp -r "$PLUGIN" "$home/plugins/"
    if [ "$(id -u)" = 0 ]; then
        local uid
        uid=$(free_uid)
        chown -R "$uid:$uid" "$run" "$data"
        chmod 755 "$run"
        as=(setpriv "--reuid=$uid" "--regid=$uid" --clear-groups --no-new-privs)
        "${as[@]}" test -w "$data" -a -x "$home" ||
            die "user $uid cannot access $data and $run: a parent directory is not accessible to others"
    fi
    cd "$run"
    # The start scripts end in exec, so this is the server's own process id. Its standard output must not
    # keep the caller's pipe open.
    setsid "${as[@]}" env -i PATH="$PATH" HOME="$run" JAVA_HOME="$java" \
        ES_JAVA_HOME="$java" ES_PATH_CONF="$home/config" ES_TMPDIR="$run/tmp" \
        ES_JAVA_OPTS="-Xms$heap -Xmx$heap ${OPTIONS:-}" \
        OPENSEARCH_JAVA_HOME="$java" OPENSEARCH_PATH_CONF="$home/config" OPENSEARCH_TMPDIR="$run/tmp" \
        OPENSEARCH_JAVA_OPTS="-Xms$heap -Xmx$heap ${OPTIONS:-}" \
        "$home/bin/$product" </dev/null >"$run/out" 2>&1 &
    local pid=$!
    echo "$pid" >"$run/pid"
    give_up=$((SECONDS + PATIENCE_S))
    until [ -s "$run/logs/http.ports" ] && address=$(head -n 1 "$run/logs/http.ports") &&
        curl -fsS -m 5 -o /dev/null "http://$address/_cluster/health?wait_for_status=yellow&timeout=4s" 2>/dev/null; do
        if ! kill -0 "$pid" 2>/dev/null || [ "$SECONDS" -ge "$give_up" ]; then
            echo "node.sh: $server did not start:" >&2
            grep -vE '^\s+at ' "$run/out" | tail -n 15 | cut -c1-300 >&2
            stop "$run"
            exit 1
        fi
        sleep 0.2
    done
    echo "http://$address"
}

case "${1:-} $#" in
"fetch 2")
    # Fetching is only useful if the server can be started as well.
    require_tools
    find_java "$2" >/dev/null
    fetch "$2"
    ;;
"start 4") start "$2" "$3" "$4" ;;
"stop 2") stop "$2" ;;
"list 1") awk 'NF { print $1 }' <<<"$servers" ;;
*) die "usage: node.sh fetch SERVER | start SERVER DATA RUN | stop RUN | list" ;;
esac
