"""Which driver a trial gets. Fails closed: without walls, nothing untrusted runs unasked."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import SandboxDriver
from pytest_agentbench.registry import built_in_names

AUTO = "auto"
"""The name that stands for whatever isolates here."""

_UNISOLATED = "local"
CONTAINERS = "docker"
"""Takes an image, which a task has to name: never by itself."""


def choose(
    name: str, drivers: Mapping[str, SandboxDriver], *, trusted: bool, image: bool = False
) -> SandboxDriver:
    """The driver of that name; for ``auto`` the first built-in one that isolates here.

    ``image``: whether the task names one; then ``auto`` is a container. ``trusted`` agents
    are ours and deterministic: where nothing isolates they run in ``local``. Raises
    ``SandboxError``.
    """
    if name != AUTO:
        return _named(name, drivers)
    if image:
        return _named(CONTAINERS, drivers)
    for known, driver in _automatic(drivers).items():
        if why_not(known, driver) is None:
            return driver
    if trusted and _UNISOLATED in drivers:
        return drivers[_UNISOLATED]
    reasons = "; ".join(refusals(drivers)) or "no driver is known"
    raise SandboxError(
        f"nothing isolates an agent on this machine ({reasons})",
        where="sandbox auto",
        advice="--agentbench-sandbox=local, or `sandbox: {driver: local}` in the task,"
        " where the agent may be trusted with this account",
    )


def refusals(drivers: Mapping[str, SandboxDriver]) -> list[str]:
    """Why each driver that could isolate does not; empty where one does."""
    found = [why_not(name, one) for name, one in _automatic(drivers).items()]
    return [] if None in found else [why for why in found if why is not None]


def _automatic(drivers: Mapping[str, SandboxDriver]) -> dict[str, SandboxDriver]:
    """What ``auto`` may take: not a third party's, which is there when other trials name it."""
    ours = built_in_names("sandbox")
    return {
        name: one
        for name, one in drivers.items()
        if name in ours and name not in (_UNISOLATED, CONTAINERS)
    }


def why_not(name: str, driver: SandboxDriver) -> str | None:
    """Why a driver does not isolate on this machine; None where it does."""
    try:
        isolated = driver.probe().isolated
    except SandboxError as fault:
        return f"{name}: {fault}"
    return None if isolated else f"{name}: does not isolate here"


def _named(name: str, drivers: Mapping[str, SandboxDriver]) -> SandboxDriver:
    driver = drivers.get(name)
    if driver is None:
        close = get_close_matches(name, drivers, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ";"
        raise SandboxError(f"unknown sandbox {name!r}{hint} known: {', '.join(sorted(drivers))}")
    driver.probe()  # says why it does not work here
    return driver
