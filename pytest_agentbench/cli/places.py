"""Where a project keeps its runs, found without pytest: commands start faster than it does."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path

from pytest_agentbench.errors import StoreError
from pytest_agentbench.options import DEFAULT_RESULTS

_KEY = "agentbench_results"
_INI_SECTIONS = {
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}
_TOML_FILES = ("pytest.toml", ".pytest.toml", "pyproject.toml")


def find_results(start: Path) -> Path:
    """The results directory of the project that ``start`` lies in.

    Upwards from ``start``, the first directory counts whose pytest configuration has the
    ini key, or that holds results in the default place; else the default place in ``start``.
    Raises ``StoreError`` for a configuration that cannot be read.
    """
    for directory in (start, *start.parents):
        configured = _configured(directory)
        if configured is not None:
            return directory / configured
        if (directory / DEFAULT_RESULTS).is_dir():
            return directory / DEFAULT_RESULTS
    return start / DEFAULT_RESULTS


def _configured(directory: Path) -> str | None:
    """The ini key of the files that pytest would read there."""
    for name in (*_INI_SECTIONS, *_TOML_FILES):
        path = directory / name
        if not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
            value = _of_toml(name, text) if name in _TOML_FILES else _of_ini(name, text)
        except (OSError, ValueError, configparser.Error) as error:
            raise StoreError(
                f"cannot be read: {error}",
                where=str(path),
                advice="correct it, or name the results directory with --results",
            ) from error
        if value:
            return value
    return None


def _of_ini(name: str, text: str) -> str | None:
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(text)
    return parser.get(_INI_SECTIONS[name], _KEY, fallback=None)


def _of_toml(name: str, text: str) -> str | None:
    tables = tomllib.loads(text)
    if name == "pyproject.toml":
        tables = tables.get("tool", {})
    native = tables.get("pytest", {})
    for table in (native.get("ini_options", {}), native):
        value = table.get(_KEY)
        if isinstance(value, str):
            return value
    return None
