"""Slash commands of extensions, asked for by a client of rpc."""

from __future__ import annotations

import pytest

from tests.support.extension_folder import extension
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel

BEGUN = [{"type": "message_start", "usage": {}}, {"type": "text_delta", "delta": "Once"}]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("noop", {"action": "noop", "text": ""}),
        ("prompt", {"action": "prompt", "text": "ask this"}),
        ("insert", {"action": "insert", "text": "edit this"}),
        ("display", {"action": "display", "text": "see this"}),
        ("fail", "/fail: it cannot"),
        ("odd", "/odd: extension commands failed: there is no action 'dance'"),
    ],
)
def test_a_command_is_answered_with_what_its_extension_wants(name, data, tmp_path):
    def script(client):
        client.ask("ping")
        client.until("extension", event="started")
        answer = client.ask("run_command", name=name)
        assert answer.get("data", answer.get("error")) == (
            data if isinstance(data, str) else {"extension": "commands", **data}
        )

    serve(tmp_path, ScriptedModel(), script, extensions=(str(extension(tmp_path, "commands")),), extension_wait=30.0)


@pytest.mark.parametrize(("name", "kind"), [("display", "ext_display"), ("insert", "ext_insert")])
@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "during a prompt"])
def test_what_a_command_shows_is_a_record_too(name, kind, is_busy, tmp_path):
    def script(client):
        client.ask("ping")
        client.until("extension", event="started")
        if is_busy:
            client.send("prompt", message="go")
            client.until("text_delta")
        answer = client.ask("run_command", name=name)
        assert client.until(kind) == {"type": kind, "extension": "commands", "text": answer["data"]["text"]}
        client.ask("abort")
        client.ask("run_command", name="noop")
        client.ask("run_command", name="prompt")

    made = (str(extension(tmp_path, "commands")),)
    served = serve(tmp_path, ScriptedModel(BEGUN), script, extensions=made, extension_wait=30.0, drain_s=30.0)
    assert [line["type"] for line in served.lines if line["type"].startswith("ext_")] == [kind]


def test_what_a_command_shows_after_the_end_of_stdin_is_not_lost(tmp_path):
    def script(client):
        client.ask("ping")
        client.until("extension", event="started")
        client.send("run_command", name="display")

    made = (str(extension(tmp_path, "commands")),)
    served = serve(tmp_path, ScriptedModel(), script, extensions=made, extension_wait=30.0, drain_s=30.0)
    assert [line["type"] for line in served.lines[-2:]] == ["response", "ext_display"]
