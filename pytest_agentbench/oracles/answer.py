"""``answer``: what the agent said, or wrote into a file, is the right answer.

No code of the agent's runs, and no text of the agent's can keep the harness busy: what
is read is bounded, our own patterns take time in proportion to it, and an author's
regular expression is searched in a process that can be killed.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

from pytest_agentbench.model.contracts import Sandbox, StagedOracle, Subject
from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.task import JsonValue, OracleSpec
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.answer_reading import chosen_letters, last_number
from pytest_agentbench.oracles.answer_spec import AnswerSpec, answer_problems, answer_spec
from pytest_agentbench.oracles.base import Problem, judged, one_line, unknown_keys
from pytest_agentbench.oracles.files_apart import judge_apart
from pytest_agentbench.oracles.files_judging import with_lf

_VERSION = 1

SIZE_LIMIT = 1_000_000
"""Bytes of an answer's file, and characters of a message, that can be judged."""

_PATIENCE_S = 20.0
_SHOWN = 80
_NAMED = 3
_LISTED = 20


class _NoAnswer(Exception):
    """There is nothing that could be judged; the message says why."""


@dataclass(frozen=True, slots=True)
class _Judgement:
    """Whether the answer is right, and why, without a word about what would be."""

    passed: bool
    why: str


class AnswerOracle:
    """A mapping with exactly one of these.

    ``equals``: the whole answer is this text; ``one_of``: it is one of these (both with
    ``ignore_case``, and ``strip: false`` to count blanks around it). ``regex``: a regular
    expression is found in it, ``^`` and ``$`` at each line. ``number``: the last number in
    it is this one, exactly or within ``tolerance`` or ``relative_tolerance``. ``choice``:
    it names this letter and no other. The answer is the agent's final message, or the
    text of ``file``; with ``after`` only what follows the last such text on its line.
    The score is 1 or 0.
    """

    kind: ClassVar[str] = "answer"
    names_files: ClassVar[bool] = False
    rehearses: ClassVar[bool] = False
    judges_words: ClassVar[bool] = True

    def validate(self, spec: OracleSpec) -> list[Problem]:
        """What is wrong with the mapping."""
        problems = unknown_keys(spec.options, (), (), "key")
        expectation = spec.expectation
        table = expectation if isinstance(expectation, dict) else None
        return [*problems, *answer_problems(table, (self.kind,))]

    def prepare(self, spec: OracleSpec) -> StagedOracle:
        """Digest the mapping; there is nothing to read."""
        digest = digest_value([self.kind, _VERSION, spec.expectation])
        return StagedOracle(spec=spec, files={}, digest=digest)

    async def rehearse(
        self, staged: StagedOracle, sandbox: Sandbox, *, solved: bool
    ) -> StagedOracle:
        """Nothing to learn."""
        del sandbox, solved
        return staged

    async def check(self, staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
        """Read the answer and judge it."""
        started = perf_counter()
        spec = staged.spec
        assert isinstance(spec.expectation, dict)
        wanted = answer_spec(spec.expectation)
        given = ""
        try:
            given = _located(wanted, await _text(wanted, sandbox, subject))
            judgement = await _judge(wanted, given, min(_PATIENCE_S, spec.timeout_s))
        except _NoAnswer as why:
            judgement = _Judgement(passed=False, why=str(why))
        result = judged(
            spec,
            passed=judgement.passed,
            score=1.0 if judgement.passed else 0.0,
            reason=judgement.why,
            details={"answer": one_line(given), "expected": _expected(wanted)},
        )
        return replace(result, duration_s=perf_counter() - started)


def _expected(wanted: AnswerSpec) -> JsonValue:
    """What would be right: for the record, and never in a reason."""
    if wanted.kind == "number":
        return one_line(str(wanted.number))
    return [one_line(text) for text in wanted.texts[:_LISTED]]


async def _text(wanted: AnswerSpec, sandbox: Sandbox, subject: Subject) -> str:
    """Where the answer stands, as text with LF as the only end of line."""
    if wanted.file is not None:
        return with_lf(await _read(wanted.file, sandbox))
    said = subject.run.transcript.final_message
    if said is None or not said.strip():
        raise _NoAnswer("the agent gave no final message")
    if len(said) > SIZE_LIMIT:
        raise _NoAnswer(f"the final message is longer than {SIZE_LIMIT:,} characters")
    return with_lf(said)


async def _read(name: str, sandbox: Sandbox) -> str:
    path = posixpath.join(sandbox.workspace, posixpath.normpath(name))
    data = await sandbox.read(path, limit=SIZE_LIMIT + 1)
    if data is None:
        raise _NoAnswer(f"{name} is missing, or no regular file")
    if len(data) > SIZE_LIMIT:
        raise _NoAnswer(f"{name} is larger than {SIZE_LIMIT:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _NoAnswer(f"{name} is not UTF-8 text (byte {error.start})") from error


def _located(wanted: AnswerSpec, text: str) -> str:
    """The part of the text that is the answer."""
    if wanted.after is None:
        return text
    _, mark, rest = text.rpartition(wanted.after)
    if not mark:
        raise _NoAnswer(f"no {wanted.after!r} in the answer {_quoted(text)}")
    return rest.partition("\n")[0]


async def _judge(wanted: AnswerSpec, given: str, patience_s: float) -> _Judgement:
    if wanted.kind == "regex":
        return await _by_pattern(wanted.texts[0], given, patience_s)
    if wanted.kind == "number":
        return _by_number(wanted, given)
    if wanted.kind == "choice":
        return _by_choice(wanted.texts[0], given)
    is_right = _comparable(wanted, given) in {_comparable(wanted, text) for text in wanted.texts}
    return _told(is_right, f"the answer {_quoted(given)}")


def _comparable(wanted: AnswerSpec, text: str) -> str:
    text = with_lf(text)
    if wanted.strip:
        text = text.strip()
    return text.casefold() if wanted.ignore_case else text


async def _by_pattern(pattern: str, given: str, patience_s: float) -> _Judgement:
    # Text of the agent's can make a pattern of the author's run for ever.
    (miss,) = await judge_apart([("matches", pattern, given)], patience_s)
    if miss is not None and not miss.startswith("does not match"):
        return _Judgement(passed=False, why=f"the answer {_quoted(given)} {miss}")
    return _told(miss is None, f"the answer {_quoted(given)}")


def _by_number(wanted: AnswerSpec, given: str) -> _Judgement:
    found = last_number(given)
    if found is None:
        return _Judgement(passed=False, why=f"the answer {_quoted(given)} does not end in a number")
    bound = max(wanted.tolerance, wanted.relative_tolerance * abs(wanted.number))
    return _told(abs(found - wanted.number) <= bound, f"the number in the answer {_quoted(given)}")


def _by_choice(letter: str, given: str) -> _Judgement:
    found = chosen_letters(given)
    if len(found) == 1:
        return _told(found == {letter.strip().upper()}, f"the choice {min(found)}")
    if not found:
        return _Judgement(passed=False, why=f"the answer {_quoted(given)} names no choice")
    named = " and ".join(sorted(found)) if len(found) <= _NAMED else f"{len(found)} letters"
    return _Judgement(passed=False, why=f"the answer is ambiguous: it names {named}")


def _told(is_right: bool, what: str) -> _Judgement:  # noqa: FBT001
    return _Judgement(is_right, f"{what} is {'right' if is_right else 'wrong'}")


def _quoted(text: str) -> str:
    """The end of a text, where agents come to their point."""
    text = text.strip()
    if len(text) <= _SHOWN:
        return repr(one_line(text))
    return f"'… {one_line(text[-_SHOWN:])}'"
