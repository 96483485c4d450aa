#!/usr/bin/env bash
# What a reroute, and what creating and deleting an index take on the master, measured on the real server
# code of several versions.
#
#   benches/shards/measure.sh                      the grid of the cost model, as CSV: an hour on a quiet machine
#   VERSIONS="7.4.0 7.6.0" SHAPES="500x5x1@2" benches/shards/measure.sh
#
# Jars come through Maven as it is set up on this machine. BUDGET_S: seconds for each figure.
set -euo pipefail
cd "$(dirname "$0")"
cache=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/shards
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v mvn >/dev/null || { echo "mvn is missing (Debian package maven)" >&2; exit 77; }

# The jars of a version: prints the directory.
jars() { # VERSION
    local dir=$cache/$1
    if [ ! -e "$dir/complete" ]; then
        mkdir -p "$dir"
        cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>measured</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.elasticsearch</groupId><artifactId>elasticsearch</artifactId><version>$1</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-core</artifactId><version>2.11.1</version></dependency>
  </dependencies>
</project>
POM
        mvn -q -B --no-transfer-progress -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$dir" >&2
        touch "$dir/complete"
    fi
    echo "$dir"
}

versions=${VERSIONS:-6.8.23 7.1.1 7.4.0 7.6.0 7.17.28}
shapes=${SHAPES:-500x5x1@2 1000x5x1@2 2000x5x1@2 5000x5x1@2 500x5x1@10 1000x5x1@10 2000x5x1@10 5000x5x1@10 1000x5x2@10 5000x5x1@10-4500}
javac -d "$work" ./*.java
echo "version,operation,nodes,indices,closed_indices,primaries,replicas,routed_copies,cpu_ms_median,cpu_ms_min,cpu_ms_max,runs,digest"
for version in $versions; do
    dir=$(jars "$version")
    # shellcheck disable=SC2086 # one argument for each shape
    java -Xms2g -Xmx4g -XX:+UseParallelGC -Dhppc.bitmixer=DETERMINISTIC -cp "$work:$dir/*" Measure "$version" "${BUDGET_S:-4}" $shapes 2>"$work/err" ||
        { tail -n 20 "$work/err" >&2; exit 1; }
done
