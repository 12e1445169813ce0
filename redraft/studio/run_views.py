"""What the store tells of one run: how it stands, what there is of it so far, and what bears it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redraft.errors import UsageError
from redraft.lab.agreement.sheets.questions import ABOUT, What, answers, questions
from redraft.lab.agreement.sheets.sheet import written
from redraft.report.dossier.build import read_dossier
from redraft.report.dossier.contents import Dossier
from redraft.report.history.results import read_result
from redraft.report.history.summaries import summary_of
from redraft.report.history.trace import read_trace
from redraft.settings import ExperimentPart
from redraft.store.agreements import HumanOpinion
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.studio.contracts import OpinionGiven, OpinionList, Pieces, SentenceEvidence, Status
from redraft.studio.endpoints import NoSuchThing
from redraft.studio.rows import RUNNING
from redraft.text.cleaning import scrubbed

DRAFTED = frozenset({"summarize", "evaluate", "refine"})
"""The kinds of runs that a dossier is about."""
_RESUMABLE = frozenset({"stopped", "failed", "interrupted", "killed"})
_MOST_PIECES = 40


def status_of(store: Store, run: Run, *, at_work: bool) -> Status:
    """How a run stands."""
    row = summary_of(store, run)
    if at_work and row.status == "killed":
        # It is on record, and not claimed yet.
        row = row.model_copy(update={"status": RUNNING})
    error = {name: scrubbed(str(value)) for name, value in run.error.items()} if run.error else None
    resumable = row.status in _RESUMABLE and not isinstance(run.purpose, ExperimentPart)
    return Status(**dict(row), error=error, at_work=at_work and row.status == RUNNING, resumable=resumable)


def result_of(store: Store, run: str) -> dict[str, Any]:
    """The result of a run, as `redraft show --json` has it."""
    return read_result(store, run).to_json()


def pieces_of(store: Store, run: str) -> Pieces:
    """What there is of a summary so far."""
    known = store.runs.get(run)
    chunks = store.chunks(known)
    found = store.runs.pieces(run)
    latest = {(one.level, one.index): one for one in found}
    order = sorted(latest, reverse=True)[:_MOST_PIECES]
    return Pieces(
        chunks=len(chunks),
        total=len(latest),
        pieces=tuple(latest[place] for place in order),
        draft=store.runs.draft(known.draft).text if known.draft else None,
    )


def evidence_of(dossier: Dossier, sentence: int | None, finding: str | None) -> SentenceEvidence:
    """What bears out a sentence of the summary, or a finding, by its number or its id."""
    if (sentence is None) == (finding is None):
        raise UsageError("one sentence or one finding is meant", hint="give ?sentence=4, or ?finding=2")
    if sentence is not None:
        one = next((each for each in dossier.sentences if each.number == sentence), None)
        if one is None:
            raise NoSuchThing(f"the summary has no sentence {sentence}", hint=f"it has {len(dossier.sentences)}")
        return SentenceEvidence(sentence=one, findings=tuple(f for f in dossier.findings if f.number in one.findings))
    wanted = (finding or "").removeprefix("f")
    found = [f for f in dossier.findings if finding == f.id or wanted == str(f.number)]
    if not found:
        raise NoSuchThing(f"there is no finding {finding!r}", hint=f"there are {len(dossier.findings)}")
    about = next((each for each in dossier.sentences if each.number == found[0].sentence), None)
    return SentenceEvidence(sentence=about, findings=tuple(found[:1]))


def dossier_of(store: Store, run: str) -> Dossier:
    """All that there is to look at in a run, read anew."""
    return read_dossier(store, run)


def opinions_of(store: Store, run: str) -> OpinionList:
    """What was said of the findings of a run."""
    return OpinionList(opinions=tuple(store.opinions.of(run).values()))


def say(store: Store, run: str, given: OpinionGiven) -> OpinionList:
    """Keep a word on a finding of a run, or withdraw it; returns all that was said."""
    turns = read_trace(store, run).turns
    drafts = [turn.draft.id for turn in turns if any(one.id == given.finding for one in turn.findings)]
    if not drafts:
        result = read_result(store, run)
        found = any(one.id == given.finding for each in result.evaluations.values() for one in each.findings)
        drafts = [result.draft.id] if found and result.draft else []
    if not drafts:
        raise NoSuchThing(f"run {run} has no finding {given.finding!r}")
    if given.agrees is None:
        store.opinions.withdraw(run, given.finding)
    else:
        store.opinions.keep(HumanOpinion(run, given.finding, drafts[-1], given.agrees, given.note))
    return opinions_of(store, run)


def opinions_sheet(store: Store, run: str, what: str | None) -> tuple[What, str]:
    """The opinions on a run as a sheet that `redraft agree read` takes: of one kind, or the kind with most of them."""
    if what is not None and what not in ABOUT:
        raise UsageError(f"there is no such sheet {what!r}", hint=f"there are: {', '.join(ABOUT)}")
    sheets = [(kind, _answered(store, run, kind)) for kind in ABOUT if what in (None, kind)]
    kind, (rows, said) = max(sheets, key=lambda one: len(one[1][1]))
    if not said:
        raise NoSuchThing(
            "nobody has said anything yet that such a sheet asks about",
            hint="agree or disagree with a finding of consistency, faithfulness or key-fact recall",
        )
    return kind, written([one for one in rows if one.id in said], kind, 1, said)


def _answered(store: Store, run: str, what: What) -> tuple[Sequence[Any], dict[str, str]]:
    try:
        rows = questions(store, [run], what)
    except UsageError:
        return (), {}
    return rows, answers(store, [run], what, rows)
