"""Sheets filled in on a page of the studio: what comes in goes out with the answers, and nothing is stored."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from redraft.lab.agreement.annotations import AnnotatedSentence, Annotations, ConfusionVerdict, Summaries
from redraft.lab.agreement.coherence_sheets import coherence_rows, coherence_sheet
from tests.browser import serious
from tests.studio.served import Served, served, until

EVIL = "<img src=x onerror=\"document.title='pwned'\">"
TEXT = f"Tom sleeps. Ann eats {EVIL}. =Bob reads."
SUMMARIES = Summaries("s.json", {"a": TEXT})
OTHERS = Summaries("o.json", {"a": "Another summary. " * 40})
ERROR = AnnotatedSentence("Tom sleeps.", ConfusionVerdict(True, ("language",), questions=(f"Who is {EVIL}?",)))
SHEETS = {
    "annotations": coherence_sheet(
        coherence_rows("annotations", [SUMMARIES], [Annotations("a.json", False, {"a": (ERROR,)})]), "annotations", 2
    ),
    "marks": coherence_sheet(coherence_rows("marks", [SUMMARIES], []), "marks", 1),
    "preferences": coherence_sheet(
        coherence_rows("preferences", [SUMMARIES, Summaries("o.json", {"a": "Another summary. " * 40})], []),
        "preferences",
        1,
    ),
    "facts": "id,fact,asked,person 1\r\n3fa2/facts/0123abcd,It rains.,Is it so?,yes\r\n",
}


def opened(client: httpx.Client, text: str, person: str = "1") -> httpx.Response:
    return client.post("/sheets", files={"sheet": ("my sheet.csv", text.encode())}, data={"person": person})


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


@pytest.mark.parametrize("kind", SHEETS)
def test_a_sheet_of_any_kind_is_a_form_and_goes_out_with_the_answers(client: httpx.Client, kind: str) -> None:
    page = opened(client, SHEETS[kind])
    assert page.status_code == 200
    assert EVIL not in page.text
    fields = re.findall(r'name="(\d+\.[^"]+)"', page.text)
    choices = {"annotations": "partly", "preferences": "2", "marks": "=Bob", "facts": "no"}
    answers = dict.fromkeys(fields, choices[kind])
    hidden = {"sheet": SHEETS[kind], "name": "my-sheet.csv", "999.person 1": "no", "x.y": "no", "0.id": "other"}
    filled = client.post("/sheets/filled", data=hidden | answers)
    assert 'filename="my-sheet.csv"' in filled.headers["content-disposition"]
    before, after = rows(SHEETS[kind]), rows(filled.text)
    assert [row.keys() for row in after] == [row.keys() for row in before]
    for old, new in zip(before, after, strict=True):
        given = [name for name in new if new[name] != old[name]]
        assert given == (["span", "question", "types", "second span"] if kind == "marks" else ["person 1"])
        assert {new[name] for name in given} == {"'=Bob" if kind == "marks" else choices[kind]}


def test_an_answered_sheet_is_shown_as_it_was_answered(client: httpx.Client) -> None:
    assert re.search(r'value="yes" checked', opened(client, SHEETS["facts"]).text)
    second = SHEETS["annotations"].replace(",,\r\n", ",agree,disagree\r\n")
    assert re.search(r'name="0.person 2" value="disagree" checked', opened(client, second, "2").text)


def test_what_is_no_sheet_is_refused_with_what_to_do(client: httpx.Client) -> None:
    for text, said in (("a,b\r\n1,2\r\n", "not a sheet for people"), (SHEETS["facts"], "no column &#39;person 7&#39;")):
        refused = opened(client, text, "7")
        assert (refused.status_code >= 400, said in refused.text) == (True, True)
    assert "no sheet was chosen" in client.post("/sheets", data={"person": "1"}).text.lower()


def test_a_passage_is_shown_once_for_all_of_its_rows(client: httpx.Client) -> None:
    passage, line = "It rains in Sarn. " * 40, "3fa2/facts/{},It is {}.,{},Is it so?,\r\n"
    given = "".join(line.format(n, n, text) for n, text in enumerate([passage, passage, "(as above)", "Other. " * 90]))
    page = opened(client, f"id,fact,passage,asked,person 1\r\n{given}").text
    assert page.partition("</textarea>")[2].count(passage.strip()) == 1
    assert page.count('role="region" aria-label="Passage"') == 2


def test_a_large_sheet_is_taken(client: httpx.Client) -> None:
    large = Summaries("s.json", {f"{n}": "One sleeps soundly. " * 40 for n in range(60)})
    page = opened(client, coherence_sheet(coherence_rows("marks", [large], []), "marks", 1))
    assert page.text.count("<details") == 2_400
    fields = dict.fromkeys(re.findall(r'name="(\d+\.[^"]+)"', page.text), "x")
    sheet = coherence_sheet(coherence_rows("marks", [large], []), "marks", 1)
    assert len(rows(client.post("/sheets/filled", data={"sheet": sheet, **fields}).text)) == 2_400


def test_a_studio_for_readers_has_no_sheets(tmp_path: Path) -> None:
    with served(tmp_path) as made, made.client() as client:
        assert "/sheets" in client.get("/runs").text
    with served(tmp_path, read_only=True) as made, made.client() as client:
        assert client.get("/sheets").status_code == 404
        assert "/sheets" not in client.get("/runs").text


@pytest.mark.nightly
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_a_person_marks_selected_words_and_downloads_the_sheet(
    chrome: Any, at: Served, tmp_path: Path, width: int
) -> None:
    page = chrome.new_context(viewport={"width": width, "height": 800}).new_page()
    page.goto(at.entrance)
    (tmp_path / "marks.csv").write_text(SHEETS["marks"], "utf-8")
    page.goto(f"{at.url}/sheets")
    page.set_input_files("input[type=file]", tmp_path / "marks.csv")
    page.click("button.go")
    page.wait_for_selector("[data-sentence]")
    page.wait_for_selector("html[data-ready=yes]", state="attached")
    assert serious(page) == []
    sentence = page.locator("[data-sentence]").nth(1)
    sentence.evaluate("(it) => getSelection().setBaseAndExtent(it.firstChild, 0, it.firstChild, 3)")
    sentence.dispatch_event("pointerup")
    page.locator('[name="1.question"]').fill("Who is Ann?")
    assert "1 of 3 marked" in page.inner_text("[data-done]")
    page.locator("summary").first.click()
    until(lambda: page.input_value('[name="0.span"]') == "Tom sleeps.")
    page.locator("summary").first.click()
    until(lambda: page.input_value('[name="0.span"]') == "")
    with page.expect_download() as waiting:
        page.click("button.go")
    found = rows(Path(waiting.value.path()).read_text("utf-8"))
    assert [(row["span"], row["question"]) for row in found] == [("", ""), ("Ann", "Who is Ann?"), ("", "")]
    assert json.loads(page.evaluate("JSON.stringify(document.title)")) != "pwned"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()
