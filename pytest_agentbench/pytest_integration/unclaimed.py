"""YAML files that were named on the command line, and that are no task files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.options import PREFIX

_NAME = f"{PREFIX}-unclaimed"


class Unclaimed:
    """Where pytest refuses such files, says what would make task files of them."""

    def __init__(self) -> None:
        self.paths: list[Path] = []

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        """Tell of each."""
        if exitstatus != pytest.ExitCode.USAGE_ERROR:
            return
        for path in self.paths:
            terminalreporter.write_line(
                f"agentbench: {path.name} is no task file. Try: call it NAME.task.yaml, or name "
                f"its directory in the ini key {PREFIX}_tasks"
            )


def remember(config: pytest.Config, path: Path) -> None:
    """Take note of a file."""
    unclaimed = config.pluginmanager.get_plugin(_NAME)
    if unclaimed is None:
        unclaimed = Unclaimed()
        config.pluginmanager.register(unclaimed, _NAME)
    unclaimed.paths.append(path)
