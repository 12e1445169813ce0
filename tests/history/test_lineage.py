"""Where sentences come from, through recorded texts; what two drafts differ in, and which findings that answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft import Session, read_lineage
from redraft.domain import Document, Draft, Evaluation, Finding, Round, record_json
from redraft.errors import RunError
from redraft.llm.base import Line, Request
from redraft.readers.documents import parse
from redraft.records import cited
from redraft.report.history.lineage import Lineage
from redraft.report.history.trace import DraftDiff, RoundTrace, changes_between, difference
from tests.judges import Harness, summary_of
from tests.support import Desk

KEEPERS = (
    "Abel Stone mended the great lantern before the winter storms.",
    "Berta Quill counted every barrel of whale oil in the cellar.",
    "Conrad Finch drowned when his rowing boat struck the northern reef.",
    "Dora Wick taught the village children their letters by candlelight.",
    "Emil Gray quarrelled with the bishop over the harbour taxes.",
    "Flora Dunn planted seven apple trees behind the chapel wall.",
)
WEATHER = "The weather was as it always is there."
INVENTED = "Zacharias Pennyfeather purchased fourteen elephants yesterday."


def chronicle() -> Document:
    """A document with a keeper for each chapter, and much else around them."""
    around = "The weather was as it always is there, and nobody thought of leaving. " * 8
    chapters = [f"## {line.split(' ')[1]}\n\n{around}\n\n{line}\n\n{around}" for line in KEEPERS]
    return parse("\n\n".join(["# The Chronicle", *chapters]).encode(), name="chronicle.md")


def faithful(request: Request[Any, Any]) -> Line:
    """A writer that says again what it is told of the keepers, and nothing else."""
    text_shown = " ".join(
        text
        for field, value in dict(request.given).items()
        if field != "before"
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str)
    )
    return " ".join(line for line in (*KEEPERS, INVENTED) if line in text_shown) or WEATHER


async def drafted(folder: Path, answer: Any = faithful, **settings: Any) -> tuple[Desk, str]:
    desk = Desk(folder, answer)
    result = await desk.summarize(chronicle(), **{"words": 70, "chunk_tokens": 128, "context_tokens": 660, **settings})
    return desk, result.run.id


def chapters(lineage: Lineage) -> dict[str, str]:
    return {sentence.text: sentence.origins[0].chapter if sentence.origins else "" for sentence in lineage.sentences}


CHAPTERS = {line: line.split(" ")[1] for line in KEEPERS}


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "window"), [("hierarchical", 660), ("incremental", 900), ("direct", 8000)])
async def test_every_sentence_leads_to_its_chapter(tmp_path: Path, strategy: str, window: int) -> None:
    desk, run = await drafted(tmp_path, strategy=strategy, context_tokens=window)
    lineage = read_lineage(desk.store, run)
    assert chapters(lineage) == CHAPTERS
    text = desk.store.documents.get(lineage.document.id).text
    for sentence in lineage.sentences:
        assert text[slice(*sentence.origins[0].span)] == sentence.text.strip(".")
        assert not sentence.drift
        assert sentence.origins[0].way[-1].source.node == ""


@pytest.mark.slow
async def test_an_invention_names_its_first_text(tmp_path: Path) -> None:
    def inventive(request: Request[Any, Any]) -> Line:
        return f"{faithful(request)} {INVENTED}" if request.label.startswith("level 1 merge 2") else faithful(request)

    desk, run = await drafted(tmp_path, inventive)
    (sentence,) = (sentence for sentence in read_lineage(desk.store, run).sentences if sentence.doubtful)
    assert (sentence.text, sentence.invented_in, sentence.origins) == (INVENTED, "1/1/0", ())


@pytest.mark.slow
async def test_a_merge_that_bypasses_its_pieces_drifts(tmp_path: Path) -> None:
    def bypassing(request: Request[Any, Any]) -> Line:
        text = str(faithful(request))
        if request.prompt.name == "summarize_chunk":
            return text.replace(KEEPERS[2], "There was nothing to tell of him, nor of anybody else, in all that time.")
        merges = request.prompt.name.startswith("merge") and KEEPERS[2] not in text
        return f"{text} {KEEPERS[2]}" if merges else text

    desk, run = await drafted(tmp_path, bypassing)
    sentences = {sentence.text: sentence for sentence in read_lineage(desk.store, run).sentences}
    bypassed = sentences[KEEPERS[2]]
    assert (bypassed.drift, bypassed.direct[0].chapter, bypassed.origins) == ("bypassed", "Finch", ())
    assert bypassed.invented_in.startswith("1/")
    assert not sentences[KEEPERS[0]].drift


@pytest.mark.slow
async def test_a_fork_leads_to_its_parent_run(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    first = await harness.refine(summary_of(1, wrong={2: "Bob"}))
    async with harness.session() as session:
        fork = await session.fork(first.run.id, 1, goals={"coverage": 0.1})
        lineage = await session.lineage(fork.run.id)
    assert lineage.sentences[0].origins[0].way[0].source.kind == "base"
    harness.store.forget([first.run.id])
    assert read_lineage(harness.store, fork.run.id).sentences[0].origins


async def test_a_given_summary_leads_to_the_document(harness: Harness) -> None:
    result = await harness.evaluate(summary_of(1, 2))
    sentences = read_lineage(harness.store, result.run.id).sentences
    assert all(sentence.origins[0].span == sentence.direct[0].span for sentence in sentences)
    assert "Tom1" in sentences[0].origins[0].text
    harness.store.runs.add(replace(result.run, id="abc123", draft=None))
    with pytest.raises(RunError, match="no summary yet"):
        read_lineage(harness.store, "abc123")


HOSTILE = "<script>alert('1')</script> [x](javascript:alert) ![y](z) `code` **bold** [^1]: \x1b[31mred & more"


async def test_no_text_becomes_markup_in_citations(tmp_path: Path) -> None:
    title = "<img src=x onerror=alert(1)>](javascript:alert)"
    text = f"# A\n\n## {title}\n\n{HOSTILE} was what the keeper wrote. The lamp was lit at seven in the evening."
    async with Session(tmp_path / "redraft.db") as session:
        document = Document.from_text(text)
        result = await session.evaluate(document, f"{HOSTILE} was what the keeper wrote.", metrics=["statistics"])
        citations = cited(await session.lineage(result.run.id))
    assert citations.places
    markdown = citations.text("markdown")
    assert "<" not in markdown.replace("\\<", "")
    assert "](javascript" not in markdown.replace("\\]", "")
    assert markdown.count("\n[^1]: ") == 1
    assert "\n[1] " in citations.text("footnotes")
    assert "\x1b" not in markdown + citations.text("footnotes")


async def test_citations_in_every_form(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    citations = cited(read_lineage(desk.store, run))
    quote, percent = KEEPERS[0].strip("."), citations.places[0].percent
    text = citations.text("footnotes")
    assert text.startswith(f"{KEEPERS[0]} [1] {KEEPERS[1]} [2]")
    assert f"\n[1] Stone, at {percent}% of the document: “{quote}”\n" in text
    assert f"{KEEPERS[0]}[^1] " in citations.text("markdown")
    content = record_json(citations)
    assert [sentence["cites"] for sentence in content["sentences"]] == [[n] for n in range(1, 7)]
    start = chronicle().text.index(quote)
    assert content["places"][0]["span"] == [start, start + len(quote)]


SENTENCES = st.lists(
    st.sampled_from(["He came home.", "She left.", "The bank broke.", "The bank broke at night.", "Rain fell."]),
    max_size=12,
)
FRAME = "The wind was on the sea. The lamp was in the hall. "


@pytest.mark.parametrize(
    ("before", "after", "changes", "moved"),
    [
        (
            "Hester came to Sarn. The keeper is called Bob and lives at sea. Nobody knows why.",
            "It was in March. Hester came to Sarn. The keeper is called Tom and lives at sea. The end.",
            [
                ("added", "", "It was in March."),
                ("changed", "The keeper is called Bob and lives at sea.", "The keeper is called Tom and lives at sea."),
                ("added", "", "The end."),
                ("removed", "Nobody knows why.", ""),
            ],
            (),
        ),
        (
            "One is here. Two is here. Three is here.",
            "Three is here. One is here. Two is here.",
            [],
            ("Three is here.",),
        ),
        ("Rain fell. Rain fell. Rain fell.", "Rain fell. Rain fell.", [("removed", "Rain fell.", "")], ()),
        (
            f"{FRAME}He was the owner of the house.",
            f"{FRAME}She was the doctor of the town.",
            [("added", "", "She was the doctor of the town."), ("removed", "He was the owner of the house.", "")],
            (),
        ),
    ],
    ids=["order of the later draft", "moved", "repeated", "only common words shared"],
)
def test_changes_of_sentences(
    before: str, after: str, changes: list[tuple[str, str, str]], moved: tuple[str, ...]
) -> None:
    diff = changes_between(before, after)
    assert [(change.kind, change.before, change.after) for change in diff.changes] == changes
    assert diff.moved == moved


@given(SENTENCES, SENTENCES)
def test_each_sentence_is_accounted_for_once(before: list[str], after: list[str]) -> None:
    diff = changes_between(" ".join(before), " ".join(after))
    removed = Counter(change.before for change in diff.changes if change.before)
    added = Counter(change.after for change in diff.changes if change.after)
    remaining = Counter(before) - removed
    assert remaining.total() == diff.kept
    assert remaining + removed == Counter(before)
    assert remaining + added == Counter(after)
    assert len(diff.moved) <= max(0, diff.kept - 1)


def finding(metric: str, kind: str, **fields: str) -> Finding:
    return Finding(metric, kind, "add", "because", **fields)  # type: ignore[arg-type]


def turn(text: str, *findings: Finding, failed: str = "", **details: object) -> RoundTrace:
    evaluations = {
        name: Evaluation(
            name,
            1,
            "failed" if name == failed else "scored",
            findings=tuple(finding for finding in findings if finding.metric == name),
            details=details,
        )
        for name in ("coverage", "consistency", "keyfact_recall", "faithfulness")
    }
    return RoundTrace(Round(0, "d"), Draft("d", "r", 0, "given", text, 1), evaluations, ())


def answers(diff: DraftDiff) -> list[tuple[Finding, ...]]:
    return [change.answers for change in diff.changes]


UNANSWERED = finding("coverage", "unanswered", question="Who keeps it?", expected="Ruth Crane")
WRONG = finding("consistency", "inconsistent", sentence="The keeper is called Bob Ash.", question="Who?", found="Bob")
UNFAITHFUL = finding("faithfulness", "entity", sentence=WRONG.sentence, expected="It says Tom Ash.")
LIGHT = finding("keyfact_recall", "missing root", expected="Ruth Crane keeps the light.")
OIL = finding("keyfact_recall", "missing leaf", expected="The oil comes from Wickmouth.")
SECOND_ANSWERS = {"questions": [{"question": "Who keeps it?", "sentences": [2, 99]}]}
SECOND_STATES = {"facts": [{"fact": LIGHT.expected, "sentences": [2]}]}


@pytest.mark.parametrize(
    ("before", "after", "credited"),
    [
        (turn(WRONG.sentence, WRONG), turn("The keeper is called Tom Ash."), [(WRONG,)]),
        (turn(WRONG.sentence, UNFAITHFUL), turn("The keeper is called Tom Ash."), [(UNFAITHFUL,)]),
        (turn("", UNANSWERED), turn("Ruth is here. She keeps it.", **SECOND_ANSWERS), [(), (UNANSWERED,)]),
        (turn("Oil is dear.", LIGHT, OIL), turn("Oil is dear. Ruth does.", OIL, **SECOND_STATES), [(LIGHT,)]),
        (turn("Oil is dear.", LIGHT), turn(f"Oil is dear. {LIGHT.expected}"), [(LIGHT,)]),
    ],
    ids=["its own sentence", "a sentence judged by itself", "the answer", "the key fact", "the key sentence itself"],
)
def test_the_change_that_answers_is_credited(
    before: RoundTrace, after: RoundTrace, credited: list[tuple[Finding, ...]]
) -> None:
    diff = difference(before, after)
    assert answers(diff) == credited
    assert (diff.answered_elsewhere, diff.new) == ((), ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WRONG, replace(WRONG, sentence="The keeper is called Bill Ash.")),
        (UNFAITHFUL, replace(UNFAITHFUL, expected="The passages say Tom Ash.")),
    ],
    ids=["in the changed sentence", "in other words"],
)
def test_a_repeated_complaint_is_not_answered(before: Finding, after: Finding) -> None:
    diff = difference(turn(before.sentence, before), turn(f"It rains. {after.sentence}", after))
    assert not any(answers(diff))
    assert (diff.answered_elsewhere, diff.new) == ((), ())


CONTRADICTED = replace(UNANSWERED, kind="contradicted", sentence="Bob keeps it.")


@pytest.mark.parametrize(
    ("before", "after", "elsewhere", "new"),
    [
        ("It rains.", turn("It rains. Then it snows."), (UNANSWERED,), ()),
        ("", turn("Bob keeps it.", CONTRADICTED), (), (CONTRADICTED,)),
        ("", turn("Ruth Crane keeps it.", failed="coverage"), (), ()),
    ],
    ids=["an answer without a change", "a wrong answer is new", "a failed metric answers nothing"],
)
def test_no_change_is_credited(
    before: str, after: RoundTrace, elsewhere: tuple[Finding, ...], new: tuple[Finding, ...]
) -> None:
    diff = difference(turn(before, UNANSWERED), after)
    assert (answers(diff), diff.answered_elsewhere, diff.new) == ([()], elsewhere, new)
