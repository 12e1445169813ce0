"""The HTTP API as a table of endpoints, with its errors and models as the pages and the API name them."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar, get_args, get_type_hints

from jinja2 import Template
from pydantic import BaseModel, ValidationError, create_model
from pydantic.dataclasses import is_pydantic_dataclass
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from redraft.domain import adapter_of
from redraft.errors import RedraftError
from redraft.fields import first_error, validated
from redraft.report.pages.html import allowed, static
from redraft.store.connection import off_loop
from redraft.studio.comparison_views import PACKAGE, environment
from redraft.studio.doors import PAGE, ApiDoor, PageDoor, by_program


def with_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value, or the values in a structure, with a model's name for people where it is the name of a model."""
    if isinstance(value, dict):
        return {key: with_names(entry, names) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(with_names(entry, names) for entry in value)
    return names.get(value, value) if isinstance(value, str) else value


_log = logging.getLogger("redraft")
_STATUS = {
    **dict.fromkeys(("no_run", "no_thing"), 404),
    "run": 409,
    "too_large": 413,
    **dict.fromkeys(("usage", "document", "prompt", "plan", "pack", "budget", "deadline", "incomplete"), 422),
    **dict.fromkeys(("nothing_said", "not_shrinking", "judging"), 422),
    **dict.fromkeys(("store", "store_lost"), 503),
}
_OF_A_MODEL, _BUG = 502, 500
_NAMES = {400: "bad_request", 401: "token", 403: "forbidden", 404: "not_found", 405: "method", 413: "too_large"}
_PROBLEM = "studio/problem.html"
_BARE = "default-src 'none'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
_SENTENCES = {404: "Page not found", 405: "This address does not accept that request"}


def template(name: str, *packages: str) -> Template:
    """Return a template of the studio, of the pages that it shows, or of packages that extend it."""
    return environment(*packages).get_template(name)


class Problem(BaseModel):
    """An error."""

    code: str
    message: str
    hint: str = ""


ProblemReply = create_model("ProblemReply", error=Problem)
"""The body of every error."""


def problem_of(error: Exception, door: PageDoor | ApiDoor = PAGE) -> tuple[int, Problem]:
    """Return the HTTP status of a failure, by its code or that of its kind, and its description in the words of a page
    or of the API. Unexpected ones are logged, not described."""
    if isinstance(error, RedraftError):
        status = next((_STATUS[code] for code in error.codes if code in _STATUS), _OF_A_MODEL)
        return status, Problem(
            code=error.code,
            message=door.message(error) if isinstance(door, PageDoor) else str(error),
            hint=door.render(error.fix),
        )
    if isinstance(error, ValidationError):
        return 422, Problem(code="usage", message=first_error(error))
    if isinstance(error, HTTPException):
        message = _SENTENCES.get(error.status_code, error.detail)
        return error.status_code, Problem(code=_NAMES.get(error.status_code, "failed"), message=message)
    _log.error("the studio failed", exc_info=error)
    return _BUG, Problem(code="bug", message="Internal error", hint="the terminal of the studio shows the details")


def is_for_programs(path: str) -> bool:
    """Return whether an address replies with JSON."""
    return path == "/api" or path.startswith("/api/")


async def refused(request: Request, error: Exception) -> Response:
    """Return the reply to a request that failed: JSON for the API, a page of the studio for browsers."""
    door: PageDoor | ApiDoor = PAGE
    if by_program.get():
        address = "/".join(request.url.path.split("/")[:4])
        door = ApiDoor("/api/runs/RUN" if address == "/api/runs" else address)
    status, problem = problem_of(error, door)
    if is_for_programs(request.url.path):
        return refusal(request.url.path, status, problem)
    run = "" if status == 404 else request.path_params.get("run", "")
    context = request.app.state.context
    values = {"here": "", "read_only": context.config.read_only, "menu": context.menu, "sheet": "", "run": run}
    return HTMLResponse(template(_PROBLEM).render(values, status=status, problem=problem), status)


def refusal(path: str, status: int, problem: Problem) -> Response:
    """Return the reply to a request that access control stopped. Its page needs no other file."""
    if is_for_programs(path):
        return JSONResponse(ProblemReply(error=problem).model_dump(), status)
    sheet = f"{static('base.css')}\n{static('studio/studio.css', PACKAGE)}"
    page = template(_PROBLEM).render(status=status, problem=problem, here="", read_only=True, sheet=sheet)
    return HTMLResponse(page, status, {"content-security-policy": f"{_BARE}; style-src {allowed(sheet)}"})


Handler = Callable[[Request], Awaitable[object]]
M = TypeVar("M", bound=BaseModel)
_REF = "#/components/schemas/{model}"
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of the API. The docstring of its handler describes it, and the type that this returns its reply."""

    method: str
    path: str
    handler: Handler
    takes: type[BaseModel] | None = None
    status: int = 200
    says: str = ""
    """A sentence that describes it better than the first one of the docstring."""
    gives: type | None = None
    """The model of the reply, where the handler returns no model."""
    query: type[BaseModel] | None = None
    """The model of the query parameters."""
    kind: str = _JSON
    """The media type of the reply."""
    plans: type[BaseModel] | None = None
    """The reply of a dry run."""
    forms: bool = False
    """Whether it also accepts a form with a file."""
    works: bool = False
    """Whether it needs a session, although it only reads."""

    @property
    def address(self) -> str:
        """The path in the OpenAPI description."""
        return re.sub(r":\w+}", "}", self.path)

    @property
    def description(self) -> str:
        """What it does or returns, in a sentence."""
        first = re.split(r"\.(?:\s|$)", " ".join((self.handler.__doc__ or "").split()))[0].removeprefix("Return ")
        return self.says or f"{first[:1].upper()}{first[1:]}."

    @property
    def reply(self) -> type | None:
        """The model of the reply; None if the reply is not JSON."""
        if self.gives is not None:
            return self.gives
        returned = get_type_hints(self.handler).get("return")
        models = [model for model in (*get_args(returned), returned) if isinstance(model, type)]
        return next((model for model in models if is_described(model) and model is not BaseModel), None)

    def route(self) -> Route:
        """Return the route, which converts what the handler returns to JSON unless it is a response."""
        return Route(self.path, self._answer, methods=[self.method])

    async def _answer(self, request: Request) -> Response:
        response = await self.handler(request)
        if is_described(type(response)):
            return await off_loop(typed, response, self.status)
        return response if isinstance(response, Response) else JSONResponse(response, self.status)

    def operation(self, schemas: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the OpenAPI description of the endpoint; `schemas` are those of the models."""
        words = [word for word in re.split(r"[/{}.:]+", self.address.removeprefix("/api")) if word and word != "run"]
        problem = {_JSON: {"schema": schemas[ProblemReply]}} if is_for_programs(self.path) else {"text/html": {}}
        parameters: list[dict[str, Any]] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)", self.path)
        ]
        properties = self.query.model_json_schema().get("properties", {}) if self.query else {}
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]
        content = {self.kind: {"schema": schemas[self.reply]} if self.reply else {}}
        operation: dict[str, Any] = {
            "summary": self.description,
            "operationId": "_".join((self.method.lower(), *words)),
            "parameters": parameters,
            "responses": {
                str(self.status): {"description": self.description, "content": content},
                "default": {"description": "The error", "content": problem},
            },
        }
        if self.plans:
            planned = {"description": "The plan", "content": {_JSON: {"schema": schemas[self.plans]}}}
            operation["responses"]["200"] = planned
        if self.takes:
            kinds = [_JSON, *(["multipart/form-data"] if self.forms else [])]
            operation["requestBody"] = {"content": {kind: {"schema": schemas[self.takes]} for kind in kinds}}
        if self.method != "GET":
            operation["security"] = [{"token": []}]
        return operation


def query_of(request: Request, model: type[M]) -> M:
    """Return the query of a request as a model. Empty parameters count as missing."""
    return validated(model, {name: value for name, value in request.query_params.items() if value})


def is_described(kind: type) -> bool:
    """Return whether the description of the API has the fields of a class."""
    return issubclass(kind, BaseModel) or is_pydantic_dataclass(kind)


def typed(value: object, status: int = 200) -> Response:
    """Return a value as a JSON response."""
    return Response(adapter_of(type(value)).dump_json(value, by_alias=True), status, media_type=_JSON)


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the API."""
    replies = {ProblemReply, *(model for endpoint in endpoints for model in (endpoint.reply, endpoint.plans) if model)}
    models: list[tuple[Any, JsonSchemaMode]] = [(model, "serialization") for model in replies]
    models += [(model, "validation") for model in {endpoint.takes for endpoint in endpoints if endpoint.takes}]
    refs, defined = models_json_schema(sorted(models, key=lambda entry: entry[0].__name__), ref_template=_REF)
    schemas: dict[Any, Any] = {model: ref for (model, _), ref in refs.items()}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.address, {})[endpoint.method.lower()] = endpoint.operation(schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "redraft", "version": version("redraft"), "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": defined.get("$defs", {}),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


_ABOUT = "Start runs of redraft, follow them, and read their results. Requests that change something need the token."
