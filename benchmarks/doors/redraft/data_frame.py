from pathlib import Path

import redraft

result = redraft.evaluate(Path("document.txt"), Path("summary.txt").read_text(), judges=["openai:gpt-4.1"])
print(result.to_frame())
