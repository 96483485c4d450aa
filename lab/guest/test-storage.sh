#!/usr/bin/env bash
# Real dm-crypt (LUKS1, LUKS2), LVM thin and RAID 5 in a guest: checks findings, remedies, and that no
# volume key leaves the host.
set -euo pipefail
# shellcheck source=lab/guest/expect.sh
. "$(dirname "$0")/expect.sh"
lab/guest/run.sh lab/cases/storage.sh "$binary" "$out" 6 600M

without() { ! grep -qaiF "$1" "$2"; }
without_bytes() { python3 -c '
import sys
sys.exit(bytes.fromhex(sys.argv[1]) in open(sys.argv[2], "rb").read())' "$1" "$2"; }

expect "the guest showed two volume keys" [ "$(wc -l <"$out/keys")" -ge 2 ]
for bundle in host anonymous; do
    zstd -dcq "$out/$bundle.tar.zst" >"$out/$bundle.tar"
    while read -r key; do
        expect "$bundle bundle lacks the key in hex" without "$key" "$out/$bundle.tar"
        expect "$bundle bundle lacks the key's first half" without "${key:0:32}" "$out/$bundle.tar"
        expect "$bundle bundle lacks the key's second half" without "${key: -32}" "$out/$bundle.tar"
        expect "$bundle bundle lacks the key in binary" without_bytes "$key" "$out/$bundle.tar"
    done <"$out/keys"
done
expect "the table in the bundle is there, without the key" grep -qa 'crypt - - ' "$out/host.tar"

expect "LUKS1 drops discards" has live '^TRIM001 /mnt/luks1 dm-'
expect "LUKS2 drops discards" has live '^TRIM001 /mnt/luks2 dm-'
expect "the thin pool does not pass discards down" has live '^TRIM008 /mnt/thin dm-'
expect "RAID 5 accepts no discards" has live '^TRIM001 /mnt/raid md5 '
expect "no error without a store" lacks live ' error '
expect "the bundle repeats the live check" same live bundle
"$binary" check --bundle "$out/host.tar.zst" --exit-zero --format json >"$out/elsewhere.json"
expect "and does so on another machine" same live elsewhere
losses() { findings "$1" | grep TRIM001; }
expect "user nobody gets the same findings, without the tables" diff <(losses live) <(losses nobody)
expect "after the remedy LUKS2 passes discards" lacks after '^TRIM001 /mnt/luks2 '
expect "and LUKS1 still does not" has after '^TRIM001 /mnt/luks1 '
expect "fstrim agrees" grep -q '/mnt/luks2: .* trimmed' "$out/log"
expect "the printed remedy makes the thin pool pass discards down" lacks mended '^TRIM008'
expect "manually disabled discards are found" has switched_off '^TRIM009 .* nvme1n1 '
expect "and enabled again by the printed remedy" lacks mended '^TRIM009'
finish
