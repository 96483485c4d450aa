#!/usr/bin/env bash
# The deb in a fresh Debian 12, in a chroot: installed, used, installed over itself, removed with a plan in effect, purged; what is there
# afterwards is what was there before. The rpm is installed and removed by rpm, and holds
# the deb's files. Needs root and debootstrap; two minutes
# the first time.
set -euo pipefail
cd "$(dirname "$0")/.."
. lab/needs.sh
[ "$(id -u)" = 0 ] || skip "packages in a chroot need root"
need_tools "packages" debootstrap go rpm
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
packages=$target/packages
packaging/build.sh >/dev/null
fresh=$target/debian12
[ -e "$fresh/done" ] || { debootstrap --variant=minbase bookworm "$fresh" >/dev/null && touch "$fresh/done"; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp -a "$fresh/." "$root"
ok() { echo "  ok   $1"; }
inside() { chroot "$root" "$@"; }
# Without dpkg's own records and logs.
listing() {
    (cd "$root" && find . -path ./var/lib/dpkg -prune -o -path ./var/log -prune -o -path ./proc -prune -o \
        -printf '%P %M %U %G %l\n' | sort)
}

cp "$packages"/*.deb "$root/root/trimtab.deb"
# A host with a disk, that fstrim.timer trims.
disk=sys/devices/vbd-0/block/sda
mkdir -p "$root/host/$disk/queue" "$root"/host/{sys/block,sys/dev/block,proc/self,run/systemd/system,usr,etc/systemd/system} \
    "$root/host/usr/lib/systemd/system"
echo 8:0 >"$root/host/$disk/dev"
echo 2097152000 >"$root/host/$disk/size"
echo 0 >"$root/host/$disk/queue/rotational"
for name in discard_max_bytes discard_max_hw_bytes; do echo 2147483648 >"$root/host/$disk/queue/$name"; done
ln -s ../devices/vbd-0/block/sda "$root/host/sys/block/sda"
ln -s ../../devices/vbd-0/block/sda "$root/host/sys/dev/block/8:0"
echo '22 1 8:0 / /data rw,noatime - xfs /dev/sda rw' >"$root/host/proc/self/mountinfo"
echo '/dev/sda /data xfs noatime 0 0' >"$root/host/etc/fstab"
printf '%s\n' '[Timer]' OnCalendar=weekly >"$root/host/usr/lib/systemd/system/fstrim.timer"
printf '%s\n' '[Service]' 'ExecStart=/sbin/fstrim --all' >"$root/host/usr/lib/systemd/system/fstrim.service"
listing >"$root.before"
trap 'rm -rf "$root" "$root".*' EXIT

inside dpkg -i /root/trimtab.deb >"$root.said"
inside trimtab --version | grep -q '^trimtab '
began=$(date +%s%N)
inside trimtab check --root /host --exit-zero | grep -q TRIM
ok "from the package to the first finding in $((($(date +%s%N) - began) / 1000000)) ms"
! (cd "$root" && find etc/systemd -name '*trimtab*' | grep .) || exit 1
ok "nothing is enabled by installing"
echo 'width = 100' >"$root/etc/trimtab.toml"
inside dpkg -i /root/trimtab.deb >>"$root.said"
ok "the same version once more"

# As if this host had a plan: removing takes it back, or stays.
mkdir -p "$root/var/lib/trimtab"
echo '{' >"$root/var/lib/trimtab/plan.json"
chmod 600 "$root/var/lib/trimtab/plan.json"
! inside dpkg -r trimtab >"$root.said" 2>&1 || { cat "$root.said" && exit 1; }
grep -q 'without the program nothing would trim' "$root.said"
inside trimtab --version >/dev/null
ok "it stays where its plan cannot be taken back"
inside dpkg -i /root/trimtab.deb >>"$root.said"
rm "$root/var/lib/trimtab/plan.json"
wants=$root/etc/systemd/system/timers.target.wants
had_wants=$([ ! -d "$wants" ] || echo yes)
mkdir -p "$wants"
ln -s /usr/lib/systemd/system/trimtab-metrics.timer "$wants"
inside dpkg -r trimtab >"$root.said"
[ -n "$had_wants" ] || rmdir -p --ignore-fail-on-non-empty "$wants"
[ ! -e "$root/usr/bin/trimtab" ]
inside dpkg -P trimtab >"$root.said"
rm "$root/etc/trimtab.toml"
listing | diff "$root.before" -
ok "removed and purged: all is as before"

mkdir "$root.deb" "$root.rpm"
dpkg-deb -x "$packages"/*.deb "$root.deb"
rpm() { command rpm --root "$root.rpm" "$@" 2>"$root.said" || { cat "$root.said" && exit 1; }; }
rpm --initdb
# Its scripts are the deb's; there is no shell in this root.
rpm -i --nodeps --noscripts "$packages"/*.rpm
for folder in usr var/lib/trimtab; do diff -r "$root.deb/$folder" "$root.rpm/$folder"; done
[ "$(stat -c %a "$root.rpm/var/lib/trimtab")" = 700 ]
rpm -e --noscripts trimtab
[ -z "$(find "$root.rpm" -name '*trimtab*')" ]
(cd "$packages" && sha256sum --quiet -c SHA256SUMS)
ok "the rpm installs and removes the same files, and checksums are right"
before=$(cat "$packages/SHA256SUMS")
packaging/build.sh >/dev/null
[ "$before" = "$(cat "$packages/SHA256SUMS")" ]
ok "built again, byte for byte the same"
