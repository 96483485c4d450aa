#!/usr/bin/env bash
# Fetches, fills, starts and stops a real Prometheus with historical data.
#
#   lab/servers/prometheus.sh fetch [PACKAGE]     prints the directory with prometheus and promtool, or with
#                                                 the program of another package: prometheus-node-exporter
#   lab/servers/prometheus.sh start RUN [FILE]    prints the URL; FILE is a history in OpenMetrics format
#   lab/servers/prometheus.sh stop RUN            stops it and removes RUN
#
# Debian's packages are downloaded and unpacked but not installed: installing one would start a server that
# is reachable from the network. They are cached in ${TRIMTAB_CACHE:-~/.cache/trimtab}/servers. RUN is a new
# directory. The server listens on loopback only and scrapes nothing, unless CONFIG says so. Exit code 77: it
# is unavailable, and the last line says why.
#
#   CONFIG  the configuration of Prometheus, instead of one that scrapes nothing
#   LOGIN   1: only accepts the user lab with the password lab-password
set -euo pipefail
PATIENCE_S=120

# shellcheck source=lab/servers/run.sh
. "$(dirname "${BASH_SOURCE[0]}")/run.sh"

# The version that apt would install; empty if it knows none.
candidate() {
    apt-cache policy "$package" | awk '/Candidate:/ && $2 != "(none)" { print $2 }'
}
# Uses fetch's variables.
download() {
    (cd "$work" && apt-get download -qq -o APT::Sandbox::User=root "$package=$version" >&2)
}

fetch() { # [PACKAGE]
    local cache=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/servers package=${1:-prometheus} version work
    command -v curl >/dev/null || skip "curl is missing"
    command -v python3 >/dev/null || skip "python3 is missing"
    if command -v "$package" >/dev/null && { [ "$package" != prometheus ] || command -v promtool >/dev/null; }; then
        dirname "$(command -v "$package")"
        return
    fi
    mkdir -p "$cache"
    exec 9>"$cache/.lock"
    flock 9
    # Any version fetched earlier.
    for work in "$cache/$package"-[0-9]*/usr/bin; do
        if [ -x "$work/$package" ]; then
            echo "$work"
            return
        fi
    done
    { command -v apt-get && command -v dpkg-deb; } >/dev/null || skip "$package is missing, and so is apt-get"
    version=$(candidate)
    # System images come without package lists.
    if [ -z "$version" ] && [ "$(id -u)" = 0 ]; then
        apt-get update -qq >&2 || skip "apt-get cannot update its lists"
        version=$(candidate)
    fi
    [ -n "$version" ] || skip "no package $package found: run 'apt-get update'"
    work=$(mktemp -d "$cache/.fetch.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    echo "== fetching Debian's $package $version" >&2
    if ! download; then
        # The lists may be older than the mirror.
        [ "$(id -u)" != 0 ] || apt-get update -qq >&2 || true
        version=$(candidate)
        download || skip "apt-get cannot download $package"
    fi
    (cd "$work" && dpkg-deb -x ./*.deb root) || die "the package $package cannot be unpacked"
    mv "$work/root" "$cache/$package-$version"
    rm -rf "$work"
    trap - EXIT
    echo "$cache/$package-$version/usr/bin"
}

start() { # RUN [FILE]
    local bin run port pid give_up
    bin=$(fetch)
    mkdir "$1" || die "$1 must be a new directory"
    run=$(realpath "$1")
    mkdir "$run/data"
    cat "${CONFIG:-/dev/stdin}" >"$run/prometheus.yml" <<<"global: {scrape_interval: 1h}"
    if [ $# = 2 ]; then
        "$bin/promtool" tsdb create-blocks-from openmetrics --quiet "$2" "$run/data" >"$run/promtool.log" 2>&1 || {
            tail -n 5 "$run/promtool.log" >&2
            die "promtool rejects $2"
        }
    fi
    local login=() user=()
    if [ "${LOGIN:-}" = 1 ]; then
        # bcrypt of the password.
        # shellcheck disable=SC2016
        echo 'basic_auth_users: {lab: $2b$04$abcdefghijklmnopqrstuuRmh8HtELSGLRIbn8Tav9ZLLfCC8wwMW}' >"$run/web.yml"
        login=(--web.config.file="$run/web.yml") user=(-u lab:lab-password)
    fi
    # Prometheus does not report a port picked by the kernel.
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    setsid "$bin/prometheus" --config.file="$run/prometheus.yml" --storage.tsdb.path="$run/data" \
        --storage.tsdb.retention.time=100y --web.listen-address="127.0.0.1:$port" "${login[@]}" \
        </dev/null >"$run/out" 2>&1 &
    pid=$!
    echo "$pid" >"$run/pid"
    give_up=$((SECONDS + PATIENCE_S))
    until curl -fsS -m 5 "${user[@]}" -o /dev/null "http://127.0.0.1:$port/-/ready" 2>/dev/null; do
        if ! kill -0 "$pid" 2>/dev/null || [ "$SECONDS" -ge "$give_up" ]; then
            echo "prometheus.sh: the server did not start:" >&2
            tail -n 10 "$run/out" | cut -c1-300 >&2
            stop "$run"
            exit 1
        fi
        sleep 0.2
    done
    echo "http://127.0.0.1:$port"
}

case "${1:-} $#" in
"fetch 1" | "fetch 2") fetch "${@:2}" ;;
"start 2" | "start 3") start "${@:2}" ;;
"stop 2") stop "$2" ;;
*) die "usage: prometheus.sh fetch [PACKAGE] | start RUN [FILE] | stop RUN" ;;
esac
