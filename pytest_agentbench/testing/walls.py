"""Whether a driver's walls are what its capabilities claim."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import Capabilities, Sandbox, SandboxDriver, Template
from pytest_agentbench.model.task import Blob, SandboxSpec
from pytest_agentbench.testing.host import PATIENCE_S, opened
from pytest_agentbench.testing.room import DriverRoom, sh

_LIMIT_BYTES = 64 << 20
_EAT = "held = [bytearray(1 << 20) for _ in range(400)]; print('ate')"
_INTERFACES = "import socket; print([n for _, n in socket.if_nameindex() if n != 'lo'])"


class WallChecks(DriverRoom):
    """Each claim is tried. What is not claimed is skipped, and asking for it is refused."""

    def test_processes_outside_are_not_seen(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """``isolates_processes``: no process of the machine is in the sandbox's list."""
        _require(driver.probe(), "isolates_processes")
        marker = f"outside-{secrets.token_hex(6)}"
        sleeper = [sys.executable, "-c", "import sys; sys.stdin.read()", marker]
        with subprocess.Popen(sleeper, stdin=subprocess.PIPE):

            async def body(sandbox: Sandbox) -> str:
                script = 'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; done 2>/dev/null'
                return (await sh(sandbox, script)).stdout.text()

            assert marker not in opened(driver, template, body)

    def test_files_of_the_host_are_not_seen(
        self, driver: SandboxDriver, template: Template, tmp_path: Path
    ) -> None:
        """``hides_host``: a file of the harness's account cannot be read."""
        _require(driver.probe(), "hides_host")
        secret = tmp_path / "secret"
        secret.write_text("host")

        async def body(sandbox: Sandbox) -> str:
            return (await sh(sandbox, 'cat "$S"; echo read', S=str(secret))).stdout.text()

        assert opened(driver, template, body) == "read\n"

    def test_staged_files_cannot_be_written_to(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """``hides_host``: what is staged is read-only inside, for root's own agents too."""
        _require(driver.probe(), "hides_host")

        async def body(sandbox: Sandbox) -> str:
            place = await sandbox.put({"a": Blob(b"one")})
            script = 'echo x > "$D/a"; touch "$D/b"; rm -f "$D/a"; cat "$D/a"; ls "$D"'
            return (await sh(sandbox, script, D=place)).stdout.text()

        assert opened(driver, template, body) == "onea\n"

    def test_there_is_no_network_unless_it_is_asked_for(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """``controls_network``: without one, no interface leads anywhere."""
        _require(driver.probe(), "controls_network")

        async def body(sandbox: Sandbox) -> str:
            argv = [sandbox.python, "-I", "-c", _INTERFACES]
            return (await sandbox.run(argv, timeout_s=PATIENCE_S)).stdout.text()

        assert opened(driver, template, body) == "[]\n"

    def test_memory_is_limited(self, driver: SandboxDriver, template: Template) -> None:
        """``limits_memory``: a program that takes more than it may does not come through."""
        _require(driver.probe(), "limits_memory")

        async def body(sandbox: Sandbox) -> str:
            argv = [sandbox.python, "-I", "-c", _EAT]
            return (await sandbox.run(argv, timeout_s=PATIENCE_S)).stdout.text()

        assert opened(driver, template, body, SandboxSpec(memory_bytes=_LIMIT_BYTES)) == ""

    @pytest.mark.parametrize(
        ("capability", "spec"),
        [
            ("limits_memory", SandboxSpec(memory_bytes=_LIMIT_BYTES)),
            ("limits_cpus", SandboxSpec(cpus=0.5)),
            ("limits_pids", SandboxSpec(pids=10)),
            ("controls_network", SandboxSpec(network="none")),
        ],
        ids=["memory", "cpus", "pids", "network"],
    )
    def test_what_cannot_be_given_is_refused(
        self, driver: SandboxDriver, template: Template, capability: str, spec: SandboxSpec
    ) -> None:
        """Asked for a limit that it does not claim to have, a driver opens no sandbox."""
        if getattr(driver.probe(), capability):
            pytest.skip(f"this driver has {capability}")

        async def body(sandbox: Sandbox) -> None:
            del sandbox

        with pytest.raises(SandboxError):
            opened(driver, template, body, spec)


def _require(capabilities: Capabilities, name: str) -> None:
    if not getattr(capabilities, name):
        pytest.skip(f"this driver does not claim {name}: {capabilities.notes.get(name, '')}")
