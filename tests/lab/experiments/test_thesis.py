"""The traceability thesis: nearest paragraphs, phases, similarities of all types, references, datasets, one run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from redraft.errors import UsageError
from redraft.events import ignore_event
from redraft.lab.experiments.context import place_sentences
from redraft.lab.experiments.context_frames import SummarySentencePlaces, density_frame, share_frame, step_frame
from redraft.lab.experiments.qa import NO_ANSWER, similarity_frame
from redraft.lab.experiments.questioner import SentenceSimilarity, TypedQuestionBuilder
from redraft.lab.experiments.sources import DATASET, corpus
from redraft.prompts.qa import ASK_TYPED, AskTypedInput
from redraft.store.store import Store
from redraft.text.vectors import Embeddings
from tests.cli.local_command import LocalCommand
from tests.lab.experiments.made import drawn, rows
from tests.lab.experiments.test_context_tables import COURSES, ITEMS, at
from tests.lab.experiments.test_qa_tables import BINARY, EXTRACTIVE, LATER, OPEN, builder, item
from tests.valley import book
from tests.valley import replies as read

MILLERS = [
    " ".join([f"The miller {name} grinds barley and rye for farmers of valley {number}.", "The river runs high."] * 4)
    for number, name in enumerate(("Adam", "Bruno", "Carl", "Dora"))
]


def test_sentences_come_from_similar_paragraphs_read() -> None:
    text = "\n\n".join(MILLERS)
    sentences = ("Dora the miller grinds rye.", "Bruno grinds barley.", "Zebras gallop.")
    places = (((at(100), 1.0),), (), ())
    placed = tuple(
        SummarySentencePlaces(n, sentence, "", place)
        for n, (sentence, place) in enumerate(zip(sentences, places, strict=True), 1)
    )
    likeness = SentenceSimilarity.by_terms(text)
    last, second, nowhere = place_sentences(placed, text, likeness)
    assert "Dora" in text[slice(*last.places[0][0])]
    assert "Bruno" in text[slice(*second.places[0][0])]
    assert nowhere.places == ()
    # What was not read yet is no place.
    (last, *_) = place_sentences(placed, "\n\n".join(MILLERS[:2]), likeness)
    assert "Dora" not in text[slice(*last.places[0][0])]
    assert place_sentences(placed, text, None) is placed


def test_fates_are_pooled_over_documents() -> None:
    # Two matching, three lost, three new; the same document again, under another id, doubles each.
    repeated = [replace(item, document="e") for item in ITEMS]
    table = step_frame([*ITEMS, *repeated])
    shares = rows(table, "step", "until", "matching", "lost", "new", "facts", section="anywhere")
    assert shares == [(2, 200, 2 / 8, 3 / 8, 3 / 8, 16)]
    phases = rows(share_frame(ITEMS), "steps", "matching", section="anywhere")
    assert ("second phase", 2 / 8) in phases
    assert ("first phase", None) in phases
    pictures = drawn("context", fact_steps=table, fact_shares=share_frame(ITEMS))
    curves = drawn("context", position_densities=density_frame(ITEMS, COURSES))["position_densities_1"].frame
    assert list(curves["series"].unique()) == ["all steps", "lower half", "upper half", "reference"]
    assert {"fact_steps_1", "fact_trends_1", "fact_phases_1"} <= pictures.keys()
    bars: Any = pictures["fact_phases_1"]
    assert bars.shares()["matching"].dropna().to_dict() == {"second phase": 0.25}
    assert list(bars.shares().index) == ["first phase", "second phase", "third phase"]


def test_similarities_cover_all_types_and_reasons() -> None:
    items = [
        item(EXTRACTIVE, "the blue wheel", right=True),
        item(LATER, "-"),
        item(BINARY, "no", reason="He left it behind", right=True),
        item(OPEN, NO_ANSWER),
        # An answer before its paragraph was read does not count.
        item(LATER, "the blue wheel", right=True, end=450),
    ]
    table = similarity_frame(items)
    actual = {(of, figure): cells for _, of, figure, *cells in rows(table, *table.columns)}
    # Thirds of 900: the extractive ones are in the first and the last, yes or no in the second, the open one too.
    # Who abstains says that there is no answer: 7 words, 1 of them among the 3 of the reference.
    assert actual["extractive", "similarity"] == [1.0, None, 0.2, 0.6, 2]
    assert actual["unanswerable", "similarity"] == [None, 1.0, None, 1.0, 1]
    assert actual["binary", "similarity"][-2:] == [1.0, 1]
    assert actual["binary", "yes or no right"][-2:] == [1.0, 1]
    assert actual["binary", "similarity of reasons"][-2:] == [1.0, 1]
    # The right word without a reason costs similarity, which the row below shows: the thesis's caveat.
    bare_frame = similarity_frame([item(BINARY, "no")])
    bare = {row[2]: row[-2] for row in rows(bare_frame, *bare_frame.columns) if row[1] == "binary"}
    assert bare["similarity"] < 1
    assert (bare["yes or no right"], bare["similarity of reasons"]) == (1.0, None)
    assert item(OPEN, "-").alike == 1.0


@pytest.fixture
def books(tmp_path: Path) -> Path:
    for name, texts in (("tales", ("One day long ago.", "Two days long ago.")), ("news", ("Rain fell today.",))):
        lines = [
            {"id": f"{name}{n}", "text": f"{text} {'It went on. ' * 30 * n}", "summary": [f"{name} {n}.", "Another."]}
            for n, text in enumerate(texts, 1)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tales2.md").write_text("By somebody else.", "utf-8")
    (tmp_path / "own.jsonl").write_text(json.dumps({"document": "news1", "summary": "By a third."}), "utf-8")
    return tmp_path


def test_every_document_has_its_reference_and_dataset(books: Path) -> None:
    both = [str(books / "tales.jsonl"), str(books / "news.jsonl")]
    actual = corpus(both, DATASET, by_source=True)
    titles = {document.id: document.title for document in actual.documents}
    assert {titles[key]: text for key, text in actual.references.items()} == {
        "tales1": "tales 1.", "tales2": "tales 2.", "news1": "news 1."
    }  # fmt: skip
    assert {titles[key]: name for key, name in actual.sets.items()} == {
        "tales1": "tales", "tales2": "tales", "news1": "news"
    }  # fmt: skip
    assert actual.notes == []
    for place, title in (("own", "tales2"), ("own.jsonl", "news1")):
        actual = corpus(both, str(books / place))
        assert [titles[key] for key in actual.references] == [title]
        assert actual.notes == ["2 of 3 documents have no reference"]
        assert actual.sets == {}
    with pytest.raises(UsageError, match="one document has a reference"):
        corpus(both, str(books / "own" / "tales2.md"))
    with pytest.raises(UsageError, match="none is of a document"):
        corpus(both[:1], str(books / "own.jsonl"))


async def test_the_asking_judge_sees_the_reference(tmp_path: Path) -> None:
    prompts: list[str] = []

    def replies(request):  # type: ignore[no-untyped-def]  # as the valley's
        prompts.extend([request.given.summary] if hasattr(request.given, "excerpt") else [])
        return read(request)

    document = book(6)
    with Store(tmp_path / "redraft.db") as store:
        plain = builder(store, document, replies)
        question_builder = TypedQuestionBuilder(
            plain.judge, plain.reader, plain.end, 1, ignore_event, "A summary of millers."
        )
        await question_builder.build()
        assert set(prompts) == {"A summary of millers."}
        prompt = question_builder.judge.book
    values = AskTypedInput(excerpt="The lamp went out.", type="binary", summary="A lamp fails.")
    for size in ("standard", "simple"):
        book_of = type(prompt)(size)
        assert "A lamp fails." in book_of.render(ASK_TYPED, values)
        assert "summary" not in book_of.render(ASK_TYPED, values.model_copy(update={"summary": ""}))


@pytest.mark.slow
def test_a_preset_is_never_silently_another_strategy(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(book(30).text, "utf-8")
    command = LocalCommand(tmp_path)
    for name in ("context", "qa"):
        experiment = ("experiment", name, "book.txt", "-m", "extractive")
        planned = command.run(*experiment, "--preset", "booookscore", "-w", "40", "--dry-run", "--json")
        assert planned.code == 0, planned.err
        assert any("hierarchical" in row["step"] for row in planned.json["rows"])
    planned = command.run(
        "experiment", "context", "book.txt", "-m", "extractive", "--preset", "hamlet", "--dry-run", "--json"
    )
    assert planned.json["rows"][0]["step"] == "drafting, direct"
    paper = ("experiment", "thesis", "book.txt", "-m", "extractive", "--preset", "thesis", "--dry-run", "--json")
    refused = command.run(*paper)
    assert "no document has 128,000 tokens" in refused.out
    planned = command.run(*paper, "--min-tokens", "0")
    assert planned.code == 0, planned.err
    assert "1 of 1 documents have no reference" in planned.err
    assert planned.json["rows"][0]["step"] == "drafting, direct"
    # Elsewhere the reference is a file, of which the thesis says nothing.
    (tmp_path / "summary.txt").write_text("Miller 1 grinds barley.", "utf-8")
    evaluation = command.run("evaluate", "book.txt", "summary.txt", "--preset", "thesis", "--metric", "position",
                         "--set", "embeddings=", "--set", "similarity=rouge1")  # fmt: skip
    assert evaluation.code == 0, evaluation.err


def test_words_weigh_by_their_rarity() -> None:
    likeness = SentenceSimilarity.by_terms("Ann slept. Ben slept. Cleo came.")
    # Three sentences: "slept" is in two of them, "Ann" in one; "Dora" is in none, and as rare as any that is.
    slept, ann, dora = (log(3 / count) for count in (2, 1, 1))
    actual = likeness.between(["Ann slept.", "Dora slept."], ["Ben slept.", "ANN slept!", "And then?", "Dora slept."])
    assert actual[0] == pytest.approx([slept**2 / (slept**2 + ann**2), 1.0, 0.0, actual[1][1]], abs=1e-5)
    assert actual[1][0] == pytest.approx(slept**2 / ((slept**2 + ann**2) * (slept**2 + dora**2)) ** 0.5, abs=1e-5)
    assert actual[1][3] == 1.0
    assert likeness.between([], ["Ann slept."]).shape == (0, 1)
    assert (likeness.name, likeness.threshold) == ("TF-IDF cosine", 0.5)


def test_meanings_use_the_encoder_and_its_threshold() -> None:
    class Four:
        name = weights = "four"

        def encode(self, texts: Sequence[str]) -> Embeddings:
            rows = {"north": (0.0, 1.0), "east": (1.0, 0.0), "north-east": (0.6, 0.8), "south": (0.0, -1.0)}
            return np.array([rows[text] for text in texts], dtype=np.float32)

    likeness = SentenceSimilarity.by_embeddings(Four())
    assert likeness.between(["north"], ["north", "east", "north-east", "south"])[0] == pytest.approx([1, 0, 0.8, 0])
    assert (likeness.name, likeness.threshold) == ("cosine of four", 0.7)
