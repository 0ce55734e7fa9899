"""The ``agentbench`` command: what can be done with stored runs, without pytest."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench import __version__
from pytest_agentbench.errors import AgentbenchError
from pytest_agentbench.settings import DEFAULT_RESULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

CANNOT = 2
"""Exit status for what cannot be done as asked; argparse uses the same."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    options = _parser().parse_args(argv)
    from pytest_agentbench.cli.report import report

    try:
        report(options.run, results=options.results)
    except AgentbenchError as error:
        print(f"agentbench: {error}", file=sys.stderr)
        return CANNOT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentbench",
        description="Look at stored runs of pytest-agentbench.",
        epilog="Runs are made by pytest: pytest tasks/",
    )
    parser.add_argument("--version", action="version", version=f"agentbench {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command = commands.add_parser(
        "report",
        help="print the summary of a run",
        description="Print the summary of a run as pytest printed it at the end, from its records.",
    )
    command.add_argument(
        "run",
        metavar="RUN",
        nargs="?",
        default="latest",
        help="a run's id or directory (default: the latest run)",
    )
    command.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        default=Path(DEFAULT_RESULTS),
        help="where runs are stored (default: %(default)s)",
    )
    return parser
