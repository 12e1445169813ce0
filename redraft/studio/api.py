"""The HTTP API: start, status, result, evidence, and whatever else the pages show."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from redraft.errors import UsageError
from redraft.fields import checked
from redraft.report.dossier.contents import Dossier
from redraft.store.connection import off_loop
from redraft.studio import experiments, packs, run_views
from redraft.studio.batch_api import BATCHES
from redraft.studio.context import house, read, run_of, work_of
from redraft.studio.contracts import (
    Created,
    ExperimentDetails,
    ExperimentList,
    Offer,
    OpinionGiven,
    OpinionList,
    PackContents,
    PackList,
    PendingReview,
    Pieces,
    PlanTotals,
    Review,
    RunResult,
    SentenceEvidence,
    Start,
    Started,
    Status,
    Strike,
)
from redraft.studio.endpoints import Endpoint, described, typed
from redraft.studio.feeds import EVENT_STREAM, STREAMED, elsewhere, sent
from redraft.studio.run_views import RunFilter, RunList
from redraft.studio.start import asked_of, begun, json_of, offer_of, plan_of, planned


def wanted_of(request: Request) -> RunFilter:
    """Which runs are meant. An empty field was not filled in."""
    return checked(RunFilter, {name: value for name, value in request.query_params.items() if value})


async def runs(request: Request) -> Response:
    """The list of runs."""
    return typed(await off_loop(house(request).rows.listed, wanted_of(request)))


async def start(request: Request) -> Response:
    """Begin a run, or say what it would come to."""
    asked, document = await asked_of(request)
    if asked.dry_run:
        return typed(plan_of(await planned(house(request), asked, document)))
    run = await begun(house(request), asked, document)
    return typed(Started(run=run, events=f"/api/runs/{run}/events"), 201)


async def status_shown(request: Request) -> Status:
    """How a run stands."""
    run, work = await run_of(request), house(request).work
    at_work = work is not None and work.is_at_work(run.id)
    return await off_loop(run_views.status_of, house(request).reading, run, at_work=at_work)


async def status(request: Request) -> Response:
    """How a run stands."""
    return typed(await status_shown(request))


async def result(request: Request) -> Response:
    """The result of a run."""
    return JSONResponse(await read(request, run_views.result_of, (await run_of(request)).id))


async def dossier(request: Request) -> Response:
    """All that there is to look at in a run."""
    found = await read(request, run_views.dossier_of, (await run_of(request)).id)
    return Response(await off_loop(found.model_dump_json), media_type="application/json")


async def evidence(request: Request) -> Response:
    """What bears out a sentence or a finding."""
    number = request.query_params.get("sentence")
    if number is not None and not number.isdecimal():
        raise UsageError(f"{number!r:.40} is no number of a sentence")
    found = await read(request, run_views.dossier_of, (await run_of(request)).id)
    sentence = int(number) if number is not None else None
    return typed(run_views.evidence_of(found, sentence, request.query_params.get("finding")))


async def pieces(request: Request) -> Response:
    """What there is of a summary so far."""
    return typed(await read(request, run_views.pieces_of, (await run_of(request)).id))


async def events(request: Request) -> Response:
    """What happens in a run, as server-sent events up to where it stops."""
    run = await run_of(request)
    place = house(request)
    feed = place.work.feed(run.id) if place.work else None
    shown = feed.watch() if feed else elsewhere(place.reading, run.id)
    return StreamingResponse(sent(place.closing, shown), media_type=EVENT_STREAM, headers=STREAMED)


async def stop(request: Request) -> Response:
    """Stop a run; what was done is kept."""
    await work_of(request).stop((await run_of(request)).id)
    return typed(await status_shown(request))


async def resume(request: Request) -> Response:
    """Go on with a run."""
    await work_of(request).resume((await run_of(request)).id)
    return typed(await status_shown(request))


async def question(request: Request) -> Response:
    """What a run that waits wants to know."""
    return typed(PendingReview(question=await work_of(request).session.question((await run_of(request)).id)))


async def review(request: Request) -> Response:
    """Answer a run that waits."""
    given = checked(Review, await json_of(request))
    run = await run_of(request)
    if problem := await work_of(request).answer(run.id, given.model_dump(mode="json")):
        raise UsageError(problem, hint=f"ask again: GET /api/runs/{run.id}/review")
    return typed(await status_shown(request), 202)


async def opinions(request: Request) -> Response:
    """What was said of the findings of a run."""
    return typed(await read(request, run_views.opinions_of, (await run_of(request)).id))


async def say(request: Request) -> Response:
    """Agree or disagree with a finding."""
    given = checked(OpinionGiven, await json_of(request))
    run = await run_of(request)
    return typed(await off_loop(run_views.say, work_of(request).session.store, run.id, given))


async def sheet(request: Request) -> Response:
    """The opinions on a run as a sheet for `redraft agree read`."""
    run = await run_of(request)
    kind, text = await read(request, run_views.opinions_sheet, run.id, request.query_params.get("what"))
    headers = {"content-disposition": f'attachment; filename="{run.id}-{kind}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


async def offer(request: Request) -> Response:
    """What a run can be begun with."""
    return typed(await offer_of(request))


async def pack_list(request: Request) -> Response:
    """All questions and key facts."""
    return typed(await read(request, packs.listed))


async def pack(request: Request) -> Response:
    """A pack of questions."""
    return JSONResponse(await read(request, packs.contents, request.path_params["pack"]))


async def keyfacts(request: Request) -> Response:
    """Key facts as trees."""
    return JSONResponse(await read(request, packs.keyfacts_contents, request.path_params["keyfacts"]))


async def strike(request: Request) -> Response:
    """A new version of a pack without some questions."""
    given = checked(Strike, await json_of(request))
    store = work_of(request).session.store
    return typed(Created(id=await off_loop(packs.strike, store, request.path_params["pack"], given.questions)), 201)


async def experiment_list(request: Request) -> Response:
    """The experiments."""
    place = house(request)
    return typed(await off_loop(experiments.listed, place.rows, place.told.experiments))


async def experiment(request: Request) -> Response:
    """An experiment with its tables."""
    place = house(request)
    return typed(await off_loop(experiments.shown, place.rows, place.told.experiments, request.path_params["name"]))


async def description(request: Request) -> Response:
    """The description of all this."""
    return JSONResponse(described([one for one in ENDPOINTS if one.is_there(house(request).told.read_only)]))


_RUN = "/api/runs/{run}"
_ABOUT_EVIDENCE = {"sentence": "The number of a sentence of the summary.", "finding": "The number or id of a finding."}
ENDPOINTS = (
    Endpoint("GET", "/api/runs", "List runs.", runs, RunList, query=RunFilter),
    Endpoint("POST", "/api/runs", "Begin a run, or plan it.", start, Started, Start, 201, plans=PlanTotals, forms=True),
    Endpoint("GET", "/api/offer", "What a run can be begun with.", offer, Offer),
    Endpoint("GET", _RUN, "How a run stands.", status, Status),
    Endpoint("GET", f"{_RUN}/result", "The result of a run.", result, RunResult),
    Endpoint("GET", f"{_RUN}/dossier", "All that there is to look at in a run.", dossier, Dossier),
    Endpoint("GET", f"{_RUN}/evidence", "What bears it out.", evidence, SentenceEvidence, query=_ABOUT_EVIDENCE),
    Endpoint("GET", f"{_RUN}/pieces", "What there is of a summary so far.", pieces, Pieces),
    Endpoint("GET", f"{_RUN}/events", "Follow a run to its next stop.", events, kind=EVENT_STREAM),
    Endpoint("POST", f"{_RUN}/stop", "Stop a run; what was done is kept.", stop, Status),
    Endpoint("POST", f"{_RUN}/resume", "Go on with a run.", resume, Status),
    Endpoint("GET", f"{_RUN}/review", "What a run that waits wants to know.", question, PendingReview, works=True),
    Endpoint("POST", f"{_RUN}/review", "Answer a run that waits.", review, Status, Review, 202),
    Endpoint("GET", f"{_RUN}/opinions", "What was said of its findings.", opinions, OpinionList),
    Endpoint("POST", f"{_RUN}/opinions", "Agree or disagree with a finding.", say, OpinionList, OpinionGiven),
    Endpoint(
        "GET",
        "/runs/{run}/opinions.csv",
        "The opinions as a sheet.",
        sheet,
        query={"what": "claims, verification or alignment; without it, the kind with most of them."},
        kind="text/csv",
    ),
    Endpoint("GET", "/api/packs", "All questions and key facts.", pack_list, PackList),
    Endpoint("GET", "/api/packs/{pack}", "A pack of questions.", pack, PackContents),
    Endpoint("POST", "/api/packs/{pack}/strike", "A new pack without some questions.", strike, Created, Strike, 201),
    Endpoint("GET", "/api/keyfacts/{keyfacts}", "Key facts.", keyfacts, PackContents),
    Endpoint("GET", "/api/experiments", "The experiments.", experiment_list, ExperimentList),
    Endpoint("GET", "/api/experiments/{name}", "An experiment.", experiment, ExperimentDetails),
    *BATCHES,
    Endpoint("GET", "/api/openapi.json", "This description.", description),
)
"""What there is."""
