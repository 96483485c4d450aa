#!/usr/bin/env bash
# Change point detection compared with Apache Otava and ruptures, on the same seeded series in one run: time
# for 1,000 to 1,000,000 samples, and accuracy on ten-level steps. Prints Markdown. With TCPD, also on its
# annotated real series. Takes minutes, mostly waiting for tools that are stopped at the limit; needs
# python3 with venv, and a package index that pip can reach.
#
#   benches/explain/compare.sh
#   SIZES="1000 10000" LIMIT_S=20 TCPD=path/to/TCPD TRIMTAB=path/to/trimtab benches/explain/compare.sh
#
# SIZES: samples. LIMIT_S: time limit of a detection in seconds. SEEDS: number of series for accuracy.
# TCPD: a clone of github.com/alan-turing-institute/TCPD. TRIMTAB: the program, to judge there the changes that
# `trimtab explain` reports, too, not only those that its detection finds. EACH: if set, prints what every tool
# found in each series to stderr. TOOLS: directory to keep the tools' virtual environment in.
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
