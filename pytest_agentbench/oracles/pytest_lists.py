"""Which hidden tests count, and how much: ``fail_to_pass``, ``pass_to_pass``, ``weights``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase

from pytest_agentbench.model.contracts import ExpectedTests
from pytest_agentbench.model.task import JsonValue, OracleSpec
from pytest_agentbench.oracles.answer_spec import listed
from pytest_agentbench.oracles.base import Problem, counted

FAIL_TO_PASS, PASS_TO_PASS, WEIGHTS = "fail_to_pass", "pass_to_pass", "weights"
LISTS = (FAIL_TO_PASS, PASS_TO_PASS)

_NAMED = 3
_WEIGHT_LIMIT = 1_000_000


class UnknownTests(Exception):
    """A list or a weight names what is not there; the message says what, as a sentence's end."""


@dataclass(frozen=True, slots=True)
class ListedTests:
    """What an entry says of its tests.

    ``groups`` maps each listed id to its list; empty: all tests count.
    """

    groups: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        """All listed ids."""
        return tuple(self.groups)

    def weight_of(self, name: str) -> float:
        """A test's part of the score: by its own id, else by the first pattern that matches."""
        if name in self.weights:
            return self.weights[name]
        found = (weight for pattern, weight in self.weights.items() if fnmatchcase(name, pattern))
        return next(found, 1.0)

    def group_of(self, name: str) -> str | None:
        """The list that has a test, by its id or as a parametrized test by its function."""
        return self.groups.get(name) or self.groups.get(function_of(name))


def function_of(name: str) -> str:
    """The id without parameters."""
    return name.partition("[")[0]


def file_of(name: str) -> str:
    """The test file of an id."""
    return name.partition("::")[0]


def listed_tests(options: Mapping[str, JsonValue]) -> ListedTests:
    """What options without problems say."""
    groups = {str(name): group for group in LISTS for name in listed(options.get(group)) or ()}
    given = options.get(WEIGHTS)
    weights = given if isinstance(given, dict) else {}
    return ListedTests(
        groups=groups,
        weights={
            pattern: float(weight)
            for pattern, weight in weights.items()
            if isinstance(weight, int | float)
        },
    )


def list_problems(spec: OracleSpec) -> list[Problem]:
    """What is wrong with the lists and the weights of an entry."""
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for group in LISTS:
        if group in spec.options:
            problems += _group_problems(group, spec.options[group], first)
    if WEIGHTS in spec.options:
        problems += _weight_problems(spec.options[WEIGHTS])
    return problems


def _group_problems(group: str, value: JsonValue, first: dict[str, str]) -> list[Problem]:
    names = listed(value)
    if names is None:
        return [((group,), "must be a list of test ids, or a text that is one as JSON")]
    # A dataset may well have a row where nothing else is to go on passing.
    if not names and (group == FAIL_TO_PASS or not isinstance(value, str)):
        return [((group,), "must list a test; leave it out if there is none")]
    problems: list[Problem] = []
    for index, name in enumerate(names):
        fault = _id_fault(name)
        if fault is None and str(name) in first:
            other = first[str(name)]
            fault = f"{name!r} is {'listed twice' if other == group else f'in {other!r} too'}"
        first[str(name)] = group
        if fault is not None:
            # A row's list has no places in the file.
            at = (group,) if isinstance(value, str) else (group, index)
            problems.append((at, fault))
    return problems


def _id_fault(name: JsonValue) -> str | None:
    if not isinstance(name, str):
        return "must be a test id, such as 'test_calc.py::test_adds'"
    file, _, test = name.partition("::")
    if not file.endswith(".py") or not test or file.startswith("/"):
        return f"{name!r} is no test id; write it like 'test_calc.py::test_adds'"
    return None


def _weight_problems(weights: JsonValue) -> list[Problem]:
    if not isinstance(weights, dict) or not weights:
        return [((WEIGHTS,), "must be a mapping of test ids or patterns to numbers")]
    return [
        ((WEIGHTS, pattern), "must be a number above 0, up to a million")
        for pattern, weight in weights.items()
        if isinstance(weight, bool)
        or not isinstance(weight, int | float)
        or not 0 < weight <= _WEIGHT_LIMIT
    ]


def expected_of(
    lists: ListedTests, known: ExpectedTests, *, from_source: bool = False
) -> dict[str, str]:
    """The listed tests, each to be run whatever its marks say, among those that are known.

    A parametrized test that is listed by its function stands for all that are known of
    it. Source knows it by its function only. Raises ``UnknownTests``.
    """
    families: dict[str, list[str]] = {}
    for name in known:
        families.setdefault(function_of(name), []).append(name)
    expected: dict[str, str] = {}
    unknown: list[str] = []
    for name in lists.ids:
        is_known = name in known or (from_source and function_of(name) in known)
        found = [name] if is_known else families.get(name, [])
        if not found:
            unknown.append(name)
        expected.update(dict.fromkeys(found, "run"))
    if unknown:
        raise UnknownTests(_not_there(unknown, known, "test"))
    skipped = [name for name in expected if known.get(name, known.get(function_of(name))) == "skip"]
    if skipped:
        verb = "is" if len(skipped) == 1 else "are"
        names = _named(map(repr, skipped))
        raise UnknownTests(f"lists {names}, which {verb} skipped by a mark, so can never pass")
    return expected


def check_files(lists: ListedTests, files: Iterable[str]) -> None:
    """Raise ``UnknownTests`` if an id's file is not among the test files."""
    known = sorted(files)
    unknown = sorted({file_of(name) for name in lists.ids} - set(known))
    if unknown:
        raise UnknownTests(_not_there(unknown, known, "file"))


def check_weights(lists: ListedTests, expected: ExpectedTests) -> None:
    """Raise ``UnknownTests`` if a weight matches no test that counts."""
    unknown = [
        pattern
        for pattern in lists.weights
        if pattern not in expected and not any(fnmatchcase(name, pattern) for name in expected)
    ]
    if unknown:
        raise UnknownTests(f"gives a weight to what is not there: {_close(unknown, expected)}")


def _not_there(unknown: list[str], known: Iterable[str], noun: str) -> str:
    verb = "is" if len(unknown) == 1 else "are"
    return f"lists {counted(len(unknown), noun)} that {verb} not there: {_close(unknown, known)}"


def _close(unknown: Iterable[str], known: Iterable[str]) -> str:
    names = list(known)
    told = []
    for name in list(unknown)[: _NAMED + 1]:
        near = [] if "*" in name else get_close_matches(name, names, n=1)
        told.append(f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name))
    return _named(told)


def _named(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join([*every[:_NAMED], "…"] if len(every) > _NAMED else every)
