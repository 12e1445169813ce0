from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

plain = LLMJudge("Written for a reader without legal training", model="openai-chat:gpt-4.1")
dataset = Dataset(name="book", cases=[Case(inputs="document")], evaluators=[plain])
dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False).print(include_reasons=True)
