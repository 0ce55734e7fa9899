from __future__ import annotations

import json

import pytest

from pytest_agentbench.credentials import (
    credentials,
    credentials_below,
    is_opaque,
    is_trivial,
    within,
)

VALUE = "aB3-dE6_gH9.jK2x"


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "ApiKey", "api-key", "GITHUB_TOKEN", "HF_TOKEN", "TOKEN", "NPM_TOKEN_2",
        "MY_TOKENS", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "CLIENT_SECRET", "DB_PASSWORD",
        "PASSWD", "MYSQL_PWD", "SMTP_PASS", "GPG_PASSPHRASE", "GH_PAT", "AZURE_CREDENTIALS",
        "PROXY_AUTHORIZATION", "SESSION_COOKIE", "SENTRY_DSN", "STRIPE_KEY", "SSH_PRIVATE_KEY",
        "SLACK_WEBHOOK_URL", "BASIC_AUTH",
    ],
)  # fmt: skip
def test_names_of_credentials(name: str) -> None:
    """Names under which tools and services look for a credential."""
    assert credentials({name: VALUE}) == {VALUE}


@pytest.mark.parametrize(
    "name",
    [
        "PATH", "HOME", "PWD", "OLDPWD", "USER", "KEYBOARD", "MONKEY", "AUTHOR", "COMPASS",
        "TOKENIZERS_PARALLELISM", "TOKEN_LIMIT", "TOKEN_TYPE", "SECRET_NAME", "PASSWORD_FILE",
        "SSH_AUTH_SOCK", "API_KEY_PATH", "TURKEY", "PATTERN", "BYPASS_CACHE", "SPINNER",
    ],
)  # fmt: skip
def test_names_of_something_else(name: str) -> None:
    """Names that only look alike, or that say where a credential lies and how long it may be."""
    assert credentials({name: VALUE}) == frozenset()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_TOKENS", "12000000"),
        ("TOKENS", "200_000"),
        ("API_KEY", "short"),
        ("API_KEY", ""),
        ("API_KEY", "disabled"),
        ("DB_PASSWORD", "postgres"),
        ("SECRET", "xxxxxxxxxxxx"),
        ("SORT_KEY", "created_at"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/run/secrets/google.json"),
        ("CREDENTIALS_DIRECTORY", "~/.config/app"),
    ],
)
def test_values_that_are_no_secret(name: str, value: str) -> None:
    """Counts, words, defaults and places of files tell nobody anything."""
    assert credentials({name: value}) == frozenset()


def test_passwords_in_urls() -> None:
    """Whatever the variable is called, a URL's password is one, also decoded."""
    found = credentials({"DATABASE_URL": "postgres://app:p%40ss-word@db/shop"})
    assert found == {"p%40ss-word", "p@ss-word"}
    assert credentials({"REMOTE": f"https://{VALUE}@example.com/x.git"}) == {VALUE}
    assert credentials({"URL": "http://localhost:8080/a@b", "NO": "ssh://git@host/x"}) == set()


def test_what_lies_within_a_given_document() -> None:
    """Of a JSON key file, what its keys call secret is secret by itself; the rest is not."""
    key = "-----BEGIN KEY-----\nabc\n"
    text = json.dumps({"type": "service_account", "private_key": key, "nested": [{"token": VALUE}]})
    assert set(within(text)) == {key, VALUE}
    assert set(within("{no json")) == set()
    assert credentials_below({"headers": {"api_key": VALUE}, "max_tokens": 5}) == {VALUE}


@pytest.mark.parametrize("value", ["8080", "1200", "0.5", "WARNING", "localhost", "aaaaaa"])
def test_trivial_values(value: str) -> None:
    """Words and short numbers stand everywhere by chance."""
    assert is_trivial(value)


@pytest.mark.parametrize("value", ["hunter2", "12345678", VALUE, "correct horse"])
def test_values_that_may_be_secret(value: str) -> None:
    """A long number, or any other text, may be one."""
    assert not is_trivial(value)


def test_opaque_values() -> None:
    """A piece of a key is secret too; the beginning of a path, a URL or a sentence is not."""
    assert is_opaque(VALUE * 2)
    assert is_opaque("QUtJQS9zZWNyZXQra2V5PT0=")
    for open_one in ("/srv/data/db.sqlite", "http://127.0.0.1:8080/", "http%3A//h", "two words"):
        assert not is_opaque(open_one)
