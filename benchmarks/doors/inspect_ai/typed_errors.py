from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa

sample = Sample(Path("document.txt").read_text(), target="Every statement is supported by the document")
written = ModelOutput.from_content("mockllm", Path("summary.txt").read_text())
task = Task([sample], scorer=model_graded_qa(model="openai/gpt-4.1-no-such-key"))
[log] = inspect_ai.eval(task, model=get_model("mockllm/model", custom_outputs=[written]), display="none")
assert log.status == "error"
print(log.error.message)
