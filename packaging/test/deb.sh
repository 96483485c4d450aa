#!/usr/bin/env bash
# The deb in a fresh Debian, in a chroot: an older version installed and planning, upgraded, used, removed, purged; what is
# there afterwards is what was there before.
#
#   packaging/test/deb.sh SUITE OLD.deb NEW.deb
set -euo pipefail
cd "$(dirname "$0")/../.."
. packaging/test/common.sh
debian "$1"
recorded_host "$root"
cp "$2" "$root/root/old.deb"
cp "$3" "$root/root/new.deb"
listing >"$work/before"
version() { inside dpkg-query -W trimtab | cut -f2; }

quiet inside dpkg -i /root/old.deb
was=$(version)
make_plan
quiet inside dpkg -i /root/new.deb
[ "$was" != "$(version)" ]
ok "$(sed -n 's/^PRETTY_NAME=//p' "$root/etc/os-release"): upgraded from $was to $(version)"
plan_is_kept
quiet inside dpkg --verify trimtab
[ "$(inside trimtab --version)" = "trimtab $(version)" ]
units_are_sound

stays_without_its_plan inside dpkg -r trimtab
quiet inside dpkg -i /root/new.deb
enable_metrics
quiet inside dpkg -r trimtab
is_removed
quiet inside dpkg -i /root/new.deb
finds_what_was_recorded
nothing_is_enabled
quiet inside dpkg -P trimtab
rm -r "$root/etc/trimtab"
listing | diff "$work/before" -
ok "purged: all is as before"
