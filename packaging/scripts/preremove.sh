#!/bin/sh
# $1: `remove` or `upgrade` (dpkg), the number of versions that stay (rpm).
set -e
case "${1:-}" in
remove | 0) ;;
*) exit 0 ;;
esac
# A plan ended what trimmed before. Without the program nothing would trim.
if [ -e /var/lib/trimtab/plan.json ] && ! trimtab plan --undo; then
    echo 'trimtab: its plan could not be taken back, and without the program nothing would trim: see above' >&2
    exit 1
fi
# Timers that the user enabled would start nothing.
for link in /etc/systemd/system/timers.target.wants/trimtab-*.timer; do
    [ -L "$link" ] || continue
    [ ! -d /run/systemd/system ] || systemctl stop "${link##*/}" || true
    rm "$link"
    echo "disabled ${link##*/}"
done
# Else its last findings would be scraped for ever.
rm -f /var/lib/prometheus/node-exporter/trimtab.prom
