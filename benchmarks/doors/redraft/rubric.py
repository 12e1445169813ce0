from pathlib import Path

import redraft

plain = redraft.Rubric("plain_tone", "Written for a reader without legal training", levels=5)
summary = Path("summary.txt").read_text()
print(redraft.evaluate(Path("document.txt"), summary, metrics=[plain], judges=["openai:gpt-4.1"]).scores)
