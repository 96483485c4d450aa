#!/usr/bin/env bash
# Tests `trimtab check --cluster` against real servers: it reports what the servers report.
#
#   lab/servers/test-cluster.sh [SERVER...]      default: 6.8.23, 7.4.2, 7.17.28, 9.2.0 of
#                                                Elasticsearch, 2.19.1 of OpenSearch
#
#   REQUIRE_SERVERS  1: a server that cannot be run is a failure, not SKIPPED
#   RECORD           a directory in which to keep the raw responses, one subdirectory for each server
#
# Each server is one node with five indices: `plain` (1 primary), `dense` (best_compression), `risky`
# (translog durability async), and the closed `old-1` and `old-2` with 60 primaries each; no replicas.
# include_relocations is false (transient), and the low watermark requires more free space than there is
# (persistent). From these and the version follow the expectations:
# - version, flavor, node, master and the index counts: correct for all servers;
# - shards in the routing table: 3 on 6.8, where closed indices leave it; 123 from 7.2 on (pull request
#   39499) and in OpenSearch, 120 of them of closed indices: ES002 there and not on 6.8;
# - ES004 wherever the setting is supported, until 8.0: a note where it avoids a scan (6.8 to 7.5), a
#   warning elsewhere;
# - ES001 nowhere: without include_relocations nothing is scanned, and with one data node nothing needs to
#   be;
# - ES006, a warning: the node is above the low watermark;
# - ES008: `risky`; ES003, ES007 and ES013 nowhere: no task is waiting, and a single node cannot do better;
# - a bundle written by `collect --cluster` gives the same findings; when anonymised it triggers the same
#   rules and contains the name of neither an index nor the node;
# - so does an archive as elastic/support-diagnostics makes it, of complete answers with nested settings, as a zip
#   and as a directory; `shards` reads it as it reads the server;
# - a thread dump of the node is used in place of its own response.
# Then a proxy is put in front of the server (proxy.py), with TLS, credentials, and injected faults:
# - missing or wrong credentials are an error; those from the environment, a file or the configuration
#   give the same findings as the server itself; no message, report, bundle or command line contains them,
#   and a URL that does is rejected;
# - a certificate from an unknown authority or for another name is rejected, and so is plain HTTP where
#   TLS is expected, and vice versa;
# - a page that is late, truncated, incomplete, an error or a gigabyte long is a gap with its reason, and
#   findings that do not depend on it are still reported; if all pages fail, the check fails with a
#   reason. Memory use is bounded.
# Two nodes of 7.4.2 with the default include_relocations: ES001 is reported, with a prediction. Two nodes of
# 9.2.0 with a setting that stops shards on their way: ES013 names it, and is silent once it is gone. 7.17.28 with the
# data of 6.8.23: a setting that only the full distribution of 6.8 has is archived, and ES008 names it, without
# its value, because it makes other changes fail; the remedy removes it. Durations are not tested. Servers are
# started one after the other, except for the two nodes, on loopback.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
node=lab/servers/node.sh
# Time after which a command counts as hung.
PATIENCE_S=120
# The maximum response size is 128 MiB; a buffer that grows to it may have twice as much, and be copied
# from one half that size.
MEMORY_BYTES_MAX=$((3 * (128 << 20)))
# Must not appear anywhere, not even in its encoded form.
user=reader password=hunter2-Geheim

about="check --cluster against real servers"
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
for tool in python3 curl setpriv tar zstd openssl; do
    command -v "$tool" >/dev/null || skip_servers "$tool is missing"
done
[ $# -gt 0 ] || set -- elasticsearch-6.8.23 elasticsearch-7.4.2 elasticsearch-7.17.28 elasticsearch-9.2.0 opensearch-2.19.1
fetch_servers "$@"
if [ -z "${TRIMTAB:-}" ]; then
    lab/build.sh || exit 2
    TRIMTAB=${CARGO_TARGET_DIR:-target}/debug/trimtab
fi
unset TRIMTAB_CONFIG TRIMTAB_USER TRIMTAB_PASSWORD TRIMTAB_API_KEY TRIMTAB_BEARER_TOKEN \
    TRIMTAB_CREDENTIALS_FILE TRIMTAB_CA_FILE TRIMTAB_SELECT TRIMTAB_IGNORE TRIMTAB_FORMAT TRIMTAB_FAIL_ON
export NO_COLOR=1

top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-cluster.XXXXXX")
# The server's user needs access to it.
chmod 755 "$top"
# A hidden copy that clean leaves alone; a concurrent build would replace the original.
trimtab=$top/.trimtab
cp "$TRIMTAB" "$trimtab" || exit 2
proxy_pid=
clean() {
    local run
    stop_proxy
    # Stop the node that joined first.
    for run in "$top/run2" "$top/run"; do
        [ ! -e "$run" ] || $node stop "$run"
    done
    rm -rf --one-file-system "${top:?}"/*
}
# Sets proxy, a URL. Since 8.0 the archives for integration tests do not answer `GET /`; it does so for them.
proxy_options=()
start_proxy() { # OPTION...
    coproc proxy_process { exec python3 lab/servers/proxy.py "$url" "${proxy_options[@]}" "$@"; }
    # shellcheck disable=SC2154
    proxy_pid=$proxy_process_PID
    # shellcheck disable=SC2154
    read -r proxy <&"${proxy_process[0]}"
}
stop_proxy() {
    [ -n "$proxy_pid" ] || return 0
    kill "$proxy_pid"
    wait "$proxy_pid" 2>/dev/null
    proxy_pid=
}
trap 'clean; rm -f "$trimtab"; rmdir "$top"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

ask() { # METHOD PATH [JSON]
    local body=()
    [ $# -lt 3 ] || body=(-H 'Content-Type: application/json' -d "$3")
    curl -fsS -m 120 -o /dev/null -X "$1" "$url$2" "${body[@]}"
}
check() { # ARGUMENT...
    timeout "$PATIENCE_S" "$trimtab" check "$@" </dev/null >"$top/out" 2>"$top/err"
    code=$?
}
# Evaluates a Python expression on the JSON in $top/out: `r` is the result, `c` the cluster, `rules` the
# severity of each rule's worst finding, `gaps` the missing responses with their reasons.
holds() { # EXPRESSION
    python3 - "$top/out" "$1" <<'PYTHON'
import json, re, sys
document = json.load(open(sys.argv[1]))
r, prefix = document["result"], "cluster: "
gaps = {
    skipped["what"].removeprefix(prefix): skipped["why"]
    for skipped in document["skipped"]
    if skipped["what"].startswith(prefix)
}
c, rules = r.get("cluster"), {}
for finding in r["findings"]:
    if finding["rule"].startswith("ES"):
        rules.setdefault(finding["rule"], finding["severity"])
sys.exit(0 if eval(sys.argv[2]) else f"found {rules} {gaps} {c}")
PYTHON
}
# Rule, severity, subject and title of the findings about clusters. The disk is shared, so its free space
# varies from one call to the next.
findings() {
    python3 - "$top/out" <<'PYTHON'
import json, re, sys
for f in json.load(open(sys.argv[1]))["result"]["findings"]:
    if f["rule"].startswith("ES"):
        title = re.sub(r"[0-9.]+ [KMGT]iB of", "some of", f["title"])
        print(f["rule"], f["severity"], f["subject"], title)
PYTHON
}

# Sets url, that of the first node.
start_node() { # SERVER [DATA RUN]
    local started
    started=$($node start "$1" "${2:-$top/data}" "${3:-$top/run}") || {
        echo "FAILED: $server: $1 does not start"
        failed=$((failed + 1))
        return 1
    }
    [ $# -gt 1 ] || url=$started
}

# Saves what support-diagnostics asks for (its src/main/resources/elastic-rest.yml), as it names the files: a
# directory, and a zip of it without entries for directories.
save_diagnostics() { # DIRECTORY
    mkdir -p "$1" || return 1
    while read -r file path; do
        case $file:$server in
        internal_desired_balance.json:elasticsearch-[89].*) ;;
        internal_desired_balance.json:*) continue ;;
        esac
        curl -fsS -m 120 -o "$1/$file" "$reads$path" || return 1
    done <<'PATHS'
version.json /
nodes.json /_nodes?human
nodes_stats.json /_nodes/stats?human
cluster_state.json /_cluster/state?human
settings.json /_settings?human&expand_wildcards=all
cluster_health.json /_cluster/health
cluster_pending_tasks.json /_cluster/pending_tasks?human
cluster_settings.json /_cluster/settings?flat_settings
cluster_settings_defaults.json /_cluster/settings?include_defaults&flat_settings
indices_stats.json /_stats?level=shards&human&expand_wildcards=all&ignore_unavailable=true
nodes_hot_threads.txt /_nodes/hot_threads?threads=10000
internal_desired_balance.json /_internal/desired_balance
PATHS
    echo '{"mode":"full","product":"elasticsearch","type":"elasticsearch_diagnostic","timestamp":"'"$(date -u +%FT%TZ)"'"}' \
        >"$1/diagnostic_manifest.json"
    echo '{"diagVersion":"9.4.2","collectionDate":"'"$(date -u +%FT%TZ)"'"}' >"$1/manifest.json"
    python3 - "$1" "$top/diagnostics.zip" <<'PYTHON'
import sys, zipfile
from pathlib import Path
top = Path(sys.argv[1])
with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(top.iterdir()):
        archive.write(path, f"{top.name}/{path.name}")
PYTHON
}

make_indices() {
    local index shards
    for index in plain:'"codec": "default"' dense:'"codec": "best_compression"' \
        risky:'"translog.durability": "async"' old-1:'"number_of_shards": 60' old-2:'"number_of_shards": 60'; do
        shards='"number_of_shards": 1, '
        [[ $index != old-* ]] || shards=
        ask PUT "/${index%%:*}" "{\"settings\": {$shards\"number_of_replicas\": 0, ${index#*:}}}" &&
            ask GET "/_cluster/health/${index%%:*}?wait_for_status=green&timeout=60s"
    done
    ask POST '/old-1,old-2/_close'
    ask GET '/_cluster/health?wait_for_status=green&wait_for_no_initializing_shards=true&timeout=60s'
}

test_findings() {
    local version=${server#*-} product=${server%%-*} severity pid as archive
    ask PUT /_cluster/settings '{"transient": {"cluster.routing.allocation.disk.include_relocations": false},
        "persistent": {"cluster.routing.allocation.disk.threshold_enabled": true,
        "cluster.routing.allocation.disk.watermark.low": "1pb",
        "cluster.routing.allocation.disk.watermark.high": "2b",
        "cluster.routing.allocation.disk.watermark.flood_stage": "1b"}}'

    if [ -n "${RECORD:-}" ]; then
        start_proxy --keep "$RECORD/$server"
        check --cluster "$proxy"
        expect "the check through the recording proxy gives findings" test "$code" = 1
        stop_proxy
    fi
    local reads=$url
    if [ ${#proxy_options[@]} -gt 0 ]; then
        start_proxy
        reads=$proxy
    fi

    check --cluster "$reads" --format json
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
    elasticsearch-6.* | elasticsearch-7.4.*) severity="'info'" ;;
    elasticsearch-[89].*) severity=None ;;
    *) severity="'warning'" ;;
    esac
    expect "ES004 is of severity $severity" holds "rules.get('ES004') == $severity"
    expect "ES006 is a warning" holds "rules.get('ES006') == 'warning'"
    expect "ES008" holds "'ES008' in rules"
    expect "neither ES001, ES003, ES007 nor ES013" holds "not {'ES001', 'ES003', 'ES007', 'ES013'} & set(rules)"
    expect "a desired balance is known, or there is none" holds "'desired balance' not in gaps"
    findings >"$top/live"

    check --cluster "$reads" --width 80
    expect "no line of prose is longer than 80 columns" python3 - "$top/out" <<'PYTHON'
import sys
# Commands and evidence locations are never wrapped.
long = [line for line in open(sys.argv[1], encoding="utf-8") if len(line.rstrip("\n")) > 80
        and not any(word in line for word in ("GET /", "curl ", "cluster.routing", "-H "))]
sys.exit("".join(long) if long else 0)
PYTHON

    "$trimtab" plan --cluster "$reads" >"$top/out" 2>"$top/err"
    expect "its one node with data is who would trim" grep -q '^  sudo trimtab plan --apply --peers n1 MOUNT' "$top/out"

    "$trimtab" collect --cluster "$reads" -o "$top/bundle.tar.zst" >"$top/out" 2>"$top/err"
    expect "a bundle is written" test $? = 0
    check --bundle "$top/bundle.tar.zst" --select ES --format json
    expect "the bundle repeats the findings" diff "$top/live" <(findings)
    "$trimtab" collect --anonymise --cluster "$reads" -o "$top/nameless.tar.zst" >"$top/out" 2>"$top/err"
    expect "an anonymised bundle is written" test $? = 0
    check --bundle "$top/nameless.tar.zst" --select ES --format json
    expect "it has the same rules" diff <(cut -d' ' -f1,2 "$top/live") <(findings | cut -d' ' -f1,2)
    tar --zstd -xOf "$top/nameless.tar.zst" root/trimtab/cluster.json >"$top/out"
    expect "no name is left" test -s "$top/out" -a \
        "$(grep -cE '"(n1|plain|dense|risky|old-[12])"|lab-' "$top/out")" = 0

    save_diagnostics "$top/api-diagnostics-20261128-105453"
    expect "all answers of support-diagnostics are saved" test $? = 0
    for archive in "$top/api-diagnostics-20261128-105453" "$top/diagnostics.zip"; do
        check --bundle "$archive" --select ES --format json
        expect "${archive##*/} repeats the findings" diff "$top/live" <(findings)
        timeout "$PATIENCE_S" "$trimtab" shards reroute --state "$archive" --format json >"$top/out" 2>"$top/err"
        code=$?
        expect "shards reads ${archive##*/}" test "$code" -lt 2
    done

    if command -v jstack >/dev/null; then
        pid=$(cat "$top/run/pid")
        as=()
        [ "$(id -u)" != 0 ] || as=(setpriv "--reuid=$(stat -c %u "/proc/$pid")" "--regid=$(stat -c %g "/proc/$pid")" --clear-groups)
        "${as[@]}" jstack "$pid" >"$top/jstack" 2>"$top/err"
        expect "the node's threads are dumped" grep -q '^"' "$top/jstack"
        check --cluster "$reads" --hot-threads "$top/jstack" --format json
        expect "a thread dump is read" test "$code" = 1
    else
        echo "not tested: --hot-threads of $server (jstack is missing)"
    fi
    # A host that does not run a cluster.
    check --hot-threads "$top/live"
    expect "a thread dump without a cluster is rejected" test "$code" = 2
    stop_proxy
}

make_certificates() {
    local name
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$top/ca.key" -out "$top/ca.pem" -days 2 \
        -subj "/CN=authority of a test" -addext basicConstraints=critical,CA:TRUE 2>"$top/err" || return 1
    for name in IP:127.0.0.1 DNS:elsewhere.test; do
        openssl req -newkey rsa:2048 -nodes -keyout "$top/key" -subj "/CN=node" 2>"$top/err" |
            openssl x509 -req -CA "$top/ca.pem" -CAkey "$top/ca.key" -CAcreateserial -days 2 \
                -extfile <(echo "subjectAltName=$name") 2>>"$top/err" >"$top/certificate" || return 1
        cat "$top/key" "$top/certificate" >"$top/${name%%:*}.pem"
    done
}
says() { grep -qF -- "$1" "$top/err"; }
# The check failed for this reason, with nothing on standard output.
ended() { # REASON
    [ "$code" = 2 ] && [ ! -s "$top/out" ] && says "$1"
}
is_silent_about_secrets() { # FILE...
    ! grep -qF -e "$password" -e "$(printf '%s:%s' "$user" "$password" | base64)" -- "$@"
}
# Like check; also records the peak memory use in bytes.
check_measured() { # ARGUMENT...
    code=$(
        python3 - "$PATIENCE_S" "$top" "$trimtab" check "$@" <<'PYTHON'
import resource, subprocess, sys
patience, top, *command = sys.argv[1:]
with open(f"{top}/out", "w") as out, open(f"{top}/err", "w") as err:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=int(patience))
print(done.returncode)
with open(f"{top}/memory", "w") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10, file=file)
PYTHON
    )
}

test_credentials() {
    local trusting=(--cluster "$proxy" --ca-file "$top/ca.pem" --select ES --format json)
    local waiting looks=0
    check "${trusting[@]}"
    expect "missing credentials are an error" ended "status 401"
    expect "the fix is suggested" says TRIMTAB_PASSWORD
    TRIMTAB_USER=$user TRIMTAB_PASSWORD=$password-not check "${trusting[@]}"
    expect "wrong credentials are an error" ended "status 401"
    expect "they are not printed" is_silent_about_secrets "$top/err"
    TRIMTAB_USER=$user check "${trusting[@]}"
    expect "a user without a password is rejected" ended "a user without a password"
    TRIMTAB_USER=$user TRIMTAB_PASSWORD=$password check --verbose --verbose "${trusting[@]}"
    expect "credentials from the environment work" diff "$top/live" <(findings)
    expect "they do not appear in the output" is_silent_about_secrets "$top/out" "$top/err"

    printf 'user = %s\npassword = %s\n' "$user" "$password" >"$top/credentials"
    chmod 644 "$top/credentials"
    check "${trusting[@]}" --credentials-file "$top/credentials"
    expect "a file that others can read is rejected" ended "lets others read it"
    chmod 600 "$top/credentials"
    check "${trusting[@]}" --credentials-file "$top/credentials"
    expect "credentials from a file work" diff "$top/live" <(findings)
    printf '[check]\ncluster = "%s"\nca_file = "%s"\ncredentials_file = "%s"\n' \
        "$proxy" "$top/ca.pem" "$top/credentials" >"$top/trimtab.toml"
    check --config "$top/trimtab.toml" --select ES --format json
    expect "credentials from the configuration work" diff "$top/live" <(findings)

    TRIMTAB_USER=$user TRIMTAB_PASSWORD=$password "$trimtab" collect --cluster "$proxy" \
        --ca-file "$top/ca.pem" -o "$top/trusted.tar.zst" >"$top/out" 2>"$top/err"
    expect "a bundle is written with credentials" test $? = 0
    tar --zstd -xOf "$top/trusted.tar.zst" >>"$top/out"
    expect "they are not in it" is_silent_about_secrets "$top/out" "$top/err"
    check --cluster "${proxy/:\/\//://$user:$password@}" --ca-file "$top/ca.pem"
    expect "a URL with a password is rejected" ended "a URL without user and password"
    expect "it is not printed" is_silent_about_secrets "$top/err"

    # Its own arguments and those of its children, observed until it ends.
    TRIMTAB_USER=$user TRIMTAB_PASSWORD=$password "$trimtab" collect --cluster "$proxy/nodes=slow" \
        --ca-file "$top/ca.pem" -o "$top/waits.tar.zst" >"$top/out" 2>"$top/err" &
    waiting=$!
    while kill -0 "$waiting" 2>/dev/null; do
        cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' >>"$top/arguments"
        looks=$((looks + 1))
        sleep 0.1
    done
    wait "$waiting"
    expect "precondition: its arguments were observed" grep -qF "$top/waits.tar.zst" "$top/arguments"
    expect "no command line contains them ($looks looks)" is_silent_about_secrets "$top/arguments"
}

test_trouble() {
    local trusting=(--ca-file "$top/ca.pem" --credentials-file "$top/credentials" --format json)
    local table="'master and routing table'" case trouble reason
    for case in 500:"status 500 (made_up_exception)" 503:"status 503 (made_up_exception)" \
        403:"status 403 (made_up_exception)" half:"closed the connection before the answer's end" \
        half-json:"half an answer"; do
        trouble=${case%%:*} reason=${case#*:}
        check --cluster "$proxy/state=$trouble" "${trusting[@]}"
        expect "$trouble is a gap with its reason, the only one" \
            holds "list(gaps) == [$table] and gaps[$table].find(\"$reason\") > 0"
        expect "findings without the routing table remain" \
            diff <(grep -oE '^ES00[468]' "$top/live") <(findings | grep -oE '^ES00[468]')
        check --cluster "$proxy/all=$trouble" "${trusting[@]}"
        expect "$trouble on all pages is an error" ended "${reason% (*}"
    done
    check --cluster "$proxy/root=500" "${trusting[@]}"
    expect "the nodes report a version as well" \
        holds "list(gaps) == ['name and version'] and c['version'] == '${server#*-}'"
    check --cluster "$proxy/settings=401" "${trusting[@]}"
    expect "insufficient permissions for one page are a gap" \
        holds "list(gaps) == ['cluster settings'] and 'status 401' in gaps['cluster settings']"

    check --cluster "$proxy/state=slow,nodes=slow" "${trusting[@]}"
    expect "slow pages are waited for" holds "not gaps and c['shards'] > 0"
    for trouble in silence drip; do
        # On a busy machine other pages may be late as well.
        check --cluster "$proxy/state=$trouble" --timeout 3s "${trusting[@]}"
        expect "$trouble is a gap" holds "'not done within 3s' in gaps[$table]"
        check --cluster "$proxy/all=$trouble" --timeout 1s "${trusting[@]}"
        expect "$trouble on all pages is an error" ended "not done within 1s"
    done

    check_measured --cluster "$proxy/state=gigabyte" "${trusting[@]}"
    expect "a gigabyte is a gap" \
        holds "list(gaps) == [$table] and 'longer than 134217728 bytes' in gaps[$table]"
    expect "it is not buffered: $(cat "$top/memory") bytes" [ "$(cat "$top/memory")" -le "$MEMORY_BYTES_MAX" ]
    echo "   $server: an answer of 1 GiB: $(($(cat "$top/memory") >> 20)) MiB of memory at most"
    check_measured --cluster "$proxy/all=gigabyte" "${trusting[@]}"
    expect "gigabytes on all pages are an error" ended "longer than 134217728 bytes"
    expect "none is buffered: $(cat "$top/memory") bytes" [ "$(cat "$top/memory")" -le "$MEMORY_BYTES_MAX" ]
}

test_tls() {
    check --cluster "$proxy"
    expect "an unknown authority is rejected" ended "the certificate's issuer is not trusted"
    expect "the fix is suggested" says "name the certificate of the authority"
    check --cluster "${proxy/https/http}"
    expect "plain HTTP to a TLS server is an error" ended "https://"
    check --cluster "${url/http/https}" --ca-file "$top/ca.pem"
    expect "TLS to a plain HTTP server is an error" ended "TLS: the server does not speak it"
    check --cluster "$proxy" --ca-file "$top/no-such-file"
    expect "a missing certificate file is named" ended no-such-file
    stop_proxy
    start_proxy --certificate "$top/DNS.pem"
    check --cluster "$proxy" --ca-file "$top/ca.pem"
    expect "a certificate for another name is rejected" ended "the certificate is for another name"
}

test_proxy() {
    make_certificates || {
        expect "certificates can be created" false
        return
    }
    printf '%s:%s\n' "$user" "$password" >"$top/users"
    start_proxy --certificate "$top/IP.pem" --credentials "$top/users"
    test_credentials
    test_trouble
    test_tls
    stop_proxy
}

# Two data nodes: each reroute of 7.4.2 scans.
test_two_nodes() {
    JOIN=none start_node "$server" && JOIN=$top/run start_node "$server" "$top/data2" "$top/run2" || return
    ask GET '/_cluster/health?wait_for_nodes=2&timeout=60s'
    make_indices
    ask PUT /_cluster/settings '{"persistent": {"cluster.routing.allocation.disk.threshold_enabled": true,
        "cluster.routing.allocation.disk.watermark.low": "3b",
        "cluster.routing.allocation.disk.watermark.high": "2b",
        "cluster.routing.allocation.disk.watermark.flood_stage": "1b"}}'
    check --cluster "$url" --format json
    expect "two nodes" holds "(c['nodes'], c['data_nodes'], c['shards']) == (2, 2, 123)"
    expect "ES001 is a note" holds "rules.get('ES001') == 'info'"
    expect "it predicts from the cluster's data" holds "any(
        f['rule'] == 'ES001' and re.search('about [0-9.]+ (ms|s) of the master.s time', f['title'])
        and {'123', '2'} <= {e['value'] for e in f['evidence']} for f in r['findings'])"
    findings | grep ES001 | sed "s/^/   two nodes: /"
    ask PUT /_cluster/settings '{"transient": {"cluster.routing.allocation.disk.include_relocations": false}}'
    check --cluster "$url" --format json
    expect "without include_relocations it is absent" holds "'ES001' not in rules and 'ES004' in rules"
}

# Rebalancing is forbidden while shards move to a node that joined: the master still wants half of them there, and none
# moves.
test_undesired() {
    local count=0 allocation=cluster.routing.allocation
    JOIN=none start_node "$server" || return
    ask PUT /_cluster/settings "{\"persistent\": {\"$allocation.exclude._name\": \"n2\",
        \"$allocation.cluster_concurrent_rebalance\": 1}}"
    make_indices
    JOIN=$top/run start_node "$server" "$top/data2" "$top/run2" || return
    ask GET '/_cluster/health?wait_for_nodes=2&timeout=60s'
    ask PUT /_cluster/settings "{\"persistent\": {\"$allocation.exclude._name\": null}}"
    # 60 of them move, one after the other.
    sleep 1
    ask PUT /_cluster/settings '{"persistent": {"cluster.routing.rebalance.enable": "none"}}'
    start_proxy
    until check --cluster "$proxy" --format json && holds "'ES013' in rules" 2>/dev/null || [ $((count += 1)) = 20 ]; do
        sleep 1
    done
    expect "ES013 names the setting that keeps shards where they are" holds "any(f['rule'] == 'ES013'
        and f['severity'] == 'warning' and 'and none moves' in f['title']
        and any('rebalance.enable' in (m.get('command') or '') for m in f['remedy']) for f in r['findings'])"
    findings | grep ES013 | sed "s/^/   two nodes: /"
    ask PUT /_cluster/settings '{"persistent": {"cluster.routing.rebalance.enable": "all",
        "cluster.routing.allocation.cluster_concurrent_rebalance": null}}'
    ask GET '/_cluster/health?wait_for_no_relocating_shards=true&timeout=60s'
    until check --cluster "$proxy" --format json && holds "'ES013' not in rules" 2>/dev/null || [ $((count += 1)) = 60 ]; do
        sleep 1
    done
    expect "with its remedy they move, and it is silent" holds "'ES013' not in rules"
    stop_proxy
}

# A server with the data of an older one, including a setting that it does not know.
test_archived() { # OLDER SERVER
    local key=archived.xpack.monitoring.exporters.kontor.auth.username
    server=$2
    start_node "$1" || return
    ask PUT /_cluster/settings "{\"persistent\": {\"${key#*.}\": \"$password\"}}"
    $node stop "$top/run"
    start_node "$2" || return
    check --cluster "$url" --format json
    expect "ES008 warns of the archived setting" holds "any(f['rule'] == 'ES008' and f['severity'] == 'warning'
        and '$key' in json.dumps(f) for f in r['findings'])"
    expect "its value is not shown" is_silent_about_secrets "$top/out"
    ask PUT /_cluster/settings '{"persistent": {"cluster.routing.allocation.enable": "all"}}' 2>"$top/err"
    expect "precondition: another change fails" test $? != 0
    "$trimtab" collect --anonymise --cluster "$url" -o "$top/nameless.tar.zst" >"$top/out" 2>"$top/err"
    expect "an anonymised bundle is written" test $? = 0
    tar --zstd -xOf "$top/nameless.tar.zst" root/trimtab/cluster.json >"$top/out"
    expect "it reports the setting without the name in its key" \
        test "$(grep -c 'archived\.xpack\.setting' "$top/out") $(grep -c kontor "$top/out")" = "1 0"
    expect "nor does it contain the value" is_silent_about_secrets "$top/out"
    check --bundle "$top/nameless.tar.zst" --select ES008 --format json
    expect "ES008 warns there as well" holds "rules.get('ES008') == 'warning'"
    ask PUT /_cluster/settings '{"persistent": {"archived.*": null}, "transient": {"archived.*": null}}'
    check --cluster "$url" --format json
    expect "the remedy removes it" holds "'archived' not in json.dumps(r['findings'])"
}

for server in "$@"; do
    proxy_options=()
    [[ $server != elasticsearch-[89].* ]] || proxy_options=(--root)
    if start_node "$server"; then
        make_indices
        test_findings
        test_proxy
    fi
    clean
done
for server in "$@"; do
    [ "$server" != elasticsearch-7.4.2 ] || test_two_nodes
    [ "$server" != elasticsearch-9.2.0 ] || test_undesired
    clean
done
case " $* " in
*" elasticsearch-6.8.23 "*" elasticsearch-7.17.28 "*) test_archived elasticsearch-6.8.23 elasticsearch-7.17.28 ;;
esac
clean
echo "check --cluster against real servers: $passed expectations met, $failed not ($*)"
[ "$failed" = 0 ]
