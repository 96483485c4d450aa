#!/usr/bin/env bash
# Speedup of a sweep on all cores: the same grid with one simulation at a time and with one per core,
# alternating; the best of three rounds each. Prints Markdown. make bench-ssd runs it last.
#
#   benches/ssd/sweep.sh
#   TRIMTAB=target/debug/trimtab benches/ssd/sweep.sh      with an existing binary
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${TRIMTAB:-}" ]; then
    cargo build --locked -q --release -p trimtab >&2
    TRIMTAB=${CARGO_TARGET_DIR:-target}/release/trimtab
fi
grid=(ssd sweep --capacity 1TB --writes-per-day 1TB --simulated-pages "${PAGES:-256Ki}" --days 7
    --op "7%,15%,25%,28%" --policy "greedy,fifo,d-choices:2,d-choices:10" --format markdown)
cores=$(nproc)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Seconds for the grid, with the given number of simulations at a time.
seconds() {
    local start=$EPOCHREALTIME
    "$TRIMTAB" "${grid[@]}" --jobs "$1" >"$dir/$1"
    awk -v start="$start" -v end="$EPOCHREALTIME" 'BEGIN { printf "%.2f\n", end - start }'
}

least() {
    sort -n "$1" | head -n 1
}

for _ in 1 2 3; do
    seconds 1 >>"$dir/one.s"
    seconds "$cores" >>"$dir/all.s"
done
cmp "$dir/1" "$dir/$cores"
one=$(least "$dir/one.s")
all=$(least "$dir/all.s")
echo "A sweep of 16 drives of ${PAGES:-256Ki} simulated pages: the best of three rounds by the clock, load average $(cut -d ' ' -f 1 /proc/loadavg)."
echo
echo "| simulations at a time | seconds | ratio |"
echo "|---|---|---|"
echo "| 1 | $one | 1 |"
awk -v cores="$cores" -v one="$one" -v all="$all" 'BEGIN { printf "| %d | %s | %.2f |\n", cores, all, one / all }'
