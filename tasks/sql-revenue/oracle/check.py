"""Runs query.sql on the real data and compares all rows."""

import sqlite3
import sys
from pathlib import Path

HERE = Path(__file__).parent
EXPECTED = [
    ("Ben", 2, 8700),
    ("Zoe", 2, 6950),
    ("Ben", 1, 3600),
    ("Abe", 0, 0),
    ("Cy", 0, 0),
    ("Dot", 0, 0),
    ("Eve", 1, 0),
]


def main():
    database = sqlite3.connect(":memory:")
    for name in ("schema.sql", "data.sql"):
        database.executescript((HERE / name).read_text(encoding="utf-8"))
    database.execute("PRAGMA query_only = ON")
    try:
        query = Path("query.sql").read_text(encoding="utf-8")
        rows = database.execute(query).fetchall()
    except (OSError, ValueError, sqlite3.Error, sqlite3.Warning) as error:
        return f"query.sql cannot be run: {error}"
    if rows == EXPECTED:
        return None
    names = {row[0] for row in rows if row}
    missing = sorted({row[0] for row in EXPECTED} - names)
    if missing:
        return f"customers are missing: {', '.join(missing)}"
    return f"expected {EXPECTED}, got {rows[:20]}"


sys.exit(main())
