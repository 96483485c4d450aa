#!/usr/bin/env bash
# What load drivers say of a server that stalls, when they have CPU time and when they have not.
#
#   benches/bench/stalls.sh
#   WRK2=~/wrk2/wrk OHA=~/.cargo/bin/oha ROUNDS=3 RATE=500 SECONDS_EACH=30 QUOTAS_MS="4 1" benches/bench/stalls.sh
#
# The responder stalls for 100 ms each second. The drivers plan RATE requests/s at equal distances, so the 99th
# percentile is 90 ms and the maximum 100 ms, and the time of service comes on top. Every driver has CONNECTIONS
# connections; with fewer than RATE / 10, requests wait for one in a stall. Drivers take turns, in ROUNDS rounds.
# Then each again with a limit of QUOTAS_MS of CPU time in each 100 ms; the server does the same, and a driver that
# cannot measure it should say so. As root, for the limit. What is missing of WRK2 and OHA is left out.
set -euo pipefail
cd "$(dirname "$0")/../.."
. benches/bench/group.sh
target=${CARGO_TARGET_DIR:-target}/release/examples
if [[ -z ${NO_BUILD:-} ]]; then
    cargo build --locked -q --release -p bench --features testing --examples >&2
fi
address=127.0.0.1:${PORT:-9400} rate=${RATE:-500} seconds=${SECONDS_EACH:-30} connections=${CONNECTIONS:-64}
wrk2=${WRK2:-$(command -v wrk2 || true)} oha=${OHA:-$(command -v oha || true)}
out=$(mktemp -d)
trap 'group_close; kill $responder 2>/dev/null || true; rm -rf "$out"' EXIT
# Other work on the machine must not lengthen the stalls.
chrt -f 10 true 2>/dev/null && real_time=(chrt -f 10) || real_time=()
"${real_time[@]}" "$target/respond" "$address" 100 >/dev/null & responder=$!
sleep 1

# Each prints median, 99th percentile and maximum in ms, requests/s, and what else the driver says.
ours() {
    DRIVE_CONNECTIONS=$connections group_run "$target/drive" "$address" open "$rate" "$seconds" >"$out/ours"
    awk '/requests\/s/ { rate = $1; if ($3) invalid = "; " $3 " failed" }
         $1 == "latency:" { p50 = $3; p99 = $6; max = $9 }
         $1 == "service:" { said = "service p99 " $6 " max " $9 }
         /own lateness:/ { said = said "; own lateness p99 " $7 " max " $10; next }
         $1 == "lateness:" { said = said "; lateness p99 " $6 " max " $9 }
         $1 == "heartbeat:" { said = said "; heartbeat p99 " $6 " max " $9 }
         /^INVALID/ { invalid = invalid "; " $0 }
         /^ended:/ && !/Complete/ { invalid = invalid "; " $0 }
         END { print p50, p99, max, rate, said invalid }' "$out/ours"
}
wrk2() {
    group_run "$wrk2" -t1 "-c$connections" "-R$rate" "-d${seconds}s" --latency "http://$address/" >"$out/wrk2"
    awk 'function ms(text) { return text ~ /us$/ ? text / 1000 : text ~ /ms$/ ? text + 0 : text ~ /m$/ ? text * 6e4 : text * 1000 }
         $1 == "50.000%" { p50 = ms($2) } $1 == "99.000%" { p99 = ms($2) } $1 == "100.000%" { max = ms($2) }
         /Requests\/sec/ { rate = $2 }
         END { print p50, p99, max, rate }' "$out/wrk2"
}
oha() { # [OPTION]
    group_run "$oha" --no-tui --output-format json -c "$connections" -q "$rate" -z "${seconds}s" "$@" \
        "http://$address/" >"$out/oha"
    python3 -c 'import json, sys
document = json.load(open(sys.argv[1]))
percentiles, summary = document["latencyPercentiles"], document["summary"]
print(*(1e3 * s for s in (percentiles["p50"], percentiles["p99"], summary["slowest"])), summary["requestsPerSec"])' "$out/oha"
}
oha_corrected() { oha --latency-correction; }

drivers=(ours)
[[ -z $wrk2 ]] || drivers+=(wrk2)
[[ -z $oha ]] || drivers+=(oha oha_corrected)
# CPU time of all but the driver and the responder so far, in s.
others_cpu_s() {
    awk -v all="$(machine_cpu_s)" -v group="$(group_cpu_s)" -v responder="$(process_cpu_s "$responder")" \
        'BEGIN { print all - group - responder }'
}
rounds() { # [QUOTA_MS]
    local n driver p50 p99 max sent said before began
    echo
    echo "| round | driver | requests/s | p50 ms | p99 ms | error | max ms | error | CPU | held back | foreign CPU | it says |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for n in $(seq "${ROUNDS:-3}"); do
        for driver in "${drivers[@]}"; do
            group_open "$@"
            [[ -z ${FIRST-1} ]] || group_first
            before=$(others_cpu_s)
            began=$EPOCHREALTIME
            read -r p50 p99 max sent said < <("$driver")
            awk -v n="$n" -v driver="${driver/_/ }" -v p50="$p50" -v p99="$p99" -v max="$max" -v sent="$sent" \
                -v cpu="$(group_cpu_s)" -v others="$(others_cpu_s) $before" -v s="$EPOCHREALTIME $began" \
                -v cpus="$(nproc)" -v held="$(group_held_back)" -v said="$said" 'BEGIN {
                split(others, other); split(s, at); elapsed = at[1] - at[2]
                printf "| %d | %s | %.0f | %.2f | %.1f | %+.1f %% | %.1f | %+.1f %% | %.1f %% | %s | %.0f %% | %s |\n", n,
                    driver, sent, p50, p99, 100 * (p99 / 90 - 1), max, 100 * (max / 100 - 1), 100 * cpu / elapsed, held,
                    100 * (other[1] - other[2]) / elapsed / cpus, said }'
            group_close
        done
    done
}
echo "Stalls of 100 ms each second, $rate requests/s, $connections connections: p99 90 ms, max 100 ms expected"
rounds ""
for quota_ms in ${QUOTAS_MS-4 1}; do
    echo
    echo "The same, each driver with at most $quota_ms ms of CPU time in 100 ms"
    rounds "$quota_ms"
done
