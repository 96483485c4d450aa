#!/usr/bin/env bash
# What `make packages` built: the same bytes a second time, without faults that lintian knows, and in fresh roots of Debian 12,
# Debian testing and rpm installed, upgraded, used and removed; the image run as its user. Needs root and what is named
# below; some minutes the first time.
#
#   packaging/test-packages.sh [TARGET...]        with those that lab/release.sh has built
#
# The older version is this tree, named 0.1.0, with a file that is gone; or the deb and rpm in the folder OLDER.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/test/common.sh
[ "$(id -u)" = 0 ] || skip "packages in a chroot need root"
need_tools "packages" debootstrap go lintian rpm dnf createrepo_c skopeo umoci zstd python3
packages=$build/packages
export PATH=$build/tools:$PATH
one() { # PATTERN: the package of this machine
    local found
    mapfile -t found < <(find "$packages" -name "$1")
    [ ${#found[@]} = 1 ]
    echo "${found[0]}"
}

packaging/build.sh "$@" >/dev/null
(cd "$packages" && sha256sum --quiet -c SHA256SUMS)
[ "$(wc -l <"$packages/SHA256SUMS")" = $(($(find "$packages" -type f | wc -l) - 1)) ]
before=$(cat "$packages/SHA256SUMS")
packaging/build.sh "$@" >/dev/null
[ "$before" = "$(cat "$packages/SHA256SUMS")" ]
ok "$(wc -l <<<"$before") files, built again byte for byte the same"
machine=$(dpkg --print-architecture)
deb=$(one "*_$machine.deb")
rpm=$(one "*.$(uname -m).rpm")
image=$(one "*-$machine-image.tar")
program=$build/static/trimtab
for built in "" "$@"; do
    built=$build/static/${built:+$built/}trimtab
    ! grep -qaF -e "$PWD" -e "$build" -e "${CARGO_HOME:-$HOME/.cargo}" "$built" || { echo "$built has paths of this machine" && exit 1; }
    grep -q "$(sha256sum "$built" | cut -d' ' -f1)" "$packages"/*.cdx.json
done
dpkg-deb -x "$deb" "$work/deb"
cmp "$packages/"*"-$machine.cdx.json" "$work/deb/usr/share/doc/trimtab/trimtab.cdx.json"
ok "no path of this machine is in a program, and the lists of what is in them name them by checksum"

lintian --no-cfg --allow-root --fail-on error "$packages"/*.deb
rm -r "$work"/deb/usr/share/{lintian,doc/trimtab/changelog.gz}
quiet rpm --root "$work/rpm" --initdb
quiet rpm --root "$work/rpm" -i --nodeps --noscripts "$rpm"
for folder in usr var/lib/trimtab; do diff -r "$work/deb/$folder" "$work/rpm/$folder"; done
ok "lintian has no errors, and the rpm holds the deb's files"

if [ -z "${OLDER:-}" ]; then
    OLDER=$work/older
    mkdir "$OLDER" "$work/stage"
    mv "$work/deb/usr" "$work/stage/usr"
    touch "$work/stage/usr/share/trimtab/gone"
    echo | gzip >"$work/stage.changelog.gz"
    for packager in deb rpm; do
        STAGE=$work/stage VERSION=0.1.0 NFPM_ARCH=$machine quiet nfpm package --config packaging/nfpm.yaml --packager $packager \
            --target "$OLDER"
    done
fi
packaging/test/deb.sh bookworm "$OLDER"/*.deb "$deb"
packaging/test/deb.sh testing "$OLDER"/*.deb "$deb"
packaging/test/rpm.sh "$OLDER"/*.rpm "$rpm"
packaging/test/image.sh "$image"
for target in "$@"; do
    case $target in
    aarch64-*) packaging/test/aarch64.sh "$build/static/$target/trimtab" "$program" ;;
    esac
done
