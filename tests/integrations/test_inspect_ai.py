"""The scorers for Inspect AI, judged by its own `mockllm`."""

from __future__ import annotations

import gc
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("inspect_ai")

import inspect_ai
from inspect_ai import Task
from inspect_ai._util.registry import registry_info
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Scorer

from redraft.integrations import inspect_ai as scorers
from redraft.integrations.inspect_ai import consistency, coverage, judged
from tests.chatserver import FORM, ChatRequest
from tests.judges import PerfectModel, island, read_sheet, summary_of

# Inspect's own dependencies raise deprecation warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

GOOD, POOR = summary_of(1, 2, 3), summary_of(1, 3, wrong={2: "Bob"})


def answered(messages: list[Any], _tools: Any = None, _choice: Any = None, config: Any = None) -> ModelOutput:
    """What the judge of the keepers' world says, asked by a schema or in words."""
    schema = config and config.response_schema
    shape = schema and {"name": schema.name, "schema": schema.json_schema.model_dump(exclude_none=True)}
    body = {"response_format": {"type": "json_schema", "json_schema": shape}} if shape else {}
    sheet = read_sheet(cast(ChatRequest, SimpleNamespace(body=body, messages=[{"content": messages[0].text}])))
    return reply(json.dumps(PerfectModel()(sheet)))


def reply(text: str) -> ModelOutput:
    """A reply of `mockllm`, which would count its tokens with a vocabulary from the network."""
    output = ModelOutput.from_content("mockllm", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def scored(folder: Path, scorer: Scorer, summary: str, grader: Any = answered, **sample: Any) -> Any:
    """The one sample of an evaluation whose model writes this summary."""
    task = Task([Sample(**({"input": island().text} | sample))], scorer=scorer)
    writer = get_model("mockllm/model", custom_outputs=[reply(summary)])
    roles = {"grader": get_model("mockllm/grader", custom_outputs=grader)}
    [log] = inspect_ai.eval(task, model=writer, model_roles=roles, log_dir=str(folder / "logs"), display="none")
    assert log.status == "success", log.error
    gc.collect()  # Inspect leaves streams open, and pytest would complain of them at the end.
    [found] = log.samples[0].scores.values()
    return found


@pytest.mark.nightly
def test_findings_explain_the_score(tmp_path: Path) -> None:
    store = tmp_path / "redraft.db"
    good, poor = (scored(tmp_path, consistency(store=store), text) for text in (GOOD, POOR))
    assert good.value == 1
    assert 0 < poor.value < 1
    assert "Bob" in poor.explanation
    assert poor.metadata["findings"][0]["metric"] == "consistency"
    from_metadata = {"input": "Summarize it.", "metadata": {"document": island().text}}
    assert scored(tmp_path, coverage(store=store), GOOD, **from_metadata).value == pytest.approx(0.5)


def test_scorers_have_their_metrics_names() -> None:
    for metric in ("consistency", "coverage", "faithfulness", "keyfact_recall", "booookscore"):
        assert registry_info(getattr(scorers, metric)()).name == f"redraft/{metric}"


@pytest.mark.parametrize("in_words", [False, True])
def test_replies_are_asked_for_by_their_schema(tmp_path: Path, in_words: bool) -> None:
    schemas, asked_in_words = list[Any](), list[bool]()

    def grade(messages: list[Any], _tools: Any, _choice: Any, config: Any) -> ModelOutput:
        schemas.append(config.response_schema)
        asked_in_words.append(FORM in messages[0].text)
        is_ignored = in_words and config.response_schema
        return reply("I cannot write JSON.") if is_ignored else answered(messages, config=config)

    score = scored(tmp_path, consistency(store=tmp_path / "redraft.db"), POOR, grade)
    assert 0 < score.value < 1
    assert {schema.json_schema.type for schema in schemas if schema} == {"object"}
    assert any(asked_in_words) == in_words, "a model that ignores the schema is asked in words"


@pytest.mark.nightly
def test_what_cannot_be_judged_is_unscored(tmp_path: Path) -> None:
    def silent(*_: Any) -> ModelOutput:
        return reply("I would rather not.")

    failed = scored(tmp_path, judged("consistency", store=tmp_path / "redraft.db"), GOOD, silent)
    assert math.isnan(failed.value)
    assert failed.reason == "grader_failed"
    assert "consistency failed: " in failed.explanation
    nothing = scored(tmp_path, judged("consistency", store=tmp_path / "redraft.db"), " ")
    assert math.isnan(nothing.value)
    assert nothing.reason == "no_response"
