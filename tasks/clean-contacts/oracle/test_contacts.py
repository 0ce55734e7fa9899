"""All contacts, each whole, in order."""

import json
from pathlib import Path

import pytest

EXPECTED = [
    ('Anna "Ann" Petrov', "ann@example.bg", "+35925550108", "1993-08-30"),
    ("Okafor, Chidi", "chidi@example.com", "+2348035550102", "1990-11-07"),
    ("Ines Moreau", "ines@example.fr", "+33155500107", "1985-02-01"),
    ("Lena Vogt-Hahn", "lena.vogt@example.org", "+49305550104", "1988-04-02"),
    ("Mara Lindqvist", "mara@example.se", "+4685550103", None),
    ("Tomás Ribeiro", "tomas@example.pt", None, "1999-12-31"),
    ("Wei Zhang", "wei@example.cn", "+861055550109", "2001-10-09"),
    ("Yuki Sato", "yuki@example.jp", None, "1979-12-03"),
]


@pytest.fixture
def contacts():
    return json.loads(Path("contacts.json").read_text(encoding="utf-8"))


def test_addresses_in_order(contacts):
    assert [contact["email"] for contact in contacts] == [row[1] for row in EXPECTED]


@pytest.mark.parametrize(("name", "email", "phone", "born"), EXPECTED, ids=[r[1] for r in EXPECTED])
def test_contact(contacts, name, email, phone, born):
    found = [contact for contact in contacts if contact["email"] == email]
    assert found == [{"name": name, "email": email, "phone": phone, "born": born}]
