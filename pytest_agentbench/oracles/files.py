"""``files``: what must, and must not, stand in the workspace. No code of the agent's runs."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

from pytest_agentbench.model.contracts import Sandbox, StagedOracle, Subject
from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.task import JsonValue, OracleSpec
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles import files_judging
from pytest_agentbench.oracles.base import (
    Problem,
    counted,
    judged,
    oracle_fault,
    unknown_keys,
)
from pytest_agentbench.oracles.files_apart import Job, judge_apart
from pytest_agentbench.oracles.files_spec import entry_problems, is_forbidden

_VERSION = 1

SIZE_LIMIT = 16 << 20
"""Bytes of a file that can be judged by its contents."""

_SMALL = 100_000
_PATIENCE_S = 20.0
_SURVEY = """\
for p do
  if [ -L "$p" ]; then echo symlink
  elif [ -d "$p" ]; then echo directory
  elif [ -e "$p" ]; then echo other
  else echo missing
  fi
done
"""
_WHAT_STANDS = {
    "symlink": "is a symlink",
    "directory": "is a directory",
    "other": "is no regular file, or cannot be read",
    "missing": "missing",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """What stands at a path: ``text`` where it can be judged, else ``trouble`` says why not."""

    kind: str
    text: str = ""
    trouble: str = ""


class FilesOracle:
    """A mapping of relative names to what is expected of each.

    ``exists`` (or ``absent``), ``equals``, ``contains`` (one text or several),
    ``matches`` (a regular expression, searched, ``^`` and ``$`` at each line),
    ``json_schema`` (Draft 2020-12), ``json`` (values by dotted path). Texts are
    UTF-8, their ends of line count as LF, and a file is judged by up to 16 MB.
    Symlinks are never followed and never pass. A directory exists, and has no text.
    The score is the share of expectations that are met; all must be.
    """

    kind: ClassVar[str] = "files"
    names_files: ClassVar[bool] = False
    rehearses: ClassVar[bool] = False
    judges_words: ClassVar[bool] = False

    def validate(self, spec: OracleSpec) -> list[Problem]:
        """What is wrong with the table of files."""
        problems = unknown_keys(spec.options, (), (), "key")
        at = (self.kind,)
        if not isinstance(spec.expectation, dict):
            return [*problems, (at, "must be a mapping of file names to expectations")]
        if not spec.expectation:
            problems.append((at, "names no file"))
        for name, wanted in spec.expectation.items():
            problems += entry_problems(name, wanted, (*at, name))
        return problems

    def prepare(self, spec: OracleSpec) -> StagedOracle:
        """Digest the table; there is nothing to read."""
        digest = digest_value([self.kind, _VERSION, spec.expectation])
        return StagedOracle(spec=spec, files={}, digest=digest)

    async def rehearse(
        self, staged: StagedOracle, sandbox: Sandbox, *, solved: bool
    ) -> StagedOracle:
        """Nothing to learn."""
        del sandbox, solved
        return staged

    async def check(self, staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
        """Look at each file and judge it."""
        del subject
        started = perf_counter()
        spec = staged.spec
        table = spec.expectation
        assert isinstance(table, dict)
        found = await _look(spec, sandbox, list(table))
        misses = await _judge(table, found, min(_PATIENCE_S, spec.timeout_s))
        total = sum(len(wanted) for wanted in table.values() if isinstance(wanted, dict))
        result = _result(spec, total, misses)
        return replace(result, duration_s=perf_counter() - started)


def _result(spec: OracleSpec, total: int, misses: Mapping[tuple[str, str], str]) -> OracleResult:
    met = total - len(misses)
    details: dict[str, JsonValue] = {"expectations": total, "met": met}
    # A file that is missing misses everything that is expected of it: said once.
    lines = list(dict.fromkeys(f"{name}: {why}" for (name, _), why in misses.items()))
    reason = "; ".join(lines) if lines else f"{counted(total, 'expectation')} met"
    return judged(
        spec,
        passed=not misses,
        score=met / total,
        reason=reason,
        details=details,
        output="\n".join(lines),
    )


async def _look(spec: OracleSpec, sandbox: Sandbox, names: Sequence[str]) -> dict[str, _Found]:
    found: dict[str, _Found] = {}
    for name in names:
        path = posixpath.join(sandbox.workspace, posixpath.normpath(name))
        data = await sandbox.read(path, limit=SIZE_LIMIT + 1)
        if data is not None:
            found[name] = _read(data)
    rest = [name for name in names if name not in found]
    return {**found, **(await _survey(spec, sandbox, rest) if rest else {})}


def _read(data: bytes) -> _Found:
    if len(data) > SIZE_LIMIT:
        return _Found("file", trouble=f"is larger than {SIZE_LIMIT:,} bytes")
    try:
        return _Found("file", data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return _Found("file", trouble=f"is not UTF-8 text (byte {error.start})")


async def _survey(spec: OracleSpec, sandbox: Sandbox, names: Sequence[str]) -> dict[str, _Found]:
    """What stands where no regular file can be read; parts of paths are looked at too."""
    steps = [(name, prefix) for name in names for prefix in _prefixes(name)]
    paths = [posixpath.join(sandbox.workspace, prefix) for _, prefix in steps]
    completed = await sandbox.run(["/bin/sh", "-c", _SURVEY, "sh", *paths], timeout_s=_PATIENCE_S)
    if completed.launch_error is not None:
        raise oracle_fault(spec, f"cannot look at files: {completed.launch_error}")
    kinds = completed.stdout.text().split()
    if completed.exit_code != 0 or len(kinds) != len(steps):
        return dict.fromkeys(names, _Found("other", trouble="could not be looked at"))
    found: dict[str, _Found] = {}
    for (name, prefix), kind in zip(steps, kinds, strict=True):
        if name in found and found[name].kind == "symlink":
            continue
        trouble = _WHAT_STANDS[kind]
        if kind == "symlink" and prefix != posixpath.normpath(name):
            trouble = f"lies behind the symlink {prefix}"
        found[name] = _Found(kind, trouble=trouble)
    return found


def _prefixes(name: str) -> list[str]:
    parts = posixpath.normpath(name).split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


async def _judge(
    table: Mapping[str, JsonValue], found: Mapping[str, _Found], patience_s: float
) -> dict[tuple[str, str], str]:
    """Why each unmet expectation is unmet, by file name and key, in the table's order."""
    answers: dict[tuple[str, str], str | None] = {}
    apart: dict[tuple[str, str], Job] = {}
    for name, wanted in table.items():
        assert isinstance(wanted, dict)
        here = found[name]
        for key, value in wanted.items():
            answers[name, key] = None
            if key in {"exists", "absent"}:
                answers[name, key] = _existence(here, forbidden=is_forbidden(key, value))
            elif here.trouble:
                answers[name, key] = here.trouble
            elif _can_run_away(key, here.text):
                apart[name, key] = (key, value, here.text)
            else:
                answers[name, key] = files_judging.miss(key, value, here.text)
    if apart:
        answers.update(zip(apart, await judge_apart(list(apart.values()), patience_s), strict=True))
    return {place: why for place, why in answers.items() if why is not None}


def _existence(here: _Found, *, forbidden: bool) -> str | None:
    if forbidden:
        return None if here.kind == "missing" else "exists, but must not"
    return None if here.kind in {"file", "directory"} else here.trouble


def _can_run_away(key: str, text: str) -> bool:
    return key in {"matches", "json_schema"} or (key == "json" and len(text) > _SMALL)
