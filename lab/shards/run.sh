#!/usr/bin/env bash
# Drives the allocation service of the real Elasticsearch 7.4.0: reads and writes lines of JSON, described
# in src/Driver.java.
#
#   lab/shards/run.sh            compiles the driver if its source is newer, and runs it
#   lab/shards/run.sh --build    only compiles it
#
# The jars are fetched through Maven as configured on this machine, and cached in
# ${TRIMTAB_CACHE:-~/.cache/trimtab}/shards. Exit code 77: they are unavailable, and the last line says
# why.
#
#   HEAP    heap size of the JVM: 1g
set -euo pipefail
cd "$(dirname "$0")"
VERSION=7.4.0
SUM=c544a0df3ed1a341a04b80384acced2fc6eae62668b8c5504cbf1ef1b0b1f63b
cache=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/shards
jars=$cache/jars-$VERSION
PATIENCE_S=300

skip() {
    echo "$*" >&2
    exit 77
}
die() {
    echo "run.sh: $*" >&2
    exit 2
}

fetch() {
    local server=$jars/elasticsearch-$VERSION.jar work
    [ ! -f "$server" ] || return 0
    command -v mvn >/dev/null || skip "mvn is missing (Debian package maven)"
    work=$(mktemp -d "$cache/.fetch.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    echo "== fetching the jars of Elasticsearch $VERSION with Maven" >&2
    timeout "$PATIENCE_S" mvn -B -q -f pom.xml dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$work/jars" >"$work/log" 2>&1 ||
        skip "Maven cannot fetch the jars: $(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")"
    local found
    found=$(sha256sum "$work/jars/elasticsearch-$VERSION.jar" | cut -d' ' -f1)
    [ "$found" = "$SUM" ] || die "elasticsearch-$VERSION.jar has an unexpected checksum: SHA-256 $found"
    rm -rf "$jars"
    mv "$work/jars" "$jars"
    rm -rf "$work"
    trap - EXIT
}

# Compiled classes are cached by a hash of their sources, so that two clones do not use each other's.
compile() {
    local sources
    mapfile -t sources < <(find src -name '*.java' | sort)
    classes=$cache/classes-$(cat "${sources[@]}" | sha256sum | cut -c1-16)
    [ ! -d "$classes" ] || return 0
    command -v javac >/dev/null || skip "javac is missing (Debian package default-jdk-headless)"
    local work
    work=$(mktemp -d "$cache/.classes.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    javac -nowarn -proc:none -encoding UTF-8 --release 11 -cp "$jars/*" -d "$work" "${sources[@]}" >&2 ||
        die "the driver does not compile"
    mv -T "$work" "$classes"
    trap - EXIT
}

command -v java >/dev/null || skip "java is missing (Debian package default-jre-headless)"
mkdir -p "$cache"
# Of two concurrent runs, the second waits.
exec 9>"$cache/.lock"
flock 9
fetch
compile
exec 9>&-
[ "${1:-}" != --build ] || exit 0
# Server assertions detect states that the server would never produce. The bit mixer gives hppc's hash
# maps a reproducible order. A single thread works for a few minutes at most, so the optimizing compiler
# does not pay off.
exec java -Xmx"${HEAP:-1g}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
    -ea:org.elasticsearch... -Dhppc.bitmixer=DETERMINISTIC -Dorg.apache.logging.log4j.simplelog.StatusLogger.level=OFF \
    -Dorg.apache.logging.log4j.simplelog.level=OFF -Dlog4j2.disable.jmx=true \
    -cp "$classes:$jars/*" Driver
