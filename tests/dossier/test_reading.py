"""A dossier holds what the store has of a run, and says what it does not hold."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from redraft import Session, read_lineage, read_trace
from redraft.domain import DraftComparison, Finding, Ruling, record_json
from redraft.errors import RunError
from redraft.evaluators.metric_info import WITHDRAWN, WithdrawnFinding
from redraft.llm.base import Request
from redraft.readers.documents import parse
from redraft.report.dossier.build import read_dossier
from redraft.report.dossier.contents import Dossier
from redraft.report.history.lineage import origin_note
from redraft.report.history.texts import GIVEN_SAID
from redraft.report.markdown.run import run_markdown
from redraft.report.pages.dossier import dossier_page
from redraft.settings import DraftConfig, Limits
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from tests.judges import Court, Keepers, Said, Sheet, island
from tests.store.support import plain
from tests.support import Desk, story


@pytest.mark.slow
def test_every_offset_leads_to_the_words_that_it_is_said_to_lead_to(dossier: Dossier) -> None:
    text, summary = dossier.document.text, dossier.summary
    assert text is not None
    assert summary is not None
    places = [origin for one in dossier.sentences for origin in one.places]
    assert all(one_line(text[slice(*origin.span)]) == origin.text for origin in places)
    items = [one.place for one in dossier.items if one.place]
    assert len(places) + len(items) > 20
    assert all(one_line(text[place.start : place.end]) == place.text for place in items)
    quoted = [one.finding.evidence for one in dossier.findings if one.finding.evidence]
    assert quoted
    assert all(text[slice(*one.span)] == one.text for one in quoted if one.span)
    assert all(one_line(summary[slice(*one.span)]) == one.text for one in dossier.sentences)


def test_the_sentences_come_from_where_lineage_has_them_from(dossier: Dossier, shelf: tuple[Store, str]) -> None:
    lineage = read_lineage(*shelf)
    assert [one.places for one in dossier.sentences] == [one.places for one in lineage.sentences]
    assert all(origin.way for one in dossier.sentences for origin in one.places)


def test_the_rounds_are_those_of_the_trace(dossier: Dossier, shelf: tuple[Store, str]) -> None:
    trace = read_trace(*shelf)
    assert dossier.rounds == trace.rounds
    assert dossier.number(dossier.draft) == trace.number(trace.run.draft)
    assert len(dossier.rounds) > 1


def test_every_finding_of_the_run_has_one_number_and_a_state_that_its_rounds_bear_out(dossier: Dossier) -> None:
    assert [one.number for one in dossier.findings] == list(range(1, len(dossier.findings) + 1))
    result = next(turn for turn in dossier.rounds if turn.draft.id == dossier.draft)
    found = {finding.id for finding in result.findings}
    assert {one.finding.id for one in dossier.findings if one.state == "open"} == found
    mended = [one for one in dossier.findings if one.state == "fixed"]
    assert mended
    assert all(result.round.number not in one.rounds for one in mended)
    aimed = {(one.number, told.round) for one in dossier.findings for told in one.aimed}
    numbers = [turn.round.number for turn in dossier.rounds]
    assert aimed == {(number, made) for made in numbers for number in dossier.to_fix(made)}


def test_what_is_said_to_have_mended_a_finding_stands_in_the_draft_of_that_round(dossier: Dossier) -> None:
    drafts = {turn.round.number: one_line(turn.draft.text) for turn in dossier.rounds}
    told = [became for one in dossier.findings for became in one.aimed if became.gone and became.after]
    assert told
    assert all(became.after in drafts[became.round] for became in told)


@pytest.mark.parametrize("text", [GIVEN_SAID, "level 1 summary of chunks 1 to 4"])
def test_a_sentence_without_a_place_has_its_note(dossier: Dossier, text: str) -> None:
    first, *later = dossier.sentences
    unplaced = replace(first, origins=(), direct=(), judged=(), invented=text)
    page = dossier_page(dossier.model_copy(update={"sentences": (unplaced, *later)}))
    assert origin_note(text).lower() in page.lower()


def test_a_withdrawn_finding_has_the_overruling_words(dossier: Dossier) -> None:
    finding = Finding("consistency", "inconsistent", "correct", "It is wrong.", "Ann came.", "Who came?", "Ann", "Bob")
    ruling = Ruling(dossier.document.id, finding.id, "supported", "Ann came in.", 3, 15, "It says so.", "a judge")
    first, *others = dossier.rounds
    name, evaluation = next(iter(first.evaluations.items()))
    details = {**evaluation.details, WITHDRAWN: (WithdrawnFinding(finding, ruling),)}
    gone = replace(first, evaluations={**first.evaluations, name: replace(evaluation, details=details)})
    page = dossier_page(dossier.model_copy(update={"rounds": (gone, *others)}))
    assert all(text in page for text in ("Who came?", "Ann came in."))
    assert "Ann came in." not in dossier_page(dossier)


def test_exports_have_the_reasons_of_judges(shelf: tuple[Store, str]) -> None:
    store, run = shelf

    def exports() -> tuple[str, str]:
        return dossier_page(read_dossier(store, run)), run_markdown(store, run)

    *_, last = store.judgments.rounds(run)
    try:
        store.judgments.keep_round(run, replace(last, comparison=DraftComparison(2, 0, 0, ("It tells more.",))))
        texts = exports()
    finally:
        store.judgments.keep_round(run, last)
    assert all("It tells more." in text for text in texts)
    assert not any("It tells more." in text for text in exports())


def test_findings_about_a_sentence_stand_beside_it(dossier: Dossier) -> None:
    beside = {number for one in dossier.sentences for number in dossier.findings_on(one.number)}
    about = {one.number for one in dossier.findings if one.state == "open" and one.sentence is not None}
    assert beside == about
    texts = {one.number: one.text for one in dossier.sentences}
    assert all(texts[one.sentence] == one_line(one.finding.sentence) for one in dossier.findings if one.sentence)


def test_the_key_facts_are_those_that_the_summary_is_judged_by(dossier: Dossier) -> None:
    score = next(one for one in dossier.scores if one.metric == "keyfact_recall")
    verdicts = [tree.verdicts.get(fact.id) for tree in dossier.trees for fact in tree.tree.kept]
    stated = [verdict.value if verdict else None for verdict in verdicts]
    assert len([value for value in stated if value is not None]) == score.judged
    assert stated.count(None) == score.unjudged
    judged = [value for value in stated if value is not None]
    assert score.details["by_level"]["all"]["recall"] == pytest.approx(sum(judged) / len(judged))
    assert (score.outcome, score.unjudged) == ("scored", 0)


def test_every_prompt_of_the_run_is_there_with_its_text(dossier: Dossier, shelf: tuple[Store, str]) -> None:
    store, run = shelf
    assert {one.name: one.hash for one in dossier.prompts} == store.runs.get(run).prompt_hashes
    assert all(one.text for one in dossier.prompts)


def test_the_text_of_a_prompt_is_the_one_that_was_used_and_else_unknown(tmp_path: Path) -> None:
    """A prompt of the user's own that has changed since; and a database from before texts were kept."""
    own = tmp_path / "own"
    own.mkdir()
    template = "{{ text }} Tell it in {{ words }} words.{% if query %}{{ query }}{% endif %}"
    (own / "summarize_whole.md").write_text(_own_template(template), "utf-8")

    async def work() -> str:
        async with Session(tmp_path / "r.db", settings=DraftConfig(strategy="direct", prompts=str(own))) as session:
            return (await session.summarize(story(12))).run.id

    run = asyncio.run(work())
    (own / "summarize_whole.md").write_text("changed", "utf-8")
    with Store(tmp_path / "r.db") as store:
        found = {one.name: one.text for one in read_dossier(store, run).prompts}
        assert "MINE" in (found["summarize_whole"] or "")
    with plain(tmp_path / "r.db") as database:
        database.execute("DELETE FROM knowledge WHERE kind = 'prompt'")
        database.commit()
    with Store(tmp_path / "r.db") as store:
        assert {one.name: one.text for one in read_dossier(store, run).prompts}["summarize_whole"] is None


def _own_template(fallback: str) -> str:
    from redraft.prompts.book import PromptBook

    return f"{PromptBook().source('summarize_whole') or fallback}\nMINE"


def test_without_the_source_no_more_of_the_document_is_in_it_than_is_cited(tmp_path: Path) -> None:
    """By a model that writes its own words, so that nothing else of the document could be in there."""
    secret = "The treasure lies below the seventh apple tree in Abel's orchard."
    more = "The sea was grey that day, and nobody on the quay had much to say about it. " * 4
    document = parse(f"# Keepers\n\nAbel kept the lantern all his life.\n\n{more}\n\n{secret}".encode(), name="k.md")

    def answer(request: Request[object, object]) -> str:
        return "Abel kept the lantern all his life."

    async def work() -> str:
        return (await Desk(tmp_path, answer).summarize(document, strategy="direct", words=20)).run.id

    run = asyncio.run(work())
    with Store(tmp_path / "redraft.db") as store:
        whole, without = read_dossier(store, run), read_dossier(store, run, source=False)
    assert secret in whole.model_dump_json()
    assert "treasure" not in without.model_dump_json()
    assert without.document.text is None
    assert "only the cited passages" in without.holds
    assert any("left out on request" in one for one in without.left_out)


def test_a_run_without_a_draft_is_shown_as_far_as_it_went(tmp_path: Path) -> None:
    async def work() -> None:
        desk = Desk(tmp_path, lambda request: "")
        with pytest.raises(Exception, match=r"."):
            await desk.summarize(story(12), strategy="direct")

    asyncio.run(work())
    with Store(tmp_path / "redraft.db") as store:
        found = read_dossier(store, store.runs.latest(1)[0].id)
    assert found.summary is None
    assert found.sentences == ()
    assert found.run.error
    assert found.calls


@pytest.mark.nightly
def test_calls_that_waited_for_one_another_stand_side_by_side_in_time(tmp_path: Path) -> None:
    async def judged(court: Court) -> str:
        async with court.session(limits=Limits(concurrency=1)) as session:
            return (await session.evaluate(court.document, court.document.text[:3000], context_tokens=4096)).run.id

    class Slow(Keepers):
        def __call__(self, sheet: Sheet) -> Said:
            time.sleep(0.03)
            return super().__call__(sheet)

    court = Court(tmp_path, Slow(), document=island(300))
    found = read_dossier(court.store, asyncio.run(judged(court)))
    court.store.close()
    order = sorted(found.calls, key=lambda one: one.began)
    assert len(order) > 5
    assert all(one.began + one.seconds <= after.began + 0.005 for one, after in pairwise(order))


def test_a_run_that_made_no_summary_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async def work() -> str:
        async with Session(tmp_path / "r.db", settings=DraftConfig(model="extractive")) as session:
            return (await session.build(story(20))).run.id

    run = asyncio.run(work())
    with Store(tmp_path / "r.db") as store, pytest.raises(RunError, match="made no summary: it builds questions"):
        read_dossier(store, run)


def test_its_json_has_the_records_of_the_run(dossier: Dossier, shelf: tuple[Store, str]) -> None:
    content = json.loads(dossier.model_dump_json())
    assert content["format"] == 3
    assert content["sentences"] == record_json(dossier.sentences)
    assert [one["round"] for one in content["rounds"]] == record_json(
        [turn.round for turn in read_trace(*shelf).rounds]
    )
