"""What a trial in containers costs above the bare calls that it cannot do without.

Bare are, over docker-py as the driver talks to the engine, for an agent's container and for
one in which it is scored: create and start (``docker run -d``), ``exec``, ``cp`` of the
workspace, ``rm -f``. At one trial at once, and at several: threads there, xdist workers here.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from overhead import EXPERIMENT, TASK, Cost, in_turns, measure, pytest_command, write

IMAGE = "agentbench-test/busybox:1"
RATIO = 1.5
"""The promise: wall seconds of a trial, in terms of the bare calls'."""

_BARE = """\
import io, sys, tarfile
from concurrent.futures import ThreadPoolExecutor
import docker

count, at_once, image = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
api = docker.from_env().api
nothing = io.BytesIO()
tarfile.open(fileobj=nothing, mode="w").close()


def one(copies_out):
    host = api.create_host_config(init=True, network_mode="none", cap_drop=["ALL"])
    made = api.create_container(
        image, entrypoint=["/bin/sh"], stdin_open=True, host_config=host
    )["Id"]
    api.start(made)
    command = api.exec_create(made, ["true"])["Id"]
    api.exec_start(command)
    assert api.exec_inspect(command)["ExitCode"] == 0
    if copies_out:
        for _ in api.get_archive(made, "/tmp")[0]:
            pass
    else:
        api.put_archive(made, "/", nothing.getvalue())
    api.remove_container(made, force=True)


def trial(_):
    one(True)
    one(False)


with ThreadPoolExecutor(at_once) as pool:
    list(pool.map(trial, range(count)))
"""


def trial(work: Path, at_once: int, count: int, rounds: int) -> tuple[Cost, Cost]:
    """The bare calls of one trial, and a trial; the slope between few and many.

    The engine is the one that ``DOCKER_HOST`` names; its own CPU time is in neither.
    """
    few = at_once
    workers = ("-n", str(at_once)) if at_once > 1 else ()

    def bare(number: int) -> Cost:
        return measure([sys.executable, "-c", _BARE, str(number), str(at_once), IMAGE], work)

    def harness(number: int) -> Cost:
        root = write(
            work / f"containers-{at_once}-{number}",
            {
                "pytest.ini": "[pytest]\n",
                "agentbench.yaml": EXPERIMENT,
                "tasks/bench.yaml": TASK % number
                + f'sandbox: {{driver: docker, image: "{IMAGE}"}}\n',
            },
        )
        shutil.rmtree(root / ".agentbench", ignore_errors=True)
        return measure(pytest_command("tasks", *workers), root)

    costs = in_turns(
        rounds,
        {
            "bare, few": lambda: bare(few),
            "harness, few": lambda: harness(few),
            "bare, many": lambda: bare(few + count),
            "harness, many": lambda: harness(few + count),
        },
    )
    alone = costs["bare, many"].minus(costs["bare, few"]).over(count)
    whole = costs["harness, many"].minus(costs["harness, few"]).over(count)
    return alone, whole
