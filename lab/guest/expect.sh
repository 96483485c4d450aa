# shellcheck shell=bash
# Sourced by the guest tests: builds the binary, skips if tools are missing, counts expectations. Provides
# $binary, $out (a directory that is removed at the end, or LAB_OUT, which is kept), expect, findings,
# has, lacks, same, finish.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
# shellcheck source=lab/needs.sh
. lab/needs.sh
need_tools "the guest of $(basename "$0")" "${GUEST_TOOLS[@]}" zstd tar
lab/build.sh
# shellcheck disable=SC2034
binary=${CARGO_TARGET_DIR:-target}/debug/trimtab
if [ -n "${LAB_OUT:-}" ]; then
    mkdir -p "$LAB_OUT"
    out=$(cd "$LAB_OUT" && pwd)
else
    out=$(mktemp -d)
    temporary=$out
    trap 'rm -rf "$temporary"' EXIT
fi
passed=0
failed=0

expect() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}

# Findings of a report as lines "RULE MOUNT DEVICE SEVERITY SUBJECT".
findings() {
    python3 -c '
import json, sys
for finding in json.load(open(sys.argv[1]))["result"]["findings"]:
    print(*(finding[key] for key in ("rule", "mount_point", "device", "severity", "subject")))' "$out/$1.json" | sort
}
# For an unreadable report, has, lacks and same all fail.
has() { grep -q -- "$2" <<<"$(findings "$1")"; }
lacks() {
    local found
    found=$(findings "$1") && ! grep -q -- "$2" <<<"$found"
}
same() {
    local one other
    one=$(findings "$1") && other=$(findings "$2") && diff <(echo "$one") <(echo "$other")
}

# Prints the totals at the end of a test.
finish() {
    [ "$failed" = 0 ] || ! [ -e "$out/log" ] || tail -n 80 "$out/log"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
