#!/usr/bin/env python3
"""Writes a container image to stdout, without a daemon: an OCI image layout in a tar, which `docker load` reads as well.

    image.py PROGRAM ARCHITECTURE VERSION REVISION >image.tar        SOURCE_DATE_EPOCH=

It has the program and its licence, and no shell, no users and no authorities' certificates: mount those that are
needed. The same input gives the same bytes.
"""

import datetime, hashlib, io, json, os, sys, tarfile, zlib
from pathlib import Path

program, architecture, version, revision = sys.argv[1:]
root = Path(__file__).parent.parent
epoch = int(os.environ["SOURCE_DATE_EPOCH"])
created = datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
# A tag may not have a plus.
tag = version.replace("+", "-")


def tar(entries):
    """A tar of (name, mode, bytes); None for a folder. Owners, times and order are always the same."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, mode, content in entries:
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = mode, epoch
            if content is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            archive.addfile(info, None if content is None else io.BytesIO(content))
    return written.getvalue()


def gzip(content):
    # Unlike gzip's, zlib's own header is the same in every version of Python: no time, no name.
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(content) + packer.flush()


blobs = {}


def blob(media_type, content):
    """Keeps a blob, and returns its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    blobs[f"blobs/sha256/{digest}"] = content
    return {"mediaType": f"application/vnd.oci.image.{media_type}", "digest": f"sha256:{digest}", "size": len(content)}


def json_bytes(value):
    return json.dumps(value, sort_keys=True).encode()


files = tar([
    ("usr", 0o755, None),
    ("usr/bin", 0o755, None),
    ("usr/bin/trimtab", 0o755, Path(program).read_bytes()),
    ("usr/share", 0o755, None),
    ("usr/share/doc", 0o755, None),
    ("usr/share/doc/trimtab", 0o755, None),
    ("usr/share/doc/trimtab/copyright", 0o644, (root / "LICENSE").read_bytes()),
])
layer = blob("layer.v1.tar+gzip", gzip(files))
config = blob("config.v1+json", json_bytes({
    "created": created,
    "architecture": architecture,
    "os": "linux",
    "config": {
        "User": "65532:65532",
        "Entrypoint": ["/usr/bin/trimtab"],
        "WorkingDir": "/",
        "Labels": {
            "org.opencontainers.image.title": "trimtab",
            "org.opencontainers.image.description": "Finds, explains and mends what slows a store down from below",
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.version": version,
            "org.opencontainers.image.revision": revision,
            "org.opencontainers.image.created": created,
        },
    },
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(files).hexdigest()]},
    "history": [{"created": created, "created_by": "packaging/image.py"}],
}))
manifest = blob("manifest.v1+json", json_bytes({
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "config": config,
    "layers": [layer],
}))
manifest["platform"] = {"architecture": architecture, "os": "linux"}
manifest["annotations"] = {"org.opencontainers.image.ref.name": f"trimtab:{tag}"}


def path(descriptor):
    return "blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")


sys.stdout.buffer.write(tar([
    ("oci-layout", 0o644, json_bytes({"imageLayoutVersion": "1.0.0"})),
    ("index.json", 0o644, json_bytes({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    })),
    # What docker before 25 reads instead.
    ("manifest.json", 0o644, json_bytes([
        {"Config": path(config), "RepoTags": [f"trimtab:{tag}"], "Layers": [path(layer)]},
    ])),
    ("blobs", 0o755, None),
    ("blobs/sha256", 0o755, None),
    *((name, 0o644, blobs[name]) for name in sorted(blobs)),
]))
