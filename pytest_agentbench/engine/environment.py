"""Expands ``${VAR}`` in environment values, at set-up. Pure: the variables are handed in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_agentbench.credentials import credentials
from pytest_agentbench.errors import SetupError

_REFERENCE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Expanded:
    """Expanded values, and what of them may be secret.

    That is what came from the harness's environment, and what looks like a credential.
    """

    values: Mapping[str, str]
    secrets: frozenset[str]


def secrets_in(values: Mapping[str, str], variables: Mapping[str, str]) -> frozenset[str]:
    """What of ``variables`` the values refer to, and what looks like a credential among them."""
    names = {match["name"] for text in values.values() for match in _REFERENCE.finditer(text)}
    given = frozenset(variables[name] for name in names if variables.get(name))
    return given | credentials(values)


def expand(values: Mapping[str, str], variables: Mapping[str, str], *, where: str) -> Expanded:
    """Replace ``${VAR}`` and ``${VAR:-default}``; the default also stands for an empty variable.

    Raises ``SetupError`` that names every missing variable at once.
    """
    secrets: set[str] = set()
    missing: list[str] = []

    def fill(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        value = variables.get(name)
        if value:
            secrets.add(value)
            return value
        if default is not None:
            return default
        if value is None:
            missing.append(name)
        return ""

    expanded = {name: _REFERENCE.sub(fill, text) for name, text in values.items()}
    if missing:
        names = ", ".join(sorted(set(missing)))
        raise SetupError(
            f"not set in the environment: {names}",
            where=where,
            advice="export it, or write ${NAME:-default}",
        )
    # Written out in the file, a credential is one all the same.
    return Expanded(expanded, frozenset(secrets) | credentials(expanded))
