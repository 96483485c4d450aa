# shellcheck shell=bash
# Sourced: runs programs on the real server's code.
#
# Provides $work, a directory that is removed at exit; jars, measured.
# shellcheck source=lab/shards/jars.sh
. ../../lab/shards/jars.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs one of the programs here with the code of a version, which is also its first argument.
measured() { # PROGRAM VERSION ARGUMENT...
    local program=$1 version=$2 dir
    shift 2
    dir=$(jars "$version") || exit
    [ -e "$work/$program.class" ] || javac -d "$work" ./*.java
    java -Xms2g -Xmx4g -XX:+UseParallelGC -Dhppc.bitmixer=DETERMINISTIC -cp "$work:$dir/*" "$program" "$version" "$@" 2>"$work/err" ||
        { tail -n 20 "$work/err" >&2; exit 1; }
}
