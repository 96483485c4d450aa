# shellcheck shell=bash
# Sourced by node.sh and prometheus.sh: error exits, and stopping a server. The server's process id is in
# RUN/pid, and its command line contains RUN.
die() {
    echo "$(basename "$0"): $*" >&2
    exit 2
}
skip() {
    echo "$*" >&2
    exit 77
}

is_running() { # RUN
    local pid
    pid=$(cat "$1/pid" 2>/dev/null) && grep -qzF -- "$1/" "/proc/$pid/cmdline" 2>/dev/null
}

stop() { # RUN
    local run pid give_up=$((SECONDS + 60))
    run=$(realpath "$1")
    # Until Java is started, the command line is that of the start script, which contains RUN as well.
    if is_running "$run"; then
        pid=$(cat "$run/pid")
        kill "$pid"
        while is_running "$run"; do
            [ "$SECONDS" -lt "$give_up" ] || kill -KILL "$pid" 2>/dev/null || true
            sleep 0.1
        done
    fi
    [ ! -e "$run/pid" ] || rm -rf "$run"
}
