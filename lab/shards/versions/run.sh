#!/usr/bin/env bash
# Drives the allocation service of a real server of any version from 7.4 on: reads and writes lines of JSON,
# described in Versions.java.
#
#   lab/shards/versions/run.sh VERSION [--build]    8.4.3, opensearch-2.19.1
#
# Jars and exit codes as in ../desired/run.sh. OpenSearch 3 and Elasticsearch 9 need a Java of version 21 or
# later, looked for in /usr/lib/jvm.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=lab/shards/jars.sh
. ../jars.sh
version=$1 root=org.elasticsearch java=java
[[ $version != opensearch-* ]] || root=org.opensearch

skip() {
    echo "$*" >&2
    exit 77
}
command -v javac >/dev/null || skip "javac is missing (Debian package default-jdk-headless)"
if [[ $version == opensearch-3* || $version == 9* ]]; then
    java=$(find /usr/lib/jvm -path '*-2[1-9]*/bin/java' | sort | tail -n 1)
    [ -n "$java" ] || skip "$version needs Java 21 or later"
fi
jars=$(jars "$version") || exit
exec 9>"$server_jars/.lock"
flock 9
sources=(./*.java com/carrotsearch/randomizedtesting/RandomizedContext.java)
classes=$server_jars/classes-versions-$(cat "${sources[@]}" | sha256sum | cut -c1-16)
if ! [ -d "$classes" ]; then
    work=$(mktemp -d "$server_jars/.classes.XXXXXX")
    javac -nowarn -proc:none -encoding UTF-8 --release 11 -d "$work" "${sources[@]}" >&2 || {
        rm -rf "$work"
        echo "run.sh: the driver does not compile" >&2
        exit 2
    }
    mv -T "$work" "$classes"
fi
exec 9>&-
[ "${2:-}" != --build ] || exit 0
exec "$java" -Droot=$root -Xmx"${HEAP:-2g}" -XX:+UseSerialGC -XX:TieredStopAtLevel="${TIER:-1}" -XX:-UsePerfData \
    -Dhppc.bitmixer=DETERMINISTIC -Dlog4j2.level=OFF -Dlog4j2.disable.jmx=true \
    -Dorg.apache.logging.log4j.simplelog.StatusLogger.level=OFF -cp "$classes:$jars/*" Versions
