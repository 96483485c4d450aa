# shellcheck shell=bash
# Sourced by the tests of real servers: counts what holds, and shows what was printed where it does not. Uses
# $server, and $top with the files out and err of what ran last.
passed=0 failed=0
expect() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        # shellcheck disable=SC2154
        echo "FAILED: $server: $what"
        # shellcheck disable=SC2154
        sed 's/^/  | /' "$top/out" "$top/err" 2>/dev/null | tail -n 20 | cut -c1-300
    fi
}
