"""A dossier holds what the store has of a run, says what it lacks, and tells nothing of the machine."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft import Session, read_lineage, read_trace
from redraft.domain import Evaluation, Ruling, record_json
from redraft.llm.base import Request
from redraft.prompts.book import PromptBook
from redraft.readers.documents import parse
from redraft.report.dossier.contents import Dossier, read_dossier
from redraft.report.history.results import findings_in
from redraft.report.pages.html import dossier_page, verdict
from redraft.settings import DraftConfig
from redraft.store.store import Store
from redraft.store.table import now
from redraft.text.sanitizer import one_line, scrubbed, scrubbed_all
from redraft.text.words import score
from tests.store.support import plain
from tests.support import Desk, story


@pytest.mark.slow
def test_offsets_lead_to_their_words(dossier: Dossier) -> None:
    text, summary = dossier.document.text, dossier.result.summary or ""
    places = [origin for sentence in dossier.sentences for origin in sentence.places]
    assert all(one_line(text[slice(*origin.span)]) == origin.text for origin in places)
    quotes = [item.evidence for item in dossier.items if item.evidence]
    quotes += [history.finding.evidence for history in dossier.findings if history.finding.evidence]
    assert min(len(places), len(quotes)) > 10
    assert all(text[slice(*quote.span)] == quote.text for quote in quotes if quote.span and quote.text)
    assert all(one_line(summary[slice(*sentence.span)]) == sentence.text for sentence in dossier.sentences)


def test_records_are_those_of_the_run(dossier: Dossier, shelf: tuple[Store, str]) -> None:
    store, run = shelf
    trace, lineage = read_trace(store, run), read_lineage(store, run)
    assert dossier.rounds == trace.rounds
    assert [sentence.places for sentence in dossier.sentences] == [sentence.places for sentence in lineage.sentences]
    assert all(origin.way for sentence in dossier.sentences for origin in sentence.places)
    assert {prompt.name: prompt.hash for prompt in dossier.prompts} == store.runs.get(run).prompt_hashes
    assert all(prompt.text for prompt in dossier.prompts)
    content = json.loads(dossier.model_dump_json())
    assert content["format"] == 5
    assert content["sentences"] == record_json(dossier.sentences)
    assert [turn["round"] for turn in content["rounds"]] == record_json([turn.round for turn in trace.rounds])
    printed = trace.result.model_dump(mode="json")
    shared = ("run", "status", "summary", "scores", "goals", "usage", "stop_reason")
    assert {name: content["result"][name] for name in shared} == {name: printed[name] for name in shared}
    evaluation = dossier.result.evaluations["keyfact_recall"]
    values = [item.value for item in dossier.items if item.metric == "keyfact_recall"]
    assert dossier.keyfacts is not None
    assert len(values) == sum(len(tree.kept) for tree in dossier.keyfacts.trees)
    assert (len(values) - values.count(None), values.count(None)) == (evaluation.judged, evaluation.unjudged)
    page = dossier_page(dossier)
    for sign, value in (("stated", 1.0), ("missing", 0.0)):
        assert page.count(f'data-fact="{sign}"') == values.count(value) > 0


def flaws(page: str) -> set[str]:
    """Return the findings on the cards of sentences."""
    cards = re.findall(r'<article class="card".*?\n      </article>', page, re.DOTALL)
    return set(re.findall(r'<article class="finding [^>]*id="(f\d+)"', "".join(cards)))


def test_drawings_have_their_numbers_in_words(dossier: Dossier) -> None:
    page = dossier_page(dossier)
    drawings = re.findall(r'<figure class="plot">.*?aria-label="([^"]+)"', page, re.DOTALL)
    assert [drawing.partition(".")[0] for drawing in drawings] == [
        *("Scores by round", "Where it comes from"),
        *("Questions answered, by part of the document", "Key facts stated, by part of the document"),
    ]
    scores = [score(turn.scores.get("coverage")) for turn in dossier.rounds]
    assert f"coverage: {', '.join(scores)}" in drawings[0]
    assert sum(int(number) for number in re.findall(r": (\d+)%", drawings[1])) in range(98, 103)
    judged = [item for item in dossier.items if item.metric == "coverage" and item.value is not None]
    assert sum(int(number) for number in re.findall(r"(\d+) of \d+ items? judged", drawings[2])) == len(judged)


def test_findings_have_numbers_and_states(dossier: Dossier) -> None:
    assert [history.number for history in dossier.findings] == list(range(1, len(dossier.findings) + 1))
    result = next(turn for turn in dossier.rounds if turn.draft.id == dossier.result.run.draft)
    on_result = {finding.id for finding in findings_in(result.evaluations)}
    assert {history.finding.id for history in dossier.findings if history.state == "open"} == on_result
    fixed = [history for history in dossier.findings if history.state == "fixed"]
    assert fixed
    assert all(result.round.number not in history.rounds for history in fixed)
    aimed = {(f"r{outcome.round}", f"f{history.number}") for history in dossier.findings for outcome in history.aimed}
    page = dossier_page(dossier)
    rounds = re.findall(r'<li class="round[^>]* id="(r\d+)"(.*?)</li>\n    ', page, re.DOTALL)
    listed = [(name, re.findall(r"To fix: (.*)</p>", text)) for name, text in rounds]
    assert aimed == {(name, number) for name, lists in listed for number in re.findall(r'"#(f\d+)"', "".join(lists))}
    drafts = {turn.round.number: one_line(turn.draft.text) for turn in dossier.rounds}
    credited = [outcome for history in fixed for outcome in history.aimed if outcome.gone and outcome.after]
    assert credited
    assert all(outcome.after in drafts[outcome.round] for outcome in credited)
    about_one = [history for history in dossier.findings if history.sentence is not None]
    assert flaws(page) == {f"f{history.number}" for history in about_one if history.state == "open"}
    texts = {sentence.number: sentence.text for sentence in dossier.sentences}
    assert all(texts[history.sentence or 0] == one_line(history.finding.sentence) for history in about_one)


def test_overruled_findings_are_withdrawn(dossier: Dossier, shelf: tuple[Store, str]) -> None:
    store, run = shelf
    finding = next(history.finding for history in dossier.findings if history.state == "open")
    ruling = Ruling(dossier.document.id, finding.id, "supported", "It says so.", 3, 9, by="a judge")
    try:
        store.rulings.put(ruling, created=now())
        changed = read_dossier(store, run)
    finally:
        store.rulings.put(replace(ruling, verdict="contradicted"), created=now())
    (history,) = (history for history in changed.findings if history.finding.id == finding.id)
    assert history.state == "withdrawn"
    assert f"f{history.number}" not in flaws(dossier_page(changed))


def test_prompts_have_the_text_that_was_used(tmp_path: Path) -> None:
    prompts = tmp_path / "own"
    prompts.mkdir()
    (prompts / "summarize_whole.md").write_text(f"{PromptBook().source('summarize_whole')}\nMINE", "utf-8")

    async def summarize() -> str:
        async with Session(tmp_path / "r.db", settings=DraftConfig(strategy="direct", prompts=str(prompts))) as session:
            return (await session.summarize(story(12))).run.id

    run = asyncio.run(summarize())
    (prompts / "summarize_whole.md").write_text("changed", "utf-8")
    with Store(tmp_path / "r.db") as store:
        texts = {prompt.name: prompt.text for prompt in read_dossier(store, run).prompts}
        assert "MINE" in (texts["summarize_whole"] or "")
        assert str(tmp_path) not in read_dossier(store, run).model_dump_json()
    with plain(tmp_path / "r.db") as database:
        database.execute("DELETE FROM knowledge WHERE kind = 'prompt'")
        database.commit()
    with Store(tmp_path / "r.db") as store:
        assert {prompt.text for prompt in read_dossier(store, run).prompts} == {None}


def test_without_source_only_citations_remain(tmp_path: Path) -> None:
    """By a model that writes its own words, so that nothing else of the document could be in there."""
    secret = "The treasure lies below the seventh apple tree in Abel's orchard."
    more = "The sea was grey that day, and nobody on the quay had much to say about it. " * 4
    document = parse(f"# Keepers\n\nAbel kept the lantern all his life.\n\n{more}\n\n{secret}".encode(), name="k.md")

    def answer(request: Request[object, object]) -> str:
        return "Abel kept the lantern all his life."

    run = asyncio.run(Desk(tmp_path, answer).summarize(document, strategy="direct", words=20)).run.id
    with Store(tmp_path / "redraft.db") as store:
        complete, without = read_dossier(store, run), read_dossier(store, run, source=False)
    assert secret in complete.model_dump_json()
    assert "treasure" not in without.model_dump_json()
    assert json.loads(without.model_dump_json())["document"]["text"] is None
    assert "except the cited passages" in without.holds
    assert any("left out on request" in sentence for sentence in without.left_out)


def test_failed_runs_have_a_dossier(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"."):
        asyncio.run(Desk(tmp_path, lambda request: "").summarize(story(12), strategy="direct"))
    with Store(tmp_path / "redraft.db") as store:
        dossier = read_dossier(store, store.runs.latest(1)[0].id)
    assert (dossier.result.summary, dossier.sentences) == (None, ())
    assert dossier.calls
    assert dossier.result.run.error is not None
    page = dossier_page(dossier)
    assert "No summary yet." in page
    assert page.index("<h1") < page.index('class="drift" dir="auto"') < page.index('id="reading"')


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("/home/ann/secret project/book.db: it is locked", "secret project/book.db: it is locked"),
        ("nli:/srv/models/deberta", "nli:deberta"),
        ("~/prompts/mine", "mine"),
        (r"C:\Users\Ann\prompts", "prompts"),
        (r"the file 'D:\books\a.txt' is empty", "the file 'a.txt' is empty"),
        ("https://ann:pass@models.example.org/v1", "https://models.example.org/v1"),
        ("http://127.0.0.1:8080/v1/chat/completions, openai/gpt-5-mini", ""),
        ("It answers yes/no and/or either/or: 11/12 chunks, level 1/2.", ""),
    ],
)
def test_paths_are_reduced_to_names(text: str, shared: str) -> None:
    shared = shared or text
    assert scrubbed(text) == shared
    value = {"path": text, "n": 3, "none": None, "list": [text, True]}
    assert scrubbed_all(value) == {"path": shared, "n": 3, "none": None, "list": [shared, True]}


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=5), min_size=2, max_size=6))
def test_directories_are_never_shared(names: list[str]) -> None:
    directories = [f"dir{at}{name}" for at, name in enumerate(names)]
    assert scrubbed(f"cannot read /{'/'.join(directories)}") == f"cannot read {directories[-1]}"


class Judged(NamedTuple):
    """A metric's score, its goal and whether that is met."""

    metric: str
    score: float | None
    goal: float | None = None
    met: bool | None = None
    reason: str = ""


def clauses(status: str, judged: list[Judged]) -> list[str]:
    """Return the clauses of the verdict with their signs."""
    evaluations = {
        metric: Evaluation(metric, 1, "failed" if score is None else "scored", score, judged=1, reason=reason)
        for metric, score, _, _, reason in judged
    }
    goals = {metric: {"at_least": goal, "met": met} for metric, _, goal, met, _ in judged if goal is not None}
    return [f"{sign} {says}".strip() for _, sign, says in verdict(status, evaluations, goals)]


@pytest.mark.parametrize(
    ("status", "judged", "says"),
    [
        ("done", [Judged("consistency", 0.959, 0.9, True), Judged("coverage", 0.31, 0.8, False)],
         "✓ Consistency 0.95 (goal 0.9 met); ✗ coverage 0.31 (goal 0.8 missed)"),
        ("done", [Judged("coverage", 0.79999, 0.8, None)], "? Coverage 0.79 (goal 0.8 undecided)"),
        ("done", [Judged("keyfact_recall", None, 0.5, False)], "? Keyfact recall not scored (goal 0.5)"),
        ("done", [Judged("coverage", 0.5), Judged("statistics", None)], "Coverage 0.50"),
        ("done", [Judged("coverage", None, reason="0 of 3; no model"), Judged("clarity", None, reason="no model")],
         "Coverage not scored (0 of 3; no model); clarity not scored (no model)"),
        ("done", [Judged("a", None, 0.5, reason="1; x"), Judged("b", None, 0.5, reason="y"), Judged("c", 1, 0.5, True)],
         "? A not scored (goal 0.5; 1; x); ? b not scored (goal 0.5; y); ✓ c 1.00 (goal 0.5 met)"),
        ("done", [], "Not judged"),
        ("waiting", [Judged("coverage", 0.2, 0.8, False)],
         "Waiting for your review.; ✗ Coverage 0.20 (goal 0.8 missed)"),
        ("failed", [], "Failed."),
    ],
)  # fmt: skip
def test_verdict_states_goals_and_scores(status: str, judged: list[Judged], says: str) -> None:
    assert "; ".join(clauses(status, judged)) == says
