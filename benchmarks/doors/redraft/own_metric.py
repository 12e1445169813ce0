from pathlib import Path

import redraft


def short(case) -> bool:
    return len(case.text.split()) <= 100


print(redraft.evaluate(Path("document.txt"), Path("summary.txt").read_text(), metrics=[short]).scores)
