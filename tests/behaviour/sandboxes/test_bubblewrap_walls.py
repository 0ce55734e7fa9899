"""What can and cannot be seen from inside bubblewrap."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import SandboxDriver, SandboxRequest, Template
from pytest_agentbench.model.run import Completed
from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.sandboxes.bubblewrap import BubblewrapDriver
from pytest_agentbench.sandboxes.runtime import Runtime, base_executable
from pytest_agentbench.sandboxes.view import PYTEST
from pytest_agentbench.sandboxes.workspace import WorkArea, reap_stale
from requirements import require

HANG_S = 30.0
PLAIN = SandboxSpec()


def run(
    driver: SandboxDriver,
    template: Template,
    argv: list[str],
    *,
    spec: SandboxSpec = PLAIN,
    network: bool = False,
    roots: tuple[Path, ...] = (),
    env: Mapping[str, str] | None = None,
) -> Completed:
    """Run one command in a sandbox; ``{python}`` and ``{pytest}`` stand for its paths."""

    async def whole() -> Completed:
        sandbox = await driver.open(template, SandboxRequest(spec, network=network, roots=roots))
        try:
            paths = {"python": sandbox.python, "pytest": sandbox.pytest_path}
            words = [word.format(**paths) if word.startswith("{") else word for word in argv]
            values = {name: value.format(**paths) for name, value in (env or {}).items()}
            return await sandbox.run(words, timeout_s=HANG_S, env=values)
        finally:
            await sandbox.close()

    return asyncio.run(whole())


def sh(driver: SandboxDriver, template: Template, script: str) -> str:
    done = run(driver, template, ["sh", "-c", script])
    return done.stdout.text()


def test_the_root_holds_only_what_is_needed(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """Of the host's root directory only the system is there, beside the sandbox's own places."""
    seen = set(sh(bubblewrap, template, "ls /").split())
    system = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "proc", "dev"}
    own = {"workspace", "tmp", "home", "run", "var", "opt"}
    prefix = {Path(sys.base_prefix).resolve().parts[1]}
    assert seen <= system | own | prefix
    assert {"usr", "etc", "proc", "workspace"} <= seen


def test_no_home_and_no_repository_is_visible(
    bubblewrap: BubblewrapDriver, template: Template, repository: Path, tmp_path: Path
) -> None:
    """Neither the user's files, the checkout, the harness's environment nor its work area exist."""
    secrets = [Path.home() / ".bashrc", repository / "pyproject.toml", tmp_path, Path(sys.prefix)]
    for path in [each for each in secrets if each.exists()]:
        if path == Path(sys.base_prefix):
            continue
        assert sh(bubblewrap, template, f"test -e '{path}' && echo seen || echo gone") == "gone\n"


def test_a_base_interpreter_in_a_home_directory_shows_nothing_else_of_it(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """Directories above the interpreter hold nothing but the way to it."""
    prefix = Path(sys.base_prefix).resolve()
    if prefix == Path("/usr"):
        pytest.skip("the base interpreter is the system's")
    for above in [each for each in prefix.parents if each != Path("/")]:
        if above == Path("/usr") or Path("/usr") in above.parents:
            continue
        way = prefix.relative_to(above).parts[0]
        assert sh(bubblewrap, template, f"ls -A '{above}'").split() == [way]


def test_etc_is_a_selection(bubblewrap: BubblewrapDriver, template: Template) -> None:
    """No password hashes, host keys or private certificates; user names are synthetic."""
    script = "ls /etc/shadow /etc/gshadow /etc/ssh /etc/sudoers /etc/ssl/private; cat /etc/passwd"
    text = sh(bubblewrap, template, script)
    assert [line.partition(":")[0] for line in text.splitlines()] == ["root", "user", "nobody"]


def test_the_user_is_nobody_in_particular(bubblewrap: BubblewrapDriver, template: Template) -> None:
    """No root, no capability in any set, no way to gain one, and another host name."""
    text = sh(
        bubblewrap,
        template,
        "id -u; id -g; hostname; grep -E '^(Cap|NoNewPrivs)' /proc/self/status",
    )
    uid, gid, host, *rows = text.splitlines()
    assert (uid, gid, host) == ("1000", "1000", "sandbox")
    status = dict(row.split(":\t") for row in rows)
    assert status.pop("NoNewPrivs") == "1"
    assert {int(value, 16) for value in status.values()} == {0}


def test_other_processes_are_invisible(bubblewrap: BubblewrapDriver, template: Template) -> None:
    """/proc shows the command and its reaper; neither the harness's arguments nor its values."""
    script = "ls -d /proc/[0-9]*; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ"
    text = run(bubblewrap, template, ["sh", "-c", script]).stdout.text()
    listed, _, values = text.partition("\0")
    pids = {int(Path(line).name) for line in listed.splitlines() if line.startswith("/proc/")}
    assert 1 in pids
    assert max(pids) < 12
    assert "pytest" not in values.replace(f"PYTHONPATH={PYTEST}", "")
    assert str(Path.cwd()) not in values


def command_lines() -> list[bytes]:
    lines = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(each.read_bytes())
        except OSError:
            continue
    return lines


def test_secrets_are_on_no_command_line_of_the_host(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """The environment of a command cannot be read from bwrap's own arguments."""

    async def whole() -> list[bytes]:
        sandbox = await bubblewrap.open(template, SandboxRequest(SandboxSpec()))
        task = asyncio.create_task(
            sandbox.run(["sleep", "2"], timeout_s=HANG_S, env={"KEY": "t0p-s3cret-value"})
        )
        await asyncio.sleep(1)
        lines = command_lines()
        await task
        await sandbox.close()
        return lines

    lines = asyncio.run(whole())
    assert any(b"bwrap" in line for line in lines)
    assert not any(b"t0p-s3cret-value" in line for line in lines)


def test_everything_but_its_own_places_is_read_only(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """Neither the system, the interpreter, pytest nor the root can be written to."""
    python = Path(sys.base_prefix).resolve()
    script = f"""
    for place in / /usr /usr/bin /etc /opt/pytest '{python}' /run /var /home; do
      (echo x > "$place/planted") 2>/dev/null && echo "wrote $place"
    done
    for place in /workspace /tmp /home/user /var/tmp; do
      (echo x > "$place/planted") 2>/dev/null || echo "cannot write $place"
    done
    """
    assert sh(bubblewrap, template, textwrap.dedent(script)) == ""


KERNEL_FILES = """
import os, stat

tried, opened = 0, []
for top in sorted(os.listdir("/proc")):
    if top.isdigit() or top in ("self", "thread-self"):
        continue
    places = [f"/proc/{top}"]
    while places:
        place = places.pop()
        try:
            mode = os.lstat(place).st_mode
            if stat.S_ISDIR(mode):
                places += [f"{place}/{name}" for name in os.listdir(place)]
            if not stat.S_ISREG(mode):
                continue
            tried += 1
            os.close(os.open(place, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            continue
        opened.append(place)
try:
    open("/proc/kcore", "rb")
    opened.append("/proc/kcore to read")
except OSError:
    pass
with open("/proc/self/comm", "w"):
    print(tried > 300, opened)
"""


@pytest.mark.parametrize("network", [False, True])
def test_no_file_of_the_kernels_can_be_opened_to_write(
    bubblewrap: BubblewrapDriver, template: Template, *, network: bool
) -> None:
    """No setting of the whole machine can be changed, by root's agents either; a process's can.

    The uid inside is the harness's own outside, and sysctls look at nothing else.
    """
    done = run(bubblewrap, template, ["{python}", "-I", "-c", KERNEL_FILES], network=network)
    assert (done.stdout.text(), done.stderr.text()) == ("True []\n", "")


def test_no_network_means_loopback_only(bubblewrap: BubblewrapDriver, template: Template) -> None:
    """Without network there is no interface but ``lo``; with it the host's are there."""
    script = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"
    without = run(bubblewrap, template, ["sh", "-c", script]).stdout.text().split()
    shared = run(bubblewrap, template, ["sh", "-c", script], network=True).stdout.text().split()
    ours = [row.split(":")[0].strip() for row in Path("/proc/net/dev").read_text().splitlines()[2:]]
    assert set(without) <= {"lo", "sit0", "tunl0", "ip6tnl0"}
    assert sorted(shared) == sorted(ours)


def test_the_host_name_service_comes_with_the_network_only(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """Host names that the host knows are not told to a sandbox without network."""
    hosts = run(bubblewrap, template, ["cat", "/etc/hosts"]).stdout.text()
    assert hosts == "127.0.0.1 localhost\n::1 localhost\n"
    online = run(bubblewrap, template, ["cat", "/etc/hosts"], network=True).stdout.text()
    assert online == Path("/etc/hosts").read_text()


def test_python_and_pytest_work_and_no_package_of_the_harness_is_there(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """Pytest runs from its own directory; nothing installed beside the interpreter is visible."""
    done = run(bubblewrap, template, ["{python}", "-m", "pytest", "-q", "src"])
    assert "no tests ran" in done.stdout.text()
    code = (
        "import json, sys, importlib.util as u; names = ['pytest', 'pydantic', 'pip', 'yaml'];"
        "print(json.dumps([n for n in names if u.find_spec(n)]))"
    )
    seen = json.loads(run(bubblewrap, template, ["{python}", "-c", code]).stdout.text())
    assert seen == ["pytest"]
    isolated = run(bubblewrap, template, ["{python}", "-I", "-c", code])
    assert json.loads(isolated.stdout.text()) == []
    assert sh(bubblewrap, template, "ls /usr/lib/python3/dist-packages 2>/dev/null") == ""
    assert sh(bubblewrap, template, "ls /usr/local/lib/python3*/*-packages 2>/dev/null") == ""


def test_python_is_known_by_both_its_names(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """``python`` and ``python3`` are the base interpreter, also where the system has one only."""
    code = "import sys, json; print(sys.prefix)"
    for name in ("python", "python3", f"{PYTEST}/bin/python"):
        done = run(bubblewrap, template, [name, "-c", code])
        assert done.stdout.text().strip() == str(Path(sys.base_prefix).resolve()), name


def test_pytest_is_staged_with_bytecode_that_is_used(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """The staged pytest is loaded from bytecode of the very interpreter."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import _pytest.python, os;"
        "print(_pytest.python.__cached__, os.path.exists(_pytest.python.__cached__))"
    )
    done = run(bubblewrap, template, ["{python}", "-I", "-v", "-c", code, "{pytest}"])
    assert done.stdout.text().endswith("True\n")
    assert "code object from '/opt/pytest/_pytest/python.py'" not in done.stderr.text()


def test_an_interpreter_of_the_tasks_own(
    bubblewrap: BubblewrapDriver, template: Template, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """``sandbox.python`` is first on PATH, and sees its own packages and the staged pytest."""
    home = tmp_path_factory.mktemp("own") / "venv"
    subprocess.run([base_executable(), "-m", "venv", "--without-pip", home], check=True)
    packages = next(home.glob("lib/python*/site-packages"))
    (packages / "its_own.py").write_text("VALUE = 7\n")
    spec = SandboxSpec(python=home / "bin" / "python")
    code = "import its_own, pytest, sys; print(its_own.VALUE, sys.executable, sys.prefix)"
    done = run(
        bubblewrap, template, ["python", "-c", code], spec=spec, env={"PYTHONPATH": "{pytest}"}
    )
    assert done.stdout.text() == f"7 {home}/bin/python {home}\n", done.stderr.text()


def test_roots_and_read_only_paths_are_shown_at_their_own_place(
    bubblewrap: BubblewrapDriver, template: Template, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Paths that a task or an agent asks for can be read and not written."""
    tool, root = tmp_path_factory.mktemp("tool"), tmp_path_factory.mktemp("root")
    (tool / "a").write_text("tool\n")
    (root / "b").write_text("root\n")
    script = f"cat {tool}/a {root}/b; echo x > {tool}/new || echo refused"
    done = run(
        bubblewrap,
        template,
        ["sh", "-c", script],
        spec=SandboxSpec(read_only=(tool,)),
        roots=(root,),
    )
    assert done.stdout.text() == "tool\nroot\nrefused\n"


def test_a_read_only_path_that_does_not_exist_is_named(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """A missing path is an error before anything runs."""
    with pytest.raises(SandboxError, match="/no/such/tool does not exist"):
        run(bubblewrap, template, ["true"], spec=SandboxSpec(read_only=(Path("/no/such/tool"),)))


def test_what_must_be_hidden_is_masked_below_what_is_shown(
    area: WorkArea,
    runtime: Runtime,
    template: Template,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A hidden directory or file below a shown one is empty; one that is asked for is not."""
    require("bubblewrap")
    shown = tmp_path_factory.mktemp("shown")
    for name in ("secret/deep", "secret/needed", "open"):
        (shown / name).mkdir(parents=True)
        (shown / name / "file").write_text(f"{name}\n")
    (shown / "answers.json").write_text("42\n")
    hide = (shown / "secret", shown / "answers.json", Path("/nowhere/at/all"))
    driver = BubblewrapDriver(area, runtime, hide=hide)
    script = f"cd {shown}; cat answers.json open/file secret/needed/file; ls -A secret; find secret"
    spec = SandboxSpec(read_only=(shown, shown / "secret" / "needed"))
    text = run(driver, template, ["sh", "-c", script], spec=spec).stdout.text()
    assert text == ("open\nsecret/needed\nneeded\nsecret\nsecret/needed\nsecret/needed/file\n")


@pytest.mark.parametrize("path", ["/", "/proc", "/proc/1", "/dev"])
def test_the_whole_host_and_its_processes_cannot_be_asked_for(
    bubblewrap: BubblewrapDriver, template: Template, path: str
) -> None:
    """``read_only`` is for directories of tools; what would void the walls is refused."""
    with pytest.raises(SandboxError, match="would show"):
        run(bubblewrap, template, ["true"], spec=SandboxSpec(read_only=(Path(path),)))


def test_walls_that_fail_are_no_result_of_the_command(
    bubblewrap: BubblewrapDriver, template: Template, area: WorkArea
) -> None:
    """When bwrap cannot mount what it must, that is a ``SandboxError``."""

    async def whole() -> None:
        sandbox = await bubblewrap.open(template, SandboxRequest(SandboxSpec()))
        place = await sandbox.scratch()
        next(area.path.glob(f"*{place}")).rmdir()
        with pytest.raises(SandboxError, match="walls"):
            await sandbox.run(["true"], timeout_s=HANG_S)
        await sandbox.close()

    asyncio.run(whole())


@pytest.mark.parametrize(
    "line", ["bwrap: execvp x: No such file or directory", 'echo {"exit-code": 0}']
)
def test_a_command_cannot_forge_what_the_walls_say(
    bubblewrap: BubblewrapDriver, template: Template, line: str
) -> None:
    """A command that prints what bwrap would print is taken for what it is."""
    script = f"echo '{line}' >&2; for fd in 3 4 5 6 7 8 9; do echo '{line}' >&$fd; done; exit 1"
    done = run(bubblewrap, template, ["bash", "-c", script])
    assert (done.exit_code, done.launch_error) == (1, None)


def test_a_daemon_does_not_outlive_its_command(
    bubblewrap: BubblewrapDriver, template: Template
) -> None:
    """What one command left running is not there for the next one in the same sandbox."""

    async def whole() -> tuple[Completed, str]:
        sandbox = await bubblewrap.open(template, SandboxRequest(SandboxSpec()))
        script = "(setsid sh -c 'sleep 1; echo late > /workspace/late' &)"
        first = await sandbox.run(["sh", "-c", script], timeout_s=HANG_S)
        await asyncio.sleep(1.5)
        second = await sandbox.run(["ls", "/workspace"], timeout_s=HANG_S)
        await sandbox.close()
        return first, second.stdout.text()

    first, listing = asyncio.run(whole())
    assert first.exit_code == 0
    assert "late" not in listing


HARNESS = """
import asyncio, sys
from pathlib import Path
from pytest_agentbench.model.contracts import SandboxRequest
from pytest_agentbench.model.task import FileTree, SandboxSpec
from pytest_agentbench.sandboxes.bubblewrap import BubblewrapDriver
from pytest_agentbench.sandboxes.local import LocalDriver
from pytest_agentbench.sandboxes.runtime import Runtime
from pytest_agentbench.sandboxes.view import PYTEST
from pytest_agentbench.sandboxes.workspace import WorkArea, build_template

base, cache, kind, marker = sys.argv[1:]
area = WorkArea(Path(base))
template = build_template(FileTree(), area.fresh())
driver = {"local": LocalDriver, "bubblewrap": BubblewrapDriver}[kind](
    area, Runtime(Path(cache), area)
)

async def main():
    sandbox = await driver.open(template, SandboxRequest(SandboxSpec()))
    script = "exec setsid sleep 300 & sleep 300" if kind == "bubblewrap" else "sleep 300"
    await sandbox.run(["sh", "-c", f"{script}; : {marker}"], timeout_s=300)

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["bubblewrap", "local"])
def test_a_killed_harness_leaves_no_process(tmp_path: Path, runtime_cache: Path, kind: str) -> None:
    """SIGKILL of the harness ends the commands that it ran; its work area can be reaped."""
    if kind == "bubblewrap":
        require("bubblewrap")
    marker = f"orphan-{os.getpid()}-{kind}"
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(tmp_path), str(runtime_cache), kind, marker]
    )

    def running() -> list[str]:
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            try:
                line = (each / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in line and b"asyncio" not in line:
                found.append(each.name)
        return found

    try:
        deadline = time.monotonic() + HANG_S
        while not running() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert running()
        time.sleep(0.5)  # the watcher is told of a command in the moment after its start
        assert reap_stale(tmp_path) == 0
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.wait()
    deadline = time.monotonic() + HANG_S
    while running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running() == []
    assert reap_stale(tmp_path) == 1
    assert list(tmp_path.glob("agentbench-*")) == []
