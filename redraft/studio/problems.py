"""What goes wrong, as people and programs are told of it: a code, a sentence, the next step, and the right status."""

from __future__ import annotations

import logging

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from redraft.errors import RedraftError
from redraft.fields import complaint
from redraft.pages.assets import template

_log = logging.getLogger("redraft")
_STATUS = {
    "no_run": 404,
    "no_thing": 404,
    "too_large": 413,
    "run": 409,
    "usage": 422,
    "document": 422,
    "prompt": 422,
    "plan": 422,
    "pack": 422,
    "budget": 422,
    "incomplete": 422,
    "nothing_said": 422,
    "not_shrinking": 422,
    "judging": 422,
    "store": 503,
    "store_lost": 503,
}
_OF_A_MODEL, _BUG = 502, 500
_NAMES = {400: "bad_request", 401: "token", 403: "forbidden", 404: "not_found", 405: "method", 413: "too_large"}
_SENTENCES = {404: "There is no such page.", 405: "That cannot be done here."}


class Problem(BaseModel):
    """What went wrong."""

    code: str
    message: str
    hint: str = ""


class ProblemReply(BaseModel):
    """The body of every reply that tells of a failure."""

    error: Problem


class NoSuchThing(RedraftError):
    """There is nothing of that name."""

    code = "no_thing"


def status_of(error: RedraftError) -> int:
    """The HTTP status for a failure."""
    return _STATUS.get(error.code, _OF_A_MODEL)


def problem_of(error: Exception) -> tuple[int, Problem]:
    """A failure as it is told. Of what nobody has foreseen nothing is told."""
    if isinstance(error, RedraftError):
        return status_of(error), Problem(code=error.code, message=str(error), hint=error.hint)
    if isinstance(error, ValidationError):
        return 422, Problem(code="usage", message=complaint(error))
    if isinstance(error, HTTPException):
        message = _SENTENCES.get(error.status_code, error.detail)
        return error.status_code, Problem(code=_NAMES.get(error.status_code, "failed"), message=message)
    _log.error("the studio failed", exc_info=error)
    return _BUG, Problem(code="bug", message="Something unexpected happened.", hint="the terminal says more")


def is_for_programs(path: str) -> bool:
    """Whether whoever asks for this address reads JSON."""
    return path == "/api" or path.startswith("/api/")


async def refused(request: Request, error: Exception) -> Response:
    """The reply to what could not be done."""
    status, problem = problem_of(error)
    return refusal(request.url.path, status, problem)


def refusal(path: str, status: int, problem: Problem) -> Response:
    """The reply that tells of a problem: JSON for programs, a page for people."""
    if is_for_programs(path):
        return JSONResponse(ProblemReply(error=problem).model_dump(), status)
    return HTMLResponse(template("studio/problem.html").render(status=status, problem=problem, here=""), status)
