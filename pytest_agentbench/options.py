"""The options that there are, and the ini keys of the same meaning. Pure.

Loaded in every pytest session, so it costs as little as can be; what the values mean
is for ``settings``.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

OptionKind: TypeAlias = Literal["text", "words", "lines", "flag"]

PREFIX = "agentbench"

MARK = "agentbench"
"""The mark of Python tests that run trials."""
DEFAULT_TASK_DIRECTORIES = ("tasks",)
DEFAULT_RESULTS = ".agentbench"


class Option:
    """One ``--agentbench-NAME`` option; the ini key of the same meaning is ``agentbench_NAME``.

    ``words`` and ``lines`` may be given more than once; in an ini file, ``words`` are
    separated by blanks and ``lines`` stand on lines of their own.
    """

    # A named tuple or a dataclass takes longer to make than all the rest of this module.
    __slots__ = ("help", "kind", "metavar", "name")

    def __init__(self, name: str, metavar: str, text: str, kind: OptionKind = "text") -> None:
        self.name = name
        self.metavar = metavar
        self.help = text
        self.kind = kind

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return f"--{PREFIX}-{self.name}"

    @property
    def key(self) -> str:
        """The ini key, which is also the option's name in pytest's namespace."""
        return key_of(self.name)


def key_of(name: str) -> str:
    """The ini key of the option with that name."""
    return f"{PREFIX}_{name.replace('-', '_')}"


OPTIONS = (
    Option(
        "experiment",
        "FILE|NAME",
        "experiment file, or the NAME of experiments/NAME.yaml (default: agentbench.yaml)",
    ),
    Option(
        "variant",
        "NAME",
        "run only the experiment's variants of that name or pattern; may be repeated",
        "words",
    ),
    Option("agent", "NAME", "run one variant made of this agent, in place of the experiment's"),
    Option("model", "MODEL", "model of all variants; as --agentbench-set=model=MODEL"),
    Option("repeats", "N", "how often each task is tried; as --agentbench-set=repeats=N"),
    Option(
        "sandbox",
        "DRIVER",
        "sandbox driver for all trials, over what tasks and variants say: "
        "auto, bubblewrap, docker or local (which does not isolate)",
    ),
    Option(
        "set",
        "PATH=VALUE",
        "a setting over what experiment, tasks and variants say, such as limits.time=5m or "
        "options.effort=high; the value is YAML; may be repeated",
        "lines",
    ),
    Option("sample", "N", "take at most N rows of each dataset, the same ones every time"),
    Option("include-skipped", "", "run tasks whose own 'skip' would leave them out", "flag"),
    Option("results", "DIR", f"where runs are stored (default: {DEFAULT_RESULTS})"),
    Option(
        "keep",
        "none|failed|all",
        "whose artifacts are kept; what an agent changed always is (default: failed)",
    ),
    Option(
        "junit",
        "FILE",
        "write the pass rates as JUnit XML: a test suite per suite and variant, a case per task",
    ),
    Option("label", "TEXT", "a line that tells this run from others, kept with its results"),
)
