"""``agentbench doctor``: what works on this machine, and what killed sessions left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import engine
import pytest
from cli.conftest import Agentbench

from pytest_agentbench.cli.dockerengine import bare
from pytest_agentbench.cli.findings import CREDENTIALS
from pytest_agentbench.registry import built_in_names
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.docker.leftovers import OWNER, this_process
from requirements import require

NOWHERE = "unix:///nowhere/docker.sock"


@dataclass
class Diagnosis:
    """What ``agentbench doctor --json`` says."""

    status: int
    isolating: list[str]
    findings: dict[str, dict[str, Any]]
    leftovers: list[str]
    reaped: list[str]

    def facts(self, name: str) -> dict[str, Any]:
        """What a row says, for machines."""
        return dict(self.findings[name]["facts"])

    def works(self, name: str) -> bool | None:
        """Its mark."""
        works: bool | None = self.findings[name]["works"]
        return works


def diagnosed(done: subprocess.CompletedProcess[str]) -> Diagnosis:
    assert done.stderr == ""
    said = json.loads(done.stdout)
    findings = {one["name"]: one for one in said["findings"]}
    return Diagnosis(
        done.returncode, said["isolating"], findings, said["leftovers"], said["reaped"]
    )


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without an engine, without credentials, and where others' work areas are not."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setenv("DOCKER_HOST", NOWHERE)
    for name in CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def no_bwrap(tmp_path: Path) -> str:
    """A PATH without bwrap."""
    (tmp_path / "bin").mkdir()
    return str(tmp_path / "bin")


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine of the tests: where this session's variables said that it is."""
    monkeypatch.setenv("DOCKER_HOST", _ADDRESS)
    require("docker")
    return _ADDRESS


_ADDRESS = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"


def test_each_thing_has_a_row(agentbench: Agentbench) -> None:
    """For people a table with a mark for each thing; for machines the same findings."""
    require("bubblewrap")
    said = diagnosed(agentbench("doctor", "--json"))
    names = ["python", *built_in_names("sandbox"), "cgroups", "disk", "credentials", "leftovers"]
    assert list(said.findings) == names
    shown = agentbench("doctor")
    table, _, rest = shown.stdout.partition("\n\n")
    rows = [line.split()[:2] for line in table.splitlines()]
    marks = {True: "ok", False: "no", None: "-"}
    assert rows == [[name, marks[said.works(name)]] for name in names]
    assert rest.splitlines()[-1] == "isolating: bubblewrap"
    assert (said.status, shown.returncode, said.isolating) == (0, 0, ["bubblewrap"])


def test_bubblewrap_that_works(agentbench: Agentbench) -> None:
    """Its version is told, that it isolates, and what it can limit."""
    require("bubblewrap")
    said = diagnosed(agentbench("doctor", "--json"))
    version = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=True)
    facts = said.facts("bubblewrap")
    assert version.stdout == f"bubblewrap {facts['version']}\n"
    assert said.works("bubblewrap") is True
    assert {"isolates_processes", "hides_host", "controls_network"} <= set(facts["capabilities"])
    limits = {"memory": "limits_memory", "cpu": "limits_cpus", "pids": "limits_pids"}
    usable = {limits[name] for name in said.facts("cgroups")["usable"]}
    assert usable == set(facts["capabilities"]) & set(limits.values())


def test_nothing_isolates(agentbench: Agentbench, no_bwrap: str) -> None:
    """Without bwrap and engine the exit status is 1, and it is told what to do about each."""
    done = agentbench("doctor", path=no_bwrap)
    assert done.returncode == 1
    assert done.stdout.endswith("\nisolating: nothing\n")
    assert "\nbubblewrap   no  bwrap is not installed\n" in done.stdout
    assert "\n- bubblewrap: try: install the package `bubblewrap`\n" in done.stdout
    assert "\ndocker       no  the engine cannot be reached: " in done.stdout
    assert f", at {NOWHERE} (DOCKER_HOST)\n" in done.stdout
    assert "\n- docker: try: start the engine, or let DOCKER_HOST name one that runs\n" in (
        done.stdout
    )
    assert "Traceback" not in done.stderr


def test_walls_that_do_not_stand(agentbench: Agentbench, no_bwrap: str) -> None:
    """A bwrap that is there but fails isolates nothing: what it said is told."""
    broken = Path(no_bwrap, "bwrap")
    broken.write_text("#!/bin/sh\necho 'no user namespaces today' >&2\nexit 1\n")
    broken.chmod(0o755)
    said = diagnosed(agentbench("doctor", "--json", path=no_bwrap))
    assert (said.status, said.isolating, said.works("bubblewrap")) == (1, [], False)
    assert "no user namespaces today" in said.findings["bubblewrap"]["summary"]


def test_an_engine_that_answers(agentbench: Agentbench, no_bwrap: str, address: str) -> None:
    """Where it is, its versions, what it can do, and the space where it keeps its data."""
    said = diagnosed(agentbench("doctor", "--json", path=no_bwrap))
    client = docker.DockerClient(base_url=address)
    info = client.info()
    client.close()
    facts = said.facts("docker")
    assert facts["where"] == f"{address} (DOCKER_HOST)"
    assert facts["version"] == info["ServerVersion"]
    assert facts["storage"] == info["Driver"]
    assert facts["data_root"] == info["DockerRootDir"]
    assert {"isolates_processes", "hides_host"} <= set(facts["capabilities"])
    assert (said.status, said.isolating, said.works("docker")) == (0, ["docker"], True)
    disk = said.facts("disk")
    assert disk["sandboxes"]["path"] == os.environ["TMPDIR"]
    if info["Name"] == os.uname().nodename and Path(info["DockerRootDir"]).is_dir():
        assert disk["docker"]["path"] == info["DockerRootDir"]
        free = shutil.disk_usage(info["DockerRootDir"]).free
        assert disk["docker"]["free_bytes"] == pytest.approx(free, rel=0.5)


def test_a_context_that_is_not_there(
    agentbench: Agentbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the variable the current context decides; its name is told when it is lost."""
    (tmp_path / "config.json").write_text('{"currentContext": "lost"}')
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST")
    said = diagnosed(agentbench("doctor", "--json"))
    assert said.works("docker") is False
    assert "context 'lost' not found" in said.findings["docker"]["summary"]


def test_nowhere_to_write(tmp_path: Path) -> None:
    """On a disk that cannot be written to each row says so, and nothing isolates."""
    require("bubblewrap")
    read_only = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    command = [sys.executable, "-m", "pytest_agentbench.cli", "doctor", "--json", "--reap"]
    done = subprocess.run(
        [*read_only, "--chdir", str(tmp_path), *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    said = diagnosed(done)
    assert (said.status, said.isolating) == (1, [])
    assert [said.works(name) for name in (*built_in_names("sandbox"), "disk")] == [False] * 4
    assert "No usable temporary directory" in said.findings["bubblewrap"]["summary"]
    assert said.facts("cgroups")["usable"] == {}
    assert "Read-only file system" in said.findings["cgroups"]["notes"][0]


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_credentials_by_name_alone(
    agentbench: Agentbench, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that are set are named, and empty ones told apart; no value is printed."""
    for name in CREDENTIALS:
        monkeypatch.setenv(name, f"planted-{name.lower()}")
    monkeypatch.setenv("HF_TOKEN", "")
    done = agentbench("doctor", *form)
    assert "planted" not in done.stdout + done.stderr
    assert [name for name in CREDENTIALS if name not in done.stdout] == []
    assert "set, but empty: HF_TOKEN" in done.stdout


@pytest.mark.parametrize(
    "host",
    [
        "tcp://someone:plant%65d@127.0.0.1:1",
        "tcp://planted@127.0.0.1:1",
        "planted@127.0.0.1:1",
        "someone:planted@127.0.0.1:1",
        "http://someone:planted/planted@127.0.0.1:1/?token=planted",
        "ssh://someone:planted@127.0.0.1",
        "someone:planted@",
    ],
)
def test_no_credential_of_an_address(
    agentbench: Agentbench, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine's address is told without user, password and query, in what docker-py says too."""
    monkeypatch.setenv("DOCKER_HOST", host)
    done = agentbench("doctor", "--json")  # has all that the table has
    assert "plant" not in done.stdout + done.stderr
    assert "(DOCKER_HOST)" in done.stdout


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("unix:///run/a@b/docker.sock", "unix:///run/a@b/docker.sock"),
        ("tcp://host:2376", "tcp://host:2376"),
        ("tcp://me:secret@host:2376/path?token=x#y", "tcp://host:2376/path"),
        ("me@host:1", "host:1"),
    ],
)
def test_what_an_address_shows(address: str, expected: str) -> None:
    """A socket's path is shown as it is, of other addresses all but what may be secret."""
    assert bare(address) == expected


def test_work_areas_of_the_dead(agentbench: Agentbench, place: Path) -> None:
    """They are told, and with ``--reap`` removed; a live session's area stays."""
    live = WorkArea(place)
    dead = WorkArea(place)
    (dead.fresh() / "file").write_text("left")
    os.close(dead._lock)
    line = f"work area {dead.path}"
    told = diagnosed(agentbench("doctor", "--json"))
    assert (told.leftovers, told.reaped) == ([line], [])
    assert f"\n- left: {line}\n" in agentbench("doctor").stdout
    assert dead.path.exists()
    reaped = diagnosed(agentbench("doctor", "--json", "--reap"))
    assert (reaped.leftovers, reaped.reaped) == ([], [line])
    assert not dead.path.exists()
    assert live.path.exists()
    again = agentbench("doctor", "--reap").stdout
    assert "\nleftovers    -   0 removed, 0 left\n" in again
    live.close()


def test_what_cannot_be_removed(agentbench: Agentbench, place: Path) -> None:
    """It is told, and the row says that something is wrong."""
    require("mount")
    dead = WorkArea(place)
    stuck = dead.fresh()
    os.close(dead._lock)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", stuck], check=True)
    try:
        said = diagnosed(agentbench("doctor", "--json", "--reap"))
    finally:
        mounted = [path for path in dead.path.rglob("*") if path.is_mount()]
        subprocess.run(["umount", *mounted], check=True)
    assert (said.leftovers, said.reaped) == ([f"work area {dead.path}"], [])
    assert said.works("leftovers") is False


LEAVE = """
import sys, docker
from pytest_agentbench.sandboxes.docker.leftovers import OWNER, this_process
client = docker.DockerClient(base_url=sys.argv[1])
container = client.containers.create(sys.argv[2], labels={OWNER: str(this_process())})
print(container.id, end="")
"""


@pytest.fixture
def containers(address: str) -> Iterator[docker.DockerClient]:
    """The engine; what the test has made there is removed."""
    client = docker.DockerClient(base_url=address)
    yield client
    for one in client.containers.list(all=True, filters={"label": f"{OWNER}={this_process()}"}):
        one.remove(force=True)
    client.close()


def test_containers_of_the_dead(
    agentbench: Agentbench, containers: docker.DockerClient, address: str
) -> None:
    """A container of a process that is gone is told, then removed; a live one's stays."""
    dead = ""
    live = containers.containers.create(engine.BUSYBOX, labels={OWNER: str(this_process())})
    told: list[str] = []
    reaped: list[str] = []
    for _ in range(10):  # sessions beside this one reap, too, and may be faster
        leave = [sys.executable, "-c", LEAVE, address, engine.BUSYBOX]
        dead = subprocess.run(leave, capture_output=True, text=True, check=True).stdout
        told += diagnosed(agentbench("doctor", "--json")).leftovers
        reaped += diagnosed(agentbench("doctor", "--json", "--reap")).reaped
        assert dead not in [one.id for one in containers.containers.list(all=True)]
        if any(dead[:12] in line for line in reaped):
            break
    assert any(dead[:12] in line for line in told)
    assert any(dead[:12] in line for line in reaped)
    live.reload()
    assert not any(str(live.id)[:12] in line for line in (*told, *reaped))
