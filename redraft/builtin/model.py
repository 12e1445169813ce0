"""The built-in model: a stand-in that drafts by selecting sentences, checks by words, and abstains from the rest."""

from __future__ import annotations

from collections.abc import Mapping

from redraft.builtin import judge
from redraft.builtin.draft import summarize
from redraft.builtin.revise import edit, revise
from redraft.builtin.stand_in import Handler
from redraft.llm.claim_judge import claims_asked
from redraft.prompts import factual, qa, revision, summarization

_CRITICISM = "Say more of what matters in the document, and nothing that it does not say."
_DRAFTING = (
    *(summarization.BEGIN, summarization.SUMMARIZE_CHUNK, summarization.SUMMARIZE_WHOLE, summarization.MERGE),
    *(summarization.MERGE_ONWARD, summarization.UPDATE, summarization.COMPRESS, summarization.TIDY),
)
HANDLERS: Mapping[str, Handler] = {
    **{prompt.name: summarize for prompt in _DRAFTING},
    revision.REVISE.name: revise,
    revision.EDIT.name: edit,
    revision.CRITICIZE.name: lambda _: _CRITICISM,
    qa.ASK_DOCUMENT.name: judge.ask_document,
    qa.ANSWER_FROM_SUMMARY.name: judge.answer_from_summary,
    qa.COMPARE_ANSWERS.name: judge.compare_answers,
    qa.ASK_SUMMARY.name: claims_asked,
    qa.ANSWER_FROM_DOCUMENT.name: judge.answer_from_document,
    qa.WRITE_ANSWER.name: judge.write_answer,
    qa.ASK_TYPED.name: judge.ask_typed,
    qa.ANSWER_QUESTIONS.name: judge.answer_questions,
    qa.JUDGE_ANSWERS.name: judge.judge_answers,
    factual.VERIFY_SENTENCES.name: judge.verify_sentences,
    factual.KEYFACTS_ANALYTICAL.name: judge.grow,
    factual.KEYFACTS_NARRATIVE.name: judge.grow,
    factual.FACTS_FAITHFUL.name: judge.validate_facts,
    factual.QUERY_ANALYTICAL.name: judge.ask_query,
    factual.QUERY_NARRATIVE.name: judge.ask_query,
    factual.ALIGN_FACTS.name: judge.align_facts,
    factual.SPLIT_FACTS.name: judge.split_facts,
}
"""The functions that answer prompts, by prompt name."""
