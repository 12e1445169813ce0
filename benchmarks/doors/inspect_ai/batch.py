from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa

text, summary = Path("document.txt").read_text(), Path("summary.txt").read_text()
samples = [Sample(text, target="Every statement is supported by the document") for _ in range(2)]
written = [ModelOutput.from_content("mockllm", summary) for _ in samples]
task = Task(samples, scorer=model_graded_qa(model="openai/gpt-4.1"))
[log] = inspect_ai.eval(task, model=get_model("mockllm/model", custom_outputs=written), display="none")
print(log.results.scores[0].metrics["accuracy"].value)
