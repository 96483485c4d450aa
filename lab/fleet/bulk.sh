#!/usr/bin/env bash
# What `check --to` and `check --format bulk` send to real servers, with the findings of 10,000 hosts, or HOSTS.
#
#   lab/fleet/bulk.sh [SERVER...]      default: opensearch-2.19.1, elasticsearch-8.19.16 and elasticsearch-9.2.0
#
# - A document for each host, and one for each rule that found something on it, counted from `check --format json`; sent
#   again, nothing changes; sent by curl from `--format bulk`, neither.
# - A later look replaces the earlier; what is mended is deleted, and what is new says since when.
# - No index is made in a cluster that is red; in one that has its indices, documents are written even then.
# - Each query of the dashboard answers, with what was sent, and how long it took.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
about="findings in an index" server=
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
for tool in python3 curl zstd; do
    command -v "$tool" >/dev/null || skip_servers "$tool is missing"
done
[ $# -gt 0 ] || set -- opensearch-2.19.1 elasticsearch-8.19.16 elasticsearch-9.2.0
fetch_servers "$@"
hosts=${HOSTS:-10000}
trimtab=${TRIMTAB:-${CARGO_TARGET_DIR:-target}/static/trimtab}
[ -x "$trimtab" ] || trimtab=${CARGO_TARGET_DIR:-target}/debug/trimtab
node=lab/servers/node.sh
top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-bulk.XXXXXX")
# The server's user needs access to it.
chmod 755 "$top"
proxy_pid=
clean() {
    [ -z "$proxy_pid" ] || kill "$proxy_pid" 2>/dev/null
    [ ! -e "$top/run" ] || $node stop "$top/run"
    rm -rf --one-file-system "${top:?}"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

ask() { # PATH [CURL OPTION...]
    local path=$1
    shift
    curl -sS --max-time 120 "$url$path" "$@"
}
count() { # INDEX [QUERY]
    ask "/$1/_refresh" -XPOST >/dev/null
    ask "/$1/_count" -H 'Content-Type: application/json' -d "{\"query\":${2:-{\"match_all\":{\}\}}}" |
        python3 -c 'import json, sys; print(json.load(sys.stdin).get("count", "none"))'
}
has() { [ "$(count "${@:2}")" = "$1" ]; }
sends() { # WORDS BUNDLES...: to the server, with --to
    local words=$1
    shift
    local began=$SECONDS
    "$trimtab" check "${@/#/--bundle=}" --to "$url" --exit-zero >"$top/out" 2>"$top/err"
    local code=$?
    local said
    said=$(tr -s ' \n' ' ' <"$top/err" | sed -E 's/([0-9]),([0-9])/\1\2/g')
    echo "  $(grep -oE '[^ ]+ [^ ]+ created .*' <<<"$said"), $((SECONDS - began)) s"
    [ $code = 0 ] && grep -qE -- "$words" <<<"$said"
}
refuses() { # WORDS BUNDLE
    "$trimtab" check --bundle "$2" --to "$url" --exit-zero >"$top/out" 2>"$top/err"
    [ $? = 2 ] && tr -s ' \n' ' ' <"$top/err" | grep -qE -- "$1"
}

server=bundles
lab/fleet/make.py "$trimtab" "$top/fleet" "$hosts"
rm "$top/fleet/db$(printf %04d "$hosts").tar.zst"
"$trimtab" check --bundle "$top/fleet" --format json --exit-zero >"$top/check.json"
# Hosts; pairs of host and rule; those of TRIM009.
read -r hosts found broken < <(python3 - "$top/check.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))["result"]
pairs = {(finding["host"], finding["rule"]) for finding in result["findings"]}
print(len(result["hosts"]), len(pairs), sum(rule == "TRIM009" for _, rule in pairs))
END
)
rm "$top/check.json"
echo "== $hosts hosts, $found pairs of host and rule"
# A host of its own: first with fstrim.timer off (TRIM002), later with it on.
for state in broken mended; do
    lab/fleet/tree.py "$top/$state" 1 0
    echo "one-of-them" >"$top/$state/proc/sys/kernel/hostname"
done
rm "$top/broken/etc/cron.weekly/fstrim"
for state in broken mended; do
    "$trimtab" collect --root "$top/$state" -o "$top/$state.tar.zst" >/dev/null 2>&1
done
mkdir "$top/red"

for server in "$@"; do
    echo "== $server"
    url=$($node start "$server" "$top/data" "$top/run") || exit 2
    case $server in
    elasticsearch-[89].*)
        # Archives for integration tests do not answer `GET /`.
        coproc proxy { exec python3 lab/servers/proxy.py "$url" --root; }
        # shellcheck disable=SC2034,SC2154
        proxy_pid=$proxy_PID
        read -r url <&"${proxy[0]}"
        ;;
    esac
    # A primary that no node may hold.
    ask /lost -XPUT -H 'Content-Type: application/json' \
        -d '{"settings":{"index.routing.allocation.require._name":"nobody"},"wait_for_active_shards":0}' >"$top/out"
    ask '/lost?wait_for_active_shards=0' -XPUT -H 'Content-Type: application/json' \
        -d '{"settings":{"index.routing.allocation.require._name":"nobody","number_of_replicas":0}}' >"$top/out"
    ask '/_cluster/health?wait_for_status=red&timeout=5s' >"$top/out"
    expect "the cluster is red" grep -q '"status":"red"' "$top/out"
    expect "no index is made while it is" refuses 'index trimtab-findings is missing or outdated, and was left alone: the cluster is red' "$top/broken.tar.zst"
    expect "none is there" [ "$(ask /trimtab-findings -o /dev/null -w '%{http_code}')" = 404 ]
    ask /lost -XDELETE >/dev/null

    expect "sent" sends "$((hosts + found)) documents created, 0 updated, 0 deleted" "$top/fleet"
    expect "a document for each host" has "$hosts" trimtab-hosts
    expect "a document for each host and rule" has "$found" trimtab-findings
    expect "sent again, nothing changes" sends "0 documents created, 0 updated, 0 deleted" "$top/fleet"
    expect "no duplicates" has "$found" trimtab-findings
    expect "hosts of a rule are a query" has "$broken" trimtab-findings '{"term":{"rule.id":"TRIM009"}}'

    expect "a host with a fault" sends "documents created" "$top/broken.tar.zst"
    expect "is found by it" has 1 trimtab-findings '{"bool":{"filter":[{"term":{"host.name":"one-of-them"}},{"term":{"rule.id":"TRIM002"}}]}}'
    expect "mended" sends "1 deleted" "$top/mended.tar.zst"
    expect "it is found no more" has 0 trimtab-findings '{"bool":{"filter":[{"term":{"host.name":"one-of-them"}},{"term":{"rule.id":"TRIM002"}}]}}'
    expect "it is still a host" has 1 trimtab-hosts '{"term":{"host.name":"one-of-them"}}'

    "$trimtab" check --bundle "$top/broken.tar.zst" --format bulk --exit-zero >"$top/lines"
    ask /_bulk -H 'Content-Type: application/x-ndjson' --data-binary "@$top/lines" >"$top/out"
    expect "curl sends the same" grep -q '"errors":false' "$top/out"
    expect "and it is found" has 1 trimtab-findings '{"bool":{"filter":[{"term":{"host.name":"one-of-them"}},{"term":{"rule.id":"TRIM002"}}]}}'
    ask /_index_template/trimtab -XPUT -H 'Content-Type: application/json' --data-binary @packaging/elasticsearch/index-template.json >"$top/out"
    expect "the server takes the template" grep -q '"acknowledged":true' "$top/out"

    python3 -B lab/fleet/queries.py "$url" >"$top/out" 2>"$top/err"
    expect "each query of the dashboard answers with what was sent" [ $? = 0 ]
    cat "$top/out"
    [ -z "$proxy_pid" ] || kill "$proxy_pid"
    proxy_pid=
    $node stop "$top/run"
    rm -rf --one-file-system "$top/data"
done
expect "the dashboard in packaging/ is what dashboard.py prints" cmp -s packaging/elasticsearch/dashboard.ndjson <(python3 -B lab/fleet/dashboard.py)
echo "bulk: $passed expectations met, $failed not"
[ $failed = 0 ]
