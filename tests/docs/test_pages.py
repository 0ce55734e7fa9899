"""The documents say what the code does: names, keys, options and links."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from pytest_agentbench import registry
from pytest_agentbench.agents import python_runner
from pytest_agentbench.agents.scripted_steps import Step
from pytest_agentbench.cli import main
from pytest_agentbench.cli.proving import COLUMNS
from pytest_agentbench.matrix import layers
from pytest_agentbench.model.outcome import Outcome, Reason, outcome_of
from pytest_agentbench.model.plan import Plan, PlannedTrial
from pytest_agentbench.options import OPTIONS
from pytest_agentbench.oracles import (
    answer_spec,
    diff,
    files_spec,
    pytest_lists,
    python_bootstrap,
)
from pytest_agentbench.results.manifest import RunManifest
from pytest_agentbench.taskfiles.assignments import known_paths
from pytest_agentbench.taskfiles.document import (
    BuildShape,
    FilesShape,
    LimitsShape,
    SandboxShape,
    Shape,
)
from pytest_agentbench.taskfiles.experimentshape import (
    EXPERIMENT_PLACES,
    DefaultsShape,
    ExpectShape,
    ExperimentShape,
    PromptShape,
    SelectShape,
    SuiteShape,
    ToolsShape,
    VariantShape,
)
from pytest_agentbench.taskfiles.oracle_entries import CHECK_KINDS
from pytest_agentbench.taskfiles.taskshape import (
    TASK_PLACES,
    AnswerShape,
    CheckShape,
    ControlShape,
    DatasetShape,
    GitShape,
    OracleShape,
    SkipShape,
    TaskShape,
    UnlessShape,
    WorkspaceShape,
    XfailShape,
)

ROOT = Path(__file__).parent.parent.parent
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

SHAPES: dict[type[Shape], tuple[str, str]] = {
    TaskShape: ("task-files", "Task files"),
    WorkspaceShape: ("task-files", "Workspace"),
    GitShape: ("task-files", "git"),
    LimitsShape: ("task-files", "Limits"),
    SandboxShape: ("task-files", "Sandbox"),
    BuildShape: ("task-files", "Sandbox"),
    AnswerShape: ("task-files", "Solution and controls"),
    ControlShape: ("task-files", "Solution and controls"),
    SkipShape: ("task-files", "Tasks that are not run"),
    UnlessShape: ("task-files", "Tasks that are not run"),
    XfailShape: ("task-files", "Expected failures"),
    FilesShape: ("task-files", "Directories of files"),
    DatasetShape: ("datasets", "Datasets"),
    OracleShape: ("oracles", "Oracles and checks"),
    CheckShape: ("oracles", "Oracles and checks"),
    ExperimentShape: ("experiments", "The file"),
    DefaultsShape: ("experiments", "The file"),
    VariantShape: ("experiments", "Variants"),
    PromptShape: ("experiments", "Variants"),
    ExpectShape: ("experiments", "Variants"),
    ToolsShape: ("experiments", "Variants"),
    SuiteShape: ("experiments", "Suites"),
    SelectShape: ("experiments", "Suites"),
}
"""The page and the heading below which every key of a shape is told."""

ARRIVES_SO = {"path"}
"""How a bare text of a solution arrives: nobody writes it."""

KINDS = {
    "answer": [*answer_spec.KINDS, *answer_spec._WHERE, *answer_spec._OPTIONS],
    "diff": diff._KEYS,
    "files": files_spec._KEYS,
    "pytest": [*pytest_lists.LISTS, pytest_lists.WEIGHTS],
    "python": ["options"],
    "run": ["report"],
}
"""What an entry of each kind may say beside the common keys."""


def section(page: str, heading: str) -> str:
    """What stands below a heading of a reference page, up to the next one."""
    text = (REFERENCE / f"{page}.md").read_text()
    fence = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    lines = iter(fence.sub(lambda found: found[0].replace("#", " "), text).splitlines())
    for line in lines:
        if re.fullmatch(r"#+ .*", line) and line.lstrip("# ") == heading:
            return "\n".join(takewhile(lambda below: not re.match(r"#+ ", below), lines))
    raise AssertionError(f"{page}.md has no heading {heading!r}")


def told(text: str) -> set[str]:
    """The words that a text shows as code, and the keys of its mappings and of its blocks."""
    spans = re.findall(r"`([^`\n]+)`|^```\w* ?\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    code = " ".join(span for pair in spans for span in pair)
    return set(re.findall(r"[\w-]+", code))


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


def table_rows(page: str, head: str) -> list[list[str]]:
    """The cells of the table whose head line starts with ``head``."""
    lines = (ROOT / page).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head)) + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that is there, and a heading of it."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("| agents |", registry.agent_names()),
        ("| sandboxes |", (*registry.sandbox_names(), "auto")),
        ("| oracles |", registry.oracle_kinds()),
    ],
)
def test_the_readme_lists_what_is_there(head: str, names: tuple[str, ...]) -> None:
    """The tables of the README name exactly the registered agents, sandboxes and oracles."""
    listed = [row[0].strip("`") for row in table_rows("README.md", head)]
    assert sorted(listed) == sorted(names)


def test_every_option_is_documented() -> None:
    """The table of options has each option with its ini key, and no other."""
    rows = table_rows("docs/reference/options.md", "| option | ini key |")
    documented = [(row[0].replace("\\|", "|").strip("`"), row[1].strip("`")) for row in rows]
    known = [
        (f"{option.flag}={option.metavar}" if option.metavar else option.flag, option.key)
        for option in OPTIONS
    ]
    assert sorted(documented) == sorted([*known, ("", "agentbench_tasks")])


def test_every_path_of_set_is_documented() -> None:
    """The page of options names every path that ``--agentbench-set`` takes, and no other."""
    text = section("options", "Settings by path")
    (sentence,) = re.findall(r"`--agentbench-set` takes (.*?) \(also", text)
    assert sorted(re.findall(r"`([^`]+)`", sentence)) == known_paths()


def test_every_shape_has_its_place() -> None:
    """No mapping of a task or experiment file is left out of the next test."""
    assert {*TASK_PLACES.values(), *EXPERIMENT_PLACES.values()} <= set(SHAPES)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_key_is_documented(shape: type[Shape]) -> None:
    """Each key of a task or experiment file is told where its mapping is described."""
    known = told(section(*SHAPES[shape]))
    keys = set(shape.keys())
    if issubclass(shape, AnswerShape):
        keys -= ARRIVES_SO
    assert sorted(keys - known) == []


def test_a_key_that_is_not_documented_is_seen() -> None:
    """Negative control: a key that a section does not have as code is missed."""
    assert "rehearse" not in told(section("oracles", "Oracles and checks"))
    assert "recorded" in section("oracles", "Oracles and checks")
    assert "recorded" not in told(section("oracles", "Oracles and checks"))


@pytest.mark.parametrize("kind", registry.oracle_kinds())
def test_every_kind_of_oracle_is_documented(kind: str) -> None:
    """Each kind of oracle has a section of its own with all that its entry may say."""
    text = section("oracles", f"`{kind}`")
    assert [key for key in KINDS[kind] if key not in told(text)] == []


def test_the_kinds_of_checks_are_documented() -> None:
    """The section of checks names exactly the kinds that a check may be of."""
    (sentence,) = re.findall(r"Their kinds are (.*?)\.", section("oracles", "Checks"))
    assert sorted(re.findall(r"`(\w+)`", sentence)) == sorted(CHECK_KINDS)


def test_what_agents_can_do_is_documented() -> None:
    """The table of agents has each kind with what its class declares."""
    rows = table_rows("docs/reference/agents.md", "| agent | what |")
    documented = {
        row[0].strip("`"): (row[2] == "yes", row[3] != "no", row[4] != "no") for row in rows
    }
    known = {}
    for name in registry.agent_names():
        kind = registry.agent_class(name)
        known[name] = (kind.trusted, kind.limits_tools, kind.shows_evidence)
    assert documented == known


def test_every_option_of_an_agent_is_documented() -> None:
    """The page of agents tells every option of every kind, and every step of a script."""
    page = (REFERENCE / "agents.md").read_text()
    options = {
        name
        for agent in registry.agent_names()
        for name in registry.agent_class(agent).Options.model_fields
    }
    steps = table_rows("docs/reference/agents.md", "| step | what |")
    assert sorted(options - told(page)) == []
    assert sorted(re.findall(r"`(\w+)`", " ".join(row[0] for row in steps))) == sorted(
        Step.model_fields
    )


@pytest.mark.parametrize(
    ("page", "context"),
    [("agents", python_runner.Context), ("oracles", python_bootstrap.Context)],
    ids=["agent", "oracle"],
)
def test_what_functions_are_called_with_is_documented(page: str, context: type) -> None:
    """The tables of contexts have each public name, and no other."""
    rows = [line for line in section(page, "`python`").splitlines() if line.startswith("| `con")]
    documented = [
        name for row in rows for name in re.findall(r"`context\.(\w+)", row.split("|")[1])
    ]
    names = {*context.__annotations__, *vars(context)}
    assert sorted(documented) == sorted(name for name in names if not name.startswith("_"))


def test_every_layer_is_documented() -> None:
    """The layers of settings stand in their order, by the names that records have for them."""
    (sentence,) = re.findall(
        r"Each over the one before: (.*?)\. ", section("experiments", "Layers")
    )
    assert re.findall(r"`([a-z -]+)`", sentence.replace("`defaults`", "")) == [
        layers.BUILT_IN,
        layers.EXPERIMENT,
        layers.TASK,
        layers.VARIANT,
        layers.INI_FILE,
        layers.COMMAND_LINE,
    ]


@pytest.mark.parametrize("command", ["doctor", "init", "report", "schema", "shell", "validate"])
def test_every_option_of_a_command_is_documented(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command has a section with each of its options."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    flags = set(re.findall(r"(?<![\w-])--?[a-z]+", capsys.readouterr().out)) - {"-h", "--help"}
    text = section("commands", command)
    assert sorted(flag for flag in flags if f"`{flag}" not in text) == []


def test_every_command_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """There is a section for each command, and for no other."""
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    (\w+) {2,}\w", capsys.readouterr().out, re.MULTILINE)
    heads = re.findall(r"^## (\w+)$", (REFERENCE / "commands.md").read_text(), re.MULTILINE)
    assert heads == commands


def test_every_column_of_validate_is_documented() -> None:
    """The table of proofs has the columns that ``agentbench validate --run`` prints."""
    rows = table_rows("docs/reference/commands.md", "| column |")
    assert tuple(row[0].strip("`") for row in rows) == COLUMNS


@pytest.mark.parametrize(
    ("after", "model"),
    [
        ("The manifest:", RunManifest),
        ("The plan:", Plan),
        ("| `schema_version` | of this file |\n\n| key of a trial", PlannedTrial),
    ],
    ids=["manifest", "plan", "trial"],
)
def test_every_key_of_a_stored_file_is_documented(after: str, model: type[object]) -> None:
    """The tables of stored files have each key, and no other."""
    text = section("results", "The run directory")
    table = text.split(after, 1)[1].strip().split("\n\n")[0]
    rows = table.split("|---|---|\n", 1)[1].splitlines()
    documented = [key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(documented) == sorted(TypeAdapter(model).json_schema()["properties"])


def test_every_reason_is_documented() -> None:
    """The table of outcomes has each reason below the outcome that it belongs to."""
    documented = []
    outcome = ""
    for row in table_rows("docs/reference/outcomes.md", "| outcome | reason |"):
        outcome = row[0].strip("`") or outcome
        documented.append((outcome, row[1].strip("`")))
    known = [(str(outcome_of(reason)), str(reason)) for reason in Reason]
    assert sorted(documented) == sorted([*known, (str(Outcome.PASSED), "")])


def test_the_gate_runs_the_readme_s_commands() -> None:
    """What the README promises of its two commands is what the gate runs."""
    commands = re.findall(r"\.venv/bin/pytest ([^`\n]+)", (ROOT / "README.md").read_text())
    gate = (ROOT / ".ci" / "run").read_text()
    assert commands == ["tasks/ -n 4", "-n 4 --dist worksteal"]
    for arguments in commands:
        assert re.search(rf'bin/pytest" {re.escape(arguments)}$', gate, re.MULTILINE), arguments
