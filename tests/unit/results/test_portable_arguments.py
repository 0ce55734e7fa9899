from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.redaction import Redactor
from pytest_agentbench.results.manifest import portable_arguments

ROOT = Path("/home/ann/code/shop")
HOME = Path("/home/ann")


def portable(*arguments: str, home: Path = HOME) -> list[str]:
    redactor = Redactor(["sk-secret-secret"])
    return portable_arguments(arguments, rootdir=ROOT, home=home, redactor=redactor)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("tasks/", "tasks/"),
        ("-n4", "-n4"),
        ("/home/ann/code/shop", "."),
        ("/home/ann/code/shop/tasks/fix.yaml::fix[x-r1]", "tasks/fix.yaml::fix[x-r1]"),
        ("--agentbench-results=/home/ann/code/shop/out", "--agentbench-results=./out"),
        ("--junitxml=/home/ann/out.xml", "--junitxml=~/out.xml"),
        ("-c/home/ann/pytest.ini", "-c~/pytest.ini"),
        ("/home/anna/tasks", "/home/anna/tasks"),
        ("/home/ann/code/shop2/tasks", "~/code/shop2/tasks"),
        ("/srv/home/ann/x", "/srv/home/ann/x"),
        ("../sibling", "../sibling"),
        ("--set=env.KEY=sk-secret-secret", "--set=env.KEY=[redacted]"),
    ],
)
def test_arguments_name_neither_person_nor_secret(given: str, stored: str) -> None:
    """The root directory becomes ".", the home "~", a secret its mark; the rest stays."""
    assert portable(given) == [stored]


def test_a_home_of_slash_replaces_nothing() -> None:
    """Where HOME is the root of the file system, paths stay what they are."""
    assert portable("/srv/x", "/", home=Path("/")) == ["/srv/x", "/"]
