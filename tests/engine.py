"""The Docker engine that the tests use: which one, its images, and whether it is there.

``.ci/engine start DIR`` starts one and makes the images; ``DOCKER_HOST`` names it. Without
the variable it is the one at the default socket.
"""

from __future__ import annotations

import gc
import warnings
from contextlib import closing
from functools import cache

import docker
from docker.errors import DockerException, ImageNotFound

BUSYBOX = "agentbench-test/busybox:1"
"""A shell and its tools, nothing else. Starts fastest."""
PYTHON = "agentbench-test/python:1"
"""Debian's minimum with ``python3`` and ``git``; no pytest."""

_ADVICE = "bash .ci/engine start /tmp/abe, as root, and export what it prints"


@cache
def problem() -> str | None:
    """Why there is no engine with the images of the tests; None where there is one."""
    with warnings.catch_warnings():
        # Where nobody answers, docker-py leaves a socket open: collected later on, it would
        # be an error of some test's.
        warnings.simplefilter("ignore", ResourceWarning)
        found = _ask()
        gc.collect()
    return found


def _ask() -> str | None:
    try:
        client = docker.from_env(timeout=20)
    except DockerException as fault:
        return f"no Docker engine answers: {fault}. Try: {_ADVICE}"
    with closing(client):
        try:
            client.ping()
            for image in (BUSYBOX, PYTHON):
                client.images.get(image)
        except ImageNotFound as fault:
            return f"an image is missing: {fault.explanation}. Try: {_ADVICE}"
        # requests' own errors are OSErrors: docker-py passes some of them on as they are.
        except (DockerException, OSError) as fault:
            return f"the Docker engine does not answer: {fault}. Try: {_ADVICE}"
    return None
