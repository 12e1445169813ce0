"""A dossier as somebody sees it who opens the file: in a real browser, from a disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.report.dossier.contents import Dossier
from redraft.report.history.lineage import TracedSentence
from redraft.report.pages.dossier import dossier_page
from tests.browser import serious
from tests.pages.conftest import Exported
from tests.pages.support import changed

pytestmark = pytest.mark.slow
PAYLOAD = "</script><script>window.harmed=1</script><img src=x onerror='window.harmed=1'>\"'`--><!-- \u202e{{ 7*7 }}"
# What a program goes by. All else may come from a document, a reply, or a user.
STRUCTURE = frozenset(
    {"state", "name", "node", "made_from", "goes_on_from", "created", "updated", "draft", "level", "by", "method"}
    | {"task"}
)
SHOWN = "(one) => one.selectedOptions[0].text"
LIT = """name => [...(CSS.highlights.get(name) ?? [])].map(String)"""


def opened(page: Any, path: Path, hash_: str = "") -> Any:
    page.goto(f"file://{path}{hash_}")
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def traced(dossier: Dossier) -> TracedSentence:
    """The last sentence with a source: by then every offset in units is another one than in characters."""
    return [one for one in dossier.sentences if one.places][-1]


def test_paper_has_the_summary_and_all_columns_of_the_calls(page: Any, exported: Exported) -> None:
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


@pytest.mark.nightly
def test_choosing_a_sentence_lights_up_its_sources_and_nothing_else(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    text = exported.dossier.document.text
    assert text is not None
    for one in exported.dossier.sentences:
        page.click(f"#s{one.number}")
        places = [origin.span for origin in one.places]
        lit = [words for rank in (1, 2, 3) for words in page.evaluate(LIT, f"source-{rank}")]
        assert lit == [text[place.start : place.end] for place in places]
        assert page.locator(".sentence.chosen").count() == 1
        assert page.locator(f"#card-s{one.number}").get_attribute("class") == "card chosen"
    assert not page.troubles


def test_the_first_source_of_a_chosen_sentence_comes_into_view(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    one = traced(exported.dossier)
    page.click(f"[data-choose='{one.number}']")
    box = page.evaluate("() => [...CSS.highlights.get('source-1')][0].getBoundingClientRect().toJSON()")
    pane = page.locator("[data-text]").bounding_box()
    assert pane["y"] <= box["top"]
    assert box["bottom"] <= pane["y"] + pane["height"]


@pytest.mark.parametrize("top", [700, -200])
def test_the_whole_card_of_a_sentence_that_is_clicked_on_comes_into_view(
    page: Any, exported: Exported, top: int
) -> None:
    opened(page, exported.page)
    number = traced(exported.dossier).number
    page.evaluate("document.body.style.paddingBlock = '900px'")
    page.evaluate("(number) => document.getElementById(`card-s${number}`).style.minHeight = '600px'", number)
    page.evaluate("(top) => scrollBy(0, document.querySelector('.panes').getBoundingClientRect().top - top)", top)
    page.evaluate("(number) => document.querySelector(`.mark[data-choose='${number}']`).click()", number)
    box = page.locator(f"[data-card='{number}']").bounding_box()
    assert (box["y"] >= 0, box["y"] + box["height"] <= 900) == (True, True), box


def test_clicking_on_the_document_chooses_the_sentence_that_comes_from_there(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    one = traced(exported.dossier)
    page.click(f"#s{one.number}")
    box = page.evaluate("() => [...CSS.highlights.get('source-1')][0].getClientRects()[0].toJSON()")
    page.keyboard.press("Escape")
    assert page.locator(".chosen").count() == 0
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator(f"#s{one.number}.chosen").count() == 1


def test_a_button_beside_the_paragraph_leads_to_the_sentence_too(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    one = traced(exported.dossier)
    button = page.locator(f".uses [data-choose='{one.number}']").first
    assert button.get_attribute("aria-label") == f"used by sentence {one.number} of the summary"
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator(f"#s{one.number}.chosen").count() == 1


def test_the_chapter_field_follows_every_jump_and_still_leads_to_the_start_of_the_chapter(
    page: Any, exported: Exported
) -> None:
    opened(page, exported.page)
    document, one = exported.dossier.document, traced(exported.dossier)
    assert document.text is not None
    field = page.locator("select[data-chapters]")
    page.click(f"[data-choose='{one.number}']")
    place = one.places[0].span.start
    around = [section["title"] for section in document.sections if section["start"] <= place][-1]
    assert field.evaluate(SHOWN) == around
    last = document.sections[-1]
    page.fill("[data-find] input", document.text[last["end"] - 60 : last["end"]].strip())
    assert page.inner_text("[data-find-count]") == "1 of 1"
    assert field.evaluate(SHOWN) == last["title"] != around
    top = "document.querySelector('[data-text]').scrollTop"
    within = page.evaluate(top)
    field.select_option(str(last["start"]))
    assert page.evaluate(top) < within, "the chapter in which one reads can be chosen, and leads to its start"
    assert field.evaluate(SHOWN).strip() == last["title"]


@pytest.mark.nightly
def test_addresses_lead_to_a_sentence_a_finding_and_a_place(page: Any, exported: Exported) -> None:
    dossier = exported.dossier
    one = traced(dossier)
    opened(page, exported.page, f"#s{one.number}")
    assert page.locator(f"#s{one.number}.chosen").count() == 1
    finding = next(one for one in dossier.findings if one.finding.place and one.state == "open")
    page.evaluate(f"location.hash = '#f{finding.number}'")
    page.wait_for_selector(f"#f{finding.number}.chosen")
    assert finding.finding.evidence is not None
    assert finding.finding.evidence.span is not None
    assert dossier.document.text is not None
    assert page.evaluate(LIT, "here") == [dossier.document.text[slice(*finding.finding.evidence.span)]]
    start = one.places[0].span.start
    page.goto("about:blank")
    opened(page, exported.page, f"#c{start}")
    offset = page.evaluate(
        """() => { const pane = document.querySelector("[data-text]").getBoundingClientRect();
                   return [pane.left + pane.width / 2, pane.top + pane.height / 3]; }"""
    )
    shown = page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('.stretch')?.textContent ?? ''", offset)
    assert dossier.document.text[start : start + 30] in shown


def test_keys_move_through_sentences_and_sources(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    page.keyboard.press("j")
    assert page.locator("#s1.chosen").count() == 1
    page.keyboard.press("j")
    assert page.locator("#s2.chosen").count() == 1
    assert page.evaluate("location.hash") == "#s2"
    page.keyboard.press("k")
    assert page.locator("#s1.chosen").count() == 1
    page.keyboard.press("f")
    assert page.locator(".finding.chosen").count() == 1
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".chosen").count() == 0


@pytest.mark.nightly
def test_everything_that_can_be_clicked_can_be_reached_with_tab(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    names = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        names.add(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.className"))
    assert {"Skip to the contents", "Reading", "1"} <= names


@pytest.mark.nightly
def test_drafts_are_compared_in_words(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    dossier = exported.dossier
    first, last = dossier.rounds[0], next(turn for turn in dossier.rounds if turn.draft.id == dossier.draft)
    assert first.draft.text != last.draft.text
    page.select_option("[name=one]", str(first.round.number))
    page.select_option("[name=other]", str(last.round.number))
    parts = page.evaluate(
        "[...document.querySelectorAll('[data-diff-out] *')].map(one => [one.tagName, one.textContent])"
    )
    assert " ".join(words for tag, words in parts if tag != "INS").split() == first.draft.text.split()
    assert " ".join(words for tag, words in parts if tag != "DEL").split() == last.draft.text.split()
    page.select_option("[name=other]", str(first.round.number))
    assert page.locator("[data-diff-out]").text_content() == "The two drafts are the same."


def test_key_facts_and_calls_are_filtered(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    assert page.locator("[data-fact=missing]:visible").count() > 0 or page.locator("[data-fact=missing]").count() > 0
    page.uncheck("[data-facts=missing]")
    assert page.locator("[data-fact=missing]:not([hidden])").count() == 0
    asked = sum(1 for call in exported.dossier.calls if "edit" in f"{call.label} {call.prompt}")
    page.fill("[data-calls-find]", "edit")
    assert page.locator("[data-calls-rows] tr").count() == asked > 0


def test_nothing_is_asked_of_any_network(page: Any, exported: Exported) -> None:
    opened(page, exported.page)
    page.wait_for_timeout(300)
    assert page.requests == [f"file://{exported.page}"]
    assert not page.troubles


@pytest.mark.nightly
def test_nothing_that_a_document_or_a_model_says_is_ever_markup(page: Any, exported: Exported, tmp_path: Path) -> None:
    told = exported.dossier.model_dump()
    told["summary"] = PAYLOAD
    told["sentences"] = [{**told["sentences"][0], "start": 0, "end": len(PAYLOAD)}]
    hostile = Dossier.model_validate(changed(told, lambda text: f"{text}{PAYLOAD}", STRUCTURE))
    path = tmp_path / "hostile.html"
    path.write_text(dossier_page(hostile), "utf-8")
    opened(page, path, "#s1")
    page.wait_for_timeout(300)
    assert page.evaluate("window.harmed") is None
    assert page.locator("main img").count() == 0
    assert "<img src=x" in page.locator("#s1").text_content()
    assert "<img src=x" in page.locator("#card-s1").text_content()
    assert "<img src=x" in page.locator(".prompt").first.text_content()
    assert "49" not in page.locator("h1").text_content()
    assert page.requests == [f"file://{path}"]


def test_what_a_page_may_not_do_is_forbidden_by_its_policy(page: Any, exported: Exported, tmp_path: Path) -> None:
    """Where markup did get in, it would find itself shut out."""
    path = tmp_path / "broken-into.html"
    text = exported.page.read_text("utf-8")
    path.write_text(text.replace("</main>", "<script>window.harmed=1</script><img src='http://127.0.0.1:9/x'></main>"))
    opened(page, path)
    assert page.evaluate("window.harmed") is None
    assert sum("Content Security Policy" in trouble for trouble in page.troubles) == 2


def test_two_different_drafts_are_compared_at_first_where_the_first_draft_won(page: Any, exported: Exported) -> None:
    rounds = exported.dossier.rounds
    assert len(rounds) > 1
    path = exported.page.with_name("first-draft-won.html")
    path.write_text(dossier_page(exported.dossier.model_copy(update={"draft": rounds[0].draft.id})), "utf-8")
    opened(page, path)
    assert page.input_value("[data-diff] [name=one]") == "0"
    assert page.input_value("[data-diff] [name=other]") == str(rounds[-1].round.number)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_people_who_see_or_move_otherwise_can_use_it(page: Any, exported: Exported, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    opened(page, exported.page, "#s2")
    page.wait_for_timeout(200)
    assert serious(page) == []


def test_it_fits_a_small_screen(page: Any, exported: Exported) -> None:
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


def test_what_is_left_out_is_not_there(page: Any, exported: Exported, tmp_path: Path) -> None:
    told = exported.dossier
    without = told.model_copy(update={"document": told.document.model_copy(update={"text": None})})
    path = tmp_path / "without.html"
    path.write_text(dossier_page(without), "utf-8")
    opened(page, path, "#s1")
    assert page.locator("[data-text]").count() == 0
    assert page.locator("#s1.chosen").count() == 1
    assert not page.troubles
