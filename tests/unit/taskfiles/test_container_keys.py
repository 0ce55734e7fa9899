"""What a task file says of containers: the settings it becomes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.matrix.layers import resolve
from pytest_agentbench.model.task import BuildSpec, SandboxSpec
from pytest_agentbench.taskfiles.loader import load_task_file


def walls(root: Path, sandbox: str) -> SandboxSpec:
    """The walls that a task with this ``sandbox`` asks for."""
    file = root / "tasks" / "t.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"prompt: p\noracles: [{{run: 'true'}}]\nsandbox: {sandbox}\n")
    (task,) = load_task_file(file, rootdir=root)
    return resolve([("task", task.layer)]).sandbox


def test_all_keys_arrive(tmp_path: Path) -> None:
    """Each key has its place, and paths start at the file that says them."""
    found = walls(
        tmp_path,
        "{image: 'python:3.12', user: 1000, workdir: /srv/place/, pull: never,"
        " platform: linux/amd64, scoring: commit, mounts: {/data: ../data}}",
    )
    assert found.image == "python:3.12"
    assert (found.user, found.workdir) == ("1000", "/srv/place")
    assert (found.pull, found.platform, found.scoring) == ("never", "linux/amd64", "commit")
    assert found.mounts == {"/data": tmp_path / "data"}
    assert found.of_containers == ("image", "user", "workdir", "mounts", "platform")


def test_a_build_is_a_directory_or_a_mapping(tmp_path: Path) -> None:
    """A text is the context."""
    context = tmp_path / "environment"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM scratch\n")
    assert walls(tmp_path, "{build: ../environment}").build == BuildSpec(context)
    given = walls(tmp_path, "{build: {context: ../environment, args: {A: b}, target: last}}")
    assert given.build == BuildSpec(context, args={"A": "b"}, target="last")
    assert given.names_image


WRONG = {
    "{image: ''}": "'' is no image",
    "{image: 'a ', user: 'u'}": "'a ' is no image",
    "{workdir: work}": "'work' must be an absolute path below /",
    "{workdir: /}": "'/' must be an absolute path below /",
    "{mounts: {data: /data}}": "'data' must be an absolute path below /",
    "{mounts: {/data: ''}}": "'' is no path",
    "{pull: sometimes}": "unknown pull 'sometimes'; known: always, missing, never",
    "{scoring: comit}": "unknown scoring 'comit'; did you mean 'commit'?",
    "{build: nowhere}": "'nowhere' is no directory",
    "{build: .}": "the context holds this file",
    "{build: ..}": "the context holds this file",
    "{build: ../empty}": "there is no Dockerfile in it",
    "{build: ../empty, image: x}": "an image is built or named, not both",
    "{build: {contxt: ../empty}}": "unknown key 'contxt'; did you mean 'context'?",
    "{user: [1]}": "must be text",
}


@pytest.mark.parametrize("sandbox", WRONG)
def test_what_is_wrong_is_told(tmp_path: Path, sandbox: str) -> None:
    """Each mistake has a message of its own."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(DefinitionError) as caught:
        walls(tmp_path, sandbox)
    assert WRONG[sandbox] in str(caught.value)
