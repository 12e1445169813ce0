"""The studio as an ASGI application: routes, access control, and resources."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from redraft.errors import RedraftError
from redraft.report.pages.html import PAGES
from redraft.runs.session import Session, runner_of
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio import api, pages
from redraft.studio.comparison_views import PACKAGE
from redraft.studio.context import StudioConfig, StudioContext, WorkManager, extensions
from redraft.studio.endpoints import refused
from redraft.studio.guard import Guard
from redraft.studio.orders import ExpiringItems
from redraft.studio.run_pages import WORKING as RUN_PAGES
from redraft.studio.run_pages import run as run_page
from redraft.studio.run_views import RunRows

_READING = (
    Route("/", RedirectResponse("/runs", 303), methods=["GET"]),
    Route("/runs", pages.runs),
    Route("/compare", pages.compare),
    Route("/packs", pages.pack_list),
    Route("/packs/{pack}", pages.pack),
    Route("/keyfacts/{keyfacts}", pages.keyfacts),
    *pages.BATCH_READING,
    Route("/api", pages.api),
)
# These precede the route of a single run.
_WORKING = (
    *RUN_PAGES,
    Route("/runs/{run}/stop", partial(pages.acted, action=api.stop), methods=["POST"]),
    Route("/runs/{run}/resume", partial(pages.acted, action=api.resume), methods=["POST"]),
    Route("/runs/{run}/review", pages.review),
    Route("/runs/{run}/review", pages.answer, methods=["POST"]),
    *pages.BATCH_WORKING,
    Route("/models", pages.model_list),
    Route("/models", pages.model_added, methods=["POST"]),
)


def studio(config: StudioConfig) -> Starlette:
    """Return the studio of a database. A read-only studio has no routes that write."""
    added = extensions()
    # Browsers would not run a script of another type, and some systems have one for this ending.
    mimetypes.add_type("text/javascript", ".js")
    packages = (PAGES, PACKAGE, *(extension.package for extension in added))
    routes = [
        Mount("/static", StaticFiles(packages=[(package, "static") for package in packages])),
        *(() if config.read_only else (*_WORKING, *(route for extension in added for route in extension.working))),
        *_READING,
        *(route for extension in added for route in extension.reading),
        *(endpoint.route() for endpoint in api.endpoints(added, read_only=config.read_only)),
        Route("/runs/{run}", run_page),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        async with AsyncExitStack() as closing:
            app.state.context = await _opened(config, closing)
            yield {}

    return Starlette(
        routes=routes,
        middleware=[
            Middleware(Guard, config=config, uploads=frozenset().union(*(extension.uploads for extension in added)))
        ],
        exception_handlers={
            RedraftError: refused,
            ValidationError: refused,
            HTTPException: refused,
            Exception: refused,
        },
        lifespan=lifespan,
    )


async def _opened(config: StudioConfig, closing: AsyncExitStack) -> StudioContext:
    """Open the stores. Reading and writing have a store each, so that reading never waits."""
    work: WorkManager | None = None
    if not config.read_only:
        session = Session(await off_loop(Store, config.database), limits=config.limits, prices=config.prices)
        closing.push_async_callback(off_loop, session.store.close)
        for model in config.models.values():
            runner_of(session).places.add_model(model)
        await closing.enter_async_context(session)
        work = WorkManager(session)
        closing.push_async_callback(work.aclose)
    reading = await off_loop(Store, config.database, to_read=True, only_read=config.read_only)
    closing.push_async_callback(off_loop, reading.close)
    added = extensions()
    links = (link for extension in added for link in extension.menu)
    context = StudioContext(
        *(config, reading, RunRows(reading), work, ExpiringItems()),
        extensions=added,
        menu=tuple(link for link in links if not (link.works and config.read_only)),
        named_models=dict(config.models),
    )
    for extension in added:
        context.added[extension.package] = await closing.enter_async_context(extension.open(context))
    return context
