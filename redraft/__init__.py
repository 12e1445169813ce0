"""redraft: summaries of book-length documents that you can trust.

What an application imports is here; `redraft.graphs` has the state machines. Names are loaded when they are first used,
because LangGraph alone takes a second to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft import graphs
    from redraft.agents.judge import Judge
    from redraft.batches.api import batch, resume_batch
    from redraft.batches.results import BatchResult, read_batch
    from redraft.batches.sources import BatchItem
    from redraft.domain import (
        Document,
        Draft,
        Evaluation,
        Evidence,
        Finding,
        Gap,
        KeyFact,
        KeyFacts,
        Pack,
        Piece,
        Round,
        Span,
        Totals,
        Tree,
        Usage,
    )
    from redraft.errors import BudgetError, ModelError, RedraftError, RunError, UsageError
    from redraft.evaluators.base import Case, Evaluator
    from redraft.events import (
        BatchProgress,
        CallAnswered,
        CallFailed,
        CallStarted,
        Event,
        FindingFound,
        Noted,
        Observer,
        PartDone,
        PieceDone,
        RoundSettled,
        RunDone,
        RunStarted,
        Scored,
        StageStarted,
        Waiting,
        event_json,
    )
    from redraft.graphs.review import ReviewAnswer, ReviewQuestion
    from redraft.graphs.state import Options
    from redraft.llm.base import Model, Reply, Request, Sampling
    from redraft.llm.chat import ChatModel
    from redraft.llm.fakes import FunctionModel, ScriptedModel
    from redraft.llm.prices import PriceTable, price_table
    from redraft.presets import Preset, preset
    from redraft.prompts.catalog import PROMPTS
    from redraft.prompts.contract import Fence, GivenModel, Prompt, ReplyModel
    from redraft.prompts.tags import Names, TaggedItem
    from redraft.readers.documents import load
    from redraft.report.dossier.build import read_dossier
    from redraft.report.dossier.comparison.build import read_beside
    from redraft.report.dossier.comparison.contents import RunsBeside
    from redraft.report.dossier.contents import Dossier
    from redraft.report.history.answers import Answer, AnswerCitation, read_answer
    from redraft.report.history.changes import DraftDiff, difference
    from redraft.report.history.citations import Citations, citations_of, cited
    from redraft.report.history.lineage import Lineage, read_lineage
    from redraft.report.history.lost import Losses, read_losses
    from redraft.report.history.results import (
        ChapterResult,
        Result,
        SummaryComparison,
        built,
        built_keyfacts,
        compared,
        read_result,
    )
    from redraft.report.history.trace import RunTrace, Turn, read_trace
    from redraft.rulings import Lookup
    from redraft.runs.driver import Reviewer
    from redraft.runs.dry_run import Stage
    from redraft.runs.session import Session
    from redraft.runs.tools import tools
    from redraft.settings import DraftConfig, JudgeConfig, Limits, ModelSettings, Price, RefineConfig
    from redraft.store.runs import Run
    from redraft.store.store import Store

_HOMES = {
    "AnswerCitation": "redraft.report.history.answers",
    "Answer": "redraft.report.history.answers",
    "BatchItem": "redraft.batches.sources",
    "BatchProgress": "redraft.events",
    "BatchResult": "redraft.batches.results",
    "BudgetError": "redraft.errors",
    "CallAnswered": "redraft.events",
    "CallFailed": "redraft.events",
    "CallStarted": "redraft.events",
    "Case": "redraft.evaluators.base",
    "ChapterResult": "redraft.report.history.results",
    "ChatModel": "redraft.llm.chat",
    "Citations": "redraft.report.history.citations",
    "SummaryComparison": "redraft.report.history.results",
    "DraftDiff": "redraft.report.history.changes",
    "Document": "redraft.domain",
    "Dossier": "redraft.report.dossier.contents",
    "Draft": "redraft.domain",
    "Evaluation": "redraft.domain",
    "Evaluator": "redraft.evaluators.base",
    "Event": "redraft.events",
    "Evidence": "redraft.domain",
    "Fence": "redraft.prompts.contract",
    "Finding": "redraft.domain",
    "FindingFound": "redraft.events",
    "FunctionModel": "redraft.llm.fakes",
    "Gap": "redraft.domain",
    "GivenModel": "redraft.prompts.contract",
    "TaggedItem": "redraft.prompts.tags",
    "Judge": "redraft.agents.judge",
    "JudgeConfig": "redraft.settings",
    "KeyFact": "redraft.domain",
    "KeyFacts": "redraft.domain",
    "Limits": "redraft.settings",
    "Lineage": "redraft.report.history.lineage",
    "Lookup": "redraft.rulings",
    "Losses": "redraft.report.history.lost",
    "Model": "redraft.llm.base",
    "ModelError": "redraft.errors",
    "ModelSettings": "redraft.settings",
    "Names": "redraft.prompts.tags",
    "Noted": "redraft.events",
    "Observer": "redraft.events",
    "Options": "redraft.graphs.state",
    "PROMPTS": "redraft.prompts.catalog",
    "Pack": "redraft.domain",
    "PartDone": "redraft.events",
    "Piece": "redraft.domain",
    "PieceDone": "redraft.events",
    "Preset": "redraft.presets",
    "Price": "redraft.settings",
    "PriceTable": "redraft.llm.prices",
    "Prompt": "redraft.prompts.contract",
    "RedraftError": "redraft.errors",
    "RefineConfig": "redraft.settings",
    "Reply": "redraft.llm.base",
    "ReplyModel": "redraft.prompts.contract",
    "Request": "redraft.llm.base",
    "Result": "redraft.report.history.results",
    "ReviewAnswer": "redraft.graphs.review",
    "ReviewQuestion": "redraft.graphs.review",
    "Reviewer": "redraft.runs.driver",
    "Round": "redraft.domain",
    "RoundSettled": "redraft.events",
    "Run": "redraft.store.runs",
    "RunDone": "redraft.events",
    "RunError": "redraft.errors",
    "RunStarted": "redraft.events",
    "RunsBeside": "redraft.report.dossier.comparison.contents",
    "Sampling": "redraft.llm.base",
    "Scored": "redraft.events",
    "ScriptedModel": "redraft.llm.fakes",
    "DraftConfig": "redraft.settings",
    "Span": "redraft.domain",
    "Stage": "redraft.runs.dry_run",
    "StageStarted": "redraft.events",
    "Store": "redraft.store.store",
    "Totals": "redraft.domain",
    "RunTrace": "redraft.report.history.trace",
    "Tree": "redraft.domain",
    "Turn": "redraft.report.history.trace",
    "Usage": "redraft.domain",
    "UsageError": "redraft.errors",
    "Waiting": "redraft.events",
    "Session": "redraft.runs.session",
    "batch": "redraft.batches.api",
    "built": "redraft.report.history.results",
    "built_keyfacts": "redraft.report.history.results",
    "citations_of": "redraft.report.history.citations",
    "cited": "redraft.report.history.citations",
    "compared": "redraft.report.history.results",
    "difference": "redraft.report.history.changes",
    "event_json": "redraft.events",
    "load": "redraft.readers.documents",
    "preset": "redraft.presets",
    "price_table": "redraft.llm.prices",
    "read_answer": "redraft.report.history.answers",
    "read_batch": "redraft.batches.results",
    "read_beside": "redraft.report.dossier.comparison.build",
    "read_lineage": "redraft.report.history.lineage",
    "read_dossier": "redraft.report.dossier.build",
    "read_losses": "redraft.report.history.lost",
    "read_result": "redraft.report.history.results",
    "read_trace": "redraft.report.history.trace",
    "resume_batch": "redraft.batches.api",
    "tools": "redraft.runs.tools",
}

__all__ = [
    "PROMPTS",
    "Answer",
    "AnswerCitation",
    "BatchItem",
    "BatchProgress",
    "BatchResult",
    "BudgetError",
    "CallAnswered",
    "CallFailed",
    "CallStarted",
    "Case",
    "ChapterResult",
    "ChatModel",
    "Citations",
    "Document",
    "Dossier",
    "Draft",
    "DraftConfig",
    "DraftDiff",
    "Evaluation",
    "Evaluator",
    "Event",
    "Evidence",
    "Fence",
    "Finding",
    "FindingFound",
    "FunctionModel",
    "Gap",
    "GivenModel",
    "Judge",
    "JudgeConfig",
    "KeyFact",
    "KeyFacts",
    "Limits",
    "Lineage",
    "Lookup",
    "Losses",
    "Model",
    "ModelError",
    "ModelSettings",
    "Names",
    "Noted",
    "Observer",
    "Options",
    "Pack",
    "PartDone",
    "Piece",
    "PieceDone",
    "Preset",
    "Price",
    "PriceTable",
    "Prompt",
    "RedraftError",
    "RefineConfig",
    "Reply",
    "ReplyModel",
    "Request",
    "Result",
    "ReviewAnswer",
    "ReviewQuestion",
    "Reviewer",
    "Round",
    "RoundSettled",
    "Run",
    "RunDone",
    "RunError",
    "RunStarted",
    "RunTrace",
    "RunsBeside",
    "Sampling",
    "Scored",
    "ScriptedModel",
    "Session",
    "Span",
    "Stage",
    "StageStarted",
    "Store",
    "SummaryComparison",
    "TaggedItem",
    "Totals",
    "Tree",
    "Turn",
    "Usage",
    "UsageError",
    "Waiting",
    "batch",
    "built",
    "built_keyfacts",
    "citations_of",
    "cited",
    "compared",
    "difference",
    "event_json",
    "graphs",
    "load",
    "preset",
    "price_table",
    "read_answer",
    "read_batch",
    "read_beside",
    "read_dossier",
    "read_lineage",
    "read_losses",
    "read_result",
    "read_trace",
    "resume_batch",
    "tools",
]


def __getattr__(name: str) -> object:
    if name == "graphs":
        return import_module("redraft.graphs")
    if name not in _HOMES:
        raise AttributeError(f"module 'redraft' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
