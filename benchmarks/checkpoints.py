"""How large the checkpoints are, by strategy and length of the document.

    python -m benchmarks.checkpoints

Bytes in the checkpoint file for each step must not depend on the document, and stay under 1 MB for 600 KB of text.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.common import prose, redraft, server, table, use_vocabulary


def main() -> None:
    use_vocabulary()
    rows: list[tuple[object, ...]] = [("strategy", "text KB", "steps", "bytes a step", "file KB", "redraft.db KB")]
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as chat:
        for strategy in ("hierarchical", "incremental"):
            for kilobytes in (60, 200, 600):
                folder = Path(name) / f"{strategy}-{kilobytes}"
                folder.mkdir()
                book, database = folder / "book.txt", folder / "redraft.db"
                book.write_text(prose(kilobytes * 1000), "utf-8")
                redraft(
                    *("summarize", str(book), "--model", "openai:gpt-4o-mini", "--strategy", strategy),
                    url=chat.url,
                    database=database,
                )
                checkpoints = folder / "redraft.checkpoints.db"
                rows.append((strategy, kilobytes, *steps(checkpoints), size(checkpoints), size(database)))
    table(rows)


def steps(path: Path) -> tuple[int, int]:
    """How many checkpoints there are, and the bytes of each with its writes."""
    # A connection left open would leave SQLite's own 33 KB beside the file.
    with closing(sqlite3.connect(path)) as database:
        count, saved = database.execute(
            "SELECT count(*), sum(length(checkpoint) + length(metadata)) FROM checkpoints"
        ).fetchone()
        written = database.execute("SELECT sum(length(value)) FROM writes").fetchone()[0]
    return count, (saved + written) // count


def size(path: Path) -> int:
    """Kilobytes of a database with its write-ahead log."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) // 1000


if __name__ == "__main__":
    main()
