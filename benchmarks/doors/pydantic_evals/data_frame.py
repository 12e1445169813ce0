from pathlib import Path

import pandas as pd
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

judge = LLMJudge("Every statement is supported by the input", model="openai-chat:gpt-4.1", include_input=True)
dataset = Dataset(name="book", cases=[Case(inputs=Path("document.txt").read_text())], evaluators=[judge])
report = dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False)
rows = [{"case": case.name, "name": name, "value": one.value, "reason": one.reason}
        for case in report.cases for name, one in case.assertions.items()]  # fmt: skip
print(pd.DataFrame(rows))
