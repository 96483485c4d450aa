#!/usr/bin/env bash
# Builds what a guest boots: Debian's own kernel, unpacked but not installed, and an initramfs with
# the storage tools of this machine. Cached by the hash of all that goes in.
#
#   lab/guest/prepare.sh        prints the directory that holds vmlinuz and initramfs
set -euo pipefail
cd "$(dirname "$0")"
cache=${TRIMTAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trimtab}/guest
mkdir -p "$cache"

package=$(apt-cache depends linux-image-amd64 | awk '/Depends:/ { print $2; exit }')
version=$(apt-cache policy "$package" | awk '/Candidate:/ { print $2 }')
[ -n "$package" ] && [ "$version" != "(none)" ] || {
    echo "guest: no Debian kernel package is known here: run 'apt-get update'" >&2
    exit 2
}
tools="bash busybox cryptsetup lvm dmsetup mkfs.xfs mkfs.btrfs mkfs.ext4 mount umount setpriv
    thin_check kmod mdadm fstrim"
hash=$(
    {
        echo "$package $version"
        cat prepare.sh init
        for tool in $tools; do sha256sum "$(command -v "$tool")"; done
    } | sha256sum | cut -c1-16
)
built=$cache/$hash
if [ -e "$built/initramfs" ]; then
    echo "$built"
    exit 0
fi

work=$(mktemp -d "$cache/building.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
(cd "$work" && apt-get download -q "$package=$version" >&2 && dpkg-deb -x ./*.deb kernel)
release=$(ls "$work/kernel/lib/modules")
root=$work/root
mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,etc/lvm,proc,sys,dev,run,tmp,mnt,lab,lib64,var/lib}

copy_with_libraries() {
    cp -L "$1" "$root/usr/sbin/$2"
    ldd "$1" 2>/dev/null | grep -o '/[^ )]*' | while read -r library; do
        [ -e "$root$library" ] && continue
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done || true
}
for tool in $tools; do
    copy_with_libraries "$(command -v "$tool")" "$tool"
done
# What a Rust binary wants, which is brought in when the guest starts.
for library in libgcc_s.so.1 libm.so.6 libc.so.6; do
    cp -L "/lib/x86_64-linux-gnu/$library" "$root/lib/x86_64-linux-gnu/"
done
cp "$root/usr/sbin/busybox" "$root/bin/busybox"
ln -sf /usr/sbin/bash "$root/bin/bash"
# The kernel itself calls this one to load filesystems and targets.
ln -sf ../usr/sbin/kmod "$root/sbin/modprobe"
for name in pvcreate vgcreate lvcreate lvchange lvs vgchange; do ln -sf lvm "$root/usr/sbin/$name"; done

modules="nvme virtio_pci 9p 9pnet_virtio virtio_rng xfs ext4 btrfs dm-mod dm-crypt dm-thin-pool
    raid0 raid1 raid456 xts aesni_intel cbc essiv sha256_generic algif_skcipher algif_hash
    crc32c_generic"
mkdir -p "$root/lib/modules/$release"
cp "$work/kernel/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$root/lib/modules/$release/"
depmod -b "$work/kernel" "$release"
for module in $modules; do
    modprobe -d "$work/kernel" -S "$release" --show-depends "$module" 2>/dev/null |
        awk '$1 == "insmod" { print $2 }'
done | sort -u | while read -r file; do
    inside=${file#"$work/kernel"}
    mkdir -p "$root$(dirname "$inside")"
    cp "$file" "$root$inside"
done
depmod -b "$root" "$release"

cat >"$root/etc/lvm/lvm.conf" <<'CONF'
activation { udev_sync=0 udev_rules=0 monitoring=0 }
devices { use_devicesfile=0 obtain_device_list_from_udev=0 }
backup { backup=0 archive=0 }
global { use_lvmpolld=0 }
CONF
echo 'root:x:0:0:root:/:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/sh' >"$root/etc/passwd"
cp init "$root/init"
chmod 755 "$root/init"
(cd "$root" && find . -print0 | cpio --null -o -H newc --quiet) >"$work/initramfs"
cp "$work/kernel/boot/vmlinuz-$release" "$work/vmlinuz"
rm -rf "$root" "$work/kernel" "$work"/*.deb
rm -rf "$built"
mv "$work" "$built"
trap - EXIT
# One image is enough: older ones are made again when somebody goes back.
find "$cache" -mindepth 1 -maxdepth 1 ! -name "$hash" -exec rm -rf {} +
echo "$built"
