#!/usr/bin/env bash
# Closing and opening an index on the real server code, compared with the approximation of the cost model:
# each gateway query costs a reroute like that of index creation, each batch of started copies as much as a
# batch during index creation. Versions 7.4 and later. Prints Markdown.
#
#   benches/shards/open-close.sh                                  ten minutes on a quiet machine
#   VERSIONS=7.17.28 SHAPES=500x5x1@2 benches/shards/open-close.sh
#
# BUDGET_S: seconds per figure; each is measured at least twice, unless it takes a minute.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=benches/shards/jars.sh
. ./jars.sh

for version in ${VERSIONS:-7.4.0 7.17.28}; do
    cases=()
    for shape in ${SHAPES:-500x5x1@2 2000x5x1@2 5000x5x1@2 2000x5x1@10}; do
        cases+=("create/least:$shape" "close/least:$shape" "open/least:$shape")
    done
    measured Operations "$version" "${BUDGET_S:-10}" "${cases[@]}"
done >"$work/rows"

echo "| version | copies | nodes | operation | reroutes | measured ms | as the model has it | measured / model | task | answer | start | follow-up |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
awk -F, '
    $2 == "create" { task = $12; start = $14; follow = $15 }
    $2 == "close" || $2 == "open" {
        split($4, part, "@")
        model = ($6 - $7) * task + $7 * (start + follow)
        printf "| %s | %s | %s | %s | %d | %.1f (%.1f-%.1f) | %.1f | %.2f | %.1f | %.1f | %.1f | %.1f |\n",
            $1, $5, part[2], $2, $6, $9, $10, $11, model, $9 / model, $12, $13, $14, $15
    }' "$work/rows"
