"""``agentbench doctor``: what works on this machine, why not, and what killed sessions left."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import JsonValue

from pytest_agentbench import __version__
from pytest_agentbench.cli import dockerengine, findings
from pytest_agentbench.cli.dockerengine import Engine
from pytest_agentbench.cli.findings import Finding
from pytest_agentbench.errors import AgentbenchError, SandboxError
from pytest_agentbench.redaction import printable
from pytest_agentbench.registry import built_in_names
from pytest_agentbench.sandboxes.area import WorkArea, reap_stale, stale_areas
from pytest_agentbench.sandboxes.driverbase import SandboxHost
from pytest_agentbench.sandboxes.runtime import Runtime
from pytest_agentbench.settings import user_cache
from pytest_agentbench.wiring import build_driver, close_driver

_MARKS = {True: "ok", False: "no", None: "-"}
_ENGINES = "docker"
_BUBBLEWRAP = "bubblewrap"


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What killed sessions left, and what of it was removed, a line each."""

    found: Sequence[str] = ()
    reaped: Sequence[str] = ()


def doctor(*, reap: bool, as_json: bool) -> bool:
    """Print what works here; return whether anything isolates."""
    engine = dockerengine.ask()
    found = _findings(engine)
    left, notes = _leftovers(engine, reap=reap)
    isolating = [one.name for one in found if one.facts.get("isolates") is True]
    found.append(_leftovers_row(left, notes, reap=reap))
    if as_json:
        print(json.dumps(_as_json(found, isolating, left), indent=2))
    else:
        _print_table(found)
        _print_notes(found, left)
        print(f"isolating: {', '.join(isolating) or 'nothing'}")
    return bool(isolating)


def _findings(engine: Engine) -> list[Finding]:
    rows: list[Finding] = []
    with _host() as host:
        if isinstance(host, SandboxError):
            rows.append(findings.python(None))
            rows += [findings.broken(name, host) for name in built_in_names("sandbox")]
        else:
            rows.append(findings.python(host.runtime))
            rows += [_driver(name, host, engine) for name in built_in_names("sandbox")]
    rows += [
        findings.control_groups(),
        findings.disk(engine.data_root),
        findings.credentials(),
    ]
    return rows


@contextmanager
def _host() -> Iterator[SandboxHost | SandboxError]:
    """What drivers are built with, as in a session; or why there is no room for it."""
    try:
        area = WorkArea()
    except OSError as fault:
        yield SandboxError(f"no room for a sandbox: {fault.strerror or fault}")
        return
    try:
        cache = user_cache(os.environ)
        runtime = Runtime(cache / "runtime" if cache else None, area)
        host = SandboxHost(area, runtime, (), driver=lambda name: build_driver(name, host))
        yield host
    finally:
        area.close()


def _driver(name: str, host: SandboxHost, engine: Engine) -> Finding:
    if name == _ENGINES and engine.fault is not None:
        return findings.broken(name, engine.fault, facts=engine.facts)
    try:
        driver = build_driver(name, host)
    except AgentbenchError as fault:
        return findings.broken(name, fault)
    try:
        if name == _ENGINES:
            return findings.sandbox(name, driver, about=engine.about, facts=engine.facts)
        version = findings.bubblewrap_version() if name == _BUBBLEWRAP else ""
        return findings.sandbox(
            name, driver, about=version, facts={"version": version} if version else {}
        )
    finally:
        close_driver(driver)


def _leftovers(engine: Engine, *, reap: bool) -> tuple[Leftovers, tuple[str, ...]]:
    """What is left, and why not all of it could be looked at."""
    try:
        areas = stale_areas()
        if reap:
            reap_stale()
    except FileNotFoundError as fault:
        # No directory for temporary files can be written to: nor was there one before.
        return Leftovers(), (fault.strerror or str(fault),)
    still = [path for path in areas if path.exists()]
    gone = [f"work area {path}" for path in areas if path not in still]
    found = [f"work area {path}" for path in still]
    if engine.fault is not None:
        return Leftovers(found, gone), ("the Docker engine could not be asked",)
    try:
        if reap:
            gone += dockerengine.leftovers(reap=True)
        found += dockerengine.leftovers(reap=False)
    except SandboxError as fault:
        return Leftovers(found, gone), (fault.what,)
    return Leftovers(found, gone), ()


def _leftovers_row(left: Leftovers, notes: tuple[str, ...], *, reap: bool) -> Finding:
    """Nothing is wrong with having some; with what cannot be removed, there is."""
    said = f"{len(left.reaped)} removed, {len(left.found)} left" if reap else ""
    if not reap:
        said = f"{len(left.found)} of killed sessions" if left.found else "none"
        notes = (*notes, "agentbench doctor --reap removes them") if left.found else notes
    works = False if reap and left.found else None
    return Finding("leftovers", works, said, notes)


def _print_table(rows: Sequence[Finding]) -> None:
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(printable(f"{row.name.ljust(width)}  {_MARKS[row.works].ljust(2)}  {row.summary}"))
    print()


def _print_notes(rows: Sequence[Finding], left: Leftovers) -> None:
    """What is missing and why; what several drivers lack for one reason, once."""
    who: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            who.setdefault(note, []).append(row.name)
    lines = [f"- {', '.join(names)}: {note}" for note, names in who.items()]
    lines += [f"- removed: {line}" for line in left.reaped]
    lines += [f"- left: {line}" for line in left.found]
    for line in (*lines, *([""] if lines else [])):
        print(printable(line))


def _as_json(
    rows: Sequence[Finding], isolating: Sequence[str], left: Leftovers
) -> dict[str, JsonValue]:
    return {
        "agentbench": __version__,
        "isolating": list[JsonValue](isolating),
        "findings": [
            {
                "name": row.name,
                "works": row.works,
                "summary": printable(row.summary),
                "notes": [printable(note) for note in row.notes],
                "facts": dict[str, JsonValue](row.facts),
            }
            for row in rows
        ],
        "leftovers": list[JsonValue](left.found),
        "reaped": list[JsonValue](left.reaped),
    }
