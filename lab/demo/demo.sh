#!/usr/bin/env bash
# Runs trimtab on this machine, then on two recorded guests with real kernels, loads a server that stalls for half a
# minute, and compares two sets of benchmarks.
set -euo pipefail
cd "$(dirname "$0")/../.."
trimtab=${CARGO_TARGET_DIR:-target}/static/trimtab
show() {
    printf '\n$ trimtab %s\n' "$*"
    "$trimtab" "$@" --exit-zero
}
show check
show check --bundle lab/hosts/crypt-drops-discards.tar.zst --data-path /mnt/x
show check --bundle lab/hosts/raid0-xfs-discard.tar.zst --data-path /mnt/x

out=$(mktemp -d)
coproc responder { exec lab/demo/responder.py; }
responder_pid=$!
trap 'kill $responder_pid 2>/dev/null || true; rm -rf "$out"' EXIT
read -r port <&"${responder[0]}"
url=http://127.0.0.1:$port
printf '\n$ trimtab bench run lab/demo/stalls.toml --target %s\n' "$url"
# A machine on which much else runs makes the trial INVALID: exit code 1.
"$trimtab" bench run lab/demo/stalls.toml --target "$url" --into "$out" || [[ $? == 1 ]]

printf '\n$ trimtab bench compare samples/races/before samples/races/after\n'
"$trimtab" bench compare samples/races/before samples/races/after
