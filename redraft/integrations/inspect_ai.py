"""Scorers for Inspect AI with the names of redraft's metrics, such as `redraft/consistency`, and `redraft/judged` for
any other metric.

Inspect's own models judge, so that its limits, its log and its `mockllm` apply.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ResponseSchema,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import JSONSchema
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict
from pydantic_core import to_jsonable_python

from redraft.integrations.judging import evaluated, explained
from redraft.llm.chat import ChatModel

_FINISHED = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}


class InspectChat(BaseChatModel):
    """A model of Inspect as a LangChain chat model."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    inspect: Model
    temperature: float | None = None
    max_tokens: int | None = None
    extra_body: dict[str, Any] | None = None
    """With `response_format`, the schema of the reply, as `ChatModel` sends it."""

    @property
    def _llm_type(self) -> str:
        return "inspect"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("Inspect's models are asynchronous")

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        chat_messages: list[ChatMessage] = [
            (ChatMessageAssistant if isinstance(sent, AIMessage) else ChatMessageUser)(content=str(sent.content))
            for sent in messages
        ]
        config = GenerateConfig(temperature=self.temperature, max_tokens=self.max_tokens)
        if response_format := (self.extra_body or {}).get("response_format"):
            schema = response_format["json_schema"]
            config.response_schema = ResponseSchema(
                name=schema["name"], json_schema=JSONSchema.model_validate(schema["schema"]), strict=schema["strict"]
            )
        output = await self.inspect.generate(chat_messages, config=config)
        usage, reason = output.usage, output.stop_reason
        counted = usage and UsageMetadata(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, total_tokens=usage.total_tokens
        )
        metadata = {"finish_reason": _FINISHED.get(reason, "stop"), "model_name": output.model}
        message = AIMessage(output.completion, usage_metadata=counted or None, response_metadata=metadata)
        return ChatResult(generations=[ChatGeneration(message=message)])


def _scorer(metric: str, document: str, model: str | Model | None, store: str | Path | None, options: Any) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        del target
        summary = state.output.completion
        if not summary.strip():
            return Score.unscored(reason="no_response", answer=summary, explanation="There is no summary.")
        grader = get_model(model) if model else get_model(role="grader")
        judge = ChatModel(InspectChat(inspect=grader), identity=f"inspect:{grader}", modes=["json_schema", "plain"])
        text = str(state.metadata[document]) if document in state.metadata else state.input_text
        evaluation = await evaluated(text, summary, metric, [judge], store, options)
        details = {"findings": to_jsonable_python(evaluation.findings), "outcome": evaluation.outcome}
        shared = {"answer": summary, "explanation": explained(evaluation), "metadata": details}
        if evaluation.score is None:
            reason = "grader_failed" if evaluation.outcome == "failed" else evaluation.outcome
            return Score.unscored(reason=reason, **shared)
        return Score(value=evaluation.score, **shared)

    return score


@scorer(metrics=[mean(), stderr()])
def judged(
    metric: str,
    document: str = "document",
    model: str | Model | None = None,
    store: str | Path | None = None,
    **options: Any,
) -> Scorer:
    """Score the summary that a task's model wrote by a metric of redraft.

    The document is `metadata[document]` of the sample, or else its input. The judge is `model`, or the model in the
    role `grader`. A summary that could not be judged is unscored. `options` are those of `redraft.Session.evaluate`.
    """
    return _scorer(metric, document, model, store, options)


def _named(metric: str) -> Callable[..., Scorer]:
    """Return the scorer of a metric of redraft, which has its name; arguments as for `judged`."""

    def score(
        document: str = "document", model: str | Model | None = None, store: str | Path | None = None, **options: Any
    ) -> Scorer:
        return _scorer(metric, document, model, store, options)

    score.__name__, score.__doc__ = metric, f"Score by {metric}; arguments as for `judged`."
    named: Callable[..., Scorer] = scorer(metrics=[mean(), stderr()], name=metric)(score)
    return named


consistency, coverage, faithfulness = _named("consistency"), _named("coverage"), _named("faithfulness")
keyfact_recall, booookscore = _named("keyfact_recall"), _named("booookscore")
