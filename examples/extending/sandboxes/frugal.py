"""A sandbox: another one, in which commands find themselves told to be frugal."""

from pytest_agentbench import DriverWrapper, SandboxWrapper

FRUGAL = {"MAKEFLAGS": "-j1", "OMP_NUM_THREADS": "1"}
"""What keeps common programs from taking every core that there is."""


class FrugalSandbox(SandboxWrapper):
    """Adds to the environment of each command."""

    async def run(self, argv, *, env=None, **settings):
        return await self.inner.run(argv, env={**FRUGAL, **(env or {})}, **settings)


class FrugalDriver(DriverWrapper):
    """Builds on ``local``, so it has no walls, and says so."""

    name = "frugal"

    def wrap(self, sandbox):
        return FrugalSandbox(sandbox, driver=self.name)
