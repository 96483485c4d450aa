#!/usr/bin/env bash
# Tests what `trimtab check --cluster` says of a real master that is blocked or busy.
#
#   lab/servers/test-hot-threads.sh [SERVER...]      default: 7.17.28, 8.11.0, 9.2.0 of Elasticsearch, 2.19.1
#                                                    of OpenSearch
#
#   REQUIRE_SERVERS  1: a server that cannot be run is a failure, not SKIPPED
#   KEEP             a directory in which to keep the dumps, one subdirectory for each server
#
# A disk that stands still: the data is on an ext4 on a loop device, whose file is on another ext4 on a loop
# device. That one is frozen (fsfreeze) while indices are created, so that writes into the first succeed and an
# fsync waits. Expectations:
# - ES003 says that the master waits for its disk, that changes wait, and where its data is: asked live, and of
#   saved hot threads of each type, of what is left of them in a ticket, and of a thread dump (SIGQUIT);
# - once the disk goes on, ES003 is silent, and all indices were created.
# A busy master, with its data in memory: thousands of copies that no node may take, while reroutes are asked for.
# Expectations:
# - ES003 says that it looks for nodes for them; from 8.6 on it may also compute the desired balance, or move
#   towards it;
# - from 8.6 on the desired balance is known, and ES013 is silent; before, it is not asked for.
# Durations are not tested. Needs root. Touches only loop devices that it made. If this ends without cleaning
# up, the disk goes on after THAW_S all the same.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
node=lab/servers/node.sh
# Time after which a command counts as hung, and a frozen disk goes on.
PATIENCE_S=60 THAW_S=120
# How long changes have to wait before the check looks, in milliseconds: ES003 reports 5 s.
WAITED_MS=6000
OUTER_BYTES=$((1 << 30)) INNER_BYTES=$((800 << 20))
# Copies that no node may take, in indices of this many shards.
HOMELESS_INDICES=100 HOMELESS_SHARDS=100
# How often a busy master is looked at before it counts as not busy.
LOOKS_MAX=20

about="hot threads of real servers"
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
[ "$(id -u)" = 0 ] || skip_servers "loop devices need root"
for tool in losetup fsfreeze mkfs.ext4 python3 curl setpriv setsid pgrep; do
    command -v "$tool" >/dev/null || skip_servers "$tool is missing"
done
[ $# -gt 0 ] || set -- elasticsearch-7.17.28 elasticsearch-8.11.0 elasticsearch-9.2.0 opensearch-2.19.1
fetch_servers "$@"
if [ -z "${TRIMTAB:-}" ]; then
    lab/build.sh || exit 2
    TRIMTAB=${CARGO_TARGET_DIR:-target}/debug/trimtab
fi
unset TRIMTAB_CONFIG TRIMTAB_USER TRIMTAB_PASSWORD TRIMTAB_API_KEY TRIMTAB_BEARER_TOKEN \
    TRIMTAB_CREDENTIALS_FILE TRIMTAB_CA_FILE TRIMTAB_SELECT TRIMTAB_IGNORE TRIMTAB_FORMAT TRIMTAB_FAIL_ON
export NO_COLOR=1

top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-threads.XXXXXX")
# The server's user needs access to it.
chmod 755 "$top"
# A hidden copy that clean leaves alone; a concurrent build would replace the original.
trimtab=$top/.trimtab
cp "$TRIMTAB" "$trimtab" || exit 2
outer='' inner='' guard='' clients=()
thaw() {
    [ -z "$guard" ] || kill "$guard" 2>/dev/null
    guard=
    ! mountpoint -q "$top/outer" || fsfreeze --unfreeze "$top/outer" 2>/dev/null
}
clean() {
    thaw
    [ ${#clients[@]} = 0 ] || kill "${clients[@]}" 2>/dev/null
    clients=()
    [ ! -e "$top/run" ] || $node stop "$top/run"
    ! mountpoint -q "$top/inner" || umount "$top/inner"
    [ -z "$inner" ] || losetup -d "$inner"
    # The device above lets go of its file a moment later.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        mountpoint -q "$top/outer" || break
        umount "$top/outer" 2>/dev/null || sleep 1
    done
    [ -z "$outer" ] || losetup -d "$outer"
    outer='' inner=''
    ! mountpoint -q "$top/memory" || umount "$top/memory"
    rm -rf --one-file-system "${top:?}"/*
}
trap 'clean; rm -rf "$trimtab" "$top/.kept"; rmdir "$top"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

make_inner() {
    mkdir "$top/outer" "$top/inner"
    truncate -s "$OUTER_BYTES" "$top/image" && mkfs.ext4 -q -F "$top/image" &&
        outer=$(losetup --find --show "$top/image") && mount "$outer" "$top/outer" &&
        truncate -s "$INNER_BYTES" "$top/outer/image" && mkfs.ext4 -q -F "$top/outer/image" &&
        inner=$(losetup --find --show "$top/outer/image") && mount "$inner" "$top/inner"
}
# A disk that no fsync waits for.
make_memory() {
    mkdir "$top/memory" && mount -t tmpfs -o size=2g,mode=755 tmpfs "$top/memory"
}
freeze() {
    # Ends the freeze even if this script is killed.
    setsid sh -c "sleep $THAW_S; fsfreeze --unfreeze '$top/outer'" </dev/null >/dev/null 2>&1 &
    guard=$!
    fsfreeze --freeze "$top/outer"
}

ask() { # METHOD PATH [JSON]
    local body=()
    [ $# -lt 3 ] || body=(-H 'Content-Type: application/json' -d "$3")
    curl -fsS -m "$PATIENCE_S" -X "$1" "$url$2" "${body[@]}"
}
check() { # ARGUMENT...
    timeout "$PATIENCE_S" "$trimtab" check --cluster "$url" --select ES003,ES013 --format json "$@" \
        </dev/null >"$top/out" 2>"$top/err"
}
# Evaluates a Python expression on the JSON in $top/out: `f` holds the findings by rule, `skipped` what was not
# looked at.
holds() { # EXPRESSION
    python3 - "$top/out" "$1" "$top/inner" <<'PYTHON'
import json, sys
try:
    document, place = json.load(open(sys.argv[1])), sys.argv[3]
except ValueError:
    sys.exit("no findings")
f = {finding["rule"]: finding for finding in document["result"]["findings"]}
skipped = json.dumps(document["skipped"])
sys.exit(0 if eval(sys.argv[2]) else f"found {f} {skipped}")
PYTHON
}
waits_for_disk="f['ES003']['title'].startswith('the master waits for its disk: changes wait for')"

# For how long the oldest change has been waiting, in milliseconds.
waited_ms() {
    ask GET /_cluster/pending_tasks |
        python3 -c 'import json, sys; print(max([t["time_in_queue_millis"] for t in json.load(sys.stdin)["tasks"]], default=0))'
}
create() { # NAME: in the background, for as long as it takes
    curl -fsS -m $((THAW_S + PATIENCE_S)) -o /dev/null -X PUT "$url/$1?timeout=${THAW_S}s" -H 'Content-Type: application/json' \
        -d '{"settings": {"number_of_shards": 1, "number_of_replicas": 0}}' 2>/dev/null &
    clients+=($!)
}

test_blocked() {
    local n kind pid give_up=$((SECONDS + PATIENCE_S))
    ask PUT /before '{"settings": {"number_of_shards": 1, "number_of_replicas": 0}}' >/dev/null
    check
    expect "ES003 is silent before" holds "'ES003' not in f"
    freeze
    for n in 1 2 3 4 5 6 7 8; do create "during-$n"; done
    until [ "$(waited_ms)" -ge "$WAITED_MS" ] || [ "$SECONDS" -ge "$give_up" ]; do sleep 0.5; done
    check
    expect "ES003 finds the disk" holds "$waits_for_disk"
    expect "it says where the data is" holds "any(place in e['value'] for e in f['ES003']['evidence'])"
    for kind in cpu wait block; do
        ask GET "/_nodes/hot_threads?threads=50&type=$kind" >"$dumps/$kind"
        check --hot-threads "$dumps/$kind"
        expect "hot threads of type $kind" holds "$waits_for_disk"
    done
    grep -v '^:::' "$dumps/cpu" | sed 's/^/> /; s/$/\r/' >"$dumps/quoted"
    check --hot-threads "$dumps/quoted"
    expect "hot threads as quoted in a mail" holds "$waits_for_disk"
    # From 8.0 on the server is a child of the program that starts it.
    pid=$(cat "$top/run/pid")
    kill -QUIT "$(pgrep -P "$pid" -x java || echo "$pid")"
    give_up=$((SECONDS + PATIENCE_S))
    until grep -qs '^"main"\|^"VM Thread"' "$top/run/out" || [ "$SECONDS" -ge "$give_up" ]; do sleep 0.2; done
    sleep 1
    cp "$top/run/out" "$dumps/dump"
    check --hot-threads "$dumps/dump"
    expect "a thread dump" holds "$waits_for_disk"
    thaw
    wait "${clients[@]}"
    clients=()
    for n in 1 2 3 4 5 6 7 8; do
        expect "index $n was created" ask GET "/during-$n" >"$top/out" 2>"$top/err"
    done
    check
    expect "ES003 is silent afterwards" holds "'ES003' not in f"
}

test_busy() {
    local n looks=0 works
    ask PUT /_cluster/settings '{"persistent": {"cluster.max_shards_per_node": 1000000}}' >/dev/null
    for ((n = 0; n < HOMELESS_INDICES; n++)); do
        ask PUT "/homeless-$n?wait_for_active_shards=0" "{\"settings\": {\"number_of_shards\": $HOMELESS_SHARDS,
            \"number_of_replicas\": 0, \"index.routing.allocation.require.nowhere\": \"x\"}}" >/dev/null || break
    done
    expect "precondition: indices whose shards have no place" test "$n" = "$HOMELESS_INDICES"
    for n in 1 2 3 4; do
        while :; do ask POST '/_cluster/reroute?metric=none' || sleep 0.2; done >/dev/null 2>&1 &
        clients+=($!)
    done
    works='looking for nodes that take unassigned shards|busy with unassigned shards'
    [[ $server != elasticsearch-[89].* ]] ||
        works+='|computing the desired balance|moving shards towards the desired balance|moving shards to the desired balance'
    while
        check
        ! holds "'ES003' in f" 2>/dev/null && [ $((looks += 1)) -lt "$LOOKS_MAX" ]
    do :; done
    expect "ES003 finds what the master is busy with" holds \
        "__import__('re').search('$works', f['ES003']['title'] + f['ES003']['why'])"
    case $server in
    elasticsearch-[89].*) expect "the desired balance is known" holds "'desired' not in skipped and 'ES013' not in f" ;;
    *) expect "there is no desired balance" holds "'desired' not in skipped and 'ES013' not in f" ;;
    esac
    ask GET '/_nodes/hot_threads?threads=50' >"$dumps/busy"
    kill "${clients[@]}"
    wait "${clients[@]}" 2>/dev/null
    clients=()
}

# Sets url. Since 8.0 `GET /` is not answered; the check goes on without.
start_node_on() { # DISK
    { make_"$1" && url=$($node start "$server" "$top/$1/data" "$top/run"); } || {
        echo "FAILED: $server: it does not start on $1"
        failed=$((failed + 1))
        return 1
    }
}
for server in "$@"; do
    dumps=${KEEP:-$top/.kept}/$server
    mkdir -p "$dumps" || exit 2
    ! start_node_on inner || test_blocked
    clean
    ! start_node_on memory || test_busy
    clean
done
echo "hot threads of real servers: $passed expectations met, $failed not ($*)"
[ "$failed" = 0 ]
