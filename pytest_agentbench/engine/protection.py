"""Which files scoring sees as the template has them, whatever the agent did to them.

``workspace.protect`` names them by pattern. Where it is not given: test
configuration, and what the checks name; for a check that the agent may rewrite
checks nothing.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.globs import matches
from pytest_agentbench.model.run import ChangeKind, Changes, EntryKind, Manifest
from pytest_agentbench.model.task import Blob, OracleSpec, Solution, TaskSpec
from pytest_agentbench.sandboxes.blobs import read_tree

PROTECTED_NAMES = frozenset({b"conftest.py", b"pytest.ini", b".pytest.ini", b"tox.ini"})
"""Test configuration: where the template has such a file, scoring sees the template's.
Files of these names that the agent *added* stay, for adding tests is honest work."""

_LIKE_A_TEST = re.compile(
    rb"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|_test\.[^/.]+$|\.(?:test|spec)\.[^/.]+$"
)
"""Where no solution tells what the agent is to change, a file that a check names is protected
only if it is surely a test: undoing honest work is worse than a visible check that was bent."""

_TEST_SOURCE = re.compile(
    rb"^test_[^.]*\.(?:py|sh|rb|c|cc|cpp|php|pl|lua)$"
    rb"|_(?:test|spec)\.(?:py|go|rb|rs|c|cc|cpp|dart|exs|lua)$"
    rb"|\.(?:test|spec)\.[cm]?[jt]sx?$"
    rb"|Tests?\.(?:java|kt|cs|php|swift|scala)$"
    rb"|\.(?:bats|t)$"
)
"""Names of programs that are tests. A file of data may be called ``test_orders.db``."""

_IN_PATCH = re.compile(
    rb"^(?:(?:---|\+\+\+) [ab]/(?P<one>[^\t\r\n]+)|diff --git a/.+ b/(?P<other>[^\r\n]+))",
    re.MULTILINE,
)


def protected_paths(task: TaskSpec, manifest: Manifest) -> frozenset[bytes]:
    """The template's files that scoring restores. Raises ``SetupError`` for the solution's file."""
    files = [path for path, entry in manifest.items() if entry.kind is EntryKind.FILE]
    patterns = task.workspace.protect
    if patterns is not None:
        return frozenset(
            path for path in files if any(_covers(pattern, path) for pattern in patterns)
        )
    configuration = {path for path in files if path.rpartition(b"/")[2] in PROTECTED_NAMES}
    if not task.checks:
        return frozenset(configuration)
    named = {path for check in task.checks for path in named_paths(check)}
    checked = {path for path in files if not named.isdisjoint(with_parents(path))}
    # `python app.py` is a check too, and app.py what the agent is asked to mend.
    solved = _solved(task.solution, task.id)
    if solved is None:
        tests = {path for path in checked if _LIKE_A_TEST.search(path)}
        return frozenset(configuration | tests)
    return frozenset(configuration | (checked - solved))


def protected_files(
    template: Template, changes: Changes, protected: Iterable[bytes]
) -> dict[str, Blob]:
    """Those of the protected files that the agent changed, removed, or took the place of."""
    gone = {change.path for change in changes.changes if change.kind is not ChangeKind.ADDED}
    found = {}
    for path in sorted(protected):
        if gone.isdisjoint(with_parents(path)):
            continue
        data = (template.directory / os.fsdecode(path)).read_bytes()
        found[os.fsdecode(path)] = Blob(data, template.manifest[path].executable)
    return found


def tells_of_tests(path: bytes) -> bool:
    """Whether a file says how tests are run, or is a test's source: no test run rewrites those."""
    name = path.rpartition(b"/")[2]
    return name in PROTECTED_NAMES or _TEST_SOURCE.search(name) is not None


def named_paths(check: OracleSpec) -> frozenset[bytes]:
    """The paths below the workspace that words of a check's command may name."""
    found = set()
    for word in _words(check.expectation):
        # tests/test_a.py::test_one, and --rootdir=tests
        bare = word.partition("::")[0]
        path = posixpath.normpath(bare.partition("=")[2] if bare.startswith("-") else bare)
        # The workspace itself is no file of it: "pytest ." would undo all of the work.
        if path != "." and not path.startswith(("/", "..")):
            found.add(os.fsencode(path))
    return frozenset(found)


def with_parents(path: bytes) -> set[bytes]:
    """A path and every directory that it lies in."""
    parts = path.split(b"/")
    return {b"/".join(parts[: count + 1]) for count in range(len(parts))}


def _covers(pattern: str, path: bytes) -> bool:
    """Whether a pattern names a file, or a directory that it lies in."""
    return any(matches(pattern, each) for each in with_parents(path))


def _words(command: object) -> Iterator[str]:
    """The words of an argv or of a shell string; nothing for what is no command."""
    if isinstance(command, str):
        yield from _shell_words(command)
    elif isinstance(command, list | tuple):
        for word in command:
            # A word of an argv may itself be for a shell.
            if isinstance(word, str):
                yield word
                yield from _shell_words(word) if " " in word else ()


def _shell_words(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # quotes that do not close: the shell will say so
        return text.split()


def _solved(solution: Solution | None, where: str) -> set[bytes] | None:
    """The files that the reference solution changes; None where nothing tells."""
    if solution is None:
        return None
    if solution.tree is not None:
        return {os.fsencode(name) for name in read_tree(solution.tree, where=where)}
    if solution.script is not None:
        return None
    if solution.patch is None:
        return set()
    try:
        text = solution.patch.read_bytes()
    except OSError as error:
        raise SetupError(
            f"the solution cannot be read: {error.strerror}", where=solution.patch.name
        ) from error
    return {found["one"] or found["other"] for found in _IN_PATCH.finditer(text)}
