# shellcheck shell=bash
# Step 4 of docs/enable-trim.md as it stands there: /lab/enable-trim has its commands. Sourced by systemd.sh after
# units.sh: $out, $trimtab, finished, /usr/bin/trimtab, a drop-in for the service, and XFS on nvme0n1.
# shellcheck disable=SC2154
sudo() { "$@"; }
step_check() { $trimtab check --exit-zero --data-path /data --format json >"$out/$1.json" || exit 50; }

# A host that trims in every way: the timer, cron, and the mount option.
systemctl unmask fstrim.timer
systemctl enable --now fstrim.timer
systemctl stop trimtab-trim@mnt-data.timer
cp -a /usr/share/lab/cron/. /
rm -rf /usr/sbin/anacron /etc/anacrontab /usr/lib/systemd/system/anacron.* /etc/cron.d/anacron /etc/cron.*/0anacron
printf '#!/bin/sh\n/sbin/fstrim --all || true\n' >/etc/cron.weekly/fstrim
chmod 755 /etc/cron.weekly/fstrim
systemctl daemon-reload
systemctl enable --now cron.service
mkdir /data
umount /mnt/data && mount -o discard /dev/nvme0n1 /data || exit 51
echo '/dev/nvme0n1 /data xfs discard 0 0' >/etc/fstab
step_check twice

# "It refuses as long as the filesystem is mounted with discard, and says so."
trimtab plan --apply --fstab /data 2>"$out"/refused && exit 52
sed -i 's/discard/defaults/' /etc/fstab
umount /data && mount /dev/nvme0n1 /data || exit 54
cd /lab || exit 55
while read -r command <&3; do
    echo "\$ $command"
    eval "$command" || exit 53
done 3</lab/enable-trim
systemctl is-enabled trimtab-trim@data.timer >"$out"/enabled
step_check followed

# The page's slot is on Tuesday, in UTC.
date -s '2026-12-01 00:59:58'
finished trimtab-trim@data.service >"$out"/nights.show
cat "$out"/nights.show
cp /var/lib/trimtab/audit.jsonl "$out"/
# As if that pass had taken two hours.
grep '"mount_point":"/data"' "$out/audit.jsonl" | grep '"outcome":"complete"' | tail -1 |
    sed -E 's/"active_s":[0-9.e+-]+/"active_s":7200/' >>/var/lib/trimtab/audit.jsonl
trimtab plan --fstab /data --pass 30min >"$out/slow.text"
