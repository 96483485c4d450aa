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
    qemu-aarch64-static "$1" check --root "$work/$name" --exit-zero --format json >"$work/foreign"
    "$2" check --root "$work/$name" --exit-zero --format json >"$work/native"
    grep -q '"rule"' "$work/native"
    cmp "$work/foreign" "$work/native"
done
ok "$(find lab/hosts -name '*.tar.zst' | wc -l) recorded hosts: the same JSON from aarch64 and from this machine"
