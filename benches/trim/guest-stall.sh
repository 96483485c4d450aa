# shellcheck shell=bash
# In the guest: a neighbor process allocates, without a trim, during fstrim, and during trimtab; each on its
# own drive with the same content.
. /lab/guest.sh
index=0
read -ra contenders </lab/contenders
for contender in "${contenders[@]}"; do
    name=$(drive $index)
    mount "/dev/$name" /mnt
    for group in 0 1 2 3 4 5 6 7; do mkdir /mnt/n$group; done
    sync
    rm -f /stop
    /lab/neighbour allocate 20 65536 /stop /mnt/n* >/lab/out/times.$contender &
    allocating=$!
    sleep 2
    before=$(awk '{ print $12 }' "/sys/block/$name/stat")
    from=$(uptime)
    status=0
    case $contender in
    none) sleep 20 ;;
    trimtab-accepted) trim_with trimtab --deadline 2m --accept-stall 10m >/lab/out/said.$contender 2>&1 || status=$? ;;
    # If a discard takes 50 ms, keeping the budget takes longer.
    trimtab) trim_with trimtab --deadline 2m >/lab/out/said.$contender 2>&1 || status=$? ;;
    *) trim_with $contender >/lab/out/said.$contender 2>&1 || status=$? ;;
    esac
    settled "$name"
    to=$(uptime)
    touch /stop
    wait $allocating
    echo "$contender $status $from $to $(awk -v before="$before" '{ print $12 - before }' "/sys/block/$name/stat")" >>/lab/out/phases
    umount /mnt
    index=$((index + 1))
done
