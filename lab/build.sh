#!/usr/bin/env bash
# Builds everything that the lab tests run: the programs and the examples they use.
#
# Builds the whole workspace with examples, as `cargo test --workspace` does, because cargo unifies the
# features of a dependency over everything one command builds, tests included. Afterwards `cargo build -p
# trimtab` alone would select different features and recompile nearly everything.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked -q --workspace --bins --example read --example sawtooth_2016
