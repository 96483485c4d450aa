#!/usr/bin/env bash
# The load driver beside wrk and Rally on a real server: requests per second, and per second of CPU time of the driver.
#
#   URL=http://127.0.0.1:9200 ESRALLY=~/venv/bin/esrally benches/bench/rally.sh
#   CLIENTS="1 8" ROUNDS=3 SECONDS_EACH=15 URL=... benches/bench/rally.sh
#
# GET / and a search on an index of one document, `trimtab-bench-rally`, which is made and deleted. `lab/servers/node.sh`
# starts a server. Rally runs an offline track of raw requests without a target throughput, and asks for answers that
# are not compressed, as the others do. It starts for seconds before it sends anything; so a race of one second is run
# too, and its CPU time and requests are subtracted. As root, for the CPU time of each driver with all its processes.
# Needs wrk, esrally and curl.
#
# A server whose answers have a `Warning` header, such as Elasticsearch 7.17 without security, slows Rally down several
# times: its client walks the call stack for each. This is printed; 6.8 has none.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."
. benches/bench/group.sh
for tool in wrk curl "${ESRALLY:=esrally}"; do
    command -v "$tool" >/dev/null || { echo "$tool is missing" >&2; exit 2; }
done
target=${CARGO_TARGET_DIR:-target}/release/examples
if [[ -z ${NO_BUILD:-} ]]; then
    cargo build --locked -q --release -p bench --features testing --examples >&2
fi
url=${URL:?URL of a server} seconds=${SECONDS_EACH:-15} address=${URL#http://}
address=${address%/}
index=trimtab-bench-rally
out=$(mktemp -d)
clean_up() {
    group_close
    curl -fsS -o /dev/null -X DELETE "$url/$index" || true
    rm -rf "$out"
}
trap clean_up EXIT
curl -fsS -o /dev/null -X PUT "$url/$index/_doc/1?refresh=true" -H 'Content-Type: application/json' -d '{"number":1}'
cat >"$out/track.json" <<'TRACK'
{
  "version": 2,
  "description": "One raw request, over and over",
  "schedule": [{
    "name": "get", "clients": {{ clients }}, "time-period": {{ seconds }},
    "operation": { "name": "get", "operation-type": "raw-request", "path": "{{ path }}",
      "headers": { "Accept-Encoding": "identity" } }
  }]
}
TRACK

# Each prints requests/s and the number of requests.
ours() { # PATH CLIENTS SECONDS
    group_run "$target/drive" "$address$1" closed "$2" "$3" >"$out/ours"
    awk -v s="$3" '/requests\/s/ { print $1, $1 * s }' "$out/ours"
}
wrk_() { # PATH CLIENTS SECONDS
    group_run wrk -t1 "-c$2" "-d${3}s" "http://$address$1" >"$out/wrk"
    awk '/requests in/ { n = $1 } /Requests\/sec/ { print $2, n }' "$out/wrk"
}
rally() { # PATH CLIENTS SECONDS
    # A race's processes end seconds after it, and Rally refuses to run beside them.
    RALLY_HOME=$out group_run "$ESRALLY" race --offline --quiet --kill-running-processes --pipeline=benchmark-only --on-error=abort \
        --track-path="$out" --target-hosts="$address" --race-id=race --user-tags=bench:sides \
        --track-params="path:'$1',clients:$2,seconds:$3" >"$out/rally" 2>&1 || { tail "$out/rally" >&2; return 1; }
    python3 -c 'import json, sys
[task] = json.load(open(sys.argv[1]))["results"]["op_metrics"]
assert task["error_rate"] == 0, task["error_rate"]
rate = task["throughput"]["mean"]
print(rate, rate * int(sys.argv[2]))' "$out/.rally/benchmarks/races/race/race.json" "$3"
    rm -r "$out/.rally/benchmarks/races/race"
}
# Prints requests/s, requests and CPU time in s.
measure() { # DRIVER PATH CLIENTS SECONDS
    local said
    group_open ""
    said=$("$@")
    echo "$said $(group_cpu_s)"
    group_close
}

# The server compiles what is hot.
for path in / "/$index/_search"; do
    wrk -t1 -c4 -d"${WARM_UP_S:-20}s" "http://$address$path" >/dev/null
done
if curl -fsSI "$url" -X GET | grep -qi ^warning:; then
    echo "The answers have a Warning header, which slows Rally down."
    echo
fi
echo "| request | clients | round | ours/s | wrk/s | Rally/s | ours / wrk | ours / Rally | ours/CPU-s | wrk/CPU-s | Rally/CPU-s | ours / wrk | ours / Rally |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
for path in / "/$index/_search"; do
    for clients in ${CLIENTS:-1 8}; do
        idle=$(measure rally "$path" "$clients" 1)
        for round in $(seq "${ROUNDS:-3}"); do
            ours=$(measure ours "$path" "$clients" "$seconds")
            wrk=$(measure wrk_ "$path" "$clients" "$seconds")
            rally=$(measure rally "$path" "$clients" "$seconds")
            awk -v path="${path/$index/index}" -v clients="$clients" -v round="$round" -v ours="$ours" -v wrk="$wrk" \
                -v rally="$rally" -v idle="$idle" 'BEGIN {
                split(ours, o); split(wrk, w); split(rally, r); split(idle, i)
                oc = o[2] / o[3]; wc = w[2] / w[3]; rc = (r[2] - i[2]) / (r[3] - i[3])
                printf "| GET %s | %d | %d | %.0f | %.0f | %.0f | %.2f | %.1f | %.0f | %.0f | %.0f | %.2f | %.1f |\n", path,
                    clients, round, o[1], w[1], r[1], o[1] / w[1], o[1] / r[1], oc, wc, rc, oc / wc, oc / rc }'
        done
    done
done
