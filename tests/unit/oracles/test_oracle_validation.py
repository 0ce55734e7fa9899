from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.errors import OracleError
from pytest_agentbench.model.task import FileTree, JsonValue, OracleSpec, Position
from pytest_agentbench.oracles.files import FilesOracle
from pytest_agentbench.oracles.pytest_tests import PytestOracle
from pytest_agentbench.oracles.run import RunOracle
from pytest_agentbench.registry import oracle_class, oracle_kinds

HERE = Position(Path("task.yaml"), 4)
ASSETS = FileTree(files={"check.py": "print(1)"})
Problems = list[tuple[tuple[str | int, ...], str]]


def spec(
    kind: str,
    expectation: JsonValue | FileTree,
    options: dict[str, JsonValue] | None = None,
    assets: FileTree = FileTree(),  # noqa: B008 - frozen
) -> OracleSpec:
    return OracleSpec(kind, "hidden", HERE, expectation, options=options or {}, assets=assets)


def of_run(
    command: JsonValue | FileTree,
    options: dict[str, JsonValue] | None = None,
    assets: FileTree = FileTree(),  # noqa: B008 - frozen
) -> Problems:
    return RunOracle().validate(spec("run", command, options, assets))


def of_files(table: JsonValue | FileTree) -> Problems:
    return FilesOracle().validate(spec("files", table))


def test_kinds_are_those_of_the_registry() -> None:
    """Each kind is registered under its own name."""
    assert [oracle_class(kind).kind for kind in oracle_kinds()] == list(oracle_kinds())


@pytest.mark.parametrize(
    "command",
    ["true", 'test "$(cat out)" = 42 > ${report}', ["sh", "-c", "true"], ["./app", ""]],
)
def test_good_commands(command: JsonValue) -> None:
    """An argv, or a string for the shell."""
    assert of_run(command) == []


@pytest.mark.parametrize(
    ("command", "at", "message"),
    [
        (" \n", ("run",), "the command is empty"),
        ([], ("run",), "the command is empty"),
        ([""], ("run", 0), "the program's name is empty"),
        (["head", "-n", 3], ("run", 2), "must be a string; put quotes around it"),
        (["a\0b"], ("run", 0), "must not hold a NUL character"),
        ("a\0b", ("run",), "must not hold a NUL character"),
        (3, ("run",), "must be an argv (a list of strings) or a string for the shell"),
        ({"a": "b"}, ("run",), "must be an argv (a list of strings) or a string for the shell"),
        (FileTree(), ("run",), "must be an argv (a list of strings) or a string for the shell"),
        (["sh", "{oracle}/x"], ("run", 1), "'{oracle}' needs 'assets' beside 'run'"),
        (["sh", "{report}"], ("run", 1), "'{report}' needs a 'report' beside 'run'"),
        (
            "sh {oracle}/check.sh",
            ("run",),
            "a shell string has $ORACLE and $REPORT; {…} is for an argv",
        ),
    ],
)
def test_bad_commands(
    command: JsonValue | FileTree, at: tuple[str | int, ...], message: str
) -> None:
    """Each fault is told with its place in the entry."""
    assert of_run(command) == [(at, message)]


def test_placeholders_with_what_they_need() -> None:
    """``{oracle}`` beside assets and ``{report}`` beside a report are fine."""
    argv: JsonValue = ["python", "{oracle}/check.py", "--out={report}"]
    assert of_run(argv, {"report": {"junit": "junit.xml"}}, ASSETS) == []


@pytest.mark.parametrize(
    ("report", "at", "message"),
    [
        ("junit.xml", (), "must be a mapping of one of reward, junit, ctrf to a file name"),
        ({}, (), "takes exactly one of reward, junit, ctrf"),
        ({"reward": "a", "ctrf": "b"}, (), "takes exactly one of reward, junit, ctrf"),
        ({"junits": "a"}, ("junits",), "unknown report format 'junits'; did you mean 'junit'?"),
        ({"reward": 3}, ("reward",), "must be a file name"),
        ({"reward": ".."}, ("reward",), "must be a plain file name, without a directory"),
        ({"reward": "a/b"}, ("reward",), "must be a plain file name, without a directory"),
        ({"reward": ""}, ("reward",), "must be a plain file name, without a directory"),
    ],
)
def test_bad_reports(report: JsonValue, at: tuple[str | int, ...], message: str) -> None:
    """A report is one format and one plain name."""
    assert of_run("true", {"report": report}) == [(("report", *at), message)]


def test_unknown_options_are_refused() -> None:
    """No kind takes keys that it does not know."""
    run = RunOracle().validate(spec("run", "true", {"reprot": 1}))
    files = FilesOracle().validate(spec("files", {"a": {"exists": True}}, {"report": 1}))
    tests = PytestOracle().validate(spec("pytest", FileTree(Path("/x")), {"args": []}))
    assert run == [(("reprot",), "unknown key 'reprot'; did you mean 'report'?")]
    assert files == [(("report",), "unknown key 'report'")]
    assert tests == [(("args",), "unknown key 'args'; known: fail_to_pass, pass_to_pass, weights")]


def test_good_tables() -> None:
    """Every expectation in its forms."""
    assert of_files({
        "a/b.txt": {"exists": True, "contains": "x", "equals": "", "matches": "^a+$"},
        "c": {"exists": False},
        "d": {"absent": True},
        "e": {"absent": False, "contains": ["x", "y"]},
        "f": {"json": {"a.0.b": None}, "json_schema": {"type": "object"}},
        "g": {"json_schema": {"$ref": "#/$defs/n", "$defs": {"n": {"$anchor": "n"}}}},
        "h": {"json_schema": {"const": {"$ref": "x"}, "items": {"$ref": "#"}}},
    }) == []  # fmt: skip


@pytest.mark.parametrize(
    ("table", "at", "message"),
    [
        ([], (), "must be a mapping of file names to expectations"),
        ({}, (), "names no file"),
        ({"../a": {"exists": True}}, ("../a",), "'../a' must not hold '..'"),
        (
            {"/a": {"exists": True}},
            ("/a",),
            "'/a' is absolute; it is relative to the workspace",
        ),
        (
            {"a": "text"},
            ("a",),
            "must be a mapping of exists, absent, equals, contains, matches, json_schema, json",
        ),
        (
            {"a": {}},
            ("a",),
            (
                "expects nothing of the file; known: exists, absent, equals, contains, matches, "
                "json_schema, json"
            ),
        ),
        (
            {"a": {"contain": "x"}},
            ("a", "contain"),
            "unknown expectation 'contain'; did you mean 'contains'?",
        ),
        ({"a": {"exists": "yes"}}, ("a", "exists"), "must be true or false"),
        ({"a": {"equals": 1}}, ("a", "equals"), "must be a text"),
        ({"a": {"contains": []}}, ("a", "contains"), "must be a text, or a list of texts"),
        ({"a": {"contains": ["x", ""]}}, ("a", "contains", 1), "must be a text that is not empty"),
        (
            {"a": {"matches": "("}},
            ("a", "matches"),
            "is no regular expression: missing ), unterminated subpattern at position 0",
        ),
        ({"a": {"matches": ""}}, ("a", "matches"), "must be a regular expression"),
        ({"a": {"json": {}}}, ("a", "json"), "must be a mapping of dotted paths to values"),
        ({"a": {"json": {"b..c": 1}}}, ("a", "json", "b..c"), "'b..c' has an empty part"),
        ({"a": {"json_schema": []}}, ("a", "json_schema"), "must be a JSON Schema (a mapping)"),
        (
            {"a": {"json_schema": {"properties": {"b": {"type": "strin"}}}}},
            ("a", "json_schema", "properties", "b", "type"),
            "is no valid schema: 'strin' is not valid under any of the given schemas",
        ),
        (
            {"a": {"json_schema": {"items": {"$ref": "https://example.invalid/x"}}}},
            ("a", "json_schema", "items", "$ref"),
            "reference 'https://example.invalid/x' leads nowhere; nothing is downloaded",
        ),
        (
            {"a": {"json_schema": {"$ref": "#/$defs/none"}}},
            ("a", "json_schema", "$ref"),
            "reference '#/$defs/none' leads nowhere; nothing is downloaded",
        ),
        (
            {"a": {"contains": "x", "absent": True}},
            ("a", "absent"),
            "the file must not exist, so nothing else can be expected of it",
        ),
    ],
)
def test_bad_tables(table: JsonValue, at: tuple[str | int, ...], message: str) -> None:
    """Each fault is told with its place in the table."""
    assert of_files(table) == [(("files", *at), message)]


def test_all_faults_of_a_table_are_told() -> None:
    """One message holds everything that is wrong."""
    assert len(of_files({"/a": {"equals": 1, "nope": 2}, "b": 3})) == 4


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("oracle", "must be a directory, or {files: {name: text}}"),
        (FileTree(files={"helper.py": ""}), "holds no test file (test_*.py or *_test.py)"),
        (FileTree(), "holds no test file (test_*.py or *_test.py)"),
    ],
)
def test_bad_hidden_tests(tree: JsonValue | FileTree, message: str) -> None:
    """Hidden tests are a tree with at least one test file."""
    assert PytestOracle().validate(spec("pytest", tree)) == [(("pytest",), message)]


def test_good_hidden_tests() -> None:
    """Inline or on disk; what is on disk is read later."""
    oracle = PytestOracle()
    assert oracle.validate(spec("pytest", FileTree(files={"sub/a_test.py": ""}))) == []
    assert oracle.validate(spec("pytest", FileTree(Path("/somewhere")))) == []


def test_digests_tell_oracles_apart() -> None:
    """A digest covers kind, command, options, time and bytes, and nothing else."""
    run, files, tests = RunOracle(), FilesOracle(), PytestOracle()
    first = FileTree(files={"test_a.py": "def test_a(): ..."})
    other = FileTree(files={"test_a.py": "def test_a(): pass"})
    digests = [
        run.prepare(spec("run", "true")).digest,
        run.prepare(spec("run", ["true"])).digest,
        run.prepare(spec("run", "true", {"report": {"reward": "r"}})).digest,
        run.prepare(spec("run", "true", assets=ASSETS)).digest,
        files.prepare(spec("files", {"a": {"exists": True}})).digest,
        files.prepare(spec("files", {"a": {"exists": False}})).digest,
        tests.prepare(spec("pytest", first)).digest,
        tests.prepare(spec("pytest", other)).digest,
        tests.prepare(spec("pytest", first, assets=ASSETS)).digest,
    ]
    assert len(set(digests)) == len(digests)
    again = OracleSpec("run", "other name", Position(Path("elsewhere.yaml"), 99), "true", weight=7)
    assert run.prepare(again).digest == digests[0]


def test_a_missing_directory_is_an_error_that_names_the_oracle() -> None:
    """What cannot be read is an oracle error before any agent."""
    gone = FileTree(Path("/nowhere/at/all"))
    with pytest.raises(OracleError) as caught:
        PytestOracle().prepare(spec("pytest", gone))
    assert str(caught.value) == (
        "task.yaml:4: oracle 'hidden' cannot be read: tests of oracle 'hidden': "
        "/nowhere/at/all cannot be read: No such file or directory"
    )
    with pytest.raises(OracleError):
        RunOracle().prepare(spec("run", "true", assets=gone))


def test_hidden_tests_on_disk_are_read_without_their_caches(tmp_path: Path) -> None:
    """Bytes are in memory after ``prepare``; caches are left behind and change no digest."""
    (tmp_path / "test_a.py").write_text("def test_a(): ...")
    oracle = PytestOracle()
    before = oracle.prepare(spec("pytest", FileTree(tmp_path)))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "test_a.pyc").write_bytes(b"\0")
    after = oracle.prepare(spec("pytest", FileTree(tmp_path)))
    assert before.digest == after.digest
    assert "oracle/test_a.py" in before.files
    assert not any("pycache" in name for name in after.files)


def test_a_directory_without_tests_is_an_error(tmp_path: Path) -> None:
    """A directory on disk with no test file is refused when it is read."""
    (tmp_path / "helper.py").write_text("")
    with pytest.raises(OracleError, match="holds no test file"):
        PytestOracle().prepare(spec("pytest", FileTree(tmp_path)))
