#!/usr/bin/env bash
# Which of many hosts share a weekly pattern, and which job fits, asked of a real server that folds their weeks.
#
#   lab/fleet/folds.sh                                   60 hosts, 8 weeks, a document every 10 minutes
#   HOSTS=1000 WEEKS=13 STEP=300 lab/fleet/folds.sh      26 million documents: half an hour
#
# Elasticsearch 6.8: the archives of later versions that Maven has run no scripts.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
about="folded weeks" server=elasticsearch-6.8.23
# shellcheck source=lab/servers/expect.sh
. lab/servers/expect.sh
command -v python3 >/dev/null || skip_servers "python3 is missing"
fetch_servers $server
hosts=${HOSTS:-60} weeks=${WEEKS:-8} step=${STEP:-600}
affected=$((hosts * 6 / 10))
trimtab=${TRIMTAB:-${CARGO_TARGET_DIR:-target}/static/trimtab}
[ -x "$trimtab" ] || trimtab=${CARGO_TARGET_DIR:-target}/debug/trimtab
node=lab/servers/node.sh
top=$(mktemp -d "${TMPDIR:-/var/tmp}/trimtab-folds.XXXXXX")
# The server's user needs access to it.
chmod 755 "$top"
clean() {
    [ ! -e "$top/run" ] || $node stop "$top/run"
    rm -rf --one-file-system "${top:?}"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
says() { tr -s ' \n' ' ' <"$top/out" | grep -qE -- "$1"; }

lab/fleet/make.py "$trimtab" "$top/jobs" 1
url=$(HEAP=${HEAP:-1g} $node start $server "$top/data" "$top/run") || exit 2
began=$SECONDS
documents=$(lab/fleet/metrics.py "$url" metrics "$hosts" "$weeks" "$step" "$affected" 2>/dev/null) || exit 2
echo "$documents documents of $hosts hosts written in $((SECONDS - began)) s; $affected are affected"
TRIMTAB_LOG=info python3 -c '
import resource, subprocess, sys, time
began = time.monotonic()
with open(sys.argv[1], "w") as out, open(sys.argv[2], "w") as err:
    code = subprocess.run(sys.argv[3:], stdout=out, stderr=err).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
print(f"{time.monotonic() - began:.1f} s, {peak} MiB", file=sys.stderr)
sys.exit(code)' "$top/out" "$top/err" "$trimtab" explain "$url" --index metrics --field system.diskio.iostat.await --split-by host.name \
    --step "${step}s" --jobs "$top/jobs/db0000.tar.zst" --tz UTC --better lower --exit-zero 2>"$top/took"
expect "it answers" [ $? = 0 ]
crossed=$(sed -nE 's/.*(slots|samples)=([0-9]+).*/\2/p' "$top/err" | awk '{ sum += $1 } END { print sum + 0 }')
head -n 12 "$top/out"
echo "$(cat "$top/took"); $crossed values came over the network, $((crossed * 1000 / documents)) per mille of the documents"
found=$(tr -s ' \n' ' ' <"$top/out" | grep -oE "[0-9,]+ of [0-9,]+ hosts: every week" | head -n 1 | tr -d , | cut -d' ' -f1)
expect "most hosts are found that are affected" [ "${found:-0}" -ge $((affected * 95 / 100)) ]
expect "and hardly another" [ "${found:-0}" -le $((affected + hosts / 50 + 1)) ]
expect "the day and the job" says 'hosts: every week, (Sunday 23:|Monday 0[01]:)[0-9 a-zA-Z:]+ UTC; one job fits all: fstrim.timer\.'
expect "what was not read whole is said" says 'compared by their folded weeks only; .*db[0-9]+ were read whole, as examples'
echo "folds: $passed expectations met, $failed not"
[ $failed = 0 ]
