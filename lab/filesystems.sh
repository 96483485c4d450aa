# shellcheck shell=bash
# Sourced by tests on the host and by cases in guests: filesystems on which only the pass discards, and
# how much of them is stored.

make_filesystem() { # TYPE DEVICE: without discards or deferred initialization
    case $1 in
    xfs) mkfs.xfs -q -f -K "$2" ;;
    ext4) mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$2" ;;
    btrfs) mkfs.btrfs -q -f -K "$2" ;;
    esac >/dev/null
}

mount_filesystem() { # TYPE DEVICE DIR
    local options=defaults
    # Since Linux 6.2 Btrfs discards asynchronously by default where it can.
    [ "$1" = btrfs ] && options=nodiscard
    mkdir -p "$3"
    mount -t "$1" -o "$options" "$2" "$3"
}

check_filesystem() { # TYPE DEVICE_OR_FILE (not mounted)
    case $1 in
    xfs) xfs_repair -n "$2" ;;
    ext4) e2fsck -fn "$2" ;;
    btrfs) btrfs check "$2" ;;
    esac
}

# Bytes of a file that are allocated in its filesystem.
stored_bytes() { echo $(($(stat -c %b "$1") * 512)); }

# Bytes written to a device so far: field 7 of its stat, in sectors of 512 bytes.
written_bytes() { # DEVICE
    local fields
    read -ra fields <"/sys/block/${1#/dev/}/stat"
    echo $((fields[6] * 512))
}

# Bytes of free space that FITRIM may have missed because of concurrent writes. Btrfs' allocator removes
# the free extents of metadata that it uses from the list that FITRIM walks and puts them into a cluster:
# all of a block group's extents that are not tiny (btrfs_find_space_cluster and setup_cluster_no_bitmap,
# fs/btrfs/free-space-cache.c). Data has clusters only with ssd_spread (fetch_cluster_info,
# fs/btrfs/extent-tree.c). The upper bound is therefore the free space of metadata in all its copies.
clustered_bytes() { # TYPE DIR
    case $1 in
    btrfs) btrfs filesystem df -b "$2" | awk -F'[=, ]+' '/^Metadata/ { sum += ($2 ~ /^(DUP|RAID1)/ ? 2 : 1) * ($4 - $6) } END { print sum + 0 }' ;;
    *) echo 0 ;;
    esac
}
