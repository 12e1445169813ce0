"""What research adds to the studio: experiments, opinions as a sheet for `redraft agree read`, and documents from
public data sets."""

from __future__ import annotations

from contextlib import suppress

from pydantic import Field, create_model
from starlette.requests import Request
from starlette.responses import Response

from redraft.errors import UsageError
from redraft.lab.agreement.sheets import KINDS, questions, sheet_csv, stored_answers
from redraft.lab.doctor.controls import DOCTOR
from redraft.lab.studio import pages
from redraft.lab.studio.orders import documents_in_file
from redraft.lab.studio.work import EXPERIMENTS, PACKAGE, open_lab
from redraft.store.store import Store
from redraft.studio.context import Extension, MenuLink, read, run_of
from redraft.studio.endpoints import Endpoint, NotFound


async def opinions(request: Request) -> Response:
    """Return the opinions on a run as a spreadsheet for `redraft agree read`."""
    run = await run_of(request)
    kind, text = await read(request, opinions_sheet, run.id, request.query_params.get("what"))
    headers = {"content-disposition": f'attachment; filename="{run.id}-{kind}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def opinions_sheet(store: Store, run: str, what: str | None) -> tuple[str, str]:
    """Return the opinions on a run as a sheet for `redraft agree read`: of the given kind, or of the kind with the
    most."""
    kinds = [name for name, kind in KINDS.items() if kind.metric]
    if what is not None and what not in kinds:
        raise UsageError(f"there is no sheet {what!r}", hint=f"choose from: {', '.join(kinds)}")
    answers: dict[str, str] = {}
    for name in kinds if what is None else [what]:
        with suppress(UsageError):
            rows_of_kind = questions(store, [run], name)
            answers_of_kind = stored_answers(store, [run], name, rows_of_kind)
            if len(answers_of_kind) > len(answers):
                kind, rows, answers = name, rows_of_kind, answers_of_kind
    if not answers:
        raise NotFound(
            "there are no opinions for this sheet yet",
            hint="agree or disagree with a finding of consistency, faithfulness or key-fact recall",
        )
    return kind, sheet_csv([row for row in rows if row.id in answers], 1, answers)


_WHAT = "claims, verification or alignment. Default: the kind with the most opinions."
OPINIONS = Endpoint(
    "GET",
    "/runs/{run}/opinions.csv",
    opinions,
    says="The opinions as a spreadsheet.",
    query=create_model("OpinionsQuery", what=(str, Field("", description=_WHAT))),
    kind="text/csv",
)


EXTENSION = Extension(
    PACKAGE,
    open_lab,
    menu=(MenuLink("/experiments", "experiments", "Experiments"),),
    reading=pages.READING,
    working=pages.WORKING,
    endpoints=(OPINIONS, *EXPERIMENTS),
    uploads=frozenset({"/api/experiments", "/experiments/new"}),
    read_documents=lambda content, name: documents_in_file(content, name).documents,
    own_documents=DOCTOR,
)
