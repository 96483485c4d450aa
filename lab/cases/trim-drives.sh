# shellcheck shell=bash
# Runs in a guest: trims drives and arrays. Drives: nvme0n1 to nvme3n1; one virtio-scsi and one AHCI disk
# whose discards the host honors, and one each whose discards it ignores.
set -uo pipefail
# shellcheck source=lab/cases/lib.sh
. /lab/lib.sh
for module in xfs ext4 btrfs virtio_scsi ahci sd_mod raid0 raid1 raid10 raid456; do modprobe $module; done
nvme=(/dev/nvme{0..3}n1)

for type in xfs ext4 btrfs; do
    stack nvme-$type $type /dev/nvme0n1 0
    renew /dev/nvme0n1
done

say "XFS whose allocation group is full except for free extents of equal length"
(
    make_filesystem() { mkfs.xfs -q -f -K -d size=400m "$2"; }
    stack nvme-alike xfs /dev/nvme0n1 0
)
renew /dev/nvme0n1

array() { # CASE TYPE LEVEL DRIVES MDADM_ARGUMENT...
    # Do not reuse lib.sh's variable names: a second run on the array needs their values.
    local case_of=$1 made_as=$2 level=$3 count=$4
    shift 4
    mdadm --create /dev/md0 --run --level="$level" --raid-devices="$count" --size=600M "$@" "${nvme[@]:0:$count}" &&
        stack "$case_of" "$made_as" /dev/md0 "$(seq -s ' ' 0 $((count - 1)))"
}
end_array() {
    mdadm --stop /dev/md0
    renew "${nvme[@]}"
}
array raid0 xfs 0 4 --chunk=64; end_array
array raid1 ext4 1 2 --assume-clean; end_array
array raid10 xfs 10 4 --assume-clean --chunk=64; end_array
array raid5 xfs 5 3 --assume-clean --chunk=64
# The same array, with discards allowed by an administrator who knows that the drives read back zeros.
mdadm --stop /dev/md0
echo Y >/sys/module/raid456/parameters/devices_handle_discard_safely
mdadm --assemble /dev/md0 "${nvme[@]:0:3}"
again raid5-allowed
empty
end_array

# Identify disks by QEMU's serial numbers.
disk() {
    local page
    for page in /sys/block/sd*/device/vpd_pg80; do
        if [ "$(tr -dc 'A-Z-' <"$page")" = "$1" ]; then
            page=${page%/device/*}
            echo "/dev/${page##*/}"
        fi
    done
}
tries=0
until [ -e /sys/block/sdd ] || [ $((tries++)) = 50 ]; do sleep 0.1; done
stack scsi xfs "$(disk SCSI)" scsi
fill scsi-ignored xfs "$(disk SCSI-IGNORED)" scsi-ignored && look
# Also record the text output: what does it claim about a medium that cannot be observed?
measure scsi-ignored-text $trimtab trim "$mount" --now --restart --max-latency 5s --accept-stall 1h
empty
stack ahci ext4 "$(disk AHCI)" ahci
stack ahci-ignored ext4 "$(disk AHCI-IGNORED)" ahci-ignored
exit 0
