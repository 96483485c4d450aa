#!/usr/bin/env bash
# Builds the static release binary and prints its path.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | awk '/^host:/ { print $2 }')
# Links glibc statically; naming the target keeps the flag from procedural macros.
variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUSTFLAGS
env "$variable=-C target-feature=+crt-static" \
    cargo build --release --locked --target "$host" -p trimtab
binary=${CARGO_TARGET_DIR:-target}/$host/release/trimtab
mkdir -p "${CARGO_TARGET_DIR:-target}/release"
cp "$binary" "${CARGO_TARGET_DIR:-target}/release/trimtab"
du -h --apparent-size "${CARGO_TARGET_DIR:-target}/release/trimtab" | awk '{ print $2, $1 }'
