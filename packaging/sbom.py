#!/usr/bin/env python3
"""Prints what is in a release binary as CycloneDX 1.5 JSON: crates, Rust's library and glibc.

    sbom.py TARGET PROGRAM VERSION        SOURCE_DATE_EPOCH=

`cargo tree` knows what one package takes for one target; the graph of `cargo metadata`, and what is made of it, also
has what only the workspace's tests need. The same input gives the same bytes: there is no serial number.
"""

import datetime, hashlib, json, os, re, subprocess, sys, tomllib
from pathlib import Path
from urllib.parse import quote

target, program, version = sys.argv[1:]
root = Path(__file__).parent.parent


def said(*command):
    return subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


def component(name, version, licence, purl=None, sha256=None):
    # Crates of the workspace are in no registry: a purl would name somebody else's.
    it = {"type": "library", "bom-ref": purl or f"{name}@{version}", "name": name, "version": version}
    if sha256:
        it["hashes"] = [{"alg": "SHA-256", "content": sha256}]
    # Old crates write MIT/Apache-2.0.
    it["licenses"] = [{"expression": licence.replace("/", " OR ")}]
    if purl:
        it["purl"] = purl
    return it


lock = tomllib.loads((root / "Cargo.lock").read_text())
locked = {(package["name"], package["version"]): package for package in lock["package"]}
components, edges, above = {}, {}, []
# What macros are made of is not in the program. A crate's own are listed where it is named first.
tree = said("cargo", "tree", "--locked", "-p", "trimtab", "--target", target, "-e", "normal,no-proc-macro",
            "--prefix", "depth", "--format", " {p} | {l}")
for line in tree.splitlines():
    depth, name, number, licence = re.fullmatch(r"(\d+) (\S+) v(\S+)[^|]*\| (.+?)(?: \(\*\))?", line).groups()
    package = locked[name, number]
    purl = f"pkg:cargo/{name}@{quote(number)}" if "source" in package else None
    it = component(name, number, licence, purl, package.get("checksum"))
    components[it["bom-ref"]] = it
    above[int(depth):] = [it["bom-ref"]]
    edges.setdefault(it["bom-ref"], set())
    if len(above) > 1:
        edges[above[-2]].add(it["bom-ref"])

top = components.pop(above[0])
top |= {"type": "application", "version": version}
top["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(Path(program).read_bytes()).hexdigest()}]
# Both are linked statically.
host, rust = re.search(r"host: (\S+)\nrelease: (\S+)", said("rustc", "-vV")).groups()
compiler = "cc" if target == host else target.replace("-unknown", "") + "-gcc"
macros = subprocess.run([compiler, "-dM", "-E", "-include", "features.h", "-"], check=True, stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, text=True).stdout
glibc = ".".join(re.search(rf"__GLIBC{part}__ (\d+)", macros)[1] for part in ("", "_MINOR"))
for it in (component("std", rust, "MIT OR Apache-2.0", f"pkg:generic/rust-std@{rust}"),
           component("glibc", glibc, "LGPL-2.1-or-later", f"pkg:generic/glibc@{glibc}")):
    components[it["bom-ref"]] = it
    edges[top["bom-ref"]].add(it["bom-ref"])
    edges[it["bom-ref"]] = set()

at = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
json.dump({
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"timestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": top},
    "components": [components[ref] for ref in sorted(components)],
    "dependencies": [{"ref": ref, "dependsOn": sorted(edges[ref])} for ref in sorted(edges)],
}, sys.stdout, indent=1)
print()
