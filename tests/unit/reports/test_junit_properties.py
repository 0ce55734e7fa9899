from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from hypothesis import given

from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.model.record import Record
from pytest_agentbench.reports.junit import properties
from rows import planned, recorded, records


def test_what_is_known_is_told_flat() -> None:
    """Names and texts, in a fixed order."""
    trial = replace(planned("fix", "codex", 2), model="gpt-5")
    record = recorded(
        trial,
        Reason.ORACLE,
        score=2 / 3,
        sandbox={"driver": "bubblewrap", "isolated": True, "network": "none"},
    )
    assert properties(record) == [
        ("agentbench.task", "fix"),
        ("agentbench.variant", "codex"),
        ("agentbench.repeat", "2"),
        ("agentbench.outcome", "failed"),
        ("agentbench.reason", "oracle"),
        ("agentbench.score", "0.666667"),
        ("agentbench.agent", "command"),
        ("agentbench.model", "gpt-5"),
        ("agentbench.sandbox", "bubblewrap"),
        ("agentbench.isolated", "true"),
    ]


def test_what_is_unknown_is_left_out() -> None:
    """No score is no property; a score of 0 is one."""
    names = [name for name, _ in properties(recorded())]
    assert names == [
        f"agentbench.{name}" for name in ("task", "variant", "repeat", "outcome", "agent")
    ]
    assert ("agentbench.score", "0") in properties(recorded(None, Reason.ORACLE, score=0))


@given(records)
def test_values_suit_xml_and_workers(record: Record) -> None:
    """Whatever a record says, its properties are plain text of bounded length."""
    for name, value in properties(record):
        assert type(value) is str
        assert len(value) <= 500
        ET.fromstring(f"<a>{value.translate({38: 'a', 60: 'b'})}</a>")
        value.encode()
        assert name.startswith("agentbench.")
