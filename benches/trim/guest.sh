# shellcheck shell=bash
# Sourced in the guest by all cases. One filesystem at a time is mounted, at /mnt.
for module in nvme xfs ext4 btrfs; do modprobe $module; done
uname -r >/lab/out/release
chmod 755 /lab/trimtab
mkdir -p /state /mnt
# Each drive has its own state directory, because the drives hold copies of one filesystem with one UUID.
uptime() { cut -d' ' -f1 /proc/uptime; }
# The nth drive, by serial number: NVMe controllers are probed in parallel, so device names vary.
drive() {
    local found=
    until found=$(grep -l "^BENCH$1 *\$" /sys/block/nvme*n1/device/serial); do sleep 0.1; done
    echo "$found" | cut -d/ -f4
}
settled() {
    local was= now
    while :; do
        now=$(awk '{ print $12, $14 }' "/sys/block/$1/stat")
        [ "$now" = "$was" ] && return
        was=$now
        sleep 1
    done
}
trim_with() { # CONTENDER [ARGUMENT...]
    local contender=$1
    shift
    case $contender in
    fstrim) fstrim /mnt ;;
    trimtab) /lab/trimtab trim /mnt --now --state "/state/$index" -q "$@" ;;
    esac
}
