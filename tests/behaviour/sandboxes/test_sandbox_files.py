"""What goes into a sandbox, what can be read out of it, and what is found at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import Sandbox, SandboxDriver, SandboxRequest, Template
from pytest_agentbench.model.run import Changes, Completed
from pytest_agentbench.model.task import Blob, SandboxSpec
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.results.delta import pack_delta
from pytest_agentbench.sandboxes.linediff import render_diff
from pytest_agentbench.sandboxes.workspace import WorkArea, build_template

T = TypeVar("T")
HANG_S = 20.0


def inside(
    driver: SandboxDriver,
    template: Template,
    body: Callable[[Sandbox], Awaitable[T]],
    delta: Changes | None = None,
) -> T:
    """Open a sandbox, do ``body`` in it, and close it."""

    async def whole() -> T:
        sandbox = await driver.open(template, SandboxRequest(SandboxSpec(), delta=delta))
        try:
            return await body(sandbox)
        finally:
            await sandbox.close()

    return asyncio.run(whole())


async def sh(sandbox: Sandbox, script: str, **env: str) -> Completed:
    return await sandbox.run(["sh", "-c", script], timeout_s=HANG_S, env=env)


ODDITIES = r"""
import os, socket
os.mkdir(b"caf\xe9"); open(b"caf\xe9/\xff\xfe", "wb").write(b"\x00\x01")
open(b"new\nline", "w").close()
os.mkdir("empty")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("sock")
os.symlink("/etc/passwd", "absolute")
os.symlink("../../../etc/passwd", "dotdot")
os.symlink("src", "dir"); os.symlink("dir/../../x", "middle")
os.symlink("src/app.py", "near"); os.symlink("nowhere", "dangling"); os.symlink("loop", "loop")
os.chmod("src/app.py", 0o755)
os.remove("README.md"); os.mkdir("README.md"); open("README.md/inner", "w").write("x\n")
open("locked", "w").write("l\n"); os.chmod("locked", 0)
os.mkdir("closed"); open("closed/in", "w").write("i\n"); os.chmod("closed", 0)
os.remove("src/run.sh")
"""


def test_all_that_was_left_is_found(driver: SandboxDriver, template: Template) -> None:
    """Names of any bytes, empty, closed and odd things are found; what leads out is dropped."""

    async def body(sandbox: Sandbox) -> tuple[dict[bytes, str], dict[str, str]]:
        done = await sandbox.run([sandbox.python, "-I", "-c", ODDITIES], timeout_s=HANG_S)
        assert done.exit_code == 0, done.stderr.text()
        changes = await sandbox.settle()
        rows = {
            change.path: f"{change.kind} {change.entry.kind if change.entry else '-'}"
            for change in changes.changes
        }
        return rows, dict(changes.dropped)

    rows, dropped = inside(driver, template, body)
    assert rows == {
        b"README.md": "modified directory",
        b"README.md/inner": "added file",
        b"caf\xe9": "added directory",
        b"caf\xe9/\xff\xfe": "added file",
        b"closed": "added directory",
        b"closed/in": "added file",
        b"dangling": "added symlink",
        b"dir": "added symlink",
        b"empty": "added directory",
        b"locked": "added file",
        b"loop": "added symlink",
        b"near": "added symlink",
        b"new\nline": "added file",
        b"src/app.py": "modified file",
        b"src/run.sh": "deleted -",
    }
    assert dropped == {
        "absolute": "a symlink out of the workspace: /etc/passwd",
        "dotdot": "a symlink out of the workspace: ../../../etc/passwd",
        "fifo": "a socket, device or FIFO",
        "middle": "a symlink out of the workspace: dir/../../x",
        "sock": "a socket, device or FIFO",
    }


def test_changes_are_carried_to_a_fresh_sandbox(driver: SandboxDriver, template: Template) -> None:
    """A sandbox opened with a delta has the very workspace that was left, oddities apart."""

    async def whole() -> None:
        first = await driver.open(template, SandboxRequest(SandboxSpec()))
        await first.run([first.python, "-I", "-c", ODDITIES], timeout_s=HANG_S)
        left = await first.settle()
        second = await driver.open(template, SandboxRequest(SandboxSpec(), delta=left))
        again = await second.settle()
        assert again.changes == left.changes
        assert again.dropped == {}
        await first.close()
        await second.close()

    asyncio.run(whole())


def test_doing_nothing_changes_nothing(driver: SandboxDriver, template: Template) -> None:
    """A workspace that was only read, and whose Python was only run, is as its template."""

    async def body(sandbox: Sandbox) -> Changes:
        await sh(sandbox, "cat README.md; cd src && python3 -c 'import app'")
        return await sandbox.settle()

    assert inside(driver, template, body).empty


def test_lines_are_counted_in_text_files(driver: SandboxDriver, template: Template) -> None:
    """Lines added and removed are those of a diff; binary files do not count."""

    async def body(sandbox: Sandbox) -> tuple[int | None, int | None]:
        await sh(sandbox, r"printf 'print(2)\nprint(3)\n' > src/app.py; printf '\0\1' > bin")
        changes = await sandbox.settle()
        return changes.lines_added, changes.lines_removed

    assert inside(driver, template, body) == (2, 1)


def test_a_workspace_that_was_removed_counts_as_deleted(
    local: SandboxDriver, template: Template, tmp_path: Path
) -> None:
    """An agent that puts a symlink in place of its workspace shows nothing of where it leads."""
    (tmp_path / "x").write_text("host")

    async def body(sandbox: Sandbox) -> Changes:
        await sh(
            sandbox, 'cd /; rm -rf "$W"; ln -s "$T" "$W"', W=sandbox.workspace, T=str(tmp_path)
        )
        return await sandbox.settle()

    changes = inside(local, template, body)
    assert {change.path for change in changes.changes} == set(template.manifest)
    assert all(change.entry is None for change in changes.changes)
    assert list(changes.dropped) == ["."]
    assert (tmp_path / "x").read_text() == "host"


def test_ten_thousand_files_are_no_trouble(local: SandboxDriver, template: Template) -> None:
    """10,000 files in a hundred directories are found, carried over, and removed."""
    script = (
        "import os\nfor d in range(100):\n    os.mkdir(f'd{d}')\n"
        "    for f in range(100): open(f'd{d}/{f}', 'w').write('x')\n"
    )

    async def whole() -> None:
        first = await local.open(template, SandboxRequest(SandboxSpec()))
        await first.run([first.python, "-I", "-c", script], timeout_s=60)
        left = await first.settle()
        assert len(left.changes) == 10_100
        second = await local.open(template, SandboxRequest(SandboxSpec(), delta=left))
        assert (await sh(second, "find . -type f | wc -l")).stdout.text().strip() == "10003"
        await first.close()
        await second.close()

    asyncio.run(whole())


def names_in(area: WorkArea) -> list[str]:
    return sorted(path.name for path in area.path.iterdir())


@pytest.mark.parametrize(
    "mess",
    [
        "import os\nfor _ in range(1100):\n    os.mkdir('d'); os.chdir('d')\n",
        "import os\nfor _ in range(30):\n    os.mkdir('x' * 250); os.chdir('x' * 250)\n",
        "import os\nos.makedirs('a/b'); os.chmod('a/b', 0); os.chmod('a', 0)\n",
    ],
    ids=["deep", "long", "closed"],
)
def test_closing_removes_everything(
    driver: SandboxDriver, template: Template, area: WorkArea, mess: str
) -> None:
    """However deep, long or closed its directories are, nothing of a sandbox is left."""

    async def whole() -> list[str]:
        before = names_in(area)
        sandbox = await driver.open(template, SandboxRequest(SandboxSpec()))
        await sandbox.run([sandbox.python, "-I", "-c", mess], timeout_s=HANG_S)
        await sandbox.put({"a": Blob(b"")})
        await sandbox.scratch()
        await sandbox.settle()
        await sandbox.close()
        await sandbox.close()
        return [name for name in names_in(area) if name not in before]

    assert [name for name in asyncio.run(whole()) if name != "furniture"] == []


def test_a_full_disk_is_a_fault_of_the_sandbox(
    driver: SandboxDriver, template: Template, area: WorkArea
) -> None:
    """Where no directory can be made, opening raises ``SandboxError``, not ``OSError``."""
    driver.probe()
    asyncio.run(_opened_and_closed(driver, template))
    area.path.rename(area.path.with_name("elsewhere"))
    try:
        with pytest.raises(SandboxError):
            asyncio.run(_opened_and_closed(driver, template))
    finally:
        area.path.with_name("elsewhere").rename(area.path)


async def _opened_and_closed(driver: SandboxDriver, template: Template) -> None:
    sandbox = await driver.open(template, SandboxRequest(SandboxSpec()))
    await sandbox.close()


def test_settling_leaves_the_workspace_only(
    driver: SandboxDriver, template: Template, area: WorkArea
) -> None:
    """What the agent put elsewhere fills no disk while it is scored."""
    driver.probe()
    before_all = {*names_in(area), "furniture", "runtime"}

    async def body(sandbox: Sandbox) -> list[str]:
        before = names_in(area)
        await sandbox.put({"a": Blob(b"")})
        place = await sandbox.scratch()
        script = 'for d in "$HOME" "$TMPDIR" "$S"; do mkdir "$d/x"; echo y > "$d/x/y"; done; ls'
        assert (await sh(sandbox, script, S=place)).exit_code == 0
        await sandbox.settle()
        [own] = [area.path / name for name in before if name not in before_all]
        return [path.name for path in own.iterdir()]

    assert inside(driver, template, body) == ["workspace"]


GONE = {
    "removed": 'cd /; rm -rf "$W"',
    "file": 'cd /; rm -rf "$W"; echo x > "$W"',
    "symlink": 'cd /; rm -rf "$W"; ln -s "$T" "$W"',
    "sandbox": 'cd /; rm -rf "$(dirname "$W")"',
    "sandbox symlink": 'cd /; S=$(dirname "$W"); rm -rf "$S"; ln -s "$T" "$S"',
}


@pytest.mark.parametrize("how", GONE)
def test_an_agent_that_removes_its_workspace_is_scored_on_nothing(
    local: SandboxDriver, template: Template, tmp_path: Path, how: str
) -> None:
    """All was deleted, whatever stands there now; scoring, diff and tar have no need of it."""
    victim = tmp_path / "victim"
    for name in ("workspace", "home", "tmp"):
        (victim / name).mkdir(parents=True)
        (victim / name / "x").write_text("host")

    async def whole() -> tuple[Changes, str]:
        first = await local.open(template, SandboxRequest(SandboxSpec()))
        await sh(first, GONE[how], W=first.workspace, T=str(victim))
        left = await first.settle()
        second = await local.open(template, SandboxRequest(SandboxSpec(), delta=left))
        seen = (await sh(second, "find .")).stdout.text()
        diff = render_diff(template, left, limit=10_000)
        assert diff.count("+++ /dev/null") == 3
        assert pack_delta(left, redactor=Redactor(()), limit=10_000).data
        await first.close()
        await second.close()
        return left, seen

    changes, seen = asyncio.run(whole())
    assert {change.path for change in changes.changes} == set(template.manifest)
    assert all(change.entry is None for change in changes.changes)
    assert changes.lines_removed == 4
    assert seen == ".\n"
    assert sorted(path.parent.name for path in victim.glob("*/x")) == ["home", "tmp", "workspace"]


VENV = """
import os, sys
os.makedirs(".venv/bin")
os.symlink(sys.executable, ".venv/bin/python")
os.symlink("python", ".venv/bin/python3")
os.symlink("/usr/bin", "tools")
os.symlink("tools/env", "env")
os.symlink("/usr/../etc/passwd", "passwd")
os.symlink("/proc/self/root", "root")
os.symlink("tools/../../etc/passwd", "through")
"""


def test_links_to_what_every_sandbox_shows_are_carried(
    driver: SandboxDriver, template: Template
) -> None:
    """An environment made by the agent keeps its interpreter; other links out are dropped."""

    async def whole() -> tuple[dict[str, str], str]:
        first = await driver.open(template, SandboxRequest(SandboxSpec()))
        done = await first.run([first.python, "-I", "-c", VENV], timeout_s=HANG_S)
        assert done.exit_code == 0, done.stderr.text()
        left = await first.settle()
        second = await driver.open(template, SandboxRequest(SandboxSpec(), delta=left))
        script = ".venv/bin/python3 -I -c 'print(42)'; ./env printf ok; find . -type l | sort"
        seen = (await sh(second, script)).stdout.text()
        for name in ("env", "tools/env", ".venv/bin/python", "tools"):
            assert await second.read(name, limit=9) is None
        assert "(symlink," in render_diff(template, left, limit=10_000)
        await first.close()
        await second.close()
        return dict(left.dropped), seen

    dropped, seen = asyncio.run(whole())
    assert seen == "42\nok./.venv/bin/python\n./.venv/bin/python3\n./env\n./tools\n"
    assert dropped == {
        "passwd": "a symlink out of the workspace: /usr/../etc/passwd",
        "root": "a symlink out of the workspace: /proc/self/root",
        "through": "a symlink out of the workspace, through another: tools/../../etc/passwd",
    }


@pytest.mark.parametrize("size", ["400G", "1T"])
def test_a_huge_sparse_file_holds_nobody_up(
    driver: SandboxDriver, template: Template, size: str
) -> None:
    """Nothing is read of a file that cannot be equal to the template's; its size is told."""

    async def body(sandbox: Sandbox) -> Changes:
        await sh(sandbox, f"truncate -s {size} big; truncate -s {size} src/app.py")
        return await sandbox.settle()

    changes = inside(driver, template, body)
    assert [change.path for change in changes.changes] == [b"big", b"src/app.py"]
    assert changes.size_bytes == 2 * (400 << 30 if size == "400G" else 1 << 40)


def test_a_cancelled_opening_is_over_when_it_says_so(
    driver: SandboxDriver, area: WorkArea, tmp_path: Path
) -> None:
    """No thread copies on, and nothing is left, once the cancellation has come through."""
    big = build_template({f"{n}": Blob(bytes(32_000_000)) for n in range(4)}, tmp_path / "big")
    driver.probe()

    def copying() -> bool:
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return any(link.readlink().is_relative_to(tmp_path / "big") for link in links)

    async def whole() -> None:
        await (await driver.open(big, SandboxRequest(SandboxSpec()))).close()
        before = names_in(area)
        task = asyncio.create_task(driver.open(big, SandboxRequest(SandboxSpec())))
        for _ in range(1000):
            await asyncio.sleep(0.001)
            if copying():
                break
        assert copying()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not copying()
        assert names_in(area) == before

    asyncio.run(whole())
