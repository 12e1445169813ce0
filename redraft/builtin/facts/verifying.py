"""What is wrong with the sentences of a summary, beside passages of the document."""

from __future__ import annotations

from redraft.builtin.consistency.holding import Ground, Held, Wrong, ground_of
from redraft.builtin.registry import answers
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.factual import VERIFY_SENTENCES, Category, Verification, Verifications, VerifyGiven
from redraft.prompts.judging import Statement

CATEGORY: dict[Wrong | None, Category] = {
    "name": "entity", "number": "entity", "negation": "relation", "opposite": "relation",
}  # fmt: skip


@answers(VERIFY_SENTENCES)
def verify_sentences(given: VerifyGiven) -> Verifications:
    """Each sentence by the line that says most of it: the same, something else in its place, or nothing that tells."""
    ground = ground_of(tuple(given.texts))
    return Verifications(sentences=[_verify(ground, statement) for statement in given.sentences])


def _verify(ground: Ground, statement: Statement) -> Verification:
    held = ground.hold(statement.sentence)
    return Verification(id=statement.id, reason=reason(held), quote=ground.text_of(held), category=category(held))


def category(held: Held) -> Category | Unsure:
    """What is wrong with a sentence; "unsure" where its words do not tell."""
    if held.verdict == "contradicted":
        return CATEGORY[held.wrong]
    if held.verdict == "borne out":
        return "none"
    return "out_of_article" if held.verdict == "absent" else UNSURE


def reason(held: Held) -> str:
    """Why, in a sentence."""
    own, its = " ".join(held.own.split()), " ".join(held.its.split())
    if held.wrong == "negation":
        return "One of the two denies what the other says."
    if held.verdict == "contradicted":
        return f"The sentence has “{own}”, the passages have “{its}”."
    if held.verdict == "absent":
        return f"The passages do not have “{own}” anywhere."
    if held.verdict == "borne out":
        return "The passages say the same."
    return "That is said in other words than the passages', if they say it."
