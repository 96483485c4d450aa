# shellcheck shell=bash
# In the guest: fstrim on the first drive, trimtab on the second.
. /lab/guest.sh
index=0
for contender in fstrim trimtab; do
    name=$(drive $index)
    mount "/dev/$name" /mnt
    from=$(uptime)
    status=0
    trim_with $contender --accept-stall 60s || status=$?
    echo "$contender $status $(echo "$from $(uptime)" | awk '{ printf "%.1f", $2 - $1 }')" >>/lab/out/times
    settled "$name"
    umount /mnt
    index=$((index + 1))
done
