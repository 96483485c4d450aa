#!/usr/bin/env bash
# The objects of `trimtab plan --format kubernetes`: accepted by Kubernetes' own validation with the schemas that csi-addons
# and Longhorn ship, their schedules read by the library that both controllers use, and the pod of a local volume run by
# runc on a filesystem of its own. Needs go, python3 and, for the pod, root and runc; the first time five minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/needs.sh
need_tools "the objects of Kubernetes" go python3
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
trimtab=$(realpath "${TRIMTAB:-$target/debug/trimtab}")
tools=$target/kubernetes
venv=$target/ansible
work=$(mktemp -d)
finish() {
    mountpoint -q "$work/data" && umount "$work/data"
    rm -rf "$work"
}
trap finish EXIT

export GOBIN=$tools GOFLAGS=-mod=mod
[ -x "$tools/kubectl-validate" ] || go install sigs.k8s.io/kubectl-validate@v0.0.4
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import yaml' 2>/dev/null || "$venv/bin/pip" install -q PyYAML==6.0.3
module() { # MODULE@VERSION
    go mod download -json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])'
}
addons=$(module github.com/csi-addons/kubernetes-csi-addons@v0.14.0)
longhorn=$(module github.com/longhorn/longhorn-manager@v1.10.0)
mkdir "$work/crds"
cp "$addons"/config/crd/bases/csiaddons.openshift.io_reclaimspacecronjobs.yaml "$work/crds"
# Longhorn's file is a Helm template.
"$venv/bin/python" - "$longhorn/k8s/crds.yaml" >"$work/crds/recurringjobs.yaml" <<'PYTHON'
import sys
for document in open(sys.argv[1]).read().split("\n---"):
    if "\n  name: recurringjobs.longhorn.io\n" in document:
        kept = [line for line in document.splitlines() if "{{" not in line and "longhorn-manager:" not in line]
        print("\n".join(kept))
PYTHON

list() { # COUNT KIND: a list of volumes, as kubectl prints it
    python3 - "$1" "$2" "${3:-}" <<'PYTHON'
import json, sys
count, kind, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def source(index):
    if kind == "local":
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [f"worker-{index}"]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
        return {"local": {"path": path or "/mnt/disks/ssd1"}, "nodeAffinity": affinity}
    driver = {"csi-addons": "rook-ceph.rbd.csi.ceph.com", "longhorn": "driver.longhorn.io"}[kind]
    return {"csi": {"driver": driver, "fsType": "ext4", "volumeHandle": f"pvc-{index}"}}
items = [{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{index}"},
          "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                   "claimRef": {"namespace": "search", "name": f"data-{index}"}, **source(index)},
          "status": {"phase": "Bound"}} for index in range(count)]
print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
PYTHON
}
objects() { # COUNT KIND ARGUMENT...
    local count=$1 kind=$2
    shift 2
    list "$count" "$kind" "${path:-}" | "$trimtab" plan --volumes - --format kubernetes "$@"
}
validate() { "$tools/kubectl-validate" --local-crds "$work/crds" --version 1.30 "$1"; }

objects 7 csi-addons >"$work/staggered.yaml"
objects 40 csi-addons --stagger 0 --tz Europe/Berlin >"$work/exact.yaml"
objects 20 longhorn --days tue,wed,thu >"$work/longhorn.yaml"
objects 3 local --image example/trimtab:1 --tz America/New_York >"$work/local.yaml"
for name in staggered exact longhorn local; do
    validate "$work/$name.yaml" >/dev/null || { validate "$work/$name.yaml" && exit 1; }
    echo "  ok   kubectl-validate accepts $(grep -c '^kind:' "$work/$name.yaml") objects ($name)"
done
# It would have noticed.
sed 's/backOffLimit: 1/backOffLimit: 61/' "$work/exact.yaml" >"$work/bad1.yaml"
sed 's/concurrency: 1/concurrency: one/' "$work/longhorn.yaml" >"$work/bad2.yaml"
sed 's/activeDeadlineSeconds/activeDeadline/' "$work/local.yaml" >"$work/bad3.yaml"
for number in 1 2 3; do
    ! validate "$work/bad$number.yaml" >/dev/null 2>&1 || { echo "bad$number.yaml was accepted" && exit 1; }
done
echo "  ok   and refuses three that are wrong"

# A year of starts by the controllers' own library, shifted as csi-addons shifts them: FNV-1a of the job's UID, modulo the
# window. A pass may start late, be tried once more until the deadline for that, and takes all of its time then.
mkdir "$work/starts"
"$venv/bin/python" - "$work"/{staggered,exact,longhorn}.yaml >"$work/starts/schedules" <<'PYTHON'
import sys, yaml
for path in sys.argv[1:]:
    for document in yaml.safe_load_all(open(path)):
        spec = document["spec"]
        if document["kind"] == "ReclaimSpaceCronJob":
            job = spec["jobTemplate"]["spec"]
            longest = spec["startingDeadlineSeconds"] + job["retryDeadlineSeconds"] + job["timeout"]
            schedule = spec["schedule"]
        else:
            # Four tries of a minute, with 10, 20 and 40 seconds between them, and 20 minutes for the last.
            longest, schedule = 3 * 60 + 70 + 20 * 60, spec["cron"]
        print(path.rsplit("/")[-1], longest, schedule, sep="\t")
PYTHON
cp lab/plan/starts.go "$work/starts/main.go"
(cd "$work/starts" && go mod init starts && go get github.com/robfig/cron/v3@v3.0.1) >/dev/null 2>&1
(cd "$work/starts" && go run .)

if [ "$(id -u)" != 0 ] || ! command -v runc >/dev/null; then
    skip "the pod of a local volume needs root and runc"
fi
mkdir "$work/data" "$work/bundle"
truncate -s 512M "$work/disk"
mkfs.ext4 -q "$work/disk"
mount -o loop "$work/disk" "$work/data"
dd if=/dev/urandom of="$work/data/old" bs=1M count=200 status=none
sync
rm "$work/data/old"
sync
path=$work/data objects 1 local --image example/trimtab:1 >"$work/pod.yaml"
before=$(du -m "$work/disk" | cut -f1)
(cd "$work/bundle" && runc spec)
"$venv/bin/python" lab/plan/pod.py "$work/pod.yaml" "$trimtab" "$work/bundle"
runc run -b "$work/bundle" "trimtab-$$" >"$work/said" 2>&1 || { cat "$work/said" && exit 1; }
sync
after=$(du -m "$work/disk" | cut -f1)
grep -q ': complete$' "$work/said" || { cat "$work/said" && exit 1; }
[ "$after" -lt $((before - 150)) ] || { echo "$before MB before, $after MB after" && exit 1; }
echo "  ok   the pod trims the node's filesystem: $before MB, then $after MB"
