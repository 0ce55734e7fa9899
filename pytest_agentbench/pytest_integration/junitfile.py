"""pytest's own JUnit file, put right once pytest has written it.

Only the file's form is relied on, and where pytest writes it; its writer is not touched.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_agentbench.errors import StoreError
from pytest_agentbench.model.plan import PlannedTrial
from pytest_agentbench.model.record import Record
from pytest_agentbench.reports.junit_cases import settle_cases
from pytest_agentbench.results.reportfile import write_report

_ONE_CASE_EACH = ("passed", "failed", "skipped")
"""Outcomes of reports that make one case of a test; a plugin that runs tests again has more."""


def junit_path(config: pytest.Config) -> Path | None:
    """Where pytest writes its JUnit file; None where it writes none."""
    named = config.getoption("xmlpath", default=None)
    if not named:
        return None
    expanded: str = os.path.expanduser(os.path.expandvars(named))  # noqa: PTH111 - as pytest does it
    return config.invocation_params.dir / expanded


class JunitFile:
    """The file of one session: learns from its reports whether there is anything to put right."""

    def __init__(self, config: pytest.Config) -> None:
        self.path = junit_path(config)
        self._prefix = config.getoption("junitprefix", default=None)
        self._wanting = self.path is not None and config.getini("junit_family") != "xunit2"

    def note(self, report: pytest.TestReport) -> None:
        """Remember a report that pytest makes a second case of, or one without a name."""
        odd = report.outcome not in _ONE_CASE_EACH or report.when not in ("setup", "call")
        if odd and not report.passed:
            self._wanting = True

    def settle(self, trials: Iterable[PlannedTrial], records: Iterable[Record]) -> str | None:
        """Put the file right; return what is in the way."""
        path = self.path
        if path is None or not self._wanting or not path.is_file():
            return None
        try:
            tree = ET.parse(path)  # noqa: S314 - pytest has just written it
            settle_cases(tree.getroot(), trials, records, prefix=self._prefix)
            text = ET.tostring(tree.getroot(), encoding="utf-8", xml_declaration=True)
            write_report(path, text)
        except (OSError, ET.ParseError, StoreError) as error:
            return f"{path.name}: trials may stand in it more than once: {error}"
        return None
