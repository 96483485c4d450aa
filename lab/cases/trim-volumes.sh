# shellcheck shell=bash
# Runs in a guest: trims on dm-crypt and LVM. Drives: nvme0n1 and nvme1n1.
set -uo pipefail
# shellcheck source=lab/cases/lib.sh
. /lab/lib.sh
for module in xfs ext4 btrfs dm-crypt dm-thin-pool raid0; do modprobe $module; done
printf 'a passphrase' >/run/passphrase
encrypt() { # DEVICE NAME
    cryptsetup luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --batch-mode --key-file /run/passphrase "$1" &&
        cryptsetup open --key-file /run/passphrase "$1" "$2"
}
allow_discards() { # NAME
    cryptsetup refresh --key-file /run/passphrase --allow-discards "$1"
}

say "dm-crypt drops discards, then passes them on, without an unmount in between"
encrypt /dev/nvme0n1 locked
fill crypt xfs /dev/mapper/locked 0 && look && allow_discards locked && look crypt-allowed
empty
cryptsetup close locked
renew /dev/nvme0n1

say "LVM: a linear volume, and a thin one in a pool that passes discards on, keeps them, ignores them"
pvcreate -q /dev/nvme0n1 /dev/nvme1n1 && vgcreate -q vg /dev/nvme0n1 /dev/nvme1n1
lvcreate -q -y -L 500M -n linear vg /dev/nvme0n1
stack linear xfs /dev/mapper/vg-linear 0
lvm lvremove -q -y vg/linear
lvcreate -q -y --type thin-pool -L 600M --discards passdown -n pool vg /dev/nvme1n1
lvcreate -q -y -V 500M --thinpool pool -n thin vg
pool_discards() { # MODE
    # There is no udev to wait for, and changing a pool's mode requires its volumes to be inactive.
    lvchange -q -an vg/thin
    lvchange -q -an vg/pool
    # Fails if the pool already has that mode.
    lvchange -q --discards "$1" vg/pool
    lvchange -q -ay vg/thin
}
for mode in passdown nopassdown ignore; do
    pool_discards $mode
    stack thin-$mode ext4 /dev/mapper/vg-thin 1
done
lvm vgremove -q -f -y vg
lvm pvremove -q /dev/nvme0n1 /dev/nvme1n1
renew /dev/nvme0n1 /dev/nvme1n1

say "dm-crypt on LVM on md"
mdadm --create /dev/md0 --run --level=0 --raid-devices=2 --chunk=64 /dev/nvme0n1 /dev/nvme1n1
pvcreate -q /dev/md0 && vgcreate -q vg /dev/md0
lvcreate -q -y -L 1200M -n data vg
encrypt /dev/mapper/vg-data deep
fill deep ext4 /dev/mapper/deep "0 1" && look && allow_discards deep && look deep-allowed
empty
exit 0
