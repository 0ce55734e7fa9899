"""Secrets stay inside: nothing that a run writes or prints holds one, however it is spelt."""

from __future__ import annotations

import base64
import gzip
import json
import sys
import tarfile
from collections.abc import Iterator
from html import escape
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from projects import Project
from requirements import require

BY_VARIANT = "var-K3y/+=&x Zq81"
BY_TASK = "tsk-'W0rd\"<ü>9173"
BY_FIXTURE = "postgres://app:fx-p4ss%2Fword-55@db.example/shop"
NOBODYS = "hrn-S3cr3t-77+/aBcDeFgHiJkLmNoPqRsTuVw"
"""In the harness's environment, under the name of a credential, and given to nobody."""
WRITTEN = "lit-t0ken-4411-zz"
"""Written out in the experiment file."""
PLANTED = (BY_VARIANT, BY_TASK, BY_FIXTURE, "fx-p4ss/word-55", NOBODYS, WRITTEN)

PLAIN_WORDS = {"DEBUG_LEVEL": "warning", "SOME_PORT": "8080", "VERBOSE": "true"}
"""Given by ``${VAR}`` as well, and no secrets."""

AGENT = r"""
import base64, json, os, sys
from html import escape
from urllib.parse import quote, quote_plus

secrets = [os.environ[name] for name in ("VARIANT_GIVEN", "TASK_GIVEN", "DATABASE_URL", "MY_TOKEN")]
secrets += ["fx-p4ss/word-55"]
# As if it had found it somewhere: nobody has given it this one.
secrets.append(base64.b85decode(sys.argv[1]).decode())
lines = []
for secret in secrets:
    raw = secret.encode()
    lines += [secret, quote(secret), quote(secret, safe=""), quote_plus(secret), raw.hex()]
    lines += [json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret), repr(raw)]
    lines += [escape(secret), raw.hex().upper()]
    for before in (b"", b"u:", b"ab:"):
        lines.append(base64.b64encode(before + raw + b"-tail").decode())
        lines.append(base64.urlsafe_b64encode(before + raw + b"\n").decode())
text = "\n".join(lines)
wrapped = base64.encodebytes(b"x" * 31 + secrets[-1].encode() * 3 + b"y").decode()
open("leak.txt", "w").write(f"{text}\n{wrapped}")
open(f"name-{secrets[3]}.txt", "w").write("tokens: 1200\n")
print(text)
print(wrapped)
print("tokens: 1200, warning, 8080, true")
print(text, file=sys.stderr)
if sys.argv[2] == "flood":
    # The head of what is kept ends, and its tail begins, within a secret.
    half = 500_000
    sys.stdout.flush()
    done = len(f"{text}\n{wrapped}\ntokens: 1200, warning, 8080, true\n".encode())
    filler = "_" * (half - done - 20) + secrets[-1]
    print(filler, end="")
    print("-" * 3_000_000, end="")
    print(secrets[-1] + "=" * (half - 18), end="")
elif sys.argv[2] == "crash":
    sys.exit(3)
"""

ORACLE = r"""
import os, sys, pathlib
text = pathlib.Path("leak.txt").read_text() if os.path.exists("leak.txt") else "nothing"
print(text)
print(os.environ.get("TASK_GIVEN"), os.environ.get("DATABASE_URL"), file=sys.stderr)
sys.exit(f"wrong, says {os.environ['DATABASE_URL']}: {text[-200:]}")
"""

CONFTEST = f"""
import logging, warnings
import pytest

@pytest.fixture
def database():
    logging.getLogger("app").debug("connecting to %s with %s", {BY_FIXTURE!r}, {NOBODYS!r})
    return {BY_FIXTURE!r}

@pytest.fixture
def broken():
    raise ConnectionError("refused: {NOBODYS}")
"""

TASK = """\
prompt: Do it.
fixtures: {fixture}
sandbox:
  env: {{TASK_GIVEN: "${{TASK_VALUE}}", LEVEL: "${{DEBUG_LEVEL}}", PORT: "${{SOME_PORT}}"}}
oracles:
  - run: [python3, "{{oracle}}/judge.py"]
    name: judge
    reveal: full
    assets: {{files: {{judge.py: {oracle}}}}}
"""

PYTHON_TEST = f"""
import logging, warnings
import pytest

@pytest.mark.agentbench(task="tasks/wrong.yaml")
def test_own(agentbench_run, record_property, caplog):
    found = agentbench_run.completed.stdout.text().splitlines()[0]
    logging.getLogger("app").warning("got %s", found)
    warnings.warn("careless: " + found)
    record_property("found", found)
    print(found)
    secret = {NOBODYS!r}
    assert found == "nothing", secret
"""


def spellings(secret: str) -> Iterator[str]:
    """How a secret may look in a file."""
    raw = secret.encode()
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (repr(secret)[1:-1], repr(raw)[2:-1], escape(secret), raw.hex(), raw.hex().upper())
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + raw).decode()
        core = whole[4 if shift else 0 : len(raw) // 3 * 4 - 4]
        yield from (core, core.replace("+", "-").replace("/", "_"))


def leaks(data: bytes) -> list[str]:
    """The spellings that some bytes hold, also where lines are joined."""
    found = []
    for text in (data, data.replace(b"\n", b""), data.replace(b"\n+", b"")):
        for secret in PLANTED:
            found += [one for one in spellings(secret) if one.encode() in text]
    return found


def files_of(directory: Path) -> Iterator[tuple[str, bytes]]:
    """All that lies below a directory, and what lies in its tar files."""
    for path in sorted(directory.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield str(path), str(path).encode() + data
        if path.suffix == ".tar" and data:
            with tarfile.open(fileobj=BytesIO(data)) as tar:
                for member in tar:
                    file = tar.extractfile(member)
                    yield f"{path}: {member.name}", file.read() if file else b""
        elif path.suffix == ".gz":
            yield f"{path} unpacked", gzip.decompress(data)


@pytest.fixture
def leaky(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An agent that prints and writes every secret, in tasks that fail and err."""
    for name, value in PLAIN_WORDS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("VARIANT_VALUE", BY_VARIANT)
    monkeypatch.setenv("TASK_VALUE", BY_TASK)
    monkeypatch.setenv("SOMEBODYS_API_KEY", NOBODYS)
    for name in ("add", "greet"):
        (project.pytester.path / f"tasks/{name}.yaml").unlink()
    project.write("conftest.py", CONFTEST)
    oracle = json.dumps(ORACLE)
    project.write("tasks/wrong.yaml", TASK.format(fixture="[]", oracle=oracle).replace(
        "LEVEL:", 'DATABASE_URL: "${DB}", LEVEL:'
    ))  # fmt: skip
    monkeypatch.setenv("DB", BY_FIXTURE)
    given = "{database: DATABASE_URL}"
    project.write("tasks/given.yaml", TASK.format(fixture=given, oracle=oracle))
    project.write("tasks/unready.yaml", TASK.format(fixture="[broken]", oracle=oracle))
    project.write("agent.py", AGENT)
    found = base64.b85encode(NOBODYS.encode()).decode()
    variants = "".join(
        f"""
  {how}:
    agent: command
    options: {{run: [python3, -c, {json.dumps(AGENT)}, {json.dumps(found)}, {how}]}}
    env: {{VARIANT_GIVEN: "${{VARIANT_VALUE}}", MY_TOKEN: {WRITTEN}, LOUD: "${{VERBOSE}}"}}
"""
        for how in ("flood", "crash")
    )
    project.write("agentbench.yaml", f"variants:{variants}")
    return project


def no_leak(name: str, data: bytes) -> None:
    """Fail with what was found, and with what stands around it."""
    found = leaks(data)
    if found:
        place = data.find(found[0].encode())
        pytest.fail(f"{name} has {found[0]!r}: {data[max(place - 80, 0) : place + 120]!r}")


def test_nothing_that_is_written_or_printed_has_a_secret(
    leaky: Project, workers: tuple[str, ...]
) -> None:
    """Run directory, both JUnit files, HTML, log file and terminal: no secret, in no spelling."""
    require("pytest-html")
    leaky.write("test_own.py", PYTHON_TEST)
    result = leaky.run(
        *workers, "tasks", "test_own.py", "-p", "metadata", "-p", "html_fixtures", "-p", "html",
        "--html=report.html", "--self-contained-html", "--showlocals",
        "--junitxml=junit.xml", "-o", "junit_logging=all", "--agentbench-junit=suites.xml",
        "--agentbench-keep=all", "--log-file=debug.log", "--log-level=DEBUG", "-rA", "-vv",
        f"--agentbench-set=env.EXTRA_TOKEN={WRITTEN}", f"--deselect=x.py::{NOBODYS}",
    )  # fmt: skip
    assert result.ret == pytest.ExitCode.TESTS_FAILED, result.stdout.str()
    outcomes = {(row["outcome"], row["reason"]) for row in leaky.records().values()}
    assert outcomes == {("failed", "oracle"), ("error", "setup"), ("failed", "assertion")}
    root = leaky.pytester.path
    outputs = dict(files_of(root / ".agentbench"))
    for name in ("junit.xml", "suites.xml", "report.html", "debug.log"):
        outputs[name] = (root / name).read_bytes()
    outputs["terminal"] = result.stdout.str().encode() + result.stderr.str().encode()
    said = leaky.pytester.run(sys.executable, "-m", "pytest_agentbench.cli", "report", "latest")
    assert said.ret == 0
    outputs["agentbench report"] = said.stdout.str().encode()
    for name, data in outputs.items():
        no_leak(name, data)
    # What is no secret is still there to be read.
    printed = next(data for name, data in outputs.items() if name.endswith("/stdout.txt"))
    assert b"tokens: 1200, warning, 8080, true" in printed
    assert printed.count(b"[redacted]") > 20
    if not workers:  # their processes all write to the one file
        assert b"app:[redacted]@db.example/shop with [redacted]" in outputs["debug.log"]
    assert any(name.endswith("files/leak.txt") for name in outputs)


def test_what_was_cut_leaves_no_half_of_a_secret(leaky: Project) -> None:
    """A secret that begins before a gap of a stream, or ends behind it, is none half."""
    leaky.run("tasks/wrong.yaml", "-k", "flood")
    printed = next(leaky.latest.rglob("stdout.txt")).read_bytes()
    assert b"bytes left out" in printed
    assert NOBODYS[:8].encode() not in printed
    assert NOBODYS[-8:].encode() not in printed


def test_a_delta_without_its_secrets_can_still_be_laid_over_the_template(leaky: Project) -> None:
    """The stored tar has every file, under names without secrets, and the record says so."""
    leaky.run("tasks/wrong.yaml", "-k", "crash")
    (record,) = leaky.records().values()
    with tarfile.open(next(leaky.latest.rglob("changes.tar"))) as tar:
        assert tar.getnames() == ["files/leak.txt", "files/name-[redacted].txt"]
    assert record["diagnostics"][-1] == (
        "changes.tar held a secret, now replaced: it is not quite what was scored"
        " (leak.txt, name-[redacted].txt)"
    )


def test_a_run_without_secrets_has_no_marks(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, levels, ports and words are no secrets, whatever their variables are called."""
    for name, value in {"MAX_TOKENS": "12000000", "TOKEN_LIMIT": "200000", "AUTH": "true",
                        "SECRET_NAME": "hidden-tests", "TOKENIZERS_PARALLELISM": "disabled",
                        "ANY_PASSWORD": "greet", "PWD_FILE": "greeting.txt"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for name in ("add", "greet"):
        path = project.pytester.path / f"tasks/{name}.yaml"
        path.write_text(path.read_text() + 'sandbox: {env: {N: "${MAX_TOKENS}", L: "${AUTH}"}}\n')
    project.run("--agentbench-keep=all").assert_outcomes(passed=2)
    for name, data in files_of(project.pytester.path / ".agentbench"):
        if "12000000" not in name:
            assert b"[redacted]" not in data, name


FIXED = {"PATH", "HOME", "TMPDIR", "LANG", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
OF_A_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}
ANNOUNCED = {
    "AGENTBENCH_TASK", "AGENTBENCH_VARIANT", "AGENTBENCH_REPEAT", "AGENTBENCH_PROMPT_FILE"
}  # fmt: skip
LOOK = (
    "env -0 > names; sh -lc env > login; cat /proc/self/environ > self;"
    " [ $$ -gt 50 ] || cat /proc/[0-9]*/environ > all"
)
"""What there is to be seen; without a process list of its own, the machine's is left alone."""


@pytest.mark.parametrize("driver", ["local", "bubblewrap"])
def test_the_environment_is_what_was_given(
    project: Project, monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    """Set-up, agent and oracle see fixed names and what was given, and nothing of the harness."""
    if driver == "bubblewrap":
        require("bubblewrap")
    monkeypatch.setenv("HARNESS_ONLY", NOBODYS)
    monkeypatch.setenv("BASH_ENV", "/tmp/planted")
    monkeypatch.setenv("ENV", "/tmp/planted")
    for name in ("one", "two"):
        project.write(
            f"tasks/{name}.yaml",
            "prompt: Look.\n"
            f"workspace: {{setup: ['mkdir setup && cd setup && {{ {LOOK}; }}']}}\n"
            "sandbox: {env: {GIVEN: yes}}\n"
            f"oracles: [{{run: 'mkdir oracle && cd oracle && {{ {LOOK}; }}; cd ..; tail -n +1 */*;"
            " exit 1'}]\n",
        )
    look = f"mkdir agent && cd agent && {{ {LOOK}; }}; cd ..; tail -n +1 */*; env -0"
    project.write(
        "agentbench.yaml",
        f"variants: {{v: {{agent: command, env: {{MINE: own}}, options: {{run: '{look}'}}}}}}\n",
    )
    arguments = (f"--agentbench-sandbox={driver}", "--agentbench-keep=all")
    project.run("tasks/one.yaml", "tasks/two.yaml", *arguments).assert_outcomes(failed=2)
    printed = [path.read_bytes() for path in sorted(project.latest.glob("artifacts/**/*.txt"))]
    everything = b"\n".join(printed)
    for secret in (b"HARNESS_ONLY", b"[redacted]", b"PYTEST_", b"BASH_ENV", b"/tmp/planted"):
        assert secret not in everything
    names = {
        "setup": FIXED | {"GIVEN"},
        "agent": FIXED | {"GIVEN", "MINE"} | ANNOUNCED,
        "oracle": FIXED | {"GIVEN"},
    }
    for role, expected in names.items():
        shown = [text.split(f"==> {role}/names <==\n".encode())[1:] for text in printed]
        listed = [part.split(b"\n==>")[0] for parts in shown for part in parts]
        assert listed, role
        for one in listed:
            seen = {line.split(b"=")[0].decode() for line in one.split(b"\0") if b"=" in line}
            assert seen - OF_A_SHELL == expected, role
