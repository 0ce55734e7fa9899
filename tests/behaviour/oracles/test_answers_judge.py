from __future__ import annotations

import pytest
from behaviour.oracles.bench import NOTHING, Bench, Files

from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.model.verdict import OracleResult


def judge(
    bench: Bench, table: JsonValue, said: str | None = None, left: Files = NOTHING
) -> OracleResult:
    return bench.judge("answer", table, left, said=said)


def told(result: OracleResult) -> tuple[bool, float, str]:
    return result.passed, result.score, result.reason


@pytest.mark.parametrize(
    ("table", "right", "wrong"),
    [
        ({"equals": "Paris"}, " Paris\r\n", "Paris, France"),
        ({"equals": "a\nb"}, "a\r\nb", "a b"),
        ({"equals": "Paris", "ignore_case": True}, "PARIS", "ROME"),
        ({"equals": "Paris"}, "Paris", "paris"),
        ({"equals": "Paris", "strip": False}, "Paris", "Paris "),
        ({"one_of": ["Paris", "Rome"]}, "Rome", "Oslo"),
        ({"one_of": '["Paris", "Rome"]'}, "Rome", "Paris Rome"),
        ({"regex": "^x=[0-9]+$"}, "so:\nx=12\nbye", "x=12."),
        ({"regex": r"(?i)\Aparis\Z"}, "PARIS", "in Paris"),
        ({"number": 42}, "It is 42.0.", "It is 42.5."),
        ({"number": 42}, "First 7, then 42", "First 42, then 7"),
        ({"number": 0.333, "tolerance": 0.001}, "1/3", "0.335"),
        ({"number": 1000, "relative_tolerance": 0.01}, "1,010", "1,011"),
        ({"number": -3}, "\u22123", "3"),
        ({"number": "#### 18"}, "18 dollars", "19 dollars"),
        ({"number": 12345678901234567890}, "12345678901234567890", "12345678901234567891"),
        ({"choice": "B"}, "(b) Paris", "(c) Rome"),
        ({"choice": "b"}, "The answer is B.", "The answer is A."),
        ({"choice": "B", "after": "ANSWER:"}, "A or B?\nANSWER: B", "ANSWER: B\nANSWER: C"),
        ({"number": 42, "after": "ANSWER:"}, "ANSWER: 1\nANSWER: 42\n7", "42"),
        ({"equals": "x", "after": "= "}, "f = x\ng", "f = xy"),
    ],
)
def test_right_and_wrong_answers(local: Bench, table: JsonValue, right: str, wrong: str) -> None:
    """What authors mean passes, and what is near it does not."""
    good, bad = judge(local, table, right), judge(local, table, wrong)
    assert (good.passed, good.score) == (True, 1.0)
    assert (bad.passed, bad.score) == (False, 0.0)


def test_reasons_quote_the_answer_and_never_what_was_right(local: Bench) -> None:
    """What would be right stands in the details alone."""
    wrong = judge(local, {"equals": "Paris"}, "Rome\n")
    assert told(wrong) == (False, 0.0, "the answer 'Rome' is wrong")
    assert wrong.details == {"answer": "Rome", "expected": ["Paris"]}
    assert wrong.output == ""
    right = judge(local, {"number": 42}, "42")
    assert told(right) == (True, 1.0, "the number in the answer '42' is right")
    secret = "s3cret"
    tables: list[JsonValue] = [
        {"equals": secret},
        {"one_of": [secret]},
        {"regex": secret},
        {"number": 271828},
        {"choice": "Q"},
    ]
    for table in tables:
        for said in (None, "", "no idea", "7", "Answer: A", "A\nB"):
            result = judge(local, table, said)
            assert not result.passed
            assert not any(word in result.reason for word in (secret, "271828", "Q"))


@pytest.mark.parametrize("said", [None, "", " \n"])
def test_no_final_message_is_no_answer(local: Bench, said: str | None) -> None:
    """Silence never passes, also where a pattern would match it."""
    result = judge(local, {"regex": ".*"}, said)
    assert told(result) == (False, 0.0, "the agent gave no final message")


@pytest.mark.parametrize(
    ("table", "said", "reason"),
    [
        ({"number": 1}, "one", "the answer 'one' does not end in a number"),
        ({"number": 1}, "NaN", "the answer 'NaN' does not end in a number"),
        ({"choice": "B"}, "Paris", "the answer 'Paris' names no choice"),
        ({"choice": "B"}, "A\nB", "the answer is ambiguous: it names A and B"),
        ({"choice": "B"}, "A\nB\nC\nD", "the answer is ambiguous: it names 4 letters"),
        ({"choice": "B"}, "C", "the choice C is wrong"),
        ({"equals": "x", "after": "ANSWER:"}, "x", "no 'ANSWER:' in the answer 'x'"),
        ({"equals": "x", "after": "ANSWER:"}, "ANSWER:\nx", "the answer '' is wrong"),
    ],
)
def test_what_cannot_be_judged_says_why(
    local: Bench, table: JsonValue, said: str, reason: str
) -> None:
    """An answer without an answer has not passed."""
    assert told(judge(local, table, said)) == (False, 0.0, reason)


def test_long_answers_are_quoted_from_their_end(local: Bench) -> None:
    """Bounded, in one line, with what is unprintable spelled out."""
    result = judge(local, {"equals": "x"}, "bla " * 1000 + "\x1b[31m42\n\n")
    assert result.reason == f"the answer '… {'bla ' * 18}\\x1b[31m42' is wrong"


def test_huge_answers_are_refused(local: Bench) -> None:
    """What is longer than can be judged has not passed, with the right answer in it or not."""
    result = judge(local, {"regex": "x"}, "x" * 1_000_001)
    assert told(result) == (False, 0.0, "the final message is longer than 1,000,000 characters")
    result = judge(local, {"number": 1, "file": "a"}, left={"a": "1" + " " * 1_000_000})
    assert told(result) == (False, 0.0, "a is larger than 1,000,000 bytes")


def test_a_pattern_that_never_ends_has_not_matched(local: Bench) -> None:
    """An agent's text can make an author's pattern run away; it is stopped and has not passed."""
    result = local.judge("answer", {"regex": "^(a+)+$"}, said="a" * 60 + "!", timeout_s=0.5)
    assert (result.passed, result.score) == (False, 0.0)
    assert result.reason.endswith("could not be judged within 0.5 s")


def test_lone_surrogates_and_nul_are_text_like_other(local: Bench) -> None:
    """No bytes of an agent's break the oracle."""
    tables: list[JsonValue] = [{"equals": "x"}, {"regex": "^x$"}, {"number": 1}, {"choice": "A"}]
    for table in tables:
        assert not judge(local, table, "\udcff\0\u2028").passed


def test_the_answer_of_a_file(bench: Bench) -> None:
    """With ``file``, the final message does not count."""
    table: JsonValue = {"number": 42, "file": "out/answer.txt"}
    assert judge(bench, table, "42", {"out/answer.txt": b"\xef\xbb\xbf42\r\n"}).passed
    wrong = judge(bench, table, "42", {"out/answer.txt": "41"})
    assert told(wrong) == (False, 0.0, "the number in the answer '41' is wrong")


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("", "answer is missing, or no regular file"),
        ("mkdir answer", "answer is missing, or no regular file"),
        ("echo 42 > real; ln -s real answer", "answer is missing, or no regular file"),
        ("mkfifo answer", "answer is missing, or no regular file"),
        (r"printf '42\377' > answer", "answer is not UTF-8 text (byte 2)"),
        ("> answer", "the answer '' does not end in a number"),
    ],
)
def test_files_that_hold_no_answer(bench: Bench, before: str, reason: str) -> None:
    """What is no readable text file of the agent's has not passed."""
    result = judge(bench.with_(before=before), {"number": 42, "file": "answer"}, "42")
    assert told(result) == (False, 0.0, reason)
