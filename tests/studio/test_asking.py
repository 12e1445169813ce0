"""A question to the document of a run, asked in the studio: through the API, and in the box of the run's page."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from redraft.domain import NOT_SAID
from redraft.settings import ModelSettings
from redraft.studio.contracts import AnswerList
from tests.browser import serious
from tests.chatserver import ChatServer
from tests.judges import KEY, PerfectModel, ScriptedReply, Sheet, fact_of, island, name_question, scripted_replies
from tests.studio.served import FITS, Served, Visit, at_rest, begin, served

EVIL = "<img src=x onerror=\"document.title='pwned'\">"


class Evil(PerfectModel):
    """Answers with markup, and quotes once what the document does not have."""

    def write_answer(self, sheet: Sheet) -> ScriptedReply:
        said = super().write_answer(sheet)
        if said["answered"]:
            said["sentences"].append({"quote": f"words {EVIL} of nobody", "sentence": f"He wrote {EVIL}."})
        return said


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch, ChatServer(scripted_replies(Evil())) as chat:
        patch.setenv("OPENAI_API_KEY", KEY)
        models = {name: ModelSettings(model=f"openai:{name}", base_url=chat.base_url) for name in ("m", "j")}
        with served(tmp_path_factory.mktemp("asking"), models=models) as studio:
            yield studio


@pytest.fixture(scope="module")
def run(client: httpx.Client) -> str:
    """A run that has judged a summary of the keepers, by a judge of its own."""
    body = {"kind": "evaluate", "summary": fact_of(3), "metrics": ["consistency"], "model": "m", "judge": "j"}
    made = begin(client, **{**body, "text": island().text, "title": "The Keepers"})
    assert at_rest(client, made)["status"] == "done"
    return made


@pytest.mark.slow
def test_question_is_answered_by_the_runs_model(at: Served, client: httpx.Client, run: str) -> None:
    reply = client.post(f"/api/runs/{run}/ask", json={"question": name_question(5)})
    assert reply.status_code == 201, reply.text
    made = reply.json()["run"]
    assert at_rest(client, made)["kind"] == "ask"
    client.post(f"/api/runs/{run}/ask", json={"question": name_question(99)})
    silent, found = AnswerList.model_validate(client.get(f"/api/runs/{made}/answers").json()).answers[:2]

    assert (found.run, found.question, found.answered, found.status) == (made, name_question(5), True, "done")
    assert found.answer.startswith(fact_of(5))
    assert [(sentence.text, sentence.citation) for sentence in found.sentences] == [(fact_of(5), 1)]
    assert island().text[slice(*found.citations[0].span)] == found.citations[0].quote
    assert found.judged == "consistency 1.00, judged by j"
    assert EVIL in found.notes[0]
    assert found.notes[0].startswith("left out, not found in the document")
    saved = client.get(f"/runs/{made}/download/md").text
    assert saved.startswith(f"{name_question(5)}\n\n{fact_of(5)} [1]\n\n[1] ")
    at_rest(client, silent.run)
    (silent, *_) = AnswerList.model_validate(client.get(f"/api/runs/{run}/answers").json()).answers
    assert (silent.answered, silent.answer, silent.citations, silent.judged) == (False, NOT_SAID, (), "")

    follow_up = client.post(f"/api/runs/{run}/ask", json={"question": name_question(7), "follow": made}).json()["run"]
    at_rest(client, follow_up)
    (latest, *_) = AnswerList.model_validate(client.get(f"/api/runs/{run}/answers").json()).answers
    assert (latest.run, latest.follows, found.follows) == (follow_up, True, False)

    page = client.get(f"/runs/{made}")
    assert page.status_code == 200
    with at.stranger() as stranger:
        assert stranger.post(f"/api/runs/{run}/ask", json={"question": name_question(5)}).status_code == 401


@pytest.mark.nightly
@pytest.mark.parametrize(("width", "number"), [(1280, 7), (390, 8)])
def test_box_of_a_run_answers_with_places(visit: Visit, run: str, width: int, number: int) -> None:
    page = visit(f"/runs/{run}", width)
    page.wait_for_selector("html[data-asked=yes]", state="attached")
    if width == 390:
        page.click("[data-show=ask]")
    page.fill("[name=question]", name_question(number))
    page.press("[name=question]", "Enter")
    latest = "[data-answers] > li:last-child"
    page.wait_for_selector(f"{latest} .prose:has-text('is called Tom{number}')")
    page.wait_for_selector("[data-question] button:enabled")
    assert page.input_value("[name=question]") == ""
    for text in (EVIL, "consistency 1.00, judged by j", "left out, not found in the document"):
        assert text in page.inner_text(latest)
    assert page.locator(f"{latest} img").count() == 0
    page.click(f"{latest} .sources a.jump")
    assert page.evaluate("[...CSS.highlights.get('here')][0].toString()").startswith(fact_of(number)[:-1])
    page.evaluate("location.hash = ''")
    assert serious(page) == []
    assert page.evaluate(FITS)
