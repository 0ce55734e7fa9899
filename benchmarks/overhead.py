"""What the harness itself costs: per trial, and when it has nothing to do.

    python benchmarks/overhead.py              # everything, several minutes
    python benchmarks/overhead.py --quick      # small numbers, to see that it works
    python benchmarks/overhead.py trials idle

Everything is measured through real pytest in a process of its own. What is
compared runs in turns, and the table shows medians. CPU time is that of the
process and of all that it waited for, so agents, oracles and sandboxes are in it.
Collection is measured by ``run.py``.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

PARTS = ("trials", "idle")

BARE_LOOP = """\
import os, sys
argv = sys.argv[2:]
for _ in range(int(sys.argv[1])):
    pid = os.posix_spawnp(argv[0], argv, os.environ)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
"""

# The walls that a trial needs, and no more.
BARE_BUBBLEWRAP = (
    *("bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-net", "--die-with-parent", "--ro-bind", "/usr", "/usr"),
    *("--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"),
    *("--symlink", "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
)

EXPERIMENT = """\
variants:
  trivial:
    agent: command
    options: {run: ["true"]}
"""

TASK = """\
prompt: Do nothing.
repeats: %d
oracles:
  - run: ["true"]
"""

PYTHON_TEST = """\
import pytest

@pytest.mark.parametrize("repeat", range(1, %d + 1))
def test_task(repeat):
    pass
"""


@dataclass(frozen=True)
class Cost:
    """Seconds that one process took, its descendants' CPU time included."""

    wall_s: float
    cpu_s: float

    def minus(self, other: Cost) -> Cost:
        """What this costs above another."""
        return Cost(self.wall_s - other.wall_s, self.cpu_s - other.cpu_s)

    def over(self, count: int) -> Cost:
        """One part of ``count`` equal ones."""
        return Cost(self.wall_s / count, self.cpu_s / count)


def middle(costs: Iterable[Cost]) -> Cost:
    """The medians of wall and CPU time, each by itself."""
    found = list(costs)
    return Cost(median(c.wall_s for c in found), median(c.cpu_s for c in found))


def measure(argv: list[str], cwd: Path, **variables: str) -> Cost:
    """Run one command to its end. Anything but success ends the benchmark with its output.

    ``variables`` are added to the environment.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # Without bytecode, compiling our modules at every start is what would be measured.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env |= variables
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            sys.exit(
                f"{' '.join(argv)} ended with {process.returncode}:\n"
                + output.read().decode("utf-8", "replace")[-4000:]
            )
    return Cost(wall_s, used.ru_utime + used.ru_stime)


def pytest_command(*arguments: str) -> list[str]:
    """A quiet pytest of this interpreter, without its cache."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]


def in_turns(rounds: int, ways: dict[str, Callable[[], Cost]]) -> dict[str, Cost]:
    """Measure each way once a round; the first round only warms up."""
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            cost = way()
            if number > 0:
                costs[name].append(cost)
    return {name: middle(found) for name, found in costs.items()}


def write(root: Path, files: dict[str, str]) -> Path:
    """Make a project of some files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def table(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows in aligned columns, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    print(f"\n{title}\n")
    for row in [heads, tuple("-" * width for width in widths), *rows]:
        cells = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())


def ms(seconds: float) -> str:
    """Seconds as milliseconds, for people."""
    return f"{seconds * 1000:.1f} ms"


def trial_overhead(work: Path, driver: str, count: int, rounds: int) -> tuple[Cost, Cost, Cost]:
    """Two bare processes, a trial, and what it costs above them.

    The slope between few and many trials, so that start and end of a session are not in it.
    """
    few = max(1, count // 10)
    walls = () if driver == "local" else BARE_BUBBLEWRAP

    def bare(number: int) -> Cost:
        loop = [sys.executable, "-c", BARE_LOOP, str(2 * number), *walls, "true"]
        return measure(loop, work)

    def harness(number: int) -> Cost:
        root = write(
            work / f"trials-{driver}-{number}",
            {
                "pytest.ini": "[pytest]\n",
                "agentbench.yaml": EXPERIMENT,
                "tasks/bench.yaml": TASK % number,
            },
        )
        shutil.rmtree(root / ".agentbench", ignore_errors=True)
        return measure(pytest_command("tasks", "--agentbench-sandbox", driver), root)

    costs = in_turns(
        rounds,
        {
            "bare, few": lambda: bare(few),
            "harness, few": lambda: harness(few),
            "bare, many": lambda: bare(few + count),
            "harness, many": lambda: harness(few + count),
        },
    )
    alone = costs["bare, many"].minus(costs["bare, few"]).over(count)
    whole = costs["harness, many"].minus(costs["harness, few"]).over(count)
    return alone, whole, whole.minus(alone)


def trials(work: Path, drivers: list[str], count: int, rounds: int) -> None:
    """Cost of one trial over the bare processes."""
    rows = []
    for driver in drivers:
        alone, whole, above = trial_overhead(work, driver, count, rounds)
        rows += [
            (f"{driver}: two bare processes", ms(alone.cpu_s), ms(alone.wall_s)),
            (f"{driver}: a trial", ms(whole.cpu_s), ms(whole.wall_s)),
            (f"{driver}: overhead", ms(above.cpu_s), ms(above.wall_s)),
        ]
    table(
        f"A trial of a trivial agent and one command oracle ({count} trials)",
        ("per trial", "CPU", "wall"),
        rows,
    )


def in_containers(work: Path, count: int, rounds: int) -> None:
    """Wall seconds of a trial in containers, at one and at four at once, and of the bare calls."""
    import containers  # noqa: PLC0415 - which builds on this module

    rows = []
    for at_once in (1, 4):
        alone, whole = containers.trial(work, at_once, count, rounds)
        rows.append(
            (
                f"docker, {at_once} at once",
                ms(alone.wall_s),
                ms(whole.wall_s),
                f"{whole.wall_s / alone.wall_s:.2f} x",
            )
        )
    table(
        f"A trial of a trivial agent and one command oracle in containers ({count} trials)",
        ("wall per trial", "bare calls", "a trial", "ratio"),
        rows,
    )


def idle(work: Path, rounds: int) -> None:
    """A session without task files, with and without us; and what one task file adds."""
    plain = write(
        work / "plain", {"pytest.ini": "[pytest]\n", "test_one.py": "def test_one():\n    pass\n"}
    )
    single = write(work / "single", {"pytest.ini": "[pytest]\n", "tasks/one.yaml": TASK % 1})
    costs = in_turns(
        rounds,
        {
            "without": lambda: measure(pytest_command("-p", "no:agentbench"), plain),
            "with": lambda: measure(pytest_command(), plain),
            "plain --co": lambda: measure(pytest_command("--co", "-p", "no:agentbench"), plain),
            "one --co": lambda: measure(pytest_command("--co"), single),
        },
    )
    without, with_us = costs["without"], costs["with"]
    co_plain, co_one = costs["plain --co"], costs["one --co"]
    extra = with_us.minus(without)
    start = co_one.minus(co_plain)
    outsiders, ours = added_modules(plain)
    table(
        "A session without task files, and the start-up of one with",
        ("session", "CPU", "wall"),
        [
            ("one Python test, without the plugin", ms(without.cpu_s), ms(without.wall_s)),
            ("one Python test, with it", ms(with_us.cpu_s), ms(with_us.wall_s)),
            ("difference", ms(extra.cpu_s), ms(extra.wall_s)),
            (
                "--co of one Python file, without the plugin",
                ms(co_plain.cpu_s),
                ms(co_plain.wall_s),
            ),
            ("--co of one task file", ms(co_one.cpu_s), ms(co_one.wall_s)),
            ("difference", ms(start.cpu_s), ms(start.wall_s)),
        ],
    )
    print(f"\nmodules that the plugin adds to a session without task files: {len(ours)} of its own")
    print(f"({', '.join(ours)}), {len(outsiders)} others ({', '.join(outsiders) or 'none'})")


def added_modules(root: Path) -> tuple[list[str], list[str]]:
    """Modules that are there with the plugin only: others' (no stdlib), and ours."""

    def loaded(*arguments: str) -> set[str]:
        program = (
            "import sys, pytest\n"
            f"status = pytest.main({list(arguments)!r})\n"
            "print('\\n' + ' '.join(sys.modules))\n"
            "sys.exit(status)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
        )
        return set(done.stdout.splitlines()[-1].split())

    extra = loaded("-q") - loaded("-q", "-p", "no:agentbench")
    ours = sorted(name for name in extra if name.partition(".")[0] == "pytest_agentbench")
    others = {name.partition(".")[0] for name in extra} - set(sys.stdlib_module_names)
    return sorted(others - {"pytest_agentbench"}), ours


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small numbers, one round")
    parser.add_argument("--driver", action="append", choices=["local", "bubblewrap", "docker"])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {min(unknown)!r}; known: {', '.join(PARTS)}")
    if options.quick:
        options.trials, options.rounds = 10, 1
    drivers = options.driver or ["local", *(["bubblewrap"] if shutil.which("bwrap") else [])]
    parts = options.parts or PARTS

    packages = ("pytest-agentbench", "pytest", "pydantic", "PyYAML")
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, medians of {options.rounds}"
    )
    print(", ".join(f"{name} {version(name)}" for name in packages))
    with tempfile.TemporaryDirectory(prefix="overhead-") as directory:
        work = Path(directory)
        if "trials" in parts:
            if own := [name for name in drivers if name != "docker"]:
                trials(work, own, options.trials, options.rounds)
            if "docker" in drivers:
                in_containers(work, min(options.trials, 20), min(options.rounds, 3))
        if "idle" in parts:
            idle(work, options.rounds)


if __name__ == "__main__":
    main()
