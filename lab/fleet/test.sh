#!/usr/bin/env bash
# A fleet of made bundles, one of them torn, in one answer and in every format: what it names, and the seconds and the
# memory that it takes, for 100 and for 1,000 hosts. With Chromium, its page at the width of a desk and of a phone.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
about=fleet server=fleet
. lab/servers/expect.sh
need_tools "a fleet" python3
target=${CARGO_TARGET_DIR:-target}
trimtab=${TRIMTAB:-$target/static/trimtab}
[ -x "$trimtab" ] || trimtab=$target/debug/trimtab
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
says() { tr -s ' \n' ' ' <"$top/out" | grep -qE -- "$1"; }
# Seconds, and peak memory in MiB.
measured() {
    python3 -c '
import resource, subprocess, sys, time
began = time.monotonic()
with open(sys.argv[1], "w") as out, open(sys.argv[2], "w") as err:
    code = subprocess.run(sys.argv[3:], stdout=out, stderr=err).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
print(f"{time.monotonic() - began:.2f} s, {peak} MiB", file=sys.stderr)
sys.exit(code)' "$top/out" "$top/err" "$trimtab" "$@"
}

for hosts in 100 1000; do
    server="$hosts hosts"
    lab/fleet/make.py "$trimtab" "$top/fleet" "$hosts"
    code=0
    measured check --bundle "$top/fleet" 2>"$top/took" || code=$?
    echo "$hosts hosts: $(cat "$top/took")"
    expect "there are findings" [ $code = 1 ]
    expect "what most share comes first, once" says "on most hosts ─+ warning TRIM007 .* on [0-9]+ of [0-9,]+ hosts"
    expect "it is told once" [ "$(grep -c '^warning  TRIM007' "$top/out")" = 1 ]
    expect "trims that start together are told" says "trim [0-9]+ of $hosts may start together, first Mon .* by fstrim.timer"
    expect "hosts that are alike stand in one row" says 'hosts that are alike .* FS005 +TRIM007'
    expect "then what differs" says 'on some hosts .* error TRIM009 .* error FS005'
    expect "the torn archive is told" says "db0*$hosts.tar.zst: the archive is damaged"
    expect "in less than 200 lines" [ "$(wc -l <"$top/out")" -lt 200 ]
    for form in json html markdown sarif nagios openmetrics; do
        measured check --bundle "$top/fleet" --exit-zero --format $form 2>"$top/took" || [ $form = nagios ]
        echo "  $form: $(cat "$top/took"), $(($(stat -c %s "$top/out") >> 10)) KiB"
        expect "$form has its findings" says 'TRIM007'
        [ $form != html ] || cp "$top/out" "$top/$hosts.html"
    done
    if command -v chromium >/dev/null; then
        expect "the page fits a desk and a phone" python3 -B lab/fleet/page.py "$top/$hosts.html"
    fi
    rm -r "$top/fleet"
done
# Histories of eight nodes, of which five are disturbed on Mondays, by the jobs of a host of the fleet.
server="histories"
lab/fleet/series.py "$top/series" 8 4 8 3600 5
lab/fleet/make.py "$trimtab" "$top/jobs" 1
measured explain "$top"/series/*.csv --jobs "$top/jobs/db0000.tar.zst" --tz UTC --better lower --exit-zero 2>"$top/took"
echo "32 series of eight weeks of hours: $(cat "$top/took")"
expect "one conclusion, with the job that fits all" says '^5 of 8 sources: every week, (Sunday 23:|Monday 0[01]:)[0-9 a-zA-Z:]+ UTC; one job fits all: fstrim.timer\.'

echo "fleet: $passed expectations met, $failed not"
[ $failed = 0 ]
