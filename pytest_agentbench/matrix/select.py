"""Which trials are not run at all, by their task's own words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.model.trial import Exclusion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_agentbench.model.task import SkipRule, Xfail
    from pytest_agentbench.model.variant import Variant

_ARCHITECTURES = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    "armv8": "aarch64",
    "x64": "x86_64",
    "x86-64": "x86_64",
}
"""What else one architecture is called."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What conditions are held against.

    ``platform`` is as ``sys.platform``, ``architecture`` as ``platform.machine()``.
    ``has_command`` says whether a trial's sandbox would find a command.
    """

    platform: str
    architecture: str
    has_command: Callable[[str], bool]
    variables: Mapping[str, str] = field(default_factory=dict)


def exclusion_of(rule: SkipRule | None, machine: Machine) -> Exclusion | None:
    """Why a task is not run on a machine; None when it is.

    Every condition that is not met is named; the first one's kind is the reason.
    """
    if rule is None:
        return None
    if not rule.conditional:
        return Exclusion(Reason.SKIP, rule.reason)
    unmet = list(_unmet(rule, machine))
    if not unmet:
        return None
    missing = "; ".join(words for _, words in unmet)
    message = f"{rule.reason.strip()} ({missing})" if rule.reason.strip() else missing
    return Exclusion(unmet[0][0], message)


def expected_to_fail(xfail: Xfail | None, variant: Variant) -> bool:
    """Whether a task is expected not to pass with a variant."""
    if xfail is None:
        return False
    return not xfail.variants or any(
        fnmatchcase(variant.name, pattern) for pattern in xfail.variants
    )


def architecture_name(name: str) -> str:
    """One spelling for each architecture: ``x86_64`` for ``AMD64``, ``aarch64`` for ``arm64``."""
    lowered = name.lower()
    return _ARCHITECTURES.get(lowered, lowered)


def _unmet(rule: SkipRule, machine: Machine) -> Iterator[tuple[Reason, str]]:
    if rule.platforms and not any(_names(name, machine.platform) for name in rule.platforms):
        wanted = _either(rule.platforms)
        yield Reason.PLATFORM, f"runs on {wanted}, and this is {machine.platform}"
    here = architecture_name(machine.architecture)
    if rule.architectures and here not in map(architecture_name, rule.architectures):
        wanted = _either(rule.architectures)
        yield Reason.PLATFORM, f"runs on {wanted}, and this is {machine.architecture}"
    for command in rule.commands:
        if not machine.has_command(command):
            yield Reason.CAPABILITY, f"no command {command!r} where a sandbox looks for it"
    for variable in rule.variables:
        if not machine.variables.get(variable):
            empty = "is empty" if variable in machine.variables else "is not set"
            yield Reason.CREDENTIALS, f"{variable} {empty}"


def _names(name: str, platform: str) -> bool:
    """Whether a name means a platform: ``freebsd`` is ``freebsd13`` too."""
    return platform == name or (platform.startswith(name) and platform[len(name) :].isdigit())


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)
