# systemd: runs as a service of a real systemd.
# shellcheck shell=bash
# Trim schedules: fstrim.timer, cron.weekly, anacron, and two of them at once. Records what `trimtab
# check` reports for each, that the planted job does trim, and that `trimtab trim` works alongside each
# schedule. Drive: nvme0n1.
set -uo pipefail
# shellcheck source=lab/cases/lib.sh
. /lab/lib.sh
modprobe xfs
# The path of a store's data, on which the severity depends.
ask() {
    local label=$1
    $trimtab check --exit-zero --data-path "$mount" --format json >"$out/$label.check.json" 2>"$out/$label.check.err"
}
filled() { # CASE
    renew /dev/nvme0n1 && fill "$1" xfs /dev/nvme0n1 0 && echo "$device $mount xfs defaults 0 0" >/etc/fstab
}
# Runs the case, then the planted job itself on a refilled filesystem.
schedule() { # CASE JOB...
    local label=$1
    shift
    filled "$label" && look && empty
    [ $# = 0 ] || { filled "$label-job" && measure "$label-job" "$@" && empty; }
}

schedule timer-enabled systemctl start fstrim.service

systemctl disable --now fstrim.timer
schedule timer-disabled

systemctl mask fstrim.timer
schedule timer-masked

say "cron without anacron: Debian's crontab, Ubuntu's old script"
cp -a /usr/share/lab/cron/. /
# Where systemd runs, Debian's anacron is started by its own timer.
mkdir /run/anacron
mv /usr/sbin/anacron /etc/anacrontab /usr/lib/systemd/system/anacron.* /run/anacron/
# The anacron package also brings a line for hosts without systemd, and the scripts that inform anacron of
# cron's runs.
rm /etc/cron.d/anacron /etc/cron.*/0anacron
printf '#!/bin/sh\n# trim all mounted file systems which support it\n/sbin/fstrim --all || true\n' >/etc/cron.weekly/fstrim
chmod 755 /etc/cron.weekly/fstrim
# There are no accounts here for PAM to look up.
printf 'auth required pam_permit.so\naccount required pam_permit.so\nsession required pam_permit.so\n' >/etc/pam.d/cron
systemctl daemon-reload
systemctl enable --now cron.service
# shellcheck disable=SC2317
cron_at_its_time() {
    local tries=0 stored
    # shellcheck disable=SC2086
    stored=$(stored_mib $drives)
    # A Sunday.
    date -s '2026-11-22 06:46:50'
    systemctl restart cron.service
    # shellcheck disable=SC2086
    while [ $((tries++)) -lt 60 ] && [ "$(stored_mib $drives)" -ge "$stored" ]; do sleep 1; done
}
schedule cron-weekly cron_at_its_time

say "anacron and cron, with Debian's guard"
mv /run/anacron/anacrontab /etc/
mv /run/anacron/anacron.* /usr/lib/systemd/system/
mv /run/anacron/anacron /usr/sbin/
systemctl daemon-reload
systemctl enable --now anacron.timer
schedule anacron /usr/sbin/anacron -d -f -n cron.weekly

say "without the guard"
cp /etc/crontab /run/crontab
sed -i 's/test -x .usr.sbin.anacron || //' /etc/crontab
schedule cron-unguarded
cp /run/crontab /etc/crontab

say "both cron.weekly and the timer"
systemctl unmask fstrim.timer
systemctl enable --now fstrim.timer
schedule cron-and-timer
exit 0
