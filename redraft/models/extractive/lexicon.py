"""The few English words the extractive model knows by heart. Text in other languages is ranked without them."""

from __future__ import annotations

import re


def _any_of(words: str) -> str:
    return "(?:" + "|".join(words.split()) + ")"


PRONOUN = re.compile(
    r"(?:(?:in|at|on|after|before|by|for|with|from|of|to|during|since|until|despite|like|as) )?"
    r"(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|such)(?:['’](?:s|d|ll|re|ve))?\b"
    r"|(?:here|both|all|none|some|most|neither|each|either|another|one (?:of (?:them|these)|was|is|had))\b"
    r"|the (?:other|others|latter|former|same|two|three|pair)\b",
    re.IGNORECASE,
)
"""A beginning that cannot be understood without the sentence before."""

CONNECTIVE = re.compile(
    _any_of(
        "but and or nor so then yet still thus hence however therefore moreover furthermore nevertheless nonetheless"
        " instead otherwise besides meanwhile actually also too again perhaps maybe anyway indeed accordingly"
        " consequently afterwards afterward finally suddenly now well yes no oh ah only for because which who"
    )
    + r"\b",
    re.IGNORECASE,
)
"""A beginning that carries on from the sentence before."""

PERSONAL = re.compile(r"\b" + _any_of("he she they him her them his their it its") + r"\b", re.IGNORECASE)
"""What stands for someone or something named elsewhere."""

GESTURE = re.compile(
    r"\b(?:eye|eyebrow|face|head|shoulder|lip|mouth|voice|finger|arm|throat|cheek|breath|smile|grin|glance)s?\b"
    r"|\b(?:nodd|shrugg|smil|grinn|sigh|star|glanc|frown|laugh|cough|blink|chuckl|look|gaz|turn|murmur|mutter)ed\b",
    re.IGNORECASE,
)
"""How people look, move and sound while they talk: plentiful in stories, and seldom what happens in them."""

FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]ur|[Oo]urs|[Oo]urselves)\b")
SECOND_PERSON = re.compile(r"\b(?:you|your|yours|yourself|thou|thee|thy)\b", re.IGNORECASE)

SPEECH = re.compile(
    r"(?<![\w.,!?])\"(?=\S)[^\"]{0,1500}\"?|“[^”]{0,1500}”?|«[^»]{0,1500}»?|「[^」]{0,1500}」?"
    r"|(?<!\w)['‘](?=\w)[^\n]{0,600}?[.,!?…—]['’](?!\w)"
)
"""Direct speech within a paragraph. Its length is bounded, so that one lost mark does not turn all the rest into
speech; a single mark counts only where punctuation stands before the closing one."""

_NARRATIVE = r"(?:text|story|book|novel|narrative|document|chapter|work|tale|article)"
PROCESS = re.compile(
    r"\bexcerpts?\b"
    rf"|\b(?:this|next|following|previous|preceding|current|given|provided)"
    rf" (?:segment|chunk)s?\b(?! of (?!(?:the|this) {_NARRATIVE}))"
    rf"|\b(?:parts?|portions?|sections?|segments?) of (?:the|this) {_NARRATIVE}\b"
    r"|\b(?:updated|revised|new|merged|combined|existing|running|overall|ongoing|earlier|prior) summar(?:y|ies)\b"
    r"|\b(?:summary|summaries) (?:above|below|so far)\b|\b(?:update|updating|updates) (?:to )?(?:the|this) summary\b",
    re.IGNORECASE,
)
"""Wording that betrays that a summary was written step by step."""

PROCESS_OPENING = re.compile(
    r"^(?:in|throughout|during|at the (?:beginning|start|end) of|as (?:described|told|seen) in)"
    r" (?:this|the)(?: (?:next|following|previous|current|given|provided|first|second|last|final))?"
    rf" (?:excerpt|segment|chunk|passage|portion|part|section)(?: of (?:the|this) {_NARRATIVE})?, ",
    re.IGNORECASE,
)

MATTER_AROUND = re.compile(
    r"\btable of contents\b|\bcontents pages?\b|\backnowledge?ments? (?:section|pages?|thanks?)|^acknowledge?ments?\b"
    r"|\b(?:author|editor|translator|transcriber|publisher)['’]?s['’]? (?:foreword|preface|notes?|afterword)\b"
    r"|\b(?:note|foreword|preface|afterword) (?:by|from|on|about) the (?:author|editor|translator|publisher)\b"
    r"|\bcopyright(?:ed|s)?\b|©|\ball rights reserved\b|\bproject gutenberg\b|\bgutenberg(?:\.org|-tm|™)"
    r"|\bisbn(?:-1[03])?\b|\be-?text\b|\bebook\b|\bproofread(?:ing|ers?)\b|\balso by the (?:same )?author\b"
    r"|\b(?:about|thanks?|thanked|praise for) the author\b|\bthe author (?:thanks|dedicates|acknowledges|expresses)\b"
    r"|\bforeword\b|\bpublish(?:er|ing)s? (?:information|notice|house)\b|\b(?:first )?published (?:by|in the)\b"
    r"|\b(?:book|novel|work) is dedicated to\b|\bdedication page\b|\badvertise(?:s|ment|ments) for (?:other|further)\b",
    re.IGNORECASE,
)
"""What stands around a text and is not part of it."""
