"""New runs and batches from the browser: several documents, chosen chapters, unknown prices, and errors in the words
of the form."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest

from redraft import Limits
from redraft.settings import ModelSettings
from redraft.store.store import Store
from tests.browser import serious
from tests.chatserver import ChatRequest, ChatServer
from tests.studio.served import FITS, Served, Visit, at_rest, begin, book, kept_from, served, until
from tests.support import SAMPLE

PLAIN = "Written without a legal term"


def report(name: str) -> tuple[str, tuple[str, bytes, str]]:
    text = f"# Report {name}\n\nThe {name} keeper wrote of the lamp. " + "The lamp burned all night. " * 30
    return "file", (f"{name}.md", text.encode(), "text/markdown")


async def answer(request: ChatRequest) -> Any:
    if PLAIN in str(request.body):
        return json.dumps({"reason": "No legal terms.", "level": 4, "passages": []})
    return "The keeper wrote of the lamp, which burned all night."


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch, ChatServer(answer) as chat:
        patch.setenv("OPENAI_API_KEY", "sk-test")
        known = ModelSettings(model="openai:unheard-of", base_url=chat.base_url, context_tokens=4000)
        with served(tmp_path_factory.mktemp("starting"), models={"strange": known}) as studio:
            yield studio


def ended(client: httpx.Client, name: str) -> dict[str, Any]:
    until(lambda: client.get(f"/api/batches/{name}").json()["status"] == "done")
    shown: dict[str, Any] = client.get(f"/api/batches/{name}").json()
    return shown


def test_several_files_are_one_planned_batch(client: httpx.Client) -> None:
    kind, (_, *content) = report("first")
    files = [report("first"), report("second"), ("file", ("x.png", b"\x89PNG", "image/png"))]
    files.append((kind, ("copy.md", *content)))
    page = client.post("/runs/new", data={"words": "40", "name": "two/reports"}, files=files).text
    assert "Plan for 2 documents" in page
    assert "Left out: x.png: .png files cannot be read" in page
    assert "Left out: copy.md has the same text as first.md" in page
    assert "Start the batch" in page
    started = client.post("/runs/start", data={"kept": kept_from(page)})
    assert started.headers["location"] == "/batches/two-reports"
    done = ended(client, "two-reports")
    assert (done["items"]["done"], done["words"]) == (2, 40)
    names = [row["name"] for row in client.get("/api/batches/two-reports/items").json()["rows"]]
    assert names == ["first.md", "second.md"]
    assert ">two-reports<" in client.get("/batches").text
    text = client.get("/batches/two-reports").text
    assert "2 of 2 documents done; 2 files were left out" in text
    assert "Left out: <bdi>x.png: .png files cannot be read" in text
    assert "x.png" in done["left_out"][0]
    assert done["left_out"][1:] == ["copy.md has the same text as first.md"]
    unnamed = client.post("/api/batches", files=files[:2], data={"words": "45"}).json()["batch"]
    assert '<h1 dir="auto">first.md, second.md</h1>' in client.get(f"/batches/{unnamed}").text
    reply = client.post("/api/batches", files=files[:2], data={"words": "40", "name": "two/reports"})
    assert (reply.status_code, reply.json()["left_out"]) == (201, []), "the same settings, without the broken file"


def test_unnamed_batch_is_called_by_its_files(client: httpx.Client) -> None:
    texts = {"alpha": "The lamp burned all night. " * 30, "beta": "The bell rang. " * 40, "./alpha": "It rained. " * 50}
    files = [("file", (f"{name}.txt", text.encode(), "text/plain")) for name, text in texts.items()]
    batch = client.post("/api/batches", files=files, data={"words": "40"}).json()["batch"]
    assert ended(client, batch)["title"] == "alpha.txt, beta.txt, alpha.txt"
    rows = client.get(f"/api/batches/{batch}/items").json()["rows"]
    assert [row["name"] for row in rows] == ["alpha.txt", "beta.txt", "alpha.txt"]
    with ZipFile(io.BytesIO(client.get(f"/api/batches/{batch}/download/txt").content)) as archive:
        assert archive.namelist() == ["alpha.txt", "beta.txt", "alpha-3.txt"]
    assert ">beta.txt</bdi> · run " in client.get(f"/batches/{batch}").text
    named = f'href="/batches/{batch}"><bdi>alpha.txt, beta.txt, alpha.txt</bdi></a> <span class="line">{batch} · '
    assert named in client.get("/batches").text


def test_programs_start_batches_of_stored_documents(client: httpx.Client) -> None:
    for name in ("third", "fourth"):
        client.post("/api/runs", files=[report(name)], data={"words": "40"})
    keys = [document["id"] for document in client.get("/api/offer").json()["documents"][:2]]
    plan = client.post("/api/batches", json={"documents": keys, "dry_run": True}).json()
    assert (plan["documents"], plan["cost_usd"]) == (2, 0)
    reply = client.post("/api/batches", json={"documents": keys, "name": "stored"})
    assert reply.status_code == 201
    assert ended(client, reply.json()["batch"])["items"]["done"] == 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"kind": "evaluate", "summary": "Short."}, "Your own summary belongs to one document"),
        ({"kind": "refine", "review": "true"}, "several documents"),
        ({"chapters": "99"}, "hapters 99"),
    ],
)
def test_single_document_setting_is_refused_for_several(client: httpx.Client, asked: dict[str, str], said: str) -> None:
    files = [("file", (f"{one}.md", f"{one}\n\n{SAMPLE.read_text('utf-8')}".encode(), "text/markdown")) for one in "ab"]
    reply = client.post("/runs/new", data=asked, files=files)
    assert reply.status_code == 422
    assert said in reply.text
    assert "Your documents are kept" in reply.text


def test_only_chosen_chapters_are_read(client: httpx.Client) -> None:
    chapters = client.post("/api/chapters", json={"text": SAMPLE.read_text("utf-8")}).json()["chapters"]
    assert [one["number"] for one in chapters] == list(range(1, len(chapters) + 1))
    source = client.post("/api/runs", json={"text": SAMPLE.read_text("utf-8"), "dry_run": True}).json()["source"]
    part = client.post("/api/runs", json={"text": SAMPLE.read_text("utf-8"), "chapters": "2", "dry_run": True}).json()
    assert part["source"]["words"] < source["words"] / 2
    assert abs(part["source"]["words"] - chapters[1]["words"]) < 20
    assert client.post("/api/chapters", json={"text": "One short text."}).json() == {"chapters": []}


def test_unknown_price_is_explained_first(client: httpx.Client, at: Served, tmp_path: Path) -> None:
    body = {"text": book().text, "title": "The Salt Ledger", "model": "strange"}
    before = client.get("/api/runs").json()["total"]
    page = client.post("/runs/new", data=body).text
    assert client.get("/api/runs").json()["total"] == before
    assert "The price of unheard-of (on this machine, port " in page
    assert "Estimated time" not in page
    assert "The time is unknown until each model of the run has answered at least once." in page
    assert "price = { prompt = 0.25, completion = 2.0 }" in page
    assert "Start the run" in page
    with served(tmp_path, models=at.told.models, limits=Limits(max_cost=1.5)) as limited, limited.client() as other:
        refused = other.post("/runs/new", data=body)
        assert refused.status_code == 422
        assert "so the limit of $1.50 cannot be kept" in refused.text
        texts = {"documents": [], "models": "strange", "kind": "grid"}
        upload = [("file", ("ledger.md", book().text.encode(), "text/markdown"))]
        experiment = other.post("/experiments/new", data=texts, files=upload)
        assert "so the limit of $1.50 cannot be kept" in experiment.text


def test_cost_limit_is_planned_kept_and_repeated(client: httpx.Client, tmp_path: Path) -> None:
    price = {"prompt": 1000, "completion": 1000}
    known = ModelSettings(model="openai:dear", base_url="http://127.0.0.1:1/v1", context_tokens=4000, price=price)
    with served(tmp_path, models={"dear": known}, limits=Limits(max_cost=1.5)) as limited, limited.client() as other:
        body = {"text": book().text, "title": "The Salt Ledger", "model": "dear", "max_cost": "0.25"}
        page = other.post("/runs/new", data=body).text
        assert "The run stops before it costs more than $0.25." in page
        assert "The estimate is more than $0.25" in page
        assert 'value="0.25"' in other.get(f"/runs/new?kept={kept_from(page)}").text
        files = [report("dear"), report("costly")]
        page = other.post("/runs/new", data={"model": "dear", "max_cost": "9"}, files=files).text
        assert "The batch stops before it costs more than $1.50." in page, "never above the limit of the studio"
        run = begin(other, max_cost=0.75)
        at_rest(other, run)
        with Store(limited.told.database) as store:
            assert store.runs.get(run).limits.max_cost == 0.75
        assert 'value="0.75"' in other.get(f"/runs/new?from={run}").text
        page = other.post(f"/runs/{run}/refine", data={"max_cost": "0.5", "act": "plan"})
        assert "The run stops before it costs more than $0.50." in page.text
        forked = other.post(f"/api/runs/{run}/fork", json={"max_cost": 0.5}).json()["run"]
        at_rest(other, forked)
        batch = other.post("/api/batches", data={"max_cost": "0.5"}, files=files).json()
        assert batch["max_cost"] == 0.5
        with Store(limited.told.database) as store:
            assert store.runs.get(forked).limits.max_cost == 0.5
        refused = other.post("/runs/new", data={**body, "max_cost": "-1"}).text
        assert "Stop before it costs more than: must be" in refused


@pytest.mark.slow
def test_requirements_in_own_words_are_judged(client: httpx.Client) -> None:
    upload = [("file", ("ledger.md", book().text.encode(), "text/markdown"))]
    body = {"kind": "evaluate", "judge": "strange", "words": "40", "rubrics": f"plain_tone: {PLAIN}\n"}
    for wrong, said in (
        ({"rubrics": "plain_tone"}, "Your own requirements: &#39;plain_tone&#39; has no text"),
        ({"kind": "summarize"}, "Rubrics does not apply"),
        ({"judge": ""}, "which the built-in model cannot answer"),
    ):
        assert said in client.post("/runs/new", data={**body, **wrong}, files=upload).text
    page = client.post("/runs/new", data=body, files=upload).text
    assert PLAIN in page
    run = client.post("/runs/start", data={"kept": kept_from(page)}).headers["location"]
    assert at_rest(client, run.rpartition("/")[2])["scores"] == {"plain_tone": 0.75}
    text = client.get(f"/runs/new?from={run.rpartition('/')[2]}").text
    assert f">plain_tone: {PLAIN}</textarea>" in text
    refined = client.post("/runs/new", data={**body, "kind": "refine", "rubric_goal": "0.9"}, files=upload).text
    assert f"{PLAIN} (goal: 0.9)" in refined
    levels = {"plain_tone": {"requirement": PLAIN, "levels": ["no", "partly", "yes"]}}
    made = begin(client, kind="evaluate", judge="strange", rubrics=levels)
    assert "&#34;partly&#34;" in client.get(f"/runs/new?from={made}").text, "levels are kept"


@pytest.mark.slow
def test_own_summary_is_not_asked_for_words(visit: Visit) -> None:
    page, fields = visit("/runs/new"), ("model", "strategy", "words", "chunking", "query", "judge")

    def offered() -> set[str]:
        return {name for name in fields if not page.is_disabled(f"[name={name}]")}

    page.set_input_files("[data-file]", str(SAMPLE))
    page.check("[data-kind][value=evaluate]")
    assert offered() == {*fields}
    page.click("text=Use your own summary instead of a draft")
    page.type("[name=summary]", "The salt was counted.")
    page.wait_for_selector("text=Your own summary is judged and nothing is drafted")
    assert offered() == {"query", "judge"}
    assert page.inner_text("[name=judge] option >> nth=0") == "extractive, which is built in"
    page.check("[data-kind][value=refine]")
    assert offered() == {"model", "words", "query", "judge"}
    page.fill("[name=summary]", "")
    assert offered() == {*fields}
    assert page.inner_text("[name=judge] option >> nth=0") == "the model that writes"
    page.check("[data-kind][value=evaluate]")
    page.set_input_files("[name=summary_file]", [{"name": "a.md", "mimeType": "", "buffer": b"The salt was counted."}])
    assert offered() == {"query", "judge"}
    assert page.is_disabled("[name=summary]"), "the file replaces the text"
    page.click("text=Show the plan")
    page.wait_for_selector("dd:has-text('4 words: The salt was counted.')")
    assert "Model" not in page.locator("dt").all_inner_texts()


@pytest.mark.nightly
def test_batch_and_chapters_in_the_form(visit: Visit) -> None:
    page = visit("/runs/new", 390)
    assert page.is_hidden("[name=name]")
    page.set_input_files("[data-file]", str(SAMPLE))
    page.click("summary:has-text('Read only some chapters')")
    page.wait_for_selector("[data-chapter]")
    for number in ("1", "2", "4"):
        page.check(f"[data-chapter][value='{number}']")
    page.wait_for_selector("[data-chapters-count]:text-is('3 of 13 are read: 1-2,4')")
    assert page.input_value("[name=chapters]") == "1-2,4"
    page.fill("[name=chapters]", "2")
    assert not page.is_checked("[data-chapter][value='1']")
    page.click("text=Show the plan")
    page.wait_for_selector("dt:has-text('Chapters')")
    page.click("text=Change settings")
    page.wait_for_selector("[data-chapter][value='2']:checked")
    files = [{"name": one[0], "mimeType": one[2], "buffer": one[1]} for _, one in map(report, ("a", "b"))]
    page.set_input_files("[data-file]", files=files)
    page.fill("[name=chapters]", "")
    page.fill("[name=name]", "both")
    page.click("text=Show the plan")
    page.wait_for_selector("h1:has-text('Plan for 2 documents')")
    assert page.evaluate(FITS)
    assert serious(page) == []
    page.click("text=Start the batch")
    page.wait_for_url("**/batches/both")
    page.wait_for_selector("text=2 of 2 documents done", timeout=60_000)
