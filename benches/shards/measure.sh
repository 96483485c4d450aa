#!/usr/bin/env bash
# How long a reroute, and creating and deleting an index, take on the master, measured with the real server
# code of several versions.
#
#   benches/shards/measure.sh                      the grid of the cost model, as CSV: an hour on a quiet machine
#   VERSIONS="7.4.0 7.6.0" SHAPES="500x5x1@2" benches/shards/measure.sh
#
# Three versions side by side, from 2,500 to 25,000 shards, on 2 and on 10 nodes:
#
#   VERSIONS="7.4.0 7.6.0 7.17.28" SHAPES="$(printf '%sx5x1@2 ' 500 1000 2000 5000; printf '%sx5x1@10 ' 500 1000 2000 5000)" benches/shards/measure.sh
#
# A shape is INDICESxPRIMARIESxCOPIES@NODES; see also Cluster.java. Rows named `reroute` are a reroute with
# nothing to do, `create` the reroute in the task that creates an index. BUDGET_S: seconds per figure.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=benches/shards/jars.sh
. ./jars.sh

shapes=${SHAPES:-200x5x1@2 500x5x1@2 1000x5x1@2 2000x5x1@2 3500x5x1@2 5000x5x1@2 200x5x1@10 500x5x1@10 1000x5x1@10 2000x5x1@10 5000x5x1@10 1000x5x2@10 5000x5x1@10-4500 500x5x2@40 2000x5x2@40}
echo "version,operation,nodes,indices,closed_indices,primaries,replicas,routed_copies,cpu_ms_median,cpu_ms_min,cpu_ms_max,runs,digest"
for version in ${VERSIONS:-6.8.23 7.1.1 7.4.0 7.6.0 7.17.28}; do
    # shellcheck disable=SC2086 # one argument for each shape
    measured Measure "$version" "${BUDGET_S:-4}" $shapes
done
