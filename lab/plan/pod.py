"""The container of a CronJob as a bundle for runc: pod.py MANIFEST TRIMTAB BUNDLE. Its window is open at any time; a
privileged container has all capabilities and the host's devices."""
import json, os, shutil, subprocess, sys, yaml

manifest, trimtab, bundle = sys.argv[1:]
jobs = [document for document in yaml.safe_load_all(open(manifest)) if document["kind"] == "CronJob"]
spec = jobs[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
container = spec["containers"][0]
arguments = container["command"] + container["args"]
arguments[arguments.index("--window") + 1] = "00:00-23:59"

# The image: the program, and the libraries of a build that is not static.
rootfs = f"{bundle}/rootfs"
os.makedirs(f"{rootfs}/usr/bin")
shutil.copy(trimtab, f"{rootfs}/usr/bin/trimtab")
for line in subprocess.run(["ldd", trimtab], capture_output=True, text=True).stdout.splitlines():
    for word in line.split():
        if word.startswith("/"):
            os.makedirs(rootfs + os.path.dirname(word), exist_ok=True)
            shutil.copy(word, rootfs + word)

config = json.load(open(f"{bundle}/config.json"))
assert container["securityContext"]["privileged"]
mask = int(open("/proc/self/status").read().split("CapEff:")[1].split()[0], 16)
numbered = subprocess.run(["capsh", f"--decode={mask:x}"], capture_output=True, text=True).stdout
capabilities = [name.upper() for name in numbered.strip().split("=")[1].split(",")]
process = config["process"]
process.update(terminal=False, args=arguments)
process["capabilities"] = {kind: capabilities for kind in ("bounding", "effective", "permitted")}
process.pop("rlimits", None)
config["root"] = {"path": "rootfs", "readonly": container["securityContext"]["readOnlyRootFilesystem"]}
mounts = [mount for mount in config["mounts"] if not mount["destination"].startswith("/dev")]
mounts.insert(1, {"destination": "/dev", "source": "/dev", "type": "bind", "options": ["rbind", "rslave"]})
config["mounts"] = mounts
config["linux"]["resources"] = {"devices": [{"allow": True, "access": "rwm"}]}
volumes = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
for mount in container["volumeMounts"]:
    source = volumes[mount["name"]]
    os.makedirs(source, exist_ok=True)
    propagation = {"HostToContainer": "rslave"}.get(mount.get("mountPropagation"), "rprivate")
    config["mounts"].append(
        {"destination": mount["mountPath"], "source": source, "type": "bind", "options": ["rbind", propagation]}
    )
json.dump(config, open(f"{bundle}/config.json", "w"))
