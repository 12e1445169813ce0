from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa

sample = Sample("document", target="Written for a reader without legal training")
written = ModelOutput.from_content("mockllm", Path("summary.txt").read_text())
task = Task([sample], scorer=model_graded_qa(partial_credit=True, model="openai/gpt-4.1"))
[log] = inspect_ai.eval(task, model=get_model("mockllm/model", custom_outputs=[written]), display="none")
print([one.value for one in log.samples[0].scores.values()])
