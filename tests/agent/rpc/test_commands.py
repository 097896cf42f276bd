"""Slash commands of extensions, asked for by a client of rpc."""

from __future__ import annotations

import pytest

from tests.support.extension_folder import extension
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel

ANSWERS = {
    "noop": {"action": "noop", "text": ""},
    "prompt": {"action": "prompt", "text": "ask this"},
    "insert": {"action": "insert", "text": "edit this"},
    "display": {"action": "display", "text": "see this"},
    "fail": "/fail: it cannot",
    "odd": "/odd: extension commands failed: there is no action 'dance'",
}


@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "during a prompt"])
def test_a_command_is_answered_with_what_its_extension_wants_and_what_it_shows_is_a_record_too(is_busy, tmp_path):
    def script(client):
        client.ask("ping")
        client.until("extension", event="started")
        if is_busy:
            client.send("prompt", message="go")
            client.until("text_delta")
        for name, data in ANSWERS.items():
            answer = client.ask("run_command", name=name.capitalize() if name == "noop" else name)
            wanted = data if isinstance(data, str) else {"extension": "commands", **data}
            assert answer.get("data", answer.get("error")) == wanted
            if name in ("display", "insert"):
                shown = {"type": f"ext_{name}", "extension": "commands", "text": data["text"]}
                assert client.until(f"ext_{name}") == shown
        client.ask("abort")

    made = (str(extension(tmp_path, "commands")),)
    served = serve(tmp_path, ScriptedModel(BEGUN), script, extensions=made, extension_wait=30.0, drain_s=30.0)
    assert [line["type"] for line in served.lines if line["type"].startswith("ext_")] == ["ext_insert", "ext_display"]


def test_what_a_command_shows_after_the_end_of_stdin_is_not_lost(tmp_path):
    def script(client):
        client.ask("ping")
        client.until("extension", event="started")
        client.send("run_command", name="display")

    made = (str(extension(tmp_path, "commands")),)
    served = serve(tmp_path, ScriptedModel(), script, extensions=made, extension_wait=30.0, drain_s=30.0)
    assert [line["type"] for line in served.lines[-2:]] == ["response", "ext_display"]
