#!/usr/bin/env bash
# Builds the static release binary and prints its path. It has a place of its own: `cargo build --release`
# writes a dynamically linked one. Another target, as aarch64-unknown-linux-gnu, has a folder of its own there.
#
#   lab/release.sh [TARGET]
#
# The same commit gives the same bytes, wherever the clone, the target folder and cargo's home are.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | awk '/^host:/ { print $2 }')
target=${1:-$host}
build=$(realpath -m "${CARGO_TARGET_DIR:-target}")
home=$(realpath -m "${CARGO_HOME:-$HOME/.cargo}")
static=$build/static
if [ "$target" != "$host" ]; then
    static+=/$target
    # As Debian names its cross compilers; the crates with C find it themselves.
    linker=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")_LINKER
    export "$linker=${target/-unknown/}-gcc"
fi

# v0.2.0-12-gabcdef012345 becomes 0.2.0+12.gabcdef012345, and a tag itself 0.2.0. Without git or a tag it is the workspace's.
unset TRIMTAB_VERSION
pattern='^v(.+)-([0-9]+)-(g[0-9a-f]+)(-dirty)?$'
if [[ $(git describe --tags --match 'v[0-9]*' --long --abbrev=12 --dirty 2>/dev/null) =~ $pattern ]]; then
    TRIMTAB_VERSION=${BASH_REMATCH[1]}
    if [ "${BASH_REMATCH[2]}${BASH_REMATCH[4]}" != 0 ]; then
        TRIMTAB_VERSION+=+${BASH_REMATCH[2]}.${BASH_REMATCH[3]}${BASH_REMATCH[4]/-/.}
    elif [[ ! $(cargo pkgid --locked -p trimtab) =~ [#@]"$TRIMTAB_VERSION"$ ]]; then
        echo "the tag v$TRIMTAB_VERSION is not the version in Cargo.toml" >&2
        exit 1
    fi
    export TRIMTAB_VERSION
fi

# Links glibc statically; naming the target keeps the flags from procedural macros. Paths in messages of panics are told without
# the place of this machine.
cargo fetch --locked --target "$target"
flags=(-C target-feature=+crt-static --remap-path-prefix "$PWD=/trimtab")
for folder in "$home"/registry/src/*; do flags+=(--remap-path-prefix "$folder=/crates"); done
flags+=(--remap-path-prefix "$build=/target")
# Packed relocations, and functions of the same code once: a twentieth of the size. Not every linker can, and a glibc older than
# 2.36 does not start with the former: a program that is linked so has to run here.
if [ "$target" = "$host" ]; then
    tried=$(mktemp -d)
    trap 'rm -rf "$tried"' EXIT
    for option in -z,pack-relative-relocs --icf=all; do
        option=(-C "link-arg=-Wl,$option")
        if rustc --target "$target" "${flags[@]}" "${option[@]}" -o "$tried/runs" - <<<'fn main() { println!("{:?}", std::env::args()); }' \
            2>/dev/null && "$tried/runs" >/dev/null 2>&1; then
            flags+=("${option[@]}")
        fi
    done
fi
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
cargo build --release --locked --target "$target" -p trimtab
mkdir -p "$static"
# Renamed into place: a binary that is running cannot be written to.
cp "$build/$target/release/trimtab" "$static/trimtab.new"
mv "$static/trimtab.new" "$static/trimtab"
# The live fix, which `trimtab livefix install` looks for beside the program. It needs Java and Maven to be built.
if jar=$("$PWD/lab/livefix/build.sh" 2>/dev/null); then
    cp "$jar" "$static/trimtab-livefix.jar.new"
    mv "$static/trimtab-livefix.jar.new" "$static/trimtab-livefix.jar"
fi
du -h --apparent-size "$static/trimtab" | awk '{ print $2, $1 }'
