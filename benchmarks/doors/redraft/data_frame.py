from pathlib import Path

import pandas

import redraft

result = redraft.evaluate(Path("document.txt"), Path("summary.txt").read_text(), judges=["openai:gpt-4.1"])
print(pandas.DataFrame(result.model_dump()["metrics"]).T)
