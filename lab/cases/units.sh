# shellcheck shell=bash
# The units of packaging/, as installed and started by their timers: a trim as root, and a night's trial as a user of
# its own. Sourced by systemd.sh: $out, XFS at /mnt/data, /usr/bin/trimtab.
# shellcheck disable=SC2154
cp /lab/packaging/*.service /lab/packaging/*.timer /etc/systemd/system/
mkdir -p /usr/lib/sysusers.d
cp /lab/packaging/trimtab-bench.sysusers.conf /usr/lib/sysusers.d/trimtab-bench.conf
systemd-sysusers || exit 40
id trimtab-bench
# No journal here, where a unit's output goes otherwise; and timers that wait for others are no test of these.
extend() { # UNIT LINE...
    mkdir -p "/etc/systemd/system/$1.d"
    printf '%s\n' "${@:2}" >"/etc/systemd/system/$1.d/lab.conf"
}
for unit in trimtab-trim@ trimtab-bench-nightly@ trimtab-bench-facts; do
    extend "$unit.service" '[Service]' "StandardOutput=append:$out/${unit%@}.log"
done
# The guest has no time zone, which a window needs.
echo 'Environment="TRIMTAB_TRIM_OPTIONS=--window 01:00-05:00 --deadline 4h --tz UTC"' >>/etc/systemd/system/trimtab-trim@.service.d/lab.conf
extend trimtab-trim@.timer '[Timer]' AccuracySec=1us

# A history that an earlier version wrote as root.
mkdir -p /etc/trimtab/bench /var/lib/trimtab-bench/page /run/www
echo '2026-11-01,moved to new racks' >/var/lib/trimtab-bench/page/notes.csv
cat >/etc/trimtab/bench/page.toml <<'TOML'
name = "page"
seed = 1
[operation.page]
kind = "get"
path = "/"
[[phase]]
name = "steady"
duration = "3s"
load = [{ operation = "page", rate = "20/s" }]
TOML
echo '127.0.0.1 localhost' >/etc/hosts
echo '{}' >/run/www/index.html
busybox httpd -p 127.0.0.1:9200 -h /run/www

# The user that a unit's process has while it runs, and how it ended.
finished() { # UNIT
    local tries=0 state='' user=''
    while [ $((tries += 1)) -le 200 ]; do
        state=$(systemctl show -p ActiveState --value "$1")
        local pid
        pid=$(systemctl show -p MainPID --value "$1")
        [ "$pid" = 0 ] || [ ! -e "/proc/$pid" ] || user=$(stat -c %U "/proc/$pid")
        [ "$(systemctl show -p ExecMainExitTimestampMonotonic --value "$1")" = 0 ] || [ "$state" = active ] ||
            [ "$state" = deactivating ] || break
        sleep 0.5
    done
    systemctl show "$1" -p Id -p User -p Result -p ExecMainCode -p ExecMainStatus
    echo "RanAs=$user"
}
systemctl daemon-reload
# Starting timers may take seconds here.
date -s '2026-11-23 00:59:45'
systemctl start 'trimtab-trim@mnt-data.timer' 'trimtab-bench-nightly@page.timer'
finished trimtab-trim@mnt-data.service >"$out"/trim.show
cp /var/lib/trimtab/audit.jsonl "$out"/
date -s '2026-11-23 01:59:58'
finished trimtab-bench-nightly@page.service >"$out"/nightly.show
systemctl show trimtab-bench-facts.service -p Result -p ExecMainStatus >"$out"/facts.show
# What Prometheus scrapes: written by the unit as packaged, of this host as it is.
mkdir -p /var/lib/prometheus/node-exporter
# An instance of a template is a job of this host once it is enabled.
systemctl enable 'trimtab-trim@mnt-data.timer'
systemctl start trimtab-metrics.timer
systemctl start trimtab-metrics.service || true
systemctl disable 'trimtab-trim@mnt-data.timer'
systemctl show trimtab-metrics.service -p Result -p ExecMainStatus >"$out"/metrics.show
stat -c '%U %a %n' /var/lib/prometheus/node-exporter/* >"$out"/metrics.files
cp /var/lib/prometheus/node-exporter/trimtab.prom "$out"/ || true
cat "$out"/*.show
cp -r /var/lib/trimtab-bench/page "$out"/
cp /run/trimtab-bench/host.tar.zst "$out"/facts.tar.zst
find /var/lib/trimtab-bench /run/trimtab-bench -exec stat -c '%U %G %a %n' {} + >"$out"/owners
cat "$out"/owners
