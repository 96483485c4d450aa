#!/usr/bin/env bash
# Drives the master of a real Elasticsearch with a desired balance: reads and writes lines of JSON, described
# in common/DesiredDriver.java.
#
#   lab/shards/desired/run.sh VERSION            compiles the driver if its source is newer, and runs it
#   lab/shards/desired/run.sh VERSION --build    only compiles it
#
# VERSION is 8.19.12 or 9.2.0.
#
# The jars are fetched through Maven as configured on this machine, and cached in
# ${TRIMTAB_CACHE:-~/.cache/trimtab}/shards. Exit code 77: they are unavailable, and the last line says
# why.
#
#   HEAP     heap size of the JVM: 1g
#   SALT     the order of Java's immutable maps and sets, which the servers follow: 1
set -euo pipefail
cd "$(dirname "$0")"
version=$1
# shellcheck source=lab/shards/jars.sh
. ../jars.sh
cache=$server_jars

skip() {
    echo "$*" >&2
    exit 77
}
die() {
    echo "run.sh: $*" >&2
    exit 2
}

# Sources, and the Java release that the version needs.
case $version in
8.19.*) sources=(common 8.19) release=17 ;;
9.2.*) sources=(common 9.2) release=21 ;;
*) die "there is no driver for $version" ;;
esac

# 9.2 asserts that limits of recoveries are above 0.
unchecked=(-da:org.elasticsearch.cluster.routing.allocation.allocator.BalancedShardsAllocator)

# Prints the folder of a Java of at least the release: the one in the path, or another that is installed.
java_home() {
    local home found
    for home in "$(dirname "$(dirname "$(readlink -f "$(command -v javac || echo /usr/bin/javac)")")")" /usr/lib/jvm/*; do
        [ -x "$home/bin/javac" ] || continue
        found=$("$home/bin/javac" -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')
        [ "${found:-0}" -lt "$release" ] || { echo "$home"; return; }
    done
    return 1
}

# Compiled classes are cached by a hash of their sources, so that two clones do not use each other's.
compile() {
    local files work
    mapfile -t files < <(find "${sources[@]}" -name '*.java' | sort)
    classes=$cache/classes-$(cat "${files[@]}" | sha256sum | cut -c1-16)
    [ ! -d "$classes" ] || return 0
    work=$(mktemp -d "$cache/.classes.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    "$java/bin/javac" -nowarn -Xlint:-removal -proc:none -encoding UTF-8 --release "$release" -cp "$jars/*" -d "$work" "${files[@]}" >&2 ||
        die "the driver does not compile"
    mv -T "$work" "$classes"
    trap - EXIT
}

java=$(java_home) || skip "a JDK of release $release or later is missing (Debian package default-jdk-headless)"
jars=$(jars "$version") || exit
# Of two concurrent runs, the second waits.
exec 9>"$cache/.lock"
flock 9
compile
exec 9>&-
[ "${2:-}" != --build ] || exit 0
# Server assertions detect states that the server would never produce. A single thread works for a few
# minutes at most, so the optimizing compiler does not pay off.
exec "$java/bin/java" -Xmx"${HEAP:-1g}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
    -ea:org.elasticsearch... "${unchecked[@]}" -Dorg.apache.logging.log4j.simplelog.StatusLogger.level=OFF \
    -Dlog4j2.level=OFF -Dlog4j2.disable.jmx=true \
    -cp "$classes:$jars/*" DesiredDriver "${SALT:-1}"
