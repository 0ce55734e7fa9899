"""Programs that the harness runs for itself, outside any sandbox."""

from __future__ import annotations

import asyncio
import sys
import time

from pytest_agentbench.sandboxes.process import run_process


def test_a_program_of_our_own_gets_its_input_and_a_clean_environment() -> None:
    """Input arrives, output comes back, and the environment is PATH and the locale."""
    script = "cat; env | sort"
    done = asyncio.run(run_process(["sh", "-c", script], stdin=b"in\n", timeout_s=20))
    names = [line.partition("=")[0] for line in done.stdout.text().splitlines()]
    assert names == ["in", "LANG", "PATH", "PWD"]
    assert done.returncode == 0


def test_a_program_of_our_own_is_killed_when_its_time_is_over() -> None:
    """A judge that hangs, or that forks, is ended with its whole group."""
    began = time.monotonic()
    done = asyncio.run(
        run_process([sys.executable, "-c", "import os, time; os.fork(); time.sleep(60)"],
                    timeout_s=1.0)
    )  # fmt: skip
    assert done.timed_out
    assert time.monotonic() - began < 20
