#!/usr/bin/env bash
# Builds the static release binary and prints its path. It has a place of its own: `cargo build --release`
# writes a dynamically linked one.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | awk '/^host:/ { print $2 }')
# Links glibc statically; naming the target keeps the flag from procedural macros.
variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUSTFLAGS
env "$variable=-C target-feature=+crt-static" \
    cargo build --release --locked --target "$host" -p trimtab
binary=${CARGO_TARGET_DIR:-target}/$host/release/trimtab
static=${CARGO_TARGET_DIR:-target}/static
mkdir -p "$static"
# Renamed into place: a binary that is running cannot be written to.
cp "$binary" "$static/trimtab.new"
mv "$static/trimtab.new" "$static/trimtab"
# The live fix, which `trimtab livefix install` looks for beside the program. It needs Java and Maven to be built.
if jar=$("$PWD/lab/livefix/build.sh" 2>/dev/null); then
    cp "$jar" "$static/trimtab-livefix.jar.new"
    mv "$static/trimtab-livefix.jar.new" "$static/trimtab-livefix.jar"
fi
du -h --apparent-size "$static/trimtab" | awk '{ print $2, $1 }'
