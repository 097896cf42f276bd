"""The server of the control socket: shows what it knows, and winds down."""

from __future__ import annotations

from tests.support.control_peer import Serving


def test_a_client_that_watches_gets_stats_and_notices(serving, client):
    client.say({"type": "watch", "id": "w", "stats_s": 0.1, "notices": True})
    ok, first, second = client.replies(3)
    assert (ok, first["type"], second["type"]) == ({"type": "ok", "id": "w"}, "stats", "stats")
    assert second["time"] > first["time"]
    serving.server.notice("alpha", "failed", "gone \udcff")
    client.say({"type": "watch", "id": "off"})
    seen = []
    while not seen or seen[-1] != {"type": "ok", "id": "off"}:
        seen += client.replies(1)
    assert {"type": "extension", "extension": "alpha", "event": "failed", "message": "gone �"} in seen
    serving.server.notice("alpha", "failed", "again")
    assert client.ask(type="info", id="last")["id"] == "last"


def test_a_client_that_watches_registrations_is_told_of_changes_together(serving, client):
    other = serving.client()
    client.ask(type="watch", id="w", registrations=True)
    other.ask(type="watch", id="w", notices=True)
    (changed,) = serving.served.on_change
    (start_over,) = serving.served.on_start_over
    for _ in range(100):
        changed()
        start_over()
    assert client.replies(1) == [{"type": "registrations_changed"}]
    client.ask(type="watch", id="off")
    changed()
    assert client.ask(type="info", id="last")["id"] == other.ask(type="info", id="last")["id"] == "last"


def test_a_run_shows_itself_and_refuses_calls(tmp_path):
    with Serving(tmp_path / "run", kind="run") as serving:
        client = serving.client()
        assert client.ask(type="info", id="1")["kind"] == "run"
        assert client.ask(type="get_stats", id="2")["type"] == "stats_reply"
        assert client.ask(type="registered", id="3")["type"] == "registrations"
        assert client.ask(type="restart", id="4", name="alpha")["type"] == "ok"
        for request in (
            {"type": "tool_call", "name": "echo", "args": {}},
            {"type": "command_invoked", "name": "hello"},
            {"type": "event_intercept", "event": "tool_call"},
        ):
            reply = client.ask(**request, id="5")
            assert (reply["type"], reply["id"]) == ("error", "5")
            assert reply["message"].startswith("this is an agent's run")
        assert client.ask(type="event", event="turn_start")["message"].startswith("this is an agent's run")
        assert client.ask(type="stop", id="6") == {"type": "ok", "id": "6"}
        assert serving.stops == 1
    assert serving.served.told == []


def test_after_a_stop_only_information_is_given(serving, client):
    assert client.ask(type="restart", id="1", name="beta") == {"type": "ok", "id": "1"}
    assert serving.served.restarted == ["beta"]
    assert client.ask(type="stop", id="2") == {"type": "ok", "id": "2"}
    assert client.ask(type="stop", id="3") == {"type": "ok", "id": "3"}
    assert serving.stops == 1
    assert client.ask(type="info", id="4")["type"] == "host_info"
    for request in ({"type": "restart", "name": "beta"}, {"type": "tool_call", "name": "echo", "args": {}}):
        assert client.ask(**request, id="5") == {"type": "error", "id": "5", "message": "the host is stopping"}
    assert serving.served.asked == []
