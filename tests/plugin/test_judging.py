"""How checks and oracles judge together: what is run, what counts, what is shown."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from projects import Project
from requirements import require

SECRET = "the-answer-is-4711"
"""What an oracle must not give away."""


def task(project: Project, name: str, text: str) -> None:
    """Write a task; the prompt is the same for all."""
    project.write(f"tasks/{name}.yaml", f"prompt: Make a file named done.\n{text}\n")


def variant(project: Project, text: str) -> None:
    """Make ``v`` the only variant, and leave out the tasks that every project has."""
    project.write("agentbench.yaml", f"variants:\n  v:\n{indent(text, '    ')}\n")
    for name in ("add", "greet"):
        (project.pytester.path / f"tasks/{name}.yaml").unlink(missing_ok=True)


def shell(project: Project, command: str) -> None:
    """Make a shell command the only agent."""
    variant(project, f"agent: command\noptions:\n  run: |\n{indent(command, '    ')}")


def oracles(project: Project, name: str) -> dict[str, dict[str, Any]]:
    """A trial's rows of oracles and checks, by name, in their order."""
    return {row["name"]: row for row in project.records()[f"{name}[v-r1]"]["oracles"]}


@pytest.fixture(params=["local", "bubblewrap"])
def walls(request: pytest.FixtureRequest) -> str:
    """Arguments that choose the sandbox."""
    if request.param == "bubblewrap":
        require("bubblewrap")
    return f"--agentbench-sandbox={request.param}"


def test_checks_are_judged_before_oracles_and_marked(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Checks come first, each in a fresh sandbox, and the oracles are judged all the same."""
    shell(project, "touch done")
    for name, status in (("good", 0), ("bad", 4)):
        task(
            project,
            name,
            f"checks: [{{run: touch trace; exit {status}, name: visible}}]\n"
            "oracles: [{run: test -e done && ! test -e trace, name: hidden, weight: 3}]",
        )
    project.run(*workers).assert_outcomes(passed=1, failed=1)
    rows = oracles(project, "bad")
    assert list(rows) == ["visible", "hidden"]
    seen = {name: (row["visible"], row["passed"], row["weight"]) for name, row in rows.items()}
    assert seen == {"visible": (True, False, 0), "hidden": (False, True, 3)}
    assert project.records()["bad[v-r1]"]["reason"] == "check"


def test_what_needs_something_that_failed_is_not_run(project: Project, walls: str) -> None:
    """An oracle with unmet needs is not run, nor one that needs that one; the others are."""
    shell(project, "true")
    task(
        project,
        "needy",
        "checks: [{run: exit 1, name: lint}]\n"
        "oracles:\n"
        "  - {run: 'true', name: free}\n"
        "  - {run: [/no/such/tool], name: b, needs: [free, lint]}\n"
        "  - {run: [/no/such/tool], name: c, needs: [b]}\n",
    )
    task(
        project,
        "served",
        "oracles: [{run: 'true', name: a}, {run: 'true', name: b, needs: [a]}]\n",
    )
    project.run(walls).assert_outcomes(passed=1, failed=1)
    rows = oracles(project, "needy")
    assert {name: (row["ran"], row["passed"], row["score"]) for name, row in rows.items()} == {
        "lint": (True, False, 0),
        "free": (True, True, 1),
        "b": (False, False, 0),
        "c": (False, False, 0),
    }
    assert rows["b"]["reason"] == "not run: needs lint, which failed"
    assert rows["c"]["reason"] == "not run: needs b, which was not run"
    assert project.records()["needy[v-r1]"]["score"] == pytest.approx(1 / 3)


def test_an_advisory_oracle_has_no_effect(project: Project, workers: tuple[str, ...]) -> None:
    """Passed, failed, dead or not to be started: recorded, and that is all."""
    shell(project, "touch done")
    advice = (
        "  - {run: 'true', name: fine, advisory: true}\n"
        "  - {run: exit 1, name: failed, advisory: true}\n"
        "  - {run: 'kill -9 $$', name: dead, advisory: true}\n"
        "  - {run: [/no/such/tool], name: missing, advisory: true}\n"
        "  - {pytest: {files: {test_x.py: 'import nothing'}}, name: empty, advisory: true}\n"
        "  - {python: 'checks:judge', assets: help, name: unread, advisory: true}\n"
    )
    project.write("tasks/help/other.py", "")
    for name, wanted in (("good", "done"), ("bad", "nothing")):
        entry = f"  - {{run: test -e {wanted}, name: hidden}}\n"
        task(project, name, f"oracles:\n{advice}{entry}")
    project.run(*workers).assert_outcomes(passed=1, failed=1)
    for name, score in (("good", 1), ("bad", 0)):
        record, rows = project.records()[f"{name}[v-r1]"], oracles(project, name)
        assert record["score"] == score
        assert {one: row["passed"] for one, row in rows.items()} == {
            "fine": True,
            "failed": False,
            "dead": False,
            "missing": False,
            "empty": False,
            "unread": False,
            "hidden": bool(score),
        }
        assert {row["weight"] for one, row in rows.items() if one != "hidden"} == {0}
        assert "cannot run '/no/such/tool'" in rows["missing"]["reason"]
        assert "holds no test" in rows["empty"]["reason"]
        assert [told.partition(":")[0] for told in record["diagnostics"]] == [
            "missing could not be judged",
            "empty could not be judged",
            "unread could not be judged",
        ]
    assert project.records()["bad[v-r1]"]["message"] == "hidden: exited with 1"


def test_an_oracle_may_have_a_network_that_the_agent_has_not(project: Project) -> None:
    """Off unless the oracle asks, also where its neighbour has one."""
    require("bubblewrap")
    probe = "test $(tail -n +3 /proc/net/dev | wc -l)"
    outside = len(Path("/proc/net/dev").read_text().splitlines()) - 2
    if outside < 2:
        pytest.skip("this machine has no interface beside the loopback")
    variant(project, "agent: noop")
    task(
        project,
        "net",
        f"oracles:\n  - run: {probe} = 1\n    name: off\n"
        f"  - run: {probe} = {outside}\n    name: on\n    network: full\n"
        f"  - run: {probe} = 1\n    name: off-again\n    network: none\n",
    )
    project.run("--agentbench-sandbox=bubblewrap").assert_outcomes(passed=1)


# -- what leaves the run directory


REVEALING = f"""\
checks:
  - run: echo {SECRET} >&2; exit 1
    name: visible
oracles:
  - run: echo {SECRET} >&2; exit 1
    name: hidden
  - files: {{out.txt: {{equals: {SECRET}}}}}
    name: table
  - pytest: {{files: {{test_secret.py: "def test_it():\\n    assert 'wrong' == '{SECRET}'\\n"}}}}
    name: tests
  - run: [/no/such/{SECRET}]
    name: missing
    advisory: true
"""


def outside(project: Project, result: pytest.RunResult) -> str:
    """All that anybody sees who has not the run directory."""
    return "\n".join(
        [
            result.stdout.str(),
            result.stderr.str(),
            *((project.pytester.path / name).read_text() for name in ("junit.xml", "all.log")),
        ]
    )


NOISY = ("-rA", "-vv", "--tb=long", "-l", "--junitxml=junit.xml", "-o", "junit_logging=all")


def test_a_hidden_verdict_leaves_nothing_outside(
    project: Project, workers: tuple[str, ...]
) -> None:
    """``reveal: verdict``: names, passed and scores; the run directory keeps the rest."""
    project.write(
        "conftest.py",
        "class Log:\n"
        "    def pytest_runtest_logreport(self, report):\n"
        "        with open('all.log', 'a') as file:\n"
        "            print(report.longreprtext, report.sections, vars(report), file=file)\n"
        "def pytest_configure(config):\n"
        "    if not hasattr(config, 'workerinput'):\n"
        "        config.pluginmanager.register(Log())\n",
    )
    project.write("all.log", "")
    shell(project, "touch done")
    for name, secret in (("closed", "reveal: verdict\n"), ("open", "")):
        task(project, name, secret + REVEALING)
    result = project.run(*NOISY, "-k", "closed", *workers)
    result.assert_outcomes(failed=1)
    assert SECRET not in outside(project, result)
    result.stdout.fnmatch_lines(
        [
            "*failed (check): visible did not pass (score 0) (and 3 more)",
            "*checks: 0 of 1 passed, oracles: 0 of 4 passed, score 0.00",
            "*  FAILED visible (check, run)",
            "*  FAILED hidden (run)",
            "*  FAILED table (files)",
            "*  FAILED tests (pytest)",
            "*  not run missing (run, advisory)",
            "*missing could not be judged",
            "FAILED *closed?v-r1? - check: visible did not pass (score 0) (and 3 more)",
        ]
    )
    rows = oracles(project, "closed")
    telling = [name for name, row in rows.items() if SECRET in row["reason"]]
    assert telling == ["visible", "hidden", "tests", "missing"]
    assert {row["reveal"] for row in rows.values()} == {"verdict"}
    kept = [path for path in project.latest.rglob("*") if path.is_file()]
    assert any(SECRET in path.read_text() for path in kept if "artifacts" in path.parts)


def test_reasons_are_told_unless_they_are_hidden(
    project: Project, workers: tuple[str, ...]
) -> None:
    """The default tells one line an oracle; an oracle of its own mind is not told."""
    project.write("all.log", "")
    shell(project, "touch done")
    task(project, "open", REVEALING)
    task(
        project,
        "mixed",
        f"oracles:\n  - run: echo {SECRET}; exit 1\n    name: closed\n    reveal: verdict\n"
        "  - run: echo so-what; exit 2\n    name: told\n",
    )
    result = project.run(*NOISY, "-k", "open", *workers)
    result.stdout.fnmatch_lines([f"*FAILED hidden (run): exited with 1: {SECRET}"])
    result = project.run(*NOISY, "-k", "mixed", *workers)
    assert SECRET not in outside(project, result)
    result.stdout.fnmatch_lines(
        [
            "*failed (oracle): closed did not pass (score 0) (and 1 more)",
            "*  FAILED told (run): exited with 2: so-what",
        ]
    )


def test_the_full_story_tells_what_oracles_printed(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """``reveal: full``: the end of the output, without secrets, for those that failed."""
    monkeypatch.setenv("THE_KEY", "sk-verysecret-0815")
    project.write("all.log", "")
    variant(project, "agent: command\nenv: {KEY: '${THE_KEY}'}\noptions: {run: 'touch done'}")
    long = "seq 100; echo sk-verysecret-0815; echo last words; exit 1"
    for name, word in (("open", "full"), ("shut", "reasons")):
        task(
            project,
            name,
            f"reveal: {word}\noracles:\n  - run: {long}\n    name: loud\n"
            "  - run: echo nothing to tell\n    name: fine\n",
        )
    result = project.run("--junitxml=junit.xml", *workers)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "the end of what loud printed:",
            "  | 93",
            *(f"  | {number}" for number in range(94, 101)),
            "  | [[]redacted[]]",
            "  | last words",
        ],
        consecutive=True,
    )
    text = outside(project, result)
    assert "nothing to tell" not in text
    assert "sk-verysecret" not in text
    junit = project.junit()
    assert [
        "the end of what loud printed" in str(junit[f"{name}[v-r1]"][-1].text)
        for name in ("open", "shut")
    ] == [True, False]


# -- what scoring restores


VISIBLE = """\
workspace:
  files:
    app.py: "broken\\n"
    tests/test_app.py: "original\\n"
    tests/data/a.txt: "original\\n"
"""
ORIGINAL = (
    "oracles: [{run: grep -q original tests/test_app.py && grep -q original tests/data/a.txt}]\n"
)
CHEAT = "echo forged > tests/test_app.py; rm -r tests/data; echo mended > app.py; touch tests/new"


def test_what_a_check_names_is_restored(project: Project, walls: str) -> None:
    """A visible test that the agent rewrote or removed is as it was; the rest is its work."""
    shell(project, CHEAT)
    task(project, "kept", f"{VISIBLE}checks: [{{run: test -e tests/new && ls tests}}]\n{ORIGINAL}")
    task(
        project,
        "changed",
        VISIBLE + "checks: [{run: test -e app.py}]\n"
        "solution: {files: {app.py: mended}}\n"
        "oracles: [{run: grep -q mended app.py && grep -q forged tests/test_app.py}]\n",
    )
    project.run(walls).assert_outcomes(passed=2)
    told = {key: row["diagnostics"] for key, row in project.records().items()}
    assert told == {
        "kept[v-r1]": ["restored before scoring: tests/data/a.txt, tests/test_app.py"],
        "changed[v-r1]": [],
    }


def test_patterns_say_what_is_restored(project: Project, walls: str) -> None:
    """``protect`` stands in the place of the default; an empty list protects nothing."""
    shell(project, CHEAT + "; echo forged > conftest.py")
    with_configuration = VISIBLE + "    conftest.py: original\n"
    forged = "oracles: [{run: grep -q forged conftest.py && grep -q forged tests/test_app.py}]\n"
    task(
        project,
        "some",
        f"{with_configuration}  protect: ['tests/*/*.txt']\n"
        "oracles: [{run: grep -q original tests/data/a.txt && grep -q forged conftest.py}]\n",
    )
    task(
        project,
        "none",
        f"{with_configuration}  protect: []\nchecks: [{{run: ls tests}}]\n{forged}",
    )
    task(project, "every", f"{with_configuration}  protect: ['tests/**']\n{ORIGINAL}")
    project.run(walls).assert_outcomes(passed=3)
    told = {key: row["diagnostics"] for key, row in project.records().items()}
    assert told == {
        "some[v-r1]": ["restored before scoring: tests/data/a.txt"],
        "none[v-r1]": [],
        "every[v-r1]": ["restored before scoring: tests/data/a.txt, tests/test_app.py"],
    }


# -- overlays, limits, prompts, slots, digests


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("touch done skill/mine", "passed"),
        ("touch done; echo > skill/SKILL.md", "tampered"),
        ("touch done; rm -r skill", "tampered"),
        ("touch done; mv skill other; ln -s other skill", "tampered"),
    ],
)
def test_an_overlay_has_to_be_left_alone(
    project: Project, walls: str, command: str, outcome: str
) -> None:
    """A file of the overlay that was changed, removed or replaced: tampered, and not scored."""
    project.write("overlay/skill/SKILL.md", "how to review")
    variant(
        project, f"agent: command\noverlay: overlay\noptions:\n  run: |\n{indent(command, '    ')}"
    )
    task(project, "one", "oracles: [{run: test -e done}]")
    project.run(walls)
    record = project.records()["one[v-r1]"]
    assert (record["reason"] or record["outcome"]) == outcome
    assert len(record["oracles"]) == (outcome == "passed")
    assert record["digests"]["overlay"] is not None


def test_the_agent_is_told_what_the_variant_makes_of_the_prompt(
    project: Project, workers: tuple[str, ...]
) -> None:
    """By every way in which a prompt arrives; record and artifacts hold what was told."""
    project.write(
        "agentbench.yaml",
        "variants:\n"
        + "".join(
            f"  {way}:\n    agent: command\n"
            "    prompt: {template: 'Gently: {{ task.prompt }}'}\n"
            f"    options: {{prompt: {way}, run: {run!r}}}\n"
            for way, run in {
                "stdin": "cat > told",
                "arg": 'printf %s "$1" > told',
                "file": "cp {prompt_file} told",
            }.items()
        )
        + "  plain: {agent: command, options: {run: 'cat > told'}}\n",
    )
    task(project, "one", "oracles: [{run: grep -q '^Gently. Make' told}]")
    project.run("tasks/one.yaml", "--agentbench-keep=all", *workers).assert_outcomes(
        passed=3, failed=1
    )
    records = project.records()
    digests = [records[f"one[{way}-r1]"]["digests"]["prompt"] for way in ("stdin", "arg", "file")]
    assert len(set(digests)) == 1
    assert digests[0] != records["one[plain-r1]"]["digests"]["prompt"]
    prompts = {path.read_text() for path in project.latest.rglob("prompt*")}
    assert prompts == {"Gently: Make a file named done.", "Make a file named done."}


def test_trials_that_share_a_slot_do_not_overlap(project: Project) -> None:
    """Two workers, one slot: one trial at a time, and the wait is nobody's set-up time."""
    busy = project.pytester.path / "busy"
    shell(project, f"mkdir {busy} && sleep 2 && rmdir {busy} && touch done")
    for name in ("one", "two"):
        slots = f"slots: {{{project.pytester.path.name}: 1}}\n"
        task(project, name, f"{slots}oracles: [{{run: test -e done}}]")
    project.run("-n", "2").assert_outcomes(passed=2)
    spent = [row["phases"]["setup_s"] for row in project.records().values()]
    assert max(spent) < 2, "who waits for the other's two seconds is not setting up"


def test_what_decides_is_in_the_digest_and_what_is_shown_is_not(project: Project) -> None:
    """The trial's digest changes with how results count; not with what of them is told."""
    variant(project, "agent: noop")
    base = "oracles: [{run: 'true', name: a}, {run: 'true', name: b%s}]\n%s"
    cases = {
        "same": base % ("", ""),
        "reveal": base % (", reveal: verdict", "reveal: full\n"),
        "needs": base % (", needs: [a]", ""),
        "advisory": base % (", advisory: true", ""),
        "pass-at": base % (", pass_at: 0.5", ""),
        "network": base % (", network: full", ""),
        "weight": base % (", weight: 2", ""),
        "checks": base % ("", "checks: [{run: 'true', name: c}]\n"),
        "limit": base % ("", "limits: {workspace: 1g}\n"),
        "protect": base % ("", "workspace: {protect: []}\n"),
        "prompt": base % ("", "") + "# another prompt\n",
    }
    digests = {}
    for name, text in cases.items():
        prompt = "Do it again." if name == "prompt" else "Do it."
        project.write("tasks/one.yaml", f"prompt: {prompt}\n{text}")
        project.run().assert_outcomes(passed=1)
        digests[name] = project.records()["one[v-r1]"]["digests"]["trial"]
    assert digests.pop("reveal") == digests["same"]
    assert len(set(digests.values())) == len(digests)


def test_details_are_in_the_record_alone(project: Project, workers: tuple[str, ...]) -> None:
    """What would have been right is in the record, and in no report, whatever ``reveal`` says."""
    shell(project, "echo 41")
    project.write("all.log", "")
    task(
        project,
        "open",
        "reveal: full\noracles:\n"
        "  - answer: {number: 8215042}\n"
        "  - python: checks:judge\n"
        "    assets:\n"
        "      files:\n"
        "        checks.py: |\n"
        "          def judge(context):\n"
        "              deep = []\n"
        "              for _ in range(800):\n"
        "                  deep = [deep]\n"
        "              return {'score': 0, 'reason': 'no', 'details': {\n"
        "                  'want': 8215042, 'huge': 10**4000, 'deep': deep, 'odd': 'a\\ud800'}}\n",
    )
    result = project.run(*NOISY, "-k", "open", *workers)
    result.assert_outcomes(failed=1)
    assert "8215042" not in outside(project, result)
    rows = oracles(project, "open")
    assert rows["answer"]["details"] == {"answer": "41", "expected": "8215042"}
    details = rows["python"]["details"]
    assert (details["want"], details["huge"]) == (8215042, "[a number of 13288 bits]")
    assert details["odd"] == "a\\ud800"
    assert "nested deeper than 20 levels" in str(details["deep"])
