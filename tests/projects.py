"""Small projects for tests that drive pytest as its users do.

Two tasks at the least: with one, a harness that scores every trial against the
first task's oracle looks green.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ADD = """\
description: Addition in a module.
tags: [smoke, python]
prompt: |
  add() in calc.py must add its two arguments.
workspace:
  files:
    calc.py: |
      def add(a, b):
          return a - b
oracles:
  - pytest:
      files:
        test_calc.py: |
          import calc

          def test_adds():
              assert calc.add(2, 3) == 5

          def test_adds_negative_numbers():
              assert calc.add(-2, 2) == 0
    name: hidden-tests
solution:
  files:
    calc.py: |
      def add(a, b):
          return a + b
"""

GREET = """\
id: greet
tags: [smoke]
prompt: Write "hello" and a line feed to greeting.txt.
workspace:
  files: {README.md: "greetings\\n"}
oracles:
  - files:
      greeting.txt: {equals: "hello\\n"}
  - run: grep -q greetings README.md
    name: readme-kept
solution:
  files: {greeting.txt: "hello\\n"}
"""


@dataclass(frozen=True)
class Project:
    """A directory with tasks, and pytest run in it."""

    pytester: pytest.Pytester

    def write(self, name: str, text: str) -> Path:
        """Write a file below the root directory."""
        path = self.pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def script(self, **tasks: str) -> None:
        """Write the experiment: one variant ``bot`` that plays steps (YAML), by task."""
        lines = "".join(f"        {name}: {steps}\n" for name, steps in tasks.items())
        self.write(
            "agentbench.yaml",
            "variants:\n  bot:\n    agent: scripted\n    options:\n      tasks:\n" + lines,
        )

    def run(self, *args: str) -> pytest.RunResult:
        """Run pytest in a process of its own."""
        return self.pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)

    @property
    def latest(self) -> Path:
        """The newest run's directory."""
        return self.pytester.path / ".agentbench" / "latest"

    def records(self) -> dict[str, dict[str, Any]]:
        """The newest run's records by trial key."""
        lines = (self.latest / "records.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        assert len({row["key"] for row in rows}) == len(rows), "one record a trial"
        return {row["key"]: row for row in rows}

    def junit(self, name: str = "junit.xml") -> dict[str, ET.Element]:
        """The test cases of a JUnit file by name."""
        tree = ET.parse(self.pytester.path / name)
        cases = list(tree.iter("testcase"))
        assert len({case.get("name") for case in cases}) == len(cases), "names are unique"
        return {str(case.get("name")): case for case in cases}


def properties(case: ET.Element) -> dict[str, str]:
    """The properties of a test case."""
    return {str(one.get("name")): str(one.get("value")) for one in case.iter("property")}
