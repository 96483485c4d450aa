#!/usr/bin/env bash
# cargo-deny on everything that is built in: bans, licences and sources, then advisories, with the date of the
# database. It is built once, outside of the clone.
#
# Environment variables:
#   TRIMTAB_ADVISORY_DB   a clone of https://github.com/RustSec/advisory-db (its .git, or bare) to read instead of
#                         asking GitHub
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2
cache=${TRIMTAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trimtab}/tools
tool=$cache/cargo-deny-$version
if ! [ -x "$tool/bin/cargo-deny" ]; then
    echo "== building cargo-deny $version: minutes, once"
    mkdir -p "$cache"
    building=$(mktemp -d "$cache/building.XXXXXX")
    trap 'rm -rf "$building"' EXIT
    # Unoptimised: it runs for seconds, and takes twice as long to build otherwise.
    cargo install --quiet --locked --debug --root "$building/root" --target-dir "$building/target" \
        --version "$version" cargo-deny
    rm -rf "$tool"
    mv "$building/root" "$tool"
    rm -rf "$building"
fi
deny=$tool/bin/cargo-deny
cargo fetch --locked --quiet
status=0
"$deny" --log-level error check bans licenses sources || status=$?

# Its own database, so that one that was named does not stay for the next time.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s|^\[advisories\]|&\ndb-path = \"$work/db\"\ngit-fetch-with-cli = true|" deny.toml >"$work/deny.toml"
url=https://github.com/RustSec/advisory-db
from=$url
if [ -n "${TRIMTAB_ADVISORY_DB:-}" ]; then
    from=$TRIMTAB_ADVISORY_DB
    # cargo-deny takes no path; git does.
    GIT_CONFIG_KEY_0="url.$(realpath "$from").insteadOf"
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0=$url
fi
export GIT_TERMINAL_PROMPT=0
if ! timeout 120 "$deny" --config "$work/deny.toml" fetch db >"$work/log" 2>&1; then
    tail -n 3 "$work/log"
    echo "advisories NOT looked at: $from cannot be had. TRIMTAB_ADVISORY_DB=CLONE names another one."
    [ -z "${TRIMTAB_ADVISORY_DB:-}" ] || exit 1
    exit "$status"
fi
echo "advisories of $from, last changed on $(git -C "$work"/db/advisory-db-* log -1 --format=%cs)"
# What is yanked the registry's index says, which `cargo fetch` has read.
"$deny" --log-level error --offline --config "$work/deny.toml" check advisories || status=$?
exit "$status"
