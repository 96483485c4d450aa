#!/usr/bin/env bash
# How long a check takes: on this machine, and on a synthetic host with 64 drives in 8 md arrays, 200
# mounts, 500 jobs and 2,000 processes. Prints the median of several runs: CPU time (user and system,
# including the child process that queries filesystem sizes) and wall time, in ms.
#
#   make bench        (RUNS=21 by default)
set -euo pipefail
cd "$(dirname "$0")/.."
trimtab=${CARGO_TARGET_DIR:-target}/static/trimtab
runs=${RUNS:-21}
host=$(mktemp -d)
trap 'rm -rf "$host"' EXIT
cargo run --locked -q -p trimtab --example synthetic_host -- "$host"
"$trimtab" collect -q --root "$host" -o "$host.tar.zst" --force
trap 'rm -rf "$host" "$host.tar.zst"' EXIT

measure() { # LABEL COMMAND...
    local label=$1
    shift
    "$@" >/dev/null || true # warm up the page cache
    python3 - "$label" "$runs" "$@" <<'PYTHON'
import os, resource, statistics, subprocess, sys, time
label, runs, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
cpu, wall = [], []
for _ in range(runs):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL)
    wall.append((time.perf_counter() - start) * 1e3)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu.append((after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3)
print(f"{label:<34} cpu {statistics.median(cpu):7.1f} ms   wall {statistics.median(wall):7.1f} ms")
PYTHON
}
measure "this machine, live" "$trimtab" check --exit-zero
measure "synthetic host, directory" "$trimtab" check --exit-zero --root "$host"
measure "synthetic host, bundle" "$trimtab" check --exit-zero --bundle "$host.tar.zst"
command -v lynis >/dev/null && measure "lynis on this machine" lynis audit system --quick --no-colors -q
command -v lsblk >/dev/null && measure "for comparison: lsblk -D" lsblk -D
