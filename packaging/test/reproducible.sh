#!/usr/bin/env bash
# The release binary, built from another clone into another folder with another home of cargo's, has the same bytes.
set -euo pipefail
cd "$(dirname "$0")/../.."
. packaging/test/common.sh
git diff --quiet HEAD || { echo "commit first: the other build is one of the last commit" && exit 1; }
git clone --quiet . "$work/elsewhere"
# Else it would fetch every crate again.
mkdir "$work/home"
cp -r "${CARGO_HOME:-$HOME/.cargo}/registry" "$work/home"
CARGO_HOME=$work/home CARGO_TARGET_DIR=$work/built quiet "$work/elsewhere/lab/release.sh"
sha256sum "$build/static/trimtab" "$work/built/static/trimtab"
cmp "$build/static/trimtab" "$work/built/static/trimtab"
ok "the same binary from another place"
