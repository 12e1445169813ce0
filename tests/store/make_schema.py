"""Freezes the schema of today, with a record of every kind: `python -m tests.store.make_schema NAME`.

Run once when a migration is released, and never again for the same one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from redraft.store.store import Store
from tests.store.support import fill, plain

SCHEMAS = Path(__file__).parent / "schemas"


def main() -> None:
    target = SCHEMAS / f"{sys.argv[1]}.sql"
    assert not target.exists()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "redraft.db"
        with Store(path) as store:
            fill(store)
        with plain(path) as database:
            target.write_text("\n".join(database.iterdump()) + "\n", "utf-8", newline="")


if __name__ == "__main__":
    main()
