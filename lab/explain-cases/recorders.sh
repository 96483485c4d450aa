#!/usr/bin/env bash
# Real trims of a loop device that it makes, under load, recorded at the same time by iostat, sar and vmstat as sysstat and
# procps of this host print them, in many layouts and locales; then `trimtab explain` of each recording. Half a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
[ "$(id -u)" = 0 ] || skip "recordings of real trims need root"
need_tools "recordings of real trims" iostat sar vmstat losetup mkfs.ext4 fstrim localedef python3
trimtab=$(realpath "${TRIMTAB:-${CARGO_TARGET_DIR:-target}/debug/trimtab}")
checker=$(realpath lab/explain-cases/recorders.py)
. lab/explain-cases/loop.sh
make_loop 3G ext4
mkdir "$work/out"
fallocate -l 1500M "$work/mnt/large"
sync -f "$work/mnt"

locales=()
for locale in en_US de_DE en_IN zh_CN zh_TW ja_JP ko_KR th_TH hi_IN fr_FR; do
    localedef -i "$locale" -f UTF-8 "$work/$locale.UTF-8" 2>/dev/null || continue
    locales+=("$locale")
done

start_load 4 0.1

cd "$work/out"
recorders=()
record() { # NAME COMMAND...: each makes 13 reports of a second, or more.
    local name=$1
    shift
    "$@" >"$name" 2>/dev/null &
    recorders+=($!)
}
for locale in "${locales[@]}"; do
    record "iostat-xt $locale" env LOCPATH="$work" LC_ALL="$locale.UTF-8" iostat -xt 1 14
    record "sar-d $locale" env LOCPATH="$work" LC_ALL="$locale.UTF-8" sar -d 1 14
done
record "iostat-xt-iso" env S_TIME_FORMAT=ISO iostat -xt 1 14
record "iostat" iostat 1 14
record "iostat-x" iostat -x 1 14
record "iostat-xm" iostat -xm 1 14
record "iostat-dk" iostat -dk 1 14
record "iostat-xh" iostat -xh 1 14
record "iostat-h" iostat -h 1 14
record "iostat-xpzt" iostat -x -p -z -t 1 14
record "iostat-xy" iostat -xy 1 13
record "iostat-Nx" iostat -Nx 1 14
record "iostat-json" env S_TIME_FORMAT=ISO iostat -o JSON -xt 1 14
record "sar-bdu" sar -b -d -u 1 14
record "sadf" sh -c 'sar -o collected -d -u 1 14 >/dev/null; sadf -j collected -- -d -u'
record "iostat-s" iostat -st 1 14
record "vmstat" vmstat 1 14
record "vmstat-t" vmstat -t 1 14
sleep 4
rm "$work/mnt/large"
sync -f "$work/mnt"
fstrim "$work/mnt"
wait "${recorders[@]}"
sed '/Linux/d' "sar-d en_US" >"sar-d without its first line"
rm -f collected
for recording in *; do
    "$trimtab" explain "$recording" --jobs none --exit-zero --format json >"$work/answer.json" ||
        { echo "FAIL $recording: not read"; exit 1; }
    "$checker" "$recording" "$(basename "$device")" "$work/answer.json" || { [ -z "${KEEP:-}" ] || cp "$work/answer.json" "$KEEP.json"; exit 1; }
done
# From standard input, and what docs/paged.md says.
"$trimtab" explain - --jobs none --exit-zero <"iostat-xt en_US" | tr '\n' ' ' | grep -q "^Discards come in" ||
    { echo "FAIL standard input"; exit 1; }
echo "  ok   standard input"
