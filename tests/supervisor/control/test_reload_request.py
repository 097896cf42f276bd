"""`reload` on the control socket: answered once all has come to an end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.control_peer import Peer, Serving
from wire import control

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path / "run") as one:
        yield one


@pytest.fixture
def client(serving: Serving) -> Peer:
    return serving.client()


def test_it_is_answered_when_it_has_ended(serving: Serving, client: Peer):
    client.say({"type": "reload", "id": "1", "name": "beta"}, {"type": "reload", "id": "2"})
    serving.until(lambda: len(serving.served.reloads) == 2)
    (one, done), (every, all_done) = serving.served.reloads
    assert (one, every) == ("beta", None)
    all_done(())
    done((control.ReloadOutcome("beta", "kept", "exit 3"),))
    assert client.replies(2) == [
        {"type": "reloaded", "id": "2", "outcomes": []},
        {"type": "reloaded", "id": "1", "outcomes": [{"name": "beta", "outcome": "kept", "reason": "exit 3"}]},
    ]


def test_a_name_that_is_none(client: Peer):
    reply = client.ask(type="reload", id="3", name="bteta")
    assert (reply["type"], reply["id"]) == ("error", "3")
    assert reply["message"] == "no such extension: 'bteta'; did you mean 'beta'?"


def test_a_client_that_leaves_costs_nothing(serving: Serving, client: Peer):
    client.say({"type": "reload", "id": "1"})
    serving.until(lambda: serving.served.reloads)
    client.close()
    serving.until(lambda: serving.server.clients == 0)
    serving.served.reloads[0][1](())


def test_a_host_that_stops_begins_none(serving: Serving, client: Peer):
    serving.server.wind_down()
    assert client.ask(type="reload", id="1")["message"] == "the host is stopping"
    assert serving.served.reloads == []
