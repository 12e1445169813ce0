"""What could not be had while a part of a pack was built, and what there is to do where nothing could."""

from __future__ import annotations

from dataclasses import dataclass, field

from redraft.errors import CutThought, JudgingError, RejectedRequest, ReplyError


@dataclass(slots=True)
class Misses:
    """The replies that were of no use, in the order in which they came."""

    replies: list[ReplyError | RejectedRequest] = field(default_factory=list)

    def note(self, error: ReplyError | RejectedRequest) -> None:
        """Count one."""
        self.replies.append(error)

    def nothing(self, what: str, missing: str, place: str) -> JudgingError:
        """The error where all of it came to nothing: it names the cause, and what may help against that."""
        cut = [one for one in self.replies if isinstance(one, ReplyError) and one.cut and not one.late]
        if not cut:
            cause, hint = missing, "try another --judge, or --prompts simple"
        else:
            replies = "the one reply was" if len(cut) == 1 else f"{len(cut)} replies were"
            thought = next((one for one in cut if isinstance(one, CutThought)), None)
            cause = f"{replies} cut off: {(thought or cut[0]).message}"
            hint = thought.hint if thought else "try another --judge, or more room with a larger --context-tokens"
        return JudgingError(f"{what}{f': {cause}' if cause else ''}", place=place, hint=hint)
