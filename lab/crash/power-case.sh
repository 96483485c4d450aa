# shellcheck shell=bash
# Runs in a guest, twice with the same drives: nvme0n1 is trimmed, nvme1n1 holds the state directory.
# /lab/keep survives the power cut, as it is on the host's disk.
#
# The first boot (no /lab/keep/sums yet) fills the filesystem and starts a store and a pass, which run
# until the power is cut. The second boot inspects what is left and resumes the pass. power.sh evaluates
# the records on the host.
set -uo pipefail
out=/lab/out keep=/lab/keep
trimtab=/lab/trimtab
data=/dev/nvme0n1 state_drive=/dev/nvme1n1
type=$(cat $keep/type)
# shellcheck source=lab/filesystems.sh
. /lab/filesystems.sh
for module in xfs ext4 btrfs; do modprobe $module; done
mkdir -p /mnt/state /mnt/data

record() { printf '%s\t%s\n' "$1" "$2" >>$out/records; }
stored_kib() { echo $(($(stored_bytes /lab/disk/0.raw) / 1024)); }
say() { echo "== [$(cut -d' ' -f1 /proc/uptime)] $*"; }

start_pass() { # OUTPUT [ARGUMENT...]
    local output=$1
    shift
    $trimtab trim /mnt/data --now --state /mnt/state/trimtab --max-latency 30s --accept-stall 60s \
        --format json "$@" >"$out/$output.jsonl" 2>"$out/$output.err"
}

if [ ! -e $keep/sums ]; then
    make_filesystem ext4 $state_drive && mount_filesystem ext4 $state_drive /mnt/state || exit 1
    make_filesystem "$type" $data && mount_filesystem "$type" $data /mnt/data || exit 1
    head -c 2097152 /dev/urandom >/run/random
    mkdir /mnt/data/files
    # Files to keep, all different, with holes of many sizes between them.
    for ((index = 0; index < 90; index++)); do
        { printf '%-64s' "$type $index"; head -c $((20000 + index * 7919 % 400000)) /run/random; } >/mnt/data/files/$index
        head -c $((100000 + index * 104729 % 1900000)) /run/random >/mnt/data/junk.$index
    done
    (cd /mnt/data/files && sha256sum -- *) >/run/sums || exit 1
    sync
    cat /mnt/data/junk.* | wc -c | awk '{ print int($1 / 1024) }' >$keep/junk_kib
    rm /mnt/data/junk.*
    sync
    stored_kib >$keep/filled_kib
    cp /run/sums $keep/sums.new && mv $keep/sums.new $keep/sums
    /bin/bash /lab/writer.sh run /mnt/data/written $keep/ledger &
    say "the pass begins"
    touch $keep/begun
    start_pass first --rate 24MiB/s
    record first_exit $?
    # The power was not cut in time; the rest of the test is the same.
    touch $keep/over
    while :; do sleep 1; done
fi

mount_filesystem ext4 $state_drive /mnt/state || exit 1
cp -r /mnt/state/trimtab $out/found
say "state after the power cut"
look_at_files() { # WHEN
    local state=same
    (cd /mnt/data/files && sha256sum -c $keep/sums) >"$out/$1.sums" 2>&1 || state=changed
    [ "$(find /mnt/data/files -type f | wc -l)" = "$(wc -l <$keep/sums)" ] || state=changed
    record "$1_files" $state
    state=same
    /bin/bash /lab/writer.sh verify /mnt/data/written $keep/ledger 2>"$out/$1.written" || state=changed
    record "$1_written" $state
}
# The kernel replays the log when mounting; only then can the checkers be used.
mount_filesystem "$type" $data /mnt/data || exit 1
look_at_files replayed
umount /mnt/data || exit 1
check_filesystem "$type" $data >$out/replayed.fsck 2>&1
record replayed_fsck $?
mount_filesystem "$type" $data /mnt/data || exit 1
$trimtab trim --status --state /mnt/state/trimtab >$out/status.txt 2>&1
record status_exit $?
# A clock that was reset by the power cut: the checkpoint is from the future.
[ ! -e $keep/clock ] || date -s '2001-02-03 04:05:06'
say "the pass resumes"
start_pass second --rate 48MiB/s --deadline 1h &
pass=$!
if [ -e $keep/clock ]; then
    until grep -qs '"type":"step"' $out/second.jsonl || ! kill -0 $pass 2>/dev/null; do sleep 0.2; done
    # Two days ahead and a year back, during the pass: the one-hour deadline must not follow the clock.
    date -s '2001-02-05 04:05:06'
    sleep 1
    date -s '2000-01-01 00:00:00'
fi
wait $pass
record second_exit $?
record state_at_end "$(cd /mnt/state/trimtab && find . -name 'pass-*' | tr '\n' ' ')"
sync
sleep 1
record stored_kib "$(stored_kib)"
record clustered_kib $(($(clustered_bytes "$type" /mnt/data) / 1024))
# What one more pass from the beginning still finds to free.
start_pass third --restart
record third_exit $?
sync
sleep 1
record stored_after_another_kib "$(stored_kib)"
look_at_files trimmed
umount /mnt/data
record umount $?
check_filesystem "$type" $data >$out/trimmed.fsck 2>&1
record trimmed_fsck $?
echo 3 >/proc/sys/vm/drop_caches
mount_filesystem "$type" $data /mnt/data && look_at_files again
umount /mnt/data
umount /mnt/state
exit 0
