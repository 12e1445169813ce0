"""A dossier as somebody sees it who opens the file: in a real browser, from a disk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Span
from redraft.report.dossier.contents import CallDetails, Dossier, read_dossier
from redraft.report.history.lineage import TracedSentence
from redraft.report.pages.html import dossier_page
from redraft.store.store import Store
from tests.browser import serious
from tests.pages.conftest import Exported
from tests.pages.support import PAYLOAD, STRUCTURE, changed, opened

pytestmark = pytest.mark.slow
LIT = """name => [...(CSS.highlights.get(name) ?? [])].map(String)"""
FIRST_SOURCE = "[...CSS.highlights.get('source-1')][0]"


def traced(dossier: Dossier) -> TracedSentence:
    """The last sentence with a source: by then every offset in units is another one than in characters."""
    return [sentence for sentence in dossier.sentences if sentence.places][-1]


def saved(dossier: Dossier, folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text(dossier_page(dossier), "utf-8")
    return path


def test_page_prints_and_fits(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    page.set_viewport_size({"width": 680, "height": 900})  # A4 without its margins
    page.emulate_media(media="print")
    assert page.is_visible("#summary .prose")
    assert page.is_visible("#notes .card")
    assert not page.is_visible("#document")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(
        "[...document.querySelectorAll('.call-list .scroll')].every((a) => a.scrollWidth <= a.clientWidth)"
    )
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, exported.page)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.locator("#summary").is_visible()
    assert not page.locator("#document").is_visible()
    page.click("[data-show=document]")
    assert page.locator("#document").is_visible()
    page.click("[data-show=notes]")
    page.locator(".source a.jump").first.click()
    assert page.locator("#document").is_visible()


def test_source_of_chosen_sentence_is_visible(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    number = traced(exported.dossier).number
    page.click(f"[data-choose='{number}']")
    box = page.evaluate(f"{FIRST_SOURCE}.getBoundingClientRect().toJSON()")
    pane = page.locator("[data-text]").bounding_box()
    assert pane["y"] <= box["top"]
    assert box["bottom"] <= pane["y"] + pane["height"]
    line = page.evaluate(f"{FIRST_SOURCE}.getClientRects()[0].toJSON()")
    page.keyboard.press("Escape")
    assert page.locator(".chosen").count() == 0
    page.mouse.click(line["x"] + line["width"] / 2, line["y"] + line["height"] / 2)
    assert page.locator(f"#s{number}.chosen").count() == 1, "its place leads back to the sentence"
    page.keyboard.press("Escape")
    button = page.locator(f".uses [data-choose='{number}']").first
    assert button.get_attribute("aria-label") == f"used by sentence {number} of the summary"
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator(f"#s{number}.chosen").count() == 1


def test_keys_step_through_sentences(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    for key, chosen in (("j", "#s1"), ("j", "#s2"), ("k", "#s1")):
        page.keyboard.press(key)
        assert page.locator(f"{chosen}.chosen").count() == 1
        assert page.evaluate("location.hash") == chosen
    page.keyboard.press("f")
    assert page.locator(".finding.chosen").count() == 1
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".chosen").count() == 0
    page.wait_for_timeout(300)
    assert page.requests == [f"file://{exported.page}"], "a page loads nothing"
    assert not page.troubles


@pytest.mark.nightly
def test_drafts_are_compared_in_words(page: Any, exported: Exported, tmp_path: Path) -> None:
    opened(page, exported.page)
    dossier = exported.dossier
    first = dossier.rounds[0]
    last = next(turn for turn in dossier.rounds if turn.draft.id == dossier.result.run.draft)
    assert first.draft.text != last.draft.text
    page.select_option("[name=one]", str(first.round.number))
    page.select_option("[name=other]", str(last.round.number))
    parts = page.evaluate(
        "[...document.querySelectorAll('[data-diff-out] *')].map(part => [part.tagName, part.textContent])"
    )
    assert " ".join(words for tag, words in parts if tag != "INS").split() == first.draft.text.split()
    assert " ".join(words for tag, words in parts if tag != "DEL").split() == last.draft.text.split()
    page.select_option("[name=other]", str(first.round.number))
    assert page.locator("[data-diff-out]").text_content() == "The two drafts are the same."
    # The first draft is compared with the last, also where it is the result.
    result = replace(dossier.result, run=replace(dossier.result.run, draft=first.draft.id))
    opened(page, saved(dossier.model_copy(update={"result": result}), tmp_path, "first-draft-won.html"))
    assert page.input_value("[data-diff] [name=one]") == "0"
    assert page.input_value("[data-diff] [name=other]") == str(dossier.rounds[-1].round.number)


def test_key_facts_and_calls_are_filtered(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    assert page.locator("[data-fact=missing]").count() > 0
    page.uncheck("[data-facts=missing]")
    assert page.locator("[data-fact=missing]:not([hidden])").count() == 0
    edits = sum(1 for call in exported.dossier.calls if "edit" in f"{call.label} {call.prompt}")
    page.fill("[data-calls-find]", "edit")
    assert page.locator("[data-calls-rows] tr").count() == edits > 0


def test_scores_lead_to_prompts_and_replies(page: Any, exported: Exported, tmp_path: Path) -> None:
    with Store(exported.database) as store:
        dossier = read_dossier(store, exported.run, texts=True)
    opened(page, saved(dossier, tmp_path, "with.html"))
    assert "key sentences judged" in page.locator(".scorecard").first.inner_text()
    page.locator(".scorecard [data-calls-of]").first.click()
    page.wait_for_selector(".call-texts pre")
    number = int(page.locator(".open-call").first.inner_text())
    call = dossier.calls[number - 1]
    texts = page.locator(".call-texts pre").all_text_contents()
    assert isinstance(call, CallDetails)
    assert texts[0] == call.messages[0].text
    assert json.loads(texts[-1]) == json.loads(call.reply or "")
    assert page.requests == [f"file://{tmp_path}/with.html"]
    assert page.troubles == []


@pytest.mark.nightly
def test_texts_are_never_markup(page: Any, exported: Exported, tmp_path: Path) -> None:
    hostile = changed(exported.dossier, lambda text: f"{text}{PAYLOAD}", STRUCTURE)
    draft = replace(hostile.result.draft, text=PAYLOAD)
    sentence = replace(hostile.sentences[0], span=Span(0, len(PAYLOAD)))
    update = {"result": replace(hostile.result, draft=draft), "sentences": (sentence, *hostile.sentences[1:])}
    path = saved(hostile.model_copy(update=update), tmp_path, "hostile.html")
    opened(page, path, "#s1")
    page.wait_for_timeout(300)
    assert page.evaluate("window.harmed") is None
    assert page.locator("main img").count() == 0
    assert "<img src=x" in page.locator("#s1").text_content()
    assert "<img src=x" in page.locator("#card-s1").text_content()
    assert "<img src=x" in page.locator(".prompt").first.text_content()
    assert "49" not in page.locator("h1").text_content()
    assert page.requests == [f"file://{path}"]


def test_policy_forbids_injected_markup(page: Any, exported: Exported, tmp_path: Path) -> None:
    path = tmp_path / "broken-into.html"
    text = exported.page.read_text("utf-8")
    path.write_text(text.replace("</main>", "<script>window.harmed=1</script><img src='http://127.0.0.1:9/x'></main>"))
    opened(page, path)
    assert page.evaluate("window.harmed") is None
    assert sum("Content Security Policy" in trouble for trouble in page.troubles) == 2


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_page_is_accessible(page: Any, exported: Exported, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    opened(page, exported.page, "#s2")
    page.wait_for_timeout(200)
    assert serious(page) == []
