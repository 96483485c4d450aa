# shellcheck shell=bash
# Runs in a guest: real dm-crypt, LVM thin and md devices. Records what `trimtab check` reports for each,
# and whether a bundle contains any volume key. Drives: nvme0n1 to nvme4n1.
set -uo pipefail
trimtab=/lab/trimtab
out=/lab/out
modprobe dm-crypt; modprobe dm-thin-pool; modprobe xfs; modprobe ext4; modprobe raid456
printf 'a passphrase' >/run/passphrase
fast=(--pbkdf-force-iterations 1000 --batch-mode --key-file /run/passphrase)

echo "== volumes"
# LUKS1 puts the volume key itself into the device-mapper table, LUKS2 a reference to the kernel keyring;
# --disable-keyring puts the key there as well.
cryptsetup luksFormat --type luks1 "${fast[@]}" /dev/nvme0n1 || exit 10
cryptsetup open --key-file /run/passphrase /dev/nvme0n1 luks1 || exit 11
cryptsetup luksFormat --type luks2 --pbkdf pbkdf2 "${fast[@]}" /dev/nvme1n1 || exit 12
cryptsetup open --key-file /run/passphrase --disable-keyring /dev/nvme1n1 luks2 || exit 13
for name in luks1 luks2; do
    dmsetup table --showkeys "$name" | grep -oE '\b[0-9a-f]{64,}\b' >>$out/keys
done
wc -l <$out/keys
mkfs.xfs -q -f /dev/mapper/luks1 && mkdir -p /mnt/luks1 && mount /dev/mapper/luks1 /mnt/luks1 || exit 14
mkfs.xfs -q -f /dev/mapper/luks2 && mkdir -p /mnt/luks2 && mount /dev/mapper/luks2 /mnt/luks2 || exit 15

pvcreate -q /dev/nvme2n1 && vgcreate -q vg /dev/nvme2n1 || exit 16
lvcreate -q -y --type thin-pool -L 400M --discards nopassdown -n pool vg || exit 17
lvcreate -q -y -V 300M --thinpool pool -n thin vg || exit 18
mkfs.ext4 -q -F /dev/mapper/vg-thin && mkdir -p /mnt/thin && mount /dev/mapper/vg-thin /mnt/thin || exit 19

mdadm --create /dev/md5 --run --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none \
    /dev/nvme3n1 /dev/nvme4n1 /dev/nvme5n1 || exit 20
mkfs.xfs -q -f /dev/md5 && mkdir -p /mnt/raid && mount /dev/md5 /mnt/raid || exit 21

echo "== check and collect as root"
$trimtab check --exit-zero --format json >$out/live.json || exit 30
$trimtab check --exit-zero || exit 31
$trimtab collect -o $out/host.tar.zst || exit 32
$trimtab collect --anonymise -o $out/anonymous.tar.zst || exit 33
$trimtab check --bundle $out/host.tar.zst --exit-zero --format json >$out/bundle.json || exit 34

echo "== as user nobody"
setpriv --reuid 65534 --regid 65534 --clear-groups $trimtab check --exit-zero --format json >$out/nobody.json || exit 35

echo "== a remedy that needs a passphrase, given in a file here"
cryptsetup refresh --key-file /run/passphrase --disable-keyring --allow-discards --persistent luks2 || exit 40
$trimtab check --exit-zero --format json >$out/after.json || exit 41
fstrim -v /mnt/luks2

echo "== remedies as printed"
apply() { # RULE: runs the first command block of its first finding
    $trimtab check --exit-zero --select "$1" --data-path /mnt/thin --data-path /mnt/luks2 --format markdown |
        awk '/^```sh/ { inside = 1; next } /^```/ { if (inside) exit } inside' >/run/remedy.sh
    cat /run/remedy.sh
    [ -s /run/remedy.sh ] && bash -e /run/remedy.sh
}
apply TRIM008 || exit 42
echo 0 >/sys/block/nvme1n1/queue/discard_max_bytes
$trimtab check --exit-zero --format json >$out/switched_off.json || exit 43
apply TRIM009 || exit 44
$trimtab check --exit-zero --format json >$out/mended.json || exit 45
exit 0
