#!/usr/bin/env bash
# The playbook of `trimtab plan --format ansible` under the real ansible-playbook, on two hosts that are directories: shown,
# written, written again without a change, taken back. Needs python3 and pip; a minute the first time.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
need_tools "the playbook" python3
target=${CARGO_TARGET_DIR:-target}
trimtab=$(realpath "${TRIMTAB:-$target/debug/trimtab}")
venv=$(realpath -m "$target")/ansible
[ -x "$venv/bin/ansible-playbook" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install -q ansible-core==2.19.14; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$trimtab" "$work/bin/trimtab"
export PATH=$work/bin:$PATH ANSIBLE_PYTHON_INTERPRETER=$venv/bin/python ANSIBLE_LOCALHOST_WARNING=false

host() { # NAME
    local root=$work/$1 disk=sys/devices/vbd-0/block/sda
    mkdir -p "$root/$disk/queue" "$root"/{sys/block,sys/dev/block,proc/self,run/systemd/system,usr/bin} \
        "$root"/usr/lib/systemd/system "$root/etc/systemd/system/timers.target.wants"
    echo 8:0 >"$root/$disk/dev"
    echo 2097152000 >"$root/$disk/size"
    echo 0 >"$root/$disk/queue/rotational"
    for name in discard_max_bytes discard_max_hw_bytes; do echo 2147483648 >"$root/$disk/queue/$name"; done
    ln -s ../devices/vbd-0/block/sda "$root/sys/block/sda"
    ln -s ../../devices/vbd-0/block/sda "$root/sys/dev/block/8:0"
    echo '22 1 8:0 / /data rw,noatime - xfs /dev/sda rw' >"$root/proc/self/mountinfo"
    echo '/dev/sda /data xfs noatime 0 0' >"$root/etc/fstab"
    install -m 755 /bin/true "$root/usr/bin/trimtab"
    printf '%s\n' '[Timer]' OnCalendar=weekly RandomizedDelaySec=100min >"$root/usr/lib/systemd/system/fstrim.timer"
    printf '%s\n' '[Service]' 'ExecStart=/sbin/fstrim --all' >"$root/usr/lib/systemd/system/fstrim.service"
    ln -s /usr/lib/systemd/system/fstrim.timer "$root/etc/systemd/system/timers.target.wants/"
    cp -a "$root/etc" "$work/$1.etc"
    echo "$1 ansible_connection=local" >>"$work/inventory"
}
host es1
host es2
# The root of each host, instead of the host itself.
trimtab plan /data --peers es1,es2 --tz Europe/Berlin --root "$work/HOST" --format ansible |
    sed "s,!unsafe \"$work/HOST\",\"$work/{{ inventory_hostname }}\"," >"$work/plan.yml"
changes() { # EXPECTED ARGUMENT...
    local expected=$1 said
    shift
    said=$("$venv/bin/ansible-playbook" -i "$work/inventory" "$work/plan.yml" "$@") || { echo "$said" && exit 1; }
    [ "$(grep -c "changed=$expected .*failed=0" <<<"$said")" = 2 ] || { echo "$said" && exit 1; }
    echo "  ok   ansible-playbook $*: changed=$expected on each host"
}
changes 1 --check
for name in es1 es2; do diff -r --no-dereference "$work/$name.etc" "$work/$name/etc"; done
changes 1
grep -q '^OnCalendar=Tue .* Europe/Berlin' "$work"/es1/etc/systemd/system/trimtab-trim@data.timer.d/trimtab-plan.conf
grep -q '^OnCalendar=Wed .* Europe/Berlin' "$work"/es2/etc/systemd/system/trimtab-trim@data.timer.d/trimtab-plan.conf
changes 0
changes 0 --check
changes 1 -e trimtab_undo=true
changes 0 -e trimtab_undo=true
for name in es1 es2; do diff -r --no-dereference "$work/$name.etc" "$work/$name/etc"; done
echo "  ok   /etc is as before on both"
