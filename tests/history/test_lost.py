"""What a summary lacks is named with the step at which it was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import (
    Evaluation,
    Evidence,
    Finding,
    KeyFact,
    KeyFacts,
    Pack,
    PackQuestion,
    Parent,
    Piece,
    Round,
    Span,
    Tree,
    Usage,
    record_json,
)
from redraft.errors import RefusedReply, RunError
from redraft.llm.base import Line, Request
from redraft.report.history.lineage import read_lineage
from redraft.report.history.lost import Loss, Losses, read_losses
from redraft.report.markdown.lineage import lineage_markdown, losses_markdown
from redraft.settings import DraftConfig
from redraft.store.store import Store
from tests.cli.inside import facts
from tests.history.test_embedded import Counting
from tests.history.test_lineage import INVENTED, KEEPERS, WEATHER, chronicle, drafted, faithful, inventive
from tests.store.support import run
from tests.support import Desk, prose

LOST = KEEPERS[2]
WINDOW = 660


def known(store: Store) -> None:
    """Every keeper is a key fact, in other words than the document's."""
    document = chronicle()
    facts = [
        KeyFact(number, "root", None, line.replace(" the ", " a "), Evidence(line, _place(line)))
        for number, line in enumerate(KEEPERS, 1)
    ]
    tree = Tree(0, "narrative", Span(0, len(document.text)), 0.5, tuple(facts))
    store.documents.add(document)
    store.keyfacts.add(KeyFacts("facts", document.id, "m", "v", {}, (tree,)), "x")


def _place(line: str) -> Span:
    at = chronicle().text.index(line)
    return Span(at, at + len(line))


def without(*labels: str) -> Any:
    """A writer that leaves the lost keeper out where it is asked for one of these."""

    def answer(request: Request[Any, Any]) -> Line:
        said = faithful(request)
        if not request.label.startswith(labels):
            # Only what betrays how it was made is tidied.
            return f"{said} This excerpt ends." if labels == ("tidy",) else said
        return str(said).replace(LOST, "").strip() or WEATHER

    return answer


async def losses(folder: Path, answer: Any, **settings: Any) -> Losses:
    desk, run = await drafted(folder, answer, **settings)
    known(desk.store)
    return read_losses(desk.store, run)


def only(found: Losses) -> Loss:
    (loss,) = found.lost
    assert loss.fact.evidence.text == LOST
    assert loss.chapter == "Finch"
    assert len(found.kept) == len(KEEPERS) - 1
    return loss


async def test_what_is_in_the_summary_is_not_lost(tmp_path: Path) -> None:
    found = await losses(tmp_path, faithful)
    assert found.lost == ()
    assert [fact.evidence.text for fact in found.kept] == list(KEEPERS)
    assert found.findings == ()


@pytest.mark.parametrize(
    ("label", "step", "level"),
    [("chunk", "extraction", 0), ("level 1", "merge", 1), ("level 2", "merge", 2), ("tidy", "tidying", None)],
)
async def test_the_level_of_a_tree_is_named(tmp_path: Path, label: str, step: str, level: int | None) -> None:
    loss = only(await losses(tmp_path, without(label)))
    assert (loss.step, loss.level) == (step, level)


def test_a_merge_that_knows_a_fact_from_its_context_alone_has_not_lost_it(tmp_path: Path) -> None:
    """The first keeper is dropped by the first merge of the second level; a merge beside it had read of him before."""
    with Store(tmp_path / "redraft.db") as store:
        known(store)
        store.runs.add(run("tree", chronicle().text, settings=DraftConfig()))

        def made(level: int, index: int, keepers: Sequence[int], parents: Sequence[Parent]) -> Piece:
            text = " ".join(KEEPERS[at] for at in keepers)
            piece = Piece(level, index, keepers[0], keepers[-1], text, 9, 9, 9)
            store.runs.add_piece("tree", piece, parents)
            return piece

        leaves = [made(0, at, [at], [Parent("excerpt", chronicle().id, _place(KEEPERS[at]))]) for at in range(4)]
        first = made(1, 0, [0, 1], [Parent.of_piece(one) for one in leaves[:2]])
        beside = made(1, 1, [2, 3], [Parent.of_piece(first, "context"), *map(Parent.of_piece, leaves[2:])])
        lossy = made(2, 0, [1], [Parent.of_piece(first)])
        other = made(2, 1, [2, 3], [Parent.of_piece(lossy, "context"), Parent.of_piece(beside)])
        top = made(3, 0, [1, 2, 3], [Parent.of_piece(lossy), Parent.of_piece(other)])
        store.runs.keep_draft("tree", top.text, 9, "hierarchical", parents=[Parent.of_piece(top)])

        lost = {loss.fact.evidence.text: (loss.step, loss.node) for loss in read_losses(store, "tree").lost}
        assert lost[KEEPERS[0]] == ("merge", "2/0/0")
        assert lost[KEEPERS[4]] == lost[KEEPERS[5]] == ("gap", "")


@pytest.mark.slow
async def test_a_running_summary_names_the_chunk_the_update_and_the_compression(tmp_path: Path) -> None:
    def wordy(request: Request[Any, Any]) -> Line:
        """Outgrows the limit from the chunk of the fourth keeper on."""
        said = str(faithful(request))
        return f"{said} {prose(90)}" if request.prompt.name == "update" and KEEPERS[3] in said else said

    def cutting(request: Request[Any, Any]) -> Line:
        said = str(wordy(request))
        return said.replace(LOST, "") if request.prompt.name == "compress" else said

    def forgetting(request: Request[Any, Any]) -> Line:
        said = str(faithful(request))
        return said.replace(LOST, "") if KEEPERS[4] in said else said

    for name, answer, step in (("cut", cutting, "compression"), ("forgotten", forgetting, "update")):
        found = await losses(tmp_path / name, answer, strategy="incremental", context_tokens=1600, words=80)
        assert only(found).step == step
    found = await losses(tmp_path / "unread", without("chunk"), strategy="incremental", context_tokens=900)
    assert only(found).step == "extraction"


async def test_a_chunk_that_was_left_out_has_lost_its_facts(tmp_path: Path) -> None:
    def refusing(request: Request[Any, Any]) -> Line:
        # The next chunk is shown the last lines before it, too.
        shown = [str(getattr(request.given, name, "")) for name in ("excerpt", "before")]
        declined = any(LOST in text for text in shown)
        return RefusedReply("no", text="No.", usage=Usage(1, 1)) if declined else faithful(request)

    assert only(await losses(tmp_path, refusing)).step == "gap"


async def test_what_a_refused_revision_had_and_what_a_revision_dropped(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, without("chunk"))
    known(desk.store)
    first = desk.store.runs.draft(desk.store.runs.get(run).draft or "")
    parents = [Parent.of_draft(first), Parent("evidence", chronicle().id, _place(LOST))]
    refused = desk.store.runs.add_draft(run, f"{first.text} {LOST}", 9, f"revision of {first.id}", 1, (), parents)
    desk.store.judgments.keep_round(run, Round(0, first.id, accepted=True))
    desk.store.judgments.keep_round(run, Round(1, refused, first.id, accepted=False))
    loss = only(read_losses(desk.store, run))
    assert (loss.step, loss.node) == ("refusal", refused)

    shorter = first.text.replace(KEEPERS[0], "").strip()
    second = desk.store.runs.keep_draft(
        run, shorter, 9, f"revision of {first.id}", round_=2, parents=[Parent.of_draft(first)]
    )
    by_fact = {loss.fact.evidence.text: loss for loss in read_losses(desk.store, run).lost}
    assert by_fact.keys() == {KEEPERS[0], LOST}
    assert (by_fact[KEEPERS[0]].step, by_fact[KEEPERS[0]].node) == ("revision", second)


async def test_without_key_facts_the_answers_of_the_pack_are_looked_for(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, without("level 1"))
    with pytest.raises(RunError, match="there are no questions"):
        read_losses(desk.store, run)
    questions = tuple(
        PackQuestion(number, "Who?", "who", line.split(" ")[0], Evidence(line, _place(line)), 0.5)
        for number, line in enumerate(KEEPERS, 1)
    )
    desk.store.packs.add(Pack("pack", chronicle().id, "m", {}, questions), "x")
    found = read_losses(desk.store, run)
    assert found.by == "questions pack"
    assert (only(found).step, only(found).level) == ("merge", 1)


def keep_absence(store: Store, draft: str, read: str) -> None:
    """A judge has not found the invented sentence in what was read."""
    said = Finding("consistency", "unsupported", "remove", f"Not found in {read}.", sentence=INVENTED, read=read)
    store.judgments.keep(draft, Evaluation("consistency", 1, "scored", 0.5, judged=2, findings=(said,)))


@pytest.mark.slow
async def test_a_reviser_is_told_of_the_passage_and_of_the_step(tmp_path: Path) -> None:
    def both(request: Request[Any, Any]) -> Line:
        return str(inventive(request)).replace(LOST, "").strip() or WEATHER

    desk, run = await drafted(tmp_path, both)
    known(desk.store)
    by_words = read_losses(desk.store, run)
    assert [one.text for one in by_words.lineage.doubtful] == [INVENTED]
    assert {one.task for one in by_words.findings} == {"add"}, "nobody has read the document for it"
    assert "lost, 1 without matching wording\n" in losses_markdown(by_words)
    keep_absence(desk.store, by_words.lineage.draft, "9 passages")
    assert [one.text for one in read_losses(desk.store, run).lineage.doubtful] == [INVENTED]

    keep_absence(desk.store, by_words.lineage.draft, "the whole document (1,200 tokens)")
    found = read_losses(desk.store, run)
    lost, invented = found.findings
    assert (lost.task, lost.evidence) == ("add", Evidence(LOST, _place(LOST)))
    assert (invented.task, invented.sentence) == ("remove", INVENTED)
    assert "no matching wording in the sources (level 1 summary of chunks 13 to 16)" in invented.explanation
    assert found.by_step == {"never extracted": [0, 1, 0]}
    assert found.invented_by_step == {"first appeared in a merge of level 1": [0, 0, 1]}
    assert record_json(found)["invented_by_step"] == found.invented_by_step
    shown = facts(losses_markdown(found))
    assert "first third of the summary second last all first appeared in a merge of level 1 0 0 1 1" in shown
    unplaced = [one for one in record_json(found)["lineage"]["sentences"] if one["unplaced"]]
    assert [(one["text"], one["invented_in"], one["doubtful"]) for one in unplaced] == [(INVENTED, "1/1/0", False)]
    assert "lost, 1 invented " in shown
    assert "other words" not in shown


OTHERWISE = "Nobody there could swim."


async def given(folder: Path, summary: str) -> tuple[Desk, str]:
    """A summary that somebody has brought along."""
    desk = Desk(folder, faithful)
    known(desk.store)
    async with desk.session() as session:
        judged = await session.evaluate(chronicle(), summary, metrics=["statistics"])
    return desk, judged.run.id


async def test_of_a_given_summary_nothing_is_called_invented_by_words_alone(tmp_path: Path) -> None:
    desk, run = await given(tmp_path, f"{KEEPERS[0]} {OTHERWISE} {KEEPERS[1]}")
    found = read_losses(desk.store, run)
    assert [one.text for one in found.lineage.doubtful] == [OTHERWISE]
    assert {one.task for one in found.findings} == {"add"}, "a reviser would remove what may be true"
    assert found.by_step == {"not in your summary": [0, 2, 2]}
    assert found.invented_by_step == {"without matching wording": [0, 1, 0]}
    shown = losses_markdown(found)
    assert "4 lost, 1 without matching wording\n\nnote: reworded" in shown
    assert shown.endswith(f"- {OTHERWISE}\n  - no matching wording in the document\n")
    assert "invented" not in shown
    assert "never extracted" not in shown
    (one,) = [one for one in record_json(found)["lineage"]["sentences"] if one["unplaced"]]
    place = (one["text"], one["invented_in"], one["invented"], one["doubtful"])
    assert place == (OTHERWISE, found.lineage.draft, "your summary", True)
    assert read_lineage(desk.store, run, encoder=Counting()).embedded
    hints = [lineage_markdown(replace(found.lineage, embedded=embedded)) for embedded in (False, True)]
    assert ["embeddings find more" in one for one in hints] == [True, False]


async def test_words_alone_call_nothing_invented(tmp_path: Path) -> None:
    own = (INVENTED, "Yolanda Quimby bought nineteen zebras last week.", "Xavier Orme sold eleven camels at noon.")

    def free(request: Request[Any, Any]) -> Line:
        if not request.label.startswith("level"):
            return faithful(request)
        told = [one for one in KEEPERS if any(one in text for text in request.given.summaries)]
        return " ".join((told[-1], *own))

    found = await losses(tmp_path, free)
    assert [one.text for one in found.lineage.doubtful] == list(own)
    assert not found.lineage.invented
    assert "remove" not in {one.task for one in found.findings}
    shown = losses_markdown(found)
    assert "3 without matching wording" in shown
    assert "invented" not in shown
    assert "no matching wording in the sources" in shown


async def test_a_query_has_the_facts_of_its_tree_alone(tmp_path: Path) -> None:
    desk = Desk(tmp_path, faithful)
    known(desk.store)
    result = await desk.summarize(chronicle(), words=70, chunk_tokens=128, context_tokens=WINDOW, query="Who sang?")
    assert len((found := read_losses(desk.store, result.run.id)).kept) == len(found.lost) == 0
