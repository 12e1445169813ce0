"""Where the models of a judging are, filled in before a run begins so that it is on record."""

from __future__ import annotations

from collections.abc import Mapping

from redraft.errors import UsageError
from redraft.models.base import Model
from redraft.prompts.book import prompt_choice
from redraft.runs.opening import resolve
from redraft.runs.roles import NOBODY, named_in, under_name
from redraft.settings import Judging, ModelSettings, Refinement, Settings, reads_prompts


def located(
    judging: Judging, settings: Settings, refinement: Refinement | None = None, objects: Mapping[str, Model] = NOBODY
) -> Judging:
    """The judging with its models' address filled in, so that it is on record; names that mean nothing are refused.

    Objects bring their own addresses. Where the models that are named have several addresses none is filled in: then
    each provider's are where the writer's are, or where the provider is.
    """
    if twice := next((name for name in judging.judges if judging.judges.count(name) > 1), None):
        raise UsageError(f"the judge {twice} is named twice", hint="use --repeat to let a judge judge more than once")
    names = [name for _, name in named_in(judging, refinement)]
    models = {name: _settled(judging.models[name]) for name in names if name in judging.models}
    bare = {name for name in names if reads_prompts(name)} - {*objects, *models}
    addresses = {resolve(under_name(name, settings, judging, objects)).base_url for name in bare}
    address = addresses.pop() if len(addresses) == 1 else judging.base_url
    return judging.model_copy(update={"base_url": address, "models": models})


def _settled(given: ModelSettings) -> ModelSettings:
    """A model's own settings with its address and its prompts as they are from everywhere."""
    there = resolve(Settings(model=given.model, base_url=given.base_url, key_env=given.key_env))
    prompts = given.prompts and prompt_choice(given.prompts)
    return given.model_copy(update={"base_url": there.base_url, "key_env": there.key_env, "prompts": prompts})
