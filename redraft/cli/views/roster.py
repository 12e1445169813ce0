"""How the models look: a block for each, and what answers on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.cli.terminal import indented, wrapped
from redraft.llm.addresses import DEFAULT_BASE_URL
from redraft.llm.servers import Nearby
from redraft.runs.model_check import Checked, CheckResult
from redraft.runs.roster import RosterEntry
from redraft.settings import EXTRACTIVE, is_entailment, reads_prompts
from redraft.text.cleaning import one_line

_SHOWN_MODELS, _SAID = 12, 120


def seat_lines(seats: Sequence[RosterEntry]) -> Iterator[str]:
    """Each model with its role, and what is known of it."""
    for seat in seats:
        yield f"{seat.role or 'no role'}: {_named(seat)}"
        yield from indented(_about(seat))


def _named(seat: RosterEntry) -> str:
    it = seat.settings
    named = it.model if seat.name == it.model else f"{seat.name} ({it.model})"
    return f"{named}{f' at {it.base_url}' if it.base_url else ''}"


def _about(seat: RosterEntry, *, replies: bool = True) -> Iterator[str]:
    it = seat.settings
    if not reads_prompts(it.model):
        english = ", judges English only" if it.model == EXTRACTIVE else ""
        yield f"{'built in, ' if it.model == EXTRACTIVE else ''}no language model: no key, no window, no price{english}"
        return
    yield _window(seat)
    if seat.price is None:
        yield "price unknown (--prices FILE, or price of its own settings, says it)"
    else:
        yield f"${seat.price.prompt:g} in, ${seat.price.completion:g} out, for a million tokens"
    own = {"temperature": it.temperature, "top_p": it.top_p, "at most tokens": it.max_tokens, "key in": it.key_env}
    if said := [f"{name} {value}" for name, value in own.items() if value is not None]:
        yield ", ".join(said)
    if replies:
        yield _replies(seat)
    if seat.trouble:
        yield from wrapped(seat.trouble, "", "  ")


def _window(seat: RosterEntry) -> str:
    tokens = f"window {seat.window or 0:,} tokens"
    if seat.window_is == "assumed":
        option = ", or --context-tokens" if seat.role == "writer" else ""
        return f"{tokens}, which is assumed: nobody knows (context_tokens in its own settings{option})"
    return tokens


def _replies(seat: RosterEntry) -> str:
    known = [f"structured replies by {seat.capabilities.mode}"] if seat.capabilities.mode else []
    thought = seat.settings.reasoning_tokens or seat.capabilities.reasoning_tokens
    known += [f"up to {thought:,} tokens of thought"] if thought else []
    return ", ".join(known) if known else f"nothing known of its replies ({_checking(seat)})"


def _checking(seat: RosterEntry) -> str:
    """The command that checks a model: by the name of its table, or else by its own at its address."""
    it = seat.settings
    address = (
        f" --base-url {it.base_url}" if seat.name == it.model and it.base_url not in (None, DEFAULT_BASE_URL) else ""
    )
    return f"redraft models --check {seat.name}{address}"


def nearby_lines(found: Sequence[Nearby]) -> Iterator[str]:
    """What answers at the usual ports, with the command that uses it."""
    yield "on this machine:"
    there = [one for one in found if one.models is not None]
    for one in there:
        names = list(one.models or ())
        more = f", and {len(names) - _SHOWN_MODELS} more" if len(names) > _SHOWN_MODELS else ""
        yield from wrapped(
            f"{', '.join(names[:_SHOWN_MODELS]) or 'no model yet'}{more}",
            f"  {one.port.url} ({one.port.kind}): ",
            "    ",
        )
        if names:
            yield f"    redraft summarize FILE -m openai:{names[0]} --base-url {one.port.url}"
    if silent := [f"{one.port.kind} ({one.port.number})" for one in found if one.models is None]:
        yield from wrapped(f"nobody answers for {', '.join(silent)}", "  ", "  ")


def check_lines(checked: Checked) -> Iterator[str]:
    """What works, and what does not."""
    seat = checked.seat
    yield f"{seat.role}: {_named(seat)}" if seat.role else _named(seat)
    yield from indented(_about(seat, replies=False))
    if checked.built_in:
        yield "it always works"
        return
    yield f"  {'as a judge' if is_entailment(seat.settings.model) else 'in words'}: {_answered(checked.words)}"
    for form, answer in checked.forms.items():
        yield f"  in a form, by {form}: {_answered(answer)}"
    if checked.thinks:
        yield f"  it thinks first: {checked.thinks:,} tokens"
    if checked.works:
        yield "it works"
    elif checked.words.trouble:
        yield "it does not answer"
    else:
        yield "it can write, and cannot judge: no form of structured reply works (--prompts simple may help)"


def _answered(one: CheckResult) -> str:
    if one.trouble:
        return f"failed: {one_line(one.trouble, 3 * _SAID)}"
    return f"works, {one.seconds:.1f} s ({one_line(one.said, _SAID)})"
