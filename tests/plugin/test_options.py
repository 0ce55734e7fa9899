"""Options and ini keys: what they choose, what they set, and how they refuse."""

from __future__ import annotations

import json

import pytest

from projects import Project

EXPERIMENT = """\
variants:
  reference: {agent: reference}
  nothing: {agent: noop}
  other: {agent: noop, model: m, repeats: 2}
defaults: {limits: {time: 50s}}
"""


def told(result: pytest.RunResult) -> list[str]:
    """What pytest refuses with; other plugins may warn on standard error before it."""
    lines = [line for line in result.stderr.lines if line]
    first = next((n for n, line in enumerate(lines) if line.startswith("ERROR: ")), 0)
    return lines[first:]


@pytest.fixture
def project(project: Project) -> Project:
    """The project with three variants."""
    project.write("agentbench.yaml", EXPERIMENT)
    return project


def collected(project: Project, *args: str) -> list[str]:
    """The parameters of the task ``greet`` that a session would run."""
    lines = project.run("--co", "-q", "tasks/greet.yaml", *args).stdout.lines
    return [line.partition("[")[2].rstrip("]") for line in lines if "greet[" in line]


def test_variants_are_chosen_by_patterns(project: Project, workers: tuple[str, ...]) -> None:
    """The order of the file is kept, and the run is a part of the suite that says why."""
    result = project.run("--agentbench-variant=o*", "--agentbench-variant=reference", *workers)
    result.assert_outcomes(passed=2, failed=4)
    assert set(project.records()) == {
        *("add[reference-r1]", "add[other-r1]", "add[other-r2]"),
        *("greet[reference-r1]", "greet[other-r1]", "greet[other-r2]"),
    }
    result.stdout.fnmatch_lines(
        ["partial: variants chosen by --agentbench-variant=o[*] --agentbench-variant=reference;*"]
    )
    manifest = json.loads((project.latest / "manifest.json").read_text())
    assert manifest["variants"] == ["reference", "other"]
    assert manifest["complete"] is False


def test_an_agent_in_place_of_the_variants(project: Project, workers: tuple[str, ...]) -> None:
    """One variant is made of agent, model and options; the experiment's defaults hold for it."""
    arguments = (
        "--agentbench-agent=command",
        "--agentbench-model=vendor/deepseek-r1",
        "--agentbench-set=options.run=[sh, -c, 'printf \"%s\\n\" $WORD > greeting.txt']",
        "--agentbench-set=env.WORD=hello",
    )
    result = project.run(*arguments, *workers)
    result.assert_outcomes(passed=1, failed=1)
    row = project.records()["greet[command-vendor-deepseek_r1-r1]"]
    assert (row["agent"], row["model"]) == ("command", "vendor/deepseek-r1")
    assert row["lineage"]["limits.time"] == "experiment"
    ours = ("model", "options.run", "env.WORD")
    assert {row["lineage"][path] for path in ours} == {"command line"}
    result.stdout.fnmatch_lines(["partial: variants replaced by --agentbench-agent=command;*"])


def test_an_agent_without_an_experiment_is_a_whole_suite(project: Project) -> None:
    """There is nothing that it could be a part of."""
    (project.pytester.path / "agentbench.yaml").unlink()
    result = project.run("--agentbench-agent=noop")
    result.assert_outcomes(failed=2)
    assert "partial:" not in result.stdout.str()
    assert json.loads((project.latest / "manifest.json").read_text())["complete"] is True


def test_settings_lie_over_everything_and_say_so(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Command line over ini file over variant over task over experiment, in every record."""
    project.write(
        "pytest.ini",
        "[pytest]\nagentbench_sandbox = local\nagentbench_repeats = 3\n"
        "agentbench_set =\n    limits.time=40s\n    env.A=x y\n    sandbox.pids=1000\n",
    )
    result = project.run(
        "--agentbench-variant=other",
        "--agentbench-repeats=1",
        "--agentbench-set=limits.time=30s",
        "--agentbench-set=sandbox.env.B=1m",
        *workers,
    )
    result.assert_outcomes(failed=2)
    row = project.records()["add[other-r1]"]
    lineage = row["lineage"]
    assert {
        path: lineage[path]
        for path in ("repeats", "limits.time", "sandbox.env.B", "sandbox.driver", "env.A", "model")
    } == {
        "repeats": "command line",
        "limits.time": "command line",
        "sandbox.env.B": "command line",
        "sandbox.driver": "ini file",
        "env.A": "ini file",
        "model": "variant",
    }
    result.stdout.fnmatch_lines(["partial: *repeats lowered by --agentbench-repeats=1;*"])


def test_ini_keys_choose_where_nothing_is_typed(project: Project) -> None:
    """Each key is the default of its option."""
    project.write(
        "pytest.ini",
        "[pytest]\nagentbench_sandbox = local\nagentbench_variant = noth* 'reference'\n"
        "agentbench_repeats = 2\n",
    )
    assert collected(project) == ["reference-r1", "nothing-r1", "reference-r2", "nothing-r2"]
    assert collected(project, "--agentbench-variant=other") == ["other-r1", "other-r2"]
    assert collected(project, "--agentbench-agent=noop") == ["noop-r1", "noop-r2"]
    assert collected(project, "--agentbench-repeats=1") == ["reference-r1", "nothing-r1"]


def test_raised_repeats_are_no_part(project: Project) -> None:
    """More than configured is still the whole suite."""
    result = project.run("--agentbench-variant=*", "--agentbench-repeats=2")
    assert "partial:" not in result.stdout.str()
    assert len(project.records()) == 12


def test_paths_are_relative_to_where_they_are_typed(
    project: Project, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in xdist's workers."""
    project.write("sub/near.yaml", "variants: {near: {agent: reference}}\n")
    monkeypatch.chdir(project.pytester.path / "sub")
    result = project.run(
        "--agentbench-experiment=near.yaml",
        "--agentbench-results=runs",
        "--agentbench-set=sandbox.read_only=[/usr]",
        f"--rootdir={project.pytester.path}",
        "../tasks",
        *workers,
    )
    result.assert_outcomes(passed=2)
    assert (project.pytester.path / "sub/runs/latest/records.jsonl").exists()


def test_skipped_tasks_can_be_included(project: Project, workers: tuple[str, ...]) -> None:
    """The task's own word holds unless somebody asks for the task all the same."""
    project.write(
        "tasks/later.yaml",
        "prompt: Later.\nskip: not ready\noracles: [{run: 'true'}]\n",
    )
    asked = ("tasks/later.yaml", "--agentbench-variant=nothing", *workers)
    project.run(*asked).assert_outcomes(skipped=1)
    project.run("--agentbench-include-skipped", *asked).assert_outcomes(passed=1)


def test_a_label_is_kept_with_the_run(project: Project) -> None:
    """The manifest has it, so that runs can be told apart."""
    project.run("--agentbench-variant=reference", "--agentbench-label=before the fix")
    manifest = json.loads((project.latest / "manifest.json").read_text())
    assert manifest["label"] == "before the fix"


REFUSED = {
    "--agentbench-variant=othr": (
        "--agentbench-variant: no variant 'othr' in agentbench.yaml; did you mean 'other'?"
        " known: reference, nothing, other"
    ),
    "--agentbench-agent=nop": (
        "--agentbench-agent: unknown agent 'nop'; did you mean 'noop'? known: "
    ),
    "--agentbench-sandbox=dokcer": (
        "--agentbench-sandbox: unknown sandbox 'dokcer'; did you mean 'docker'? known: auto,"
        " bubblewrap, docker, local"
    ),
    "--agentbench-agent=noop --agentbench-variant=other": (
        "--agentbench-agent: --agentbench-agent runs one variant of its own, so there is nothing"
        " for --agentbench-variant to choose from. Try: one of them; --agentbench-model sets the"
        " model of the variants"
    ),
    "--agentbench-agent=command": (
        "--agentbench-agent command: needs 'run'. Try: --agentbench-set=options.run=VALUE"
    ),
    "--agentbench-agent=command --agentbench-set=options.run=x "
    "--agentbench-set=options.prmpt=arg": (
        "--agentbench-set=options.prmpt=arg: unknown option 'prmpt'; did you mean 'prompt'?"
    ),
    "--agentbench-set=options.effort=high": (
        "--agentbench-set=options.effort=high: the variant 'reference' (agent reference) cannot"
        " take it: unknown option 'effort'. Try: --agentbench-variant, to choose variants that can"
    ),
    "--agentbench-set=options.effort.a.b=[1,2]": (
        "--agentbench-set=options.effort.a.b=[1,2]: the variant 'reference' (agent reference)"
        " cannot take it: unknown option 'effort'. Try: --agentbench-variant, to choose variants"
        " that can"
    ),
    "--agentbench-variant=": (
        "--agentbench-variant=: the value is empty. Try: a value, or leave the option out"
    ),
    "--agentbench-set=": (
        "--agentbench-set=: the value is empty. Try: a value, or leave the option out"
    ),
    "--agentbench-repeats=x": "--agentbench-repeats=x: 'repeats' must be a whole number, not text",
    "--agentbench-repeats=2 --agentbench-set=repeats=3": (
        "repeats is set twice on the command line: by --agentbench-repeats=2 and by"
        " --agentbench-set=repeats=3. Try: keep one of them"
    ),
    "--agentbench-set=limits.tme=5m": (
        "--agentbench-set=limits.tme=5m: unknown setting 'limits.tme'; did you mean 'limits.time'?"
        " known: env.NAME, limits.time,"
    ),
    "--agentbench-sample=0": "--agentbench-sample: '0' is no whole number above 0",
    "--agentbench-experiment=wide": (
        "experiment: unknown experiment 'wide'; known: none, experiments/ holds no YAML file"
    ),
}


@pytest.mark.parametrize("typed", REFUSED)
def test_refused_before_anything_is_collected(project: Project, typed: str) -> None:
    """A usage error, whole, and nothing else."""
    project.write("test_x.py", "raise AssertionError('collected')\n")
    result = project.run(*typed.split())
    assert result.ret == 4
    (line,) = told(result)
    if REFUSED[typed].endswith((": ", ",")):
        assert line.startswith(f"ERROR: {REFUSED[typed]}")
    else:
        assert line == f"ERROR: {REFUSED[typed]}"
    assert "collected" not in result.stdout.str()


def test_refused_under_xdist_too(project: Project) -> None:
    """The controller refuses; no worker is started."""
    result = project.run("-n", "2", "--agentbench-variant=othr")
    assert result.ret == 4
    assert told(result) == [f"ERROR: {REFUSED['--agentbench-variant=othr']}"]


def test_a_wrong_ini_key_is_an_error_and_told_once(project: Project) -> None:
    """It is read with the first task file, so that other sessions do not pay for it."""
    project.write(
        "pytest.ini", "[pytest]\nagentbench_sandbox = local\nagentbench_set = repeats=many\n"
    )
    result = project.run()
    assert result.ret == 2
    told = "agentbench_set = repeats=many: 'repeats' must be a whole number, not text"
    assert result.stdout.str().count(told) == 1
    project.write("test_plain.py", "def test_plain(): pass\n")
    project.run("test_plain.py").assert_outcomes(passed=1)


def test_help_lists_them(project: Project) -> None:
    """One group, each option with its words."""
    text = project.run("--help").stdout.str()
    group = text[text.index("tasks for coding agents (agentbench):") :]
    for option in ("variant=NAME", "agent=NAME", "set=PATH=VALUE", "include-skipped"):
        assert f"--agentbench-{option}" in group
