#!/usr/bin/env bash
# Apache Otava over a grid of its parameters, on the weekly sawteeth that trimtab is tried on: resets
# found of 52 a year, and false change points. Prints Markdown.
#
#   SEEDS=10 benches/explain/otava_sawtooth.sh
#
# The tools live where benches/explain/compare.sh keeps them.
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
