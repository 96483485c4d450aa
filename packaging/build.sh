#!/usr/bin/env bash
# Builds a deb, an rpm and an archive of what `make release` built, with their checksums, in target/packages. The same commit
# gives the same bytes.
#
# nfpm 2.45.0: from 2.46.3 on it needs modules that Go's proxy does not have.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
TRIMTAB=$(realpath "${TRIMTAB:-$target/static/trimtab}")
out=$target/packages
nfpm=$target/tools/nfpm
[ -x "$nfpm" ] || GOBIN=$target/tools go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
STAGE=$(mktemp -d)
trap 'rm -rf "$STAGE"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
VERSION=$("$TRIMTAB" --version | awk '{ print $2 }')
# e_machine of the ELF header.
case $(od -An -tx1 -j18 -N2 "$TRIMTAB") in
*3e*00) NFPM_ARCH=amd64 ;;
*b7*00) NFPM_ARCH=arm64 ;;
*) echo "$TRIMTAB: expected a program for x86-64 or aarch64" >&2 && exit 1 ;;
esac
export STAGE SOURCE_DATE_EPOCH VERSION NFPM_ARCH TRIMTAB

DESTDIR=$STAGE packaging/install.sh install >/dev/null
find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
rm -rf "$out"
mkdir -p "$out"
for packager in deb rpm; do
    "$nfpm" package --config packaging/nfpm.yaml --packager "$packager" --target "$out" >"$STAGE/said" || { cat "$STAGE/said" && exit 1; }
done
tar -C "$STAGE" --sort=name --owner=0 --group=0 --numeric-owner -cf - usr |
    xz -9e >"$out/trimtab-$VERSION-linux-$NFPM_ARCH.tar.xz"
(cd "$out" && sha256sum -- *.deb *.rpm *.tar.xz >SHA256SUMS && du -h --apparent-size -- *)
