# shellcheck shell=bash
# Sourced by the tests of the packages, in the clone. $work is removed at the end.
. lab/needs.sh
build=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

ok() { echo "  ok   $1"; }
# All output of a command that works is of no interest.
quiet() { "$@" >"$work/said" 2>&1 || { cat "$work/said" && return 1; }; }
inside() { chroot "$root" "$@"; }

# A Debian with systemd, which debootstrap makes once.
debian() { # SUITE
    local fresh=$build/fresh-$1
    [ -e "$fresh/done" ] || { quiet debootstrap --variant=minbase --include=systemd "$1" "$fresh" && touch "$fresh/done"; }
    cp -a "$fresh" "$root"
}

# What was recorded of a host, with the jobs of another: /mnt/x on an NVMe drive, that fstrim.timer trims.
recorded_host() { # FOLDER
    local name
    mkdir -p "$1"
    for name in nvme-xfs debian12-systemd; do
        tar -C "$1" --zstd --keep-directory-symlink -xf "lab/hosts/$name.tar.zst" --strip-components=1 root
    done
}
finds() { # RULES ROOT COMMAND...
    local found
    found=$("${@:3}" check --root "$2" --data-path /mnt/x --exit-zero --format json | grep -o '"rule": "[A-Z0-9]*' |
        cut -d'"' -f4 | sort -u | xargs)
    [ "$found" = "$1" ] || { echo "expected $1, found $found" && return 1; }
}
# systemd does not run in a chroot, and so neither does fstrim.timer.
finds_what_was_recorded() {
    finds "TRIM002 TRIM012" / inside trimtab
    ok "it finds what was recorded"
}

# All that is there, without the records and logs of package managers, and what a boot makes anew.
listing() {
    local pruned
    pruned=$(printf -- '-path ./%s -o ' run var/{lib/{dpkg,rpm,dnf},log,cache})
    # shellcheck disable=SC2086
    (cd "$root" && find . \( $pruned -false \) -prune -o -printf '%P %M %U %G %l\n' | sort)
}

# Units as they were installed, for an instance where they are templates.
units_are_sound() {
    local unit units=()
    for unit in "$root"/usr/lib/systemd/system/trimtab-*; do
        unit=${unit##*/}
        units+=("${unit/@./@data.}")
    done
    inside systemd-analyze --man=no verify "${units[@]}" >"$work/verify" 2>&1 || { cat "$work/verify" && return 1; }
    [ ! -s "$work/verify" ] || { cat "$work/verify" && return 1; }
    ok "systemd-analyze verify has nothing to say of ${#units[@]} installed units"
}
nothing_is_enabled() {
    [ -z "$(find "$root/etc/systemd" "$root/usr/lib/systemd" -type l -name '*trimtab*')" ]
    ok "nothing is enabled by installing"
}

# What an upgrade has to leave alone: a plan, which is a job of cron here, the log of passes, and the configuration.
make_plan() {
    quiet inside trimtab plan --root / --fstab --apply /mnt/x
    [ -s "$root/etc/cron.d/trimtab-plan-mnt-x" ]
    install -D -m 600 /dev/stdin "$root/var/lib/trimtab/audit.jsonl" <<<'{}'
    install -D /dev/stdin "$root/etc/trimtab/trimtab.toml" <<<$'[check]\nfail_on = "error"'
    kept >"$work/kept"
}
kept() {
    (cd "$root" && find etc/trimtab etc/cron.d var/lib/trimtab -type f -exec stat -c '%n %a %Y' {} + -exec sha256sum {} + | sort)
}
plan_is_kept() {
    kept | diff "$work/kept" -
    inside trimtab plan --root / --status | grep -q '^The plan is in effect'
    ok "the upgrade leaves the plan and the configuration as they were"
}

# Runs a removal that has to fail, and leaves the plan as it was.
stays_without_its_plan() { # COMMAND...
    local plan=$root/var/lib/trimtab/plan.json
    cp -p "$plan" "$work/plan.json"
    echo '{' >"$plan"
    ! "$@" >"$work/refused" 2>&1 || { cat "$work/refused" && return 1; }
    grep -q 'without the program nothing would trim' "$work/refused"
    inside trimtab --version >/dev/null
    cp -p "$work/plan.json" "$plan"
    ok "it stays where its plan cannot be taken back"
}

# A timer that the user enabled goes with the package.
enable_metrics() {
    mkdir -p "$root/etc/systemd/system/timers.target.wants"
    ln -s /usr/lib/systemd/system/trimtab-metrics.timer "$root/etc/systemd/system/timers.target.wants"
}
is_removed() {
    [ ! -e "$root/usr/bin/trimtab" ]
    [ ! -e "$root/etc/cron.d/trimtab-plan-mnt-x" ]
    [ -e "$root/var/lib/trimtab/audit.jsonl" ]
    ok "removed: the plan is taken back, what passes wrote stays"
}
