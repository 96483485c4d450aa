#!/usr/bin/env bash
# Makes what the documentation shows of the program: docs/rules.md and docs/check.svg.
set -euo pipefail
cd "$(dirname "$0")/.."
trimtab=$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd)/trimtab
"$trimtab" rule --all >docs/rules.md
cd lab/hosts
arguments=(check --bundle crypt-drops-discards.tar.zst --data-path /mnt/x)
SOURCE_DATE_EPOCH=1795230000 "$trimtab" "${arguments[@]}" --exit-zero --color always --width 80 |
    ../../docs/picture.py "trimtab ${arguments[*]}" >../../docs/check.svg
