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
from redraft.order import Summarize
from redraft.report.history.lineage import read_lineage
from redraft.report.history.lost import Loss, Losses, read_losses
from redraft.report.markdown.lineage import lineage_markdown, losses_markdown
from redraft.store.store import Store
from tests.cli.inside import facts
from tests.history.test_embedded import Counting
from tests.history.test_lineage import INVENTED, KEEPERS, WEATHER, chronicle, drafted, faithful, inventive
from tests.store.support import run
from tests.support import Desk, prose

LOST = KEEPERS[2]
WINDOW = 660


def add_keyfacts(store: Store) -> None:
    """Make every keeper a key fact, in other words than the document's."""
    document = chronicle()
    facts = [
        KeyFact(number, "root", None, line.replace(" the ", " a "), Evidence(line, _place(line)))
        for number, line in enumerate(KEEPERS, 1)
    ]
    tree = Tree(0, "narrative", Span(0, len(document.text)), 0.5, tuple(facts))
    store.documents.add(document)
    store.keyfacts.add(KeyFacts("facts", document.id, "m", "v", {}, (tree,)), "x")


def _place(line: str) -> Span:
    start = chronicle().text.index(line)
    return Span(start, start + len(line))


def without(*labels: str) -> Any:
    """A writer that leaves the lost keeper out where it is asked for one of these."""

    def answer(request: Request[Any, Any]) -> Line:
        text = faithful(request)
        if not request.label.startswith(labels):
            # Only what betrays how it was made is tidied.
            return f"{text} This excerpt ends." if labels == ("tidy",) else text
        return str(text).replace(LOST, "").strip() or WEATHER

    return answer


async def losses(folder: Path, answer: Any, **settings: Any) -> Losses:
    desk, run = await drafted(folder, answer, **settings)
    add_keyfacts(desk.store)
    return read_losses(desk.store, run)


def only(losses: Losses) -> Loss:
    (loss,) = losses.lost
    assert (loss.fact.evidence.text, loss.chapter) == (LOST, "Finch")
    assert len(losses.kept) == len(KEEPERS) - 1
    return loss


async def test_nothing_stated_is_lost(tmp_path: Path) -> None:
    complete = await losses(tmp_path, faithful)
    assert [fact.evidence.text for fact in complete.kept] == list(KEEPERS)
    assert (complete.lost, complete.findings) == ((), ())


@pytest.mark.parametrize(
    ("label", "step", "level"),
    [("chunk", "extraction", 0), ("level 1", "merge", 1), ("level 2", "merge", 2), ("tidy", "tidying", None)],
)
async def test_the_level_of_a_merge_is_named(tmp_path: Path, label: str, step: str, level: int | None) -> None:
    loss = only(await losses(tmp_path, without(label)))
    assert (loss.step, loss.level) == (step, level)


def test_context_need_not_be_repeated(tmp_path: Path) -> None:
    """The first keeper is dropped by the first merge of the second level; a merge beside it had read of him before."""
    with Store(tmp_path / "redraft.db") as store:
        add_keyfacts(store)
        store.runs.add(run("tree", chronicle().text, order=Summarize()))

        def add(level: int, index: int, keepers: Sequence[int], parents: Sequence[Parent]) -> Piece:
            text = " ".join(KEEPERS[n] for n in keepers)
            piece = Piece(level, index, keepers[0], keepers[-1], text, 9, 9, 9)
            store.runs.add_piece("tree", piece, parents)
            return piece

        leaves = [add(0, n, [n], [Parent("excerpt", chronicle().id, _place(KEEPERS[n]))]) for n in range(4)]
        first = add(1, 0, [0, 1], [Parent.of_piece(leaf) for leaf in leaves[:2]])
        second = add(1, 1, [2, 3], [Parent.of_piece(first, "context"), *map(Parent.of_piece, leaves[2:])])
        lossy = add(2, 0, [1], [Parent.of_piece(first)])
        complete = add(2, 1, [2, 3], [Parent.of_piece(lossy, "context"), Parent.of_piece(second)])
        top = add(3, 0, [1, 2, 3], [Parent.of_piece(lossy), Parent.of_piece(complete)])
        store.runs.keep_draft("tree", top.text, 9, "hierarchical", parents=[Parent.of_piece(top)])

        lost = {loss.fact.evidence.text: (loss.step, loss.node) for loss in read_losses(store, "tree").lost}
    assert lost[KEEPERS[0]] == ("merge", "2/0/0")
    assert lost[KEEPERS[4]] == lost[KEEPERS[5]] == ("gap", "")


def cutting(request: Request[Any, Any]) -> Line:
    """Outgrow the limit from the chunk of the fourth keeper on, and lose the third when shortened."""
    text = str(faithful(request))
    if request.prompt.name == "compress":
        return text.replace(LOST, "")
    return f"{text} {prose(90)}" if request.prompt.name == "update" and KEEPERS[3] in text else text


def forgetting(request: Request[Any, Any]) -> Line:
    """Lose the third keeper once the fifth is known."""
    text = str(faithful(request))
    return text.replace(LOST, "") if KEEPERS[4] in text else text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "window", "step"),
    [(cutting, 1600, "compression"), (forgetting, 1600, "update"), (without("chunk"), 900, "extraction")],
)
async def test_steps_of_a_running_summary(tmp_path: Path, answer: Any, window: int, step: str) -> None:
    result = await losses(tmp_path, answer, strategy="incremental", context_tokens=window, words=80)
    assert only(result).step == step


async def test_a_gap_loses_the_facts_of_its_chunk(tmp_path: Path) -> None:
    def refusing(request: Request[Any, Any]) -> Line:
        # The next chunk is shown the last lines before it, too.
        texts = [str(getattr(request.given, name, "")) for name in ("excerpt", "before")]
        declined = any(LOST in text for text in texts)
        return RefusedReply("no", text="No.", usage=Usage(1, 1)) if declined else faithful(request)

    assert only(await losses(tmp_path, refusing)).step == "gap"


async def test_steps_of_revisions(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, without("chunk"))
    add_keyfacts(desk.store)
    first = desk.store.runs.draft(desk.store.runs.get(run).draft or "")
    parents = [Parent.of_draft(first), Parent("evidence", chronicle().id, _place(LOST))]
    rejected = desk.store.runs.add_draft(run, f"{first.text} {LOST}", 9, f"revision of {first.id}", 1, (), parents)
    desk.store.judgments.keep_round(run, Round(0, first.id, accepted=True))
    desk.store.judgments.keep_round(run, Round(1, rejected, first.id, accepted=False))
    loss = only(read_losses(desk.store, run))
    assert (loss.step, loss.node) == ("refusal", rejected)

    shorter, node = first.text.replace(KEEPERS[0], "").strip(), f"revision of {first.id}"
    second = desk.store.runs.keep_draft(run, shorter, 9, node, round_=2, parents=[Parent.of_draft(first)])
    by_fact = {loss.fact.evidence.text: (loss.step, loss.node) for loss in read_losses(desk.store, run).lost}
    assert by_fact == {KEEPERS[0]: ("revision", second), LOST: by_fact[LOST]}


async def test_answers_of_the_pack_replace_key_facts(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, without("level 1"))
    with pytest.raises(RunError, match="there are no questions"):
        read_losses(desk.store, run)
    questions = tuple(
        PackQuestion(number, "Who?", "who", line.split(" ")[0], Evidence(line, _place(line)), 0.5)
        for number, line in enumerate(KEEPERS, 1)
    )
    desk.store.packs.add(Pack("pack", chronicle().id, "m", {}, questions), "x")
    result = read_losses(desk.store, run)
    assert result.by == "questions pack"
    assert (only(result).step, only(result).level) == ("merge", 1)


def add_absence(store: Store, draft: str, read: str) -> None:
    """A judge has not found the invented sentence in what was read."""
    finding = Finding("consistency", "unsupported", "remove", f"Not found in {read}.", sentence=INVENTED, read=read)
    store.judgments.keep(draft, Evaluation("consistency", 1, "scored", 0.5, judged=2, findings=(finding,)))


@pytest.mark.slow
async def test_losses_become_findings(tmp_path: Path) -> None:
    def lossy(request: Request[Any, Any]) -> Line:
        return str(inventive(request)).replace(LOST, "").strip() or WEATHER

    desk, run = await drafted(tmp_path, lossy)
    add_keyfacts(desk.store)
    by_words = read_losses(desk.store, run)
    assert [sentence.text for sentence in by_words.lineage.doubtful] == [INVENTED]
    assert {finding.task for finding in by_words.findings} == {"add"}, "nobody has read the document for it"
    markdown = losses_markdown(by_words)
    assert "lost, 1 without matching wording\n" in markdown
    assert "invented" not in markdown
    add_absence(desk.store, by_words.lineage.draft, "9 passages")
    assert [sentence.text for sentence in read_losses(desk.store, run).lineage.doubtful] == [INVENTED]

    add_absence(desk.store, by_words.lineage.draft, "the whole document (1,200 tokens)")
    result = read_losses(desk.store, run)
    lost, invented = result.findings
    assert (lost.task, lost.evidence) == ("add", Evidence(LOST, _place(LOST)))
    assert (invented.task, invented.sentence) == ("remove", INVENTED)
    assert "no matching wording in the sources (level 1 summary of chunks 13 to 16)" in invented.explanation
    assert result.by_step == {"never extracted": [0, 1, 0]}
    markdown = facts(losses_markdown(result))
    assert "lost first third second last all never extracted 0 1 0 1" in markdown
    assert "lost, 1 invented " in markdown
    assert "other words" not in markdown
    sentences = [item for item in record_json(result)["lineage"]["sentences"] if item["unplaced"]]
    assert [(item["text"], item["invented_in"], item["doubtful"]) for item in sentences] == [(INVENTED, "1/1/0", False)]


async def test_steps_of_a_given_summary_are_unknown(tmp_path: Path) -> None:
    unplaced, desk = "Nobody there could swim.", Desk(tmp_path, faithful)
    add_keyfacts(desk.store)
    async with desk.session() as session:
        summary = f"{KEEPERS[0]} {unplaced} {KEEPERS[1]}"
        run = (await session.evaluate(chronicle(), summary, metrics=["statistics"])).run.id
    result = read_losses(desk.store, run)
    assert [sentence.text for sentence in result.lineage.doubtful] == [unplaced]
    assert {finding.task for finding in result.findings} == {"add"}, "a reviser would remove what may be true"
    assert result.by_step == {"not in your summary": [0, 2, 2]}
    markdown = losses_markdown(result)
    assert "4 lost, 1 without matching wording\n\nnote: reworded" in markdown
    assert markdown.endswith(f"- {unplaced}\n  - no matching wording in the document\n")
    assert not any(word in markdown for word in ("invented", "never extracted"))
    (sentence,) = [item for item in record_json(result)["lineage"]["sentences"] if item["unplaced"]]
    origin = sentence["text"], sentence["invented_in"], sentence["invented"], sentence["doubtful"]
    assert origin == (unplaced, result.lineage.draft, "your summary", True)
    assert read_lineage(desk.store, run, encoder=Counting()).embedded
    hints = [lineage_markdown(replace(result.lineage, embedded=embedded)) for embedded in (False, True)]
    assert ["embeddings find more" in hint for hint in hints] == [True, False]


async def test_a_query_has_facts_of_its_tree(tmp_path: Path) -> None:
    desk = Desk(tmp_path, faithful)
    add_keyfacts(desk.store)
    result = await desk.summarize(chronicle(), words=70, chunk_tokens=128, context_tokens=WINDOW, query="Who sang?")
    nothing = read_losses(desk.store, result.run.id)
    assert len(nothing.kept) == len(nothing.lost) == 0
