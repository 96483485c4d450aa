# shellcheck shell=bash
# Sourced by kill.sh and power.sh: filesystems on loop devices that these scripts made themselves.

# A filesystem that nothing is discarded from, in a file of which every block is stored.
make_filesystem() { # TYPE DEVICE
    case $1 in
    xfs) mkfs.xfs -q -f -K "$2" ;;
    ext4) mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$2" ;;
    btrfs) mkfs.btrfs -q -f -K "$2" ;;
    esac >/dev/null
}

mount_filesystem() { # TYPE DEVICE DIR
    local options=defaults
    # What is deleted must wait for the pass.
    [ "$1" = btrfs ] && options=nodiscard
    mkdir -p "$3"
    mount -t "$1" -o "$options" "$2" "$3"
}

check_filesystem() { # TYPE DEVICE_OR_FILE
    case $1 in
    xfs) xfs_repair -n "$2" ;;
    ext4) e2fsck -fn "$2" ;;
    btrfs) btrfs check "$2" ;;
    esac
}

# Bytes of a file that its own filesystem stores.
stored_bytes() { echo $(($(stat -c %b "$1") * 512)); }
