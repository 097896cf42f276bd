"""Orders to a host that a person may have to agree to: asks at a terminal, and refuses without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cli.choices import CommandLineError
from cli.terminal import ask, is_attended, say, terminal_text
from supervisor.control.client import ControlError
from wire import control
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.control.client import ControlClient, Expected

REASON = 1000
"""Maximum length of a shown reason in characters."""


def order(
    client: ControlClient,
    name: str,
    request: Callable[[bool], control.StopExtension | control.SetLimits],
    expected: type[Expected],
    *,
    yes: bool,
    may_ask: bool,
    question: str,
    within_s: float | None = None,
) -> Expected | None:
    """Sends a request about the extension `name`, which `request` makes of the consent. Returns the answer; None if a
    person has said no. Raises `CommandLineError` if nobody can be asked, and `ControlError`."""
    first = request(yes)
    client.send(first)
    reply = client.answer_to(first.id, msgspec.Struct, within_s)
    if isinstance(reply, control.ConsentNeeded):
        reasons = [one_line(reason, REASON) for reason in reply.reasons]
        if not (may_ask and is_attended()):
            said = f"{terminal_text(name, 200)}: {'; '.join(reasons)}"
            raise CommandLineError(f"{said}; there is no terminal to ask: --yes agrees to it")
        for reason in reasons:
            say(f"{terminal_text(name, 200)}: {reason}")
        if not ask(question):
            say("aborted; nothing has changed")
            return None
        again = request(True)
        client.send(again)
        reply = client.answer_to(again.id, msgspec.Struct, within_s)
    if not isinstance(reply, expected):
        raise ControlError(f"host {client.pid} answered with {reply.__struct_config__.tag}")
    return reply
