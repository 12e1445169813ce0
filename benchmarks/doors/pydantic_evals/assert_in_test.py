from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge


def test_summary():
    judge = LLMJudge("Every statement is supported by the input", model="openai-chat:gpt-4.1", include_input=True)
    dataset = Dataset(name="book", cases=[Case(inputs=Path("document.txt").read_text())], evaluators=[judge])
    report = dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False)
    assert report.averages().assertions == 1, report.render(include_reasons=True)
