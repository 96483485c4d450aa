#!/usr/bin/env bash
# The clusters of the article about a master that took 58 s to create an index, on the real server code: how
# long a reroute and the creation of an index take the master, task by task until all copies have started.
# Prints Markdown: processor time of the master's thread, the median with minimum and maximum.
#
#   benches/shards/article.sh            twenty minutes on a quiet machine: one reroute of 7.4.0 takes seconds
#   SCALE=10 benches/shards/article.sh   a tenth of the indices, as a quick test: two minutes
#
# VERSIONS: versions to measure. ROWS: a file with results, which are not measured again. BUDGET_S: seconds
# per figure; each is measured at least twice, unless it takes a minute.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=benches/shards/jars.sh
. ./jars.sh
scale=${SCALE:-1}
small=$((5000 / scale))x5x1@2
indices=$((10000 / scale)) closed=$((9000 / scale))
apart=${indices}x5x1@10+2-$closed
everywhere=${indices}x5x1@12-$closed

rows=${ROWS:-$work/rows}
touch "$rows"
for version in ${VERSIONS-7.4.0 7.6.0 7.17.28 7.1.1}; do
    shapes=("$small" "$apart" "$everywhere")
    # Only this version keeps closed indices in its table and is slowed down by them; measured without, to
    # compare.
    [ "$version" != 7.4.0 ] || shapes+=("${apart}out" "${everywhere}out")
    cases=()
    for shape in "${shapes[@]}"; do
        for operation in reroute/least create/least create/most; do
            grep -qF "$version,${operation/\//,},$shape," "$rows" || cases+=("$operation:$shape")
        done
    done
    [ ${#cases[@]} = 0 ] || measured Operations "$version" "${BUDGET_S:-20}" "${cases[@]}" >>"$rows"
done

echo "| cluster | version | copies in its table | reroute | creating an index, at least | at most |"
echo "|---|---|---|---|---|---|"
for shape in "$small" "$apart" "${apart}out" "$everywhere" "${everywhere}out"; do
    sort -s -t. -k1,1n -k2,2n "$rows" | awk -F, -v shape="$shape" '
        # The median, with minimum and maximum.
        function time(    unit, digits, spread) {
            unit = $9 < 1000 ? 1 : 1000
            digits = $9 < 10 ? 1 : $9 < 1000 ? 0 : 1
            spread = $8 == 1 ? "once" : sprintf("%.*f-%.*f", digits, $10 / unit, digits, $11 / unit)
            return sprintf("%.*f %s (%s)", digits, $9 / unit, unit == 1 ? "ms" : "s", spread)
        }
        function thousands(n) { return n < 1000 ? n : int(n / 1000) sprintf(",%03d", n % 1000) }
        function cell(what) { return (version, what) in cells ? cells[version, what] : "not measured" }
        $4 == shape {
            if (!($1 in copies)) {
                versions[++count] = $1
                copies[$1] = $5
            }
            cells[$1, $2 "/" $3] = ($2 == "create" ? $6 " reroutes, " : "") time()
        }
        END {
            split(shape, part, /[x@+-]/)
            at = part[4] " nodes"
            if (shape ~ /\+/) {
                at = at ", closed indices on " part[5] " more"
            }
            indices = thousands(part[1]) " indices x 5"
            if (shape ~ /-/) {
                gone = part[shape ~ /\+/ ? 6 : 5]
                out = sub("out", "", gone)
                gone += 0
                indices = indices ", " thousands(gone) " closed" (out ? " and taken out" : "")
            }
            for (i = 1; i <= count; i++) {
                version = versions[i]
                printf "| %s; %s | %s | %s | %s | %s | %s |\n", indices, at, version, thousands(copies[version]),
                    cell("reroute/least"), cell("create/least"), cell("create/most")
            }
        }'
done
