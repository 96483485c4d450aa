#!/bin/sh
# $1: `remove` or `upgrade` (dpkg), the number of versions that stay (rpm).
set -e
case "${1:-}" in
remove | 0) ;;
*) exit 0 ;;
esac
# A plan ended what trimmed before. Without the program nothing would trim.
[ -e /var/lib/trimtab/plan.json ] || exit 0
if ! trimtab plan --undo; then
    echo 'trimtab: its plan could not be taken back, and without the program nothing would trim: see above' >&2
    exit 1
fi
