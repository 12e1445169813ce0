"""A model that is opened when it is first asked: what is in the cache needs nobody to answer it."""

from __future__ import annotations

from collections.abc import Callable

from redraft.models.base import Model, Reply, Request, Sampling, Thinker
from redraft.prompts.contract import Given_, Value_


class LateModel:
    """A `Model` of which no more than the identity is known until somebody asks it."""

    def __init__(self, identity: str, opening: Callable[[], Model]) -> None:
        self.identity = identity
        self._opening = opening
        self._opened: Model | None = None
        self._expected = 0

    @property
    def thought(self) -> int:
        """As the model itself has it, once it is open."""
        return self._opened.thought if isinstance(self._opened, Thinker) else self._expected

    def expect(self, thought: int) -> None:
        """Take note of it for when the model is opened."""
        self._expected = thought

    def most_tokens(self, sampling: Sampling) -> int:
        """As the model itself has it."""
        return self._model().most_tokens(sampling)

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        return await self._model().ask(request)

    def _model(self) -> Model:
        if self._opened is None:
            self._opened = self._opening()
            if isinstance(self._opened, Thinker):
                self._opened.expect(self._expected)
        return self._opened
