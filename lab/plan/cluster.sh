#!/usr/bin/env bash
# Planned passes on three nodes of a real OpenSearch, each with its data on a loop device of its own, in fast time: the slots
# of `trimtab plan --peers`, a week in WEEK_S seconds. Never do two run at once, and none starts while the cluster is yellow:
# it waits within its slot, or ends resumably. Needs root, Java and 4 GB.
#
#   lab/plan/cluster.sh [WEEKS]    20 by default: 60 passes in 12 minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
[ "$(id -u)" = 0 ] || skip "planned passes need root"
need_tools "planned passes" losetup mkfs.xfs python3 curl
[ -n "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
trimtab=$(realpath "${TRIMTAB:-${CARGO_TARGET_DIR:-target}/debug/trimtab}")
server=${SERVER:-opensearch-2.19.1}
work=$(mktemp -d)
devices=()
leave() {
    for name in n3 n2 n1; do [ ! -d "$work/$name.run" ] || lab/servers/node.sh stop "$work/$name.run" || true; done
    for name in n1 n2 n3; do umount "$work/$name" 2>/dev/null || true; done
    for device in "${devices[@]}"; do losetup -d "$device"; done
    rm -rf "$work"
}
trap leave EXIT
chmod 755 "$work"
join=none
for name in n1 n2 n3; do
    truncate -s 400M "$work/$name.image"
    device=$(losetup -f --show "$work/$name.image")
    devices+=("$device")
    mkfs.xfs -q "$device"
    mkdir "$work/$name"
    mount "$device" "$work/$name"
    found=$(JOIN=$join NAME=$name lab/servers/node.sh start "$server" "$work/$name/data" "$work/$name.run")
    [ "$join" != none ] || { url=$found join=$work/n1.run; }
done
"$trimtab" plan --peers n1,n2,n3 --format json >"$work/plan.json"
python3 lab/plan/passes.py "$trimtab" "$url" "$work" "${1:-20}"
