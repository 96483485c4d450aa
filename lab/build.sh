#!/usr/bin/env bash
# Builds what the lab's tests run: the programs, and the examples that they need.
#
# With the whole workspace and with examples, as `cargo test --workspace` does: cargo chooses the
# features of a dependency by all that one command builds, tests included. After that
# `cargo build -p trimtab` alone would want other features, and compile nearly everything again.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked -q --workspace --bins --example read --example sawtooth_2016
