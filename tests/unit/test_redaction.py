from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.credentials import is_trivial
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


KEY = "sk-proj-Zx81qLw0Tt57Yy3Pp92Rr4Kk"


@pytest.mark.parametrize("width", [4, 9, 16, 20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n    ", "\n+", "\\n", "'\n  b'"])
def test_a_secret_that_is_broken_over_lines_is_found(width: int, end: str) -> None:
    """Wrapped by a tool, within a JSON string, in a patch, or by Python that shows a text."""
    encoded = base64.b64encode(f"user:{KEY}!".encode()).decode()
    for spelled in (KEY, KEY.encode().hex(), encoded):
        broken = end.join(spelled[at : at + width] for at in range(0, len(spelled), width))
        shown = Redactor([KEY]).text(f"before\n{broken}\nafter")
        assert MARK in shown
        # Two characters at either end of base64 are shared with the neighbours.
        left = shown.replace(MARK, "").removeprefix("before").removesuffix("after")
        assert len("".join(left.split())) <= len("user:") * 2 + len(end), shown
        assert Redactor([KEY]).bytes(f"before\n{broken}\nafter".encode()) == shown.encode()


@pytest.mark.parametrize("mark", ["...", "…", " …", "\n[... 1,200 bytes left out ...]\n"])
def test_what_is_left_of_a_cut_secret_goes_too(mark: str) -> None:
    """Before and behind a place where something was left out, four characters are enough."""
    redactor = Redactor(["hunter2-hunter2"])
    text = f"it said hunter2{mark}ter2 and went on"
    assert redactor.text(text) == f"it said {MARK}{mark}{MARK} and went on"
    assert redactor.bytes(text.encode()) == f"it said {MARK}{mark}{MARK} and went on".encode()
    assert redactor.text(f"a hunt{mark}") == f"a {MARK}{mark}"
    assert redactor.text(f"a hun{mark}") == f"a hun{mark}"


def test_the_ends_of_a_text_may_be_cuts() -> None:
    """What begins or ends with half a secret was cut there, with or without a mark."""
    redactor = Redactor([KEY])
    assert redactor.text(KEY[7:] + " said") == f"{MARK} said"
    assert redactor.text(f"said {KEY[:-3]}") == f"said {MARK}"


def test_a_longer_piece_of_a_key_goes_wherever_it_stands() -> None:
    """One line of a wrapped key shows half of it."""
    assert Redactor([KEY]).text(f"x {KEY[5:25]} y") == f"x {MARK} y"
    assert Redactor([KEY]).text(f"x {KEY[5:15]} y") == f"x {KEY[5:15]} y"


def test_beginnings_of_paths_and_urls_stay() -> None:
    """What a server's address shares with others is no piece of a secret."""
    given = ["http://127.0.0.1:8081/service", "/tmp/pytest-of-root/pytest-1/db.sqlite"]
    shown = "http://127.0.0.1:8082/other /tmp/pytest-of-root/pytest-1/x http://127.0.0.1:9"
    assert Redactor(given).text(shown) == shown
    assert Redactor(given).text(f"at {given[0]}, {given[1]}") == f"at {MARK}, {MARK}"


@pytest.mark.parametrize("value", ["12:30", "localhost", "DEBUG", "200000", "production"])
def test_words_and_short_numbers_survive(value: str) -> None:
    """What stands in every other report is no secret, though it was given like one."""
    assert Redactor([value]).text(f"tokens: 1200, {value}") == f"tokens: 1200, {value}"


def test_values_of_json_lose_their_secrets() -> None:
    """Keys and texts at any depth; numbers, and the shape, stay."""
    tree = {"a": [KEY, {KEY: 1200}], "tokens": 1200, "none": None}
    assert Redactor([KEY]).tree(tree) == {"a": [MARK, {MARK: 1200}], "tokens": 1200, "none": None}


def test_megabytes_of_cuts_blanks_and_beginnings_cost_one_pass() -> None:
    """Whatever an agent prints, looking for secrets in it comes to an end."""
    redactor = Redactor([KEY, "hunter2-hunter2"])
    for text in ("...", " ", "\n", "sk-p", "sk-proj-", "hunter2-", "a\n+", "'\n'"):
        assert len(redactor.text(text * 200_000)) > 100


@given(st.lists(st.text(min_size=6), max_size=3), st.text(), st.text())
def test_no_secret_survives(secrets: list[str], before: str, after: str) -> None:
    """Whatever the secrets are and wherever they stand, none is in the result."""
    redactor = Redactor(secrets)
    for secret in secrets:
        for spelled in (secret, secret.strip()):
            shown = redactor.text(before + spelled + after)
            # The mark may spell a secret ("redacted"), or help to.
            rest = shown.replace(MARK, "\0")
            assert spelled not in rest or len(spelled) < 6 or "\0" in spelled or is_trivial(spelled)


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
