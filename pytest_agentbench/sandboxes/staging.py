"""A directory with pytest and what it needs, copied by distribution metadata."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.digest import digest_value

_FORMAT = 2
"""Raised when the directory is made in another way, so that old caches are left alone."""
_COMPILE_S = 120.0
_MAKING = "making-"
_GRACE_S = 3600.0
"""How long a directory may be in the making before it is taken for one of a killed session."""


def stage_pytest(cache: Path, python: Path, version: str, release: tuple[int, int]) -> Path:
    """The directory for one interpreter, made where it is not there yet. Raises ``OSError``.

    Bytecode is compiled by that very interpreter: of another version it would be
    ignored, and each run of pytest would take twice as long.
    """
    wanted = _closure("pytest", release)
    key = digest_value([_FORMAT, version, str(python), [[d.name, d.version] for d in wanted]])
    target = cache / f"pytest-{key}"
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(cache)
    # Made aside and renamed: other processes stage the same at the same time.
    making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=cache))
    try:
        for each in wanted:
            _copy_distribution(each, making)
        _compile(python, making)
        _link_commands(python, making / "bin")
        making.chmod(0o755)
        try:
            making.rename(target)
        except OSError:
            if not target.is_dir():
                raise
        return target
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _remove_abandoned(cache: Path) -> None:
    for path in cache.glob(f"{_MAKING}*"):
        with contextlib.suppress(FileNotFoundError):  # another session was faster
            if time.time() - path.lstat().st_mtime > _GRACE_S:
                shutil.rmtree(path, ignore_errors=True)


def _closure(name: str, release: tuple[int, int]) -> list[Distribution]:
    """A distribution and all that it requires on a Python of that release, sorted by name."""
    found: dict[str, Distribution] = {}
    ahead = [name]
    environment = {"python_version": "{}.{}".format(*release), "extra": ""}
    environment["python_full_version"] = environment["python_version"] + ".0"
    while ahead:
        each = ahead.pop()
        if each in found:
            continue
        try:
            found[each] = distribution(each)
        except PackageNotFoundError as fault:
            raise SandboxError(
                f"pytest on Python {environment['python_version']} needs {each}, which is not"
                " installed beside pytest-agentbench",
                advice=f"pip install {each}",
            ) from fault
        for line in found[each].requires or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate(environment):
                ahead.append(requirement.name.lower())
    _check_release(found[name], environment["python_version"])
    return [found[each] for each in sorted(found)]


def _check_release(pytest: Distribution, python: str) -> None:
    needed = str(pytest.metadata["Requires-Python"] or "")
    if not SpecifierSet(needed).contains(f"{python}.99"):
        raise SandboxError(
            f"pytest {pytest.version} does not run on Python {python} (needs {needed})",
            where="sandbox.python",
            advice="an interpreter that is not older",
        )


def _copy_distribution(each: Distribution, target: Path) -> None:
    for source, name in _files(each):
        if name.startswith("..") or name.endswith((".pyc", ".pth")) or os.path.isabs(name):
            continue
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)


def _files(each: Distribution) -> Iterator[tuple[Path, str]]:
    """Every file of a distribution, with its name below ``site-packages``."""
    listed = each.files
    if listed and any(str(path).endswith("__init__.py") for path in listed):
        for entry in listed:
            source = Path(str(each.locate_file(entry)))
            if source.is_file():
                yield source, str(entry)
        return
    # Packaged by a Linux distribution, or installed to be edited: no list of files.
    for module in (each.read_text("top_level.txt") or each.name).split():
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            raise SandboxError(f"the files of {each.name} {each.version} cannot be found")
        origin = Path(spec.origin)
        if spec.submodule_search_locations is None:
            yield origin, origin.name
            continue
        for path in origin.parent.rglob("*.py"):
            yield path, f"{module}/{path.relative_to(origin.parent)}"


def _link_commands(python: Path, directory: Path) -> None:
    """Names for the interpreter: Debian's has no ``python`` beside its ``python3``."""
    directory.mkdir(exist_ok=True)
    for name in ("python", "python3"):
        (directory / name).symlink_to(python)


def _compile(python: Path, directory: Path) -> None:
    # Unchecked: nobody but us writes there, and a copy elsewhere has other times.
    subprocess.run(
        [
            python,
            "-I",
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "unchecked-hash",
            directory,
        ],
        check=False,
        timeout=_COMPILE_S,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
