#!/usr/bin/env bash
# fstrim.timer in every state under a real systemd, with the remedy applied as printed.
set -euo pipefail
# shellcheck source=lab/guest/expect.sh
. "$(dirname "$0")/expect.sh"
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
expect "systemd uses those times" test "$(grep -c '^TimersCalendar={ OnCalendar=Sun \*-\*-\* 03:00:00' "$out/log")" = 2
expect "a masked timer is reported as a deliberate decision" has masked '^TRIM003 .* info fstrim.timer'
finish
