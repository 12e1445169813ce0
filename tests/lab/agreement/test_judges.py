"""HAMLET's tables 2 and 3 through the command: several validators and judges before one gold that belongs to none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.domain import record_json
from redraft.errors import UsageError
from redraft.lab.agreement.sheet_reports import runs_of_experiment
from redraft.lab.experiments.chunk_size import MarkedChunk
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import LocalCommand
from tests.judges import PerfectModel, ScriptedReply, Sheet, island, keepers_in, read_sheet, summary_of
from tests.lab.experiments.grids import refined
from tests.lab.experiments.made import item
from tests.lab.experiments.world import answer as model_answer
from tests.lab.sheets import fill, tables


class Strict(PerfectModel):
    """Finds keepers 5 and 9 subjective, and keepers 2 and 9 insignificant."""

    def _by(self, sheet: Sheet, *failing: int) -> ScriptedReply:
        return {
            "facts": [
                {"id": n, "reason": "So.", "verdict": "fail" if number in failing else "pass"}
                for n, item in sheet.items("facts").items()
                for number in keepers_in(item["text"])
            ]
        }

    def facts_objective(self, sheet: Sheet) -> ScriptedReply:
        return self._by(sheet, 5, 9)

    def facts_significant(self, sheet: Sheet) -> ScriptedReply:
        return self._by(sheet, 2, 9)


class Blind(PerfectModel):
    """Finds no fact in any summary, and whatever it is asked to verify supported."""

    def align_facts(self, sheet: Sheet) -> ScriptedReply:
        return {"facts": [{"id": n, "stated": "no", "sentences": []} for n in sheet.items("facts")]}


def test_runs_are_read_from_an_experiments_items(tmp_path: Path) -> None:
    def runs(what: str, *items: object, every: bool = False) -> list[str]:
        (tmp_path / "items.json").write_text(json.dumps([record_json(item) for item in items]), "utf-8")
        return runs_of_experiment(str(tmp_path), what, every=every)

    items = [
        replace(
            item("m"),
            document=document,
            runs={"drafting": f"draft{n}", "judging": f"first{n}", "judging by b": f"other{n}"},
        )
        for n, document in enumerate(("d", "d", "e"))
    ]
    assert runs("verification", *items) == ["first0", "first1", "first2"]
    assert runs("facts", *items) == ["first0", "first2"]
    assert runs("facts", *items, every=True) == ["first0", "other0", "first2", "other2"]
    repeated = [
        refined(name, {"coverage": 0.1}, {"coverage": 0.9}, runs={"refining": run})
        for name, run in (("d", "r1"), ("d", "r2"))
    ]
    assert (runs("answers", *repeated), runs("questions", *repeated)) == (["r1", "r2"], ["r1"])
    for other_items in ([], [MarkedChunk("d", "D", 1024, 0, 900, "m")], [refined("d")]):
        with pytest.raises(UsageError, match="no run of this experiment was judged"):
            runs("facts", *other_items)


JUDGES = {"strict": Strict(), "blind": Blind()}


def serve(request: ChatRequest) -> ScriptedReply:
    return JUDGES.get(request.model, PerfectModel())(read_sheet(request))


@pytest.fixture
def command(tmp_path: Path) -> Iterator[LocalCommand]:
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "poor.md").write_text(summary_of(1, 3, 4, wrong={2: "Bob"}), "utf-8")
    with ChatServer(serve) as server:
        yield LocalCommand(tmp_path, server.base_url, COLUMNS="100")


def grown(command: LocalCommand, validator: str) -> str:
    grow = ("keyfacts", "book.md", "-m", "openai:fair", "--set", "perspective=analytical", "--json")
    done = command.run(*grow, "--set", f"validator={validator}")
    assert done.code == 0, done.err
    return str(re.findall(r"run (\w+) ", done.err)[-1])


@pytest.mark.nightly
def test_table_2_compares_two_validators(command: LocalCommand, tmp_path: Path) -> None:
    strict, fair = grown(command, "openai:strict"), grown(command, "openai:fair")
    done = command.run("agree", "sheet", strict, "--what", "facts", "-o", "sheet.csv")
    assert done.code == 0, done.err
    # 1 [2 [3] 4] 5 [6 [7] 8] 9 [10 [11] 12]: 3, 6 to 8 and 10 to 12 are below a pruned fact.
    rows = fill(
        tmp_path / "sheet.csv", lambda row: row["dimension"] != "significance" or 2 not in keepers_in(row["fact"])
    )
    assert len(rows) == 3 * 5
    assert {number for row in rows for number in keepers_in(row["fact"])} == {1, 2, 4, 5, 9}
    assert {row["asked"].split("?")[0] for row in rows if row["dimension"] == "objectivity"} == {
        "Is the fact free of opinions, guesses, and words that judge"
    }
    read = command.run("agree", "read", "sheet.csv", "--run", fair, "--json")
    actual = tables(read)
    keys = [(row["validator"].partition("@")[0], row["judgment"], row["dimension"]) for row in actual["validity"]]
    told_of = dict(zip(keys, actual["validity"], strict=True))
    dimensions = ("faithfulness", "objectivity", "significance")
    assert [told_of["openai:strict", "fail", dimension]["right"] for dimension in dimensions] == [None, 0, 1 / 2]
    failing = told_of["openai:strict", "fail", "mean"]
    assert (failing["rows"], failing["right"]) == (4, 1 / 4)
    assert told_of["openai:strict", "pass", "mean"]["right"] == 1
    assert told_of["openai:fair", "pass", "significance"]["right"] == 4 / 5
    assert [(row["group"], row["both yes"], row["second only"]) for row in actual["judges"]] == [
        ("faithfulness", 5, 0),
        ("objectivity", 3, 2),
        ("significance", 3, 2),
        ("all", 11, 4),
    ]
    side = command.run("agree", "judges", strict, fair, "--what", "facts", "--json")
    assert tables(side)["judges"] == actual["judges"]
    assert len(side.json["items"]) == 4
    assert command.run("agree", "judges", strict, "--what", "facts").code == 2


@pytest.mark.nightly
def test_table_3_compares_judges_on_one_gold(command: LocalCommand, tmp_path: Path) -> None:
    metrics = ("--metric", "keyfact_recall", "--metric", "faithfulness")
    evaluation = ("evaluate", "book.md", "poor.md", *metrics, "-m", "openai:fair", "--json")
    pack = json.loads(command.run("keyfacts", "book.md", "-m", "openai:fair", "--json").out)["id"]
    first = json.loads(command.run(*evaluation).out)
    blind_run = json.loads(command.run(*evaluation, "--judge", "openai:blind", "--set", f"keyfacts={pack}").out)["run"]
    command.run("agree", "sheet", first["run"], "--what", "alignment", "-o", "sheet.csv")
    fill(tmp_path / "sheet.csv", lambda row: bool({1, 3, 4} & set(keepers_in(row["fact"]))))
    read = command.run("agree", "read", "sheet.csv", "--run", blind_run, "--json")
    actual = tables(read)
    assert [(row["judge"], row["rows"], row["balanced accuracy"]) for row in actual["verdicts"]] == [
        ("openai:fair", actual["verdicts"][0]["rows"], 1),
        ("openai:blind", actual["verdicts"][0]["rows"], 1 / 2),
    ]
    assert "rows for ±3%" in actual["sample"][0]
    # A sheet of a run in another database is gold for the runs of this one.
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(sheet.read_text("utf-8").replace(first["run"], "ffffffff"), "utf-8")
    alone = command.run("agree", "read", "sheet.csv", "--run", blind_run, "--json")
    assert [row["judge"] for row in tables(alone)["verdicts"]] == ["openai:blind"]


@pytest.mark.nightly
def test_sheets_show_the_chunk_that_was_judged(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(island(90).text, "utf-8")
    with ChatServer(model_answer) as server:
        command = LocalCommand(tmp_path, server.base_url, COLUMNS="100")
        judges = ("-m", "openai:half", "--judge", "openai:judge", "--judge", "openai:two", "--full-text")
        sizes = ("--queries", "2", "--words", "450", "--context-tokens", "4000", "--strategy", "direct")
        done = command.run("experiment", "hamlet", "book.md", *judges, *sizes, "-o", "results")
        assert done.code == 0, done.err
        sheet = command.run("agree", "sheet", "--experiment", "results", "--what", "verification", "-o", "sheet.csv")
        assert sheet.code == 0, sheet.err
        rows = fill(tmp_path / "sheet.csv", lambda row: "Bob" not in row["sentence"])
        passages = ""
        for row in rows:
            assert row["passages"] != passages, "a chunk is written once"
            passages = passages if row["passages"] == "(as above)" else row["passages"]
            assert keepers_in(row["sentence"]).keys() <= keepers_in(passages).keys()
            assert 20 < len(keepers_in(passages)) < 90, "the chunk, not the book and not a passage"
        read = command.run("agree", "read", "sheet.csv", "--experiment", "results", "--json")
        assert [(row["judge"], row["rows"], row["balanced accuracy"]) for row in tables(read)["verdicts"]] == [
            (judge, len(rows), 1)
            for judge in ("openai:judge", "openai:two", "openai:judge, full text", "openai:two, full text")
        ]
        for what in ("facts", "queries", "alignment"):
            repeated = command.run("agree", "sheet", "--experiment", "results", "--what", what)
            assert repeated.code == 0, repeated.err
        few = command.run("agree", "sheet", "--experiment", "results", "--what", "alignment", "--margin", "0.2")
        assert "(95%)" in few.err
