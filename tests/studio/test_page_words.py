"""Pages speak of what pages have: no options, no commands and no Python, whoever made the run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest

from redraft.report.dossier.comparison.contents import ComparedContestant
from redraft.report.history.summaries import shown_names
from redraft.settings import DraftConfig, JudgeConfig
from redraft.studio.endpoints import template
from redraft.studio.feeds import Message, sent
from redraft.studio.form import error_on_page, groups, in_api, in_page_words, on_page, with_names
from tests.studio.served import Served, at_rest, begin
from tests.support import chapter


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("resume the run with a higher --max-cost", "resume with a higher limit"),
        ("that may exceed --max-cost 0.01", "that may exceed the limit of $0.01"),
        ("limits=Limits(max_calls=3) is used up", "“Limit of calls” 3 is used up"),
        ("use --chunk-tokens 1,024 or more", "use “Chunk tokens” 1,024 or more"),
        ("name one (--judge openai:MODEL, --judge nli:MODEL)", "name one (“Judge” in “New run” or “Refine”)"),
        ("name one (judges=['openai:MODEL'], judges=['nli:MODEL'])", "name one (“Judge” in “New run” or “Refine”)"),
        ("(set --context-tokens N, or context_tokens in its own table [models.NAME])", "(set “Window, in tokens”)"),
        ("a margin of 15% (set TIKTOKEN_CACHE_DIR to a folder that holds it)", "a margin of 15%"),
        (
            "free some space, then `redraft resume` the run; it is safe",
            "free some space, then resume the run; it is safe",
        ),
        ("`await session.resume('3fa2c1d0')`", "resume the run"),
        ("`redraft runs --kind ask` lists them", "the page “Runs” lists them"),
        ("Repeat the command to try it again", "Resume it to try it again"),
        ("name another database with --db", "name another database with --db"),
        ("goals.coverage: must be at most 1", "Goals (coverage): must be at most 1"),
        ("judges.0: must be text", "Judge (number 1): must be text"),
        ("word_limits.1: must be a whole number", "Word limits (number 2): must be a whole number"),
        ("chapters.txt: it is empty", "chapters.txt: it is empty"),
        ("an en--dash, x=3 and redraft itself stay", "an en--dash, x=3 and redraft itself stay"),
        ("use `redraft fork 3fa2c1d0` with --round 2", "use “Fork” on its page, from round 2"),
        ("GET /api/batches lists them", "/batches lists them"),
        ("name a judge that can, such as --judge openai:gpt-5-mini", "name a judge that can (“Judge”)"),
        ("GET /api/batches/mine shows its status", "reload its page"),
    ],
)
def test_settings_and_next_steps_are_worded_as_pages_have_them(said: str, shown: str) -> None:
    assert on_page(said) == shown


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("resume the run with a higher --max-cost", "POST /api/batches/b/resume with a higher `max_cost`"),
        ("resume the run with a higher `Limits.max_calls`", "POST /api/batches/b/resume with a higher `max_calls`"),
        ("limits=Limits(max_calls=3) is used up", "`max_calls` 3 is used up"),
        ("free some space, then `redraft resume` the run", "free some space, then POST /api/batches/b/resume"),
        ("Repeat the command to try it again", "POST /api/batches/b/resume to try it again"),
        ("use --chunk-tokens 1,024 or more", "use `chunk_tokens` 1,024 or more"),
        ("`redraft models` lists them", "GET /api/models lists them"),
        ("give a file that contains text", "give a file that contains text"),
    ],
)
def test_errors_of_a_batch_name_fields_and_calls_of_the_api(said: str, told: str) -> None:
    assert in_api(said, "/api/batches/b") == told


def test_a_name_for_people_that_has_another_models_name_in_it_is_not_changed_again() -> None:
    names = {"big": "q (port 8002)", "openai:q": "q (port 8000)", "q": "other (port 8001)", "fixed": "fixed"}
    assert on_page("openai:q, q and big", names) == "q (port 8000), other (port 8001) and q (port 8002)"


def test_a_list_of_models_stays_one() -> None:
    assert with_names({"metrics": ["coverage"], "judges": []}, {}) == {"metrics": ["coverage"], "judges": []}


async def test_events_name_the_page_in_what_they_say() -> None:
    async def events() -> AsyncIterator[Message]:
        yield {"kind": "score", "score": None, "reason": "name one (--judge openai:MODEL, --judge nli:MODEL)"}

    told = [one async for one in sent(asyncio.Event(), events())]
    assert json.loads(told[0].removeprefix("data: "))["reason"] == "name one (“Judge” in “New run” or “Refine”)"


def test_the_built_in_judge_of_a_writer_on_this_machine_keeps_its_name() -> None:
    writer = DraftConfig(model="openai:q", base_url="http://127.0.0.1:8000/v1")
    shown = shown_names(writer, JudgeConfig(judges=("extractive",)))
    name = "q (on this machine, port 8000)"
    assert shown == {"openai:q": name, "openai:q@http://127.0.0.1:8000/v1": name, "extractive": "extractive"}
    assert on_page("openai:q@http://127.0.0.1:8000/v1", shown) == name


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("openai:q, direct: “Use --judge openai:q.”", "q (port 8000), direct: “Use --judge openai:q.”"),
        ("openai:q", "q (port 8000)"),
        ("openai:q2, query What is `words`?", "openai:q2, query What is `words`?"),
    ],
)
def test_a_label_has_the_models_name_for_people_and_the_words_of_summaries_and_questions(
    label: str, shown: str
) -> None:
    own = ComparedContestant(
        letter="A", label=label, runs=(), scores=(), cost_usd=None, tokens=0, seconds=0, words=0, fifths=()
    )
    assert in_page_words(own, {"openai:q": "q (port 8000)"}).label == shown


def test_the_help_of_every_field_names_fields_and_pages() -> None:
    said = [f"{one.help} {one.default}" for group in groups() for one in group.controls]
    assert len(said) > 30
    assert [one for one in said if "--" in one or "`" in one or "redraft " in one] == []


def shell_or_python(page: str) -> list[str]:
    """What a page says in words that are typed elsewhere."""
    text = re.sub(r"<script.*?</script>|<style.*?</style>|<!--|-->", "", page, flags=re.DOTALL)
    return re.findall(r"[^>]{0,30}(?:(?<![\w-])--[a-z][a-z-]+|judges=|Limits\(|<code>redraft |epeat the command)", text)


@pytest.mark.slow
def test_a_reason_without_a_score_stands_once_and_names_the_page(at: Served) -> None:
    with at.client() as client:
        other = "A woman travelled over the water, and a register went missing while a gale blew."
        asked = {
            "kind": "evaluate",
            "summary": other,
            "metrics": ["coverage", "keyfact_recall", "booookscore", "consistency"],
        }
        sent = {one: value for one, value in asked.items() if one != "metrics"}
        plan = client.post("/runs/new", data={**sent, "text": chapter(), "judge": "extractive"}).text
        assert shell_or_python(plan) == []
        runs = [begin(client, **asked), begin(client, **asked | {"summary": f"{other} Nobody saw it."})]
        for run in runs:
            at_rest(client, run)
        page = client.get(f"/runs/{runs[0]}").text
        head = page.partition("verdict-line")[2].partition("</p>")[0]
        assert head.count("name a language model as judge (“Judge” in “New run” or “Refine”)") == 1
        assert shell_or_python(page) == []
        beside = client.get(f"/compare?run={runs[0]}&run={runs[1]}").text
        assert shell_or_python(beside) == []
        assert shell_or_python(client.get(f"/runs/{runs[0]}/download/dossier").text) != []


def test_entries_of_the_menu_that_need_it_explain_themselves(at: Served) -> None:
    with at.client() as client:
        menu = re.findall(r'<a href="/(packs|sheets)"[^>]* title="([^"]+)">', client.get("/models").text)
    assert [(name, said.split()[:4]) for name, said in menu] == [
        ("packs", ["Key", "facts", "and", "questions"]),
        ("sheets", ["Sheets", "on", "which", "people"]),
    ]


@pytest.mark.parametrize(
    ("cost", "most", "shown"),
    [
        (None, None, "unknown"),
        (0, 0, "free"),
        (0.61, 0.61, "about $0.61"),
        (0.61, 4.71, "about $0.61; at most $4.71 if the model reasons at length"),
        (0.002, 0.02, "under $0.01; at most $0.02 if the model reasons at length"),
        (0.002, 0.004, "under $0.01"),
    ],
)
def test_a_plan_says_what_it_costs_and_at_most(cost: float | None, most: float | None, shown: str) -> None:
    said = template("studio/kit.html").module.cost({"cost_usd": cost, "max_cost_usd": most})  # type: ignore[attr-defined]
    assert re.sub("<.*?>", "", said) == shown


@pytest.mark.parametrize("address", ["", "/api/runs/3fa2c1d0"])
def test_what_a_bug_raised_is_not_shown(address: str) -> None:
    raised = {"code": "bug", "message": "AttributeError: 'str' object has no attribute 'usage'", "hint": ""}
    shown = error_on_page(raised, address)
    assert shown is not None
    assert (shown["code"], shown["message"]) == ("bug", "something unexpected happened")
