"""The judge `nli:FOLDER` from its loading to its findings, with a model that is trained here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from redraft import Session
from redraft.errors import UsageError
from redraft.llm import nli
from redraft.llm.nli import HIGH, NO_ANSWER, check_claims, load_entailment, open_entailment
from redraft.settings import JudgeConfig
from tests.cli.local_command import LocalCommand
from tests.nli.tiny import there_are

pytestmark = pytest.mark.slow

BOOK = f"{there_are('goats')}\n\n{there_are('bees', but_no=('pigs',))}\n"
TRUE, FALSE, UNKNOWN = there_are("bees"), there_are(but_no=("goats",)), there_are("ducks")


def test_classes_are_read_in_any_order(tiny: Path, tmp_path: Path) -> None:
    pairs = [(there_are("goats"), claim) for claim in (there_are("goats"), FALSE, UNKNOWN)]
    odds = load_entailment(str(tiny)).odds(pairs)
    assert [odd.index(max(odd)) for odd in odds] == [0, 2, 1]
    assert all(max(odd) >= HIGH and abs(sum(odd) - 1) < 1e-5 for odd in odds)
    # The same weights under another order of names say something else: it is the names that are gone by.
    folder = tmp_path / "other"
    shutil.copytree(tiny, folder)
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "Neutral", "1": "CONTRADICTION", "2": "entailment"}
    (folder / "config.json").write_text(json.dumps(config))
    assert [odd.index(max(odd)) for odd in load_entailment(str(folder)).odds(pairs)] == [2, 1, 0]


@pytest.mark.parametrize("labels", [{"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, {"0": "entailment", "1": "not"}])
def test_model_without_named_classes_is_refused(labels: dict[str, str], tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(tiny, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"id2label": labels}))
    with pytest.raises(UsageError, match=r"classes must be entailment, neutral, contradiction|cannot be loaded"):
        load_entailment(str(folder))


@pytest.fixture(autouse=True)
def sentence_by_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model has learned to read two sentences at most: one a stretch, and two in a pair."""
    monkeypatch.setattr(nli, "_STRETCH", 5)


def test_long_text_is_read_in_windows(tiny: Path) -> None:
    model = load_entailment(str(tiny))
    filler = " ".join([there_are("hens")] * 60)
    (answer,) = check_claims(model, [TRUE], [f"{filler} {there_are('bees')} {filler}"])
    assert answer.verdict == "supported"
    assert model.tokens(answer.quote) <= 10
    assert all(model.tokens(window) <= 20 for window in model.windows(filler, 20))
    assert " ".join(model.windows(filler, 20)) == filler
    cut = model.windows("word " * 50, 10)
    assert len(cut) >= 5
    assert all(model.tokens(window) <= 10 for window in cut)
    assert check_claims(model, [" ".join([TRUE] * 30)], [BOOK]) == [NO_ANSWER], (
        "a claim that leaves no room is not judged"
    )


async def test_sentences_are_judged_by_both_metrics(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(BOOK)
    judging = JudgeConfig(judges=(f"nli:{tiny}",))
    async with Session(tmp_path / "redraft.db", judging=judging) as session:
        summary = f"{TRUE} {FALSE} {UNKNOWN}"
        result = await session.evaluate(tmp_path / "book.md", summary, metrics=["faithfulness", "consistency"])
    faithfulness, consistency = (result.evaluations[name] for name in ("faithfulness", "consistency"))
    sentences = faithfulness.details["sentences"]
    assert isinstance(sentences, list)
    assert [sentence["verdict"] for sentence in sentences] == ["none", "sentence", "out_of_article"]
    assert {finding.sentence: finding.kind for finding in consistency.findings} == {
        FALSE: "inconsistent",
        UNKNOWN: "unsupported",
    }
    assert faithfulness.score == consistency.score == pytest.approx(1 / 3)
    wrong = next(finding for finding in faithfulness.findings if finding.sentence == FALSE)
    assert wrong.evidence is not None
    assert wrong.evidence.text == there_are("goats")
    assert wrong.evidence.span is not None
    assert result.usage.cost_usd == 0


def test_other_metrics_and_roles_are_refused(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(BOOK)
    (tmp_path / "long.md").write_text(" ".join([BOOK] * 40))
    (tmp_path / "summary.md").write_text(TRUE)
    command, judge = LocalCommand(tmp_path), f"nli:{tiny}"
    refused = {
        ("evaluate", "book.md", "summary.md", "--judge", judge): "does not support coverage: it only says whether",
        ("evaluate", "book.md", "summary.md", "--judge", judge, "--metric", "keyfact_recall"): "finds no key facts",
        ("compare", "book.md", "summary.md", "book.md", "--judge", judge): "cannot be used here",
        ("keyfacts", "book.md", "--judge", judge): "cannot be used here",
        ("summarize", "long.md", "-m", judge): "cannot write",
        (
            "evaluate",
            "book.md",
            "summary.md",
            "--judge",
            "extractive",
            "--set",
            f"validator={judge}",
        ): "only be a judge",
        ("evaluate", "book.md", "summary.md", "--judge", "nli:./nowhere", "--metric", "consistency"): "no such folder",
    }
    for words, message in refused.items():
        done = command.run(*words)
        assert (done.code, message in done.err) == (2, True), (words, done.err)


def test_models_command_checks_the_judge(tiny: Path, tmp_path: Path) -> None:
    command = LocalCommand(tmp_path)
    printed = command.run("models", "--check", f"nli:{tiny}")
    assert (printed.code, printed.out.splitlines()[-1]) == (0, "  - it works")
    assert "as a judge: works" in printed.out
    assert "in words" not in printed.out, "it is asked for a verdict, and writes nothing"
    checked = command.run("models", "--check", f"nli:{tiny}", "--json")
    assert (checked.code, checked.json["works"], checked.json["form"]) == (0, True, None)
    assert '"category"' in checked.json["words"]["said"]
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    config = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps(config | {"id2label": {"0": "A", "1": "B", "2": "C"}}))
    refused = command.run("models", "--check", f"nli:{broken}")
    assert refused.code == 1
    assert "id2label" in " ".join(refused.out.split())
    assert refused.out.splitlines()[-1] == "  - it does not answer"


def test_retrained_weights_are_another_judge(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(tiny, folder)
    before = open_entailment(str(folder)).identity
    assert open_entailment(str(folder)).identity == before
    (folder / "config.json").write_text((folder / "config.json").read_text() + "\n")
    assert open_entailment(str(folder)).identity != before
