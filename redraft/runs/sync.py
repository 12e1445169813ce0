"""An event loop on a thread of its own, for callers that are not asynchronous or whose own loop is busy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from redraft.errors import BLOCKING, DeadlineError, RedraftError, RunCommand, UsageError
from redraft.events import Event, RunStarted, stream_to

ResultT = TypeVar("ResultT")
Given = ParamSpec("Given")

# The seconds after which a waiting caller checks that the thread is still alive.
_LOOK_AGAIN = 0.2
_starting = threading.Lock()
_running: tuple[threading.Thread, asyncio.AbstractEventLoop] | None = None


def _loop() -> tuple[threading.Thread, asyncio.AbstractEventLoop]:
    """Return the loop and its thread. All callers share them, because HTTP clients are shared and bound to a loop."""
    global _running
    with _starting:
        # The thread does not survive a fork.
        if _running is None or not _running[0].is_alive():
            loop = asyncio.new_event_loop()

            def serve() -> None:
                # If an observer or a metric raises `SystemExit` or the like, its run ends and its caller gets the
                # exception; the loop continues for other runs.
                while True:
                    try:
                        return loop.run_forever()
                    except (KeyboardInterrupt, SystemExit):
                        continue

            thread = threading.Thread(target=serve, name="redraft", daemon=True)
            thread.start()
            _running = thread, loop
        return _running


def run_blocking(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine on the shared loop, and return its result or raise its exception, worded for blocking calls.
    Ctrl-C, or any exception that a signal raises here, cancels it; it is raised once the coroutine has ended, with the
    id of its run as `run`."""
    thread, loop = _loop()
    if not asyncio.iscoroutine(work):
        raise UsageError(
            f"a {type(work).__name__} cannot be waited for",
            hint="pass a coroutine, such as redraft.batch(session.session, paths)",
        )
    if threading.current_thread() is thread:
        work.close()
        raise UsageError(
            "a synchronous call was made from within a run, which would wait for itself",
            hint="make the call in another thread, or use `async with redraft.Session(...)` and await its methods",
        )
    ended: Future[ResultT] = Future()
    started: list[asyncio.Task[ResultT]] = []

    def end(task: asyncio.Task[ResultT]) -> None:
        try:
            ended.set_result(task.result())
        except BaseException as error:  # noqa: BLE001  (the caller raises it)
            ended.set_exception(error.worded(BLOCKING) if isinstance(error, RedraftError) else error)

    def start() -> None:
        started.append(loop.create_task(work))
        started[0].add_done_callback(end)

    def wait_for_end() -> None:
        while not ended.done() and thread.is_alive():
            wait([ended], timeout=_LOOK_AGAIN)

    # This hands the caller's context variables over as well.
    loop.call_soon_threadsafe(start)
    try:
        wait_for_end()
    except BaseException as error:
        loop.call_soon_threadsafe(lambda: started[0].cancel())
        wait_for_end()
        if ended.done() and (ending := ended.exception()) is not None:
            vars(error)["run"] = vars(ending).get("run", "")
        raise
    return ended.result(timeout=0)


def run_to_end(work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
    """Run a coroutine to completion; if an event loop is running, as in a notebook, in a separate thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def blocking(
    method: Callable[Concatenate[Any, Given], Coroutine[Any, Any, ResultT]],
) -> Callable[Concatenate[Any, Given], ResultT]:
    """Return a method of `SyncSession` that waits for this method of its session."""

    @wraps(method)
    def call(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> ResultT:
        result: ResultT = self.wait(method(self.session, *args, **kwargs))
        return result

    return call


async def within(seconds: float, work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Cancel work that takes longer, and name the run that it was working on."""
    runs: list[str] = []

    def observe(event: Event) -> None:
        if isinstance(event, RunStarted):
            runs.append(event.run)

    with stream_to(observe):
        try:
            async with asyncio.timeout(seconds) as limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
    go_on = ("go on with ", RunCommand("resume", runs[0])) if runs else ""
    error = DeadlineError(f"the call took longer than {seconds:g} s", fix=go_on)
    error.run = runs[0] if runs else ""
    raise error


def iterating(
    method: Callable[Concatenate[Any, Given], AsyncGenerator[Event, None]],
) -> Callable[Concatenate[Any, Given], Iterator[Event]]:
    """Return a method of `SyncSession` that yields the events of this method of its session."""

    @wraps(method)
    def call(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> Iterator[Event]:
        events = method(self.session, *args, **kwargs)

        async def next_event() -> Event | None:
            return await anext(events, None)

        try:
            while (event := run_blocking(next_event())) is not None:
                yield event
        finally:
            run_blocking(events.aclose())

    return call
