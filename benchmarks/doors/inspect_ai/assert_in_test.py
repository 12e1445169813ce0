from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa


def test_summary():
    sample = Sample(Path("document.txt").read_text(), target="Every statement is supported by the document")
    written = ModelOutput.from_content("mockllm", Path("summary.txt").read_text())
    task = Task([sample], scorer=model_graded_qa(model="openai/gpt-4.1"))
    [log] = inspect_ai.eval(task, model=get_model("mockllm/model", custom_outputs=[written]), display="none")
    [score] = log.samples[0].scores.values()
    assert score.value == "C", score.explanation
