# systemd: runs as a service of a real systemd.
# shellcheck shell=bash
# fstrim.timer in every state: what `trimtab check` reports, and whether the suggested remedy fixes it. Then the units
# of packaging/, and what docs/enable-trim.md says to do with them.
# Drive: nvme0n1.
set -uo pipefail
trimtab=/lab/trimtab
out=/lab/out
systemctl --version | head -n 1
systemctl is-system-running
modprobe xfs
mkdir -p /mnt/data
mkfs.xfs -q -f /dev/nvme0n1 && mount /dev/nvme0n1 /mnt/data || exit 10
echo '/dev/nvme0n1 /mnt/data xfs defaults 0 0' >/etc/fstab
check() { $trimtab check --exit-zero --data-path /mnt/data --format json >"$out/$1.json" || exit 20; }

echo "== enabled and started"
systemctl is-enabled fstrim.timer
systemctl is-active fstrim.timer
check started
$trimtab check --exit-zero --data-path /mnt/data
$trimtab collect --data-path /mnt/data -o $out/host.tar.zst || exit 21
$trimtab check --exit-zero --data-path /mnt/data --bundle $out/host.tar.zst --format json >$out/bundle.json || exit 22

echo "== disabled"
systemctl disable --now fstrim.timer
check disabled

echo "== enabled, not started"
systemctl enable fstrim.timer
check idle

# The commands of the Nth fix, or (KIND undo) what takes them back.
printed() { # KIND N
    awk -v kind="$1" -v wanted="$2" '
        /^\*\*(Fix|Or):/ { what = "fix"; number++ }
        /^Undo:/ { what = "undo" }
        /^```sh/ { inside = what == kind && number == wanted; next }
        /^```/ { inside = 0 }
        inside' $out/markdown
}
apply() { # KIND N
    printed "$1" "$2" >$out/remedy.sh
    cat $out/remedy.sh
    [ -s $out/remedy.sh ] && bash -e $out/remedy.sh
}
echo "== the remedies for a disabled timer, as printed: a paced trim"
systemctl disable --now fstrim.timer
cp $trimtab /usr/bin/trimtab
$trimtab check --exit-zero --select TRIM003 --data-path /mnt/data --format markdown >$out/markdown
cp -a /etc /run/etc.before
apply fix 1 || exit 30
systemctl is-enabled trimtab-trim@mnt-data.timer && systemctl is-active trimtab-trim@mnt-data.timer || exit 31
systemctl show trimtab-trim@mnt-data.timer -p TimersCalendar -p NextElapseUSecRealtime
mkdir $out/units && cp -r /etc/systemd/system/trimtab* $out/units/
check paced
apply undo 1 || exit 32
systemctl is-active trimtab-trim@mnt-data.timer && exit 33
check undone
# Names, targets of links, modes, owners and contents.
listing() { (cd "$1" && find . -exec stat -c '%N %a %u %g' {} + | sort && find . -type f -exec md5sum {} + | sort); }
unchanged() {
    listing /run/etc.before >/run/before
    listing /etc >/run/now
    diff /run/before /run/now >"$out/$1.diff" && rm "$out/$1.diff"
}
unchanged undone || exit 36

echo "== the same while it runs: it is stopped, and started again"
systemctl enable --now fstrim.timer
rm -rf /run/etc.before && cp -a /etc /run/etc.before
trimtab plan --apply /mnt/data >$out/plan.text || exit 37
systemctl is-active fstrim.timer && exit 38
check planned
trimtab plan --apply /mnt/data >$out/again.text || exit 39
trimtab plan --status >$out/status.text || exit 40
echo "== somebody stops the plan's timer"
systemctl stop trimtab-trim@mnt-data.timer
check stopped
trimtab plan --apply /mnt/data >$out/started.text || exit 47
systemctl is-active trimtab-trim@mnt-data.timer || exit 48
echo "== a package upgrade starts fstrim.timer again"
systemctl unmask fstrim.timer && systemctl enable --now fstrim.timer
check upgraded
trimtab plan --status >$out/drift.text && exit 41
trimtab plan --apply /mnt/data >$out/mended.text || exit 42
systemctl is-active fstrim.timer && exit 43
trimtab plan --undo >$out/undo.text || exit 44
systemctl is-active fstrim.timer || exit 45
unchanged taken-back || exit 46
systemctl disable --now fstrim.timer

echo "== and fstrim at a quiet time"
apply fix 2 || exit 34
systemctl is-enabled fstrim.timer && systemctl is-active fstrim.timer || exit 35
systemctl show fstrim.timer -p TimersCalendar -p NextElapseUSecRealtime
check mended

echo "== masked"
systemctl disable --now fstrim.timer
systemctl mask fstrim.timer
check masked

echo "== the packaged units"
# shellcheck source=lab/cases/units.sh
. /lab/units.sh

echo "== step 4 of docs/enable-trim.md"
# shellcheck source=lab/cases/pages.sh
. /lab/pages.sh
exit 0
