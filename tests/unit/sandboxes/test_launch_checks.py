"""Whether a command can be executed, told before it is tried."""

from __future__ import annotations

from pathlib import Path

from pytest_agentbench.sandboxes.launch import why_not


def test_a_program_is_looked_for_as_execvp_does(tmp_path: Path) -> None:
    """By PATH for a bare name, from the working directory for one with a slash."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "tool"
    program.write_text("#!/bin/sh\n")
    where = str(tmp_path / "bin")
    assert why_not("tool", where, tmp_path) == "cannot execute 'tool': Permission denied"
    program.chmod(0o755)
    assert why_not("tool", where, tmp_path) is None
    assert why_not("bin/tool", "", tmp_path) is None
    assert why_not("tool", "/nowhere:", tmp_path / "bin") is None
    assert why_not("tool", "/nowhere", tmp_path) == (
        "cannot execute 'tool': No such file or directory"
    )
    assert why_not("./bin", "", tmp_path) == "cannot execute './bin': Permission denied"
    assert "does not exist" in (why_not("tool", where, tmp_path / "gone") or "")
