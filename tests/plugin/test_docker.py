"""Trials in containers of a real engine, through pytest as its users drive it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from projects import ADD, GREET, Project
from pytest_agentbench.sandboxes.docker import leftovers
from pytest_agentbench.sandboxes.docker.calls import connect
from requirements import require

PYTHON = "agentbench-test/python:1"
BUSYBOX = "agentbench-test/busybox:1"
WALLS = f'\nsandbox: {{driver: docker, image: "{PYTHON}"}}\n'


@pytest.fixture(autouse=True)
def engine() -> None:
    """A real one."""
    require("docker")


@pytest.fixture
def docked(pytester: pytest.Pytester) -> Project:
    """Two tasks that run in containers."""
    made = Project(pytester)
    made.write("pytest.ini", "[pytest]\n")
    made.write("tasks/add.yaml", ADD + WALLS)
    made.write("tasks/greet.yaml", GREET + WALLS)
    return made


def simple(project: Project, name: str, walls: str, *, check: str, more: str = "") -> None:
    """A task that is judged by one command."""
    project.write(
        f"tasks/{name}.yaml",
        f"prompt: work on {name}\nsandbox: {{driver: docker, {walls}}}\n"
        f"oracles:\n  - run: {json.dumps(check)}\n{more}",
    )


def left_in_the_engine(owner: int) -> list[str]:
    """What a process has there still: containers, volumes and images."""
    api = connect()
    try:
        found = []
        for kind, rows in (
            ("container", api.containers(all=True, filters={"label": leftovers.OWNER})),
            ("volume", api.volumes(filters={"label": leftovers.OWNER})["Volumes"] or []),
            ("image", api.images(filters={"label": leftovers.OWNER})),
        ):
            for row in rows:
                # Several sessions may hold one image, each by a tag of its own.
                tags = [tag for tag in row.get("RepoTags") or [] if "<none>" not in tag]
                words = [tag.split("-") for tag in tags]
                words = words or [row["Labels"][leftovers.OWNER].split(":")]
                if any(str(owner) in each for each in words):
                    found.append(f"{kind} {row.get('Id') or row.get('Name')}")
        return found
    finally:
        api.close()


def told(project: Project) -> dict[str, tuple[str, str | None]]:
    """Outcome and reason of each trial by its task."""
    return {
        key.partition("[")[0]: (row["outcome"], row["reason"])
        for key, row in project.records().items()
    }


def message(project: Project, task: str) -> str:
    """What a task's only trial says of itself."""
    return next(
        str(row["message"])
        for key, row in project.records().items()
        if key.partition("[")[0] == task
    )


def test_right_passes_and_wrong_fails(docked: Project, workers: tuple[str, ...]) -> None:
    """The reference passes, one wrong answer fails beside a right one, nothing is left over."""
    result = docked.run(*workers)
    result.assert_outcomes(passed=2)
    for row in docked.records().values():
        assert row["sandbox"]["driver"] == "docker"
        assert {"isolates_processes", "hides_host"} <= set(row["sandbox"]["capabilities"])
    docked.script(add="[]", greet="[{run: 'echo hello > greeting.txt'}]")
    result = docked.run(*workers)
    result.assert_outcomes(passed=1, failed=1)
    assert told(docked) == {"add": ("failed", "oracle"), "greet": ("passed", None)}


def test_an_image_alone_chooses_containers(docked: Project) -> None:
    """``image`` says that a container is wanted; other drivers say that they have none."""
    docked.write("tasks/add.yaml", ADD + f'\nsandbox: {{image: "{PYTHON}"}}\n')
    docked.run().assert_outcomes(passed=2)
    docked.run("--agentbench-sandbox=local").assert_outcomes(errors=2)
    assert "cannot give what the task asks for: image" in message(docked, "add") or (
        "image" in message(docked, "add")
    )
    docked.write("tasks/greet.yaml", GREET + "\nsandbox: {driver: docker}\n")
    docked.run().assert_outcomes(passed=1, errors=1)
    assert "names no image" in message(docked, "greet")


def test_time_and_memory_end_what_runs_inside(docked: Project) -> None:
    """A daemon of an agent that ran out of time is dead, and memory that ran out is told."""
    image = f'image: "{PYTHON}"'
    simple(docked, "add", image, check="test ! -e late", more="limits: {time: 2}\n")
    simple(docked, "greet", f"{image}, memory: 64m", check="test -e done")
    eat = "python3 -c 'x = [bytearray(1 << 20) for _ in range(400)]'"
    docked.script(
        add="[{run: '(setsid sh -c \"sleep 4; touch late\" &) ; sleep 60'}]",
        greet=f"[{{run: {json.dumps(eat + '; touch done; exit 0')}}}]",
    )
    docked.run().assert_outcomes(passed=2)
    rows = {key.partition("[")[0]: row for key, row in docked.records().items()}
    assert "ran out of time" in json.dumps(rows["add"]["diagnostics"])


def test_set_up_outside_of_the_workspace_is_kept(docked: Project) -> None:
    """What a task's root installs is there for agent and oracle, and goes with the session."""
    walls = f'image: "{PYTHON}", user: root'
    script = 'printf "#!/bin/sh\\necho 42" > /usr/bin/answer; chmod 755 /usr/bin/answer'
    install = f"workspace:\n  setup: [{json.dumps(script)}]\n"
    simple(docked, "add", walls, check='test "$(answer)$(cat said)" = 4242', more=install)
    docked.script(add="[{run: 'answer > said'}]", greet="[{run: 'answer > greeting.txt'}]")
    docked.run().assert_outcomes(passed=1, failed=1)
    assert told(docked)["add"] == ("passed", None)


def test_start_up_code_in_a_home_is_not_committed(docked: Project) -> None:
    """With ``scoring: commit``, programs of oracles find an empty home and temporary directory."""
    check = "python3 -c 'import sys; sys.exit(1)'"
    simple(docked, "add", f'image: "{PYTHON}", scoring: commit', check=check)
    simple(
        docked,
        "greet",
        f'image: "{PYTHON}", scoring: commit',
        check='test -z "$(ls -A "$HOME" | grep -v temporary)" && test -z "$(ls -A "$TMPDIR")"',
    )
    site = "$HOME/.local/lib/python3.11/site-packages"
    steps = (
        f"mkdir -p {site}; echo 'import os; os._exit(0)' > {site}/usercustomize.py; touch /tmp/x"
    )
    played = f"[{{run: {json.dumps(steps)}}}]"
    docked.script(add=played, greet=played)
    docked.run().assert_outcomes(passed=1, failed=1)
    assert told(docked) == {"add": ("failed", "oracle"), "greet": ("passed", None)}


def test_stale_bytecode_stays_stale(docked: Project) -> None:
    """Times are carried: bytecode of an older source of the same size is not taken for it."""
    image = f'image: "{PYTHON}"'
    simple(docked, "add", image, check="python3 -c 'import calc; assert calc.add(2, 3) == 5'")
    simple(docked, "greet", image, check="test $(stat -c %Y calc.py) -gt 1000000000")
    script = (
        "printf 'def add(a, b):\\n    return a - b\\n' > calc.py;"
        " env -u PYTHONDONTWRITEBYTECODE python3 -c 'import calc'; sleep 1.1;"
        " printf 'def add(a, b):\\n    return a + b\\n' > calc.py"
    )
    steps = f"[{{run: {json.dumps(script)}}}]"
    docked.script(add=steps, greet=steps)
    docked.run().assert_outcomes(passed=2)


def test_a_command_cannot_speak_for_the_engine(docked: Project) -> None:
    """Who prints the engine's refusal and ends with 126 is judged like any other."""
    image = f'image: "{PYTHON}"'
    simple(docked, "add", image, check="test -e done")
    simple(docked, "greet", image, check="test -e done")
    docked.write(
        "agentbench.yaml",
        "variants:\n  bot:\n    agent: command\n    options:\n      run: >-\n"
        "        touch done; echo 'OCI runtime exec failed: exec failed: no: unknown'; exit 126\n",
    )
    docked.run().assert_outcomes(passed=2)


def test_what_an_agent_installs_elsewhere(docked: Project) -> None:
    """Judged afresh it is gone; with ``scoring: commit`` its files are there, and no process."""
    walls = f'image: "{PYTHON}", user: root'
    check = "test -e /opt/tool && test -e mine && ! ps ax 2>/dev/null | grep -q 'sleep 77'"
    simple(docked, "add", walls, check=check)
    simple(docked, "greet", f"{walls}, scoring: commit", check=check)
    steps = "[{run: 'touch /opt/tool mine; (setsid sleep 77 &)'}]"
    docked.script(add=steps, greet=steps)
    docked.run().assert_outcomes(passed=1, failed=1)
    assert told(docked) == {"add": ("failed", "oracle"), "greet": ("passed", None)}


def test_built_images(docked: Project, workers: tuple[str, ...]) -> None:
    """A Dockerfile is built once; one that fails is its own task's error, told with its words."""
    docked.write("images/good/Dockerfile", f"FROM {BUSYBOX}\nARG WORD\nRUN echo $WORD > /word\n")
    docked.write("images/bad/Dockerfile", f"FROM {BUSYBOX}\nRUN echo so sad; exit 3\n")
    build = "build: {context: ../images/good, args: {WORD: hi}}"
    simple(docked, "add", build, check='test "$(cat /word)" = hi')
    simple(docked, "greet", "build: ../images/bad", check="true")
    # It has no Python, which scripts are played with.
    docked.write("agentbench.yaml", "variants: {bot: {agent: command, options: {run: 'true'}}}\n")
    docked.run(*workers).assert_outcomes(passed=1, errors=1)
    assert told(docked) == {"add": ("passed", None), "greet": ("error", "sandbox")}
    assert "so sad" in message(docked, "greet")


def test_a_build_takes_nothing_that_is_hidden(docked: Project) -> None:
    """A context that holds an oracle, or a hard link to one, builds no image."""
    oracle = docked.write("tasks/oracle/check.sh", "exit 0\n" * 20)
    docked.write("images/one/Dockerfile", f"FROM {BUSYBOX}\n")
    os.link(oracle, docked.pytester.path / "images" / "one" / "innocent")
    docked.write("images/two/Dockerfile", f"FROM {BUSYBOX}\n")
    more = "    assets: oracle\n"
    simple(docked, "add", "build: ../images/one", check='sh "$ORACLE/check.sh"', more=more)
    simple(docked, "greet", "build: ../images/two", check='sh "$ORACLE/check.sh"', more=more)
    docked.write("agentbench.yaml", "variants: {bot: {agent: command, options: {run: 'true'}}}\n")
    docked.run().assert_outcomes(passed=1, errors=1)
    assert told(docked) == {"add": ("error", "setup"), "greet": ("passed", None)}
    assert "innocent, which is hidden" in message(docked, "add")


def test_no_image_and_no_engine(docked: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is the error of the trials that need it, with an advice; the others are measured."""
    simple(docked, "add", "image: no-such-image-here, pull: never", check="true")
    docked.run().assert_outcomes(passed=1, errors=1)
    assert "there is no image no-such-image-here" in message(docked, "add")
    docked.write("tasks/greet.yaml", GREET + "\nsandbox: {driver: local}\n")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    docked.run().assert_outcomes(passed=1, errors=1)
    assert told(docked) == {"add": ("error", "sandbox"), "greet": ("passed", None)}
    assert "DOCKER_HOST" in message(docked, "add")


def test_network_user_and_places(docked: Project) -> None:
    """No network unless asked for; not root unless asked for; the workspace where it is wanted."""
    image = f'image: "{PYTHON}"'
    look = (
        "import os, socket; names = {n for _, n in socket.if_nameindex()} - {'lo'};"
        " print(bool(names), os.getuid(), os.getcwd(), open('/proc/self/status').read()"
        ".split('CapEff:')[1].split()[0])"
    )
    solve = f"[{{run: {json.dumps(f'python3 -c {json.dumps(look)} > said')}}}]"
    no_caps = "0" * 16
    simple(docked, "add", image, check=f'test "$(cat said)" = "False 1000 /workspace {no_caps}"')
    simple(
        docked,
        "greet",
        f"{image}, network: full, user: '1234', workdir: /srv/place",
        check=f'test "$(cat said)" = "True 1234 /srv/place {no_caps}"',
    )
    docked.script(add=solve, greet=solve)
    docked.run().assert_outcomes(passed=2)


def test_mounts_are_read_only_and_never_the_task(docked: Project) -> None:
    """A host directory is shown and cannot be written to; one with something hidden is refused."""
    docked.write("data/value", "7")
    docked.write("tasks/hidden/check.sh", "true")
    image = f'image: "{PYTHON}"'
    check = 'test "$(cat said)" = 7 && test ! -e /data/mine'
    simple(docked, "add", f"{image}, mounts: {{/data: ../data}}", check=check)
    simple(docked, "greet", f"{image}, mounts: {{/tasks: .}}", check="true")
    simple(
        docked,
        "twice",
        f"{image}, mounts: {{/a: ../data, /b: ../data}}",
        check="cat /a/value /b/value",
    )
    simple(docked, "inside", f"{image}, mounts: {{/workspace/data: ../data}}", check="true")
    simple(docked, "nowhere", f"{image}, mounts: {{/data: ../nowhere}}", check="true")
    steps = "[{run: 'cat /data/value > said; touch /data/mine || true'}]"
    others = dict.fromkeys(("greet", "twice", "inside", "nowhere"), "[{run: 'touch x'}]")
    docked.script(add=steps, **others)
    docked.run().assert_outcomes(passed=2, errors=3)
    assert told(docked)["twice"] == ("passed", None)
    assert told(docked)["greet"] == ("error", "setup")
    assert "would show the agent" in message(docked, "greet")
    assert "/workspace is the sandbox's own" in message(docked, "inside")
    assert told(docked)["nowhere"] == ("error", "sandbox")
    assert not (docked.pytester.path / "nowhere").exists()


def test_files_of_the_image_are_no_workspace(docked: Project) -> None:
    """Where the image has files, a workspace would take them for the agent's: refused."""
    simple(docked, "add", f'image: "{PYTHON}", workdir: /etc', check="true")
    docked.run().assert_outcomes(passed=1, errors=1)
    assert "has files at /etc" in message(docked, "add")


@contextmanager
def running(project: Project, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A session whose agents have begun."""
    steps = "[{run: 'touch begun; sleep 60'}]"
    project.script(add=steps, greet=steps)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command],
        cwd=project.pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            until = time.monotonic() + 60
            while not agents_of(process.pid):
                assert time.monotonic() < until, "no agent begins"
                assert process.poll() is None, process.communicate()[0]
                time.sleep(0.1)
            yield process
        finally:
            process.kill()


def agents_of(owner: int) -> list[dict[str, Any]]:
    """The containers in which a process's agents are at work."""
    api = connect()
    try:
        rows = api.containers(filters={"label": [leftovers.OWNER, f"{leftovers.ROLE}=agent"]})
        mine = [row for row in rows if str(owner) in row["Labels"][leftovers.OWNER].split(":")]
        return [row for row in mine if api.inspect_container(row["Id"])["ExecIDs"]]
    finally:
        api.close()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(docked: Project, sent: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end the session with 2; no container, volume or image of it is left."""
    with running(docked) as process:
        process.send_signal(sent)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
    assert left_in_the_engine(process.pid) == []
    assert {row["outcome"] for row in docked.records().values()} == {"cancelled"}


def test_what_a_killed_session_left_is_reaped(docked: Project) -> None:
    """``kill -9`` leaves a container; the next session removes it, and no living one's."""
    with running(docked) as living, running(docked) as killed:
        killed.kill()
        killed.wait()
        assert left_in_the_engine(killed.pid)
        docked.script(add="[]", greet="[{run: 'echo hello > greeting.txt'}]")
        docked.run().assert_outcomes(passed=1, failed=1)
        assert left_in_the_engine(killed.pid) == []
        assert left_in_the_engine(living.pid)
        living.send_signal(signal.SIGINT)
        living.communicate(timeout=60)
    assert left_in_the_engine(living.pid) == []


class Wire:
    """Stands between a session and the engine, and can be cut."""

    def __init__(self, path: Path, engine: str) -> None:
        self._engine = engine
        self._sockets: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self) -> None:
        """As an engine that is restarted: connections end, and no new one is taken."""
        for one in [self._listener, *self._sockets]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._engine)
                self._sockets += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def test_an_engine_that_goes_away_in_mid_trial(
    docked: Project, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its trials are errors that say so; the session goes on to the others, and ends."""
    engine = os.environ["DOCKER_HOST"].removeprefix("unix://")
    path = tmp_path_factory.mktemp("w") / "s"
    wire = Wire(path, engine)
    docked.write(
        "tasks/zz.yaml", GREET.replace("id: greet", "id: zz") + "\nsandbox: {driver: local}\n"
    )
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_HOST", f"unix://{path}")
        steps = "[{run: 'touch begun; sleep 60'}]"
        docked.script(add=steps, greet=steps, zz="[{run: 'echo hello > greeting.txt'}]")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        with subprocess.Popen(
            command, cwd=docked.pytester.path, stdout=subprocess.PIPE, text=True
        ) as process:
            patch.undo()
            until = time.monotonic() + 60
            while not agents_of(process.pid):
                assert time.monotonic() < until, "no agent begins"
                time.sleep(0.1)
            wire.cut()
            output, _ = process.communicate(timeout=90)
    assert process.returncode == 1, output
    assert told(docked) == {
        "add": ("error", "sandbox"),
        "greet": ("error", "sandbox"),
        "zz": ("passed", None),
    }
    leftovers.reap()
    assert left_in_the_engine(process.pid) == []
