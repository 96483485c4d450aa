#!/usr/bin/env bash
# Builds the static release binary and prints where it is.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | awk '/^host:/ { print $2 }')
# glibc is linked in; naming the target keeps the flag away from procedural macros.
variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUSTFLAGS
env "$variable=-C target-feature=+crt-static" \
    cargo build --release --locked --target "$host" -p trimtab
binary=${CARGO_TARGET_DIR:-target}/$host/release/trimtab
mkdir -p "${CARGO_TARGET_DIR:-target}/release"
cp "$binary" "${CARGO_TARGET_DIR:-target}/release/trimtab"
du -h --apparent-size "${CARGO_TARGET_DIR:-target}/release/trimtab" | awk '{ print $2, $1 }'
