from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from behaviour.oracles.bench import NOTHING, Bench, Files, tree

from pytest_agentbench.errors import OracleError
from pytest_agentbench.model.task import FileTree, SandboxSpec
from pytest_agentbench.model.verdict import OracleResult

approx: Any = pytest.approx  # its type does not fit into a tuple that is compared

# Two tasks, so that a mix-up of workspaces or oracles would show.
PAGES_TESTS = {
    "test_pages.py": """\
from shop.pages import paginate
from cases import CASES

def test_last_page():
    assert paginate([1, 2, 3], 2) == [[1, 2], [3]]

def test_cases():
    for items, size, pages in CASES:
        assert paginate(items, size) == pages
""",
    "cases.py": "CASES = [([], 2, []), ([1], 1, [[1]])]\n",
}
PAGES_RIGHT = {
    "shop/__init__.py": "",
    "shop/pages.py": "def paginate(items, size):\n"
    "    return [items[at:at + size] for at in range(0, len(items), size)]\n",
}
PAGES_WRONG = {
    "shop/__init__.py": "",
    "shop/pages.py": "def paginate(items, size):\n"
    "    return [items[at:at + size] for at in range(0, len(items) - 1, size)]\n",
}
HEAT_TESTS = {
    "unit/heat_test.py": """\
import heat

class TestHeat:
    def test_boiling(self):
        assert heat.to_celsius(212) == 100
""",
}
HEAT_RIGHT = {"heat.py": "def to_celsius(f):\n    return (f - 32) * 5 / 9\n"}

TASKS = pytest.mark.parametrize(
    ("tests", "right", "size"),
    [(PAGES_TESTS, PAGES_RIGHT, 2), (HEAT_TESTS, HEAT_RIGHT, 1)],
    ids=["pages", "heat"],
)


def told(result: OracleResult) -> tuple[bool, float, str]:
    return result.passed, result.score, result.reason


def judge(
    bench: Bench,
    tests: Files,
    left: Files = NOTHING,
    *,
    template: Files = NOTHING,
    solution: Files | None = None,
    timeout_s: float = 60.0,
) -> OracleResult:
    return bench.judge(
        "pytest", tree(tests), left, template=template, solution=solution, timeout_s=timeout_s
    )


@TASKS
@pytest.mark.parametrize("has_solution", [True, False], ids=["solved", "source"])
def test_a_right_answer_passes(
    bench: Bench,
    tests: Files,
    right: Files,
    size: int,
    has_solution: bool,  # noqa: FBT001
) -> None:
    """Expected tests come from the solution or from the source; a right answer passes both."""
    result = judge(bench, tests, right, solution=right if has_solution else None)
    noun = "test" if size == 1 else "tests"
    assert told(result) == (True, 1.0, f"{size} of {size} {noun} passed")
    assert result.details["exit_code"] == 0
    assert f"{size} passed" in result.output


def test_a_wrong_answer_fails(bench: Bench) -> None:
    """The failed tests are named, with the assertion's first line."""
    result = judge(bench, PAGES_TESTS, PAGES_WRONG, solution=PAGES_RIGHT)
    assert (result.passed, result.score) == (False, 0.0)
    assert result.reason.startswith(
        "2 of 2 tests failed: test_pages.py::test_last_page (assert [[1, 2]] == [[1, 2], [3]])"
    )


@TASKS
def test_nothing_done_fails(bench: Bench, tests: Files, right: Files, size: int) -> None:
    """Where the template lacks what the tests import, no test reports, and none passes."""
    result = judge(bench, tests, solution=right)
    assert (result.passed, result.score) == (False, 0.0)
    what = "test" if size == 1 else "tests"
    assert result.reason.startswith(f"{size} of {size} expected {what} did not report; ")
    assert "could not be collected: ModuleNotFoundError: No module named" in result.reason


def test_the_other_tasks_answer_fails(bench: Bench) -> None:
    """A right answer to another task is a wrong one."""
    assert not judge(bench, PAGES_TESTS, HEAT_RIGHT).passed
    assert not judge(bench, HEAT_TESTS, PAGES_RIGHT).passed


def test_one_file_that_cannot_be_imported_leaves_the_others_their_scores(bench: Bench) -> None:
    """Half of the answer is half of the score."""
    tests = {**HEAT_TESTS, **PAGES_TESTS}
    solution = {**HEAT_RIGHT, **PAGES_RIGHT}
    result = judge(bench, tests, PAGES_RIGHT, solution=solution)
    assert told(result) == (
        False,
        approx(2 / 3),
        (
            "1 of 3 expected tests did not report; unit/heat_test.py could not be collected: "
            "ModuleNotFoundError: No module named 'heat'"
        ),
    )


MARK = "import pathlib; pathlib.Path('PLANTED').write_text('x')\n"
HOOKS = """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome = "passed"
"""
PLANTED = {
    "conftest.py": HOOKS,
    "shop/conftest.py": HOOKS,
    "tests/conftest.py": HOOKS,
    "pytest.ini": "[pytest]\naddopts = --collect-only\npython_files = none.py\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k nothing'\n",
    "tox.ini": "[pytest]\naddopts = --co\n",
    "setup.cfg": "[tool:pytest]\naddopts = --co\n",
    "sitecustomize.py": MARK,
    "usercustomize.py": MARK,
    "pytest.py": MARK,
    "_pytest/__init__.py": MARK,
    "pluggy/__init__.py": MARK,
    "json.py": MARK,
    "datetime.py": MARK,
    "xml/__init__.py": MARK,
    "os.py": MARK,
    "cases.py": MARK + "CASES = []\n",
    "bootstrap.py": MARK,
    "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
    "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
    "evil.py": MARK + HOOKS,
    ".pth": "import evil\n",
    "test_pages.py": "def test_last_page(): pass\ndef test_cases(): pass\n",
}


def test_planted_files_decide_nothing(bench: Bench) -> None:
    """Conftest and ini files, start-up code, plugins and shadowing modules have no effect."""
    wrong = judge(bench, PAGES_TESTS, {**PAGES_WRONG, **PLANTED})
    assert (wrong.passed, wrong.score) == (False, 0.0)
    assert wrong.reason.startswith("2 of 2 tests failed: test_pages.py::test_last_page (assert")
    assert "PLANTED" not in wrong.output
    right = judge(bench, PAGES_TESTS, {**PAGES_RIGHT, **PLANTED})
    assert told(right) == (True, 1.0, "2 of 2 tests passed")


def test_planted_modules_are_not_even_imported(bench: Bench) -> None:
    """A module that shadows would have left its mark, also where the task sets PYTHONPATH."""
    tests = {
        "test_mark.py": "import pathlib, json, datetime, xml\n"
        "def test_unmarked():\n    assert not pathlib.Path('PLANTED').exists()\n"
    }
    bench.sandbox_spec = SandboxSpec(env={"PYTHONPATH": ".", "PYTEST_ADDOPTS": "--co"})
    assert judge(bench, tests, PLANTED).passed


def test_configuration_beside_the_hidden_tests_is_not_read(bench: Bench) -> None:
    """There is one configuration, ours; the oracle's conftest can do what an ini file would."""
    own = {"pytest.ini": "[pytest]\naddopts = --collect-only\n", "tox.ini": "[pytest]\n"}
    assert judge(bench, {**SHOP_TESTS, **own}, SHOP_RIGHT).passed


def test_honest_tests_of_the_agent_do_no_harm(bench: Bench) -> None:
    """A good answer with its own conftest, configuration and failing tests still passes."""
    own = {
        "conftest.py": "import pytest\n@pytest.fixture\ndef basket():\n    return []\n",
        "pytest.ini": "[pytest]\nminversion = 99\n",
        "tests/test_mine.py": "def test_mine(): assert False\n",
        "tests/__init__.py": "",
    }
    assert judge(bench, PAGES_TESTS, {**PAGES_RIGHT, **own}).passed


SHOP_TESTS = {"test_shop.py": "import shop\ndef test_one(): assert shop.price() == 1\n"
              "def test_two(): assert shop.price() == 1\n"}  # fmt: skip
SHOP_RIGHT = {"shop.py": "def price(): return 1\n"}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "import os; os._exit(0)",
            "2 of 2 expected tests did not report; the process exited with 0 in the middle",
        ),
        (
            "import sys; sys.exit(0)",
            "2 of 2 expected tests did not report; pytest ended with status 3",
        ),
        (
            "def price():\n    import os\n    os._exit(0)",
            "2 of 2 expected tests did not report; the process exited with 0 in the middle",
        ),
        (
            "def price():\n    import sys\n    sys.exit(0)",
            (
                "2 of 2 tests failed: test_shop.py::test_one (SystemExit: 0), "
                "test_shop.py::test_two (SystemExit: 0)"
            ),
        ),
        (
            "import pytest; pytest.skip('no', allow_module_level=True)",
            "2 of 2 expected tests did not report; pytest ended with status 5",
        ),
        (
            "def price():\n    import pytest\n    pytest.skip('no need')",
            (
                "2 of 2 tests skipped while running: test_shop.py::test_one (no need), "
                "test_shop.py::test_two (no need)"
            ),
        ),
        (
            "def price():\n    import pytest\n    pytest.xfail('known')",
            (
                "2 of 2 tests xfailed while running: test_shop.py::test_one (known), "
                "test_shop.py::test_two (known)"
            ),
        ),
        (
            "def price():\n    import pytest\n    pytest.exit('done', 0)",
            "2 of 2 expected tests did not report; pytest ended with status 0",
        ),
        (
            "def price():\n    raise KeyboardInterrupt",
            "2 of 2 expected tests did not report; pytest ended with status 2",
        ),
    ],
)
def test_ways_out(bench: Bench, code: str, reason: str) -> None:
    """Exits, skips and expected failures from tested code pass nothing, and are no errors."""
    result = judge(bench, SHOP_TESTS, {"shop.py": code})
    assert told(result) == (False, 0.0, reason)


def test_what_the_tested_code_does_at_exit_does_not_count(bench: Bench) -> None:
    """Exit handlers and threads that never end do not undo what was reported."""
    code = "import atexit, threading, time\n"
    code += (
        "atexit.register(time.sleep, 60)\nthreading.Thread(target=time.sleep, args=[60]).start()\n"
    )
    result = judge(bench, SHOP_TESTS, {"shop.py": SHOP_RIGHT["shop.py"] + code}, timeout_s=30)
    assert told(result) == (True, 1.0, "2 of 2 tests passed")
    assert result.duration_s < 20


def test_closing_the_report_passes_nothing(bench: Bench) -> None:
    """Tested code that closes every descriptor silences its own tests."""
    code = "import os\ndef price():\n    os.closerange(3, 256)\n    return 1\n"
    assert not judge(bench, SHOP_TESTS, {"shop.py": code}).passed


def test_dying_in_the_middle_keeps_what_was_reported(bench: Bench) -> None:
    """Tests that reported before the process died keep their scores."""
    code = "import os\ncalls = []\ndef price():\n    calls.append(1)\n"
    code += "    return 1 if len(calls) == 1 else os.kill(os.getpid(), 9)\n"
    result = judge(bench, SHOP_TESTS, {"shop.py": code})
    assert (result.passed, result.score) == (False, 0.5)
    assert result.reason.startswith(
        "1 of 2 expected tests did not report; the process was killed by SIGKILL"
    )


@pytest.mark.parametrize(
    "code", ["while True: pass", "def price():\n    while True: pass"], ids=["import", "call"]
)
def test_a_hang_has_failed(bench: Bench, code: str) -> None:
    """Out of time after the agent's code may have run is a wrong answer, not an error."""
    result = judge(bench, SHOP_TESTS, {"shop.py": code}, timeout_s=4)
    assert told(result) == (
        False,
        0.0,
        "2 of 2 expected tests did not report; the process ran out of time (4 s) in the middle",
    )


MARKED = {
    "test_marked.py": """\
import sys, unittest
import pytest
import shop

@pytest.mark.skip(reason="later")
def test_skipped(): assert False

@pytest.mark.skipif(sys.version_info > (3,), reason="old")
def test_skipped_if(): assert False

@pytest.mark.skipif("shop.price() == 1", reason="text")
def test_skipped_by_text(): assert False

@pytest.mark.xfail
def test_known(): assert shop.price() == 2

@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.skip), 3])
def test_n(n): assert shop.price() == 1

class Old(unittest.TestCase):
    @unittest.skip("never")
    def test_old(self): self.fail()

    @unittest.expectedFailure
    def test_wrong(self): self.fail()

    def test_right(self): self.assertEqual(shop.price(), 1)
"""
}


def test_marks_are_listed_with_the_solution(bench: Bench) -> None:
    """Collected with the solution, each test is listed with what its own marks say."""
    assert bench.expected(MARKED, solution=SHOP_RIGHT) == {
        "test_marked.py::test_skipped": "skip",
        "test_marked.py::test_skipped_if": "skip",
        "test_marked.py::test_skipped_by_text": "skip",
        "test_marked.py::test_known": "xfail",
        "test_marked.py::test_n[1]": "run",
        "test_marked.py::test_n[2]": "skip",
        "test_marked.py::test_n[3]": "run",
        "test_marked.py::Old::test_old": "skip",
        "test_marked.py::Old::test_right": "run",
        "test_marked.py::Old::test_wrong": "xfail",
    }


def test_marked_tests_are_counted_as_what_they_are(bench: Bench) -> None:
    """Skipped and xfailed by their own marks: left out. All others must pass."""
    right = judge(bench, MARKED, SHOP_RIGHT, solution=SHOP_RIGHT)
    assert told(right) == (True, 1.0, "3 of 3 tests passed, 7 left out by their own marks")
    wrong = judge(bench, MARKED, {"shop.py": "def price(): return 3\n"}, solution=SHOP_RIGHT)
    assert (wrong.passed, wrong.score) == (False, 0.0)
    # The one that is skipped by a text ran this time, and failed, so it counts.
    assert wrong.reason.startswith("4 of 4 tests failed: ")


def test_an_unexpected_pass(bench: Bench) -> None:
    """An xfail that passes counts as passed; a strict one as failed."""
    tests = {
        "test_x.py": "import pytest, shop\n"
        "@pytest.mark.xfail\ndef test_loose(): assert shop.price() == 2\n"
        "@pytest.mark.xfail(strict=True, reason='known')\n"
        "def test_strict(): assert shop.price() == 2\n"
    }
    result = judge(bench, tests, {"shop.py": "def price(): return 2\n"}, solution=SHOP_RIGHT)
    assert told(result) == (
        False,
        0.5,
        "1 of 2 tests failed: test_x.py::test_strict ([XPASS(strict)] known)",
    )


def test_errors_of_fixtures_have_failed(bench: Bench) -> None:
    """A fixture that fails before or after a test fails the test."""
    tests = {
        "conftest.py": "import pytest, shop\n"
        "@pytest.fixture\ndef before():\n    shop.price()\n"
        "@pytest.fixture\ndef after():\n    yield\n    shop.price()\n",
        "test_f.py": "def test_a(before): pass\ndef test_b(after): pass\ndef test_c(): pass\n",
    }
    code = {"shop.py": "def price():\n    raise ValueError('no price')\n"}
    result = judge(bench, tests, code, solution=SHOP_RIGHT)
    assert told(result) == (
        False,
        approx(1 / 3),
        (
            "2 of 3 tests failed: test_f.py::test_a (ValueError: no price), "
            "test_f.py::test_b (ValueError: no price)"
        ),
    )
    assert judge(bench, tests, SHOP_RIGHT, solution=SHOP_RIGHT).passed


def test_parametrized_tests_from_source(bench: Bench) -> None:
    """Without a solution, a parametrized function needs all of its parameters to pass."""
    tests = {
        "test_n.py": "import pytest, shop\n@pytest.mark.parametrize('n', shop.NUMBERS)\n"
        "def test_n(n): assert n < 3\n"
    }
    assert bench.expected(tests) == {"test_n.py::test_n": "run", "*": "run"}
    assert judge(bench, tests, {"shop.py": "NUMBERS = [1, 2]"}).passed
    assert not judge(bench, tests, {"shop.py": "NUMBERS = [1, 3]"}).passed
    # pytest skips a function without parameters: nothing said that it passed.
    assert not judge(bench, tests, {"shop.py": "NUMBERS = []"}).passed


def test_inherited_tests_count_from_source_too(bench: Bench) -> None:
    """What the source does not show counts when it reports."""
    tests = {
        "base.py": "import shop\nclass Base:\n    def test_price(self): assert shop.price() == 1\n",
        "test_i.py": "from base import Base\nclass TestIt(Base): pass\ndef test_other(): pass\n",
    }
    assert bench.expected(tests) == {"test_i.py::test_other": "run", "*": "run"}
    assert judge(bench, tests, SHOP_RIGHT).reason == "2 of 2 tests passed"
    assert judge(bench, tests, {"shop.py": "def price(): return 2\n"}).score == 0.5


def test_data_helpers_and_packages_beside_the_tests(bench: Bench) -> None:
    """Tests find their helpers by name or relatively, their data, fixtures and tmp_path."""
    tests = {
        "conftest.py": "import pytest\n@pytest.fixture\ndef top(): return 'top'\n",
        "data/words.txt": "one two\n",
        "pkg/__init__.py": "",
        "pkg/tools.py": "VALUE = 5\n",
        "pkg/test_in_package.py": "from .tools import VALUE\nfrom pkg.tools import VALUE as V\n"
        "def test_relative(top): assert (VALUE, V, top) == (5, 5, 'top')\n",
        "sub/near.py": "HERE = 'sub'\n",
        "sub/test_near.py": "from near import HERE\ndef test_near(): assert HERE == 'sub'\n",
        "test_data.py": "import pathlib\n"
        "def test_data(tmp_path, capsys, monkeypatch):\n"
        "    words = pathlib.Path(__file__).parent / 'data' / 'words.txt'\n"
        "    (tmp_path / 'copy').write_text(words.read_text())\n"
        "    assert (tmp_path / 'copy').read_text() == 'one two\\n'\n"
        "    assert pathlib.Path('mine.txt').read_text() == 'mine'\n",
    }
    result = judge(bench, tests, {"mine.txt": "mine", "near.py": "HERE = 'workspace'\n"})
    assert told(result) == (True, 1.0, "3 of 3 tests passed")


def test_assets_are_at_oracle(bench: Bench) -> None:
    """``ORACLE`` names the directory of the assets."""
    tests = {
        "test_a.py": "import os, pathlib\ndef test_a():\n"
        "    want = pathlib.Path(os.environ['ORACLE'], 'want.txt').read_text()\n"
        "    assert pathlib.Path('out').read_text() == want\n"
    }
    assets = FileTree(files={"want.txt": "42"})
    assert bench.judge("pytest", tree(tests), {"out": "42"}, assets=assets).passed
    assert not bench.judge("pytest", tree(tests), {"out": "41"}, assets=assets).passed


def test_the_tests_leave_no_bytecode_in_the_workspace(bench: Bench) -> None:
    """What the agent left stays as it is: no caches are written by testing it."""
    tests = {
        "test_b.py": "import pathlib, shop\ndef test_b():\n"
        "    assert not list(pathlib.Path().rglob('__pycache__'))\n"
        "    assert not list(pathlib.Path(__file__).parent.rglob('__pycache__'))\n"
        "    assert not pathlib.Path('.pytest_cache').exists()\n"
    }
    assert judge(bench, tests, SHOP_RIGHT).passed


def test_subtests_of_unittest_count_for_their_test(bench: Bench) -> None:
    """A failing subtest fails its test, and passing ones are not enough when the process dies."""
    tests = {
        "test_s.py": "import unittest, shop\nclass S(unittest.TestCase):\n"
        "    def test_s(self):\n        for n in range(3):\n            with self.subTest(n=n):\n"
        "                self.assertEqual(shop.price(n), 1)\n"
    }
    right = {"shop.py": "def price(n): return 1\n"}
    assert judge(bench, tests, right).passed
    one_wrong = {"shop.py": "def price(n): return 1 if n != 1 else 2\n"}
    assert not judge(bench, tests, one_wrong).passed
    dies = {"shop.py": "import os\ndef price(n): return 1 if n < 2 else os._exit(0)\n"}
    assert not judge(bench, tests, dies).passed


def test_a_deleted_module_has_failed(bench: Bench) -> None:
    """What the agent deleted from the template is missing in scoring."""
    bench.before = "rm -r shop"
    result = judge(bench, PAGES_TESTS, template=PAGES_RIGHT, solution={})
    assert (result.passed, result.score) == (False, 0.0)


def test_output_that_floods_or_is_no_text(bench: Bench) -> None:
    """Megabytes of output and control characters change nothing but what is kept."""
    code = "import os\nos.write(1, b'\\xff\\x1b[2J' * 1_000_000)\ndef price(): return 1\n"
    result = judge(bench, SHOP_TESTS, {"shop.py": code})
    assert result.passed
    assert len(result.output) < 200_000
    bad = "def price(): raise ValueError('\\x1b[31m\\ud800' + 'z' * 5_000_000)\n"
    result = judge(bench, SHOP_TESTS, {"shop.py": bad})
    assert result.reason.startswith(
        "2 of 2 tests failed: test_shop.py::test_one (ValueError: \\x1b"
    )
    assert len(result.reason) <= 300


@pytest.mark.parametrize(
    ("tests", "solution", "message"),
    [
        (SHOP_TESTS, {}, ("cannot be collected even with the solution applied: test_shop.py: "
         "ModuleNotFoundError: No module named 'shop'")),
        ({"test_a.py": "def helper(): pass\n"}, {}, "holds no test (pytest ended with status 5)"),
        ({"test_a.py": "def helper(): pass\n"}, None, "holds no test that its source shows"),
        ({"test_a.py": "def test_a(:\n"}, None, "is no Python: test_a.py, line 1: "),
        ({"test_a.py": "import os; os._exit(0)\ndef test_a(): ...\n"}, {},
         "cannot be collected: the process exited with 0"),
    ],
)  # fmt: skip
def test_faults_of_the_author_are_errors_before_any_agent(
    bench: Bench, tests: Files, solution: Files | None, message: str
) -> None:
    """What cannot be listed is an oracle error that says where and why."""
    with pytest.raises(OracleError) as caught:
        bench.expected(tests, solution=solution)
    assert str(caught.value).startswith(f"task.yaml:3: oracle 'hidden' {message}")


@pytest.mark.parametrize(
    "disguise", [{"python": "/no/such/python"}, {"python": "/bin/true"}, {"python": "/bin/false"}]
)
@pytest.mark.parametrize("solution", [SHOP_RIGHT, None], ids=["rehearsal", "check"])
def test_an_interpreter_that_does_not_start_is_an_error(
    bench: Bench, disguise: dict[str, str], solution: Files | None
) -> None:
    """Where pytest never started, nothing of the agent's ran and nothing was measured."""
    bench.disguise = disguise
    with pytest.raises(OracleError, match="could not start pytest: "):
        judge(bench, SHOP_TESTS, SHOP_RIGHT, solution=solution)


def test_a_sandbox_without_pytest_is_an_error(walled: Bench) -> None:
    """Where pytest cannot be imported, the error says so in the interpreter's own words."""
    walled.disguise = {"pytest_path": "/nowhere"}
    with pytest.raises(OracleError) as caught:
        judge(walled, SHOP_TESTS, SHOP_RIGHT)
    assert str(caught.value) == (
        "task.yaml:3: oracle 'hidden' could not start pytest: exited with 1; "
        "ModuleNotFoundError: No module named 'pytest'. "
        "Try: check sandbox.python, and that it can import pytest"
    )


def test_an_interpreter_in_the_workspace_is_the_agents(bench: Bench) -> None:
    """An interpreter that the agent can break turns no failure into an error."""
    bench.disguise = {"python": "{workspace}/.venv/bin/python"}
    result = judge(bench, SHOP_TESTS, SHOP_RIGHT)
    assert (result.passed, result.score) == (False, 0.0)


def interpreter(version: str) -> Path:
    """The real path of another Python; what stands on PATH may be a script that chooses one."""
    found = shutil.which(f"python{version}")
    if found is None:
        pytest.skip(f"no python{version} on PATH")
    ask = [found, "-c", "import os, sys; print(os.path.realpath(sys.executable))"]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"python{version} does not start: {done.stderr.strip()}")
    return Path(done.stdout.strip())


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_other_interpreters_run_the_tests(bench: Bench, version: str) -> None:
    """The tests run under the interpreter that the task names, not under ours."""
    python = interpreter(version)
    tests = {
        "test_v.py": "import sys, shop\ndef test_v():\n"
        f"    assert '%d.%d' % sys.version_info[:2] == '{version}'\n"
    }
    judged = bench.with_(sandbox_spec=SandboxSpec(python=python))
    assert told(judge(judged, tests, SHOP_RIGHT)) == (True, 1.0, "1 of 1 test passed")
