from pathlib import Path

import redraft


def test_summary():
    with redraft.Session(judges=["openai:gpt-4.1"]) as session:
        summary = Path("summary.txt").read_text()
        redraft.assert_summary(Path("document.txt"), summary, consistency=0.9, session=session)
