"""What readers of JUnit files make of one: their rules, as far as they differ.

Each takes the root element and gives what its users see. They know nothing of ours.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

FAILED, ERROR, SKIPPED, PASSED = "failed", "error", "skipped", "passed"


@dataclass(frozen=True, slots=True)
class Annotation:
    """A remark at a line of a file."""

    path: str
    line: int
    title: str


class DatadogTest(NamedTuple):
    """A test as Datadog lists it."""

    suite: str
    name: str
    status: str
    tags: dict[str, str]


def status(case: ET.Element) -> str:
    """What nearly all readers agree on; of a failure and an error, the failure."""
    for tag, word in (("failure", FAILED), ("error", ERROR), ("skipped", SKIPPED)):
        if case.find(tag) is not None:
            return word
    return PASSED


def cases(root: ET.Element) -> Iterator[ET.Element]:
    """All test cases, however deep their suites are."""
    return root.iter("testcase")


def dorny(root: ET.Element) -> dict[str, dict[str, str]]:
    """dorny/test-reporter: by class name; an error is a failure; no properties."""
    groups: dict[str, dict[str, str]] = {}
    for case in cases(root):
        told = status(case)
        group = groups.setdefault(case.get("classname", ""), {})
        group[case.get("name", "")] = FAILED if told == ERROR else told
    return groups


def gitlab(root: ET.Element) -> dict[str, str]:
    """GitLab: of several cases of one name only the first is there."""
    seen: dict[str, str] = {}
    for case in cases(root):
        seen.setdefault(case.get("name", ""), status(case))
    return seen


def jenkins(root: ET.Element) -> dict[tuple[str, str], dict[str, str]]:
    """Jenkins: what stands before the last dot of a class name is a package."""
    tree: dict[tuple[str, str], dict[str, str]] = {}
    for case in cases(root):
        package, _, name = case.get("classname", "").rpartition(".")
        told = status(case)
        tree.setdefault((package or "(root)", name), {})[case.get("name", "")] = (
            FAILED if told == ERROR else told
        )
    return tree


def circleci(root: ET.Element) -> dict[str, float]:
    """CircleCI: seconds by file, by which it divides tests; a case without one is lost."""
    files: dict[str, float] = {}
    for case in cases(root):
        file = case.get("file")
        if file:
            files[file] = files.get(file, 0.0) + float(case.get("time", "0"))
    return files


def buildkite(root: ET.Element) -> dict[tuple[str, str], list[str]]:
    """Buildkite: scope and name are a test; each further case is one more run of it."""
    runs: dict[tuple[str, str], list[str]] = {}
    for case in cases(root):
        scope, name = case.get("classname"), case.get("name")
        if scope and name:
            runs.setdefault((scope, name), []).append(status(case))
    return runs


def datadog(root: ET.Element) -> list[DatadogTest]:
    """Datadog: of properties, those named ``dd_tags[...]``."""
    found = []
    for suite in root.iter("testsuite"):
        for case in suite.findall("testcase"):
            tags = {
                name[len("dd_tags[") : -1]: one.get("value", "")
                for one in case.iter("property")
                if (name := one.get("name", "")).startswith("dd_tags[")
            }
            scope = case.get("classname", suite.get("name", ""))
            found.append(DatadogTest(scope, case.get("name", ""), status(case), tags))
    return found


def mikepenz(root: ET.Element) -> list[Annotation]:
    """mikepenz/action-junit-report: a remark for each failure, where file and line allow it."""
    found = []
    for case in cases(root):
        line = int(case.get("line", "0"))
        if status(case) in (FAILED, ERROR) and case.get("file") and line != 0:
            found.append(Annotation(case.get("file", ""), line, case.get("name", "")))
    return found


def totals(root: ET.Element) -> dict[str, int]:
    """What the test suites say of themselves."""
    keys = ("tests", "failures", "errors", "skipped")
    return {key: sum(int(one.get(key, "0")) for one in root.iter("testsuite")) for key in keys}


def without_extensions(root: ET.Element) -> ET.Element:
    """The file as far as Jenkins' schema goes: it knows no properties, files and lines of cases."""
    copy = ET.fromstring(ET.tostring(root))
    for case in copy.iter("testcase"):
        for holder in case.findall("properties"):
            case.remove(holder)
        for attribute in ("file", "line"):
            case.attrib.pop(attribute, None)
    return copy
