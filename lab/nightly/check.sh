#!/usr/bin/env bash
# check.py, where there is a browser: check.sh TRIMTAB [FOLDER]
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=lab/needs.sh
. ../needs.sh
need_tools "the page of bench nightly" chromium python3
program=$(cd "$OLDPWD" && realpath "$1")
exec python3 -B check.py "$program" ${2:+"$(cd "$OLDPWD" && realpath -m "$2")"}
