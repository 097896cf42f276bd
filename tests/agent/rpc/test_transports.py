"""The same request by rpc, by the control socket and by pyzot, to the same server, has the same answer."""

from __future__ import annotations

import os

import msgspec
import pytest

from pyzot import Host, HostRefusedError
from supervisor.control.client import ControlClient, ControlError, Endpoint
from tests.support.extension_folder import extension
from tests.support.patience import PATIENCE_S
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel
from wire import control, frames

FIGURES = ("state", "pids", "workers", "exits", "tools", "definition_tokens", "in_client")
PANEL = {"extension": "commands", "panel_id": "p"}
ROOM = {"width": 80, "height": 24, **PANEL}
UP = {"key": "up", **PANEL}


class Server:
    """A server of rpc with the extension `commands`, by each transport. A refusal is its text."""

    def __init__(self, client, path):
        self.client = client
        self._control = ControlClient(Endpoint(os.getpid(), path), PATIENCE_S)
        self._host = Host(path=path)

    def rpc(self, kind, **members):
        answer = self.client.ask(kind, **members)
        return answer.get("data") if answer["success"] else answer["error"]

    def control(self, request, **members):
        try:
            reply = self._control.ask(request(id=self._control.next_id(), **members), object)
        except ControlError as error:
            return str(error).removeprefix(f"host {os.getpid()}: ")
        return msgspec.to_builtins(reply)

    def pyzot(self, call, *given):
        try:
            return call(self._host, *given)
        except HostRefusedError as error:
            return str(error)

    def close(self):
        self._control.close()
        self._host.close()


def said(answer, *members):
    """These members, of an object or of each in a list; the first of them alone if there is one."""
    if isinstance(answer, list | tuple):
        return [said(each, *members) for each in answer]
    held = answer if isinstance(answer, dict) else {name: getattr(answer, name) for name in members}
    return tuple(list(held[name]) if isinstance(held[name], tuple) else held[name] for name in members)


REQUESTS = {
    "tools": lambda at: (
        said([tool for tool in at.rpc("list_tools")["tools"] if tool["extension"]], "name", "description", "schema"),
        said(at.control(control.Registered)["tools"], "name", "description", "schema"),
        said(at.pyzot(Host.tools), "name", "description", "schema"),
        [("look", "Looks.", {"type": "object"})],
    ),
    "commands": lambda at: (
        said(at.rpc("list_commands")["commands"], "name", "extension"),
        said(at.control(control.Registered)["commands"], "name", "extension"),
        said(at.pyzot(Host.commands), "name", "extension"),
        [(name, "commands") for name in ("noop", "prompt", "insert", "display", "open_panel", "fail", "odd")],
    ),
    "figures": lambda at: (
        said(at.rpc("ext_stats")["extensions"]["commands"], *FIGURES),
        said(at.control(control.GetStats)["stats"]["extensions"]["commands"], *FIGURES),
        said(at.control(control.GetStatus, name="commands")["status"]["stats"], *FIGURES),
        said(at.pyzot(Host.stats).extensions["commands"], *FIGURES),
        said(at.pyzot(Host.status, "commands").stats, *FIGURES),
    ),
    "a reload": lambda at: (
        [(name,) for name in at.rpc("reload_ext", name="commands")["loaded"]],
        said(at.control(control.Reload, name="commands")["outcomes"], "name"),
        said(at.pyzot(Host.reload), "name"),
        [("commands",)],
    ),
    "an unknown extension": lambda at: (
        at.rpc("reload_ext", name="comands"),
        at.control(control.Reload, name="comands"),
        at.control(control.RestartExtension, name="comands"),
        at.pyzot(Host.reload, "comands"),
        at.pyzot(Host.status, "comands"),
        "no such extension: 'comands'; did you mean 'commands'?",
    ),
    "an extension without a name": lambda at: (
        at.rpc("reload_ext", name=""),
        at.control(control.Reload, name=""),
        at.control(control.RestartExtension, name=""),
        at.pyzot(Host.reload, ""),
        at.pyzot(Host.restart, ""),
        "no such extension: ''; there is commands",
    ),
    "what only a host does": lambda at: (
        at.control(frames.ToolCall, name="look", args=msgspec.Raw(b"{}"))[:22],
        at.control(frames.CommandInvoked, name="display")[:22],
        at.control(frames.EventIntercept, event="user_prompt")[:22],
        at.pyzot(Host.call, "look")[:22],
        at.pyzot(Host.judge, "user_prompt")[:22],
        at.pyzot(Host.command, "/display")[:22],
        "this is an agent's run",
    ),
    "a panel that is not open": lambda at: (
        at.rpc("panel_key", **UP),
        at.rpc("panel_resize", **ROOM),
        at.control(control.PanelKey, **UP),
        at.control(control.PanelResize, **ROOM),
        at.control(control.PanelClose, **PANEL),
        "no such open panel: 'commands/p'; there is none",
    ),
}
"""Requests, good and bad, with their answers, which are all the same."""
PANELS = {
    "rpc": (
        lambda at: at.client.send("panel_resize", **ROOM),
        lambda at: at.client.send("panel_key", **UP),
        lambda at: at.client.send("panel_close", **PANEL),
    ),
    "control": (
        lambda at: at.control(control.PanelResize, **ROOM),
        lambda at: at.control(control.PanelKey, **UP),
        lambda at: at.control(control.PanelClose, **PANEL),
    ),
}


@pytest.fixture
def served(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)

    def run(script):
        def drive(client):
            client.ask("ping")
            client.until("extension", event="started")
            at = Server(client, tmp_path / "home" / "run" / f"{os.getpid()}.sock")
            try:
                script(at)
            finally:
                at.close()

        folders = (str(extension(tmp_path, "commands")),)
        serve(tmp_path, ScriptedModel(), drive, extensions=folders, extension_wait=30.0)

    return run


def test_each_transport_has_the_same_answer(served):
    def script(at):
        answers = {name: request(at) for name, request in REQUESTS.items()}
        assert {name: found for name, found in answers.items() if any(each != found[0] for each in found)} == {}

    served(script)


@pytest.mark.parametrize("transport", PANELS)
def test_a_panel_is_opened_used_and_closed(served, transport):
    def script(at):
        at.client.send("run_command", name="open_panel")
        opened = at.client.until("panel_open", **PANEL)
        assert (opened["title"], opened["lines"]) == ("Panel", ["one"])
        resize, press, close = PANELS[transport]
        resize(at)
        press(at)
        assert at.client.until("panel_render")["lines"] == ["up"]
        close(at)
        at.client.until("panel_close", **PANEL)

    served(script)
