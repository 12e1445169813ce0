"""What a run killed at a random moment repeats when it is resumed, and whether its summary is the same.

    python -m benchmarks.resume [--kills 20] [--seed 1]

A 600 KB text, 16 requests at once at temperature 0, killed with SIGKILL at random moments of its course; each time it
is resumed until done. At most the calls in flight at the kill may be repeated, and nothing that was stored; the text
must be that of a run which nobody killed. A reply that the server has sent is in flight until the client has stored it.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.common import Server, options_of, prose, redraft, server, start_redraft, table, use_vocabulary

CONCURRENCY = 16
LATENCY = ("--latency-base", "0.2", "--latency-prompt", "0.00001", "--latency-completion", "0.0015")
SETTINGS = ("--model", "openai:gpt-4o-mini", "--temperature", "0", "--concurrency", str(CONCURRENCY))


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    use_vocabulary()
    chance = random.Random(options.seed)
    rows: list[tuple[object, ...]] = [
        ("kill", "at call", "stored", "stored and repeated", "repeated", "sent but not stored", "same text")
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book = folder / "book.txt"
        book.write_text(prose(600_000), "utf-8")
        undisturbed = folder / "undisturbed"
        undisturbed.mkdir()
        with server(undisturbed, *LATENCY) as chat:
            whole, _ = redraft("summarize", str(book), *SETTINGS, url=chat.url, database=undisturbed / "redraft.db")
        calls = whole["usage"]["calls"]
        for kill in range(1, options.kills + 1):
            at = chance.randint(1, calls - 1)
            here = folder / str(kill)
            here.mkdir()
            with server(here, *LATENCY) as chat:
                rows.append((kill, at, *killed_and_resumed(chat, book, here / "redraft.db", at, whole["summary"])))
    table(rows)
    again, repeated, lost = ([int(str(row[column])) for row in rows[1:]] for column in (3, 4, 5))
    print(f"\n{calls} calls undisturbed; {sum(repeated)} repeated in {len(repeated)} kills, at most {max(repeated)}")
    print(f"replies sent by the server but not yet stored at the kill: {sum(lost)}, at most {max(lost)}")
    right = not any(again) and max(repeated) <= CONCURRENCY and all(row[6] == "yes" for row in rows[1:])
    print("every text is the same, and nothing stored was asked again" if right else "WRONG")


def killed_and_resumed(chat: Server, book: Path, database: Path, at: int, expected: str) -> tuple[object, ...]:
    """Answers stored at the kill; those of them asked for again; calls made twice; replies that the server had sent
    before the kill and the client had not stored; whether the summary is the expected one."""
    process = start_redraft("summarize", str(book), *SETTINGS, url=chat.url, database=database)
    while chat.answered() < at and process.poll() is None:
        time.sleep(0.002)
    killed = time.monotonic()
    process.kill()
    process.communicate()
    with sqlite3.connect(database) as ledger:
        stored = {row[0] for row in ledger.execute("SELECT t.text FROM calls JOIN texts t ON t.id = calls.reply")}
    # What the server was still working on is logged once it is done, or notices that nobody listens.
    time.sleep(1.0)
    before = chat.served()
    sent = sum(one.answered and one.end < killed for one in before)
    run = redraft("runs", url=chat.url, database=database)[0]["runs"][0]["run"]
    done, _ = redraft("resume", run, url=chat.url, database=database)
    served = chat.served()
    repeated = sum(count - 1 for count in Counter(one.prompt for one in served).values())
    again = sum(one.reply in stored for one in served[len(before) :])
    same = "yes" if done["summary"] == expected else "NO"
    return len(stored), again, repeated, max(0, sent - len(stored)), same


if __name__ == "__main__":
    main()
