#!/usr/bin/env bash
# Tests `trimtab trim` below real stores: --require-green, --probe, consent, and that no data is lost.
#
#   lab/servers/test-trim.sh [SERVER...]      the names that node.sh lists; default: all
#
#   SEED             for the junk's contents; printed, taken from the clock by default
#   REQUIRE_SERVERS  1: a server that cannot be run is a failure, not SKIPPED
#
# Each server keeps its data on a loop-backed XFS of 2 GiB that is full of deleted files. Expectations:
# - without --now the pass is refused, because the store is detected by its process;
# - --require-green refuses a yellow cluster, naming it with its state and unassigned shards, and a
#   stopped server, with the reason; --probe refuses a URL and a command that fail;
# - if the cluster is green, the pass completes while documents are continuously written, read back and
#   searched, and none of these operations fails;
# - the backing file no longer stores what was deleted, according to its st_blocks;
# - after an unmount, which drops cached data, the filesystem check finds nothing, and the restarted
#   server verifies the checksums of its files and has every document.
# Also compares what a refusal must leave alone. Durations are not tested. Needs root. Touches only loop
# devices that it made.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
# shellcheck source=lab/filesystems.sh
. lab/filesystems.sh
node=lab/servers/node.sh
IMAGE_BYTES=$((2 << 30)) PIECES=256 PIECE_BYTES=$((4 << 20))
SHARDS=3
# Maximum number of calls for one pass.
SITTINGS_MAX=20
seed=${SEED:-$(date +%s)}

about="trim below real servers"
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
[ "$(id -u)" = 0 ] || skip_servers "loop devices need root"
for tool in losetup mkfs.xfs xfs_repair python3 curl setpriv; do
    command -v "$tool" >/dev/null || skip_servers "$tool is missing (make test as root installs it)"
done
mapfile -t known < <($node list)
[ $# -gt 0 ] || set -- "${known[@]}"
fetch_servers "$@"
lab/build.sh || exit 2
unset TRIMTAB_CONFIG TRIMTAB_USER TRIMTAB_PASSWORD TRIMTAB_API_KEY TRIMTAB_CREDENTIALS_FILE TRIMTAB_CA_FILE
export NO_COLOR=1

top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-servers.XXXXXX")
# The server's user needs access to it.
chmod 755 "$top"
# A hidden copy that clean leaves alone; a concurrent build would replace the original.
trimtab=$top/.trimtab
cp "${CARGO_TARGET_DIR:-target}/debug/trimtab" "$trimtab" || exit 2
device='' load_pid=''
clean() {
    [ -z "$load_pid" ] || kill "$load_pid" 2>/dev/null
    load_pid=
    [ ! -e "$top/run" ] || $node stop "$top/run"
    ! mountpoint -q "$top/mount" || umount "$top/mount"
    [ -z "$device" ] || losetup -d "$device"
    device=
    rm -rf --one-file-system "${top:?}"/*
}
trap 'clean; rm -f "$trimtab"; rmdir "$top"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs a pass that should end immediately; sets code, out and err.
trim() {
    "$trimtab" trim "$mount" --state "$top/state" "$@" </dev/null >"$top/out" 2>"$top/err"
    code=$?
}
says() { grep -qF -- "$1" "$top/err"; }
# The last `trim` was refused: nothing was freed and no state was kept.
is_refused() { # CODE STORED_BEFORE
    [ "$code" = "$1" ] && [ "$(stored_bytes "$top/image")" -ge "$2" ] &&
        [ -z "$(find "$top/state" -name '*.json*' 2>/dev/null)" ]
}
ask() { # METHOD PATH [JSON]
    local body=()
    [ $# -lt 3 ] || body=(-H 'Content-Type: application/json' -d "$3")
    curl -fsS -m 120 -X "$1" "$url$2" "${body[@]}"
}
field() { # PYTHON_EXPRESSION: evaluated on the JSON from stdin, named `it`
    python3 -c "import json, sys; it = json.load(sys.stdin); print($1)"
}
# STATUS UNASSIGNED_SHARDS as reported by the server itself.
health() { ask GET "/_cluster/health?${1:-}" | field 'it["status"], it["unassigned_shards"]'; }
start_node() {
    url=$($node start "$server" "$mount/data" "$top/run") || {
        echo "FAILED: $server: the server does not start"
        failed=$((failed + 1))
        return 1
    }
}
is_sound() { check_filesystem xfs "$device" >"$top/out" 2>&1; }
has_all() { # DOCUMENTS SUM
    [ "$(ask POST /lab/_search '{"size": 0, "aggs": {"sum": {"sum": {"field": "n"}}, "count": {"value_count": {"field": "n"}}}}' |
        field 'int(it["aggregations"]["count"]["value"]), int(it["aggregations"]["sum"]["value"]), it["_shards"]["failed"]')" = "$1 $2 0" ] &&
        [ "$(ask GET /lab/_count | field 'it["count"]')" = "$1" ]
}

# Writes and syncs incompressible files and deletes all of them.
litter() {
    mkdir "$mount/junk"
    python3 - "$mount/junk" "$PIECES" "$PIECE_BYTES" "$seed" <<'PYTHON'
import os, random, sys
directory, pieces, size, seed = sys.argv[1], *map(int, sys.argv[2:])
source = random.Random(seed)
for piece in range(pieces):
    with open(f"{directory}/{piece}", "wb") as file:
        file.write(source.randbytes(size))
        os.fsync(file.fileno())
PYTHON
}

test_refusals() { # nothing is trimmed in any of these
    local stored label=Elasticsearch
    [ "${server%%-*}" = elasticsearch ] || label=OpenSearch
    stored=$(stored_bytes "$top/image")

    trim
    expect "a running store is trimmed without --now or --window" is_refused 2 "$stored"
    expect "the store is not named" says "$label runs on $mount"

    ask PUT /replicated "{\"settings\": {\"number_of_shards\": $SHARDS, \"number_of_replicas\": 1}}" >"$top/answer"
    ask GET '/_cluster/health?wait_for_no_initializing_shards=true&wait_for_active_shards=4&timeout=60s' >"$top/answer"
    expect "precondition: a yellow cluster" [ "$(health)" = "yellow $SHARDS" ]
    trim --now --require-green "$url/" --probe "$url/"
    expect "a yellow cluster is trimmed" is_refused 2 "$stored"
    expect "name, state and shards are not reported" \
        says "cluster \"lab-$server\" is yellow: $SHARDS unassigned shards"

    ask PUT /replicated/_settings '{"index": {"number_of_replicas": 0}}' >"$top/answer"
    expect "precondition: a green cluster" \
        [ "$(health 'wait_for_status=green&timeout=60s')" = "green 0" ]
    # Green alone is not enough: with --probe, no pass runs unless the probe works.
    trim --now --require-green "$url" --probe "$url/no-such-index/_search"
    expect "a probe with status 404 is accepted" is_refused 2 "$stored"
    expect "the reason is not reported" says "status 404"
    trim --now --require-green "$url" --probe "curl -fsS -o /dev/null $url/no-such-index/_search"
    expect "a failing command is accepted" is_refused 2 "$stored"
    expect "the command's error is not reported" says "404"
}

# Runs one pass and prefixes each printed line with a timestamp. The pass keeps its latency budgets and
# may therefore stop on a busy machine; the rest is then done with wider budgets, because latency is not
# tested here.
trim_below_load() {
    local sitting watched=(--deadline 40s --require-green "$url" --probe "$url/"
        --probe "curl -fsS -o /dev/null $url/lab/_search?size=1")
    : >"$top/lines"
    for ((sitting = 1; sitting <= SITTINGS_MAX; sitting++)); do
        "$trimtab" trim "$mount" --state "$top/state" --now --format json --rate 200MiB/s \
            "${watched[@]}" </dev/null 2>"$top/err" |
            while read -r line; do echo "$EPOCHREALTIME $line"; done >>"$top/lines"
        code=${PIPESTATUS[0]}
        tail -n 1 "$top/lines" >"$top/out"
        # The probes of the first call, whatever its result.
        [ "$sitting" -gt 1 ] || cp "$top/out" "$top/watched"
        [ "$code" = 1 ] || break
        echo "   $server: stopped, resuming: $(cut -d' ' -f2- "$top/out" | field 'it.get("reason")')"
        watched=(--deadline 60s --require-green "$url" --max-latency 10s)
    done
}
# Both probes were read during the pass.
is_probed() {
    python3 - "$top/watched" "$url/" "curl " <<'PYTHON'
import json, sys
last = json.loads(open(sys.argv[1]).read().split(" ", 1)[1])
probes = {level["probe"]: level["readings"] for level in last["latency"]}
print("   readings:", probes)
for wanted in sys.argv[2:]:
    assert any(name.startswith(wanted) and count > 0 for name, count in probes.items()), wanted
PYTHON
}
# Number of operations that began and ended between the first step of the pass and its end.
work_during_pass() { # KIND
    python3 - "$top/lines" "$top/load.log" "$1" <<'PYTHON'
import json, sys
stamps = {}
for line in open(sys.argv[1]):
    stamp, text = line.split(" ", 1)
    kind = json.loads(text)["type"]
    if kind == "begins":
        stamps.setdefault("begins", float(stamp))
    elif kind == "ended":
        stamps["ended"] = float(stamp)
count = 0
for line in open(sys.argv[2]):
    began, ended, kind, _ = line.split(" ", 3)
    count += kind == sys.argv[3] and float(began) >= stamps["begins"] and float(ended) <= stamps["ended"]
print(count)
PYTHON
}

test_server() {
    local stored_full stored_after written_before written freed junk=$((PIECES * PIECE_BYTES)) kind totals

    mkdir "$top/mount"
    mount=$(realpath "$top/mount")
    truncate -s "$IMAGE_BYTES" "$top/image"
    device=$(losetup --find --show --direct-io=on "$top/image" 2>/dev/null || losetup --find --show "$top/image")
    make_filesystem xfs "$device" && mount "$device" "$mount" || return 1
    start_node || return 1
    litter
    # checksum: on every start the server reads and verifies all its files.
    ask PUT /lab '{"settings": {"number_of_shards": 2, "number_of_replicas": 0,
        "index.shard.check_on_startup": "checksum"}}' >"$top/answer"
    stored_full=$(stored_bytes "$top/image")
    written_before=$(written_bytes "$device")
    rm -r "$mount/junk"
    sync -f "$mount"
    expect "precondition: what is deleted is still stored" [ "$(stored_bytes "$top/image")" -ge "$junk" ]

    test_refusals

    lab/servers/load.py "$url" lab "$top/load.log" >"$top/totals" &
    load_pid=$!
    trim_below_load
    kill "$load_pid"
    wait "$load_pid"
    load_pid=
    expect "the pass does not complete (exit $code)" [ "$code" = 0 ]
    expect "the probes were not read" is_probed
    for kind in index get refresh flush search; do
        expect "no $kind during the trim: nothing is proven" [ "$(work_during_pass $kind)" -gt 0 ]
    done
    totals=$(cat "$top/totals")
    expect "operations failed: $(grep -v ' ok$' "$top/load.log" | head -n 3)" \
        [ "$(field 'it["failures"]' <<<"$totals")" = 0 ]
    echo "   $server: $totals"
    documents=$(field 'it["documents"]' <<<"$totals")
    sum=$(field 'it["sum"]' <<<"$totals")
    ask POST /lab/_refresh >"$top/answer"
    expect "documents are missing or changed" has_all "$documents" "$sum"

    $node stop "$top/run"
    sync -f "$mount"
    stored_after=$(stored_bytes "$top/image")
    written=$(($(written_bytes "$device") - written_before))
    freed=$((stored_full - stored_after))
    echo "   $server: $((junk >> 20)) MiB deleted, $((freed >> 20)) MiB freed, $((written >> 20)) MiB written meanwhile"
    # Data written since may have taken up as many blocks; of the rest 1 % may remain.
    expect "what was deleted is still stored" [ "$freed" -ge $((junk * 99 / 100 - written)) ]
    # Make sure that more than just the writes is compared.
    expect "precondition: written less than half of what was deleted" [ "$written" -lt $((junk / 2)) ]

    trim --now --require-green "$url"
    expect "a stopped server is not refused" [ "$code" = 2 ]
    expect "the reason is not reported" says "the connection was refused"
    trim --now --probe "$url/"
    expect "a probe of a stopped server is accepted" [ "$code" = 2 ]
    expect "the reason is not reported" says "the connection was refused"

    umount "$mount"
    expect "xfs_repair finds damage" is_sound
    mount "$device" "$mount" || return 1
    start_node || return 1
    expect "not green after the restart" [ "$(health 'wait_for_status=green&timeout=60s')" = "green 0" ]
    expect "documents are missing or changed after the restart" has_all "$documents" "$sum"
}

echo "== servers: $*, SEED=$seed"
for server in "$@"; do
    echo "-- $server"
    test_server || {
        failed=$((failed + 1))
        echo "FAILED: $server: the test could not continue"
    }
    clean
done
echo "servers: $passed expectations held, $failed failed"
[ "$failed" = 0 ]
