# shellcheck shell=bash
# Sourced by the lab's tests: their requirements, and reporting of skipped tests.
PATH=$PATH:/usr/sbin:/sbin
# Needed to build and start a guest.
# shellcheck disable=SC2034
GUEST_TOOLS=(qemu-system-x86_64 busybox cryptsetup lvm mdadm mkfs.xfs xfs_io mkfs.btrfs systemctl run-parts fio cpio
    python3 apt-get)

skip() { # REASON
    echo "SKIPPED: $*"
    # lab/stage.sh repeats it at the end of `make test`.
    [ -z "${TRIMTAB_SKIPS:-}" ] || echo "$*" >>"$TRIMTAB_SKIPS"
    exit 0
}

need_tools() { # FOR_WHAT TOOL...
    local what=$1 tool
    shift
    for tool in "$@"; do
        command -v "$tool" >/dev/null || skip "$what needs $tool (make test as root installs it)"
    done
}
