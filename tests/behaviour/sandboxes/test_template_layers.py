"""What lies over a workspace's files: patch, set-up commands, overlay, and never an answer."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_agentbench.errors import SandboxError, SetupError
from pytest_agentbench.model.contracts import SandboxDriver, Template
from pytest_agentbench.model.task import (
    FileTree,
    Position,
    SandboxSpec,
    TaskSpec,
    Workspace,
)
from pytest_agentbench.sandboxes import setup_commands
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.hidden import Hidden, HiddenGroup
from pytest_agentbench.sandboxes.templates import Templates

FILES = {"app.py": "one\ntwo\nthree\n", "doc/a.md": "a\n"}
LONG = "".join(f"def test_{number}(): assert {number}\n" for number in range(10))
ADVICE = (
    " Try: make it anew against the workspace before it, with `git diff --binary`"
    " and paths below a/ and b/"
)


def task(workspace: Workspace) -> TaskSpec:
    return TaskSpec("fix", Position(Path("/t/task.yaml"), 1), "Do.", (), "d", workspace=workspace)


@dataclass
class Workshop:
    """Builds templates of one session, with what is hidden in it."""

    area: WorkArea
    templates: Templates
    base: Path
    hidden: tuple[HiddenGroup, ...] = ()

    def build(self, workspace: Workspace) -> Template:
        """The template before set-up."""
        return asyncio.run(self.templates.build(task(workspace), Hidden(self.hidden)))

    def patched(self, data: bytes, files: Mapping[str, bytes | str] | None = None) -> Template:
        """The template of some files after a patch."""
        source = self.area.fresh("source")
        for name, content in (files or FILES).items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        patch = self.base / "set-up.patch"
        patch.write_bytes(data)
        return self.build(Workspace(tree=FileTree(source), patch=patch))

    def set_up(
        self,
        driver: SandboxDriver,
        *commands: tuple[str, ...] | str,
        walls: SandboxSpec | None = None,
        files: Mapping[str, str] | None = None,
    ) -> Template:
        """The template after set-up commands."""
        made = task(Workspace(tree=FileTree(files=files or FILES), setup=commands))
        hidden = Hidden(self.hidden)

        async def both() -> Template:
            before = await self.templates.build(made, hidden)
            return await self.templates.set_up(before, made, hidden, driver, walls or SandboxSpec())

        return asyncio.run(both())

    def overlaid(self, files: Mapping[str, str], workspace: Workspace | None = None) -> Template:
        """The template of a workspace under an overlay of these files."""
        overlay = self.base / "skill"
        for name, text in files.items():
            (overlay / name).parent.mkdir(parents=True, exist_ok=True)
            (overlay / name).write_text(text)
        made = task(workspace or Workspace(tree=FileTree(files=FILES)))
        hidden = Hidden(self.hidden)

        async def both() -> Template:
            before = await self.templates.build(made, hidden)
            return await self.templates.overlaid(before, overlay, made, hidden)

        return asyncio.run(both())


@pytest.fixture
def workshop(area: WorkArea, tmp_path: Path) -> Workshop:
    return Workshop(area, Templates(area), tmp_path)


def text(template: Template, name: str) -> bytes:
    return (template.directory / name).read_bytes()


# Patches.


def test_a_patch_is_applied_with_its_lines_moved(workshop: Workshop) -> None:
    """Line numbers may be off; the lines themselves may not."""
    made = workshop.patched(b"--- a/app.py\n+++ b/app.py\n@@ -7,2 +7,2 @@\n two\n-three\n+THREE\n")
    assert text(made, "app.py") == b"one\ntwo\nTHREE\n"


def test_a_git_patch_renames_makes_removes_and_changes_modes(workshop: Workshop) -> None:
    """All that ``git diff --binary`` writes is understood, binary contents too."""
    repository = workshop.base / "repo"
    repository.mkdir()

    def git(*words: str) -> bytes:
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *words],
            cwd=repository,
            env={"PATH": os.environ["PATH"], "HOME": str(repository)},
            capture_output=True,
            check=True,
        )
        return done.stdout

    git("init", "-q")
    files = {
        "old.txt": "".join(f"{n}\n" for n in range(20)),
        "gone": "x\n",
        "script": "#!/bin/sh\n",
    }
    for name, content in files.items():
        (repository / name).write_text(content)
    (repository / "image").write_bytes(bytes(range(256)))
    git("add", "-A")
    git("commit", "-q", "-m", "a")
    git("mv", "old.txt", "new.txt")
    git("rm", "-q", "gone")
    (repository / "script").chmod(0o755)
    (repository / "image").write_bytes(bytes(range(255, -1, -1)))
    (repository / "link").symlink_to("new.txt")
    git("add", "-A")
    data = git("diff", "--cached", "--binary", "-M")
    made = workshop.patched(data, {**files, "image": bytes(range(256))})
    assert sorted(made.manifest) == [b"image", b"link", b"new.txt", b"script"]
    assert text(made, "image") == bytes(range(255, -1, -1))
    assert made.manifest[b"script"].executable
    assert (made.directory / "link").is_symlink()


@pytest.mark.parametrize("attributes", [None, "* text=auto eol=lf\n", "* text\n"])
def test_line_ends_are_kept_to_the_byte(workshop: Workshop, attributes: str | None) -> None:
    """A patch of CRLF lines applies to a CRLF file, whatever its ``.gitattributes`` say."""
    files: dict[str, bytes | str] = {"app.py": b"one\r\ntwo\r\n"}
    if attributes is not None:
        files[".gitattributes"] = attributes
    made = workshop.patched(
        b"--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n", files
    )
    assert text(made, "app.py") == b"one\r\nTWO\r\n"


def test_no_attribute_converts_line_ends(workshop: Workshop) -> None:
    """A file that is LF stays LF, though its attributes would have a checkout write CRLF."""
    made = workshop.patched(
        b"--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n",
        {"app.py": "one\ntwo\n", ".gitattributes": "* text eol=crlf\n"},
    )
    assert text(made, "app.py") == b"one\nTWO\n"


def test_other_line_ends_are_an_error_that_says_so(workshop: Workshop) -> None:
    """An LF patch does not apply to a CRLF file, nor a CRLF patch to an LF file."""
    unix = b"--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
    dos = b"--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n"
    for patch, file, words in (
        (unix, b"one\r\ntwo\r\n", "app.py has CRLF line ends, the patch LF"),
        (dos, b"one\ntwo\n", "app.py has LF line ends, the patch CRLF"),
    ):
        with pytest.raises(SetupError) as caught:
            workshop.patched(patch, {"app.py": file, ".gitattributes": "* text=auto\n"})
        assert str(caught.value) == (
            "fix: set-up.patch: does not apply: patch failed: app.py:1;"
            f" app.py: patch does not apply ({words}).{ADVICE}"
        )


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (
            b"--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n One\n-two\n+TWO\n",
            "patch failed: app.py:1; app.py: patch does not apply",
        ),
        (
            b"--- a/gone.py\n+++ b/gone.py\n@@ -1 +1 @@\n-a\n+b\n",
            "gone.py: No such file or directory",
        ),
        (
            b"--- /dev/null\n+++ b/../outside\n@@ -0,0 +1 @@\n+x\n",
            "invalid path '../outside'",
        ),
        (
            b"--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n",
            "invalid path '.git/config'",
        ),
        (
            b"--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+x\n",
            "affected file 'link/x' is beyond a symbolic link",
        ),
        (
            b"--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n",
            "the path '/etc/x' is absolute",
        ),
        (
            b'--- "/etc/x"\t2000-01-01\n+++ "/etc/x"\t2000-01-01\n@@ -1 +1 @@\n-a\n+b\n',
            "the path '/etc/x' is absolute",
        ),
        (b"", "No valid patches in input"),
    ],
    ids=["context", "missing", "dots", "git", "link", "absolute", "quoted", "empty"],
)
def test_a_patch_that_does_not_apply_is_an_error(
    workshop: Workshop, patch: bytes, said: str
) -> None:
    """The message names file and line; nothing outside the workspace can be written."""
    source = workshop.base / "linked"
    source.mkdir()
    (source / "app.py").write_text("one\ntwo\n")
    (source / "real").mkdir()
    (source / "link").symlink_to("real")
    (workshop.base / "set-up.patch").write_bytes(patch)
    with pytest.raises(SetupError) as caught:
        workshop.build(Workspace(tree=FileTree(source), patch=workshop.base / "set-up.patch"))
    assert str(caught.value) == f"fix: set-up.patch: does not apply: {said}.{ADVICE}"


def test_a_surrounding_repository_does_not_confuse_a_patch(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the work area lies within a repository, all of a patch is applied all the same."""
    subprocess.run(["git", "init", "-q", str(workshop.area.path)], check=True)
    monkeypatch.setenv("GIT_DIR", str(workshop.area.path / ".git"))
    made = workshop.patched(
        b"--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-one\n+ONE\n", {"app.py": "one\n"}
    )
    assert text(made, "app.py") == b"ONE\n"


# Set-up commands.


def test_what_set_up_leaves_is_part_of_the_template(
    workshop: Workshop, driver: SandboxDriver
) -> None:
    """Commands run in order, in the workspace, as argv or by a shell; the rest of it is gone."""
    made = workshop.set_up(
        driver,
        "echo built > built.txt && rm -r doc && cp built.txt $HOME/x",
        ("sh", "-c", "test -f $HOME/x && printf '#!/bin/sh\\n' > run && chmod +x run"),
        walls=SandboxSpec(env={"FLAVOUR": "sweet"}),
    )
    assert sorted(made.manifest) == [b"app.py", b"built.txt", b"run"]
    assert made.manifest[b"run"].executable


def test_set_up_has_the_tasks_environment_and_no_other(
    workshop: Workshop, driver: SandboxDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sandbox.env`` is set; the harness's own variables are not there."""
    monkeypatch.setenv("HARNESS_SECRET", "s3cret")
    made = workshop.set_up(
        driver,
        "env > env.txt; id -u >> env.txt",
        walls=SandboxSpec(env={"FLAVOUR": "sweet"}),
    )
    found = text(made, "env.txt").decode()
    assert "FLAVOUR=sweet\n" in found
    assert "HARNESS_SECRET" not in found


def test_set_up_may_use_a_network_where_the_agent_may_not(
    workshop: Workshop, bubblewrap: SandboxDriver
) -> None:
    """A server on the host can be reached, also with ``network: none``."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        made = workshop.set_up(
            bubblewrap,
            f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5)\""
            " && touch reached",
            walls=SandboxSpec(network="none"),
        )
    assert b"reached" in made.manifest


def test_a_set_up_command_that_fails_is_told_with_its_last_lines(
    workshop: Workshop, driver: SandboxDriver
) -> None:
    """The command, its exit code, and the end of what it said."""
    with pytest.raises(SetupError) as caught:
        workshop.set_up(driver, "true", "seq 20; echo no such package >&2; exit 3")
    assert str(caught.value) == (
        "fix: the set-up command 2 of 2 ended with exit code 3:"
        " seq 20; echo no such package >&2; exit 3\n    "
        + "\n    ".join([*map(str, range(12, 21)), "no such package"])
    )


def test_a_set_up_command_that_cannot_be_started_is_told(
    workshop: Workshop, driver: SandboxDriver
) -> None:
    """A program that is not there is no success."""
    with pytest.raises(SetupError, match=r"^fix: the set-up command could not be started"):
        workshop.set_up(driver, ("no-such-program-at-all",))


def test_all_set_up_commands_share_one_time_limit(
    workshop: Workshop, driver: SandboxDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one gets what the first one left."""
    monkeypatch.setattr(setup_commands, "SETUP_TIMEOUT_S", 4.0)
    with pytest.raises(SetupError, match=r"command 2 of 2 ran out of time \(4 s for all of them\)"):
        workshop.set_up(driver, "sleep 2.5", "sleep 2.5")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("mkfifo pipe", "pipe: a socket, device or FIFO"),
        ("ln -s /etc/shadow out", "out: a symlink out of the workspace: /etc/shadow"),
        ("ln -s ../../x out", "out: a symlink out of the workspace: ../../x"),
    ],
)
def test_what_cannot_be_copied_is_told(
    workshop: Workshop, driver: SandboxDriver, command: str, why: str
) -> None:
    """A FIFO, or a link out of the workspace, left by a set-up command is an error."""
    with pytest.raises(SetupError) as caught:
        workshop.set_up(driver, command)
    assert str(caught.value) == (
        f"fix: the set-up commands left what cannot be copied: {why}."
        " Try: remove it at the end of the set-up"
    )


def test_a_link_to_what_every_sandbox_shows_may_stay(
    workshop: Workshop, driver: SandboxDriver
) -> None:
    """A virtual environment's interpreter is one."""
    made = workshop.set_up(driver, 'ln -s "$(command -v python3)" python')
    assert b"python" in made.manifest


def test_walls_that_cannot_be_put_up_are_the_sandboxs_fault(
    workshop: Workshop, local: SandboxDriver
) -> None:
    """``local`` cannot keep a task from the network that forbids it."""
    with pytest.raises(SandboxError):
        workshop.set_up(local, "true", walls=SandboxSpec(network="none"))


# Overlays.


def test_an_overlay_lies_over_a_copy(workshop: Workshop) -> None:
    """Its files win, and are told apart; the template under it stays as it was."""
    made = workshop.overlaid({"app.py": "mine\n", "skills/review.md": "look\n"})
    assert made.overlay == {b"app.py", b"skills/review.md"}
    assert text(made, "app.py") == b"mine\n"
    assert text(made, "doc/a.md") == b"a\n"
    below = workshop.build(Workspace(tree=FileTree(files=FILES)))
    assert text(below, "app.py") == b"one\ntwo\nthree\n"
    assert below.overlay == frozenset()
    assert below.digest != made.digest


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("doc", "doc is a file here and a directory in what it is laid over"),
        ("app.py/x", "app.py is a directory here and a file in what it is laid over"),
    ],
)
def test_an_overlay_that_clashes_is_an_error(workshop: Workshop, name: str, words: str) -> None:
    """A file for a directory, or the other way round, was meant otherwise."""
    with pytest.raises(SetupError) as caught:
        workshop.overlaid({name: "x"})
    assert str(caught.value) == f"fix: overlay skill: {words}. Try: rename one of them"


def test_an_overlay_brings_no_repository(workshop: Workshop) -> None:
    """A ``.git`` in it would replace the template's."""
    with pytest.raises(SetupError, match=r"^fix: overlay skill: an overlay cannot bring a \.git$"):
        workshop.overlaid({".git/config": "x"})


# Nothing that is hidden.


def hide(workshop: Workshop, *groups: HiddenGroup) -> None:
    workshop.hidden = groups


def oracle(workshop: Workshop, **files: str) -> HiddenGroup:
    directory = workshop.base / "oracle"
    for name, content in files.items():
        directory.mkdir(exist_ok=True)
        (directory / f"{name}.py").write_text(content)
    return HiddenGroup("tasks/oracle", directory)


def test_a_pasted_oracle_is_found(workshop: Workshop) -> None:
    """By its contents, under another name and without any link."""
    hide(workshop, oracle(workshop, test_all=LONG))
    with pytest.raises(SetupError) as caught:
        workshop.build(Workspace(tree=FileTree(files={"doc/x.txt": LONG})))
    assert str(caught.value) == (
        "fix: doc/x.txt shows the agent what it must not see: tasks/oracle/test_all.py."
        " Try: keep oracles, answers and task files out of what agents get"
    )


def test_an_oracle_of_many_files_has_leaked_when_all_are_there(workshop: Workshop) -> None:
    """Some of its files may be the workspace's own; all of them may not."""
    hide(workshop, oracle(workshop, conftest="# " + LONG, test_all=LONG, empty=""))
    assert workshop.build(Workspace(tree=FileTree(files={"conftest.py": "# " + LONG}))).manifest
    with pytest.raises(SetupError, match=r"\(and the 1 other file of tasks/oracle\)"):
        workshop.build(Workspace(tree=FileTree(files={"conftest.py": "# " + LONG, "t.py": LONG})))


def test_small_files_give_nothing_away(workshop: Workshop) -> None:
    """Files below 64 bytes are alike by chance."""
    hide(workshop, oracle(workshop, one="x = 1\n"), HiddenGroup("s", files={"a": "x" * 63}))
    assert workshop.build(
        Workspace(tree=FileTree(files={"a.py": "x = 1\n", "b": "x" * 63}))
    ).manifest


def test_inline_files_are_hidden_too(workshop: Workshop) -> None:
    """Texts that a task file itself holds are looked for."""
    hide(workshop, HiddenGroup("t.yaml: oracle hidden", files={"test_x.py": LONG}))
    with pytest.raises(SetupError, match=r"must not see: t\.yaml: oracle hidden: test_x.py"):
        workshop.build(Workspace(tree=FileTree(files={"a": LONG})))


def test_the_next_task_may_start_where_one_is_solved(workshop: Workshop) -> None:
    """What solves a task is a leak in that task's own workspace, and in no other one."""
    own = Workspace(tree=FileTree(files={"a.py": LONG}))
    hide(workshop, HiddenGroup("solution", files={"a.py": LONG}, only_in=own))
    assert workshop.build(Workspace(tree=FileTree(files={"b.py": LONG}))).manifest
    with pytest.raises(SetupError, match=r"must not see: solution: a\.py"):
        workshop.build(own)


def test_what_set_up_fetched_is_looked_at(workshop: Workshop, driver: SandboxDriver) -> None:
    """A set-up command that brings the hidden tests is an error."""
    hide(workshop, oracle(workshop, test_all=LONG))
    command = f"cat > t.py <<'END'\n{LONG}END\n"
    with pytest.raises(SetupError, match=r"^fix: t\.py shows the agent what it must not see"):
        workshop.set_up(driver, command)


def test_an_overlay_is_looked_at(workshop: Workshop) -> None:
    """A skill that ships the answers is an error."""
    hide(workshop, oracle(workshop, test_all=LONG))
    with pytest.raises(SetupError, match=r"^fix: skill/x.md shows the agent what"):
        workshop.overlaid({"skill/x.md": LONG})


@pytest.mark.parametrize("storage", ["loose", "packed"])
def test_the_history_of_a_copied_repository_is_looked_at(workshop: Workshop, storage: str) -> None:
    """A hidden file that was deleted in a repository's last commit is still an object in it."""
    where = workshop.base / "cloned"
    where.mkdir()
    (where / "test_all.py").write_text(LONG)
    script = "git init -q . && git add -A && {0} -m a && git rm -q test_all.py && {0} -m b"
    commit = "git -c user.name=a -c user.email=a@example.invalid commit -q --allow-empty"
    extra = " && git gc -q" if storage == "packed" else ""
    subprocess.run(["sh", "-c", script.format(commit) + extra], cwd=where, check=True)
    (where / "app.py").write_text("x\n")
    workspace = Workspace(tree=FileTree(where))
    hide(workshop, oracle(workshop, test_other="# other\n" + LONG))
    assert workshop.build(workspace).manifest
    hide(workshop, oracle(workshop, test_other=LONG))
    with pytest.raises(SetupError, match="the history of a git repository in"):
        workshop.build(workspace)


# Odd trees.


def test_files_that_cannot_be_read_are_told_and_left_alone(workshop: Workshop) -> None:
    """The user's own file keeps its permissions; path and mode are in the message."""
    source = workshop.base / "mine"
    source.mkdir()
    (source / "secret").write_text("x")
    (source / "secret").chmod(0o200)
    (source / "closed").mkdir()
    (source / "closed" / "in").write_text("x")
    (source / "closed").chmod(0o600)
    script = (
        "import sys; from pathlib import Path;"
        "from pytest_agentbench.errors import SetupError;"
        "from pytest_agentbench.model.task import FileTree;"
        "from pytest_agentbench.sandboxes.workspace import build_template\n"
        # Not by setpriv: an interpreter below root's home has its libraries there.
        "import os\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: build_template(FileTree(Path(sys.argv[1])), Path(sys.argv[2]), where='fix')\n"
        "except SetupError as fault: print(fault)\n"
    )
    target = workshop.base / "target"
    target.mkdir()
    words = [sys.executable, "-c", script, str(source), str(target)]
    if os.getuid() == 0:
        for path in (source, *source.rglob("*"), target):
            os.chown(path, 65534, 65534)
        for path in (*source.parents,):
            if path.stat().st_mode & 0o011 == 0:
                path.chmod(path.stat().st_mode | 0o011)
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
    assert done.stdout + done.stderr == (
        "fix: the workspace cannot be copied:"
        " closed/*: cannot be read: Permission denied (mode 0600);"
        " secret: cannot be read: Permission denied (mode 0200)\n"
    )
    assert (source / "secret").stat().st_mode & 0o777 == 0o200


def test_a_sparse_file_stays_sparse(workshop: Workshop) -> None:
    """A gigabyte of nothing takes no room in a template."""
    source = workshop.base / "sparse"
    source.mkdir()
    with (source / "big").open("wb") as file:
        file.truncate(1 << 30)
    made = workshop.build(Workspace(tree=FileTree(source)))
    assert made.manifest[b"big"].size == 1 << 30
    assert (made.directory / "big").stat().st_blocks < 100


def test_odd_names_are_kept(workshop: Workshop) -> None:
    """Names that are not UTF-8 and names that differ only in case are what they are."""
    source = os.fsencode(workshop.base / "odd")
    deep = b"/".join([b"d" * 200] * 30)
    Path(os.fsdecode(source)).mkdir()
    for name in (b"caf\xe9", b"Readme", b"README"):
        Path(os.fsdecode(source + b"/" + name)).write_bytes(name)
    root = os.open(source, os.O_RDONLY)
    here = root
    for part in deep.split(b"/"):
        os.mkdir(part, dir_fd=here)
        here = os.open(part, os.O_RDONLY, dir_fd=here)
    made = workshop.build(Workspace(tree=FileTree(Path(os.fsdecode(source)))))
    assert {b"caf\xe9", b"Readme", b"README", deep} <= set(made.manifest)
