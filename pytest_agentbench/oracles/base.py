"""What every oracle needs: bounded words, endings in words, faults with their place.

But for ``OracleBase.prepare``, which reads what is to be staged, it knows values and
strings, no files and no clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import PurePosixPath
from signal import Signals
from typing import ClassVar, TypeAlias

from pytest_agentbench.errors import OracleError, SetupError
from pytest_agentbench.model.contracts import Sandbox, StagedOracle
from pytest_agentbench.model.digest import digest_blobs, digest_value
from pytest_agentbench.model.run import Completed
from pytest_agentbench.model.task import Blob, FileTree, JsonValue, OracleSpec
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.sandboxes.blobs import read_tree

REASON_LIMIT = 300
"""Characters of a reason."""

STREAM_LIMIT = 32_768
"""Bytes that are kept of each of an oracle's two streams."""

_SIGNALLED = 128

TOLERANCE = 1e-9
"""How far below a bound a score may lie: weighted means are sums of floats."""

Problem: TypeAlias = tuple[tuple[str | int, ...], str]
"""Where within an oracle's entry something is wrong, and what."""


def one_line(text: str, limit: int = REASON_LIMIT) -> str:
    """Any text as one printable line: blanks joined, the unprintable escaped, the middle cut."""
    # Cut before escaping: what an agent wrote may be huge.
    start = text[: 4 * limit] if len(text) > 4 * limit else text
    line = " ".join(start.split())
    line = "".join(char if char.isprintable() else _escaped(char) for char in line)
    if len(line) <= limit and len(start) == len(text):
        return line
    return f"{line[: limit - 2].rstrip()} …"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 test``, ``2 tests``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def death(completed: Completed, timeout_s: float) -> str | None:
    """How a command was kept from ending by itself, in words; None when it did end."""
    if completed.timed_out:
        return f"ran out of time ({timeout_s:g} s)"
    if completed.out_of_memory:
        return "ran out of memory"
    if completed.signal is not None:
        return f"was killed by {_signal_name(completed.signal)}"
    code = completed.exit_code
    if code is None:
        return "was killed"
    # A shell, and bwrap, pass on a death by signal in this way.
    if code > _SIGNALLED and _is_signal(code - _SIGNALLED):
        return f"was killed by {_signal_name(code - _SIGNALLED)} (exit code {code})"
    return None


def _is_signal(number: int) -> bool:
    return number in {each.value for each in Signals}


def _signal_name(number: int) -> str:
    return Signals(number).name if _is_signal(number) else f"signal {number}"


def output_text(completed: Completed) -> str:
    """Both streams of a command as one text, standard error marked."""
    parts = [completed.stdout.text()]
    if completed.stderr.total:
        parts.append(f"[standard error]\n{completed.stderr.text()}")
    return "\n".join(part.rstrip("\n") for part in parts if part)


def last_words(completed: Completed) -> str:
    """The last line that a command wrote, to standard error if anything went there."""
    for stream in (completed.stderr, completed.stdout):
        lines = stream.text().rstrip().splitlines()
        if lines:
            return lines[-1].strip()
    return ""


def oracle_fault(spec: OracleSpec, what: str, *, advice: str = "") -> OracleError:
    """An error that names the oracle and where it is written."""
    # Its last parts: a record holds no absolute path of the machine.
    place = f"{'/'.join(spec.position.path.parts[-2:])}:{spec.position.line}"
    return OracleError(f"oracle {spec.name!r} {what}", where=place, advice=advice)


def judged(
    spec: OracleSpec,
    *,
    passed: bool,
    score: float,
    reason: str,
    details: Mapping[str, JsonValue] | None = None,
    output: str = "",
    sound: bool = True,
) -> OracleResult:
    """A result that carries what its entry says of it."""
    return OracleResult(
        name=spec.name,
        kind=spec.kind,
        passed=passed,
        score=score,
        reason=one_line(reason),
        details=details or {},
        output=output,
        required=spec.required,
        weight=spec.weight,
        sound=sound,
    )


def unknown_keys(
    given: Iterable[str], known: Collection[str], at: tuple[str | int, ...], what: str
) -> list[Problem]:
    """A problem for each key that is not known, with the one that was probably meant."""
    wrong = [key for key in given if key not in known]
    if not wrong:
        return []
    names = sorted(known)
    problems: list[Problem] = []
    for key in wrong:
        close = get_close_matches(key, names, n=1)
        if close:
            hint = f"; did you mean {close[0]!r}?"
        else:
            hint = f"; known: {', '.join(names)}" if names else ""
        problems.append(((*at, key), f"unknown {what} {key!r}{hint}"))
    return problems


def name_problem(name: str) -> str | None:
    """Why a relative POSIX path cannot name a file below a directory; None when it can."""
    path = PurePosixPath(name)
    if not name or "\0" in name or name.endswith("/") or str(path) == ".":
        return "is no file name"
    if path.is_absolute():
        return "is absolute; it is relative to the workspace"
    if ".." in path.parts:
        return "must not hold '..'"
    return None


def below(prefix: str, files: Mapping[str, Blob]) -> dict[str, Blob]:
    """The same files in a directory of that name."""
    return {f"{prefix}/{name}": blob for name, blob in files.items()}


def is_below(path: str, directory: str) -> bool:
    """Whether an absolute, normalised path is a directory or lies in it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


class OracleBase:
    """What an oracle may inherit: everything but its ``kind`` and ``check``.

    It takes any expectation and, beside it, the keys in ``options``; stages its
    ``assets`` and, where it ``names_files``, its files; and has nothing to rehearse.
    """

    DEFAULTS: ClassVar[tuple[str, ...]] = (
        "names_files",
        "rehearses",
        "judges_words",
        "options",
        "version",
        "validate",
        "prepare",
        "rehearse",
    )
    """What a class may leave out that does not inherit it."""

    kind: ClassVar[str]
    names_files: ClassVar[bool] = False
    rehearses: ClassVar[bool] = False
    judges_words: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()
    """Further keys of an entry, beside the kind's and those of all oracles."""
    version: ClassVar[int] = 1
    """A part of the digest: count it up when the same entry is judged in another way."""

    def validate(self, spec: OracleSpec) -> list[Problem]:
        """Unknown keys; override it, and call it, to look at the expectation too."""
        return unknown_keys(spec.options, self.options, (), "key")

    def prepare(self, spec: OracleSpec) -> StagedOracle:
        """Read and digest all bytes. Raises ``OracleError``."""
        named = spec.expectation if isinstance(spec.expectation, FileTree) else FileTree()
        try:
            files = dict(read_tree(named, where=f"files of oracle {spec.name!r}"))
            files |= read_tree(spec.assets, where=f"assets of oracle {spec.name!r}")
        except SetupError as error:
            raise oracle_fault(spec, f"cannot be read: {error}") from error
        said = None if isinstance(spec.expectation, FileTree) else spec.expectation
        says = [spec.kind, self.version, said, dict(spec.options), spec.timeout_s]
        return StagedOracle(spec, files, digest_value([says, digest_blobs(files)]))

    async def rehearse(
        self,
        staged: StagedOracle,
        sandbox: Sandbox,  # noqa: ARG002 - the contract's
        *,
        solved: bool,  # noqa: ARG002
    ) -> StagedOracle:
        """Nothing to learn."""
        return staged

    @staticmethod
    def result(
        staged: StagedOracle,
        *,
        passed: bool,
        reason: str,
        score: float | None = None,
        details: Mapping[str, JsonValue] | None = None,
        output: str = "",
        sound: bool = True,
    ) -> OracleResult:
        """An answer. ``score`` is 1 or 0 where it is not given; see ``OracleResult``."""
        scored = float(passed) if score is None else score
        return judged(
            staged.spec,
            passed=passed,
            score=scored,
            reason=reason,
            details=details,
            output=output,
            sound=sound,
        )
