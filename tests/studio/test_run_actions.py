"""What can be done from a finished run, over HTTP: download, refine, fork, run again, delete, and read its calls."""

from __future__ import annotations

import json
import re
import zipfile
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from redraft.domain import NOT_FOUND
from redraft.errors import RunError
from redraft.settings import Limits, ModelSettings
from redraft.studio.context import WorkManager
from tests.chatserver import ChatServer
from tests.studio.served import Served, at_rest, begin, served, until
from tests.support import chapter

pytestmark = pytest.mark.slow
EVIL = "<script>document.title='pwned'</script>"


@pytest.fixture(scope="module")
def refined(client: httpx.Client) -> str:
    """A run with a goal that is met and one that is missed."""
    run = begin(client, kind="refine", words=60, goals={"coverage": 1.0, "consistency": 0.5}, rounds=1)  # fmt: skip
    assert at_rest(client, run)["status"] == "done"
    return run


def test_the_page_begins_with_the_verdict_and_goes_on_with_the_summary(client: httpx.Client, refined: str) -> None:
    page = client.get(f"/runs/{refined}").text
    scores = client.get(f"/api/runs/{refined}").json()["scores"]
    coverage = int(scores["coverage"] * 100 + 1e-9) / 100
    verdict = page.index(f"overage {coverage:.2f} (goal 1.00 missed)")
    assert "onsistency 1.00 (goal 0.50 met)" in page
    assert page.index("<h1") < verdict < page.index('id="summary"') < page.index('id="scores"')


@pytest.mark.parametrize("form", ["docx", "md", "html", "txt", "dossier", "dossier.md"])
def test_a_finished_run_is_downloaded(client: httpx.Client, refined: str, form: str) -> None:
    reply = client.get(f"/runs/{refined}/download/{form}")
    assert reply.status_code == 200
    name = reply.headers["content-disposition"]
    assert name.startswith('attachment; filename="the-salt-ledger-')
    summary = client.get(f"/api/runs/{refined}/dossier").json()["result"]["summary"]
    if form == "docx":
        assert "word/document.xml" in zipfile.ZipFile(BytesIO(reply.content)).namelist()
    elif form != "dossier":
        assert summary.split(". ")[0].split("'")[0][:30] in reply.text


def test_a_form_that_there_is_not_is_refused(client: httpx.Client, refined: str) -> None:
    reply = client.get(f"/runs/{refined}/download/pdf")
    assert (reply.status_code, "choose one of docx" in reply.text.lower()) == (404, True)


def test_a_run_is_refined_with_a_request_of_ones_own_after_its_cost_is_shown(
    client: httpx.Client, refined: str
) -> None:
    form = {"requests": "Name the auditor.\n\nSay how it ends.", "round": "0", "rounds": "1", "goal.coverage": "0.9"}
    note = re.search('<p class="drift" data-by="extractive">(.*?)</p>', client.get(f"/runs/{refined}/refine").text)
    assert note
    assert note[1] == "The built-in model cannot follow requests in words: choose another model that revises."
    before = client.get("/api/runs").json()["total"]
    planned = client.post(f"/runs/{refined}/refine", data={**form, "act": "plan"})
    assert planned.status_code == 200
    assert "Estimated cost" in planned.text
    assert "The built-in model cannot follow requests in words: your requests will stay open." in planned.text
    assert "Name the auditor.\nSay how it ends.</textarea>" in planned.text
    assert client.get("/api/runs").json()["total"] == before, "nothing has started"
    started = client.post(f"/runs/{refined}/refine", data={**form, "act": "start"})
    run = started.headers["location"].rpartition("/")[2]
    assert at_rest(client, run)["parent"] == refined
    told = client.get(f"/api/runs/{run}/dossier").json()
    assert told["settings"]["refining"]["goals"] == {"coverage": 0.9}
    asked = {one["finding"]["explanation"] for one in told["findings"]}
    assert {"Name the auditor.", "Say how it ends."} <= asked


def test_what_is_wrong_with_a_refinement_is_said_in_the_form(client: httpx.Client, refined: str) -> None:
    for wrong, said in (
        ({"goal.coverage": "7", "requests": "Keep this."}, "Goals (coverage): must be at most 1"),
        ({"requests": "Keep this.\n" * 101}, "Requests: must have at most 100 entries"),
        ({"goal.coverage": "", "words": "77"}, "Nothing to change was given"),
    ):
        reply = client.post(f"/runs/{refined}/refine", data={**wrong, "act": "plan"})
        alert = reply.text.partition('role="alert"')[2].partition("</div>")[0]
        assert (reply.status_code, said in alert) == (422, True), alert
        assert reply.text.count("Keep this.") == str(wrong).count("Keep this.")
    stopped = client.post(f"/runs/{refined}/stop")
    assert (stopped.status_code, f'<a href="/runs/{refined}">Run' in stopped.text) == (409, True)
    assert ('value="77"' in reply.text, 'value="0.8"' in reply.text) == (True, False)


def test_a_draft_is_forked_by_a_program(client: httpx.Client, refined: str) -> None:
    reply = client.post(f"/api/runs/{refined}/fork", json={"round": 0, "rounds": 1})
    assert reply.status_code == 201
    run = reply.json()["run"]
    assert at_rest(client, run)["status"] == "done"
    drafts = [client.get(f"/api/runs/{one}/dossier").json()["rounds"][0]["draft"]["text"] for one in (run, refined)]
    assert drafts[0] == drafts[1]
    assert client.post(f"/api/runs/{refined}/fork", json={"round": 99}).status_code == 409


def test_a_call_has_its_prompt_its_reply_and_what_it_took(client: httpx.Client, refined: str) -> None:
    calls = client.get(f"/api/runs/{refined}/dossier").json()["calls"]
    told = client.get(f"/api/runs/{refined}/calls/{calls[0]['number']}").json()
    assert {name: told[name] for name in ("label", "prompt", "prompt_tokens", "seconds")} == {
        name: calls[0][name] for name in ("label", "prompt", "prompt_tokens", "seconds")
    }
    assert told["prompt_text"]
    text = client.get(f"/api/runs/{refined}/dossier").json()["document"]["text"]
    assert [one["role"] for one in told["messages"]] in (["user"], ["user", "schema"])
    assert text.strip()[:500] in told["messages"][0]["text"]
    assert (told["attempt"], told["attempts"], told["made_by"]) == (1, 1, refined)
    assert told["reply"]
    assert client.get(f"/api/runs/{refined}/calls/99999").status_code == 404


def test_the_form_of_a_new_run_has_the_settings_of_an_earlier_one(client: httpx.Client, refined: str) -> None:
    page = client.get(f"/runs/new?from={refined}").text
    assert 'name="words" min="10" max="1000000" value="60"' in page
    assert 'name="goal.consistency" min="0" max="1" step="any" value="0.5"' in page


@pytest.mark.slow
def test_a_run_that_is_repeated_with_changes_names_the_run_of_before(client: httpx.Client, refined: str) -> None:
    page = client.get(f"/runs/new?from={refined}").text
    assert f'<input type="hidden" name="parent" value="{refined}">' in page
    document = client.get(f"/api/runs/{refined}/dossier").json()["document"]["id"]
    asked = {"parent": refined, "document": document, "words": "50"}
    plan = client.post("/runs/new", data=asked).text
    kept = plan.partition('name="kept" value="')[2].partition('"')[0]
    run = client.post("/runs/start", data={"kept": kept}).headers["location"].rpartition("/")[2]
    assert at_rest(client, run)["parent"] == refined
    listed = client.get("/runs").text
    assert f"{run} · changed from {refined}" in listed
    texts = ({"text": f"{chapter()} It rained."}, {"document": document, "summary": "It rained.", "kind": "evaluate"})
    for other in texts:
        changed = client.post("/api/runs", json=other | {"parent": refined}).json()["run"]
        assert at_rest(client, changed)["parent"] is None, "another document, or a summary that is not of that run"
    assert client.post("/api/runs", json={"document": document, "parent": "ffff"}).status_code == 404


def test_other_summaries_of_the_document_are_offered_for_comparison(client: httpx.Client, refined: str) -> None:
    forked = client.post(f"/api/runs/{refined}/fork", json={"rounds": 1})
    forked = forked.json()["run"]
    other = begin(client, words=30, strategy="direct")
    alike = begin(client, words=31, strategy="direct")
    elsewhere = begin(client, words=30, text=f"{chapter()} Of another document.")
    answered = client.post(f"/api/runs/{refined}/ask", json={"question": "Who keeps the ledger?"}).json()["run"]
    for run in (forked, other, alike, elsewhere, answered):
        at_rest(client, run)
    assert client.get(f"/api/runs/{answered}").json()["words"]
    page = client.get(f"/runs/{refined}").text
    offered = dict(re.findall('<option value="([0-9a-f]{8})">([^<]+)', page))
    assert {forked, other, alike} <= offered.keys()
    assert not {elsewhere, answered} & offered.keys()
    assert re.search(r"words of 31 · 20\d\d-\d\d-\d\d \d\d:\d\d UTC", offered[alike]), offered
    assert 'Another summary of this document <select name="run"><option value="' + alike in page
    page = client.get(f"/runs/{forked}").text
    assert f'Another summary of this document <select name="run"><option value="{refined}' in page, (
        "its origin is first"
    )
    assert "Another summary of this document" not in client.get(f"/runs/{answered}").text


def test_a_run_is_deleted_for_good(client: httpx.Client) -> None:
    # The documents that are its chapters go with it, the document of the other run does not.
    text = f"{chapter()}\n\n## Chapter 2: Again\n\n{chapter().partition('## ')[2]} Deleted."
    first, second = (begin(client, words=100, text=text, by_chapter=whole) for whole in (True, False))
    for run in (first, second):
        at_rest(client, run)
    address = client.post(f"/runs/{first}/delete").headers["location"]
    said = f'role="status" data-notice>Run {first} of “The Salt Ledger” was deleted.</p>'
    assert said in client.get(address).text
    assert "data-notice" not in client.get("/runs?said=made-up").text
    assert client.delete(f"/api/runs/{second}").json()["runs"] == [second]
    assert [client.get(f"/api/runs/{run}").status_code for run in (first, second)] == [404, 404]


def test_a_run_that_waits_says_so(client: httpx.Client) -> None:
    run = begin(client, kind="refine", words=40, goals={"coverage": 1.0}, review=True,
                text=f"{chapter()} It waits.")  # fmt: skip
    assert at_rest(client, run)["status"] == "waiting"
    page = client.get(f"/runs/{run}").text
    assert "Waiting for your review." in page
    assert f'href="/runs/{run}/review">Review</a>' in page
    assert f"/runs/{run}/refine" not in page


def test_who_may_only_read_is_offered_nothing_else(at: Served, refined: str) -> None:
    with served(at.told.database.parent, read_only=True) as reading, reading.client() as client:  # type: ignore[union-attr]
        page = client.get(f"/runs/{refined}").text
        assert f"/runs/{refined}/download/docx" in page
        for path in ("refine", "delete"):
            assert f"/runs/{refined}/{path}" not in page
        assert client.post(f"/runs/{refined}/delete").status_code == 405
        assert client.delete(f"/api/runs/{refined}").status_code == 405


def test_the_refine_form_has_a_judge_and_names_its_own_fields(client: httpx.Client) -> None:
    given = begin(client, kind="evaluate", summary="Hester Vane came to Sarn.")
    at_rest(client, given)
    page = client.get(f"/runs/{given}/refine").text
    assert "as before: extractive" in page
    reply = client.post(f"/runs/{given}/refine", data={"goal.coverage": "0.9", "judge": "extractive", "act": "plan"})
    assert reply.status_code == 200
    assert client.post(f"/api/runs/{given}/fork", json={"judge": "nobody"}).status_code == 422


def test_your_own_summary_is_not_said_to_be_by_a_model(client: httpx.Client) -> None:
    texts = ("Hester Vane came to Sarn.", "The ledger was lost in the storm.")
    runs = [begin(client, kind="evaluate", summary=one) for one in texts]
    for run in runs:
        at_rest(client, run)
    page = client.get(f"/runs/{runs[0]}").text
    assert "· your summary" in page
    assert "· by <bdi>extractive" not in page.partition("</header>")[0]
    assert "kept in the database, not on this page" not in page
    listed = client.get("/runs?kind=evaluate").text
    assert 'data-head="Model">your summary' in listed
    beside = client.get(f"/compare?run={runs[0]}&run={runs[1]}").text
    assert all(f"your summary: “{one}”" in beside for one in texts)
    text = client.get(f"/runs/{runs[0]}/download/html").text
    assert "given to redraft" in text
    assert "by redraft's built-in" not in text


def test_a_request_without_goals_has_none_and_one_that_was_not_met_stays_open(client: httpx.Client) -> None:
    given = begin(client, kind="evaluate", summary="The bell rang at noon.")
    assert at_rest(client, given)["status"] == "done"
    form = {"requests": "Say how it ends.", "goal.coverage": "", "goal.consistency": "", "rounds": "1", "act": "start"}
    reply = client.post(f"/runs/{given}/refine", data=form, follow_redirects=False)
    assert reply.status_code == 303
    run = reply.headers["location"].rpartition("/")[2]
    assert at_rest(client, run)["status"] == "done"
    dossier = client.get(f"/api/runs/{run}/dossier").json()
    assert dossier["settings"]["refining"]["goals"] == {}
    [asked] = [one for one in dossier["findings"] if one["finding"]["metric"] == "review"]
    assert (asked["state"], asked["finding"]["explanation"]) == ("open", "Say how it ends.")
    page = client.get(f"/runs/{run}").text
    assert '<p dir="auto">Request not met: “Say how it ends.” in revision 1: ' in page
    assert "your request was not met</span>." in page.partition('class="verdict-line"')[2].partition("</p>")[0]


def test_a_run_says_which_chapters_it_read(client: httpx.Client) -> None:
    text = (
        "# One\n\nThe bell rang at noon on 3 May.\n\n# Two\n\n"
        + "Nobody heard the bell. " * 30
        + "\n\n# Three\n\nThe end.\n"
    )
    run = begin(client, text=text, chapters="2")
    assert at_rest(client, run)["status"] == "done"
    page = client.get(f"/runs/{run}").text
    assert "words (only chapter 2) · " in page
    assert "Document: reading chapter 2 only." in page
    assert ("% of chapter 2</a>" in page, "% of the document" in page) == (True, False)
    assert '<span class="line">chapter 2, 6' in client.get("/runs/new").text, "the list of documents says so, too"


def test_the_built_in_model_does_not_say_that_the_document_is_silent(client: httpx.Client, refined: str) -> None:
    reply = client.post(f"/api/runs/{refined}/ask", json={"question": "Which volcano erupted near the airport?"})
    at_rest(client, reply.json()["run"])
    told = client.get(f"/api/runs/{refined}/answers").json()["answers"][0]
    assert (told["answered"], told["answer"]) == (False, NOT_FOUND)
    assert "does not understand text" in NOT_FOUND


def test_a_draft_is_refined_to_another_length(client: httpx.Client, refined: str) -> None:
    assert 'name="words" min="10" max="1000000" value="60"' in client.get(f"/runs/{refined}/refine").text
    form = {"words": "30", "round": "0", "rounds": "1", "goal.coverage": "0.9"}
    planned = client.post(f"/runs/{refined}/refine", data={**form, "act": "plan"})
    assert 'name="words" min="10" max="1000000" value="30"' in planned.text
    started = client.post(f"/runs/{refined}/refine", data={**form, "act": "start"})
    run = started.headers["location"].rpartition("/")[2]
    assert at_rest(client, run)["status"] == "done"
    told = client.get(f"/api/runs/{run}/dossier").json()["settings"]
    assert told["drafting"]["words"] == 30


def test_two_forks_of_different_length_are_compared_by_their_scores(client: httpx.Client, refined: str) -> None:
    told, runs = [], []
    for words in (30, 60):
        asked = {"round": 0, "rounds": 1, "words": words, "goals": {"coverage": 0.9}}
        runs.append(client.post(f"/api/runs/{refined}/fork", json=asked).json()["run"])
        assert at_rest(client, runs[-1])["status"] == "done"
        dossier = client.get(f"/api/runs/{runs[-1]}/dossier").json()
        assert dossier["settings"]["drafting"]["words"] == words
        scores = dossier["result"]["scores"].items()
        told.append({metric: f"{score:.2f}" for metric, score in scores if score is not None})
        assert "coverage" in told[-1]
    page = client.get(f"/compare?run={runs[0]}&run={runs[1]}").text
    assert ("Settings and cost</h2>" in page, re.findall(">[Ss]ystems?<", page)) == (True, []), (
        "two runs are no systems"
    )
    rows = dict(re.findall(r'<tr><th scope="row">(\w+)</th>(.*?)</tr>', page))
    cells = re.findall("<td[^>]*>(.*?)</td>", rows["coverage"])
    assert [cell[:4] for cell in cells] == [one["coverage"] for one in told]


def test_the_review_says_what_unticking_a_finding_does_and_where_its_evidence_stands(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    cues = [one for one in chapter().replace("\n", " ").split(". ") if len(one) > 20][:20]
    text = "\n\n".join(f"{at}\n00:{at:02}:00,000 --> 00:{at:02}:05,000\n{cue}." for at, cue in enumerate(cues, 1))
    asked = {"kind": "refine", "words": 20, "goal.coverage": 1.0, "review": True}
    reply = client.post("/api/runs", data=asked, files={"file": ("talk.srt", text.encode())})
    run = str(reply.json()["run"])
    assert at_rest(client, run)["status"] == "waiting"
    page = client.get(f"/runs/{run}/review").text
    assert "Untick a finding to reject it: the reviser does not get it." in page
    assert re.search(rf'<a href="/runs/{run}#c\d+-\d+" target="_blank"><bdi>00:\d\d:00</bdi>, at \d+% of the doc', page)

    # What was written stays in the form if it cannot be taken now.
    async def refused(*_: object) -> str:
        raise RunError("the run is in use", hint="try again later")

    monkeypatch.setattr(WorkManager, "answer", refused)
    reply = client.post(f"/runs/{run}/review", data={"act": "edited", "edited": "My own words.", "add": "Name it."})
    assert (reply.status_code, "The run is in use: try again later" in reply.text) == (422, True)
    assert ">My own words.</textarea>" in reply.text
    assert ">Name it.</textarea>" in reply.text


def test_the_review_of_the_second_round_says_what_became_of_the_requests_of_the_first(client: httpx.Client) -> None:
    goals = {"coverage": 1.0}
    run = begin(client, kind="refine", words=60, goals=goals, review=True, rounds=2)
    assert at_rest(client, run)["status"] == "waiting"
    page = f"/runs/{run}/review"
    first = client.get(page).text
    assert "The built-in model cannot follow requests in words: keep this draft, then refine it and choose" in first
    assert "equest not met" not in first
    client.post(page, data={"act": "go", "add": "Say how the story ends.\nName the auditor."})
    assert at_rest(client, run)["status"] == "waiting"
    text = client.get(page).text
    assert "Revision 1 was rejected: " in text
    for wanted in ("Say how the story ends.", "Name the auditor."):
        assert f"Request not met: “{wanted}” in revision 1: the built-in model cannot follow requests in words" in text


def test_a_run_that_stops_at_its_limit_of_cost_is_resumed_under_a_higher_one(tmp_path: Path) -> None:
    async def reply(seen: object) -> str:
        return "Hester Vane came to the island of Sarn."

    with ChatServer(reply) as chat:
        price = {"prompt": 10, "completion": 10}
        dear = ModelSettings(model="openai:dear", base_url=chat.base_url, context_tokens=4000, price=price)
        limits = Limits(max_cost=5.0, concurrency=1)
        with served(tmp_path, models={"dear": dear}, limits=limits) as at, at.client(follow_redirects=True) as client:
            run = begin(
                client,
                model="dear",
                kind="summarize",
                strategy="hierarchical",
                chunk_tokens=300,
                words=60,
                max_cost=0.05,
            )
            stopped = at_rest(client, run)
            assert (stopped["status"], stopped["error"]["code"]) == ("stopped", "budget")
            told = client.get(f"/api/runs/{run}/result").json()["error"]
            assert told == stopped["error"], "the API speaks neither Python nor of buttons"
            assert "that may exceed `max_cost` 0.05" in told["message"]
            assert told["hint"] == f"POST /api/runs/{run}/resume with a higher `max_cost`"
            assert 0 < stopped["cost_usd"] <= 0.05
            events = client.get(f"/api/runs/{run}/events").text.strip().splitlines()
            assert json.loads(events[-1].removeprefix("data: ")) == {"kind": "stopped", "status": "stopped"}
            page = client.get(f"/runs/{run}").text
            assert "that may exceed the limit of $0.05. Resume with a higher limit." in page
            assert 'name="max_cost" min="0" step="any" value="0.05"' in page
            more = client.post(f"/runs/{run}/resume", data={"max_cost": "9"})
            assert (more.status_code, "spends no more than $5.00" in more.text) == (422, True)
            assert client.post(f"/api/runs/{run}/resume", json={"max_cost": 0}).status_code == 422
            assert client.post(f"/runs/{run}/resume").status_code == 200
            assert at_rest(client, run)["status"] == "stopped", "under the limit that it had"
            client.post(f"/runs/{run}/resume", data={"max_cost": "4"})
            done = at_rest(client, run)
            assert (done["status"], done["max_cost"]) == ("done", 4)
            assert done["calls"] > stopped["calls"] > 0
            assert 'name="max_cost"' not in client.get(f"/runs/{run}").text


@pytest.mark.nightly
def test_so_is_a_batch(tmp_path: Path) -> None:
    async def reply(seen: object) -> str:
        return "Hester Vane came to the island of Sarn."

    with ChatServer(reply) as chat:
        price = {"prompt": 10, "completion": 10}
        dear = ModelSettings(model="openai:dear", base_url=chat.base_url, context_tokens=4000, price=price)
        with served(tmp_path, models={"dear": dear}) as at, at.client(follow_redirects=True) as client:
            asked = {"model": "dear", "max_cost": "0.02", "chunk_tokens": "300"}
            upload = {"file": ("ledger.md", chapter().encode(), "text/markdown")}
            address = f"/batches/{client.post('/api/batches', data=asked, files=upload).json()['batch']}"

            def stands(status: str) -> bool:
                return bool(client.get(f"/api{address}").json()["status"] == status)

            until(lambda: stands("stopped"))
            error = client.get(f"/api{address}").json()["error"]
            assert "that may exceed `max_cost` 0.02" in error["message"]
            assert error["hint"] == f"POST /api{address}/resume with a higher `max_cost`"
            page = client.get(address).text
            assert "Resume with a higher limit" in page
            assert "<code>redraft" not in page
            assert "waiting for your review" not in page.partition('id="documents"')[2].partition("<tbody>")[2]
            assert 'name="max_cost" min="0" step="any" value="0.02"' in page
            assert client.post(f"{address}/resume", data={"max_cost": "4"}).status_code == 200
            until(lambda: stands("done"))
            assert client.get(f"/api{address}").json()["max_cost"] == 4


def test_other_prompts_are_chosen_for_a_refinement(client: httpx.Client, refined: str) -> None:
    page = client.get(f"/runs/{refined}/refine").text
    assert '<option value="">as before: standard</option>' in page
    asked = {"requests": "Shorter.", "prompts": "simple", "act": "start"}
    run = client.post(f"/runs/{refined}/refine", data=asked).headers["location"].rpartition("/")[2]
    at_rest(client, run)
    assert client.get(f"/api/runs/{run}/dossier").json()["settings"]["drafting"]["prompts"] == "simple"
    assert client.post(f"/api/runs/{refined}/fork", json={"prompts": "/etc"}).status_code == 422


@pytest.mark.slow
def test_another_model_revises_a_draft_and_the_judge_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    async def reply(seen: object) -> str:
        return "Hester Vane came to the island of Sarn."

    with ChatServer(reply) as chat:
        other = ModelSettings(model="openai:other", base_url=chat.base_url, context_tokens=4000)
        with served(tmp_path, models={"other": other}) as at, at.client() as client:
            run = begin(client, kind="evaluate", words=40)
            assert at_rest(client, run)["status"] == "done"
            assert '<option value="">as before: extractive</option>' in client.get(f"/runs/{run}/refine").text
            asked = {"model": "other", "goals": {"coverage": 1.0}, "rounds": 1}
            forked = client.post(f"/api/runs/{run}/fork", json=asked)
            assert forked.status_code == 201, forked.text
            at_rest(client, forked.json()["run"])
            told = client.get(f"/api/runs/{forked.json()['run']}/dossier").json()["settings"]
            assert (told["drafting"]["model"], told["drafting"]["context_tokens"]) == ("openai:other", 4000)
            here = f"other (on this machine, port {urlsplit(chat.base_url).port})"
            of_run = f"/runs/{forked.json()['run']}"
            for page in ("/runs", of_run, f"{of_run}/refine"):
                shown = client.get(page).text.partition('id="about"')[0]
                assert here in shown, page
                assert "openai:other" not in shown, page
            form = {"model": "other", "kind": "evaluate", "judge": "other"}
            plan = client.post("/runs/new", data=form, files={"file": ("a.md", chapter().encode())}).text
            assert plan.count(f"<bdi>{here}</bdi>") == 2, plan
            assert "openai:other" not in plan
            assert told["judging"]["judges"] == ["extractive"]
            assert client.post(f"/api/runs/{run}/fork", json={"model": "nobody"}).status_code in (400, 422)
            own = begin(client, model="other", kind="evaluate", words=40)
            at_rest(client, own)
            away = client.post(f"/api/runs/{own}/fork", json=asked | {"model": "extractive"})
            at_rest(client, away.json()["run"])
            judging = client.get(f"/api/runs/{away.json()['run']}/dossier").json()["settings"]["judging"]
            assert judging["judges"] == ["openai:other"]
            assert judging["models"]["openai:other"]["base_url"] == chat.base_url
