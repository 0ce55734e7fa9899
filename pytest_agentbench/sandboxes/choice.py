"""Which driver a trial gets. Fails closed: without walls, nothing untrusted runs unasked."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import SandboxDriver

_UNISOLATED = "local"


def choose(name: str, drivers: Mapping[str, SandboxDriver], *, trusted: bool) -> SandboxDriver:
    """The driver of that name; for ``auto`` the first that isolates here.

    ``trusted`` agents are ours and deterministic: where nothing isolates they
    run in ``local``. Raises ``SandboxError``.
    """
    if name != "auto":
        return _named(name, drivers)
    reasons: list[str] = []
    for known, driver in drivers.items():
        if known == _UNISOLATED:
            continue
        try:
            if driver.probe().isolated:
                return driver
        except SandboxError as fault:
            reasons.append(f"{known}: {fault}")
        else:
            reasons.append(f"{known}: does not isolate here")
    if trusted and _UNISOLATED in drivers:
        return drivers[_UNISOLATED]
    raise SandboxError(
        f"nothing isolates an agent on this machine ({'; '.join(reasons) or 'no driver is known'})",
        where="sandbox auto",
        advice="--agentbench-sandbox local, or `sandbox: {driver: local}` in the task,"
        " where the agent may be trusted with this account",
    )


def _named(name: str, drivers: Mapping[str, SandboxDriver]) -> SandboxDriver:
    driver = drivers.get(name)
    if driver is None:
        close = get_close_matches(name, drivers, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ";"
        raise SandboxError(f"unknown sandbox {name!r}{hint} known: {', '.join(sorted(drivers))}")
    driver.probe()  # says why it does not work here
    return driver
