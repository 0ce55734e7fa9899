"""What a trial left for people to read: its last words, and the files kept of it."""

from __future__ import annotations

from pytest_agentbench.engine.recording import revealed
from pytest_agentbench.engine.trial import Trial
from pytest_agentbench.model.run import Output
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.results.artifacts import TrialOutput

LAST_WORDS_LIMIT = 2_000

RECORD_SEPARATOR = "\x1e"
"""Starts a line that an agent's program means for its parser and not for people."""


def last_words(trial: Trial, redactor: Redactor) -> str:
    """The agent's closing message, or else the end of what it printed.

    Redacted before it is cut: half a secret would not be recognised.
    """
    if trial.run is None:
        return ""
    said = trial.run.transcript.final_message
    if said:
        return redactor.text(said)[-LAST_WORDS_LIMIT:]
    if trial.run.completed is None:
        return ""
    streams = (trial.run.completed.stdout, trial.run.completed.stderr)
    ends = (redactor.text(_end(stream))[-LAST_WORDS_LIMIT:] for stream in streams)
    return next((text for text in ends if text), "")


def oracle_words(trial: Trial, redactor: Redactor) -> dict[str, str]:
    """The end of what oracles printed that have not passed, where all of it may be told.

    By name, and redacted before it is cut.
    """
    reveal = revealed(trial.spec)
    return {
        result.name: redactor.text(result.output).strip()[-LAST_WORDS_LIMIT:]
        for result in (trial.verdict.results if trial.verdict is not None else ())
        if reveal.get(result.name) == "full" and result.output and not result.passed
    }


def trial_output(trial: Trial) -> TrialOutput:
    """All that there is to keep of a trial; unredacted. Readable until the trial is closed."""
    run = trial.run
    completed = run.completed if run else None
    results = trial.verdict.results if trial.verdict is not None else ()
    return TrialOutput(
        prompt=trial.spec.prompt,
        stdout=completed.stdout if completed else Output(),
        stderr=completed.stderr if completed else Output(),
        final_message=(run.transcript.final_message if run else None) or "",
        changes=run.changes if run else None,
        template=trial.prepared.template if trial.prepared else None,
        oracles={result.name: result.output for result in results},
    )


def _end(output: Output) -> str:
    text = (output.tail or output.head).decode("utf-8", "replace")
    # Not splitlines(): to it, a record separator is an end of line too.
    lines = [line for line in text.split("\n") if not line.startswith(RECORD_SEPARATOR)]
    return "\n".join(lines).strip()
