#!/usr/bin/env bash
# The article's storm, and machines without any, in every form that people have them in (shapes.py): each storm is told as far
# as its columns go, at its moment, and no machine without one is a finding. WEEKLY=1: a weekly storm in ten forms of histories,
# with its job, which takes minutes (weekly.py). CURVES: a directory of CSV files of other machines, of which none may be blamed on a job of Debian's
# defaults.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
need_tools "storms in every form" python3
trimtab=$(realpath "${TRIMTAB:-${CARGO_TARGET_DIR:-target}/debug/trimtab}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
./lab/explain-cases/shapes.py "$work"
[ -z "${WEEKLY:-}" ] || ./lab/explain-cases/weekly.py write "$work/weekly"
cd "$work"
# Exit code 1 is a finding; every other failure shows as an answer that is missing.
explain_all() { # JOBS, with the names of files on standard input
    # shellcheck disable=SC2016
    xargs -P 2 -I{} sh -c \
        '"$1" explain "$3" --jobs "$2" --tz UTC --format json >"$3.answer" 2>"$3.error"; echo $? >"$3.code"' \
        sh "$trimtab" "$1" {}
}
find storms nulls -type f | explain_all none
[ -z "${WEEKLY:-}" ] || find weekly/storms weekly/nulls -type f | explain_all weekly/etc/crontab
if [ -n "${CURVES:-}" ]; then
    mkdir curves
    cp "$CURVES"/*.csv curves
    find curves -type f | explain_all "$OLDPWD/lab/hosts/debian12-systemd.tar.zst"
fi
cd - >/dev/null
[ -z "${WEEKLY:-}" ] || ./lab/explain-cases/weekly.py check "$work/weekly"
./lab/explain-cases/shapes_check.py "$work"
