#!/usr/bin/env bash
# Under a real systemd: fstrim.timer in every state, with the remedy applied as printed, the units of packaging/, and the
# step of docs/enable-trim.md that needs systemd.
set -euo pipefail
# shellcheck source=lab/guest/expect.sh
. "$(dirname "$0")/expect.sh"
lab/explain-cases/commands.py docs/enable-trim.md | grep -E '^sudo trimtab plan --apply' >"$out/enable-trim"
GUEST_COPY="packaging lab/cases/units.sh lab/cases/pages.sh $out/enable-trim" GUEST_TIMEOUT_S=600 \
    lab/guest/run.sh lab/cases/systemd.sh "$binary" "$out" 1 600M

expect "a running timer at its default time is unpaced" has started '^TRIM007 /mnt/data nvme0n1 warning'
expect "and nothing else is wrong with it" lacks started 'TRIM00[236]'
expect "the bundle repeats the live check" same started bundle
"$binary" check --bundle "$out/host.tar.zst" --data-path /mnt/data --exit-zero --format json >"$out/elsewhere.json"
expect "and does so on another machine" same started elsewhere
expect "systemd's own answer is in the bundle" \
    bash -c "zstd -dcq '$out/host.tar.zst' | tar -xO cmd/systemctl_show | grep -q '^UnitFileState=enabled'"
expect "a disabled timer is found" has disabled '^TRIM003 .* warning fstrim.timer'
expect "a timer that is enabled but not started is found" has idle '^TRIM003 .* warning fstrim.timer'
expect "the printed paced trim fixes it" lacks paced 'TRIM003 .* warning'
expect "and brings nothing else" lacks paced 'TRIM00[2-7] .* warning'
expect "its undo takes that back" has undone '^TRIM003 .* warning fstrim.timer'
expect "fstrim at a quiet time fixes it as well" lacks mended 'TRIM003'
expect "with an explicitly chosen time" lacks mended '^TRIM007 .* warning'
expect "systemd uses the plan's time" grep -q '^TimersCalendar={ OnCalendar=Tue \*-\*-\* 01:00:00' "$out/log"
expect "and that of fstrim" grep -q '^TimersCalendar={ OnCalendar=Sun \*-\*-\* 03:00:00' "$out/log"
said() { tr -s ' \n' ' ' <"$out/$1.text" | grep -qE -- "$2"; }
# What they start is not on this machine, nor are its man pages.
sed -i 's,=/usr/bin/trimtab,=/bin/true,' "$out"/units/trimtab-trim@.service
verified() {
    SYSTEMD_UNIT_PATH=$out/units: systemd-analyze verify --man=no trimtab-trim@mnt-data.timer trimtab-trim@mnt-data.service \
        2>"$out/verify" && [ ! -s "$out/verify" ]
}
expect "systemd finds nothing wrong with the planned units" verified
expect "a plan for a timer that runs ends TRIM007" lacks planned 'TRIM00[2-7] .* warning'
expect "and masks the timer" said plan '/etc/systemd/system/fstrim.timer \(fstrim.timer is masked\)'
expect "a second one changes nothing" said again '^Nothing to change'
expect "it is in effect" said status '^The plan is in effect'
expect "check is silent about it" lacks planned TRIM014
expect "and tells of its timer when that is stopped" has stopped '^TRIM014 .* warning'
expect "a timer that an upgrade starts is found by check" has upgraded '^TRIM007 /mnt/data .* warning'
expect "and by the plan" said drift 'fstrim.timer trims it as well'
expect "and ends once more" said mended 'fstrim.timer no longer trims it'
expect "undone, every file is as before" test ! -e "$out/undone.diff" -a ! -e "$out/taken-back.diff"
expect "a plan is refused under the option discard" grep -q "discards what it frees by itself" "$out/refused"
expect "a masked timer is reported as a deliberate decision" has masked '^TRIM003 .* info fstrim.timer'
in_file() { grep -q -- "$2" "$out/$1"; }
expect "the packaged trim ends well" in_file trim.show '^Result=success'
expect "it runs as root" in_file trim.show "^RanAs=root"
expect "its audit line is there" in_file audit.jsonl '"mount_point":"/mnt/data".*"outcome":"complete"'
expect "the facts were written" in_file facts.show '^ExecMainStatus=0'
expect "root owns them, and the benchmark's group alone reads them" in_file owners '^root trimtab-bench 640 /run/.*tar.zst$'
beside=$(zstd -dcq "$out/facts.tar.zst" | tar -xO --wildcards '*trimtab/bench.json' || true)
expect "and they tell of that trim" grep -q '"/mnt/data":{"ended_at"' <<<"$beside"
expect "the metrics were written" in_file metrics.show '^ExecMainStatus=0'
expect "by rename, for others to read" [ "$(cat "$out/metrics.files")" = "root 644 /var/lib/prometheus/node-exporter/trimtab.prom" ]
expect "they tell of that trim" in_file trimtab.prom '^trimtab_trim_pass_complete{mountpoint="/mnt/data"} 1'
expect "and when it goes on" in_file trimtab.prom \
    '^trimtab_job_next_start_timestamp_seconds{name="trimtab-trim@mnt-data.timer",work="trim"} 17[0-9]*$'
expect "a check in the unit sees what one outside of it sees" in_file trimtab.prom '^trimtab_check_could_tell 1'
expect "the night's trial runs as a user of its own" in_file nightly.show '^RanAs=trimtab-bench'
# 1: a trial that is INVALID, as may be on a machine that does more than that.
expect "and ends well" in_file nightly.show '^ExecMainStatus=[01]$'
expect "the trial is complete" grep -q '"state": *"complete"' "$out"/page/2026*/trial.json
expect "of requests that were answered" grep -q '"succeeded": *60' "$out"/page/2026*/trial.json
expect "the page is written" test -s "$out/page/index.html"
expect "with the notes in it" in_file page/index.html 'moved to new racks'
expect "a history of root's became the user's" in_file owners '^trimtab-bench .*/notes.csv'
expect "others can read the page" in_file owners ' 644 .*/index.html'
expect "before the page is followed, /data is trimmed twice, in two ways" has twice '^TRIM004 /data '
expect "cron and systemd both trim" has twice '^SCHED002 '
expect "after the page, neither is reported" lacks followed 'TRIM004|SCHED002'
expect "nor anything else of trims" lacks followed 'TRIM00[2-7]'
expect "its timer starts after the next boot as well" in_file enabled '^enabled'
expect "and runs, at the time that the page says" in_file nights.show '^Result=success'
expect "a slot that is shorter than the last pass is told" said slow \
    'the last complete pass on /data took 2 h, and the next ones end after 30 min: .* --pass 2h12m'
expect "which is a pass of /data" in_file audit.jsonl '"mount_point":"/data".*"outcome":"complete"'
# In tenths. What is missing in a unit is said in it, with what it would break.
exposed_at_most() { systemd-analyze security --offline=true --no-pager --threshold="$1" "packaging/$2" | tail -n 1; }
expect "the nightly has what needs no right of root" exposed_at_most 20 trimtab-bench-nightly@.service
expect "its facts have what needs no mount namespace" exposed_at_most 40 trimtab-bench-facts.service
expect "and so have the metrics" exposed_at_most 45 trimtab-metrics.service
expect "and so has the trim" exposed_at_most 45 trimtab-trim@.service
finish
