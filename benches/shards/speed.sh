#!/usr/bin/env bash
# The shard scheduler compared with the real allocation service of 7.4.0, 7.6.0 and 7.17.28 in one run, then
# alone with up to a million shards: prints Markdown. Half an hour, mostly for 7.4.0; needs Maven and a
# quiet machine.
#
#   benches/shards/speed.sh
#   VERSIONS=7.17.28 SHAPES=500x5x1@2 LARGE= benches/shards/speed.sh
#
# SHAPES are measured on both sides, LARGE only here: INDICESxPRIMARIESxCOPIES@NODES. BUDGET_S: seconds per
# figure. CPU: the core to pin everything to, if set. RAW: a file for the raw figures.
set -euo pipefail
cd "$(dirname "$0")/../.."
versions=${VERSIONS-7.4.0 7.6.0 7.17.28}
shapes=${SHAPES-500x5x1@2 1000x5x1@2 2000x5x1@2 5000x5x1@2 500x5x1@10 1000x5x1@10 2000x5x1@10 5000x5x1@10}
large=${LARGE-20000x5x1@2 60000x5x1@2 200000x5x1@2 20000x5x1@100 60000x5x1@100 200000x5x1@100 20000x5x1@1000 60000x5x1@1000 200000x5x1@1000}
raw=${RAW:-$(mktemp)}
[ -n "${RAW:-}" ] || trap 'rm -f "$raw"' EXIT
pinned=()
[ -z "${CPU:-}" ] || pinned=(taskset -c "$CPU")

cargo build --locked --release -q -p shards --example speed
speed=${CARGO_TARGET_DIR:-target}/release/examples/speed
{
    if [ -n "$versions" ]; then
        VERSIONS=$versions SHAPES=$shapes "${pinned[@]}" benches/shards/measure.sh
    fi
    # shellcheck disable=SC2086 # one argument for each shape
    "${pinned[@]}" "$speed" "${BUDGET_S:-4}" $shapes $large
} >"$raw"
python3 benches/shards/table.py "$raw"
