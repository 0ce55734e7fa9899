"""Attacks that outlive their time, and floods."""

from __future__ import annotations

from redteam.attack import Attack, daemon, python, shell
from redteam.targets import GREET_LATE, GUESS

LASTING = (
    Attack(
        name="go-on-after-the-time-out",
        rows=(24,),
        tries="ignores every signal, and does its work when its time is over",
        stopped_by="the whole process tree is killed from outside, not asked; the sandbox that"
        " it could write to is not the one that is scored",
        target=GREET_LATE,
        steps=(
            daemon(
                """
                trap '' TERM INT HUP
                i=0
                while [ $i -lt 30 ]; do
                    sleep 0.1; i=$((i + 1))
                    test $i -gt 12 && echo hello > greeting.txt
                done
                """
            ),
            shell("trap '' TERM INT HUP; sleep 1.3; echo hello > greeting.txt; sleep 5"),
        ),
        because="exited with 1",
    ),
    Attack(
        name="hold-the-output-open",
        rows=(23,),
        tries="leaves a process behind that holds its output open, so that the trial never ends",
        stopped_by="reading stops when the process tree is dead, not at the end of the output",
        target=GUESS,
        steps=({"spawn": {"command": ["sh", "-c", "sleep 600", "@TOKEN@"], "keep_output": True}},),
        because="exited with 1",
    ),
    Attack(
        name="huge-file",
        rows=(32,),
        tries="leaves files of hundreds of gigabytes, holes and all",
        stopped_by="`limits.workspace`, and 1 GiB of changes at most",
        target={**GUESS, "limits": {"workspace": "10m"}},
        steps=(shell("truncate -s 400G big; truncate -s 2G bigger"),),
        reason="limit",
        because="limits.workspace is 10,485,760",
    ),
    Attack(
        name="many-files",
        rows=(32,),
        tries="leaves thousands of files and directories",
        stopped_by="all are carried to scoring, and removed with the sandbox",
        target=GUESS,
        steps=(
            python(
                """
                import os
                for n in range(60):
                    os.makedirs(f"d{n}")
                    for m in range(50):
                        open(f"d{n}/{m}", "w").close()
                """
            ),
        ),
        because="exited with 1",
    ),
    Attack(
        name="memory",
        rows=(32,),
        tries="allocates without end",
        stopped_by="`memory` of the sandbox; what it left until then is scored",
        target={**GUESS, "sandbox": {"memory": "64m"}},
        steps=(
            shell("echo guess > word.txt"),
            python("x = []\nwhile True: x.append(bytearray(1 << 20))"),
        ),
        because="exited with 1",
        needs=("memory",),
    ),
    Attack(
        name="memory-and-no-work",
        rows=(32,),
        tries="allocates without end, and does nothing else",
        stopped_by="the same; an agent that changed nothing and did not end well has not been"
        " measured",
        target={**GUESS, "sandbox": {"memory": "64m"}},
        steps=(
            python("x = []\nwhile True: x.append(bytearray(1 << 20))"),
            {"exit": 1},
        ),
        outcome="error",
        reason="agent_crash",
        needs=("memory",),
    ),
    Attack(
        name="fork-bomb",
        rows=(32,),
        tries="starts processes until there are no more",
        stopped_by="`pids` of the sandbox, and the death of all of them at its end",
        target={**GUESS, "sandbox": {"pids": 50}, "limits": {"time": "3s"}},
        steps=(
            shell("echo guess > word.txt"),
            python(
                """
                import os, time
                started = time.monotonic()
                while time.monotonic() - started < 0.5:
                    try:
                        if os.fork() == 0:
                            os.setsid()
                    except OSError:
                        pass
                os._exit(0)
                """
            ),
        ),
        because="exited with 1",
        needs=("pids",),
    ),
    Attack(
        name="flood-of-output",
        rows=(32,),
        tries="prints gigabytes that are no UTF-8",
        stopped_by="of each stream the beginning and the end are kept, decoded with replacement",
        target={**GUESS, "limits": {"time": "20s"}},
        steps=({"print": {"base64": "//79/A==", "repeat": 1 << 29}},),
        because="exited with 1",
    ),
)
