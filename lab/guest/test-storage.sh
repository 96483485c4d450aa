#!/usr/bin/env bash
# Real dm-crypt (LUKS1, LUKS2), LVM thin and RAID 5 in a guest: findings, remedies, and that no
# volume key leaves the host.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
PATH=$PATH:/usr/sbin:/sbin
for tool in qemu-system-x86_64 busybox cryptsetup lvm mdadm mkfs.xfs cpio apt-get; do
    command -v "$tool" >/dev/null || {
        echo "SKIPPED: the guest needs $tool (make test as root installs it)"
        exit 0
    }
done
cargo build --locked -q -p trimtab
binary=${CARGO_TARGET_DIR:-target}/debug/trimtab
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$here/run.sh" lab/cases/storage.sh "$binary" "$out" 6 600M

passed=0
failed=0
expect() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}
# The findings of a report as "RULE SUBJECT" lines.
findings() { python3 -c '
import json, sys
for finding in json.load(open(sys.argv[1]))["result"]["findings"]:
    print(finding["rule"], finding["mount_point"], finding["device"], finding["severity"])' "$1" | sort; }
has() { findings "$out/$1" | grep -q "$2"; }
lacks() { ! has "$@"; }

expect "the guest showed two volume keys" [ "$(wc -l <"$out/keys")" -ge 2 ]
for bundle in host anonymous; do
    zstd -dcq "$out/$bundle.tar.zst" >"$out/$bundle.tar"
    while read -r key; do
        expect "$bundle bundle lacks the key in hex" bash -c "! grep -qaiF '$key' '$out/$bundle.tar'"
        expect "$bundle bundle lacks the key's first half" bash -c "! grep -qaiF '${key:0:32}' '$out/$bundle.tar'"
        printf '%b' "$(sed 's/../\\x&/g' <<<"$key")" >"$out/raw"
        expect "$bundle bundle lacks the key in binary" python3 -c '
import sys
sys.exit(open(sys.argv[1], "rb").read() in open(sys.argv[2], "rb").read())' "$out/raw" "$out/$bundle.tar"
    done <"$out/keys"
done
expect "the table in the bundle is there, without the key" grep -qa 'crypt aes-xts-plain64 -' "$out/host.tar"

expect "LUKS1 drops discards" has live.json '^TRIM001 /mnt/luks1 '
expect "LUKS2 drops discards" has live.json '^TRIM001 /mnt/luks2 '
expect "the thin pool does not pass discards down" has live.json '^TRIM008 /mnt/thin '
expect "RAID 5 takes no discards" has live.json '^TRIM001 /mnt/raid md5 '
expect "no error without a store" lacks live.json 'error$'
findings "$out/live.json" >"$out/live.txt"
findings "$out/bundle.json" >"$out/bundle.txt"
findings "$out/nobody.json" >"$out/nobody.txt"
expect "the bundle repeats the live check" diff "$out/live.txt" "$out/bundle.txt"
"$binary" check --bundle "$out/host.tar.zst" --exit-zero --format json >"$out/elsewhere.json"
findings "$out/elsewhere.json" >"$out/elsewhere.txt"
expect "and does so on another machine" diff "$out/live.txt" "$out/elsewhere.txt"
expect "nobody sees the same losses, without the tables" diff <(grep TRIM001 "$out/live.txt") <(grep TRIM001 "$out/nobody.txt")
expect "after the remedy LUKS2 passes discards" lacks after.json '^TRIM001 /mnt/luks2 '
expect "and LUKS1 still does not" has after.json '^TRIM001 /mnt/luks1 '
expect "fstrim agrees" grep -q '/mnt/luks2: .* trimmed' "$out/log"
if [ "$failed" != 0 ]; then cat "$out/live.txt"; tail -n 60 "$out/log"; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
