#!/usr/bin/env bash
# Change points beside Apache Otava and ruptures, the same seeded series for all, in one run: time at
# 1,000 to 1,000,000 samples, and accuracy on ten-level steps. Prints Markdown. With TCPD, the annotated
# real series too. Minutes, mostly waiting for what is stopped at the limit; python3 with venv, and a
# package index that pip can reach.
#
#   benches/explain/compare.sh
#   SIZES="1000 10000" LIMIT_S=20 TCPD=path/to/TCPD benches/explain/compare.sh
#
# SIZES: samples. LIMIT_S: seconds after which one detection is stopped. SEEDS: series for accuracy.
# TCPD: a clone of github.com/alan-turing-institute/TCPD. EACH: if set, what every tool found in each of
# its series goes to stderr. TOOLS: where the tools' virtual environment is kept for the next time.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools=${TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/trimtab/explain-compare}
if [ ! -e "$tools/ready" ]; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet apache-otava==0.8.0 ruptures==1.1.10 >&2
    touch "$tools/ready"
fi
cargo build --locked --release -q -p explain --example changes
exec "$tools/bin/python" benches/explain/compare.py "$target/release/examples/changes"
