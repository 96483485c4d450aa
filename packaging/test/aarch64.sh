#!/usr/bin/env bash
# The program for aarch64 says of every recorded host what the one for this machine says.
#
#   packaging/test/aarch64.sh FOREIGN NATIVE
set -euo pipefail
cd "$(dirname "$0")/../.."
. packaging/test/common.sh
export SOURCE_DATE_EPOCH=1795230000
for host in lab/hosts/*.tar.zst; do
    name=$(basename "$host" .tar.zst)
    mkdir -p "$work/$name"
    tar -C "$work/$name" --zstd -xf "$host" --strip-components=1 root
    # Recorded hosts without a store leave rules nothing to look at, which is exit code 2: the same for both.
    foreign=0 native=0
    qemu-aarch64-static "$1" check --root "$work/$name" --format json >"$work/foreign" 2>"$work/said" || foreign=$?
    "$2" check --root "$work/$name" --format json >"$work/native" 2>"$work/said" || native=$?
    [ "$foreign" = "$native" ] || { cat "$work/said" && exit 1; }
    grep -q '"trimtab.check/1"' "$work/native"
    cat "$work/native" >>"$work/all"
    # When a tree was read is the clock's own.
    diff <(grep -v '"read_at"' "$work/foreign") <(grep -v '"read_at"' "$work/native")
done
grep -q '"rule": "TRIM001"' "$work/all"
ok "$(find lab/hosts -name '*.tar.zst' | wc -l) recorded hosts: the same JSON from aarch64 and from this machine"
