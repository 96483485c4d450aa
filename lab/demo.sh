#!/usr/bin/env bash
# Runs trimtab on this machine, then on two recorded guests with real kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
trimtab=${CARGO_TARGET_DIR:-target}/static/trimtab
show() {
    printf '\n$ trimtab %s\n' "$*"
    "$trimtab" "$@" --exit-zero
}
show check
show check --bundle lab/hosts/crypt-drops-discards.tar.zst --data-path /mnt/x
show check --bundle lab/hosts/raid0-xfs-discard.tar.zst --data-path /mnt/x
