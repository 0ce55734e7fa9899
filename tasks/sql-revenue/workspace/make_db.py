"""Builds shop.db from schema.sql and sample.sql."""

import sqlite3
from pathlib import Path

Path("shop.db").unlink(missing_ok=True)
with sqlite3.connect("shop.db") as database:
    for name in ("schema.sql", "sample.sql"):
        database.executescript(Path(name).read_text(encoding="utf-8"))
database.close()
