# shellcheck shell=bash
# Runs in a guest: reads the drives' own write counters with Debian's smartctl and nvme-cli. Only records;
# lab/guest/test-drive-logs.sh evaluates the records on the host. Drives: two NVMe drives with one
# namespace, an NVMe drive that the kernel sees through a path of its subsystem, two SATA disks on AHCI
# (one reports itself as non-rotating), a SCSI disk and a virtio disk.
set -uo pipefail
# shellcheck source=lab/filesystems.sh
. /lab/filesystems.sh
out=/lab/out
trimtab=/lab/trimtab
WRITTEN_MIB=286
for module in xfs ext4 raid0 virtio_scsi virtio_blk ahci sd_mod; do modprobe $module; done
say() { echo "== [$(cut -d' ' -f1 /proc/uptime)] $*"; }
record() { printf '%s\t%s\n' "$1" "$2" >>$out/records; }

tries=0
until [ -e /sys/block/sdc ] && [ -e /sys/block/vda ] || [ $((tries++)) = 50 ]; do sleep 0.1; done
# Identify drives by their properties: the kernel's enumeration order varies.
for disk in /sys/block/sd*; do
    case $(cat "$disk/device/vendor")-$(cat "$disk/queue/rotational") in
    ATA*-0) sata=${disk##*/} ;;
    ATA*-1) magnets=${disk##*/} ;;
    *) scsi=${disk##*/} ;;
    esac
done
plain=()
for disk in /sys/block/nvme*n1; do
    name=${disk##*/}
    [[ $name != *c*n* ]] || continue # skip paths of the drive
    if grep -q lab-path "$disk/device/subsysnqn"; then paths=$name; else plain+=("$name"); fi
done
ls -d /sys/block/*
for name in sata magnets scsi paths; do record $name "${!name}"; done
record stripe "${plain[*]}"

mdadm --create /dev/md0 --run --level=0 --raid-devices=2 --chunk=64 "/dev/${plain[0]}" "/dev/${plain[1]}" || exit 10
mounted() { # TYPE DEVICE NAME
    make_filesystem "$1" "$2" && mount_filesystem "$1" "$2" "/mnt/$3" || exit 11
}
mounted xfs /dev/md0 stripe
mounted ext4 "/dev/$paths" paths
mounted ext4 "/dev/$sata" sata
mounted ext4 "/dev/$magnets" magnets
mounted ext4 "/dev/$scsi" scsi
mounted ext4 /dev/vda virtio
sync

counted() { # LABEL: records what the kernel has written to each drive
    local disk path bytes
    for disk in "${plain[@]}" "$paths"; do
        # Before Linux 6.2 a drive with a subsystem counts nothing, only its paths do (nvme2n1:
        # nvme2c2n1).
        bytes=$(written_bytes "$disk")
        for path in "/sys/block/${disk%n*}"c*"n${disk##*n}"; do
            [ ! -e "$path/stat" ] || bytes=$((bytes + $(written_bytes "${path##*/}")))
        done
        record "$1.$disk" "$bytes"
    done
}
ask() { # LABEL MOUNT [ARGUMENT...]: queries the drives, with a scenario that runs quickly
    local label=$1 mount=$2
    shift 2
    "${as[@]}" $trimtab ssd run --from-host "/mnt/$mount" --writes-per-day 10GB --fill 50% --capacity 100GB \
        --simulated-pages 8192 --days 1 --alone --quiet --format json "$@" >"$out/$label.json" 2>"$out/$label.err"
    record "$label.exit" $?
}
as=()
tools=/usr/share/lab/drive-tools

say "no tools"
ask bare paths
ask bare-sata sata
say "nvme-cli only"
cp -a $tools/nvme/. / || exit 12
nvme version || exit 13
ask nvme-only paths
$trimtab collect --quiet -o $out/nvme-only.tar.zst || exit 14
say "smartctl only"
mv /usr/sbin/nvme /run/nvme
cp -a $tools/smartctl/. / || exit 15
smartctl --version | head -n 1 || exit 16
ask smartctl-only paths
say "both"
mv /run/nvme /usr/sbin/nvme

say "before and after a write"
# The same calls that trimtab makes.
raw() { # NAME COMMAND...
    local name=$1
    shift
    "$@" >"$out/raw.$name" 2>"$out/raw.$name.err"
    record "raw.$name" $?
}
counted before
$trimtab collect --quiet -o $out/before.tar.zst || exit 20
for mount in stripe paths sata; do
    xfs_io -f -d -c "pwrite -q -b 1m 0 ${WRITTEN_MIB}m" "/mnt/$mount/file" || exit 21
done
sync
counted after
$trimtab collect --quiet -o $out/after.tar.zst || exit 22
$trimtab collect --quiet --anonymise -o $out/anonymous.tar.zst || exit 23
for disk in "${plain[@]}" "$paths"; do
    raw "smartctl_$disk" smartctl --json=c -A "/dev/$disk"
    raw "nvme_smart_log_$disk" nvme smart-log "/dev/$disk" -o json
    raw "nvme_ocp_smart_add_log_$disk" nvme ocp smart-add-log "/dev/$disk" -o json
done
raw "smartctl_$sata" smartctl --json=c -i -A -l devstat,1 "/dev/$sata"

say "trimtab's results"
for mount in stripe paths sata magnets scsi virtio; do
    ask "live-$mount" $mount
    ask "bundle-$mount" $mount --bundle $out/after.tar.zst
done
ask anonymous-stripe stripe --bundle $out/anonymous.tar.zst
say "as user nobody"
as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
ask nobody-paths paths
ask nobody-sata sata
mkdir -m 777 /run/nobody
"${as[@]}" $trimtab collect -o /run/nobody/nobody.tar.zst || exit 24
cp /run/nobody/nobody.tar.zst $out/
as=()
ask nobody-bundle paths --bundle $out/nobody.tar.zst
exit 0
