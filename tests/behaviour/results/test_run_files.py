from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_agentbench.errors import StoreError
from pytest_agentbench.model.plan import Plan
from pytest_agentbench.results.atomic import replace_file
from pytest_agentbench.results.manifest import (
    Counts,
    RunManifest,
    platform_name,
    python_version,
    read_manifest,
    write_manifest,
)
from pytest_agentbench.results.plans import (
    ProcessPlans,
    agree,
    merge,
    read_plan,
    read_process_plans,
    write_plan,
    write_process_plan,
)
from pytest_agentbench.results.rundir import RunDirectory
from rows import matrix


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path / "results", run_id="some")


def manifest(**fields: object) -> RunManifest:
    return RunManifest.model_validate(
        {
            "run_id": "some",
            "harness": "pytest-agentbench 0.1.0",
            "pytest": "9.2.0",
            "python": python_version(),
            "platform": platform_name(),
            "arguments": ["tasks/"],
            "variants": ["reference"],
            "sandboxes": ["local"],
            "started_at": "2026-11-29T13:15:00+00:00",
            **fields,
        }
    )


def test_a_manifest_is_written_at_both_ends_of_a_run(run: RunDirectory) -> None:
    """At first without an end, then whole: both are read as they were written."""
    write_manifest(run.manifest, manifest())
    assert read_manifest(run.manifest) == manifest()
    counts = Counts(planned=3, passed=2, failed=1, error=0, skipped=0, cancelled=0)
    whole = manifest(
        finished_at="2026-11-29T13:16:00+00:00", exit_status=1, counts=counts, complete=True
    )
    write_manifest(run.manifest, whole)
    assert read_manifest(run.manifest) == whole
    assert {path.name for path in run.path.iterdir()} == {"plans", "manifest.json"}


def test_a_manifest_names_no_host() -> None:
    """The machine's kind is recorded, not its name."""
    assert os.uname().nodename not in platform_name().split()
    assert platform_name().startswith("linux ")


def test_a_manifest_that_cannot_be_read_is_an_error(run: RunDirectory) -> None:
    """Missing and wrong manifests are told apart."""
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        read_manifest(run.manifest)
    run.manifest.write_text('{"schema_version": 1}')
    with pytest.raises(StoreError, match="not a manifest of version 1"):
        read_manifest(run.manifest)


def test_each_process_has_its_plan(run: RunDirectory) -> None:
    """Plans are kept by process, and read back by name, in order."""
    write_process_plan(run, "gw1", matrix("ab"))
    write_process_plan(run, "gw0", matrix("a"))
    write_process_plan(run, "gw0", matrix("ab"))
    (run.plans / ".gw2.json.0.tmp").touch()
    assert read_process_plans(run) == {"gw0": matrix("ab"), "gw1": matrix("ab")}
    assert list(read_process_plans(run)) == ["gw0", "gw1"]


def test_equal_plans_are_one(run: RunDirectory) -> None:
    """Plans of equal bytes are read once, others by themselves; and none is lost with its file."""
    plans = ProcessPlans(run)
    for name, tasks in (("gw0", "ab"), ("gw1", "ab"), ("gw2", "abc")):
        write_process_plan(run, name, matrix(tasks))
    first = plans.read()
    assert first == {"gw0": matrix("ab"), "gw1": matrix("ab"), "gw2": matrix("abc")}
    assert first["gw0"] is first["gw1"]
    assert merge({name: first[name] for name in ("gw0", "gw1")}) == matrix("ab")
    assert agree(first) == ["c[codex-r1]: in gw2, not in gw0"]
    (run.plans / "gw1.json").unlink()
    write_process_plan(run, "gw3", matrix("ab"))
    assert plans.read() == {**first, "gw3": matrix("ab")}


def test_the_common_plan_is_kept(run: RunDirectory) -> None:
    """The plan is read as it was written; half a plan is an error, not an empty one."""
    write_plan(run.plan, matrix("abc", repeats=2))
    assert read_plan(run.plan) == matrix("abc", repeats=2)
    run.plan.write_bytes(run.plan.read_bytes()[:-20])
    with pytest.raises(StoreError, match="not a plan"):
        read_plan(run.plan)
    assert read_process_plans(run) == {}


def test_a_file_that_cannot_be_replaced_stays(small_disk: Path) -> None:
    """On a full disk the old file stays whole, and no half of the new one is left."""
    path = small_disk / "plan.json"
    write_plan(path, Plan())
    with pytest.raises(StoreError, match=r"plan.json: cannot be written: No space left"):
        replace_file(path, bytes(1024 * 1024))
    assert read_plan(path) == Plan()
    assert list(small_disk.iterdir()) == [path]
