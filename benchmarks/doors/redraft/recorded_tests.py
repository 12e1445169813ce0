from pathlib import Path

import redraft

for record in (True, False):
    judge = redraft.testing.Recording("judge.jsonl", "openai:gpt-4.1", record=record)
    summary = Path("summary.txt").read_text()
    print(redraft.evaluate(Path("document.txt"), summary, store=":memory:", model=judge).scores, judge.replayed)
