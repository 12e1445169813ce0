from pathlib import Path

from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge


def scripted(messages, info):
    tool = info.output_tools[0]
    return ModelResponse([ToolCallPart(tool.name, {"reason": "It is.", "pass": True, "score": 1.0})])


judge = LLMJudge("Every statement is supported by the input", model=FunctionModel(scripted), include_input=True)
dataset = Dataset(name="book", cases=[Case(inputs=Path("document.txt").read_text())], evaluators=[judge])
print(dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False).averages())
