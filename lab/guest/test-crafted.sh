#!/usr/bin/env bash
# Trims crafted filesystems in a guest: superblocks, group headers and trees of XFS, ext4 and Btrfs changed at
# random, with the right checksums, so that Debian's kernel still mounts them.
#
#   lab/guest/test-crafted.sh
#
#   COUNT   mounted images of each type: 50
#   TYPES   "xfs ext4 btrfs"
#   SEED    for contents and changes; printed, taken from the clock by default
#   LAB_OUT keeps the records
#
# `trimtab trim` has to complete or to refuse each of them, without a hang or a panic of its own. Where the
# metadata says that blocks of a file are free, every FITRIM loses them: so each image has three copies, which
# are only mounted, trimmed by fstrim, and trimmed by trimtab. A pass must change no byte of a file that the
# other two left as it was. What the kernel itself does wrong is counted apart.
# Needs root, for the sound filesystems that the images are copies of.
set -euo pipefail
# shellcheck source=lab/guest/expect.sh
. "$(dirname "$0")/expect.sh"
[ "$(id -u)" = 0 ] || skip "crafted filesystems need root"
need_tools "crafted filesystems" mkfs.ext4 mkfs.xfs mkfs.btrfs
export TYPES=${TYPES:-xfs ext4 btrfs}
count=${COUNT:-50} seed=${SEED:-$(date +%s)}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-crafted.XXXXXX")
trap 'rm -rf "$work" ${temporary:+"$temporary"}' EXIT
mkdir -p "$work/bases" "$work/share/disk" "$out/passes"
crafted=lab/crafted
images=$work/bases/images.json results=$out/results
: >"$results"
echo "crafted: $count images of each type, SEED=$seed"
"$crafted/make.py" bases "$work/bases" "$seed"
# Half of them cannot be mounted.
"$crafted/make.py" images "$work/bases" "$work/share/disk" "$seed" $((count * 4))

# Boots the guest with a list of images; keeps what it recorded. Fails if it died.
boot() { # LABEL
    local alive=0
    GUEST_SHARE=$work/share GUEST_MEMORY_MIB=2048 GUEST_TIMEOUT_S=3600 \
        lab/guest/run.sh lab/cases/crafted.sh "$binary" "$out/$1" 6 1G >"$out/$1.run" 2>&1 || alive=1
    cat "$out/$1"/lane.* >>"$results" 2>/dev/null || true
    find "$out/$1" \( -name '*-*.json' -o -name '*-*.err' \) -exec mv -t "$out/passes" {} +
    return $alive
}

# A guest that died has several images under way: each of them is tried again in a guest of its own.
for ((attempt = 1; attempt <= 40; attempt++)); do
    "$crafted/judge.py" wanted "$images" "$results" "$count" >"$work/share/wanted"
    if ! grep -qv ' 0$' "$work/share/wanted"; then break; fi
    "$crafted/judge.py" todo "$images" "$results" >"$work/share/images"
    started=$SECONDS
    if boot "boot-$attempt"; then
        echo "boot $attempt: $((SECONDS - started)) s"
        if [ "$("$crafted/judge.py" wanted "$images" "$results" "$count")" = "$(cat "$work/share/wanted")" ]; then break; fi
        continue
    fi
    echo "boot $attempt: the guest died after $((SECONDS - started)) s: $(grep -aE -m 1 'BUG|Oops|Kernel panic|kernel BUG' "$out/boot-$attempt/console" || echo "no message")"
    "$crafted/judge.py" flight "$images" "$results" >"$work/flight"
    while read -r id copy action; do
        grep "^$id " "$work/share/images" >"$work/alone" || continue
        cp "$work/alone" "$work/share/images"
        "$crafted/make.py" again "$work/bases" "$work/share/disk" "$id"
        # shellcheck disable=SC2086
        printf '%s 1\n' $TYPES >"$work/share/wanted"
        if ! boot "alone-$id"; then
            last=$("$crafted/judge.py" flight "$images" "$results" | grep "^$id " || echo "$id $copy $action")
            read -r _ copy action <<<"$last"
            echo "$id $copy crashed $action" >>"$results"
            echo "$id: crashes the guest: $(grep -aE -m 1 'BUG|Oops|Kernel panic|kernel BUG' "$out/alone-$id/console" || echo "no message")"
        fi
        "$crafted/judge.py" todo "$images" "$results" >"$work/share/images"
    done <"$work/flight"
done
"$crafted/make.py" compare "$work/bases" "$work/share/disk" >"$out/compared"
cp "$images" "$out/images.json"
expect "every crafted filesystem is trimmed or refused" \
    "$crafted/judge.py" counts "$images" "$results" "$out/compared" "$out/passes" "$count"
finish
