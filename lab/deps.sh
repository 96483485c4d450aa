#!/usr/bin/env bash
# Installs what the tests need when run as root on Debian or Ubuntu; otherwise lists what is missing and
# what is skipped as a result.
set -euo pipefail
# command or file:package, purpose
needs="
cc:gcc the linker, zstd and ring
systemd-analyze:systemd the comparison of calendars with systemd's own
qemu-system-x86_64:qemu-system-x86 the guest
busybox:busybox-static the guest
cryptsetup:cryptsetup-bin the guest
dmsetup:dmsetup the guest
lvm:lvm2 the guest
mdadm:mdadm the guest
python3:python3 reading JSON in the guest test
thin_check:thin-provisioning-tools the guest
mkfs.xfs:xfsprogs the guest
mkfs.btrfs:btrfs-progs the guest
mkfs.ext4:e2fsprogs the guest
setpriv:util-linux the guest and the check as nobody
kmod:kmod the guest
cpio:cpio the guest
zstd:zstd the guest
xfs_io:xfsprogs the guest
btrfs:btrfs-progs the guest
e2fsck:e2fsprogs the guest
blkid:util-linux the guest
run-parts:debianutils the guest
fio:fio latencies, in the guest and in make bench-trim
nbdkit:nbdkit the disk models of make bench-trim
mvn:maven the real servers, and the real scheduler beside which ours is put
java:default-jre-headless the real servers
javac:default-jdk-headless the driver of the real scheduler
curl:curl the real servers
ps:procps the real servers
iostat:sysstat recordings of real trims
/usr/share/i18n/locales/ja_JP:locales recordings of real trims
openssl:openssl the real servers behind TLS
faketime:faketime a year of checks for a real Prometheus
/usr/lib/x86_64-linux-gnu/nbdkit/plugins/nbdkit-python-plugin.so:nbdkit-plugin-python the disk models
"
PATH=$PATH:/usr/sbin:/sbin
missing=()
while read -r command what; do
    [ -n "$command" ] || continue
    [ -e "${command%%:*}" ] || command -v "${command%%:*}" >/dev/null || missing+=("${command#*:} ($what)")
done <<<"$needs"
[ ${#missing[@]} = 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    packages=()
    for entry in "${missing[@]}"; do packages+=("${entry%% *}"); done
    echo "== installing: ${packages[*]}"
    apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >/dev/null
    exit 0
fi
echo "Missing, so some tests are skipped (run 'make test' as root on Debian to install them):"
printf '  %s\n' "${missing[@]}"
