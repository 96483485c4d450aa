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
# shellcheck source=lab/shards/jars.sh
. ./jars.sh
cache=$server_jars

skip() {
    echo "$*" >&2
    exit 77
}
die() {
    echo "run.sh: $*" >&2
    exit 2
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
jars=$(jars "$VERSION") || exit
# Of two concurrent runs, the second waits.
exec 9>"$cache/.lock"
flock 9
compile
exec 9>&-
[ "${1:-}" != --build ] || exit 0
# Server assertions detect states that the server would never produce. The bit mixer gives hppc's hash
# maps a reproducible order. A single thread works for a few minutes at most, so the optimizing compiler
# does not pay off.
exec java -Xmx"${HEAP:-1g}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
    -ea:org.elasticsearch... -Dhppc.bitmixer=DETERMINISTIC -Dorg.apache.logging.log4j.simplelog.StatusLogger.level=OFF \
    -Dlog4j2.level=OFF -Dlog4j2.disable.jmx=true \
    -cp "$classes:$jars/*" Driver
