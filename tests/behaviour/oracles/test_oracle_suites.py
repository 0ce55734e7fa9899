"""Our own oracles do what third parties' must."""

from __future__ import annotations

from typing import ClassVar

from pytest_agentbench.model.task import FileTree, JsonValue
from pytest_agentbench.oracles.answer import AnswerOracle
from pytest_agentbench.oracles.files import FilesOracle
from pytest_agentbench.oracles.pytest_tests import PytestOracle
from pytest_agentbench.oracles.run import RunOracle
from pytest_agentbench.testing import OracleSuite
from pytest_agentbench.testing.host import Files


class TestRun(OracleSuite):
    """A command."""

    oracle_class = RunOracle
    expectation = "python app.py | grep -q 42"
    right: ClassVar[Files] = {"app.py": "print(42)\n"}
    wrong: ClassVar[Files] = {"app.py": "print(43)\n"}
    hang: ClassVar[Files | None] = {"app.py": "import time\ntime.sleep(600)\n"}


class TestFiles(OracleSuite):
    """Files."""

    oracle_class = FilesOracle
    stages = False
    expectation: ClassVar[JsonValue | FileTree] = {"out.txt": {"equals": "42\n"}}
    right: ClassVar[Files] = {"out.txt": "42\n"}
    wrong: ClassVar[Files] = {"out.txt": "43\n"}


class TestHiddenTests(OracleSuite):
    """Hidden tests."""

    oracle_class = PytestOracle
    expectation = FileTree(
        files={"test_it.py": "import app\n\n\ndef test_it():\n    assert app.answer() == 42\n"}
    )
    right: ClassVar[Files] = {"app.py": "def answer():\n    return 42\n"}
    wrong: ClassVar[Files] = {"app.py": "def answer():\n    return 43\n"}
    hang: ClassVar[Files | None] = {
        "app.py": "import time\n\n\ndef answer():\n    time.sleep(600)\n"
    }


class TestAnswer(OracleSuite):
    """Words."""

    oracle_class = AnswerOracle
    stages = False
    expectation: ClassVar[JsonValue | FileTree] = {"number": 42}
    right_words = "It is 42."
    wrong_words = "It is 43."
