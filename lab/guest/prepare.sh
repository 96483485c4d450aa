#!/usr/bin/env bash
# Builds what a guest boots: Debian's own kernel, unpacked but not installed, and an initramfs with this
# machine's storage tools. Cached by the hash of all inputs.
#
#   lab/guest/prepare.sh        prints the directory with vmlinux and initramfs, and with fio, which is
#                               large and therefore only included on request (GUEST_FIO=1)
set -euo pipefail
cd "$(dirname "$0")"
cache=${TRIMTAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trimtab}/guest
mkdir -p "$cache"
# Of two concurrent builds of the same image, the second waits and finds it complete.
exec 9>"$cache/.lock"
flock 9

package=$(apt-cache depends linux-image-amd64 | awk '/Depends:/ { print $2; exit }')
version=$(apt-cache policy "$package" | awk '/Candidate:/ { print $2 }')
if [ -z "$package" ] || [ "$version" = "(none)" ]; then
    echo "guest: no Debian kernel package found: run 'apt-get update'" >&2
    exit 2
fi
# cron and anacron from Debian, for the cases that plant a trim job; unpacked separately, so that the
# other cases see a host without them.
cron_packages="cron cron-daemon-common anacron"
# Tools that read the drives' logs, unpacked separately for the same reason. (The library's name changes
# from release to release.)
drive_packages="smartmontools nvme-cli $(apt-cache depends nvme-cli | awk '$1 == "Depends:" && $2 ~ /^libnvme/ { print $2 }')"
tools="bash busybox systemctl systemd-escape systemd-sysusers cryptsetup lvm dmsetup mkfs.xfs mkfs.btrfs mkfs.ext4 mount umount setpriv
    thin_check kmod mdadm fstrim xfs_io xfs_repair xfs_db e2fsck dumpe2fs btrfs blkid losetup run-parts"
hash=$(
    {
        echo "$package $version"
        cat prepare.sh init lab.service
        # shellcheck disable=SC2086
        apt-cache policy $cron_packages $drive_packages | grep -E '^[a-z]|Candidate:'
        for tool in $tools fio; do sha256sum "$(command -v "$tool")"; done
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
(cd "$work" && apt-get download -qq -o APT::Sandbox::User=root "$package=$version" >&2 && dpkg-deb -x ./*.deb kernel)
release=$(ls "$work/kernel/lib/modules")
root=$work/root
mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib,usr/lib64,etc/lvm,proc,sys,dev,run,tmp,mnt,lab,root,var/lib}
ln -s ../run "$root/var/run"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done

copy_libraries() { # PROGRAM [ROOT]
    local into=${2:-$root}
    # A static program has no libraries, which is not an error.
    { ldd "$1" 2>/dev/null || true; } | { grep -o '/[^ )]*' || true; } | while read -r library; do
        [ ! -e "$into$library" ] || continue
        mkdir -p "$into$(dirname "$library")"
        cp -L "$library" "$into$library"
    done
}
for tool in $tools; do
    cp -L "$(command -v "$tool")" "$root/usr/sbin/$tool"
    copy_libraries "$(command -v "$tool")"
done
mkdir "$work/fio"
cp -L "$(command -v fio)" "$work/fio/program"
copy_libraries "$work/fio/program" "$work/fio"
cat >"$work/fio/fio" <<'SH'
#!/bin/sh
here=/lab/fio
LD_LIBRARY_PATH=$here/lib/x86_64-linux-gnu:$here/usr/lib/x86_64-linux-gnu exec $here/program "$@"
SH
chmod 755 "$work/fio/fio"

cron=$root/usr/share/lab/cron
mkdir -p "$work/cron" "$cron"
# shellcheck disable=SC2086
(cd "$work/cron" && apt-get download -qq -o APT::Sandbox::User=root $cron_packages >&2 && for deb in ./*.deb; do dpkg-deb -x "$deb" "$cron"; done)
rm -rf "$work/cron" "${cron:?}/usr/share" "${cron:?}/usr/bin" "${cron:?}/etc/init.d"
# The guest's /lib is a link to usr/lib.
if [ -d "$cron/lib" ]; then
    cp -a "$cron/lib/." "$cron/usr/lib/"
    rm -rf "${cron:?}/lib"
fi
for program in cron anacron; do copy_libraries "$cron/usr/sbin/$program"; done
mkdir -p "$cron/usr/lib/x86_64-linux-gnu/security"
cp -L /lib/x86_64-linux-gnu/security/pam_permit.so "$cron/usr/lib/x86_64-linux-gnu/security/"

# systemd itself, for cases that request it: its programs, and only the units that work in a guest without
# udev, getty and login.
mkdir -p "$root/usr/lib/systemd/system"
for program in systemd systemd-executor systemd-shutdown systemd-cgroups-agent; do
    [ -e "/usr/lib/systemd/$program" ] || continue
    cp -L "/usr/lib/systemd/$program" "$root/usr/lib/systemd/$program"
    copy_libraries "/usr/lib/systemd/$program"
done
for unit in {basic,sysinit,multi-user,timers,paths,sockets,slices,shutdown,umount,final,poweroff,local-fs,local-fs-pre,swap,time-sync,time-set}.target \
    fstrim.timer fstrim.service systemd-poweroff.service; do
    cp -a "/usr/lib/systemd/system/$unit" "$root/usr/lib/systemd/system/"
done
ln -s multi-user.target "$root/usr/lib/systemd/system/default.target"
mkdir -p "$root/etc/systemd/system/multi-user.target.wants" "$root/etc/systemd/system/timers.target.wants"
cp lab.service "$root/etc/systemd/system/"
ln -s ../lab.service "$root/etc/systemd/system/multi-user.target.wants/lab.service"
ln -s /usr/lib/systemd/system/fstrim.timer "$root/etc/systemd/system/timers.target.wants/fstrim.timer"
: >"$root/etc/machine-id"
cp -L /etc/os-release "$root/etc/os-release"
# Libraries of the Rust binary, which is added when the guest starts.
for library in libgcc_s.so.1 libm.so.6 libc.so.6; do
    cp -L "/lib/x86_64-linux-gnu/$library" "$root/lib/x86_64-linux-gnu/"
done
cp "$root/usr/sbin/busybox" "$root/usr/bin/busybox"
# busybox' sh would run its own applets whatever PATH says, so cron's jobs get Debian's sh.
cp -L /bin/sh "$root/usr/bin/sh"
copy_libraries /bin/sh
for name in bash systemctl systemd-escape; do ln -sf "/usr/sbin/$name" "$root/usr/bin/$name"; done
# The kernel itself calls this to load filesystems and targets.
ln -sf kmod "$root/usr/sbin/modprobe"
for name in pvcreate vgcreate lvcreate lvchange lvs vgchange; do ln -sf lvm "$root/usr/sbin/$name"; done

# Each tool has its own directory, so that a case can have one without the other.
drive_tools=$root/usr/share/lab/drive-tools
mkdir -p "$work/drive-tools"
# shellcheck disable=SC2086
(cd "$work/drive-tools" && apt-get download -qq -o APT::Sandbox::User=root $drive_packages >&2 && for deb in ./*.deb; do dpkg-deb -x "$deb" .; done)
unpacked=$work/drive-tools
for program in smartctl nvme; do
    into=$drive_tools/$program
    mkdir -p "$into/usr/sbin" "$into/usr/lib/x86_64-linux-gnu"
    cp "$unpacked/usr/sbin/$program" "$into/usr/sbin/"
    libraries=$(LD_LIBRARY_PATH=$unpacked/usr/lib/x86_64-linux-gnu ldd "$into/usr/sbin/$program")
    if grep 'not found' <<<"$libraries" >&2; then exit 1; fi
    { grep -o '/[^ )]*' <<<"$libraries" || true; } | while read -r library; do
        # The packages' files were unpacked elsewhere; the guest's /lib is a link to usr/lib.
        path=${library#"$unpacked"}
        # Do not overwrite a library that the guest's programs use.
        [ ! -e "$root$path" ] || continue
        path=$into/usr/${path#/usr/}
        mkdir -p "$(dirname "$path")"
        cp -L "$library" "$path"
    done
done
# smartctl's database of attribute names.
mkdir -p "$drive_tools/smartctl/var/lib/smartmontools/drivedb"
cp "$work/drive-tools/usr/share/smartmontools/drivedb.h" "$drive_tools/smartctl/var/lib/smartmontools/drivedb/"
rm -rf "$work/drive-tools"

modules="nvme virtio_pci virtio_blk virtio_scsi sd_mod ahci ata_piix loop scsi_debug null_blk
    9p 9pnet_virtio virtio_rng xfs ext4 btrfs dm-mod dm-crypt dm-thin-pool dm-delay
    linear raid0 raid1 raid10 raid456 xts aesni_intel cbc essiv sha256_generic algif_skcipher algif_hash
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
# QEMU also boots the ELF image inside (PVH). To uncompress it in an emulated CPU takes longer than the
# rest of the boot.
python3 - "$work/kernel/boot/vmlinuz-$release" "$work/vmlinux" <<'PYTHON'
import lzma, struct, sys

image = open(sys.argv[1], "rb").read()
# Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length.
protected_mode = ((image[0x1F1] or 4) + 1) * 512
offset, length = struct.unpack_from("<II", image, 0x248)
payload = image[protected_mode + offset :][:length]
# The last four bytes are the size of what is compressed.
kernel = lzma.LZMADecompressor().decompress(payload)
if len(kernel) != struct.unpack("<I", payload[-4:])[0] or not kernel.startswith(b"\x7fELF"):
    sys.exit("guest: the kernel is not an ELF image compressed by xz")
open(sys.argv[2], "wb").write(kernel)
PYTHON
rm -rf "$root" "$work/kernel" "$work"/*.deb
rm -rf "$built"
mv "$work" "$built"
trap - EXIT
# Keep a single image: older ones are rebuilt if needed.
find "$cache" -mindepth 1 -maxdepth 1 -type d ! -name "$hash" -exec rm -rf {} +
echo "$built"
