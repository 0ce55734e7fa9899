"""Secrets in what pytest itself writes beside reports: log files, live logs, warnings."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable

import pytest

from pytest_agentbench.credentials import credentials
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.redaction import Redactor, redactor_of


def own_redactor() -> Redactor:
    """What takes the credentials of this process's environment out of texts."""
    return redactor_of(credentials(os.environ))


class Discretion:
    """Takes secrets out of log lines and warnings while a session with task files runs.

    ``redactor`` gives that of the trial that runs, or the process's own.
    """

    def __init__(self, config: pytest.Config, redactor: Callable[[], Redactor]) -> None:
        self._redactor = redactor
        # What is captured for a test's report is not meant: that is redacted as a whole.
        for handler in compat.log_writers(config):
            if handler.formatter is not None:
                handler.setFormatter(_Discreet(handler.formatter, redactor))

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Clean the text before the summary, or a worker's controller, is told."""
        said = str(warning_message.message)
        clean = self._redactor().text(said)
        if clean != said:
            warning_message.message = UserWarning(clean)


class _Discreet(logging.Formatter):
    """What another formatter writes, exceptions too, without secrets."""

    def __init__(self, inner: logging.Formatter, redactor: Callable[[], Redactor]) -> None:
        super().__init__()
        self._inner = inner
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor().text(self._inner.format(record))
