from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

judge = LLMJudge("Every statement is supported by the input", model="openai-chat:no-such-key", include_input=True)
dataset = Dataset(name="book", cases=[Case(inputs=Path("document.txt").read_text())], evaluators=[judge])
report = dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False)
for failure in report.cases[0].evaluator_failures:
    print(failure.error_type, failure.error_message)
