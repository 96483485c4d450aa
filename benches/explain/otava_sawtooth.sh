#!/usr/bin/env bash
# Apache Otava with a grid of its parameters, on the weekly sawteeth used to test trimtab: resets found of
# 52 per year, and false change points. Prints Markdown.
#
#   SEEDS=10 benches/explain/otava_sawtooth.sh
#
# The tools are kept by benches/explain/compare.sh.
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
curves=$target/explain-sawteeth
rm -rf "$curves"
cargo run --locked -q --release -p explain --example evaluate -- export "$curves" --seeds "${SEEDS:-10}"
exec "$tools/bin/python" benches/explain/otava_sawtooth.py "$curves"
