#!/usr/bin/env bash
# The container image, unpacked by umoci and run as its user without an engine, on a recorded host that it cannot write to.
#
#   packaging/test/image.sh IMAGE.tar
set -euo pipefail
cd "$(dirname "$0")/../.."
. packaging/test/common.sh
image=$1
layout=$work/layout
quiet skopeo copy "oci-archive:$image" "oci:$layout:test"
quiet umoci unpack --image "$layout:test" "$work/bundle"
root=$work/bundle/rootfs
[ "$(cd "$root" && find . -type f | sort | xargs)" = "./usr/bin/trimtab ./usr/share/doc/trimtab/copyright" ]
config() { skopeo inspect --config "oci:$layout:test" | python3 -c "import json, sys; print(json.load(sys.stdin)$1)"; }
user=$(config '["config"]["User"]')
entrypoint=$(config '["config"]["Entrypoint"][0]')
[ "$user" = 65532:65532 ]
[ "$(config '["config"]["Labels"]["org.opencontainers.image.version"]')" = "$("$root$entrypoint" --version | cut -d' ' -f2)" ]
recorded_host "$work/host"
mkdir "$root/host"
chmod a+w "$work/host"
# As an engine would: a mount namespace of its own, everything read-only, and the image's user without capabilities.
as_container() {
    # shellcheck disable=SC2016
    unshare --mount sh -euc '
        mount --bind "$1" "$1"; mount --bind "$2" "$1/host"
        mount -o remount,bind,ro "$1/host"; mount -o remount,bind,ro "$1"
        root=$1 user=$3; shift 3
        exec chroot --userspec="$user" "$root" "$@"' sh "$root" "$work/host" "$user" "$@"
}
finds "TRIM007 TRIM012" /host as_container "$entrypoint"
! as_container "$entrypoint" check --root /host -o /host/report.html >/dev/null 2>&1 || exit 1
ok "the image runs as $user on a recorded host that it cannot write to"

# Older engines read another manifest beside the same blobs.
name=$(tar -xOf "$image" manifest.json | grep -o 'trimtab:[^"]*')
quiet skopeo copy "docker-archive:$image:$name" "oci:$work/older:test"
cmp <(skopeo inspect --config "oci:$layout:test") <(skopeo inspect --config "oci:$work/older:test")
ok "docker load finds the same configuration, and layers by their checksums"

# An engine without a daemon, and not with crun, which refuses version 1 of cgroups beside 2. Its own limits may be above a guest's.
if command -v podman runc >/dev/null; then
    engine() {
        podman --root "$work/podman" --runroot "$work/run" --tmpdir "$work/tmp" --storage-driver vfs --runtime runc \
            --cgroup-manager cgroupfs "$@"
    }
    as_engine() {
        engine run --rm --network none --read-only --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
            -v "$work/host:/host:ro" "localhost/$name" "$@"
    }
    quiet engine load -i "$image"
    finds "TRIM007 TRIM012" /host as_engine
    ok "podman runs $name, and finds the same"
fi
