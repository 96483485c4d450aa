#!/usr/bin/env bash
# Packages what `make release` built: a deb, an rpm, an archive, a container image, and lists of what is in the program (CycloneDX),
# with their checksums, in target/packages. The same commit gives the same bytes.
#
#   packaging/build.sh [TARGET...]        other targets that lab/release.sh has built, beside this machine's
#
# nfpm 2.45.0: from 2.46.3 on it needs modules that Go's proxy does not have.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# It runs here, for the version, the man pages and the completions of all targets.
native=$(realpath "${TRIMTAB:-$build/static/trimtab}")
out=$build/packages
nfpm=$build/tools/nfpm
[ -x "$nfpm" ] || GOBIN=$build/tools go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
# Several threads would give other bytes than one.
XZ=(-9e -T1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
VERSION=$("$native" --version | awk '{ print $2 }')
export SOURCE_DATE_EPOCH VERSION
rm -rf "$out"
mkdir -p "$out"

package() { # TARGET PROGRAM
    local packager prefix deb
    # As Go names them, and Debian.
    case $1 in
    x86_64-*) NFPM_ARCH=amd64 ;;
    aarch64-*) NFPM_ARCH=arm64 ;;
    *) echo "$1: expected a target of x86-64 or aarch64" >&2 && exit 1 ;;
    esac
    STAGE=$work/$1
    export STAGE NFPM_ARCH
    prefix=$out/trimtab-$VERSION-linux-$NFPM_ARCH
    TRIMTAB=$2 RUN=$native DESTDIR=$STAGE packaging/install.sh install >/dev/null
    packaging/sbom.py "$1" "$2" "$VERSION" >"$prefix.cdx.json"
    install -m 644 "$prefix.cdx.json" "$STAGE/usr/share/doc/trimtab/trimtab.cdx.json"
    # Debian's form of it, for the deb alone.
    printf 'trimtab (%s) unstable; urgency=medium\n\n  * CHANGELOG.md tells what changed.\n\n -- %s  %s\n' "$VERSION" \
        "trimtab developers <trimtab@localhost>" "$(date -uRd "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$STAGE.changelog.gz"
    find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    for packager in deb rpm; do
        "$nfpm" package --config packaging/nfpm.yaml --packager "$packager" --target "$out" >"$work/said" ||
            { cat "$work/said" && exit 1; }
    done
    # nfpm's own xz packs a fifth worse, which the rpm has to bear.
    deb=$(echo "$out"/*_"$NFPM_ARCH.deb")
    (cd "$work" && ar x "$deb" && xz -f "${XZ[@]}" data.tar && rm "$deb" &&
        ar rcD "$deb" debian-binary control.tar.gz data.tar.xz)
    tar -C "$STAGE" --sort=name --owner=0 --group=0 --numeric-owner -cf - usr | xz "${XZ[@]}" >"$prefix.tar.xz"
    packaging/image.py "$2" "$NFPM_ARCH" "$VERSION" "$(git rev-parse HEAD)" >"$prefix-image.tar"
}

package "$(rustc -vV | awk '/^host:/ { print $2 }')" "$native"
for target in "$@"; do package "$target" "$build/static/$target/trimtab"; done
(cd "$out" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" . && du -h --apparent-size -- *)
