"""The public datasets by name: their description, terms and origin."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from redraft.lab.agreement.people import FileProblem
from redraft.text.tokens import Tokenizer


class ReferenceSummary(NamedTuple):
    """A summary that is part of a dataset, and the question it answers, if any."""

    text: str
    query: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """One document of a dataset."""

    place: str
    id: str
    title: str
    text: str
    summaries: tuple[ReferenceSummary, ...] = ()


class FileForm(NamedTuple):
    """A form of file entries: its fields, and the function that makes an example of an entry."""

    name: str
    fields: frozenset[str]
    """The fields that identify an entry of this form: it has all of them."""
    read: Callable[[str, Mapping[str, Any]], Example]
    """Makes an example of an entry at a place; raises `UnreadableError` with what is missing."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a file."""

    path: str
    form: str
    examples: tuple[Example, ...]
    troubles: tuple[FileProblem, ...] = ()
    bytes: int = 0
    sha256: str = ""
    oddities: tuple[FileProblem, ...] = field(default=())

    def summaries(self) -> Iterator[tuple[Example, ReferenceSummary]]:
        """Yield each summary with its document."""
        return ((example, one) for example in self.examples for one in example.summaries)


def joined(examples: Iterable[Example], tokens: int, tokenizer: Tokenizer) -> Iterator[Example]:
    """Yield documents that each join as many consecutive examples as reach a number of tokens, as the traceability
    thesis joins the articles of XSum (section 4.4).

    Their first summaries are joined likewise. A shorter remainder at the end is left out.
    """
    some: list[Example] = []
    long = 0
    for one in examples:
        if not one.summaries:
            continue
        some.append(one)
        long += tokenizer.count(one.text)
        if long >= tokens:
            first, last = some[0], some[-1]
            name = f"{first.id or first.place} to {last.id or last.place}"
            summary = " ".join(each.summaries[0].text for each in some)
            text = "\n\n".join(each.text for each in some)
            yield Example(first.place, name, f"{len(some)} articles, {name}", text, (ReferenceSummary(summary),))
            some, long = [], 0


def as_line(example: Example) -> str:
    """Return an example as a line of redraft's own form."""
    summaries = [{"query": one.query, "text": one.text} for one in example.summaries]
    content = {"id": example.id, "title": example.title, "text": example.text, "summaries": summaries}
    return json.dumps(content, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class PublicSet:
    """A public dataset. The licence is what its publishers state, as far as is known; check it there."""

    name: str
    title: str
    about: str
    where: tuple[str, ...]
    """The steps to download it. Redraft downloads nothing itself."""
    licence: str
    forms: tuple[str, ...]
    published: Mapping[str, int] = field(default_factory=dict)
    """The number of entries of each of its files as published, by file name."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of known files, by file name."""


SETS: Mapping[str, PublicSet] = {
    one.name: one
    for one in (
        PublicSet(
            "booksum",
            "BookSum (Kryściński et al., 2021)",
            "Books, plays and stories of Project Gutenberg, with summaries by people of books and of chapters.",
            (
                "The publishers' repository, github.com/salesforce/booksum, has no texts: it says how to fetch the"
                " books and collect the summaries, and lists which belongs to which (files with summary_path).",
                "With the texts: huggingface.co/datasets/kmfoda/booksum (chapters: train.csv, dev.csv, test.csv) and"
                " huggingface.co/datasets/ubaada/booksum-complete-cleaned (books/*.jsonl and chapters/*.jsonl).",
            ),
            "The code is BSD-3. Books are out of copyright in the USA; summaries belong to the sites that they are"
            " from, and are for research only.",
            ("booksum", "documents"),
            {"books, summaries in all": 405},
        ),
        PublicSet(
            "infinitebench",
            "InfiniteBench, En.Sum (Zhang et al., 2024)",
            "Novels of more than 100,000 tokens whose main names were replaced, with a summary each.",
            ("Download longbook_sum_eng.jsonl from huggingface.co/datasets/xinrongzhang2022/InfiniteBench.",),
            "The code at github.com/OpenBMB/InfiniteBench has a licence file; for the data read its page.",
            ("infinitebench",),
            {"longbook_sum_eng.jsonl": 103},
        ),
        PublicSet(
            "xsum",
            "XSum (Narayan et al., 2018)",
            "Articles of the BBC with the sentence that introduces each. They are short: `redraft data convert` joins"
            " them to a length.",
            (
                "The publishers' repository, github.com/EdinburghNLP/XSum (XSum-Dataset), has the addresses, the split,"
                " and scripts that fetch the articles and write a .data file for each.",
                "As a table: huggingface.co/datasets/EdinburghNLP/xsum; save it as JSON lines or CSV with document,"
                " summary and id.",
            ),
            "The code is MIT. The articles are the BBC's; for research.",
            ("xsum, extracts", "document and summary"),
            {"train": 204_045, "validation": 11_332, "test": 11_334},
        ),
        PublicSet(
            "squality",
            "SQuALITY (Wang et al., 2022)",
            "Stories of Project Gutenberg of 4,000 to 6,000 words, each with five questions and four answers to each.",
            ("Download data/v1-3/txt/{train,dev,test}.jsonl from github.com/nyu-mll/SQuALITY.",),
            "CC BY 4.0; the stories are out of copyright in the USA.",
            ("squality",),
            {"dev.jsonl (v1.3)": 25},
            {"dev.jsonl (v1.3)": "e9cbb1daff74b70a6cd15641ba2f602a925761759200a17c9225aca90018a42b"},
        ),
        PublicSet(
            "govreport",
            "GovReport (Huang et al., 2021)",
            "Reports of the US Congressional Research Service and of the Government Accountability Office, with their"
            " summaries.",
            (
                "The publishers' page, gov-report-data.github.io, leads to an archive with a file for each report: its"
                " folders crs and gao are read as they are.",
                "As files: data/{crs,gao}_{train,valid,test}.jsonl of huggingface.co/datasets/launch/gov_report; large"
                " ones are read with --max-source 1GB.",
                "As pairs of report and summary: huggingface.co/datasets/ccdv/govreport-summarization, saved as JSON"
                " lines or CSV.",
            ),
            "The set is CC BY 4.0; reports of the US government are not under copyright.",
            ("govreport, crs", "govreport, gao", "govreport, structure", "report and summary", "document and summary"),
            {
                "crs_train": 6514,
                "crs_valid": 362,
                "crs_test": 362,
                "gao_train": 11_005,
                "gao_valid": 612,
                "gao_test": 611,
                "train, of both": 17_519,
                "valid, of both": 974,
                "test, of both": 973,
            },
        ),
        PublicSet(
            "qmsum",
            "QMSum (Zhong et al., 2021)",
            "Transcripts of meetings, each with questions about it and answers by people.",
            (
                "Download data/ALL/jsonl/{train,val,test}.jsonl from github.com/Yale-LILY/QMSum; the same is there with"
                " a file for each meeting, in data/ALL/{train,val,test}.",
            ),
            "Its publishers ask to limit it to research; the code has a licence file.",
            ("qmsum",),
            {"meetings in all": 232},
        ),
    )
}


def sets_of_form(form: str) -> list[PublicSet]:
    """Return the datasets that are published in a form."""
    return [one for one in SETS.values() if form in one.forms]
