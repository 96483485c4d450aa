#!/usr/bin/env bash
# `trimtab check --cluster` against real servers: what it says is what the server says.
#
#   lab/servers/test-cluster.sh [SERVER...]      without a word: 6.8.23, 7.4.2, 7.17.28 of
#                                                Elasticsearch, 2.19.1 of OpenSearch
#
#   REQUIRE_SERVERS  1: what cannot be run is a failure, not SKIPPED
#   RECORD           a directory: keep the raw answers there, one directory for each server
#
# Each server is one node with five indices: `plain` (1 primary), `dense` (best_compression), `risky`
# (translog durability async), and `old-1` and `old-2` of 60 primaries each that are closed; no
# replicas. Set are include_relocations: false (transient) and a low watermark that asks for more
# free space than there is (persistent). What must be shown follows from that and from the version:
# - version, flavour, node, master, and the counts of indices: all servers alike;
# - shards in the routing table: 3 on 6.8, where closed indices leave it; 123 from 7.2 on (pull
#   request 39499) and in OpenSearch, 120 of them of closed indices: ES002 there and not on 6.8;
# - ES004 everywhere, since each of them knows the setting: an information where a scan is saved
#   (6.8 to 7.5), a warning elsewhere;
# - ES001 nowhere: without include_relocations nothing is scanned, and one data node needs none;
# - ES006, a warning: the node is above the low watermark;
# - ES008: `risky`; ES003 and ES007 nowhere: nothing waits, and a single node cannot do better;
# - a bundle that `collect --cluster` wrote repeats the same findings; without names it has the same
#   rules, and neither an index nor the node is named in it;
# - a thread dump of the node is read in place of its own answer.
# No time is judged. Servers are started one after the other, on loopback.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
node=lab/servers/node.sh

skip_servers() { # REASON
    if [ "${REQUIRE_SERVERS:-}" = 1 ]; then
        echo "FAILED: check --cluster could not be tested: $*"
        exit 1
    fi
    skip "check --cluster against real servers: $*"
}
for tool in python3 curl setpriv tar zstd; do
    command -v "$tool" >/dev/null || skip_servers "$tool is missing"
done
[ $# -gt 0 ] || set -- elasticsearch-6.8.23 elasticsearch-7.4.2 elasticsearch-7.17.28 opensearch-2.19.1
for server in "$@"; do
    # All of them first: a download that fails late would waste what was tested.
    why=$($node fetch "$server" 2>&1 >/dev/null)
    case $? in
    0) ;;
    77) skip_servers "$server: ${why##*$'\n'}" ;;
    *)
        echo "FAILED: $server: $why"
        exit 2
        ;;
    esac
done
if [ -z "${TRIMTAB:-}" ]; then
    cargo build --locked -q -p trimtab || exit 2
    TRIMTAB=${CARGO_TARGET_DIR:-target}/debug/trimtab
fi
trimtab=$(realpath "$TRIMTAB")
unset TRIMTAB_CONFIG TRIMTAB_USER TRIMTAB_PASSWORD TRIMTAB_API_KEY TRIMTAB_CREDENTIALS_FILE \
    TRIMTAB_CA_FILE TRIMTAB_SELECT TRIMTAB_IGNORE TRIMTAB_FORMAT TRIMTAB_FAIL_ON
export NO_COLOR=1

top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-cluster.XXXXXX")
# The server's user has to get through it.
chmod 755 "$top"
clean() {
    [ ! -e "$top/run" ] || $node stop "$top/run"
    rm -rf --one-file-system "${top:?}"/*
}
trap 'clean; rmdir "$top"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

passed=0 failed=0
expect() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $server: $what"
        sed 's/^/  | /' "$top/out" "$top/err" 2>/dev/null | tail -n 20 | cut -c1-200
    fi
}
ask() { # METHOD PATH [JSON]
    local body=()
    [ $# -lt 3 ] || body=(-H 'Content-Type: application/json' -d "$3")
    curl -fsS -m 120 -o /dev/null -X "$1" "$url$2" "${body[@]}"
}
check() { # ARGUMENT...
    "$trimtab" check "$@" </dev/null >"$top/out" 2>"$top/err"
    code=$?
}
# Whether a Python expression holds of the JSON in $top/out: `r` is its result, `rules` the severity
# of each rule's worst finding.
holds() { # EXPRESSION
    python3 - "$top/out" "$1" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))["result"]
c, rules = r.get("cluster"), {}
for finding in r["findings"]:
    if finding["rule"].startswith("ES"):
        rules.setdefault(finding["rule"], finding["severity"])
sys.exit(0 if eval(sys.argv[2]) else f"found {rules} {c}")
PYTHON
}
# Rule, severity, subject and title of the findings about clusters. The disk is shared: what is left
# of it differs from one look to the next.
findings() {
    python3 - "$top/out" <<'PYTHON'
import json, re, sys
for f in json.load(open(sys.argv[1]))["result"]["findings"]:
    if f["rule"].startswith("ES"):
        title = re.sub(r"[0-9.]+ [KMGT]iB of", "some of", f["title"])
        print(f["rule"], f["severity"], f["subject"], title)
PYTHON
}

for server in "$@"; do
    url=$($node start "$server" "$top/data" "$top/run") || {
        echo "FAILED: $server: it does not start"
        failed=$((failed + 1))
        clean
        continue
    }
    version=${server#*-} product=${server%%-*}
    for index in plain:'"codec": "default"' dense:'"codec": "best_compression"' \
        risky:'"translog.durability": "async"' old-1:'"number_of_shards": 60' old-2:'"number_of_shards": 60'; do
        shards='"number_of_shards": 1, '
        [[ $index != old-* ]] || shards=
        ask PUT "/${index%%:*}" "{\"settings\": {$shards\"number_of_replicas\": 0, ${index#*:}}}" &&
            ask GET "/_cluster/health/${index%%:*}?wait_for_status=green&timeout=60s"
    done
    ask POST '/old-1,old-2/_close'
    ask GET '/_cluster/health?wait_for_status=green&wait_for_no_initializing_shards=true&timeout=60s'
    ask PUT /_cluster/settings '{"transient": {"cluster.routing.allocation.disk.include_relocations": false},
        "persistent": {"cluster.routing.allocation.disk.threshold_enabled": true,
        "cluster.routing.allocation.disk.watermark.low": "1pb",
        "cluster.routing.allocation.disk.watermark.high": "2b",
        "cluster.routing.allocation.disk.watermark.flood_stage": "1b"}}'

    if [ -n "${RECORD:-}" ]; then
        coproc recorder { exec python3 lab/servers/record.py "$url" "$RECORD/$server"; }
        # shellcheck disable=SC2154
        read -r proxy <&"${recorder[0]}"
        check --cluster "$proxy"
        expect "it is read through the recorder" test "$code" = 1
        # shellcheck disable=SC2154
        kill "$recorder_PID"
        wait "$recorder_PID" 2>/dev/null
    fi

    check --cluster "$url" --format json
    expect "warnings give exit code 1" test "$code" = 1
    expect "flavour and version" holds "c['engine'] == '$product' and c['version'] == '$version'"
    expect "one node, which is the master" holds \
        "(c['nodes'], c['data_nodes'], c['master']) == (1, 1, 'n1')"
    expect "open and closed indices" holds "(c['indices_open'], c['indices_closed']) == (3, 2)"
    case $server in
    elasticsearch-6.*)
        expect "closed indices are not in the routing table" holds \
            "(c['shards'], c['shards_of_closed_indices']) == (3, 0)"
        expect "no ES002" holds "'ES002' not in rules"
        ;;
    *)
        expect "closed indices are in the routing table" holds \
            "(c['shards'], c['shards_of_closed_indices']) == (123, 120)"
        expect "ES002" holds "'ES002' in rules"
        ;;
    esac
    case $server in
    elasticsearch-6.* | elasticsearch-7.4.*) severity=info ;;
    *) severity=warning ;;
    esac
    expect "ES004 is of severity $severity" holds "rules.get('ES004') == '$severity'"
    expect "ES006 is a warning" holds "rules.get('ES006') == 'warning'"
    expect "ES008" holds "'ES008' in rules"
    expect "neither ES001, ES003 nor ES007" holds "not {'ES001', 'ES003', 'ES007'} & set(rules)"
    findings >"$top/live"

    check --cluster "$url" --width 80
    expect "no line of prose is longer than 80 columns" python3 - "$top/out" <<'PYTHON'
import sys
# Commands and the places of evidence are never broken.
long = [line for line in open(sys.argv[1], encoding="utf-8") if len(line.rstrip("\n")) > 80
        and not any(word in line for word in ("GET /", "curl ", "cluster.routing", "-H "))]
sys.exit("".join(long) if long else 0)
PYTHON

    "$trimtab" collect --cluster "$url" -o "$top/bundle.tar.zst" >"$top/out" 2>"$top/err"
    expect "a bundle is written" test $? = 0
    check --bundle "$top/bundle.tar.zst" --select ES --format json
    expect "the bundle repeats the findings" diff "$top/live" <(findings)
    "$trimtab" collect --anonymise --cluster "$url" -o "$top/nameless.tar.zst" >"$top/out" 2>"$top/err"
    expect "a bundle without names is written" test $? = 0
    check --bundle "$top/nameless.tar.zst" --select ES --format json
    expect "it has the same rules" diff <(cut -d' ' -f1,2 "$top/live") <(findings | cut -d' ' -f1,2)
    tar --zstd -xOf "$top/nameless.tar.zst" root/trimtab/cluster.json >"$top/out"
    expect "no name is left" test -s "$top/out" -a \
        "$(grep -cE '"(n1|plain|dense|risky|old-[12])"|lab-' "$top/out")" = 0

    if command -v jstack >/dev/null; then
        pid=$(cat "$top/run/pid")
        as=()
        [ "$(id -u)" != 0 ] || as=(setpriv "--reuid=$(stat -c %u "/proc/$pid")" "--regid=$(stat -c %g "/proc/$pid")" --clear-groups)
        "${as[@]}" jstack "$pid" >"$top/jstack" 2>"$top/err"
        expect "the node's threads are dumped" grep -q '^"' "$top/jstack"
        check --cluster "$url" --hot-threads "$top/jstack" --format json
        expect "a thread dump is read" test "$code" = 1
    else
        echo "not tested: --hot-threads of $server (jstack is missing)"
    fi
    # A host without a cluster in it.
    check --hot-threads "$top/live"
    expect "threads without a cluster are refused" test "$code" = 2
    clean
done
echo "check --cluster against real servers: $passed expectations met, $failed not ($*)"
[ "$failed" = 0 ]
