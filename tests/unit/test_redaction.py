from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.redaction import MARK, Redactor, printable

SECRET = 'sk-l1ve/"q+ä uote'


def test_a_secret_is_replaced_everywhere() -> None:
    """Each place where a secret stands gets the mark; all else stays as it was."""
    redactor = Redactor(["hunter2-hunter2"])
    assert redactor.text("a hunter2-hunter2, hunter2-hunter2b") == f"a {MARK}, {MARK}b"
    assert redactor.bytes(b"\xff hunter2-hunter2 \x00") == b"\xff [redacted] \x00"


def test_the_longest_secret_goes_first() -> None:
    """Where one secret begins another, the longer one leaves no tail behind."""
    redactor = Redactor(["token-1", "token-1-and-more"])
    assert redactor.text("x token-1-and-more y token-1") == f"x {MARK} y {MARK}"


def test_short_values_are_not_taken_for_secrets() -> None:
    """A value below six characters, such as a port, would only riddle the text with marks."""
    assert Redactor(["8080", "true", ""]).text("true: 8080") == "true: 8080"


@pytest.mark.parametrize(
    "encoded",
    [
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_encoded_forms_are_secrets_too(encoded: str) -> None:
    """JSON, percent and base64 spellings of a secret are replaced like the secret itself."""
    redactor = Redactor([SECRET])
    assert MARK in redactor.text(f"<{encoded}>")
    for piece in ("sk-l1ve", encoded.strip('"=')):
        assert piece not in redactor.text(f"<{encoded}>")
    assert MARK.encode() in redactor.bytes(encoded.encode())


@pytest.mark.parametrize("user", ["a", "ab", "abc", "abcd"])
def test_a_secret_within_a_basic_header_is_found(user: str) -> None:
    """Encoded together with a user's name, a secret starts in the middle of a group of bytes."""
    secret = "correct-horse-battery"
    header = base64.b64encode(f"{user}:{secret}".encode()).decode()
    shown = Redactor([secret]).text(header)
    assert MARK in shown
    # Two characters at either end are shared with the neighbours.
    assert len(shown.replace(MARK, "")) <= len(header) - len(secret)


def test_lines_of_a_key_are_secrets_by_themselves() -> None:
    """A key of several lines is found also where its lines are indented."""
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----\n"
    shown = Redactor([key]).text("key:\n  MIIEvQIBADANBgkqhkiG9w0B\r\n")
    assert shown == f"key:\n  {MARK}\r\n"


@given(st.lists(st.text(min_size=6), max_size=3), st.text(), st.text())
def test_no_secret_survives(secrets: list[str], before: str, after: str) -> None:
    """Whatever the secrets are and wherever they stand, none is in the result."""
    redactor = Redactor(secrets)
    for secret in secrets:
        for spelled in (secret, secret.strip()):
            shown = redactor.text(before + spelled + after)
            # The mark may spell a secret ("redacted"), or help to.
            rest = shown.replace(MARK, "\0")
            assert spelled not in rest or len(spelled) < 6 or "\0" in spelled


@given(st.text())
def test_without_secrets_nothing_changes(text: str) -> None:
    """A redactor without secrets gives back what it gets."""
    assert Redactor([]).text(text) == text
    raw = text.encode("utf-8", "replace")
    assert Redactor([]).bytes(raw) == raw


def test_a_secret_that_is_not_utf8_is_found() -> None:
    """Environment variables hold raw bytes, which Python carries as surrogates."""
    secret = b"p\xe4ssword".decode("utf-8", "surrogateescape")
    assert Redactor([secret]).bytes(b"<p\xe4ssword>") == b"<[redacted]>"
    assert Redactor(["lone-\ud800-half"]).text("lone-\ud800-half") == MARK


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain ä 漢 🎉\tx\n", "plain ä 漢 🎉\tx\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bx\x1bc", "x"),
        ("\x1b]0;never ended", "0;never ended"),
        ("end \x1b", "end \\x1b"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("bell \x07 null \x00 del \x7f c1 \x9b", "bell \\x07 null \\x00 del \\x7f c1 \\x9b"),
        ("half \udc80", "half \\udc80"),
        ("no \ufffe \uffff", "no \\ufffe \\uffff"),
        ("turn \u202egnp.exe", "turn \\u202egnp.exe"),
        ("line\u2028s", "line\\u2028s"),
    ],
)
def test_printable_spells_out_what_is_not_for_readers(raw: str, shown: str) -> None:
    """Sequences of a terminal vanish; controls, half characters and turned text are spelled out."""
    assert printable(raw) == shown


@given(st.text(st.characters(codec=None), max_size=200))
def test_printable_text_suits_every_reader(text: str) -> None:
    """Any text becomes UTF-8 and XML, in the lines that Python sees, and stays as it is then."""
    shown = printable(text)
    shown.encode()
    assert ET.fromstring(f"<a>{shown.translate({38: 'a', 60: 'b'})}</a>").text is not None or (
        shown == ""
    )
    assert shown.splitlines() == (shown.removesuffix("\n").split("\n") if shown else [])
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("limit", "shown"), [(10, "0123456..."), (12, "0123456789ab"), (3, "..."), (1, "."), (0, "")]
)
def test_printable_text_has_a_limit(limit: int, shown: str) -> None:
    """What is cut says so within its limit."""
    assert printable("0123456789ab", limit) == shown


def test_endless_escapes_cost_no_more_than_their_length() -> None:
    """Megabytes of sequences that never end are read in one pass."""
    assert printable("\x1b]a" * 1_000_000) == "a" * 1_000_000
    assert printable("\x1b[" + "1" * 3_000_000) == "1" * 3_000_000
