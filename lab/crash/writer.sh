#!/bin/bash
# A small store next to a pass: creates, fsyncs and deletes files, and keeps a ledger of what must
# survive.
#
#   writer.sh run DIR LEDGER       until LEDGER.stop exists
#   writer.sh verify DIR LEDGER    checks that every file whose fsync returned and whose deletion had
#                                  not begun is there, byte for byte
#
# The ledger is on a different filesystem. Also runs under bash with busybox's tools.
set -u
action=$1 directory=$2 ledger=$3
kept=48
case $action in
run)
    mkdir -p "$directory"
    number=0
    scratch=$(mktemp) || exit 1
    trap 'rm -f "$scratch"' EXIT
    until [ -e "$ledger.stop" ]; do
        number=$((number + 1))
        file=$directory/$number
        dd if=/dev/urandom of="$scratch" bs=4096 count=$((1 + RANDOM % 24)) 2>/dev/null || exit 1
        sum=$(sha256sum <"$scratch") || exit 1
        dd if="$scratch" of="$file" bs=64k conv=fsync 2>/dev/null || { echo "failed $number" >>"$ledger"; exit 1; }
        echo "made $number ${sum%% *}" >>"$ledger"
        if [ $number -gt $kept ]; then
            # Not always the oldest one, so that holes have all ages.
            gone=$((number - kept + RANDOM % 8 - 4))
            if [ $gone -gt 0 ] && [ -e "$directory/$gone" ]; then
                echo "gone $gone" >>"$ledger"
                rm "$directory/$gone" || { echo "failed $gone" >>"$ledger"; exit 1; }
            fi
        fi
        sleep 0.02
    done
    ;;
verify)
    awk '$1 == "made" { sum[$2] = $3 } $1 == "gone" { delete sum[$2] } $1 == "failed" { exit 1 }
        END { for (name in sum) print sum[name] "  " name }' "$ledger" >"$ledger.sums" || {
        echo "writer: a write or a deletion failed" >&2
        exit 1
    }
    [ -s "$ledger.sums" ] || { echo "writer: nothing was written" >&2; exit 1; }
    cd "$directory" || exit 1
    sha256sum -c "$ledger.sums" >"$ledger.verified" 2>&1 || {
        grep -v ': OK$' "$ledger.verified" | head -n 5 >&2
        exit 1
    }
    ;;
*) exit 2 ;;
esac
