"""A commit as the start of a workspace: its files, one fresh commit, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.task import (
    FileTree,
    GitSource,
    Position,
    TaskSpec,
    Workspace,
)
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.gitcalls import Git
from pytest_agentbench.sandboxes.gitsource import GitSources
from pytest_agentbench.sandboxes.hidden import Hidden
from pytest_agentbench.sandboxes.pins import Pins
from pytest_agentbench.sandboxes.templates import Templates

Build = Callable[[Workspace], Template]

SECRET = "the fix that only a later commit has\n"


def git(where: Path, *arguments: str, **env: str) -> str:
    """Run git as a user would, with a clean configuration; return what it prints."""
    clean = {
        "PATH": os.environ["PATH"],
        "HOME": str(where),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.invalid",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.invalid",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=where,
        env=clean | env,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace")


def files_of(template: Template) -> dict[str, bytes]:
    """The files of a template by name, ``.git`` left out."""
    return {
        os.fsdecode(path): (template.directory / os.fsdecode(path)).read_bytes()
        for path, entry in template.manifest.items()
        if entry.kind == "file" and not path.startswith(b".git/")
    }


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A repository with a past, a future, a tag, a stash and an unreachable commit."""
    where = tmp_path / "source-of-all"
    where.mkdir()
    git(where, "init", "-q")
    (where / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (where / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (where / "run.sh").chmod(0o755)
    (where / "link").symlink_to("calc.py")
    (where / "kept.log").write_text("tracked and ignored\n")
    (where / ".gitignore").write_text("*.log\n")
    git(where, "add", "-A", "-f")
    git(where, "commit", "-q", "-m", "one")
    git(where, "tag", "v1")
    (where / "calc.py").write_text(SECRET)
    git(where, "commit", "-q", "-a", "-m", "the fix")
    git(where, "tag", "-a", "v2", "-m", "two")
    git(where, "checkout", "-q", "-b", "other")
    (where / "lost.txt").write_text("lost " + SECRET)
    git(where, "add", "-A")
    git(where, "commit", "-q", "-m", "lost")
    git(where, "reset", "-q", "--hard", "v2")
    (where / "calc.py").write_text("stashed " + SECRET)
    git(where, "stash", "-q")
    git(where, "checkout", "-q", "main")
    return where


@pytest.fixture
def build(area: WorkArea) -> Build:
    """Builds templates of workspaces, one session's."""
    templates = Templates(area)

    def of(workspace: Workspace) -> Template:
        task = TaskSpec(
            "fix", Position(Path("/t/task.yaml"), 1), "Do.", (), "d", workspace=workspace
        )
        return asyncio.run(templates.build(task, Hidden(())))

    return of


def test_the_files_are_those_of_the_commit(build: Build, source: Path) -> None:
    """Contents, executable bits, links and tracked files that are ignored come along."""
    template = build(Workspace(git=GitSource(str(source), "v1")))
    assert files_of(template) == {
        ".gitignore": b"*.log\n",
        "calc.py": b"def add(a, b):\n    return a - b\n",
        "kept.log": b"tracked and ignored\n",
        "run.sh": b"#!/bin/sh\necho ran\n",
    }
    assert template.manifest[b"run.sh"].executable
    assert not template.manifest[b"calc.py"].executable
    assert (template.directory / "link").readlink() == Path("calc.py")


def test_nothing_but_one_commit_is_in_the_repository(build: Build, source: Path) -> None:
    """No history, remote, tag, other branch, reflog, unreachable object, hook or path is left."""
    template = build(Workspace(git=GitSource(str(source), "v1")))
    inside = template.directory
    assert git(inside, "log", "--all", "--format=%s %an %ad", "--date=iso-strict") == (
        "Initial commit developer 2000-01-01T00:00:00+00:00\n"
    )
    assert git(inside, "for-each-ref", "--format=%(refname)") == "refs/heads/main\n"
    assert git(inside, "reflog") == ""
    assert git(inside, "stash", "list") == ""
    assert git(inside, "remote", "-v") == ""
    assert git(inside, "status", "--porcelain", "--ignored") == ""
    assert git(inside, "fsck", "--unreachable", "--full", "--strict") == ""
    objects = git(inside, "cat-file", "--batch-all-objects", "--batch-check").split("\n")
    assert len([line for line in objects if line]) == 7, "commit, tree and five contents"
    packed = git(inside, "cat-file", "--batch-all-objects", "--batch", "--unordered")
    assert SECRET.strip() not in packed
    names = sorted(
        path.relative_to(inside / ".git").as_posix() for path in inside.glob(".git/**/*")
    )
    assert [name for name in names if not name.startswith("objects/pack/pack-")] == [
        "HEAD",
        "config",
        "index",
        "objects",
        "objects/info",
        "objects/pack",
        "refs",
        "refs/heads",
        "refs/heads/main",
        "refs/tags",
    ]
    for path in inside.glob(".git/**/*"):
        if path.is_file():
            assert b"source-of-all" not in path.read_bytes(), path
            assert os.fsencode(inside) not in path.read_bytes(), path
            assert not path.stat().st_mode & 0o111, path


def test_what_lies_over_the_commit_is_committed_too(
    build: Build, source: Path, tmp_path: Path
) -> None:
    """Copied files and the patch are in the one commit: a diff would show what was broken."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "calc.py").write_text("def add(a, b):\n    return b - a\n")
    patch = tmp_path / "break.patch"
    patch.write_text(
        "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
        "-    return b - a\n+    return 0\n"
    )
    template = build(
        Workspace(
            tree=FileTree(tmp_path / "copy", {"notes.txt": "n\n"}),
            git=GitSource(str(source), "v1"),
            patch=patch,
        )
    )
    assert files_of(template)["calc.py"] == b"def add(a, b):\n    return 0\n"
    assert git(template.directory, "status", "--porcelain") == ""
    assert "notes.txt" in git(template.directory, "ls-files").split()
    assert len(git(template.directory, "log", "--oneline").splitlines()) == 1


def test_attributes_neither_drop_nor_alter_files(build: Build, source: Path) -> None:
    """``export-ignore`` and ``export-subst`` have no effect."""
    (source / ".gitattributes").write_text("calc.py export-ignore\nversion.txt export-subst\n")
    (source / "version.txt").write_text("$Format:%H$\n")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "attributes")
    found = files_of(build(Workspace(git=GitSource(str(source)))))
    assert found["calc.py"] == SECRET.encode()
    assert found["version.txt"] == b"$Format:%H$\n"


def test_nobodys_configuration_runs(
    build: Build, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Filters, hooks and monitors of the source and of the user are not run."""
    ran = tmp_path / "ran"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho $0 $* >> {ran}\ncat\n")
    trap.chmod(0o755)
    (source / ".gitattributes").write_text("* filter=trap\n")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "attributes")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change"):
        (hooks / name).symlink_to(trap)
    home = tmp_path / "home"
    home.mkdir()
    settings = {
        "filter.trap.smudge": str(trap),
        "filter.trap.clean": str(trap),
        "filter.trap.required": "true",
        "core.fsmonitor": str(trap),
        "core.hooksPath": str(hooks),
        "core.autocrlf": "true",
    }
    for name, value in settings.items():
        git(source, "config", name, value)
        git(home, "config", "--file", str(home / ".gitconfig"), name, value)
    ran.unlink(missing_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert files_of(build(Workspace(git=GitSource(str(source)))))["calc.py"] == SECRET.encode()
    assert not ran.exists()


@pytest.mark.parametrize("ref", ["v1", "other", "v2", "main", "HEAD", "refs/tags/v2"])
def test_branches_tags_and_commits_are_found(build: Build, source: Path, ref: str) -> None:
    """Whatever git itself would take names a commit; an annotated tag is its commit."""
    expected = git(source, "show", f"{ref}^{{commit}}:calc.py").encode()
    assert files_of(build(Workspace(git=GitSource(str(source), ref))))["calc.py"] == expected


def test_a_commit_is_found_by_its_id(build: Build, source: Path) -> None:
    """In full, and shortened; also one that no branch reaches."""
    first = git(source, "rev-parse", "v1").strip()
    lost = git(source, "log", "-g", "--format=%H", "--grep=lost", "other").split()[0]
    for ref in (first, first[:10]):
        assert b"a - b" in files_of(build(Workspace(git=GitSource(str(source), ref))))["calc.py"]
    assert "lost.txt" in files_of(build(Workspace(git=GitSource(str(source), lost))))


@pytest.mark.parametrize("kind", ["bare", "worktree", "shallow", "file URL", "symlink"])
def test_every_kind_of_local_repository_will_do(
    build: Build, source: Path, tmp_path: Path, kind: str
) -> None:
    """Bare, linked worktree (with its own HEAD), shallow, behind a URL or a symlink."""
    place = tmp_path / "place"
    url = str(place)
    if kind == "bare":
        git(tmp_path, "clone", "-q", "--bare", str(source), str(place))
    elif kind == "worktree":
        git(source, "worktree", "add", "-q", "--detach", str(place), "v1")
    elif kind == "shallow":
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{source}", str(place))
    elif kind == "symlink":
        place.symlink_to(source)
    else:
        url = f"file://{source}"
    expected = b"def add(a, b):\n    return a - b\n" if kind == "worktree" else SECRET.encode()
    assert files_of(build(Workspace(git=GitSource(url))))["calc.py"] == expected


def test_a_repository_behind_a_url_is_asked_without_its_history(
    area: WorkArea, source: Path, tmp_path: Path
) -> None:
    """Through a real transport a branch, a tag and a commit are found, and one commit fetched."""
    first = git(source, "rev-parse", "v1").strip()
    with pytest.MonkeyPatch.context() as patch:
        ssh_of(patch, tmp_path)
        sources = GitSources(Git(area), Pins(None))
        for ref, expected in (("v2", SECRET), ("main", SECRET), ("HEAD", SECRET), (first, "a - b")):
            directory = area.fresh("template")
            made = GitSource(f"ssh://host.invalid{source}", ref)
            asyncio.run(sources.export(made, directory, where="fix"))
            assert expected in (directory / "calc.py").read_text()
        made = GitSource(f"ssh://host.invalid{source}", "mian")
        with pytest.raises(SetupError) as caught:
            asyncio.run(sources.export(made, area.fresh("template"), where="fix"))
    assert str(caught.value) == (
        f"fix: workspace.git: 'mian' is no branch, tag or commit of ssh://host.invalid{source};"
        " did you mean 'main'? Try: one of: main, other, v1, v2;"
        " of a commit behind a URL, all digits of its id"
    )


def ssh_of(patch: pytest.MonkeyPatch, directory: Path) -> str:
    """A transport to this very machine; returns the URL's beginning."""
    helper = directory / "ssh"
    helper.write_text('#!/bin/sh\nshift $(($# - 1))\nexec sh -c "$1"\n')
    helper.chmod(0o755)
    patch.setenv("GIT_SSH", str(helper))
    patch.setenv("GIT_SSH_VARIANT", "simple")
    return "ssh://host.invalid"


@pytest.mark.parametrize("ref", ["v1", "commit"])
@pytest.mark.parametrize("how", ["home", "file", "variables"])
def test_the_users_own_configuration_helps_and_does_not_hinder(
    area: WorkArea,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    ref: str,
) -> None:
    """Rewritten URLs count, wherever they are set; hooks and refused bare repositories do not."""
    base = ssh_of(monkeypatch, tmp_path)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (hooks / name).chmod(0o755)
    settings = {
        f"url.{base}/.insteadOf": "https://mirror.invalid/",
        "safe.bareRepository": "explicit",
        "core.hooksPath": str(hooks),
        "core.autocrlf": "true",
    }
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    if how == "variables":
        monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
        for number, (name, value) in enumerate(settings.items()):
            monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
            monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    else:
        file = tmp_path / (".gitconfig" if how == "home" else "elsewhere")
        for name, value in settings.items():
            git(tmp_path, "config", "--file", str(file), name, value)
        if how == "file":
            monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
    if ref == "commit":
        ref = git(source, "rev-parse", "v1").strip()
    directory = area.fresh("template")
    made = GitSource(f"https://mirror.invalid{source}", ref)
    asyncio.run(GitSources(Git(area), Pins(None)).export(made, directory, where="fix"))
    assert (directory / "calc.py").read_bytes() == b"def add(a, b):\n    return a - b\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://erika:SECRET@127.0.0.1:9/a", "https://127.0.0.1:9/a"),
        ("https://SECRET@127.0.0.1:9/a", "https://127.0.0.1:9/a"),
        ("https://erika:SE@SECRET@127.0.0.1:9/a", "https://127.0.0.1:9/a"),
        ("https://erika:SE/SECRET@127.0.0.1:9/a", "https://127.0.0.1:9/a"),
        ("https://127.0.0.1:9/a?token=SECRET", "https://127.0.0.1:9/a?..."),
        ("https://127.0.0.1:9/@scope/a", "https://127.0.0.1:9/@scope/a"),
        ("https://[::1]:9/@scope/a", "https://[::1]:9/@scope/a"),
    ],
)
@pytest.mark.parametrize("ref", ["main", "a" * 40])
def test_no_credentials_are_told_or_stored(
    area: WorkArea, tmp_path: Path, url: str, shown: str, ref: str
) -> None:
    """Neither in messages, those of git included, nor in the file of commits."""
    pins = tmp_path / "commits.json"
    with pytest.raises(SetupError) as caught:
        asyncio.run(
            GitSources(Git(area), Pins(pins)).export(
                GitSource(url, ref), area.fresh("template"), where="fix"
            )
        )
    told = str(caught.value)
    assert f"{shown} cannot be read" in told or f"cannot be fetched from {shown}: " in told
    stored = pins.read_text() if ref != "main" else ""
    assert "SECRET" not in told + stored
    assert "erika" not in told + stored


def test_a_file_url_without_a_path_is_not_the_working_directory(
    build: Build, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever pytest was started in, it is not what the task asked for."""
    monkeypatch.chdir(source)
    assert "file:// cannot be read" in refusal(build, Workspace(git=GitSource("file://")))


def test_another_query_is_another_repository(area: WorkArea, tmp_path: Path) -> None:
    """What is not stored of a URL still tells two of them apart."""
    pins = tmp_path / "commits.json"
    for query in ("repo=one", "repo=two"):
        with pytest.raises(SetupError):
            asyncio.run(
                GitSources(Git(area), Pins(pins)).export(
                    GitSource(f"https://127.0.0.1:9/a?{query}", "a" * 40),
                    area.fresh("template"),
                    where="fix",
                )
            )
    assert len(json.loads(pins.read_text())) == 2
    assert "repo=" not in pins.read_text()


def test_no_home_directory_is_told_or_stored(
    area: WorkArea, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository of the user's own is called by a path that names nobody."""
    monkeypatch.setenv("HOME", str(tmp_path))
    pins = tmp_path / "commits.json"
    sources = GitSources(Git(area), Pins(pins))
    asyncio.run(sources.export(GitSource(str(source), "v1"), area.fresh("template"), where="fix"))
    assert list(json.loads(pins.read_text())) == ["~/source-of-all v1"]
    with pytest.raises(SetupError) as caught:
        asyncio.run(
            sources.export(GitSource(str(source), "v3"), area.fresh("template"), where="fix")
        )
    assert "'v3' is no branch, tag or commit of ~/source-of-all" in str(caught.value)


def test_a_branch_that_moves_is_pinned(area: WorkArea, source: Path, tmp_path: Path) -> None:
    """The first process that asks decides for all that share the file; a new session looks anew."""
    pins = tmp_path / "commits.json"

    def contents(file: Path) -> str:
        directory = area.fresh("template")
        sources = GitSources(Git(area), Pins(file))
        asyncio.run(sources.export(GitSource(str(source), "main"), directory, where="fix"))
        return (directory / "calc.py").read_text()

    assert contents(pins) == SECRET
    (source / "calc.py").write_text("moved\n")
    git(source, "commit", "-q", "-a", "-m", "moved")
    assert contents(pins) == SECRET
    assert contents(tmp_path / "later.json") == "moved\n"


def test_two_who_ask_at_once_agree(area: WorkArea, tmp_path: Path) -> None:
    """While one resolves a name, another waits for it."""
    file = tmp_path / "commits.json"
    asked = []

    async def slowly() -> str:
        asked.append(1)
        await asyncio.sleep(0.1)
        return f"commit-{len(asked)}"

    async def both() -> list[str]:
        return list(
            await asyncio.gather(Pins(file).commit("x", slowly), Pins(file).commit("x", slowly))
        )

    assert asyncio.run(both()) == ["commit-1", "commit-1"]


def refusal(build: Build, workspace: Workspace) -> str:
    with pytest.raises(SetupError) as caught:
        build(workspace)
    return str(caught.value)


def test_what_is_no_repository_is_said(build: Build, source: Path, tmp_path: Path) -> None:
    """A plain directory, also one that lies within a repository, and a file."""
    (source / "sub").mkdir()
    (source / "sub" / "a").write_text("x")
    for place in (source / "sub", source / "calc.py"):
        assert refusal(build, Workspace(git=GitSource(str(place)))) == (
            f"fix: workspace.git: {place} is not a git repository."
            " Try: name the directory that holds .git, a bare repository, or a URL"
        )


def test_an_unknown_ref_is_said_with_what_is_known(build: Build, source: Path) -> None:
    """The message names branches and tags, and the nearest one."""
    assert refusal(build, Workspace(git=GitSource(str(source), "mian"))) == (
        f"fix: workspace.git: 'mian' is no branch, tag or commit of {source}; did you mean 'main'?"
        " Try: one of: main, other, v1, v2; of a commit behind a URL, all digits of its id"
    )


def test_an_empty_repository_is_said(build: Build, tmp_path: Path) -> None:
    """A repository without a commit has no HEAD."""
    git(tmp_path, "init", "-q", "empty")
    assert refusal(build, Workspace(git=GitSource(str(tmp_path / "empty")))) == (
        f"fix: workspace.git: 'HEAD' is not there: {tmp_path / 'empty'} has no commits"
    )


def test_a_submodule_is_never_an_empty_directory(
    build: Build, source: Path, tmp_path: Path
) -> None:
    """A commit with submodules is refused, unless a copy brings their files."""
    git(tmp_path, "init", "-q", "lib")
    (tmp_path / "lib" / "a").write_text("x")
    git(tmp_path / "lib", "add", "-A")
    git(tmp_path / "lib", "commit", "-q", "-m", "a")
    git(
        source, "-c", "protocol.file.allow=always", "submodule", "add", str(tmp_path / "lib"), "lib"
    )
    git(source, "commit", "-q", "-m", "submodule")
    whole = GitSource(str(source))
    assert refusal(build, Workspace(git=whole)) == (
        "fix: submodules are not fetched: lib."
        " Try: lay their files over the commit with workspace.copy or workspace.files"
    )
    brought = build(Workspace(tree=FileTree(files={"lib/a": "x"}), git=whole))
    assert files_of(brought)["lib/a"] == b"x"


def test_an_lfs_pointer_is_never_taken_for_a_file(build: Build, source: Path) -> None:
    """A commit with pointers is refused, unless a copy brings the contents."""
    (source / "big.bin").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
    )
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "pointer")
    whole = GitSource(str(source))
    assert refusal(build, Workspace(git=whole)) == (
        "fix: contents are kept in Git LFS, which is not fetched: big.bin."
        " Try: lay the files over the commit with workspace.copy or workspace.files"
    )
    brought = build(Workspace(tree=FileTree(files={"big.bin": "big"}), git=whole))
    assert files_of(brought)["big.bin"] == b"big"


def test_a_link_out_of_the_commit_is_refused(build: Build, source: Path) -> None:
    """As in a copied directory."""
    (source / "etc").symlink_to("/etc")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "link")
    assert refusal(build, Workspace(git=GitSource(str(source)))) == (
        "fix: the workspace cannot be copied: etc: a symlink out of the workspace: /etc"
    )


def test_a_copy_cannot_bring_another_repository(build: Build, source: Path, tmp_path: Path) -> None:
    """A ``.git`` that is copied over the fresh one would bring its history."""
    git(tmp_path, "init", "-q", "copy")
    assert refusal(
        build, Workspace(tree=FileTree(tmp_path / "copy"), git=GitSource(str(source)))
    ) == (
        "fix: workspace.copy brings a .git besides that of workspace.git."
        " Try: one of them: a copy keeps its history, workspace.git has none"
    )


def test_layers_that_clash_are_refused(build: Build, source: Path, tmp_path: Path) -> None:
    """A file where the commit has a directory, a directory where it has a file or a link."""
    (source / "doc").mkdir()
    (source / "doc" / "a").write_text("x")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "doc")
    for name, there, here in (
        ("doc", "directory", "file"),
        ("calc.py/x", "file", "directory"),
        ("link/x", "symlink", "directory"),
    ):
        workspace = Workspace(tree=FileTree(files={name: "x"}), git=GitSource(str(source)))
        clash = name.split("/")[0]
        assert refusal(build, workspace) == (
            f"fix: {clash} is a {here} here and a {there} in what it is laid over."
            " Try: rename one of them"
        )


def test_the_same_files_make_the_same_template(build: Build, source: Path) -> None:
    """Nothing of the time, the place or the packing is in the digest."""
    one, two = (build(Workspace(git=GitSource(str(source), "v1"))) for _ in range(2))
    assert one.digest == two.digest
    assert one.manifest == two.manifest
    other = build(Workspace(git=GitSource(str(source), "v2")))
    assert other.digest != one.digest


def test_odd_names_come_along(build: Build, source: Path) -> None:
    """Names that are not UTF-8, that only differ in case, with blanks and line feeds."""
    names = [b"caf\xe9", b"README", b"readme", b"a b", b"line\nfeed", b"-dash", b":(top)x", b"*"]
    for name in names:
        Path(os.fsdecode(os.fsencode(source) + b"/" + name)).write_bytes(name)
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "odd")
    template = build(Workspace(git=GitSource(str(source))))
    assert set(names) < set(template.manifest)
    assert git(template.directory, "status", "--porcelain") == ""
