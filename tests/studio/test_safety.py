"""Who is let in and who is not: each refusal is seen, against a studio that is served as it is for users."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from redraft.errors import UsageError
from redraft.store.store import Store
from redraft.studio.api import ENDPOINTS
from redraft.studio.app import studio
from redraft.studio.context import StudioConfig, extensions
from redraft.studio.guard import MAX_BYTES
from redraft.studio.server import address_of, config_for, is_loopback, listening, token_on_file
from tests.store.support import fill
from tests.studio.served import TOKEN, Served, served
from tests.support import chapter

WRITES = {"POST": [("/api/runs", {"text": "A text."}), ("/runs/new", {}), ("/runs/start", {}), ("/runs/x/stop", {})]}


def filled(folder: Path) -> Path:
    """A folder with a store that has something of everything."""
    with Store(folder / "redraft.db") as store:
        fill(store)
    return folder


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(filled(tmp_path_factory.mktemp("safe"))) as studio:
        yield studio


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that listens on all addresses."""
    with served(filled(tmp_path_factory.mktemp("guarded")), "0.0.0.0") as studio:
        yield studio


def code(reply: httpx.Response) -> str:
    return str(reply.json()["error"]["code"])


def test_reply_has_a_strict_policy(at: Served) -> None:
    with at.client(follow_redirects=True) as client:
        for path in ("/", "/runs", "/runs/new", "/api/runs", "/static/base.css", "/runs/none", "/static/none", "/api"):
            headers = client.get(path, headers={"Origin": "http://evil.example"}).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "script-src 'self';" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert not [name for name in headers if name.startswith("access-control-")]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::1"])
def test_it_answers_under_no_other_name(at: Served, host: str) -> None:
    with at.client() as client:
        for path in ("/runs", "/api/runs", "/static/base.css"):
            reply = client.get(path, headers={"Host": host})
            assert reply.status_code == 421, reply.status_code
        assert code(client.get("/api/runs", headers={"Host": host})) == "host"
        for name in ("localhost", "127.0.0.1", "[::1]"):
            assert client.get("/api/runs", headers={"Host": f"{name}:1234"}).status_code == 200


@pytest.mark.slow
def test_tokenless_visitors_may_only_look(tmp_path: Path) -> None:
    with served(filled(tmp_path), guarded=False) as at, at.stranger() as client:
        assert client.get("/api/runs").status_code == 200
        assert client.post("/api/runs", json={}, headers={"Origin": at.url}).status_code == 401
    with pytest.raises(UsageError, match=r"^without a token it is only for this machine"):
        config_for("0.0.0.0", 1, StudioConfig(guarded=False))


def test_token_is_in_the_users_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with token_on_file(8765, StudioConfig(token=TOKEN)) as file:
        assert file.is_relative_to(tmp_path)
        assert file.read_text() == f"{TOKEN}\n"
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o077 == 0
    assert not file.exists()


@pytest.mark.nightly
def test_silent_and_slow_connections_are_closed(at: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.studio.server.HEAD_SECONDS", 0.3)
    monkeypatch.setattr("redraft.studio.server.BODY_SECONDS", 0.4)
    host, port = at.url.removeprefix("http://").split(":")
    head = f"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    body = f"{head}Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n"
    for sent in ("", "GET / HT", head, f"{body}{{"):
        with socket.create_connection((host, int(port)), timeout=10) as raw:
            raw.sendall(sent.encode())
            begun = time.monotonic()
            with contextlib.suppress(ConnectionError):
                assert raw.recv(10) == b"", sent
            assert time.monotonic() - begun < 5
    # A little of a head, little of a body, and a steady body.
    for first, size, steady in (("", 1, False), (body, 1, False), (body, 500, True)):
        with socket.create_connection((host, int(port)), timeout=10) as raw:
            raw.sendall(first.encode())
            ended = False
            for _ in range(10 if steady else 20):
                try:
                    raw.sendall(b"x" * size)
                except ConnectionError:
                    ended = True
                    break
                time.sleep(0.1)
            assert ended is not steady, size
            if steady:
                assert raw.recv(12).endswith(b"422")
    with at.client() as client:
        assert client.get("/api/runs").status_code == 200
        time.sleep(0.5)
        assert client.get("/api/runs").status_code == 200, "one that has been answered may wait"


@pytest.mark.slow
def test_oldest_stranger_makes_room(at: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.studio.server.MAX_STRANGERS", 5)
    host, port = at.url.removeprefix("http://").split(":")
    with at.client() as client, contextlib.ExitStack() as stack:
        assert client.get("/api/runs").status_code == 200
        owner = client._transport._pool.connections[0]  # type: ignore[attr-defined]
        raws = []
        for _ in range(9):
            raws.append(stack.enter_context(socket.create_connection((host, int(port)), timeout=5)))
            time.sleep(0.01)
        assert [_is_open(raw) for raw in raws] == [False] * 4 + [True] * 5
        assert client.get("/api/runs").status_code == 200
        assert client._transport._pool.connections == [owner]  # type: ignore[attr-defined]


def _is_open(raw: socket.socket) -> bool:
    raw.settimeout(0.2)
    try:
        return raw.recv(1) != b""
    except ConnectionError:
        return False
    except TimeoutError:
        return True


def test_writing_needs_token_and_origin(at: Served) -> None:
    with at.stranger() as client:
        origin = {"Origin": at.url}
        for path, body in WRITES["POST"]:
            reply = client.post(path, json=body, headers=origin)
            assert reply.status_code == 401, path
            assert reply.headers["www-authenticate"] == "Bearer"
            assert ("send Authorization: Bearer" in reply.text) is path.startswith("/api"), path
        for said in (f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "Basic YTpi", "Bearer ünïcode".encode()):
            assert client.post("/api/runs", json={}, headers={**origin, "Authorization": said}).status_code == 401
        for cookie in ("", TOKEN[:-1], "x"):
            named = {**origin, "Cookie": f"{at.told.cookie}={cookie}"}
            assert client.post("/api/runs", json={}, headers=named).status_code == 401
        assert client.post(f"/api/runs?token={TOKEN}", json={}, headers=origin).status_code == 401
    with at.client() as client:
        assert code(client.post("/api/runs", json={})) == "usage"
        foreign = {"Origin": "http://evil.example"}
        assert client.post("/api/runs", json={}, headers=foreign).status_code == 403, "even with the token"
    with at.stranger() as client:
        cookie = {"Cookie": f"other=1; {at.told.cookie}={TOKEN}", "Origin": at.url}
        assert code(client.post("/api/runs", json={}, headers=cookie)) == "usage"
        assert code(client.post("/api/runs", json={})) == "token", "neither a token nor an origin"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "{here}"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
        {},
    ],
)
def test_nothing_is_written_from_another_page(at: Served, headers: dict[str, str]) -> None:
    """Also with the cookie, which a browser would send along if it were not for its rules."""
    sent = {name: value.replace("{here}", at.url) for name, value in headers.items()}
    with at.stranger(cookies={at.told.cookie: TOKEN}) as client:
        for path, body in WRITES["POST"]:
            reply = client.post(path, json=body, headers=sent)
            assert reply.status_code == 403, (path, headers)
        assert code(client.post("/api/runs", json={}, headers=sent)) == "origin"


def test_address_with_token_sets_a_cookie(at: Served) -> None:
    with at.stranger() as client:
        reply = client.get(f"/runs?kind=refine&token={TOKEN}")
        assert (reply.status_code, reply.headers["location"]) == (303, "/runs?kind=refine")
        cookie = reply.headers["set-cookie"].lower()
        for word in ("httponly", "samesite=strict", "path=/", at.told.cookie):
            assert word in cookie
        assert "set-cookie" not in client.get("/runs?token=wrong-token").headers
        for path in ("//evil.example/x", "/%5Cevil.example", "/\\evil.example"):
            where = client.get(f"{at.url}{path}?token={TOKEN}").headers["location"]
            assert re.match(r"/(?![/\\])", where), where


def test_reading_needs_the_token_here_and_elsewhere(at: Served, open_to_all: Served) -> None:
    with open_to_all.stranger() as client, at.stranger() as neighbour:
        for path in ("/", "/runs", "/api/runs", "/static/base.css", "/api/openapi.json", "/runs/abc123", "/nothing"):
            assert (client.get(path).status_code, neighbour.get(path).status_code) == (401, 401), path
        assert client.get(f"/runs?token={TOKEN}").status_code == 303
        assert client.get("/runs").status_code == 200, "by the cookie"
    with open_to_all.client() as client:
        assert client.get("/api/runs").status_code == 200
        assert client.get("/api/runs", headers={"Host": "192.0.2.7:8765"}).status_code == 200
        assert client.get("/api/runs", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.slow
def test_read_only_studio_has_no_writing_route(tmp_path: Path) -> None:
    with served(filled(tmp_path), read_only=True) as at, at.client() as client:
        for one in (*ENDPOINTS, *(endpoint for extension in extensions() for endpoint in extension.endpoints)):
            if one.method != "GET":
                path = re.sub(r"{\w+}", "abc123", one.path)
                assert client.request(one.method, path, json={}).status_code == 405, path
        for path in ("/runs/new", "/runs/start", "/runs/abc123/resume", "/runs/abc123/review"):
            assert client.post(path).status_code == 405, path
        assert "post" not in json.dumps(client.get("/api/openapi.json").json()["paths"]).lower().split('"')
        writing = {
            route.path for route in at.server._app.routes if getattr(route, "methods", None) and "POST" in route.methods
        }
        assert writing == set()
        for path in ("/runs", "/runs/fork-of-abc123", "/packs/pack-1", "/keyfacts/keyfacts-1"):
            page = client.get(path)
            assert page.status_code == 200, path
            assert 'method="post"' not in page.text
            assert "New run" not in page.text
        assert client.get("/runs/new").status_code == 404


@pytest.mark.slow
def test_oversized_upload_is_refused(at: Served) -> None:
    with at.client() as client:
        large = {"file": ("book.txt", b"A word. " * (MAX_BYTES // 8 + 1), "text/plain")}
        reply = client.post("/api/runs", files=large)
        assert (reply.status_code, code(reply)) == (413, "too_large")

        def pieces() -> Iterator[bytes]:
            for _ in range(MAX_BYTES // 1_000_000 + 2):
                yield b"x" * 1_000_000

        for path in ("/api/runs", "/runs/new"):
            with_type = {"Content-Type": "multipart/form-data; boundary=b"}
            head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'

            def body(head: bytes = head) -> Iterator[bytes]:
                yield head
                yield from pieces()

            assert client.post(path, content=body(), headers=with_type).status_code in (413, 422)
        assert client.post("/api/runs", content=pieces()).status_code == 413
        assert client.post("/api/runs/x/opinions", content=b"x" * 5_000_000).status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/static/../dossier.py",
        "/static/..%2f..%2fstudio/guard.py",
        "/static//etc/passwd",
        "/static/studio/../../../store/store.py",
        "/static/..\\assets.py",
    ],
)
def test_only_styles_and_scripts_are_served(at: Served, path: str) -> None:
    host, port = at.url.removeprefix("http://").split(":")
    # As it stands: a client of good manners would tidy it up.
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        text = f"Authorization: Bearer {TOKEN}\r\nConnection: close"
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{text}\r\n\r\n".encode())
        reply = b"".join(iter(lambda: raw.recv(65536), b""))
    assert reply.split(b" ", 2)[1] == b"404"
    routes = studio(StudioConfig()).routes
    folders = [Path(folder) for route in routes for folder in getattr(route.app, "all_directories", ())]
    names = [file.name for folder in folders for file in folder.rglob("*.*")]
    assert {name.rpartition(".")[2] for name in names} <= {"css", "js", "svg"}
    assert "studio.css" in names


def test_a_token_is_never_logged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with served(tmp_path) as at, at.stranger() as client:
        client.get(f"/?token={TOKEN}")
        client.get(f"/runs/none?token={TOKEN}")
        client.post("/api/runs", json={"text": chapter(), "words": 0}, headers={"Authorization": f"Bearer {TOKEN}"})
    out, err = capfd.readouterr()
    assert TOKEN not in out + err


def test_token_and_address_are_validated() -> None:
    for token in ("short", "with a blank in it", 'quote"quote"quote', "sémantique-longue", "semi;colon;here"):
        with pytest.raises(UsageError, match=r"^the token (?:needs at least 8|has) characters"):
            config_for("127.0.0.1", 1, StudioConfig(token=token))
    local, other = config_for("127.0.0.1", 8765, StudioConfig()), config_for("0.0.0.0", 8766, StudioConfig())
    assert len(local.token) >= 32
    assert local.token != other.token
    assert (local.guarded, other.guarded, other.any_address) == (True, True, True)
    assert (local.exposed, other.exposed) == (False, True)
    assert "evil.example" not in other.hosts
    assert [is_loopback(one) for one in ("localhost", "127.3.2.1", "::1", "0.0.0.0", "10.0.0.1", "box.lan")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
    assert address_of("0.0.0.0", 1, other) == f"http://127.0.0.1:1/?token={other.token}"
    assert (
        address_of("::1", 1, config_for("::1", 1, StudioConfig(read_only=True, token="0123456789")))
        == "http://[::1]:1/?token=0123456789"
    )


def test_taken_port_is_skipped_unless_named() -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen at 127.0.0.1:{port}"):
            listening("127.0.0.1", port)
    with listening("127.0.0.1", None) as first, listening("127.0.0.1", None) as second:
        assert first.getsockname()[1] != second.getsockname()[1]
