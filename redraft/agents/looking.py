"""What is read for which items: the whole document where that costs no more than passages of it would, else stretches
that are read whole because most of them is wanted, else the passages nearest to each item; more of them the second
time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil

from redraft.agents.evidence import EvidenceDesk, Wanted
from redraft.domain import Span
from redraft.text.passages import WINDOW

SMALL = 4096
"""Up to so many tokens a document is read whole, however little is asked."""
# How many passages are looked at for each item at first, and how many at least and at most where those did not settle
# it; all of them together come to no more than this share of the document, unless the least is more.
NEAR = 2
_LEAST_FAR, FAR = 4, 12
_SHARE_FAR = 0.25
# And those for one item to no more than this share: of a short document as many would be much of it.
_SHARE_EACH = 0.05
# A stretch of which so much is wanted is read whole.
_WANTED = 0.5
# What a prompt says besides, with the schema of its reply, and around an item and a passage to number them.
_FRAME_TOKENS = 480
_AROUND = 16


@dataclass(frozen=True, slots=True)
class Look:
    """Items that are asked about at once, and the places of the document that are read for them, in its order."""

    numbers: tuple[int, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Looks:
    """Decides what is read for some items, each of which takes `each` tokens of a reply.

    The order in which they are asked about is that of the document. What is read for several of them is read once.
    """

    desk: EvidenceDesk
    items: Sequence[Wanted]
    each: int
    near: int
    """How many items are asked about at once, beside places that were chosen for them."""
    far: int
    """And how many beside the whole document, or beside the wider choice."""
    _counted: dict[Span, int] = field(default_factory=dict)

    def first(self, numbers: Sequence[int]) -> list[Look]:
        """What is read for the items at first."""
        size, document = self._at_once(numbers), self.desk.document_tokens
        # Read once for all items it costs no more than passages for each; read for every batch it would.
        few = len(numbers) <= min(size, self.near)
        if size and (document <= SMALL or (few and document <= len(numbers) * NEAR * WINDOW)):
            return self._whole(numbers, size)
        return self._filled(
            self._completed({n: self.desk.evidence(self.items[n].text, NEAR) for n in numbers}), self.near
        )

    def second(self, numbers: Sequence[int]) -> list[Look]:
        """What is read for those that the first look did not settle: more of the document for each of them."""
        if self.desk.document_tokens <= SMALL and (size := self._at_once(numbers)):
            return self._whole(numbers, size)
        return self.closer(numbers)

    def closer(self, numbers: Sequence[int]) -> list[Look]:
        """What is read for those whose answers are doubted: what has to do with each of them, and so never all."""
        count = far_passages(self.desk.document_tokens, len(numbers))
        found = {n: self.desk.evidence(self.items[n].text, count, wide=True) for n in numbers}
        return self._filled(self._completed(found), self.far)

    def part(self, numbers: Sequence[int], within: Span) -> list[Look]:
        """What is read where a part of the document is all that there is: that part where it fits, or places in it."""
        if self._room(numbers[:1]) >= self._tokens([within]):
            return self._filled({n: [within] for n in numbers}, self.far)
        found = {n: self.desk.nearest(self.items[n].text, FAR, within) or [within] for n in numbers}
        return self._filled(found, self.far)

    def _whole(self, numbers: Sequence[int], size: int) -> list[Look]:
        """All of the document for every item, in as few and as equal batches as may be."""
        size = ceil(len(numbers) / ceil(len(numbers) / size)) if numbers else 1
        whole = (Span(0, len(self.desk.document.text)),)
        return [Look(tuple(numbers[at : at + size]), whole) for at in range(0, len(numbers), size)]

    def _at_once(self, numbers: Iterable[int]) -> int:
        """How many items there is room for beside the whole document."""
        largest = max((self._cost(n) for n in numbers), default=0)
        room = self.desk.window - _FRAME_TOKENS - _AROUND - self.desk.document_tokens
        return min(self.far, room // (largest or 1)) if room > 0 else 0

    def _completed(self, found: Mapping[int, Sequence[Span]]) -> dict[int, list[Span]]:
        """The places with a stretch in place of the best one of an item, where most of that stretch is wanted."""
        homes = {n: self.desk.passages.stretch(spans[0]) for n, spans in found.items() if spans}
        wanted = {
            home: self.desk.joined([found[n][:1] for n in homes if homes[n] == home]) for home in set(homes.values())
        }
        whole = {
            home
            for home, spans in wanted.items()
            if sum(span.end - span.start for span in spans) >= _WANTED * (home.end - home.start)
            and self._tokens([home]) <= self.desk.room
        }
        # The best place stays beside its stretch: it may end in the next one.
        return {
            n: [homes[n], *spans] if n in homes and homes[n] in whole else list(spans) for n, spans in found.items()
        }

    def _filled(self, found: Mapping[int, Sequence[Span]], most: int) -> list[Look]:
        """The items in the order of their best places, as many at once as may be and as fit with what is read.

        Those of one place are asked about together where they can be, so that it is read once.
        """
        order = sorted(found, key=lambda n: (self._place(found[n]), n))
        looks: list[Look] = []
        for _, group in groupby(order, key=lambda n: self._place(found[n])):
            together = list(group)
            if looks and (look := self._with(looks[-1], together, found, most)):
                looks[-1] = look
                continue
            looks.append(self._alone(together[0], found))
            for n in together[1:]:
                if look := self._with(looks[-1], [n], found, most):
                    looks[-1] = look
                else:
                    looks.append(self._alone(n, found))
        return looks

    def _place(self, spans: Sequence[Span]) -> Span:
        """The best place; whoever has none comes last."""
        end = len(self.desk.document.text)
        return spans[0] if spans else Span(end, end)

    def _alone(self, n: int, found: Mapping[int, Sequence[Span]]) -> Look:
        return Look((n,), tuple(self.desk.joined([self._fitting(n, found[n])])))

    def _with(self, look: Look, more: Sequence[int], found: Mapping[int, Sequence[Span]], most: int) -> Look | None:
        """A look with some items more, where there is room for them."""
        numbers = tuple(sorted((*look.numbers, *more)))
        spans = self.desk.joined([look.spans, *(found[n] for n in more)])
        tokens = self._tokens(spans)
        # Where there is no more to read than in a small document, there is no more to read past either.
        at_once = self.far if tokens <= SMALL else most
        return Look(numbers, tuple(spans)) if len(numbers) <= at_once and tokens <= self._room(numbers) else None

    def _fitting(self, n: int, spans: Sequence[Span]) -> list[Span]:
        """As many of the places, the best first, as there is room for; one in any case."""
        room = self._room([n])
        return [span for at, span in enumerate(spans) if not at or self._tokens(spans[: at + 1]) <= room]

    def _room(self, numbers: Sequence[int]) -> int:
        """The tokens of the document that there is room for beside some items and the reply about them."""
        return self.desk.window - _FRAME_TOKENS - sum(map(self._cost, numbers))

    def _cost(self, n: int) -> int:
        return self.each + _AROUND + self.desk.tokenizer.count(self.items[n].text)

    def _tokens(self, spans: Sequence[Span]) -> int:
        for span in spans:
            if span not in self._counted:
                self._counted[span] = self.desk.tokenizer.count(self.desk.text(span)) + _AROUND
        return sum(self._counted[span] for span in spans)


def far_passages(document: int, items: int) -> int:
    """How many passages are looked at for each of so many items that the first look did not settle."""
    share = min(_SHARE_EACH, _SHARE_FAR / max(1, items))
    return max(_LEAST_FAR, min(FAR, int(share * document / WINDOW)))


def most_looks(window: int, document: int, items: int, each: int, near: int, far: int) -> tuple[int, int]:
    """The calls, and the tokens of the document in them, at most, when every item is looked for twice.

    An item counts as `each` tokens, with its share of the reply.
    """
    room = max(WINDOW, window - _FRAME_TOKENS)
    whole, first = max(SMALL, items * NEAR * WINDOW), ceil(2 * items * NEAR * WINDOW / _WANTED)
    second = ceil(items * far_passages(document, items) * WINDOW / _WANTED)
    calls, tokens = 0, 0
    for read, at_once in ((first, near), (second, far)):
        fitting = max(1, min(at_once, (room - min(document, SMALL)) // each if room > SMALL else 1))
        # Whoever has no room for one item more has read as much as there is room for, or asked as much.
        made = min(items, ceil(items / fitting) + ceil(2 * (read + items * each) / room))
        calls += made
        tokens += min(max(whole, read), made * room)
    return calls, tokens


def most_of_part(window: int, part: int, items: int, each: int, far: int) -> tuple[int, int]:
    """The same where there is but a part of the document to read, which is looked at once."""
    room = max(WINDOW, window - _FRAME_TOKENS)
    calls = ceil(items / max(1, min(far, (room - part) // each)))
    return calls, calls * min(part, room)
