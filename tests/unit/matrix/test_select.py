"""Which trials a task's own words exclude, and which are expected to fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_agentbench.matrix.select import Machine, exclusion_of, expected_to_fail
from pytest_agentbench.model.outcome import Outcome, Reason, outcome_of
from pytest_agentbench.model.task import SkipRule, Xfail
from pytest_agentbench.model.trial import Exclusion
from pytest_agentbench.model.variant import Variant

HERE = Machine(
    platform="linux",
    architecture="x86_64",
    has_command=lambda name: name in {"sh", "git"},
    variables={"TOKEN": "x", "EMPTY": ""},
)


@pytest.mark.parametrize(
    "rule",
    [
        None,
        SkipRule(platforms=("linux",)),
        SkipRule(platforms=("darwin", "linux"), reason="why"),
        SkipRule(architectures=("amd64",)),
        SkipRule(architectures=("arm64", "X86_64")),
        SkipRule(commands=("git", "sh")),
        SkipRule(variables=("TOKEN",)),
        SkipRule("why", ("linux",), ("x86_64",), ("sh",), ("TOKEN",)),
    ],
)
def test_every_condition_holds(rule: SkipRule | None) -> None:
    """A task whose conditions all hold is run."""
    assert exclusion_of(rule, HERE) is None


@pytest.mark.parametrize(
    ("rule", "reason", "message"),
    [
        (SkipRule("broken since May"), Reason.SKIP, "broken since May"),
        (
            SkipRule(platforms=("darwin", "win32")),
            Reason.PLATFORM,
            "runs on darwin or win32, and this is linux",
        ),
        (SkipRule(platforms=("lin",)), Reason.PLATFORM, "runs on lin, and this is linux"),
        (
            SkipRule(architectures=("arm64",)),
            Reason.PLATFORM,
            "runs on arm64, and this is x86_64",
        ),
        (
            SkipRule(commands=("git", "node", "npm")),
            Reason.CAPABILITY,
            (
                "no command 'node' where a sandbox looks for it;"
                " no command 'npm' where a sandbox looks for it"
            ),
        ),
        (SkipRule(variables=("NO",)), Reason.CREDENTIALS, "NO is not set"),
        (SkipRule(variables=("EMPTY",)), Reason.CREDENTIALS, "EMPTY is empty"),
        (
            SkipRule("calls the service", commands=("node",), variables=("NO", "TOKEN")),
            Reason.CAPABILITY,
            "calls the service (no command 'node' where a sandbox looks for it; NO is not set)",
        ),
    ],
)
def test_what_is_missing_is_named(rule: SkipRule, reason: Reason, message: str) -> None:
    """All that is missing is named, with the author's words; the first kind is the reason."""
    assert exclusion_of(rule, HERE) == Exclusion(reason, message)
    assert outcome_of(reason) is Outcome.SKIPPED


@pytest.mark.parametrize(
    ("wanted", "here", "runs"),
    [("freebsd", "freebsd13", True), ("freebsd13", "freebsd14", False), ("win32", "win32", True)],
)
def test_versions_of_a_platform(wanted: str, here: str, *, runs: bool) -> None:
    """A platform's name means all of its versions."""
    machine = replace(HERE, platform=here)
    assert (exclusion_of(SkipRule(platforms=(wanted,)), machine) is None) is runs


@pytest.mark.parametrize("here", ["aarch64", "arm64", "ARM64"])
def test_one_architecture_has_several_names(here: str) -> None:
    """It does not matter by which of its names an architecture is called, here or there."""
    machine = replace(HERE, architecture=here)
    for name in ("aarch64", "arm64"):
        assert exclusion_of(SkipRule(architectures=(name,)), machine) is None
    assert exclusion_of(SkipRule(architectures=("x86_64",)), machine) is not None


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), ["noop", "codex", "codex-skill"]),
        (("codex",), ["codex"]),
        (("codex*", "x"), ["codex", "codex-skill"]),
        (("CODEX",), []),
        (("n[!a]op",), ["noop"]),
    ],
)
def test_variants_that_are_expected_to_fail(patterns: tuple[str, ...], expected: list[str]) -> None:
    """Patterns choose among variants; none means all, and case matters."""
    variants = [Variant(name, "noop") for name in ("noop", "codex", "codex-skill")]
    xfail = Xfail("why", patterns)
    assert [one.name for one in variants if expected_to_fail(xfail, one)] == expected
    assert not expected_to_fail(None, variants[0])
