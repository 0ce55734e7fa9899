"""What goes into a sandbox, what can be read out of it, and what is found at the end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_agentbench.errors import SandboxClosed, SandboxError
from pytest_agentbench.model.contracts import (
    Altered,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    Template,
)
from pytest_agentbench.model.run import Changes
from pytest_agentbench.model.task import Blob
from pytest_agentbench.testing.host import PATIENCE_S, PLAIN, opened
from pytest_agentbench.testing.room import DriverRoom, sh

_LEFT = r"""
import os
os.mkdir(b"caf\xe9"); open(b"caf\xe9/\xff\xfe", "wb").write(b"\x00\x01")
open(b"new\nline", "w").close()
os.mkdir("empty"); os.mkfifo("fifo")
os.symlink("/etc/passwd", "absolute"); os.symlink("src/app.py", "near")
os.chmod("src/app.py", 0o755)
os.remove("README.md"); os.mkdir("README.md"); open("README.md/inner", "w").write("x\n")
os.remove("src/run.sh")
"""


class FileChecks(DriverRoom):
    """A sandbox's files."""

    def test_sandboxes_do_not_see_each_other(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """Each has a copy of the template, which stays as it was."""

        async def whole() -> None:
            request = SandboxRequest(PLAIN, label="sample")
            first, second = [await driver.open(template, request) for _ in range(2)]
            await sh(first, "echo changed > README.md; touch new")
            seen = await sh(second, "cat README.md; ls new")
            assert seen.stdout.text() == "hello\n"
            assert (await second.settle()).empty
            await first.close()
            await second.close()
            assert (template.directory / "README.md").read_text() == "hello\n"

        asyncio.run(whole())

    def test_staged_files_are_at_a_fresh_random_place(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """``put`` gives a new path each time, outside the workspace, holding just those files."""

        async def body(sandbox: Sandbox) -> None:
            files = {"a/b.txt": Blob(b"one"), "run": Blob(b"#!/bin/sh\necho go\n", executable=True)}
            first, second = await sandbox.put(files), await sandbox.put({"c": Blob(b"")})
            assert first != second
            assert not first.startswith(f"{sandbox.workspace}/")
            done = await sh(sandbox, 'cat "$D/a/b.txt"; "$D/run"; ls "$E"', D=first, E=second)
            assert done.stdout.text() == "onego\nc\n"

        opened(driver, template, body)

    def test_what_was_rewritten_is_told(self, driver: SandboxDriver, template: Template) -> None:
        """``altered``, where there is one: files of other bytes, and no others.

        Asked for files of the workspace; those that were staged may be out of reach.
        """

        async def body(sandbox: Sandbox) -> None:
            if not hasattr(sandbox, "altered"):
                pytest.skip("this driver's sandboxes cannot tell")
            place = await sandbox.put({"a/b.txt": Blob(b"one"), "c": Blob(b"two")})
            assert await sandbox.altered(template.manifest) == Altered()
            await sh(sandbox, "cat README.md; touch src/app.py; touch new; chmod +x README.md")
            assert await sandbox.altered(template.manifest) == Altered()
            await sh(sandbox, "echo 2 > src/app.py; rm src/run.sh; echo hullo > README.md")
            some = {path: template.manifest[path] for path in (b"src/app.py", b"src/run.sh")}
            assert await sandbox.altered(some) == Altered(kept=(b"src/app.py", b"src/run.sh"))
            script = 'chmod -R u+w "$D"; echo x > "$D/a/b.txt"; rm -f "$D/c"; cat "$D/a/b.txt"'
            done = await sh(sandbox, script, D=place)
            told = ("a/b.txt", "c") if done.stdout.text() == "x\n" else ()
            assert (await sandbox.altered({})).staged == told

        opened(driver, template, body)

    def test_a_scratch_directory_is_empty_writable_and_can_be_read(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """What a command writes to a scratch directory can be read, and is in no workspace."""

        async def body(sandbox: Sandbox) -> None:
            place = await sandbox.scratch()
            done = await sh(sandbox, 'ls -A "$S"; printf 12345 > "$S/out"', S=place)
            assert (done.exit_code, done.stdout.text()) == (0, "")
            assert await sandbox.read(f"{place}/out", limit=100) == b"12345"
            assert await sandbox.read(f"{place}/out", limit=3) == b"123"
            assert (await sandbox.settle()).empty

        opened(driver, template, body)

    def test_only_regular_files_are_read(
        self, driver: SandboxDriver, template: Template, tmp_path: Path
    ) -> None:
        """No symlink is followed, last or middle part; no FIFO, directory or host path is read."""
        (tmp_path / "secret").write_text("host")

        async def body(sandbox: Sandbox) -> None:
            await sh(
                sandbox,
                'ln -s "$T/secret" last; ln -s "$T" middle; ln -s src/app.py near; ln -s src dir;'
                "mkfifo pipe; echo ok > good",
                T=str(tmp_path),
            )
            assert await sandbox.read(f"{sandbox.workspace}/good", limit=9) == b"ok\n"
            assert await sandbox.read("good", limit=9) == b"ok\n"
            for bad in (
                "last", "middle/secret", "near", "dir/app.py", "pipe", "src", "none", ".", "",
                "../secret", f"src/../../../{tmp_path}/secret", str(tmp_path / "secret"),
                "/etc/passwd", "good\0",
            ):  # fmt: skip
                assert await sandbox.read(bad, limit=9) is None, bad
                if not bad.startswith("/"):
                    whole = f"{sandbox.workspace}/{bad}"
                    assert await sandbox.read(whole, limit=9) is None, bad

        opened(driver, template, body)

    def test_writing_follows_no_symlink_and_replaces_what_is_in_the_way(
        self, driver: SandboxDriver, template: Template, tmp_path: Path
    ) -> None:
        """A file is written where it is named: through no link, and over a directory or a file."""
        (tmp_path / "victim").write_text("safe")

        async def body(sandbox: Sandbox) -> None:
            await sh(
                sandbox,
                'ln -s "$T" out; ln -s "$T/victim" link; mkdir -p full/of/things; echo x > file',
                T=str(tmp_path),
            )
            names = ["out/victim", "link", "full", "file/below", "new/deep/one"]
            await sandbox.write({name: Blob(name.encode()) for name in names})
            for name in names:
                assert await sandbox.read(name, limit=99) == name.encode()

        opened(driver, template, body)
        assert (tmp_path / "victim").read_text() == "safe"
        assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["victim"]

    @pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "", "a//b", "./a"])
    def test_a_name_that_leads_elsewhere_is_refused(
        self, driver: SandboxDriver, template: Template, name: str
    ) -> None:
        """Names to write or stage must be plain and relative."""

        async def body(sandbox: Sandbox) -> None:
            with pytest.raises(SandboxError):
                await sandbox.write({name: Blob(b"")})
            with pytest.raises(SandboxError):
                await sandbox.put({name: Blob(b"")})

        opened(driver, template, body)

    def test_doing_nothing_changes_nothing(self, driver: SandboxDriver, template: Template) -> None:
        """A workspace that was only read is as its template."""

        async def body(sandbox: Sandbox) -> Changes:
            await sh(sandbox, "cat README.md; cat src/app.py")
            return await sandbox.settle()

        assert opened(driver, template, body).empty

    def test_all_that_was_left_is_found(self, driver: SandboxDriver, template: Template) -> None:
        """Names of any bytes, empty and odd things are found; what leads out is dropped."""

        async def body(sandbox: Sandbox) -> tuple[dict[bytes, str], set[str], bytes]:
            done = await sandbox.run([sandbox.python, "-I", "-c", _LEFT], timeout_s=PATIENCE_S)
            assert done.exit_code == 0, done.stderr.text()
            changes = await sandbox.settle()
            rows = {
                change.path: f"{change.kind} {change.entry.kind if change.entry else '-'}"
                for change in changes.changes
            }
            return rows, set(changes.dropped), (changes.root / "README.md/inner").read_bytes()

        rows, dropped, inner = opened(driver, template, body)
        assert rows == {
            b"README.md": "modified directory",
            b"README.md/inner": "added file",
            b"caf\xe9": "added directory",
            b"caf\xe9/\xff\xfe": "added file",
            b"empty": "added directory",
            b"near": "added symlink",
            b"new\nline": "added file",
            b"src/app.py": "modified file",
            b"src/run.sh": "deleted -",
        }
        assert (dropped, inner) == ({"absolute", "fifo"}, b"x\n")

    def test_changes_are_carried_to_a_fresh_sandbox(
        self, driver: SandboxDriver, template: Template
    ) -> None:
        """A sandbox opened with a delta has the very workspace that was left."""

        async def whole() -> None:
            first = await driver.open(template, SandboxRequest(PLAIN, label="sample"))
            await first.run([first.python, "-I", "-c", _LEFT], timeout_s=PATIENCE_S)
            left = await first.settle()
            request = SandboxRequest(PLAIN, delta=left, label="sample scoring")
            second = await driver.open(template, request)
            again = await second.settle()
            assert again.changes == left.changes
            assert again.dropped == {}
            await first.close()
            await second.close()

        asyncio.run(whole())

    def test_a_closed_sandbox_says_so(self, driver: SandboxDriver, template: Template) -> None:
        """After ``close`` only ``close`` works; after ``settle`` also ``read`` and ``settle``."""

        async def whole() -> None:
            sandbox = await driver.open(template, SandboxRequest(PLAIN, label="sample"))
            await sandbox.settle()
            for call in (
                lambda: sandbox.run(["true"], timeout_s=1),
                lambda: sandbox.put({}),
                sandbox.scratch,
                lambda: sandbox.write({}),
            ):
                with pytest.raises(SandboxClosed):
                    await call()
            assert await sandbox.read("README.md", limit=9) == b"hello\n"
            assert (await sandbox.settle()).empty
            await sandbox.close()
            await sandbox.close()
            for late in (
                lambda: sandbox.run(["true"], timeout_s=1),
                lambda: sandbox.put({}),
                sandbox.scratch,
                lambda: sandbox.read("x", limit=1),
                lambda: sandbox.write({}),
                sandbox.settle,
            ):
                with pytest.raises(SandboxClosed):
                    await late()

        asyncio.run(whole())
