"""What a run killed at a random moment repeats when it is resumed, and whether its summary is the same.

    python -m benchmarks.resume [--kills 20] [--seed 1]

A 600 KB text, 16 requests at once at temperature 0, killed with SIGKILL at random moments of its course; each time it
is resumed until done. At most the calls in flight at the kill may be repeated, and the text must be that of a run which
nobody killed. The paper's released code, killed half-way, repeats all the answered calls of the level it is on.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.common import Server, prose, redraft, server, start_redraft, table, use_vocabulary

CONCURRENCY = 16
# Sixteen replies at once keep the client busy for a moment: one that left the server less than this many seconds before
# the kill counts as in flight.
ON_ITS_WAY = 0.25
LATENCY = ("--latency-base", "0.2", "--latency-prompt", "0.00001", "--latency-completion", "0.0015")
SETTINGS = ("--model", "openai:gpt-4o-mini", "--temperature", "0", "--concurrency", str(CONCURRENCY))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    use_vocabulary()
    chance = random.Random(options.seed)
    rows: list[tuple[object, ...]] = [("kill", "at call", "repeated", "answered before", "same text")]
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
    repeated = [int(str(row[2])) for row in rows[1:]]
    wrong = [row[0] for row in rows[1:] if row[4] != "yes" or row[3] or int(str(row[2])) > CONCURRENCY]
    most = max(repeated)
    print(f"\n{calls} calls undisturbed; repeated {sum(repeated)} in {len(repeated)} kills, at most {most} in one")
    print("every text is the same, and nothing answered was asked again" if not wrong else f"WRONG: kills {wrong}")


def killed_and_resumed(chat: Server, book: Path, database: Path, at: int, expected: str) -> tuple[object, ...]:
    """Calls made twice; those of them answered before the kill; whether the summary is the expected one."""
    process = start_redraft("summarize", str(book), *SETTINGS, url=chat.url, database=database)
    while chat.answered() < at and process.poll() is None:
        time.sleep(0.002)
    killed = time.monotonic()
    process.kill()
    process.communicate()
    # What the server was still working on is logged once it is done, or notices that nobody listens.
    time.sleep(1.0)
    done_before = {one.prompt for one in chat.served() if one.answered and one.end < killed - ON_ITS_WAY}
    run = redraft("runs", url=chat.url, database=database)[0][0]["run"]
    done, _ = redraft("resume", run, url=chat.url, database=database)
    asked = Counter(one.prompt for one in chat.served())
    repeated = [prompt for prompt, count in asked.items() if count > 1]
    late = sum(prompt in done_before for prompt in repeated)
    return len(repeated), late, "yes" if done["summary"] == expected else "NO"


if __name__ == "__main__":
    main()
