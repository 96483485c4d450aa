#!/usr/bin/env bash
# Generates the parts of the documentation that show program output: docs/rules.md and docs/check.svg; and
# the schemas that `--schema` prints.
set -euo pipefail
cd "$(dirname "$0")/.."
trimtab=$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd)/trimtab
WRITE_SCHEMAS=1 cargo test --locked --quiet -p report --test report published_schemas
rules=$("$trimtab" rule --all)
printf '%s\n' "$rules" >docs/rules.md
cd lab/hosts
arguments=(check --bundle crypt-drops-discards.tar.zst --data-path /mnt/x)
SOURCE_DATE_EPOCH=1795230000 "$trimtab" "${arguments[@]}" --exit-zero --color always --width 80 |
    ../../docs/picture.py "trimtab ${arguments[*]}" >../../docs/check.svg
