#!/usr/bin/env bash
# The rpm, by dnf from a repository on this disk: an older version installed, upgraded, used, and removed.
#
# No distribution with rpm can be had from Debian's packages, so the root is a Debian whose /bin/sh is bash, as there,
# and which rpm knows as one package that provides it. The scripts run in it.
#
#   packaging/test/rpm.sh OLD.rpm NEW.rpm
set -euo pipefail
cd "$(dirname "$0")/../.."
. packaging/test/common.sh
debian bookworm
recorded_host "$root"
ln -sf bash "$root/usr/bin/sh"
# There, they belong to the package `filesystem`.
mkdir -p "$root"/usr/share/{fish/vendor_completions.d,zsh/site-functions}
repository=$work/repository
mkdir "$repository"
cat >"$work/userland.yaml" <<'YAML'
name: userland
arch: all
version: "1"
maintainer: nobody <nobody@localhost>
description: what the root has
provides: [/bin/sh]
YAML
nfpm package --config "$work/userland.yaml" --packager rpm --target "$repository" >/dev/null
manage() {
    createrepo_c --quiet "$repository"
    quiet dnf --installroot="$root" --repofrompath="ours,file://$repository" --repo=ours --refresh \
        --setopt=reposdir=/dev/null --setopt=cachedir="$work/cache" --setopt=persistdir="$work/dnf" --nogpgcheck \
        --releasever=9 --assumeyes "$@"
}
query() { rpm --root "$root" "$@"; }
version() { query -q --qf '%{VERSION}' trimtab; }
manage install userland
listing >"$work/before"

cp "$1" "$repository"
manage install trimtab
was=$(version)
make_plan
cp "$2" "$repository"
manage upgrade trimtab
[ "$was" != "$(version)" ]
ok "dnf: upgraded from $was to $(version)"
plan_is_kept
# What was written there changed the folder's time.
quiet query -V --nomtime trimtab
[ "$(inside trimtab --version)" = "trimtab $(version)" ]
units_are_sound

stays_without_its_plan manage remove trimtab
enable_metrics
manage remove trimtab
is_removed
manage install trimtab
finds_what_was_recorded
nothing_is_enabled
manage remove trimtab
rm -r "$root/etc/trimtab" "$root/var/lib/trimtab"
listing | diff "$work/before" -
ok "removed: all but what passes wrote is as before"
