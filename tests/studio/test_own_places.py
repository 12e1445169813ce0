"""Addresses on record are those of the database alone, also in the browser."""

from __future__ import annotations

import pytest

from tests.leaks.test_own_places import Scene, scene
from tests.studio.served import served

__all__ = ["scene"]


@pytest.mark.nightly
def test_studio_follows_the_same_rule(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "NO_PROXY"):
        monkeypatch.setenv(name, scene.command.environment[name])
    scene.resumed()
    scene.edit("settings", {"base_url": "STRANGER"})
    scene.change("UPDATE runs SET status = ?", "interrupted")
    with served(scene.command.folder) as studio, studio.client() as client:
        for path, body in (
            (f"/api/runs/{scene.run}/resume", {}),
            (f"/api/runs/{scene.run}/fork", {"round": 0, "rounds": 1}),
            (f"/api/runs/{scene.run}/ask", {"question": "Who kept the light?"}),
        ):
            reply = client.post(path, json=body)
            assert reply.status_code in (409, 422), (path, reply.text)
            assert "only its database names" in reply.text, (path, reply.text)
    assert (scene.stranger.seen, scene.stranger.looked) == ([], [])
