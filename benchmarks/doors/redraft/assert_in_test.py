from pathlib import Path

import redraft


def test_summary():
    redraft.assert_summary(
        Path("document.txt"), Path("summary.txt").read_text(), consistency=0.9, judges=["openai:gpt-4.1"]
    )
