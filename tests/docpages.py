"""Pages of the documentation as stories: files to write, and commands with what they print.

A fenced block stands for a file where the line before it ends with the file's name in
code and a colon, and for a session in a shell where it is a ``console`` block: a line that
begins with ``$ `` is a command, what follows is its output. In an output, ``...`` stands
for anything: alone in a line for any number of lines, else for the rest of the line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
STORIES = [
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *(page for page in sorted((ROOT / "docs" / "how-to").glob("*.md")) if page.stem != "extend"),
    ROOT / "docs" / "reference" / "fixtures.md",
]
"""Pages whose named blocks and console blocks are one story, told in one directory."""

_FENCE = re.compile(r"^```(\w*) ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`([\w./-]+\.\w+)`:$")
_SAME_EACH_TIME = (
    (re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}"), "<run>"),
    (re.compile(r"\d+\.\d+s\b"), "<time>"),
    (re.compile(r"([=_-])\1{3,}"), r"\1\1\1\1"),
    (re.compile(r" +(\[ *\d+%\])$"), r" \1"),
    (re.compile(r"\s+$"), ""),
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its page and line, language and mark, text, and the file that it is."""

    page: Path
    line: int
    language: str
    mark: str
    text: str
    file: str

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command of a console block, and the lines that it is said to print."""

    line: str
    output: tuple[str, ...]


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text()
    found = []
    for match in _FENCE.finditer(text):
        before = text[: match.start()].rstrip("\n").rpartition("\n")[2]
        name = _NAME.search(before)
        file = name[1] if name and match[1] != "console" else ""
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match[1], match[2], match[3], file))
    return found


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a console block."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, *output = part.splitlines()
        yield Command(line, tuple(output))


def write(root: Path, name: str, text: str) -> None:
    """Write a story's file."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def said_by(command: str, directory: Path) -> str:
    """What a command prints, on both streams, in a terminal of 80 columns without colours."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CI", "FORCE_COLOR", "PY_COLORS") and not name.startswith("PYTEST_")
    }
    tools = Path(sys.executable).parent
    environment = {
        **kept,
        "COLUMNS": "80",
        "HOME": str(directory),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTEST_ADDOPTS": os.environ["PYTEST_ADDOPTS"],
    }
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def is_said(expected: tuple[str, ...], output: str) -> bool:
    """Whether an output is the expected one, but for times, runs, and widths of rules."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, _settled(line).split("..."))) + r"\n"
    lines = [_settled(line) for line in output.strip("\n").splitlines()]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _settled(line: str) -> str:
    for changing, fixed in _SAME_EACH_TIME:
        line = changing.sub(fixed, line)
    return line
