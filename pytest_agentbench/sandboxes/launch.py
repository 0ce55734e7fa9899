"""Whether a command can be executed at all, told before it is tried."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_SCRIPT_LINE = 256


def why_not(program: str, path: str, cwd: Path) -> str | None:
    """Why ``program`` cannot be executed from ``cwd`` with that PATH; None when it can."""
    if not cwd.is_dir():
        return f"cannot execute {program!r}: the working directory {str(cwd)!r} does not exist"
    names = (
        [program] if "/" in program else [f"{each or '.'}/{program}" for each in path.split(":")]
    )
    worst = errno.ENOENT
    for name in names:
        fault = _fault(cwd / name)
        if fault is None:
            return None
        if fault != errno.ENOENT:
            worst = fault
    return f"cannot execute {program!r}: {os.strerror(worst)}"


def _fault(file: Path) -> int | None:
    try:
        about = file.stat()
    except OSError as fault:
        return errno.ENOENT if fault.errno == errno.ENOTDIR else fault.errno
    except ValueError:  # an embedded NUL byte
        return errno.ENOENT
    if not stat.S_ISREG(about.st_mode) or not os.access(file, os.X_OK):
        return errno.EACCES
    return None
