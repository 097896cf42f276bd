"""`zot ext stop` and `zot ext start`: stop an extension of a running host, and start it again."""

from __future__ import annotations

from cli.ext.live.consent import order
from cli.hosts.find import host_of
from cli.json_line import print_json
from cli.terminal import say, terminal_text
from wire import control

STOP_S = 60.0
"""Seconds to wait for the end of all processes of an extension."""


def run_stop(name: str, pid: int | None, *, yes: bool, as_json: bool) -> int:
    """Returns the exit status when no process of the extension is left, or a person has said no. Raises `ControlError`,
    and `CommandLineError` for an unknown name, or if a person should be asked and there is none."""
    client, name = host_of(name, pid)
    with client:
        reply = order(
            client,
            name,
            lambda consent: control.StopExtension(client.next_id(), name, consent),
            control.Switched,
            yes=yes,
            may_ask=not as_json,
            question=f"stop {terminal_text(name, 200)}?",
            within_s=STOP_S,
        )
        if reply is not None:
            said = f"host {client.pid} has stopped {terminal_text(name, 200)}"
            _tell("stop", name, client.pid, reply, said, f"{terminal_text(name, 200)} is stopped already", as_json)
    return 0


def run_start(name: str, pid: int | None, *, as_json: bool) -> int:
    """Returns the exit status when the host has begun the start. Raises `ControlError`, and `CommandLineError` for an
    unknown name."""
    client, name = host_of(name, pid)
    with client:
        reply = client.ask(control.StartExtension(client.next_id(), name), control.Switched)
        already = f"{terminal_text(name, 200)} needs no start: it is {reply.state}"
        said = f"host {client.pid} starts {terminal_text(name, 200)}"
        _tell("start", name, client.pid, reply, said, already, as_json)
    return 0


def _tell(command: str, name: str, host: int, reply: control.Switched, done: str, already: str, as_json: bool) -> None:
    if as_json:
        print_json({"host": host, "name": name, "changed": reply.changed, "state": reply.state})
    else:
        say(f"zot ext {command}: {done if reply.changed else already}")
