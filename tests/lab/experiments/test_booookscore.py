"""The experiment on coherence: its tables by hand, the published figures, and judges behind a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

import pytest

from redraft import DraftConfig, Limits
from redraft.errors import UsageError
from redraft.lab.agreement.annotations import CLEAR, AnnotatedSentence, Annotations, ConfusionVerdict, Summaries
from redraft.lab.experiments.booookscore import CoherenceDesign, coherence_item
from redraft.lab.experiments.experiment import Outcome
from redraft.lab.experiments.frames import spread_of_mean
from redraft.lab.experiments.orders import NamedModel
from redraft.report.tables import Report, Table
from redraft.runs.experiment_runner import Failure
from redraft.text import tokens
from redraft.text.sentences import sentences_in
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault
from tests.judges import fact_of, read_sheet, summary_of
from tests.lab.experiments.made import rows
from tests.lab.experiments.world import answer, run_in, serving

WHO = ConfusionVerdict(True, ("entity omission",), questions=("Who?",))


def outcome_of(
    texts: Mapping[str, str],
    entries: Mapping[str, tuple[AnnotatedSentence, ...] | None],
    *,
    every: bool = False,
    marked: bool = False,
    references: Mapping[str, tuple[str, ...]] | None = None,
) -> CoherenceDesign:
    annotations = Annotations("a.json", every, entries, marked)
    return CoherenceDesign.measured(Summaries("s.json", texts), [annotations], references)


def report_of(measured: CoherenceDesign) -> Report:
    return Outcome(measured, (), measured.items).report()


def table(report: Report, name: str) -> Table:
    return next(table for table in report.tables if table.name == name)


def test_the_score_averages_shares_of_summaries() -> None:
    texts = {
        "a": "One sleeps. Two sleep.",
        "b": "One eats. Two eat. Three eat. Four eat.",
        "c": "All is well.",
        "d": "",
    }
    entries = {
        "a": (AnnotatedSentence("One sleeps.", WHO), AnnotatedSentence("Two sleep.", CLEAR)),
        "b": (AnnotatedSentence("Two eat.", ConfusionVerdict(True, ("salience", "entity omission"), ("plot hole",))),
              AnnotatedSentence("Three eat.", ConfusionVerdict(True, questions=("Why?",)))),
        "e": (AnnotatedSentence("Gone.", WHO),),
    }  # fmt: skip
    report = report_of(outcome_of(texts, entries))
    scores = table(report, "scores")
    actual = rows(scores, "BooookScore", "score", "summaries", "of", "sentences", "judged", "unjudged", "confused")
    score = (1 / 2 + 2 / 4 + 1) / 3
    assert actual == [(pytest.approx(100 * score), pytest.approx(score), 3, 4, 7, 7, 0, 3)]
    types = table(report, "types")
    assert rows(types, "sentences", "% of sentences", type="entity omission") == [(2, pytest.approx(200 / 7))]
    assert rows(types, "sentences", type="duplication") == [(0,)]
    assert rows(types, "sentences", type="another type") == rows(types, "sentences", type="untyped") == [(1,)]
    assert len(types.rows) == 10
    assert report.about[-5:-2] == (
        "summaries for which the annotations list no sentence: 1",
        "annotated summaries that are not in the file of summaries: 1",
        "types that the paper does not define: 1",
    )
    status = {item["document"]: (item["status"], item["score"]) for item in report.items}
    assert status == {"a": ("done", 0.5), "b": ("done", 0.5), "c": ("done", 1), "d": ("done", None)}
    assert [table.name for table in report.tables] == ["scores", "types", "lengths", "failures"], "nothing was asked"


def test_missing_entries_are_unjudged_in_full_annotations() -> None:
    texts = {"a": "One sleeps. Two sleep.", "b": "One eats.", "c": "Two eat."}
    report = report_of(outcome_of(texts, {"a": (AnnotatedSentence("One sleeps.", WHO),), "b": None}, every=True))
    names = ("score", "summaries", "of", "sentences", "judged", "unjudged", "confused")
    assert rows(table(report, "scores"), *names) == [(0.0, 1, 3, 4, 1, 3, 1)]
    assert "3 of 4 verdicts are missing" in table(report, "scores").basis
    assert report.about[-3] == "summaries for which the annotations list no sentence: 2"


@pytest.mark.parametrize(
    ("confusing", "clear", "unjudged", "score"),
    [(1, 1, 2, 0.5), (1, 1, 3, None), (2, 0, 1, None), (2, 0, 0, 0.0), (0, 2, 2, 1.0), (0, 0, 3, None)],
)
def test_scores_need_verdicts_on_half_the_sentences(
    confusing: int, clear: int, unjudged: int, score: float | None
) -> None:
    verdicts = (*[ConfusionVerdict(True, ("language",))] * confusing, *[ConfusionVerdict(False)] * clear)
    short = Failure("judging", "unjudged", "the judge cannot tell") if unjudged else None
    (summary,) = outcome_of({"a": "One sleeps."}, {"a": None}).summaries
    assert coherence_item("j", summary, verdicts, {}, unjudged, failure=short).score == score
    human = coherence_item("p", summary, verdicts, {}, unjudged)
    assert human.score == (1 - confusing / len(verdicts) if verdicts else None), "people chose what to mark"


def test_annotations_of_other_summaries_are_refused() -> None:
    with pytest.raises(UsageError, match='none of the ids of the summaries, such as "a"'):
        outcome_of({"a": "One sleeps."}, {"b": None})
    of_other_books = {
        "a": tuple(AnnotatedSentence(f"{who}.", WHO) for who in ("Two sleep", "Three sleep", "One sleeps"))
    }
    with pytest.raises(UsageError, match="2 of 3 annotated sentences are not in the summaries"):
        outcome_of({"a": "One sleeps."}, of_other_books)


GERMAN = {
    "lang": "Der Kahn lag am 3. März unter der Brücke bzw. Am Ufer. Die Schleusen waren seit dem 19. Jahrhundert offen,"
    " und niemand hatte sie je geschlossen.",
    "kurz": "Er kam am 3. März. Im Abschnitt Abb. 3 steht es.",
    "english": "The ledger of the harbour was kept by Mr. Crane, who wrote every ship of the company into it. He left.",
}


def test_sentences_end_by_their_language(tmp_path: Path) -> None:
    actual = {
        summary.id: [sentence.sentence for sentence in summary.sentences]
        for summary in outcome_of(GERMAN, {"lang": None}).summaries
    }
    assert len(actual["lang"]) == 2
    assert actual["kurz"] == ["Er kam am 3. März.", "Im Abschnitt Abb. 3 steht es."], "too short to show it by itself"
    assert len(actual["english"]) == 2
    assert len(sentences_in(GERMAN["kurz"])) > 2, "which by itself is read as English"


async def test_the_built_in_judge_refuses_other_languages(tmp_path: Path) -> None:
    judges = (NamedModel("extractive", DraftConfig()),)
    measured = CoherenceDesign.measured(Summaries("s.json", GERMAN), judges=judges)
    outcome: Outcome[Any, Any] = await run_in(tmp_path, (), measured)
    messages = {item.document: item.failure.message for item in outcome.items if item.failure}
    assert {key for key, message in messages.items() if "English only" in message} == {"lang", "kurz"}
    assert not next(item for item in outcome.items if item.document == "lang").judged


def test_lengths_are_means_over_summaries_with_sentences() -> None:
    texts = {"a": "One two three four. One two three five.", "b": "One two.", "c": " ", "d": "---"}
    report = report_of(outcome_of(texts, {"a": None}))
    names = ("summaries", "words", "sentences", "% repeated trigrams")
    # "one two three" occurs twice among eight runs, seven of them different; "b" has none that is repeated.
    assert rows(table(report, "lengths"), *names) == [(2, 5, 1.5, pytest.approx(100 * (1 / 7 + 0) / 2))]


def test_estimated_tokens_are_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_vocabulary", lambda name: None)
    report = report_of(outcome_of({"a": "One sleeps."}, {"a": None}))
    assert "estimate: an estimate, slightly too high" in table(report, "lengths").caption
    assert report.settings["tokenizer"] == "estimate"


def test_the_bootstrap_is_that_of_the_mean() -> None:
    draw = Random(1)
    scores = [draw.gauss(0.8, 0.1) for _ in range(400)]
    spread = spread_of_mean(scores)
    sd, low, high = (value or 0.0 for value in spread.values())
    assert sd == pytest.approx(stdev(scores) / 20, rel=0.1)
    assert high - low == pytest.approx(2 * 1.96 * sd, rel=0.1)
    assert low < fmean(scores) < high
    assert spread_of_mean(scores[::-1]) == spread, "whatever the order"
    assert set(spread_of_mean([0.5]).values()) == {None}, "one summary says nothing of others"


def test_marks_count_as_the_paper_counts_them() -> None:
    text = "One sleeps. Two sleep. Three sleep. Four eat. Five eat. Six eat. Seven eat. Eight eat. Nine. Ten."
    marks = (
        AnnotatedSentence("sleeps. Two sleep. Three", WHO),
        AnnotatedSentence("Two", ConfusionVerdict(True, ("language",))),
        AnnotatedSentence("Four eat.", WHO, "Six"),
        AnnotatedSentence("eat", WHO),
        AnnotatedSentence("Eleven", WHO),
    )
    outcome = outcome_of({"a": text}, {"a": marks}, marked=True)
    (item,) = outcome.items
    # Three sentences are one, and confuse; so do the pair, the mark in one of several, and the one that is nowhere.
    assert (item.judged, item.confused, item.score) == (8, 4, 0.5)
    assert (item.marks, item.spans) == (5, 10)
    assert outcome.aside["a.json"]["lost"] == 1
    assert {sentence["number"]: sentence["types"] for sentence in item.confusing} == {
        1: ("entity omission",),
        2: ("entity omission", "language"),
        3: ("entity omission",),
        4: ("entity omission",),
        6: ("entity omission",),
    }, "a mark belongs where its words occur first"
    types = table(report_of(outcome), "types")
    assert rows(types, "sentences", "% of sentences", type="entity omission") == [(4, 40.0)]
    barn = "Tom sleeps in the barn all day."
    twice = outcome_of({"a": f"{barn} Ann eats. {barn}"}, {"a": (AnnotatedSentence(barn, WHO, barn),)}, marked=True)
    assert [sentence["number"] for sentence in twice.items[0].confusing] == [1, 3], "equal spans are in two places"


def test_scores_by_length_and_rouge_l() -> None:
    texts = {f"{n}": " ".join(["One sleeps."] * n) for n in range(1, 11)}
    entries = {key: (AnnotatedSentence("One sleeps.", WHO),) for key in texts}
    references = {"1": ("One sleeps well.", "Two eat."), "none": ("Nobody.",)}
    report = report_of(outcome_of(texts, entries, references=references))
    actual = rows(table(report, "by_length"), "part", "summaries", "score", "tau")
    assert actual[0] == (1, 2, pytest.approx(1 / 4), None)
    assert actual[-1] == ("all", 10, pytest.approx(fmean(1 - 1 / n for n in range(1, 11))), pytest.approx(1.0))
    assert len(actual) == 6
    names = ("summaries", "references", "ROUGE-L", "of the best reference")
    assert rows(table(report, "references"), *names) == [(1, 2, pytest.approx(40.0), pytest.approx(80.0))]


TEXTS = {
    "clear": summary_of(1, 2, 3, 4),
    "twice": f"{summary_of(1, 2, 3)} {summary_of(2)}",
    "two names": f"{summary_of(5, 6)} {summary_of(wrong={5: 'Bob'})}",
    "empty": "",
    "long": f"{summary_of(*range(10, 34))} {summary_of(11)}",
}
SCORES = {"clear": 1.0, "twice": 3 / 4, "two names": 2 / 3, "empty": None, "long": 24 / 25}
CALLS = 3 + 3


class Lab:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.judges = (NamedModel("openai:x", DraftConfig(model="openai:x", base_url=url)),)
        self.texts = dict(TEXTS)
        self.annotations: list[Annotations] = []

    async def run(self, limits: Limits | None = None, **changes: Any) -> Outcome[Any, Any]:
        texts = Summaries("s.json", self.texts)
        design = CoherenceDesign.measured(texts, self.annotations, judges=self.judges, **changes)
        outcome: Outcome[Any, Any] = await run_in(self.folder, (), design, limits)
        return outcome


def scores(outcome: Outcome[Any, Any]) -> dict[str, float | None]:
    return {item.document: item.score for item in outcome.items if item.system == "openai:x"}


@pytest.mark.slow
async def test_a_judge_annotates_all_sentences_in_batches(tmp_path: Path, server: ChatServer) -> None:
    outcome = await Lab(tmp_path, server.base_url).run()
    assert outcome.complete
    assert scores(outcome) == pytest.approx(SCORES)
    assert len(server.seen) == CALLS
    report = outcome.report()
    types = table(report, "types")
    assert rows(types, "sentences", type="duplication") == [(2,)]
    assert rows(types, "sentences", type="inconsistency") == [(1,)]
    [item] = [item for item in report.items if item["document"] == "two names"]
    assert item["confusing"] == [
        {
            "number": 3,
            "sentence": "The keeper number 5 is called Bob.",
            "types": ["inconsistency"],
            "questions": ["Is keeper number 5 called Bob or Tom5?"],
        }
    ]
    assert rows(table(report, "cost"), "by", "calls", "cached", step="judging") == [("openai:x", CALLS, 0)]
    assert table(report, "failures").rows == ()


@pytest.mark.slow
async def test_failures_are_no_scores_and_are_retried(tmp_path: Path) -> None:
    broken = True

    def script(request: ChatRequest) -> str | Answer | Fault:
        sheet = read_sheet(request)
        if broken and "called Bob" in sheet.within("summary"):
            return Fault("status", status=400, message="No.")
        reply = answer(request)
        if broken and "number 33" in sheet.within("summary") and isinstance(reply, str):
            entries = json.loads(reply)["sentences"]
            left_out = [n for n, text in sheet.judged.items() if text in (fact_of(12), fact_of(23))]
            return json.dumps({"sentences": [entry for entry in entries if entry["id"] not in left_out]})
        return reply

    with serving(script) as server:
        lab = Lab(tmp_path, server.base_url)
        outcome = await lab.run()
        assert not outcome.complete
        assert scores(outcome) == pytest.approx({**SCORES, "two names": None, "long": 22 / 23})
        report = outcome.report()
        status = {item["document"]: (item["status"], item["unjudged"]) for item in report.items}
        assert status["two names"] == ("failed", 3)
        assert status["long"] == ("failed", 2)
        failures = rows(table(report, "failures"), "document", "code")
        assert failures == [("two names", "provider"), ("long", "unjudged")]
        assert "2 failed, 0 not made; 5 of" in table(report, "scores").basis
        broken = False
        before = len(server.seen)
        done = await lab.run()
        assert done.complete
        assert scores(done) == pytest.approx(SCORES)
        assert len(server.seen) == before + 2


@pytest.mark.slow
async def test_judges_are_compared_with_annotations(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    repeated, bob = "The keeper number 2 is called Tom2.", "The keeper number 5 is called Bob."
    lab.texts.pop("long")
    # Of two copies the entry speaks of the first, and the judge of the second.
    entries = {"clear": repeated, "twice": repeated, "two names": bob}
    sentences = {key: (AnnotatedSentence(text, WHO),) for key, text in entries.items()}
    lab.annotations = [Annotations("a.json", False, sentences)]
    outcome = await lab.run()
    assert list(dict.fromkeys(item.system for item in outcome.items)) == ["a.json", "openai:x"]
    agreement = table(outcome.report(), "agreement")
    names = ("sentences", "equal", "precision", "recall", "confused", "by the annotations")
    assert rows(agreement, *names) == [(11, pytest.approx(8 / 11), 0.5, pytest.approx(1 / 3), 2, 3)]
    chance = (2 * 3 + 9 * 8) / 11**2
    assert rows(agreement, "kappa") == [(pytest.approx((8 / 11 - chance) / (1 - chance)),)]
    lab.annotations = [Annotations("a.json", False, {"clear": None})]
    lab.texts = {"clear": TEXTS["clear"]}
    [row] = rows(table((await lab.run()).report(), "agreement"), "equal", "kappa", "precision", "recall")
    assert row == (1.0, None, None, None), "nothing to divide by"


async def test_unjudgeable_summaries_are_refused_at_once(tmp_path: Path, server: ChatServer) -> None:
    lab, twice = Lab(tmp_path, server.base_url), Lab(tmp_path, server.base_url)
    twice.judges *= 2
    with pytest.raises(UsageError, match="is named twice"):
        await twice.run()
    lab.texts = {"a": "", "b": "---"}
    with pytest.raises(UsageError, match="no summary has a sentence"):
        await lab.run()
    assert server.seen == []


@pytest.mark.slow
async def test_the_window_grows_with_the_longest_summary(tmp_path: Path) -> None:
    text, read = summary_of(*range(1, 400)), list[str]()

    def script(request: ChatRequest) -> str:
        sheet = read_sheet(request)
        read.append(sheet.within("summary"))
        return json.dumps({"sentences": [{"id": n, "questions": [], "types": ["No confusion"]} for n in sheet.ids]})

    with serving(script) as server:
        lab = Lab(tmp_path, server.base_url)
        lab.texts = {"book": text}
        assert scores(await lab.run(batch=100)) == {"book": 1}
        assert {*read} == {text}, "it is never read in stretches"
