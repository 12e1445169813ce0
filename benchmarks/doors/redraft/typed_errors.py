from pathlib import Path

import redraft

try:
    redraft.evaluate(Path("document.txt"), Path("summary.txt").read_text(), model="openai:no-such-key")
except redraft.ModelError as error:
    print(error.code, error, error.hint)
