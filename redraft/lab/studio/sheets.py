"""The pages on which a person fills in a sheet of `redraft agree sheet`. Nothing is stored: the sheet comes in with the
form, and goes out with the answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from redraft.errors import RedraftError, UsageError
from redraft.lab.agreement.sheet_rows import OPINIONS as OPINIONS_OF
from redraft.lab.agreement.sheet_rows import What, questions, sheet_csv, stored_answers
from redraft.lab.agreement.sheets import AS_ABOVE, ASKED_COLUMN, ID, PERSON, Sheet, fill_sheet, parse_sheet
from redraft.prompts.coherence import ERROR_TYPES
from redraft.store.store import Store
from redraft.studio.context import read, run_of
from redraft.studio.endpoints import Endpoint, NotFound, problem_of
from redraft.studio.guard import MAX_BYTES
from redraft.studio.pages import page

_MAX_FIELDS = 100_000
_LONG = 400
"""From this length a text is shown in full width, and not in a list."""
_UNSAFE = re.compile(r"[^\w.-]+")


class _ShownRow(NamedTuple):
    """A row as the page shows it."""

    number: int
    head: str
    """What it is about, if that differs from the row before."""
    asked: str
    """The question, if it differs from that of the row before."""
    long: list[tuple[str, str]]
    short: list[tuple[str, str]]
    said: list[tuple[str, str]]
    """The name of each field, and what is in it."""


async def new(request: Request) -> Response:
    """Show the form that takes a sheet."""
    return page(request, "sheets", "sheets", problem=None)


async def opened(request: Request) -> Response:
    """Show a sheet as a form."""
    try:
        async with request.form(max_files=1, max_fields=_MAX_FIELDS, max_part_size=MAX_BYTES) as form:
            text, name = await _sheet_in(form)
            person = str(form.get("person") or "1")
        sheet = parse_sheet(text)
        column = _column(sheet, person)
    except RedraftError as error:
        status, problem = problem_of(error)
        return page(request, "sheets", "sheets", status, problem=problem)
    values: dict[str, Any] = {"sheet": text, "file": name, "column": column, "types": ERROR_TYPES}
    shown_rows = list(_rows(sheet, column))
    return page(request, "sheet", "sheets", kind=sheet.kind, choices=sheet.choices, rows=shown_rows, **values)


async def _sheet_in(form: FormData) -> tuple[str, str]:
    given = form.get("sheet")
    if not isinstance(given, UploadFile) or not given.filename:
        raise UsageError("no sheet was chosen", hint="choose a CSV file written by `redraft agree sheet`")
    return (await given.read()).decode("utf-8-sig", "replace"), _UNSAFE.sub("-", given.filename)[-80:]


def _column(sheet: Sheet, person: str) -> str:
    """Return the column of a person; empty for a sheet that one person fills in."""
    if sheet.kind == "marks":
        return ""
    named = f"{PERSON} {person}"
    if named not in sheet.answers:
        raise UsageError(f"the sheet has no column {named!r}", hint=f"it has {', '.join(sheet.answers)}")
    return named


def _rows(sheet: Sheet, column: str) -> Iterator[_ShownRow]:
    names = [name for name in sheet.columns if name not in (ID, ASKED_COLUMN, "of", "document", *sheet.answers)]
    about = asked = ""
    above: Mapping[str, str] = {}
    for number, row in enumerate(sheet.rows):
        new = [(name, row[name]) for name in names if row[name] not in ("", AS_ABOVE)]
        texts = [(name, text) for name, text in new if len(text) < _LONG or text != above.get(name)]
        above = {**above, **dict(new)}
        head, question = row.get("of") or row.get("document", ""), row.get(ASKED_COLUMN, "")
        columns = [column] if column else sheet.answers
        yield _ShownRow(
            number,
            head if head != about else "",
            question if question != asked else "",
            [(name, text) for name, text in texts if len(text) >= _LONG],
            [(name, text) for name, text in texts if len(text) < _LONG],
            [(name, row[name].strip()) for name in columns],
        )
        about, asked = head, question


async def saved(request: Request) -> Response:
    """Return the sheet with the answers of the form, to be downloaded."""
    async with request.form(max_files=0, max_fields=_MAX_FIELDS, max_part_size=MAX_BYTES) as form:
        sheet = parse_sheet(str(form.get("sheet", "")))
        name = _UNSAFE.sub("-", str(form.get("name", "")))[-80:] or "sheet.csv"
        text = fill_sheet(sheet, _answers(form, len(sheet.rows)))
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _answers(form: FormData, rows: int) -> Mapping[int, Mapping[str, str]]:
    """Return the answers by row and column: the fields are named by both."""
    found: dict[int, dict[str, str]] = {}
    for field, value in form.multi_items():
        number, mark, column = field.partition(".")
        if mark and number.isdecimal() and int(number) < rows and isinstance(value, str):
            found.setdefault(int(number), {})[column] = value
    return found


async def opinions(request: Request) -> Response:
    """Return the opinions on a run as a spreadsheet for `redraft agree read`."""
    run = await run_of(request)
    kind, text = await read(request, _opinions_sheet, run.id, request.query_params.get("what"))
    headers = {"content-disposition": f'attachment; filename="{run.id}-{kind}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _opinions_sheet(store: Store, run: str, what: str | None) -> tuple[What, str]:
    """Return the opinions on a run as a sheet for `redraft agree read`: of the given kind, or of the kind with the
    most."""
    kinds = list(OPINIONS_OF)
    if what is not None and what not in kinds:
        raise UsageError(f"there is no sheet {what!r}", hint=f"choose from: {', '.join(kinds)}")
    sheets = [(kind, _answered(store, run, kind)) for kind in kinds if what in (None, kind)]
    kind, (rows, said) = max(sheets, key=lambda sheet: len(sheet[1][1]))
    if not said:
        raise NotFound(
            "there are no opinions for this sheet yet",
            hint="agree or disagree with a finding of consistency, faithfulness or key-fact recall",
        )
    return kind, sheet_csv([row for row in rows if row.id in said], 1, said)


def _answered(store: Store, run: str, what: What) -> tuple[Sequence[Any], dict[str, str]]:
    try:
        rows = questions(store, [run], what)
    except UsageError:
        return (), {}
    return rows, stored_answers(store, [run], what, rows)


OPINIONS = Endpoint(
    "GET",
    "/runs/{run}/opinions.csv",
    "The opinions as a spreadsheet.",
    opinions,
    query={"what": "claims, verification or alignment. Default: the kind with the most opinions."},
    kind="text/csv",
)
WORKING = (
    Route("/sheets", new),
    Route("/sheets", opened, methods=["POST"]),
    Route("/sheets/filled", saved, methods=["POST"]),
)
