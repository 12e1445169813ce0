"""What is wrong with the sentences of a summary, beside passages of the document."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.builtin.facts.likeness import CATEGORY, Difference
from redraft.builtin.facts.weighing import Ground, Weighed
from redraft.builtin.registry import answers
from redraft.builtin.source import Source
from redraft.builtin.wording import keys
from redraft.prompts.factual import VERIFY_SENTENCES, Category, Verification, Verifications, VerifyGiven
from redraft.prompts.judging import Statement
from redraft.text.sentences import sentences

# A place that has less of a sentence than this is not worth quoting.
_CLOSE = 0.2
# A place that has this share of a sentence's plain words speaks of the same thing, whatever it says of it.
_SPOKEN_OF = 0.5
_FEW = 2
# A sentence is copied when this share of it stands in the passages in runs of at least so many words, and pieced
# together when less than that share of its words have the same neighbours there.
_COPIED, _SHORTEST_COPY = 0.4, 3
_WHOLE = 0.8


@answers(VERIFY_SENTENCES)
def verify_sentences(given: VerifyGiven) -> Verifications:
    """Each sentence by the place that says most of it: what is not there, or is there in another way."""
    texts = [[passage[span.start : span.end] for span in sentences(passage)] for passage in given.passages]
    ground, source, lines = Ground(texts), Source(given.passages), [line for text in texts for line in text]
    return Verifications(sentences=[_verify(ground, source, lines, statement) for statement in given.sentences])


def _verify(ground: Ground, source: Source, lines: Sequence[str], statement: Statement) -> Verification:
    weighed = ground.weigh(statement.sentence, statement.before)
    category, reason = verdict(weighed)
    if category == "none" and any(part.scattered for part in weighed) and _is_pieced(source, statement.sentence):
        category, reason = "relation", "The sentence joins what stands apart in the passages."
    return Verification(id=statement.id, reason=reason, quote=closest_line(weighed, lines), category=category)


def _is_pieced(source: Source, sentence: str) -> bool:
    """Whether a sentence is put together of copied pieces, which is where one who copies goes wrong."""
    sought = keys(sentence)
    tiling = source.tile(sought, source.places(sought))
    if tiling is None or tiling.copied(_SHORTEST_COPY) < _COPIED * len(sought):
        return False
    return len(tiling.borne_out) < _WHOLE * len(sought)


def closest_line(weighed: Sequence[Weighed], lines: Sequence[str]) -> str:
    """The line that bears most on what was held against `lines`; where something is wrong, on that."""
    found = max(weighed, key=lambda part: (bool(part.differences) and part.is_told, part.share), default=None)
    return lines[found.line] if found and found.line is not None and found.share >= _CLOSE else ""


def verdict(weighed: Sequence[Weighed]) -> tuple[Category, str]:
    """What is wrong with a sentence of which each clause was weighed, and why."""
    if not weighed:
        return "none", "The sentence claims nothing."
    found = [difference for part in weighed for difference in part.differences]
    if untold := [part for part in weighed if not part.is_told]:
        # At one place several things are otherwise: that is another matter than what no place speaks of.
        if all(part.told >= _SPOKEN_OF and sum(bool(one.its) for one in part.differences) > 1 for part in untold):
            return "sentence", _several(found)
        return "out_of_article", "The passages do not say this."
    if not found:
        return "none", "The passages say the same."
    if len({difference.wrong for difference in found}) > 1 or len(found) > _FEW:
        return "sentence", _several(found)
    return CATEGORY[found[0].wrong], _reason(found[0])


def _several(found: Sequence[Difference]) -> str:
    reason = _reason(found[0])
    return f"Several things differ; first, {reason[0].lower()}{reason[1:]}"


def _reason(found: Difference) -> str:
    """What differs, in a sentence."""
    own, its = " ".join(found.own.split()), " ".join(found.its.split())
    if found.wrong in ("name", "number", "pronoun"):
        there = f"the passages have “{its}”" if its else "the passages have it nowhere near"
        return f"The sentence has “{own}”, {there}."
    if found.wrong == "roles":
        return f"In the passages it is not {own} from whom “{its}” proceeds."
    if found.wrong == "negation":
        return "One of the two denies what the other says."
    return f"The sentence has “{own}”, the passages have “{its}”."
