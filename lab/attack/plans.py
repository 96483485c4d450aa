"""Lists of volumes, trees with plans and journals for `trimtab plan`: nothing outside the tree is changed, and nothing of
a name reaches a line of its own."""

import json
import os
import shutil


def volume(name="pv-1", claim="data-0", namespace="search", **source):
    source = source or {"csi": {"driver": "driver.longhorn.io", "volumeHandle": name}}
    spec = {"claimRef": {"namespace": namespace, "name": claim}, "volumeMode": "Filesystem", **source}
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec, "status": {"phase": "Bound"}}


def local(path, node="worker-1"):
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return {"local": {"path": path}, "nodeAffinity": affinity}


def lists(lab, forged, escapes):
    """What kubectl would never print."""
    as_list = lambda items: json.dumps({"kind": "List", "items": items})
    many = [volume(f"pv-{index}", f"data-{index}") for index in range(100_000)]
    broken = {
        "deep": "[" * 1_000_000,
        "deep objects": '{"kind":"List","items":[' + '{"a":' * 200_000,
        "long number": '{"kind":"List","items":[' + "9" * 10_000_000 + "]}",
        "many": as_list(many),
        "many documents": '{"kind":"List","items":[]}\n' * 200_000,
        "wrong types": as_list([{**volume(), "spec": kind} for kind in (1, None, [], "x")]),
        "no utf-8": b'{"kind": "\xff"}',
        "half": as_list([volume()])[:-40],
    }
    for what, text in broken.items():
        path = lab.file(f"lists/{what}.json", text)
        for form in ("text", "kubernetes"):
            lab.case(f"list {what}: {form}", ["plan", "--volumes", path, "--format", form], kb=700 << 10)
    for what, text in {"escapes": escapes, "line breaks": forged, "yaml": "x\n---\nkind: Pod", "quote": 'a"\nkind: Pod'}.items():
        named = {
            "volume": volume(name=text),
            "claim": volume(claim=text),
            "namespace": volume(namespace=text),
            "handle": volume(csi={"driver": "driver.longhorn.io", "volumeHandle": text}),
            "driver": volume(csi={"driver": text, "volumeHandle": "x"}),
            "source": volume(**{text: {"x": 1}}),
            "path": volume(**local("/mnt/" + text)),
            "node": volume(**local("/mnt", text)),
        }
        job = {"kind": "RecurringJob", "metadata": {"name": text, "namespace": text}, "spec": {"task": "filesystem-trim", "cron": text}}
        for place, item in named.items():
            path = lab.file(f"lists/{what} {place}.json", as_list([item, volume(), job]))
            for form in ("text", "json", "kubernetes"):
                words = ["plan", "--volumes", path, "--image", "example/trimtab:1", "--format", form]
                said = lab.case(f"list {what} as {place}: {form}", words)
                if form == "kubernetes" and any(line.startswith("kind: Pod") for line in said.splitlines()):
                    lab.fell.append(f"list {what} as {place}: an object of its own")


def trees(lab, forged):
    """Trees of others: links that lead out of them, and journals that name what is not in them."""
    outside = lab.file("outside/victim", "as before\n")
    before = {"etc/systemd/system": outside.parent, "etc/cron.d": outside.parent, "etc/fstab": outside, "etc": outside.parent,
              "var/lib/trimtab": outside.parent, "var": outside.parent, "etc/crontabs/root": outside, "etc/systemd": outside.parent}
    disk = "sys/devices/vbd-0/block/sda"

    def tree(name, systemd=True):
        root = lab.dir / name
        for path, text in {
            f"{disk}/dev": "8:0\n", f"{disk}/size": "2097152000\n", f"{disk}/queue/rotational": "0\n",
            f"{disk}/queue/discard_max_bytes": "2147483648\n", f"{disk}/queue/discard_max_hw_bytes": "2147483648\n",
            "proc/self/mountinfo": "22 1 8:0 / /data rw,noatime - xfs /dev/sda rw\n", "usr/sbin/cron": "", "usr/bin/trimtab": "",
            "etc/crontab": "# none\n", "etc/cron.d/other": "# none\n", "etc/fstab": "/dev/sda /data xfs noatime 0 0\n",
            "run/systemd/system/x" if systemd else "run/x": "", "usr/lib/systemd/system/fstrim.timer": "[Timer]\nOnCalendar=weekly\n",
            "usr/lib/systemd/system/fstrim.service": "[Service]\nExecStart=/sbin/fstrim --all\n",
        }.items():
            lab.file(f"{name}/{path}", text)
        for program in ("usr/bin/trimtab", "usr/sbin/cron"):
            os.chmod(root / program, 0o755)
        for link, target in {"sys/block/sda": "../devices/vbd-0/block/sda", "sys/dev/block/8:0": "../../devices/vbd-0/block/sda"}.items():
            at = root / link
            at.parent.mkdir(parents=True, exist_ok=True)
            at.symlink_to(target)
        return root

    def untouched(what):
        entries = sorted(entry.name for entry in outside.parent.iterdir())
        if outside.read_text() != "as before\n" or entries != ["victim"]:
            lab.fell.append(f"{what}: changed what is outside of the tree: {entries}")

    def all_of(what, root):
        for words in (["--apply", "--fstab", "/data"], ["--status"], ["--undo"], ["--apply", "--fstab", "/data"]):
            lab.case(f"plan {what}: {words[0]}", ["plan", "--root", root, *words])
            untouched(f"plan {what}: {words[0]}")
        lab.case(f"plan {what}: check", ["check", "--root", root, "--exit-zero"])

    for number, (path, target) in enumerate(before.items()):
        for systemd in (True, False):
            root = tree(f"tree{number}{systemd}", systemd)
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            if (root / path).is_dir():
                shutil.rmtree(root / path)
            (root / path).unlink(missing_ok=True)
            (root / path).symlink_to(target)
            all_of(f"with a link at {path}", root)

    # A journal as the tool writes it, with another name.
    root = tree("planned")
    lab.case("plan of a tree", ["plan", "--root", root, "--apply", "--fstab", "/data"], codes=(0,))
    written = json.loads((root / "var/lib/trimtab/plan.json").read_text())
    names = ["../outside/victim", "/etc/passwd", "etc/../../outside/victim", "etc/link/victim", "", ".", forged]
    texts = {}
    for name in names:
        for at in range(len(written["changes"])):
            journal = json.loads(json.dumps(written))
            journal["changes"][at]["name"] = name
            journal["changes"][at]["before"] = journal["changes"][at]["after"]
            texts[f"name {name!r} at {at}"] = json.dumps(journal)
        texts[f"folder {name!r}"] = json.dumps({**written, "folders": [name], "changes": []})
    texts |= {"deep": "[" * 1_000_000, "nothing": "", "large": '{"version": 1, "x": "' + "a" * (100 << 20)}
    for number, (what, text) in enumerate(texts.items()):
        root = tree(f"journal{number}")
        (root / "etc/link").symlink_to(outside.parent)
        lab.file(f"journal{number}/var/lib/trimtab/plan.json", text)
        os.chmod(root / "var/lib/trimtab", 0o700)
        all_of(f"with a journal, {what}", root)
    root = tree("pipe")
    (root / "var/lib/trimtab").mkdir(parents=True)
    os.mkfifo(root / "var/lib/trimtab/plan.json")
    all_of("with a pipe for a journal", root)
