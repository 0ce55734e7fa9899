"""The ``agentbench`` command: what is done with tasks and stored runs, without pytest's output."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench import __version__
from pytest_agentbench.errors import AgentbenchError
from pytest_agentbench.options import DEFAULT_RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    # argparse has no public name for what add_subparsers() gives.
    Subcommands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001

WRONG = 1
"""Exit status for tasks or experiments that are wrong, and a machine where nothing isolates."""
CANNOT = 2
"""Exit status for what cannot be done as asked; argparse uses the same."""
_SIGNALLED = 128
"""Added to a signal's number, as shells do for a program that it ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    # argparse finds no arguments after options and "--" together.
    end = words.index("--") if "--" in words else len(words)
    parser = _parser()
    options = parser.parse_args(words[:end])
    if words[end + 1 :]:
        if not hasattr(options, "command"):
            parser.error(f"arguments after -- that nobody takes: {' '.join(words[end + 1 :])}")
        options.command = words[end + 1 :]
    run: Callable[[argparse.Namespace], int] = options.run_command
    _prepare_process()
    try:
        status = run(options)
        sys.stdout.flush()
    except AgentbenchError as error:
        print(f"agentbench: {error}", file=sys.stderr)
        return CANNOT
    except BrokenPipeError:
        # Who read our output has had enough of it. Python flushes once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _SIGNALLED + signal.SIGPIPE
    except KeyboardInterrupt:
        print("agentbench: interrupted", file=sys.stderr)
        return _SIGNALLED + signal.SIGINT
    return status


def _prepare_process() -> None:
    """Print names that are no UTF-8, and end as on Ctrl-C when told to end: all is removed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by who started us
            nothing = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nothing, mode, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentbench",
        description="Work on tasks, and look at stored runs, of pytest-agentbench.",
        epilog="Runs are made by pytest: pytest tasks/",
    )
    parser.add_argument("--version", action="version", version=f"agentbench {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_init(commands)
    _add_validate(commands)
    _add_shell(commands)
    _add_schema(commands)
    _add_report(commands)
    _add_doctor(commands)
    return parser


def _add_init(commands: Subcommands) -> None:
    command = commands.add_parser(
        "init",
        help="write a suite to start from",
        description="Write sample tasks, agentbench.yaml and a CI workflow. Overwrites nothing.",
    )
    command.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path(),
        help="where (default: here)",
    )
    command.set_defaults(run_command=_init)


def _init(options: argparse.Namespace) -> int:
    from pytest_agentbench.cli.init import init

    init(options.directory)
    return 0


def _add_validate(commands: Subcommands) -> None:
    command = commands.add_parser(
        "validate",
        help="check task and experiment files",
        description="Check task files and the project's experiment files, with pytest's own "
        "messages. With --run, prove by trials that the tasks measure what they say: the "
        "reference solution passes, doing nothing fails, each control is refused by its oracle, "
        "the oracles say the same each time, nothing of them is readable where agents run, and "
        "limits are kept. The exit status is 1 when something is wrong.",
    )
    command.add_argument(
        "paths", metavar="PATH", nargs="*", help="files or directories (default: here)"
    )
    command.add_argument("--run", action="store_true", help="prove it by trials")
    command.add_argument(
        "--runs",
        type=_count,
        default=2,
        metavar="N",
        help="how often each answer is judged (default: 2)",
    )
    command.add_argument(
        "-j",
        "--jobs",
        type=_count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="how many tasks are tried at once (default: as many as there are processors)",
    )
    command.add_argument(
        "--sandbox", metavar="DRIVER", default=None, help="sandbox driver, over what tasks say"
    )
    _add_experiment(command)
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run_command=_validate)


def _validate(options: argparse.Namespace) -> int:
    from pytest_agentbench.cli.validate import Request, validate

    request = Request(
        paths=options.paths,
        run=options.run,
        runs=options.runs,
        jobs=options.jobs,
        driver=options.sandbox,
        experiment=options.experiment,
        as_json=options.json,
    )
    return 0 if validate(request) else WRONG


def _add_experiment(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--experiment",
        metavar="FILE|NAME",
        help="experiment file, or the NAME of experiments/NAME.yaml (default: as pytest takes it)",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _add_shell(commands: Subcommands) -> None:
    command = commands.add_parser(
        "shell",
        help="open a shell where the agent would work",
        usage="%(prog)s [-h] [--experiment FILE|NAME] [--variant NAME] [--sandbox DRIVER] TASK"
        " [-- COMMAND ...]",
        description="Open a shell in a trial's sandbox, as its agent would see it. What it leaves "
        "is told and thrown away. A COMMAND after -- is run instead of an interactive shell.",
    )
    command.add_argument("task", metavar="TASK", help="a task file, a node id, or a task's id")
    _add_experiment(command)
    command.add_argument("--variant", metavar="NAME", help="whose environment (default: the first)")
    command.add_argument(
        "--sandbox", metavar="DRIVER", help="sandbox driver, over what the task says"
    )
    command.set_defaults(command=())
    command.set_defaults(run_command=_shell)


def _shell(options: argparse.Namespace) -> int:
    from pytest_agentbench.cli.shell import Request, shell

    return shell(
        Request(
            task=options.task,
            variant=options.variant,
            driver=options.sandbox,
            experiment=options.experiment,
            command=options.command,
        )
    )


def _add_schema(commands: Subcommands) -> None:
    command = commands.add_parser(
        "schema",
        help="print a JSON Schema for editors",
        description="Print the JSON Schema of task files or of experiment files.",
    )
    command.add_argument(
        "kind", metavar="KIND", choices=("task", "experiment"), help="task, or experiment"
    )
    command.set_defaults(run_command=_schema)


def _schema(options: argparse.Namespace) -> int:
    from pytest_agentbench.cli.schema import schema

    schema(options.kind)
    return 0


def _add_report(commands: Subcommands) -> None:
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
        help="where runs are stored (default: where the project around here keeps them: the ini "
        f"key agentbench_results, or {DEFAULT_RESULTS})",
    )
    command.set_defaults(run_command=_report)


def _report(options: argparse.Namespace) -> int:
    from pytest_agentbench.cli.report import report

    report(options.run, results=options.results)
    return 0


def _add_doctor(commands: Subcommands) -> None:
    command = commands.add_parser(
        "doctor",
        help="say what works on this machine",
        description="Say what works on this machine and why not: sandboxes, limits, the Docker "
        "engine, disk space, credentials (their names), and what killed sessions left. The exit "
        "status is 1 when no sandbox isolates.",
    )
    command.add_argument("--reap", action="store_true", help="remove what killed sessions left")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run_command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from pytest_agentbench.cli.doctor import doctor

    return 0 if doctor(reap=options.reap, as_json=options.json) else WRONG
