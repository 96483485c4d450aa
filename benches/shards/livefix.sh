#!/usr/bin/env bash
# What the live fix brings: a reroute that finds nothing to do, and the one that creates an index, on the real servers'
# code without and with the agent, beside that of 7.6.0, which needs none.
#
#   benches/shards/livefix.sh
#   VERSIONS="7.4.0" SHAPE=5000x5x1@2 BUDGET_S=10 benches/shards/livefix.sh
#
# SHAPE as in measure.sh. Milliseconds of the master's thread, medians; the digest of the allocation after the create is
# the same in all columns of a row.
set -euo pipefail
cd "$(dirname "$0")"
agent=$(../../lab/livefix/build.sh)
# shellcheck source=benches/shards/jars.sh
. ./jars.sh
shape=${SHAPE:-5000x5x1@2}
# Prints the medians of `reroute` and `create`, and the digest of the latter.
figures() { # VERSION [JAVA_OPTION]
    JDK_JAVA_OPTIONS=${2:-} measured Measure "$1" "${BUDGET_S:-4}" "$shape" |
        awk -F, '$2 == "reroute" { r = $9 } $2 == "create" { print r, $9, $13 }'
}
reference=$(figures 7.6.0)
read -r reference_ms _ <<<"$reference"
echo "$shape; 7.6.0: $(awk '{ printf "reroute %.1f ms, create %.1f ms", $1, $2 }' <<<"$reference")"
echo
echo "| version | reroute, ms | with the fix | of 7.6.0's | create, ms | with the fix | same allocation |"
echo "|---|---:|---:|---:|---:|---:|---|"
for version in ${VERSIONS:-6.8.23 7.1.1 7.2.0 7.3.2 7.4.0 7.5.2}; do
    without=$(figures "$version")
    with=$(figures "$version" "-javaagent:$agent")
    awk -v version="$version" -v without="$without" -v with="$with" -v reference="$reference_ms" 'BEGIN {
        split(without, a); split(with, b)
        printf "| %s | %.0f | %.1f | %.2f | %.0f | %.1f | %s |\n", version, a[1], b[1], b[1] / reference, a[2], b[2],
            a[3] == b[3] ? "yes" : "NO" }'
done
