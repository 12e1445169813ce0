from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

judge = LLMJudge("Every statement is supported by the input", model="openai-chat:gpt-4.1", include_input=True)
dataset = Dataset(name="book", cases=[Case(inputs=Path("document.txt").read_text())], evaluators=[judge])
print(dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False).averages())
