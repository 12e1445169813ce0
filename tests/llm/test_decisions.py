"""Decision models as judges: what they are asked, which probabilities are verdicts, and what they cannot do."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.decisions import BaseDecisionModel, ClassifierResponse, Noul

import redraft
from redraft.agents.accounts import verdict
from redraft.domain import Evaluation
from redraft.errors import UsageError
from redraft.evaluators.consensus import interval_of_mean
from redraft.llm.decisions import _CONFUSIONS, distribution
from redraft.llm.reply_reader import read_value
from redraft.prompts.coherence import Mark
from redraft.prompts.contract import reply_schema
from redraft.prompts.factual import Verifications, VerifyInput
from redraft.prompts.qa import Statement
from redraft.prompts.tags import Tags
from redraft.report.dossier.build import read_dossier
from redraft.report.pages.dossier import dossier_page
from redraft.runs import models
from redraft.settings import Calibration
from tests.command import Command
from tests.decisionserver import DecisionServer, Json, decision_server

TEXT = (
    "The ferry sank in March. Nobody was hurt, and the captain swam ashore. The bridge was built of stone by the people"
    " of the valley, who had waited for it for thirty years. The mill burned down in the autumn of the same year."
)
DOCUMENT = redraft.Document.from_text(TEXT, title="A valley")
TRUE, FALSE, FOREIGN = "The ferry sank in March.", "The bridge was built of wood.", "The king died."
SUMMARY = f"{TRUE} {FALSE} {FOREIGN}"
_QUOTED = re.compile(r"“(.*?)”")


def split(sure: float, best: str, others: tuple[str, str]) -> dict[str, float]:
    return {best: sure, others[0]: (1 - sure) * 0.75, others[1]: (1 - sure) * 0.25}


def knows(sure: float = 0.9) -> Any:
    """A model that knows the three sentences, so far as it is `sure`."""

    def script(_: str, question: Json) -> dict[str, float]:
        said = _QUOTED.findall(str(question["instructions"]))[0]
        if question["type"] == "noul":
            return {"yes": sure if said == TRUE else 1 - sure}
        names = tuple(question.get("criteria") or [one["value"] for one in question["choices"]])
        if "supported" not in names:
            rest = [name for name in names if name != "no confusion"]
            fine = sure if said != FOREIGN else 1 - sure
            left = 1 - fine
            return {"no confusion": fine, rest[0]: left * 0.9, **dict.fromkeys(rest[1:], left * 0.1 / 7)}
        if said == TRUE:
            return split(sure, "supported", ("absent", "contradicted"))
        if said == FALSE:
            return split(sure, "contradicted", ("absent", "supported"))
        return split(sure, "absent", ("contradicted", "supported"))

    return script


@pytest.fixture
def server() -> Iterator[DecisionServer]:
    with decision_server(knows()) as served:
        yield served


async def judged(judge: Any, metric: str, db: Path, **more: Any) -> Evaluation:
    async with redraft.Session(db, judges=[judge], **more) as session:
        result = await session.evaluate(DOCUMENT, SUMMARY, metrics=[metric])
        return result.evaluations[metric]


def named(name: str, address: str) -> redraft.ModelSettings:
    return redraft.ModelSettings(model=name, base_url=address)


def shown(evaluation: Evaluation, items: str) -> list[tuple[Any, Any]]:
    return [(one["verdict"], one.get("probability")) for one in evaluation.details[items]]  # type: ignore[attr-defined]


@pytest.mark.parametrize("provider", ["systemone", "decisions"])
async def test_the_sentences_of_a_summary_are_judged_in_one_request(
    provider: str, server: DecisionServer, tmp_path: Path
) -> None:
    address = server.address if provider == "systemone" else f"{server.address}/v1"
    found = await judged(named(f"{provider}:small", address), "faithfulness", tmp_path / "a.db")

    assert found.score == 1 / 3
    assert shown(found, "sentences") == [("none", 0.9), ("sentence", 0.025), ("out_of_article", 0.025)]
    assert [(one.sentence, one.kind) for one in found.findings] == [(FALSE, "sentence"), (FOREIGN, "out_of_article")]
    assert found.findings[0].evidence is not None
    assert found.findings[0].evidence.text.startswith("The bridge was built of stone")
    assert server.asked == 1
    (body,) = server.bodies
    assert len(body["questions"]) == 3
    assert TRUE in (body.get("state") or body["input"])


async def test_consistency_asks_whether_each_sentence_is_so(server: DecisionServer, tmp_path: Path) -> None:
    found = await judged(named("systemone:small", server.address), "consistency", tmp_path / "a.db")
    assert [verdict for verdict, _ in shown(found, "claims")] == ["consistent", "inconsistent", "unsupported"]
    assert shown(found, "claims")[0][1] == 0.9


async def test_coherence_asks_which_confusion_it_is(server: DecisionServer, tmp_path: Path) -> None:
    found = await judged(named("systemone:small", server.address), "booookscore", tmp_path / "a.db")
    assert shown(found, "sentences") == [("clear", 0.9), ("clear", 0.9), ("confusing", 0.1)]
    assert [one.kind for one in found.findings] == ["entity omission"]


@pytest.mark.parametrize(("sure", "decided"), [(0.81, 3), (0.79, 2), (0.6, 2), (0.55, 2)])
async def test_a_probability_between_the_cuts_is_no_verdict(sure: float, decided: int, tmp_path: Path) -> None:
    with decision_server(knows(sure)) as served:
        found = await judged(named("systemone:small", served.address), "faithfulness", tmp_path / "a.db")
    assert (found.judged, found.unjudged) == (decided, 3 - decided)
    assert found.details.get("trouble", "") == (
        "" if decided == 3 else "the judge cannot tell about 1 item: the probability is too close to one half"
    )


async def test_where_nothing_is_decided_there_is_no_score_but_a_reason(tmp_path: Path) -> None:
    with decision_server(lambda *_: {"supported": 0.4, "contradicted": 0.3, "absent": 0.3}) as served:
        found = await judged(named("systemone:small", served.address), "faithfulness", tmp_path / "a.db")
    assert (found.outcome, found.score) == ("failed", None)
    assert found.reason == "the judge cannot tell about 3 items: the probability is too close to one half"


async def test_a_score_has_the_interval_that_follows_from_its_items(server: DecisionServer, tmp_path: Path) -> None:
    found = await judged(named("systemone:small", server.address), "faithfulness", tmp_path / "a.db")
    assert found.details["interval"] == [0.0, 0.6667]


def test_the_interval_is_that_of_the_sum() -> None:
    assert interval_of_mean([1.0, 1.0, 0.0, 0.0]) == (0.5, 0.5)
    low, high = interval_of_mean([0.5] * 100)
    # Of a hundred coins, 95 % lie from 40 to 60.
    assert (low, high) == (0.4, 0.6)


async def test_a_reply_is_stored_with_its_probabilities(server: DecisionServer, tmp_path: Path) -> None:
    judge = named("systemone:small", server.address)
    first = await judged(judge, "faithfulness", tmp_path / "a.db")
    again = await judged(judge, "faithfulness", tmp_path / "a.db")
    assert shown(again, "sentences") == shown(first, "sentences")
    assert server.asked == 1


async def test_an_answer_to_another_wording_of_the_questions_is_not_used(
    server: DecisionServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = named("systemone:small", server.address)
    await judged(judge, "faithfulness", tmp_path / "a.db")
    monkeypatch.setattr(models, "QUESTIONS_VERSION", 2)
    await judged(judge, "faithfulness", tmp_path / "a.db")
    assert server.asked == 2


async def test_a_refused_question_leaves_its_item_open(tmp_path: Path) -> None:
    know = knows()

    def script(state: str, question: Json) -> Json | None:
        return None if FALSE in str(question["instructions"]) else know(state, question)

    with decision_server(script) as served:
        found = await judged(named("decisions:small", f"{served.address}/v1"), "faithfulness", tmp_path / "a.db")
    assert [verdict for verdict, _ in shown(found, "sentences")] == ["none", "unjudged", "out_of_article"]
    assert served.asked == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "choice", "choice": "supported", "probabilities": {"supported": 0.3}, "confidence": 1},
        {"type": "choice", "choice": "x", "probabilities": {"x": 1.0}, "confidence": 1},
        {"type": "choice", "choice": "supported", "probabilities": {"supported": 2.0, "absent": -1.0}, "confidence": 1},
        {"type": "noul", "noul": 1.0},
    ],
)
async def test_numbers_that_are_no_probabilities_are_no_verdict(answer: Json, tmp_path: Path) -> None:
    with decision_server(lambda *_: answer) as served:
        found = await judged(named("systemone:small", served.address), "faithfulness", tmp_path / "a.db")
    assert (found.outcome, found.judged) == ("failed", 0)


def test_probabilities_are_finite() -> None:
    question = Noul(instructions="Is it?")
    answer = ClassifierResponse.model_validate({"model": "m", "answers": {"1": {"type": "noul", "noul": 0.5}}}).answers[
        "1"
    ]
    answer.noul = float("nan")  # type: ignore[union-attr]
    assert distribution(question, answer) is None


async def test_a_server_that_stumbles_is_asked_again(server: DecisionServer, tmp_path: Path) -> None:
    server.faults = [(503, "{}"), (200, '{"answers": 3}')]
    found = await judged(named("systemone:small", server.address), "faithfulness", tmp_path / "a.db")
    assert found.score == 1 / 3
    assert server.asked == 3


async def test_a_key_goes_to_the_server_and_nowhere_else(
    server: DecisionServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_DECIDER", "secret-of-mine-123456")
    server.faults = [(401, '{"error": "bad key secret-of-mine-123456"}')]
    judge = redraft.ModelSettings(model="systemone:small", base_url=server.address, key_env="MY_DECIDER")
    with pytest.raises(redraft.ProviderError) as raised:
        await judged(judge, "faithfulness", tmp_path / "a.db")
    assert server.keys == ["Bearer secret-of-mine-123456"]
    assert "secret-of-mine" not in str(raised.value)
    assert b"secret-of-mine" not in (tmp_path / "a.db").read_bytes()


class Made(BaseDecisionModel):
    """A decision model in the program itself."""

    model: str = "made"

    @property
    def _provider(self) -> str:
        return "mine"

    def _classify(self, state: Any, questions: Any) -> ClassifierResponse:
        answers = {}
        for name, one in questions.items():
            odds = knows()(state, one.model_dump(mode="json"))
            answers[name] = {"type": "choice", "choice": "absent", "probabilities": odds, "confidence": 1}
        return ClassifierResponse.model_validate({"model": self.model, "answers": answers})


async def test_any_decision_model_of_langchain_is_a_judge(tmp_path: Path) -> None:
    found = await judged(Made(), "faithfulness", tmp_path / "a.db")
    assert found.score == 1 / 3


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("coverage", "the judge systemone:small does not support coverage: it answers typed questions only"),
        ("keyfact_recall", "the judge systemone:small finds no key facts: it answers typed questions only"),
    ],
)
async def test_what_it_cannot_judge_is_refused(metric: str, said: str, server: DecisionServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        await judged(named("systemone:small", server.address), metric, tmp_path / "a.db")
    assert not server.asked


async def test_it_does_not_write(server: DecisionServer, tmp_path: Path) -> None:
    async with redraft.Session(tmp_path / "a.db", model=named("systemone:small", server.address)) as session:
        with pytest.raises(UsageError, match="cannot write: it answers typed questions only"):
            await session.summarize(DOCUMENT)


async def test_a_server_needs_an_address(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="systemone:small needs the address of its server"):
        await judged("systemone:small", "faithfulness", tmp_path / "a.db")


async def test_a_language_model_beside_it_has_the_second_look(server: DecisionServer, tmp_path: Path) -> None:
    """With key facts from the first judge, both align them."""
    async with redraft.Session(
        tmp_path / "a.db", judges=["extractive", named("systemone:small", server.address)]
    ) as session:
        result = await session.evaluate(DOCUMENT, SUMMARY, metrics=["keyfact_recall"])
    assert result.evaluations["keyfact_recall"].outcome in ("scored", "failed")


def test_no_prompt_asks_a_language_model_for_probabilities_and_none_is_taken() -> None:
    assert "odds" not in str(reply_schema(Verifications))
    given = VerifyInput(passages=[TEXT], sentences=[Statement(id=1, sentence=TRUE)])
    tag = Tags(given).all("sentences")[0]
    text = (
        f'{{"sentences": [{{"id": "{tag}", "quote": "", "reason": "", "category": "none", "odds": {{"none": 0.1}}}}]}}'
    )
    (read,) = read_value(text, Verifications, given).sentences
    assert (read.category, read.odds) == ("none", None)


@pytest.mark.parametrize(
    ("likely", "said"), [(0.0, "no"), (0.2, "no"), (0.21, "unsure"), (0.79, "unsure"), (0.8, "yes"), (1.0, "yes")]
)
@pytest.mark.parametrize("before", ["yes", "no"])
def test_a_verdict_is_the_side_on_which_the_probability_is(likely: float, said: str, before: str) -> None:
    assert verdict({"yes": likely, "no": 1 - likely}, before, "yes", None) == said


def test_a_verdict_follows_the_calibrated_probability() -> None:
    odds = {"none": 0.7, "entity": 0.1, "sentence": 0.2}
    assert verdict(odds, "none", "none", Calibration(slope=1, intercept=-3)) == "sentence"
    assert verdict(odds, "entity", "none", Calibration(slope=1, intercept=-3)) == "entity"
    assert verdict(odds, "none", "none", Calibration(slope=1, intercept=-1)) == "unsure"
    assert verdict({"none": 0.3, "entity": 0.7}, "entity", "none", Calibration(slope=1, intercept=3)) == "none"


def test_every_confusion_is_described() -> None:
    assert set(_CONFUSIONS) == set(get_args(Mark))


def _listens(port: int) -> bool:
    with socket.socket() as reached:
        return not reached.connect_ex(("127.0.0.1", port))


@pytest.mark.slow
async def test_a_real_server_with_a_tiny_model_judges(tmp_path: Path) -> None:
    """Its verdicts are near chance; what counts is that each is one, or is left open."""
    if importlib.util.find_spec("sparrow_decider") is None:
        pytest.skip("sparrow-decider is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = shutil.which("sparrow-decider", path=str(Path(sys.executable).parent)) or "sparrow-decider"
    process = await asyncio.create_subprocess_exec(
        program, "serve", "--port", str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        while not _listens(port):
            assert process.returncode is None, "the server has ended"
            await asyncio.sleep(0.05)
        judge = named("systemone:nano", f"http://127.0.0.1:{port}")
        for metric in ("faithfulness", "consistency", "booookscore"):
            found = await judged(judge, metric, tmp_path / "a.db")
            assert found.judged + found.unjudged == 3
            assert found.reason or found.outcome == "scored"
    finally:
        process.kill()
        await process.wait()


async def test_a_page_shows_how_sure_the_judge_is(server: DecisionServer, tmp_path: Path) -> None:
    async with redraft.Session(tmp_path / "a.db", judges=[named("systemone:small", server.address)]) as session:
        result = await session.evaluate(DOCUMENT, SUMMARY, metrics=["faithfulness"])
        page = dossier_page(read_dossier(session.store, result.run.id))
    assert "98% that this finding is right" in page
    assert "<small>(0.00 to 0.66)</small>" in page


def _number(question: Json) -> int:
    return int(re.findall(r"Town (\d+)", str(question["instructions"]))[0])


def cheap(_: str, question: Json) -> dict[str, float]:
    """Right and sure of two sentences in three; of the third it cannot tell, or it objects to it."""
    number = _number(question)
    if number % 3:
        return split(0.95, *_SIDES[False])
    return split(0.5, *_SIDES[False]) if number % 2 else split(0.95, *_SIDES[True])


def dear(_: str, question: Json) -> dict[str, float]:
    """Wrong about every tenth sentence, else right: all are true."""
    return split(0.95, *_SIDES[_number(question) % 10 == 9])


_SIDES = {False: ("supported", ("absent", "contradicted")), True: ("contradicted", ("absent", "supported"))}
TOWNS = [f"The ferry of Town {n} sank in March." for n in range(60)]


async def cascade(db: Path, judges: list[redraft.ModelSettings], confirm: str | None) -> Evaluation:
    document = redraft.Document.from_text(" ".join(TOWNS), title="Towns")
    judging = redraft.JudgeConfig(confirm=confirm, models={one.model: one for one in judges if one.model == confirm})
    panel = [one for one in judges if one.model != confirm]
    async with redraft.Session(db, judges=panel, judging=judging) as session:
        result = await session.evaluate(document, " ".join(TOWNS), metrics=["faithfulness"])
        return result.evaluations["faithfulness"]


async def test_a_second_judge_decides_only_what_the_first_one_doubts(tmp_path: Path) -> None:
    with decision_server(cheap) as first, decision_server(dear) as second:
        one, other = named("systemone:cheap", first.address), named("systemone:dear", second.address)
        alone = await cascade(tmp_path / "a.db", [one], None)
        assert (alone.judged, len(alone.findings)) == (50, 10)
        by_dear = await cascade(tmp_path / "b.db", [other], None)
        asked_alone = sum(len(body["questions"]) for body in second.bodies)
        second.bodies.clear()
        both = await cascade(tmp_path / "a.db", [one, other], "systemone:dear")
        asked = sum(len(body["questions"]) for body in second.bodies)
    assert (by_dear.judged, len(by_dear.findings), asked_alone) == (60, 6, 60)
    # All sentences are true, so every finding is an error of the judges.
    assert both.judged == 60
    assert len(both.findings) <= len(by_dear.findings)
    assert asked == 20
    assert both.details["sentences"][0]["verdict"] == "none"  # type: ignore[index]


@pytest.mark.parametrize(
    ("confirms", "said"),
    [
        (lambda *_: split(0.5, *_SIDES[False]), "the judge cannot tell about 20 items"),
        (lambda *_: {"type": "noul", "noul": 0.5}, ""),
    ],
)
async def test_what_the_second_judge_cannot_tell_is_left_open(confirms: Any, said: str, tmp_path: Path) -> None:
    with decision_server(cheap) as first, decision_server(confirms) as second:
        one, other = named("systemone:cheap", first.address), named("systemone:dear", second.address)
        both = await cascade(tmp_path / "a.db", [one, other], "systemone:dear")
    assert (both.judged, both.unjudged, both.findings) == (40, 20, ())
    assert str(both.details.get("trouble", "")).startswith(said)


@pytest.mark.parametrize("trouble", ["no key", "no budget"])
async def test_where_the_second_judge_cannot_be_asked_there_is_no_score_until_it_can(
    trouble: str, tmp_path: Path
) -> None:
    document = redraft.Document.from_text(" ".join(TOWNS), title="Towns")
    with decision_server(cheap) as first, decision_server(dear) as second:
        one, other = named("systemone:cheap", first.address), named("systemone:dear", second.address)
        judging = redraft.JudgeConfig(confirm=other.model, models={other.model: other})
        limits = redraft.Limits(max_calls=3 if trouble == "no budget" else 9)
        second.faults = [(401, "{}")] if trouble == "no key" else []
        async with redraft.Session(tmp_path / "a.db", judges=[one], judging=judging, limits=limits) as session:
            with pytest.raises(redraft.RedraftError):
                await session.evaluate(document, " ".join(TOWNS), metrics=["faithfulness"])
            (run,) = session.store.runs.latest(9)
            assert run.status != "done"
        assert (first.asked, second.asked) == (3, trouble == "no key")
        async with redraft.Session(tmp_path / "a.db", judges=[one], judging=judging) as session:
            result = await session.resume(run.id, limits=redraft.Limits(max_calls=9))
        assert first.asked == 3, "what the first judge has said is kept"
    assert result.evaluations["faithfulness"].judged == 60


async def test_who_confirms_needs_somebody_to_confirm(tmp_path: Path) -> None:
    async with redraft.Session(tmp_path / "a.db", judging=redraft.JudgeConfig(confirm="openai:b")) as session:
        with pytest.raises(UsageError, match="there is no other judge for openai:b to confirm"):
            await session.evaluate(DOCUMENT, SUMMARY, metrics=["faithfulness"])


def test_on_the_command_line_a_judge_confirms_what_another_doubts(server: DecisionServer, tmp_path: Path) -> None:
    command = Command(tmp_path)
    (tmp_path / "book.txt").write_text(TEXT, "utf-8")
    (tmp_path / "summary.txt").write_text(f"{TRUE} The mill burned down in the autumn of the same year.", "utf-8")
    words = ("evaluate", "book.txt", "summary.txt", "--metric", "faithfulness", "--judge", "systemone:small")
    named = ("--set", f"judge_base_url={server.address}", "--set", "confirm=extractive", "--json")
    done = command.run(*words, *named)
    assert done.code == 0, done.err
    verdicts = [one["verdict"] for one in done.json["metrics"]["faithfulness"]["details"]["sentences"]]
    # The first judge knows nothing of the mill, the second one finds it in the document.
    assert verdicts == ["none", "none"]
    assert server.asked == 1
