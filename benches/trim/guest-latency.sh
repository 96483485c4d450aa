# shellcheck shell=bash
# In the guest: reads at a steady rate, without a trim and during each contender's trim.
. /lab/guest.sh
index=0
for contender in fstrim trimtab; do
    name=$(drive $index)
    mount "/dev/$name" /mnt
    dd if=/dev/urandom of=/mnt/reads bs=1M count=64 2>/dev/null
    sync
    sleep 1
    rm -f /stop
    /lab/neighbour read /mnt/reads 100 /stop >/lab/out/times.$contender &
    reading=$!
    sleep 1
    quiet_from=$(uptime)
    sleep 10
    quiet_to=$(uptime)
    before=$(awk '{ print $14 }' "/sys/block/$name/stat")
    while read -r now _ </proc/uptime && read -ra counters <"/sys/block/$name/stat"; do
        echo "$now ${counters[13]}"
        sleep 0.2
    done >/lab/out/discards.$contender &
    counting=$!
    from=$(uptime)
    status=0
    case $contender in
    trimtab) trim_with trimtab --deadline 2m ;;
    *) trim_with $contender ;;
    esac >/lab/out/said.$contender 2>&1 || status=$?
    to=$(uptime)
    settled "$name"
    [ $contender = fstrim ] || cp "/state/$index/audit.jsonl" /lab/out/audit.$contender
    touch /stop
    wait $reading
    kill $counting
    echo "$contender $status $quiet_from $quiet_to $from $to $(awk -v before="$before" '{ print int(($14 - before) / 2048) }' "/sys/block/$name/stat")" >>/lab/out/phases
    umount /mnt
    index=$((index + 1))
done
