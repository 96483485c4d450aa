#!/usr/bin/env bash
# The load driver beside wrk on the same responder: requests per second, and per second of CPU time of the driver.
#
#   benches/bench.sh
#   SECONDS_EACH=10 ROUNDS=5 CLIENTS=16 benches/bench.sh
#
# Needs wrk (Debian's package) and two idle cores: one for the responder, one for the driver. Rounds alternate, and
# each ratio is that of two runs side by side; the last line has the best run of each, which other work on the machine
# disturbs least. Then the driver runs in an open loop against planted stalls of 100 ms
# each second, where the 99th percentile is 90 ms and the maximum 100 ms. On request it prints the memory of a run of
# MEMORY_S seconds, kills the driver KILLS times at a random moment and prints how much of its last seconds is missing,
# and, as root, fills a trial's file system (FULL=1). STALLS=1 and RALLY=1 run benches/bench/stalls.sh and rally.sh
# instead, with what else they take from the environment.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ -z ${STALLS:-} ]] || exec benches/bench/stalls.sh
[[ -z ${RALLY:-} ]] || exec benches/bench/rally.sh
command -v wrk >/dev/null || { echo "wrk is missing: apt-get install wrk" >&2; exit 2; }
target=${CARGO_TARGET_DIR:-target}/release/examples
if [[ -z ${NO_BUILD:-} ]]; then
    cargo build --locked -q --release -p bench --features testing --examples >&2
fi
seconds=${SECONDS_EACH:-5} rounds=${ROUNDS:-5} clients=${CLIENTS:-16} address=127.0.0.1:${PORT:-9400}
"$target/respond" "$address" >/dev/null & responder=$!
trap 'kill $responder 2>/dev/null || true' EXIT
sleep 1
TIMEFORMAT='%U %S'
echo "round  driver req/s  wrk req/s  ratio  driver req/CPU-s  wrk req/CPU-s  ratio"
for round in $(seq "$rounds"); do
    driver=$("$target/drive" "$address" closed "$clients" "$seconds")
    read -r driver_rate driver_cpu < <(sed -nE 's/^([0-9]+) requests\/s,.* ([0-9]+) requests per CPU.*/\1 \2/p' <<<"$driver")
    wrk_time=$({ time wrk -t1 "-c$clients" "-d${seconds}s" "http://$address/" >"/tmp/wrk.$$"; } 2>&1)
    wrk_rate=$(awk '/Requests\/sec/ { printf "%d", $2 }' "/tmp/wrk.$$")
    wrk_total=$(awk '/requests in/ { print $1 }' "/tmp/wrk.$$")
    rm -f "/tmp/wrk.$$"
    awk -v n="$round" -v dr="$driver_rate" -v wr="$wrk_rate" -v dc="$driver_cpu" -v total="$wrk_total" -v t="$wrk_time" \
        'BEGIN { split(t, part, " "); wc = total / (part[1] + part[2])
                 printf "%5d  %12d  %9d  %5.2f  %16d  %13d  %5.2f\n", n, dr, wr, dr / wr, dc, wc, dc / wc }'
done | awk '
    { print; fflush() }
    { for (i = 2; i <= 6; i++) if ($i > best[i]) best[i] = $i }
    END { printf " best  %12d  %9d  %5.2f  %16d  %13d  %5.2f\n", best[2], best[3], best[2] / best[3], best[5], best[6],
              best[5] / best[6] }'
kill $responder
wait $responder 2>/dev/null || true
echo
echo "Stalls of 100 ms each second, 1,000 requests/s planned: p99 90 ms, max 100 ms expected"
"$target/respond" "$address" 100 >/dev/null & responder=$!
sleep 1
"$target/drive" "$address" open 1000 "$((seconds * 2))"
kill $responder
wait $responder 2>/dev/null || true
if [[ ${MEMORY_S:-0} -gt 0 ]]; then
    echo
    echo "Resident memory of a run of $MEMORY_S s"
    "$target/respond" "$address" >/dev/null & responder=$!
    sleep 1
    DRIVE_MEMORY=1 /usr/bin/time -v "$target/drive" "$address" closed "$clients" "$MEMORY_S" 2>&1 |
        awk '/VmRSS/ && NR % 20 != 1 { next } /VmRSS|requests|ended|Maximum resident|Swaps|Exit/'
    kill $responder
    wait $responder 2>/dev/null || true
fi
if [[ ${KILLS:-0} -gt 0 ]]; then
    echo
    echo "Killed $KILLS times: requests that are readable, and how long before the kill they end"
    "$target/respond" "$address" >/dev/null & responder=$!
    sleep 1
    trials=$(mktemp -d)
    for kill in $(seq "$KILLS"); do
        "$target/drive" "$address" closed "$clients" 600 1 "$trials/$kill" >/dev/null & driver=$!
        sleep "$((2 + RANDOM % 4)).$(printf %03d "$((RANDOM % 1000))")"
        killed=$(date +%s.%N)
        kill -9 $driver
        wait $driver 2>/dev/null || true
        "$target/drive" read "$trials/$kill" | awk -v killed="$killed" '{ printf "%.2f s: %s\n", killed - $4, $0 }'
    done | sort -n
    rm -r "$trials"
    kill $responder
    wait $responder 2>/dev/null || true
fi
if [[ ${FULL:-0} -gt 0 ]]; then
    echo
    echo "A file system of 1 MiB for the trial"
    "$target/respond" "$address" >/dev/null & responder=$!
    sleep 1
    trial=$(mktemp -d)
    mount -t tmpfs -o size=1m tmpfs "$trial"
    trap 'umount "$trial"; kill $responder 2>/dev/null || true' EXIT
    "$target/drive" "$address" closed "$clients" 600 1 "$trial"
    "$target/drive" read "$trial"
    umount "$trial"
    trap 'kill $responder 2>/dev/null || true' EXIT
fi
