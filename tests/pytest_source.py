"""Files of pytest's source distribution that no wheel has: Jenkins' schema of JUnit files.

Fetched once for each version of pytest, by pip and so from wherever packages come from
here, and kept in the user's cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path

import pytest

# pytester gives every test a home of its own, in which pip would not find its settings.
_HOME = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ}
_TIMEOUT_S = 120
_SCHEMA = "testing/example_scripts/junit-10.xsd"


def junit_schema() -> Path:
    """The schema's file; made sure of by ``require("pytest-sdist")``."""
    return _place() / "junit-10.xsd"


@cache
def problem() -> str | None:
    """Why the files cannot be had; None where they are there."""
    if junit_schema().is_file():
        return None
    _place().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_place()) as downloads:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--retries=1", "--no-deps"]
        fetch += ["--disable-pip-version-check", "--no-binary=pytest", f"--dest={downloads}"]
        try:
            done = subprocess.run(
                [*fetch, f"pytest=={pytest.__version__}"],
                env={**os.environ, **_HOME},
                capture_output=True,
                text=True,
                check=False,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return "pip did not fetch pytest's source in time"
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["without a word"])[-1]
            return f"pip cannot fetch pytest's source: {last}"
        (archive,) = Path(downloads).glob("pytest-*.tar.gz")
        with tarfile.open(archive) as source:
            member = source.extractfile(f"{source.getnames()[0].split('/')[0]}/{_SCHEMA}")
            assert member is not None, f"{archive.name} has no {_SCHEMA}"
            written = Path(downloads) / "schema"
            written.write_bytes(member.read())
        # In one step: other workers of this session do the same.
        written.replace(junit_schema())
    return None


def _place() -> Path:
    cache_home = os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir()
    return Path(cache_home) / "pytest-agentbench-tests" / f"pytest-{pytest.__version__}"
