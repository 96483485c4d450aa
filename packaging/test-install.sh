#!/usr/bin/env bash
# `make install` puts what belongs together below a prefix, enables nothing, and `make uninstall` leaves what was there before.
set -euo pipefail
cd "$(dirname "$0")/.."
. lab/needs.sh
TRIMTAB=$(realpath "${TRIMTAB:-${CARGO_TARGET_DIR:-target}/debug/trimtab}")
export TRIMTAB DESTDIR
DESTDIR=$(mktemp -d)
trap 'rm -rf "$DESTDIR"' EXIT
listing() { (cd "$DESTDIR" && find . \( -type f -o -type l \) | sort); }
ok() { echo "  ok   $1"; }

# Of others, and of the user.
mkdir -p "$DESTDIR"/usr/{bin,share/man/man1,lib/systemd/system} "$DESTDIR"/etc/trimtab "$DESTDIR"/var/lib/trimtab
touch "$DESTDIR"/usr/{bin/fstrim,share/man/man1/trimmer.1.gz,lib/systemd/system/fstrim.timer}
touch "$DESTDIR"/etc/trimtab/trimtab.toml "$DESTDIR"/var/lib/trimtab/plan.json
listing >"$DESTDIR.before"
trap 'rm -rf "$DESTDIR" "$DESTDIR.before"' EXIT

packaging/install.sh install >"$DESTDIR/said"
while read -r path; do [ -s "$DESTDIR$path" ]; done <"$DESTDIR/said"
for path in bin/trimtab lib/systemd/system/trimtab-trim@.timer share/man/man1/trimtab-plan.1.gz \
    share/bash-completion/completions/trimtab; do
    grep -qx "/usr/$path" "$DESTDIR/said"
done
"$DESTDIR/usr/bin/trimtab" --version | grep -q '^trimtab '
[ ! -e "$DESTDIR/etc/systemd" ]
bash -n "$DESTDIR/usr/share/bash-completion/completions/trimtab"
zcat "$DESTDIR"/usr/share/man/man1/trimtab-plan.1.gz | grep -q '^\.TH'
ok "$(wc -l <"$DESTDIR/said") files, and nothing enabled"
if command -v systemd-analyze >/dev/null; then
    # Units of a timer's service and of an instance, without the manual pages of this machine.
    mkdir "$DESTDIR/verified"
    units=()
    for unit in "$DESTDIR"/usr/lib/systemd/system/trimtab-*; do
        name=${unit##*/}
        sed 's,=/usr/bin/trimtab,=/bin/true,' "$unit" >"$DESTDIR/verified/$name"
        units+=("${name/@./@data.}")
    done
    SYSTEMD_UNIT_PATH=$DESTDIR/verified: systemd-analyze verify --man=no "${units[@]}" 2>"$DESTDIR/verify"
    [ ! -s "$DESTDIR/verify" ] || { cat "$DESTDIR/verify" && exit 1; }
    rm "$DESTDIR/verify"
    ok "systemd-analyze verify has nothing to say of ${#units[@]} units"
    rm -r "$DESTDIR/verified"
fi
packaging/install.sh install >"$DESTDIR/again"
cmp "$DESTDIR/said" "$DESTDIR/again"
ok "a second time the same"

# Without what was built, as from another clone.
program=$TRIMTAB
TRIMTAB=$DESTDIR/nowhere packaging/install.sh uninstall >/dev/null
rm "$DESTDIR/said" "$DESTDIR/again"
listing | diff "$DESTDIR.before" -
ok "removed, all else is as before"

TRIMTAB=$program PREFIX=/opt/trimtab packaging/install.sh install >/dev/null
if grep -r /usr/bin/trimtab "$DESTDIR/opt/trimtab/lib"; then exit 1; fi
ok "units call the program below its prefix"
