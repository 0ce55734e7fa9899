"""An /etc of our own, made once a session from the few harmless files of the host's.

One directory to bind instead of twenty files: each mount costs a third of a
millisecond of every command. Private keys, shadow files and the host's name stay out.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

_COPIED = (
    "alternatives",
    "ca-certificates.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "pki/tls/cert.pem",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/openssl.cnf",
    "timezone",
)
_COPIED_ONLINE = ("gai.conf", "host.conf", "hosts", "resolv.conf")

BOUND = ("ca-certificates", "pki/ca-trust", "pki/tls/certs", "ssl/certs")
"""Directories of certificates, too big to copy."""

_WRITTEN = {
    "passwd": (
        "root:x:0:0:root:/root:/bin/sh\n"
        "user:x:1000:1000:user:/home/user:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    ),
    "group": "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
    "hostname": "sandbox\n",
}
_HOSTS_OFFLINE = "127.0.0.1 localhost\n::1 localhost\n"


@dataclass(frozen=True, slots=True)
class Furniture:
    """Host paths of what stands in for the host's own."""

    offline: Path
    online: Path
    nothing: Path
    """An empty file, to lie over one that must not be seen."""

    @classmethod
    def make(cls, directory: Path, host: Path = Path("/etc")) -> Furniture:
        """Write it all. Raises ``OSError``."""
        directory.mkdir()
        nothing = directory / "nothing"
        nothing.touch(mode=0o444)
        offline = _etc(directory / "offline", host, _COPIED)
        (offline / "hosts").write_text(_HOSTS_OFFLINE)
        online = _etc(directory / "online", host, (*_COPIED, *_COPIED_ONLINE))
        return cls(offline, online, nothing)


def _etc(target: Path, host: Path, names: tuple[str, ...]) -> Path:
    target.mkdir()
    for name in names:
        source, place = host / name, target / name
        if not os.access(source, os.R_OK):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place, symlinks=True, ignore_dangling_symlinks=True)
        elif source.is_file():
            shutil.copyfile(source, place)
    for name in BOUND:
        if (host / name).is_dir():
            (target / name).mkdir(parents=True, exist_ok=True)
    for name, text in _WRITTEN.items():
        (target / name).write_text(text)
    (target / "mtab").symlink_to("../proc/self/mounts")
    return target
