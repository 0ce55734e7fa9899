"""Slots between real processes: who holds one keeps others out, and death gives it back."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_agentbench.engine.slots import Slots
from pytest_agentbench.errors import SetupError

PATIENCE_S = 60.0
HOLDER = """
import asyncio, sys
from pathlib import Path
from pytest_agentbench.engine.slots import Slots

async def main():
    async with Slots(Path(sys.argv[1]), {"gpu": int(sys.argv[2])}).hold({"gpu": int(sys.argv[3])}):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


@contextmanager
def holder(directory: Path, capacity: int = 1, count: int = 1) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds slots until its standard input is closed."""
    argv = [sys.executable, "-c", HOLDER, str(directory), str(capacity), str(count)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


async def is_free(slots: Slots, needs: dict[str, int], wait_s: float = 0.3) -> bool:
    """Whether slots can be had within a short time; gives them back."""
    try:
        async with asyncio.timeout(wait_s), slots.hold(needs):
            return True
    except TimeoutError:
        return False


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "slots"


def test_another_process_keeps_out(directory: Path) -> None:
    """A slot that another process holds cannot be had; one of another name can."""
    slots = Slots(directory, {})
    with holder(directory):
        assert not asyncio.run(is_free(slots, {"gpu": 1}))
        assert asyncio.run(is_free(slots, {"database": 1}))


def test_a_slot_is_given_back(directory: Path) -> None:
    """Who waits goes on when the holder is done."""
    slots = Slots(directory, {})
    with holder(directory) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert asyncio.run(is_free(slots, {"gpu": 1}, PATIENCE_S))


def test_death_gives_slots_back(directory: Path) -> None:
    """A holder that is killed holds nothing any more."""
    slots = Slots(directory, {})
    with holder(directory) as process:
        assert not asyncio.run(is_free(slots, {"gpu": 1}))
        process.kill()
        assert asyncio.run(is_free(slots, {"gpu": 1}, PATIENCE_S))


def test_capacity_is_shared(directory: Path) -> None:
    """Of three slots another process holds two: one can be had, two cannot."""
    slots = Slots(directory, {"gpu": 3})
    with holder(directory, capacity=3, count=2):
        assert asyncio.run(is_free(slots, {"gpu": 1}))
        assert not asyncio.run(is_free(slots, {"gpu": 2}))


def test_children_of_the_holder_do_not_hold(directory: Path) -> None:
    """A process that was started while a slot was held does not keep it."""

    async def scenario() -> None:
        slots = Slots(directory, {})
        async with slots.hold({"gpu": 1}):
            sleep = ["sleep", "60"]
            child = await asyncio.to_thread(subprocess.Popen, sleep, close_fds=False)
        try:
            assert await is_free(slots, {"gpu": 1}, PATIENCE_S)
        finally:
            child.kill()
            child.wait()

    asyncio.run(scenario())


def test_never_more_than_there_are(directory: Path) -> None:
    """Twenty tasks that need one or two of three slots: all have their turn, none too many."""
    busy = most = 0

    async def work(slots: Slots, count: int) -> None:
        nonlocal busy, most
        async with slots.hold({"gpu": count}):
            busy += count
            most = max(most, busy)
            await asyncio.sleep(0.01)
            busy -= count

    async def scenario() -> None:
        async with asyncio.timeout(PATIENCE_S):
            # An object each, as in as many processes.
            await asyncio.gather(
                *(work(Slots(directory, {"gpu": 3}), 1 + index % 2) for index in range(20))
            )

    asyncio.run(scenario())
    assert busy == 0
    assert 2 <= most <= 3


def test_crossed_needs_do_not_block_each_other(directory: Path) -> None:
    """Turns are taken in one order, however needs are written: nobody waits for ever.

    The one who needs ``b`` and ``a`` waits for his turn at ``a``, and has none at ``b`` yet.
    """

    async def scenario() -> None:
        slots = Slots(directory, {})
        async with slots.hold({"a": 1}):
            first = asyncio.create_task(is_free(slots, {"a": 1}, PATIENCE_S))
            await asyncio.sleep(0.05)
            second = asyncio.create_task(is_free(slots, {"b": 1, "a": 1}, PATIENCE_S))
            await asyncio.sleep(0.05)
            assert await is_free(slots, {"b": 1})
        assert await first
        assert await second

    asyncio.run(scenario())


def test_a_big_request_is_not_starved(directory: Path) -> None:
    """Requests that take a slot the moment they gave it back leave one that needs all its turn."""

    async def scenario() -> None:
        slots = Slots(directory, {"gpu": 2})
        done = asyncio.Event()

        async def small() -> None:
            while not done.is_set():
                async with slots.hold({"gpu": 1}):
                    await asyncio.sleep(0.05)

        crowd = [asyncio.create_task(small()) for _ in range(2)]
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.sleep(0.02)
            async with slots.hold({"gpu": 2}):
                done.set()
            await asyncio.gather(*crowd)

    asyncio.run(scenario())


def test_a_wait_can_be_cancelled(directory: Path) -> None:
    """Cancelled while it waits, a request leaves no lock behind: not its turn, no slot."""

    async def scenario() -> None:
        slots = Slots(directory, {"gpu": 2})
        async with slots.hold({"gpu": 1}):
            waiting = asyncio.create_task(is_free(slots, {"gpu": 2}, PATIENCE_S))
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await is_free(slots, {"gpu": 1}, PATIENCE_S)
        assert await is_free(slots, {"gpu": 2}, PATIENCE_S)

    asyncio.run(scenario())


def test_errors_of_the_holder_are_its_own(directory: Path) -> None:
    """What is raised while a slot is held passes through as it is, and gives the slot back."""

    async def scenario() -> None:
        slots = Slots(directory, {})
        with pytest.raises(FileNotFoundError):
            async with slots.hold({"gpu": 1}):
                raise FileNotFoundError("of the trial's")
        assert await is_free(slots, {"gpu": 1}, PATIENCE_S)

    asyncio.run(scenario())


@pytest.mark.parametrize(("capacities", "there"), [({}, "is 1"), ({"gpu": 3}, "are 3")])
def test_more_than_there_is(directory: Path, capacities: dict[str, int], there: str) -> None:
    """A request that can never be met is an error at once, with what to write."""
    with pytest.raises(SetupError) as caught:
        asyncio.run(is_free(Slots(directory, capacities), {"gpu": 4}))
    assert str(caught.value) == (
        f"needs 4 of slot 'gpu', there {there}. Try: slots: {{gpu: 4}} in the experiment file"
    )
    assert caught.value.reason == "setup"
    assert not directory.exists()


def test_nothing_needed_makes_nothing(directory: Path) -> None:
    """A trial without slots neither waits nor touches the disk."""
    assert asyncio.run(is_free(Slots(directory, {}), {}))
    assert not directory.exists()


def test_directory_is_private(directory: Path) -> None:
    """The locks' directory is this user's alone; one that others can enter is refused."""
    assert asyncio.run(is_free(Slots(directory, {}), {"gpu": 1}))
    assert directory.stat().st_mode & 0o777 == 0o700
    directory.chmod(0o755)
    with pytest.raises(SetupError, match="belongs to this user alone"):
        asyncio.run(is_free(Slots(directory, {}), {"gpu": 1}))


def test_directory_is_no_link(directory: Path, tmp_path: Path) -> None:
    """A link that somebody has put there is not followed."""
    (tmp_path / "other").mkdir(mode=0o700)
    directory.symlink_to(tmp_path / "other")
    with pytest.raises(SetupError, match="belongs to this user alone"):
        asyncio.run(is_free(Slots(directory, {}), {"gpu": 1}))


def test_a_lock_file_that_lost_its_name(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is swept away between opening and locking keeps nobody out: it is not held."""
    locks: list[int] = []

    def sweep_first(lock: int, operation: int) -> None:
        if not locks:
            for path in directory.glob("*.lock"):
                path.unlink()
                locks.append(lock)
        flock(lock, operation)

    flock = fcntl.flock
    monkeypatch.setattr("pytest_agentbench.engine.slots.fcntl.flock", sweep_first)

    async def scenario() -> None:
        async with Slots(directory, {}).hold({"gpu": 1}):
            assert not await is_free(Slots(directory, {}), {"gpu": 1})

    asyncio.run(scenario())
    assert len(locks) == 1


def test_what_is_in_the_way_is_told(directory: Path) -> None:
    """A lock that cannot be opened is an error of the trial, not an endless wait."""
    (directory / "gpu-0.lock").mkdir(parents=True)
    directory.chmod(0o700)
    with pytest.raises(SetupError, match="slots cannot be locked: Is a directory"):
        asyncio.run(is_free(Slots(directory, {}), {"gpu": 1}))
