# shellcheck shell=bash
# Sourced by the tests of real servers, after lab/needs.sh: fetches the servers, counts expectations, and
# shows the output of failed ones. Uses $about, the subject of the test; $server; and $top with the files
# out and err of the last command.
skip_servers() { # REASON
    if [ "${REQUIRE_SERVERS:-}" = 1 ]; then
        # shellcheck disable=SC2154
        echo "FAILED: $about: $*"
        exit 1
    fi
    skip "$about: $*"
}

# Fetches all servers before testing any: a late download failure would waste the earlier work.
fetch_servers() { # SERVER...
    local server why
    for server in "$@"; do
        case $server in
        prometheus) why=$(lab/servers/prometheus.sh fetch 2>&1 >/dev/null) ;;
        *) why=$(lab/servers/node.sh fetch "$server" 2>&1 >/dev/null) ;;
        esac
        case $? in
        0) ;;
        77) skip_servers "$server: ${why##*$'\n'}" ;;
        *)
            echo "FAILED: $server: $why"
            exit 2
            ;;
        esac
    done
}

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
