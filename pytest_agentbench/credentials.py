"""What counts as a secret: by where it came from, by its variable's name, by its form.

Two kinds. What was *given* (by ``${VAR}``, or by a fixture) is a secret whatever it is
called; what only *looks* like one by its name must be longer, since nobody has said so. Of
neither kind are values that occur everywhere by chance: to replace those would riddle every
report with marks, and the marks would tell nobody a secret apart from a word.

Pure: strings in, strings out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import unquote

MIN_SECRET_LENGTH = 6
"""Characters that a secret has at the least."""

MIN_GUESSED_LENGTH = 8
"""The same of one that is only guessed, by the name of its variable."""

_MIN_KEY_LENGTH = 16
"""The same where the name ends in ``_KEY`` and says nothing more: ``SORT_KEY`` is no credential."""

_CREDENTIAL = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION|COOKIE"
    r"|(?:API|ACCESS|PRIVATE|SIGNING|ENCRYPTION|MASTER|ACCOUNT|STORAGE|SERVICE|LICENSE)_?KEY"
    r"|(?:^|_)(?:PASS|PW|PAT|AUTH|BEARER|PIN|OTP|JWT)$|.(?:_PWD|APIKEYS)$|WEBHOOK_URL|(?:^|_)DSN$"
)
_MERE_KEY = re.compile(r"(?:^|_)KEYS?$")
_NO_VALUE = re.compile(
    r"(?:^|_)(?:TOKENIZERS?_\w+|(?:FILE|PATH|DIR|DIRECTORY|SOCK|SOCKET|NAME|TYPE|TTL|LIMIT|COUNT"
    r"|EXPIRES?|EXPIRY|LENGTH|SIZE|MAX|MIN|BUDGET|HELPER|STORE|ENABLED|REQUIRED))$"
)
"""Ends of names that tell of something about a credential, or of where it lies."""

_PLACE = re.compile(r"~?\.{0,2}(?:/[\w.@+-]+){2,}/?\Z")
_OPAQUE = re.compile(r"(?!.*%3[Aa](?:%2[Ff]|/))[\w+/=%.~-]+\Z")
_NUMBER = re.compile(r"[-+]?[\d.,:_]*\d[a-zA-Z%]{0,2}\Z")
_LONG_NUMBER = 8
_TRIVIAL = frozenset((
    "always", "changeit", "changeme", "critical", "debugging", "default", "development",
    "disabled", "enabled", "example", "inherit", "localhost", "manual", "normal", "notset",
    "offline", "online", "optional", "password", "postgres", "production", "required",
    "secret", "staging", "standard", "testing", "unknown", "verbose", "warning",
))  # fmt: skip
"""Words of six letters and more that are no secret, whoever has given them."""

_IN_URL = re.compile(r"://(?:[^\s/:@]*:(?P<password>[^\s/@]+)|(?P<user>[^\s/:@]{16,}))@")


def is_credential(name: str) -> bool:
    """Whether a variable's name looks like that of a credential."""
    return _least_of(name) is not None


def credentials(variables: Mapping[str, str]) -> frozenset[str]:
    """What among named values looks like a secret: by its name, or as a password in a URL.

    Counts (``MAX_TOKENS``), places of files and words are none.
    """
    found: set[str] = set()
    for name, value in variables.items():
        found.update(_in_url(value))
        least = _least_of(name)
        if least is None or len(value.strip()) < least or is_trivial(value):
            continue
        number = _NUMBER.match(value.strip()) and "TOKEN" in name.upper()
        if not (number or _PLACE.match(value)):
            found.add(value)
    return frozenset(found)


def credentials_below(document: object) -> frozenset[str]:
    """The same of a JSON document's texts, by the keys that they stand under."""
    return credentials(dict(_leaves(document, "")))


def is_trivial(value: str) -> bool:
    """Whether a value is a word or a short number that stands in every other report."""
    bare = value.strip()
    short = len(bare) < _LONG_NUMBER and _NUMBER.match(bare) is not None
    return short or bare.lower() in _TRIVIAL or len(set(bare)) == 1


def is_opaque(value: str) -> bool:
    """Whether any longer piece of a value is secret too: it is no sentence, no path and no URL.

    Those have beginnings that other sentences, paths and URLs have as well.
    """
    return _OPAQUE.match(value) is not None and _PLACE.match(value) is None


def within(secret: str) -> Iterator[str]:
    """Secrets inside of a given one: the password of a URL, the keys of a JSON document."""
    yield from _in_url(secret)
    if secret.lstrip().startswith(("{", "[")):
        try:
            document = json.loads(secret)
        except (ValueError, RecursionError):
            return
        yield from credentials_below(document)


@lru_cache(maxsize=1024)
def _least_of(name: str) -> int | None:
    """How long a value under that name must be to be taken for a secret; None: it is none."""
    upper = name.upper().replace("-", "_").replace(".", "_")
    if _NO_VALUE.search(upper):
        return None
    if _CREDENTIAL.search(upper):
        return MIN_GUESSED_LENGTH
    return _MIN_KEY_LENGTH if _MERE_KEY.search(upper) else None


def _in_url(value: str) -> Iterator[str]:
    if "://" not in value:
        return
    for found in _IN_URL.finditer(value):
        part = found["password"] or found["user"]
        yield part
        if "%" in part:
            yield unquote(part)


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    """The texts of a JSON document with the keys that they stand under."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from _leaves(below, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from _leaves(below, f"{name}.{place}")
