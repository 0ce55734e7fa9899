"""Functions of the user's as agent and as oracle, through pytest."""

from __future__ import annotations

import pytest

from projects import Project
from requirements import require

AGENT = """\
import re


async def solve(context):
    word = re.search('"(.*?)"', context.prompt).group(1)
    (context.workspace / "out.txt").write_text(word * context.options.get("times", 1))
    context.report_usage(input_tokens=len(context.prompt), turns=1)
    context.use_tool("write")
    return f"Wrote {word}."
"""

ORACLE = """\
import subprocess
import sys


def judge(context):
    want = (context.assets / "want.txt").read_text()
    found = (context.workspace / "out.txt").read_text()
    return found == want, f"found {found!r}; {context.final_message}"
"""

TASK = """\
prompt: Write "{word}" to out.txt.
workspace: {{files: {{notes.txt: ""}}}}
oracles:
  - python: checks:judge
    assets: {{copy: checks, files: {{want.txt: {word}}}}}
solution: {{files: {{out.txt: {word}}}}}
"""

VARIANTS = """\
variants:
  once: {agent: python, options: {call: "agents.mine:solve"}}
  twice: {agent: python, options: {call: "agents.mine:solve", options: {times: 2}}}
"""


@pytest.fixture(params=["local", "bubblewrap"])
def walls(request: pytest.FixtureRequest) -> str:
    """Arguments that choose the sandbox."""
    if request.param == "bubblewrap":
        require("bubblewrap")
    return f"--agentbench-sandbox={request.param}"


@pytest.fixture
def words(pytester: pytest.Pytester) -> Project:
    """Two tasks that a function judges, and an agent that is a function."""
    made = Project(pytester)
    made.write("pytest.ini", "[pytest]\n")
    for word in ("ham", "egg"):
        made.write(f"tasks/{word}.yaml", TASK.format(word=word))
    made.write("tasks/checks/checks.py", ORACLE)
    made.write("agents/mine.py", AGENT)
    made.write("agentbench.yaml", VARIANTS)
    return made


def test_functions_solve_and_judge(words: Project, walls: str, workers: tuple[str, ...]) -> None:
    """The right variant passes, the wrong one fails, and both are measured."""
    words.run(walls, *workers).assert_outcomes(passed=2, failed=2)
    records = words.records()
    for word in ("ham", "egg"):
        good, bad = records[f"{word}[once-r1]"], records[f"{word}[twice-r1]"]
        assert (good["outcome"], good["score"]) == ("passed", 1.0)
        assert (bad["outcome"], bad["reason"], bad["score"]) == ("failed", "oracle", 0.0)
        assert good["oracles"][0]["reason"] == f"found '{word}'; Wrote {word}."
        assert f"found '{word * 2}'; Wrote {word}." in bad["message"]
        usage = good["usage"]
        assert (usage["turns"], usage["output_tokens"], usage["source"]) == (1, None, "agent")
        assert good["agent_run"]["final_message"] == f"Wrote {word}."


def test_other_code_is_another_trial(words: Project) -> None:
    """The agent's own code has a digest: one for all its trials, another when it changes."""

    def digests() -> dict[str, tuple[str, str]]:
        words.run("--agentbench-sandbox=local")
        rows = words.records()
        return {
            key: (row["digests"]["agent_code"], row["digests"]["trial"])
            for key, row in rows.items()
        }

    before = digests()
    assert len({code for code, _ in before.values()}) == 1
    assert digests() == before
    code = words.pytester.path / "agents/mine.py"
    code.write_text(code.read_text() + "# another line\n")
    after = digests()
    for key, (digest, trial) in before.items():
        assert after[key][0] != digest
        assert after[key][1] != trial


def test_the_reference_passes_and_nothing_fails(words: Project, walls: str) -> None:
    """Controls: the solution is accepted, and an empty answer refused."""
    words.write(
        "agentbench.yaml", "variants:\n  reference: {agent: reference}\n  noop: {agent: noop}\n"
    )
    words.run(walls).assert_outcomes(passed=2, failed=2)
    message = words.records()["ham[noop-r1]"]["message"]
    assert "raised FileNotFoundError" in message


BROKEN = {
    "import no_such_package\ndef solve(context): pass\n": (
        "agent_launch",
        (
            "python agent: cannot import agents.v0: ModuleNotFoundError: "
            "No module named 'no_such_package'"
        ),
    ),
    "from math import *\n": (
        "agent_launch",
        "python agent: there is nothing to call at agents.v1:solve",
    ),
    "def other(context): pass\n": ("setup", "there is no function 'solve'; known: other"),
    "def solve(context): raise ValueError('no idea')\n": (
        "agent_crash",
        "exited with 1 and changed nothing: ValueError: no idea",
    ),
    "def solve(context): return 42\n": (
        "agent_crash",
        (
            "TypeError: an agent returns its final message, a str, or None; "
            "agents.v4:solve returned int"
        ),
    ),
}


def test_an_agent_that_does_not_work_is_an_error(words: Project, walls: str) -> None:
    """Nothing was measured, and the record says why."""
    lines = []
    for number, source in enumerate(BROKEN):
        words.write(f"agents/v{number}.py", source)
        lines.append(
            f'  v{number}: {{agent: python, options: {{call: "agents.v{number}:solve"}}}}\n'
        )
    words.write("agentbench.yaml", "variants:\n" + "".join(lines))
    words.run(walls, "tasks/ham.yaml").assert_outcomes(errors=len(BROKEN))
    records = words.records()
    for number, (reason, message) in enumerate(BROKEN.values()):
        record = records[f"ham[v{number}-r1]"]
        assert (record["outcome"], record["reason"]) == ("error", reason)
        assert message in record["message"]


def test_work_of_an_agent_that_raised_is_scored(words: Project) -> None:
    """What it left before it raised is judged all the same."""
    words.write("agents/mine.py", AGENT.replace("return ", "raise ValueError  # "))
    words.write("tasks/checks/checks.py", ORACLE.replace("; {context.final_message}", ""))
    words.run("--agentbench-sandbox=local").assert_outcomes(passed=2, failed=2)


def test_code_that_holds_the_tasks_is_refused(words: Project) -> None:
    """An agent below the tasks would be handed their oracles with its own code."""
    words.write("tasks/mine.py", AGENT)
    words.write(
        "agentbench.yaml", 'variants: {v: {agent: python, options: {call: "tasks.mine:solve"}}}\n'
    )
    words.run("--agentbench-sandbox=local").assert_outcomes(errors=2)
    record = words.records()["ham[v-r1]"]
    assert record["reason"] == "setup"
    assert "would show the agent what belongs to the task" in record["message"]


def test_an_oracle_that_cannot_be_loaded_stops_agents(words: Project, walls: str) -> None:
    """It is found before the agent starts: an error, and no agent ran."""
    words.write("tasks/checks/checks.py", "import no_such_package\n" + ORACLE)
    words.run(walls).assert_outcomes(errors=4)
    record = words.records()["ham[once-r1]"]
    assert record["reason"] == "oracle_error"
    assert "cannot load checks:judge: ModuleNotFoundError" in record["message"]
    assert record["phases"]["agent_s"] is None


def test_an_oracle_is_tried_once_a_task(words: Project) -> None:
    """What the first trial found out is known to the others, and in the next session."""
    marker = words.pytester.path / "seen"
    head = f"with open({str(marker)!r}, 'a') as file: file.write('x')\n"
    words.write("tasks/checks/checks.py", head + ORACLE)
    words.run("--agentbench-sandbox=local").assert_outcomes(passed=2, failed=2)
    # Two tasks tried, four trials judged.
    assert marker.read_text() == "x" * 6
    words.run("--agentbench-sandbox=local").assert_outcomes(passed=2, failed=2)
    assert marker.read_text() == "x" * 10


CRASHES = """\
import sys


def judge(context):
    sys.path.append(str(context.workspace))
    import app
    return app.answer() == 42
"""


DEADLY = (
    "import os; os._exit(0)",
    "raise SystemExit(0)",
    "import time; time.sleep(60)",
    "import os; os.kill(os.getpid(), 9)",
    "import ctypes; ctypes.string_at(0)",
    "x = bytearray(1 << 62)",
)


def test_an_agent_cannot_make_an_error_of_its_failure(
    words: Project, walls: str, workers: tuple[str, ...]
) -> None:
    """Death, hang and exit of its code inside the oracle are its failure."""
    words.write("tasks/checks/checks.py", CRASHES)
    path = words.pytester.path / "tasks/ham.yaml"
    path.write_text(path.read_text().replace("    assets", "    timeout: 3s\n    assets"))
    words.write(
        "agents/mine.py",
        "def solve(context): open('app.py', 'w').write(context.options['app'])\n",
    )
    apps = (*DEADLY, "def answer(): return 42")
    call = '"agents.mine:solve"'
    lines = [
        f"  v{number}: {{agent: python, options: {{call: {call}, options: {{app: '{app}'}}}}}}\n"
        for number, app in enumerate(apps)
    ]
    words.write("agentbench.yaml", "variants:\n" + "".join(lines))
    words.run(walls, *workers, "tasks/ham.yaml").assert_outcomes(passed=1, failed=len(DEADLY))
    reasons = [words.records()[f"ham[v{number}-r1]"]["reason"] for number in range(len(apps))]
    assert reasons == ["oracle"] * len(DEADLY) + [None]


def test_an_entry_that_is_wrong_is_a_collection_error(words: Project) -> None:
    """The message shows the place."""
    words.write(
        "tasks/ham.yaml",
        "prompt: x\n"
        "oracles:\n"
        "  - python: checks\n"
        "  - python: chekcs:judge\n"
        "    assets: {files: {checks.py: 'def judge(context): return 1'}}\n",
    )
    result = words.run("tasks/ham.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*'python' must be module:function, such as checks:judge*",
            "*'python' needs 'assets' beside it: the module lies there*",
            "*there is no module 'chekcs'; did you mean 'checks'?*",
        ]
    )
