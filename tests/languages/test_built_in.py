"""The built-in model on texts in six languages: it drafts them all, and judges none of them: its words are English."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig, Session
from redraft.readers.documents import load
from redraft.text.sentences import sentences, worded
from tests.chatserver import ChatServer
from tests.cli.inside import MODEL, Inside
from tests.languages.reader import Reader

HERE = Path(__file__).parent
CODES = {"german": "de", "russian": "ru", "japanese": "ja", "arabic": "ar", "chinese": "zh", "spanish": "es"}

language = pytest.mark.parametrize("language", CODES)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["german", "japanese", "arabic"])
def test_every_step_from_the_file_to_the_dossier(language: str, tmp_path: Path) -> None:
    command = Inside(tmp_path, "http://127.0.0.1:9", COLUMNS="80")
    text = (HERE / f"{language}.md").read_text("utf-8")
    (tmp_path / "text.md").write_text(text, "utf-8")

    read = json.loads(command.run("read", "text.md", "--json").out)
    assert read["language"] == CODES[language]

    drafted = command.run("summarize", "text.md", "-w", "60", "-o", "summary.md")
    assert drafted.code == 0, drafted.err
    summary = (tmp_path / "summary.md").read_text("utf-8")
    own = {" ".join(one.split()) for one in worded(text)}
    assert worded(summary)
    assert set(worded(summary)) <= own, "each of its sentences is one of the document's"

    judged = command.run("evaluate", "text.md", "summary.md", "--json")
    assert judged.code == 3
    assert "judges English only" in judged.err
    found = json.loads(judged.out)
    for name in ("coverage", "consistency"):
        metric = found["metrics"][name]
        assert (metric["outcome"], metric["score"], metric["judged"], metric["findings"]) == ("failed", None, 0, [])

    shown = command.run("show", found["run"], "--cite").out
    cited = shown.partition("\n[1]")[0]
    assert len(re.findall(r"\[\d+\]", cited)) >= len(worded(summary)) - 1
    assert "none unsupported" in command.run("lineage", found["run"]).out

    assert command.run("export", found["run"], "-o", "dossier.html").code == 0
    page = (tmp_path / "dossier.html").read_text("utf-8")
    assert f'data-text lang="{CODES[language]}"' in page
    assert "no metric has a score" in page


@language
async def test_a_goal_is_unsure_and_nothing_is_mended(language: str, tmp_path: Path) -> None:
    document = load(str(HERE / f"{language}.md"))
    refinement = RefineConfig(goals={"coverage": 0.5, "consistency": 0.9}, rounds=2, allow_self_check=True)
    async with Session(tmp_path / "redraft.db", settings=DraftConfig(words=60)) as session:
        result = await session.summarize(document, judging=JudgeConfig(), refinement=refinement)
        assert session.store.documents.outline(document.id).language == CODES[language]
    assert result.run.stop_reason == "unsure"
    assert result.scores == {"coverage": None, "consistency": None}
    assert not [finding for one in result.evaluations.values() for finding in one.findings]


async def test_beside_a_judge_that_reads_the_language_the_built_in_one_is_silent(tmp_path: Path) -> None:
    document = load(str(HERE / "spanish.md"))
    with ChatServer(Reader("¿Cómo sigue «{}»?", reason="Dicen lo mismo.")) as server:
        settings = DraftConfig(model=MODEL, base_url=server.base_url, words=60)
        async with Session(tmp_path / "redraft.db", settings=settings) as session:
            judging = JudgeConfig(judges=("extractive", MODEL), metrics=("faithfulness",))
            result = await session.evaluate(document, worded(document.text)[3], judging=judging)
    assert result.evaluations["faithfulness"].score == 1.0
    assert "judges" not in result.evaluations["faithfulness"].details


async def test_a_summary_in_another_language_than_the_document_is_not_accused(tmp_path: Path) -> None:
    english = (
        "The lock of Altamira stood empty in winter. Juan Robledo took it over in March, and wrote down every barge."
    )
    spanish = worded((HERE / "spanish.md").read_text("utf-8"))[3]
    (tmp_path / "text.txt").write_text(english, "utf-8")
    async with Session(tmp_path / "redraft.db") as session:
        result = await session.evaluate(
            str(tmp_path / "text.txt"), spanish, judging=JudgeConfig(metrics=("consistency",))
        )
    assert result.scores["consistency"] is None
    assert not result.evaluations["consistency"].findings


def test_questions_and_key_facts_are_refused_in_a_sentence(tmp_path: Path) -> None:
    command = Inside(tmp_path, "http://127.0.0.1:9")
    (tmp_path / "text.md").write_text((HERE / "arabic.md").read_text("utf-8"), "utf-8")
    done = command.run("keyfacts", "text.md")
    assert done.code == 2
    assert "in English only" in done.err


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (
            "Das gilt z. B. auch für Dr. Müller. Er kam am 3. März 1924 gegen fünf Uhr mit Koffern usw. nach Hause."
            " Dann schlief er lange.",
            3,
        ),
        ("El Sr. García y la Sra. López viven aquí. Costó 300 pesetas aprox. en 1990. ¿Qué pasó? ¡Nada!", 4),
        ("Он родился в 1926 г. в городе Москве. А. С. Пушкин и т. д. стояли на полке у окна.", 2),
        ("M. Dupont est venu avant son frère, qui était né av. J.-C. selon lui. Personne ne le croyait alors.", 2),
        ("彼は言った。「行こう。」と彼女は答えた。そして去った！", 3),
        ("ذهب الرجل إلى المدينة القديمة في الصباح. هل وصل قبل الظهر؟ نعم، وصل مع أخيه.", 3),
    ],
)
def test_sentences_end_as_they_do_in_the_language(text: str, whole: int) -> None:
    assert len(sentences(text)) == whole
