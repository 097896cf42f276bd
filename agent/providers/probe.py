"""Tries a credential with one request for one token, through the same model worker as a run."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from agent.model.anthropic_provider import AnthropicProvider
from agent.model.request import build_params
from agent.transcript import Message, Text, now
from supervisor.loop.loop import Loop
from supervisor.process.teardown import stop_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.model.access import Access

TIMEOUT_S = 30.0
"""Maximum for the start of the worker, the request and its retries, in seconds."""
CHEAPEST = "claude-haiku-5-5"
"""The model of the request if none is named."""


class ProbeOutcome(Enum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    """The server does not take this credential."""
    UNKNOWN = "unknown"
    """Nothing is known about the credential: the server could not be reached, or is no server of this API."""


class Probe(msgspec.Struct, frozen=True):
    outcome: ProbeOutcome
    said: str
    """The result in words, for a person."""


def probe(access: Access, model: str, *, timeout_s: float = TIMEOUT_S) -> Probe:
    """Sends one request and waits for its end, at most `timeout_s` seconds. Raises `KeyboardInterrupt`."""
    loop = Loop()
    provider = AnthropicProvider(loop, access)
    try:
        prompt = [Message("user", (Text("Hi"),), now())]
        params = build_params(model=model, system="", messages=prompt, tools=[], max_tokens=1, reasoning=None)
        stream = provider.request(params)
        lines: list[Mapping[str, Any]] = []

        def is_over() -> bool:
            while stream.has_line():
                lines.append(stream.take())
            return bool(lines) and lines[-1]["type"] in ("final", "error")

        if loop.run_until(is_over, loop.clock() + timeout_s):
            return judge(lines[-1], model, access.endpoint.shown)
        return Probe(ProbeOutcome.UNKNOWN, f"{access.endpoint.shown} did not answer within {timeout_s:g} s")
    finally:
        stop_all(loop, provider.stoppables(), at_once=True)
        loop.close()


def judge(line: Mapping[str, Any], model: str, endpoint: str) -> Probe:
    """Judges the credential by the last line of a reply. Pure.

    Servers check the credential before the request, so an error about the model or about money means that they know
    it. Another HTTP 400 tells nothing: a LiteLLM proxy without a database answers so to a wrong key.
    """
    if line["type"] == "final":
        return Probe(ProbeOutcome.ACCEPTED, f"{endpoint} accepts it: {model} has answered")
    status, message = line.get("status"), str(line.get("message") or "")
    if status in (401, 403):
        return Probe(ProbeOutcome.REFUSED, f"{endpoint} refuses it: {message}")
    about_model = status in (400, 404, 422) and "model" in message.lower()
    about_money = status == 402 or (status is not None and "credit balance" in message.lower())
    if about_model or about_money:
        return Probe(ProbeOutcome.ACCEPTED, f"{endpoint} accepts it, but not the request for {model}: {message}")
    advice = str(line.get("advice") or "")
    return Probe(ProbeOutcome.UNKNOWN, f"it could not be tried: {message}" + (f"; {advice}" if advice else ""))
