#!/usr/bin/env bash
# Tests `trimtab bench filesystems` and `bench trim` on a real server and real loop devices: needs root.
#
#   lab/servers/test-filesystems.sh [SERVER...]      default: elasticsearch-6.8.23
#
#   QUICK            1: without the filesystem that fills up and the server that dies, which take minutes
#   REQUIRE_SERVERS  1: a server that cannot be run is a failure, not SKIPPED
#
# - Killed with SIGKILL while documents are written, an experiment leaves a server, a mount and a loop device; the next
#   one says so, removes them and runs.
# - One run each of xfs and btrfs:zstd with few documents: both are in the answer, the compressed one is the smaller, the
#   server's own figure is the same for both, every server started cold, and there are three trials of queries each.
# - A filesystem that fills up while documents are written ends it with 2 and the reason, and nothing is left.
# - A server that is killed while documents are written ends it with 2, and the error says so.
# - Stopped with SIGINT it exits with 2, and nothing is left.
# - A device that holds a filesystem is refused without --overwrite, and not touched.
# - `bench trim` on a loop device: two ways with three runs each, and the trims discard.
# After each, no mount, no loop device and no process is left. No time is tested.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
about="bench filesystems on a real server"
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
[ "$(id -u)" = 0 ] || skip_servers "needs root"
for tool in python3 setpriv losetup mkfs.xfs mkfs.ext4 mkfs.btrfs fstrim; do
    command -v "$tool" >/dev/null || skip_servers "$tool is missing"
done
[ $# -gt 0 ] || set -- elasticsearch-6.8.23
fetch_servers "$@"
if [ -z "${TRIMTAB:-}" ]; then
    lab/build.sh || exit 2
    TRIMTAB=${CARGO_TARGET_DIR:-target}/debug/trimtab
fi
export NO_COLOR=1
PATIENCE_S=900
top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-filesystems.XXXXXX")
# The server's user needs access to it.
chmod 755 "$top"
trimtab=$top/.trimtab
cp "$TRIMTAB" "$trimtab" || exit 2
device=
clean() {
    [ -z "$device" ] || losetup --detach "$device"
    rm -rf --one-file-system "${top:?}"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What experiments make lies below $top.
none_is_left() {
    ! grep -q " $top/" /proc/self/mountinfo && ! losetup --noheadings --output BACK-FILE | grep -q "$top/trimtab-" &&
        ! ls -d "$top"/trimtab-experiment-* 2>/dev/null && ! ls -d /sys/fs/cgroup/{,memory/,cpu/}trimtab-experiment-* 2>/dev/null &&
        ! ls -l /proc/[0-9]*/cwd 2>/dev/null | grep "$top/trimtab-"
}
bench() { # ARGUMENT...
    timeout --signal=INT "$PATIENCE_S" "$trimtab" bench "$@" </dev/null >"$top/out" 2>"$top/err"
    code=$?
}
answer() { # PYTHON, of the result r
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["result"]
assert '"$1" "$top/out"
}

for server in "$@"; do
    archive=$(lab/servers/node.sh fetch "$server")
    experiment=(filesystems --variants "xfs,btrfs:zstd" --server "$archive" --repeats 1 --pause 1s --loop-dir "$top"
        --into "$top/trials" --format json)

    "$trimtab" bench "${experiment[@]}" --documents 5000000 --size 1GiB </dev/null >"$top/out" 2>"$top/err" &
    running=$!
    give_up=$((SECONDS + 120))
    until [ -e "$top/trials/xfs/ingest" ] || [ "$SECONDS" -ge "$give_up" ]; do sleep 0.2; done
    sleep 1
    kill -KILL "$running"
    wait "$running" 2>/dev/null
    expect "a killed experiment leaves something" eval '! none_is_left >/dev/null'

    bench "${experiment[@]}" --documents 20000 --size 1GiB
    # Messages are wrapped.
    said=$(tr -s '\n ' ' ' <"$top/err")
    expect "what was left is said to be removed" grep -q "left by an earlier experiment: 1 process, 1 mount, 1 loop device" <<<"$said"
    expect "exits with 0 or 1" test "$code" -le 1
    expect "nothing is left" none_is_left
    expect "both variants are there" answer '[v["variant"] for v in r["variants"]] == ["xfs", "btrfs:zstd"]'
    expect "compressed files are smaller" answer 'r["variants"][1]["of_baseline"] < 0.95'
    expect "all documents are there" answer 'all(run["documents"] >= 20000 for run in r["runs"])'
    expect "servers started cold" answer 'all(v["start_read_bytes_min"] > 100_000 for v in r["variants"])'
    expect "each run has all trials" answer \
        'all([t["what"] for t in run["trials"]] == ["ingest", "query", "query_cached", "query_while_ingesting"] for run in r["runs"])'
    expect "1,000 queries were measured" answer \
        'all(o["succeeded"] == 1000 for run in r["runs"] for t in run["trials"][1:] for o in t["trial"]["operations"] if o["operation"] == "query")'
    expect "the request cache answered" answer \
        'all(run["trials"][2]["trial"]["server"]["request_cache_hits"] > 1000 for run in r["runs"])'

    if [ "${QUICK:-}" != 1 ]; then
        bench "${experiment[@]}" --documents 2000000 --size 384MiB
        expect "a filesystem that fills up ends it" test "$code" = 2
        expect "and is named" grep -q "the filesystem is full" <<<"$(tr -s '\n ' ' ' <"$top/err")"
        expect "full, nothing is left" none_is_left

        rm -r "$top/trials"
        "$trimtab" bench "${experiment[@]}" --documents 5000000 --size 4GiB </dev/null >"$top/out" 2>"$top/err" &
        running=$!
        give_up=$((SECONDS + 120))
        until [ -e "$top/trials/xfs/ingest" ] || [ "$SECONDS" -ge "$give_up" ]; do sleep 0.2; done
        sleep 5
        # By the folder of its configuration.
        pkill -KILL -f -- "path.conf=$top/trimtab-experiment-"
        wait "$running"
        code=$?
        expect "a server that dies ends it" test "$code" = 2
        expect "and the error says how" grep -q "ended while it was measured (signal: 9" <<<"$(tr -s '\n ' ' ' <"$top/err")"
        expect "dead, nothing is left" none_is_left
    fi

    timeout --preserve-status --signal=INT 20 "$trimtab" bench "${experiment[@]}" --documents 20000 --size 1GiB </dev/null >"$top/out" 2>"$top/err"
    code=$?
    expect "stopped" test "$code" = 2
    expect "and says so" grep -q stopped "$top/err" "$top/out"
    expect "stopped, nothing is left" none_is_left
done

server=devices
truncate -s 300M "$top/image"
device=$(losetup --find --show "$top/image")
mkfs.ext4 -q "$device"
before=$(sha256sum <"$device")
bench trim --device "$device"
expect "a device with a filesystem is refused" test "$code" = 2
expect "and told apart" grep -q "holds ext4" "$top/err"
expect "and not touched" test "$before" = "$(sha256sum <"$device")"
bench trim --loop-dir "$top" --size 1GiB --runs 3 --threads 2 --format json
expect "trims are measured" test "$code" = 0
expect "in two ways" answer '[a["trims"] for a in r["arms"]] == ["once", "before_each"]'
expect "each with three runs" answer 'all(len(a["runs"]) == 3 for a in r["arms"])'
expect "trims discard" answer 'all(run["trimmed_bytes"] > 100e6 for run in r["arms"][1]["runs"])'
expect "and only where planned" answer '[run["trim_s"] is not None for run in r["arms"][0]["runs"]] == [True, False, False]'
expect "nothing is left of it" none_is_left

echo "$about: $passed passed, $failed failed"
[ "$failed" = 0 ]
