from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

judge = LLMJudge("Every statement is supported by the input", model="openai-chat:gpt-4.1", include_input=True)
cases = [Case(name=name, inputs=Path("document.txt").read_text()) for name in ("one", "other")]
dataset = Dataset(name="books", cases=cases, evaluators=[judge])
dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False).print()
