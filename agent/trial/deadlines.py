"""The deadlines of extensions in a trial. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from wire.manifest import Timeouts

SHARES = {"hello": 1 / 3, "ready": 1 / 6, "tool_call": 1 / 4, "command": 1 / 4, "intercept": 1 / 12}
"""The longest deadlines as parts of the time that a trial may take: a run with one extension that hangs in a call, or
in several verdicts, ends by itself before the trial is ended."""


def shorten(timeouts: Timeouts, default_hello_s: float, longest_s: float) -> Timeouts:
    """The deadlines in a trial of at most `longest_s` seconds. None is longer than the extension's own."""
    own = {name: getattr(timeouts, name) for name in SHARES}
    own["hello"] = own["hello"] or default_hello_s
    return replace(timeouts, **{name: min(own[name], longest_s * share) for name, share in SHARES.items()})
