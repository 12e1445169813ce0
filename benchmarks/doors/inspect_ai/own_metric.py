from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, accuracy, scorer


@scorer(metrics=[accuracy()])
def short():
    async def score(state, target):
        return Score(value=len(state.output.completion.split()) <= 100)

    return score


written = ModelOutput.from_content("mockllm", Path("summary.txt").read_text())
model = get_model("mockllm/model", custom_outputs=[written])
[log] = inspect_ai.eval(Task([Sample("document")], scorer=short()), model=model, display="none")
print(log.samples[0].scores["short"].value)
