"""Which driver a trial gets."""

from __future__ import annotations

from typing import ClassVar, cast

import pytest

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import (
    Capabilities,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    Template,
)
from pytest_agentbench.sandboxes.choice import choose


class Fake:
    """A driver with capabilities, or with a reason why it does not work."""

    name: ClassVar[str] = "fake"

    def __init__(self, found: Capabilities | str) -> None:
        self._found = found

    def probe(self) -> Capabilities:
        """Give or raise what it was made with."""
        if isinstance(self._found, str):
            raise SandboxError(self._found)
        return self._found

    async def open(self, template: Template, request: SandboxRequest) -> Sandbox:
        """Never called here."""
        raise NotImplementedError


WALLS = Capabilities(isolates_processes=True, hides_host=True)


def drivers(bubblewrap: Capabilities | str) -> dict[str, SandboxDriver]:
    found = {"local": Fake(Capabilities()), "bubblewrap": Fake(bubblewrap)}
    return cast("dict[str, SandboxDriver]", found)


@pytest.mark.parametrize("trusted", [True, False])
def test_auto_takes_walls_where_they_stand(*, trusted: bool) -> None:
    """Trusted or not, an agent runs behind walls where there are any."""
    known = drivers(WALLS)
    assert choose("auto", known, trusted=trusted) is known["bubblewrap"]


def test_auto_lets_only_trusted_agents_run_without_walls() -> None:
    """Without walls ours run in ``local``, others do not run, and the message says what to do."""
    known = drivers("bwrap is not installed")
    assert choose("auto", known, trusted=True) is known["local"]
    with pytest.raises(SandboxError) as caught:
        choose("auto", known, trusted=False)
    assert str(caught.value) == (
        "sandbox auto: nothing isolates an agent on this machine (bubblewrap: bwrap is not"
        " installed). Try: --agentbench-sandbox=local, or `sandbox: {driver: local}` in the task,"
        " where the agent may be trusted with this account"
    )
    assert caught.value.reason == "sandbox"


def test_walls_that_do_not_hide_the_host_are_not_enough() -> None:
    """A driver that isolates processes only is not chosen by ``auto``."""
    with pytest.raises(SandboxError, match="does not isolate here"):
        choose("auto", drivers(Capabilities(isolates_processes=True)), trusted=False)


def test_a_named_driver_is_taken_or_refused() -> None:
    """The user's word is obeyed: ``local`` for anyone, a broken driver never replaced."""
    known = drivers("bwrap is not installed")
    assert choose("local", known, trusted=False) is known["local"]
    with pytest.raises(SandboxError, match="bwrap is not installed"):
        choose("bubblewrap", known, trusted=True)


def test_an_unknown_driver_is_named_with_the_known_ones() -> None:
    """A misspelt name gets a suggestion."""
    with pytest.raises(SandboxError) as caught:
        choose("bublewrap", drivers(WALLS), trusted=True)
    assert str(caught.value) == (
        "unknown sandbox 'bublewrap'; did you mean 'bubblewrap'? known: bubblewrap, local"
    )
