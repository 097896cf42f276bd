"""Judges a trial of two sessions by the answers alone. Pure. It shows confusion, and never that there is none."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from supervisor.harness.session_trial import TRY_S
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.harness.session_trial import SessionTrial, TriedCall

QUOTED = 200
"""Maximum number of characters that are shown of an answer."""
_NOT_FOUND = re.compile(r"no such|not found|not exist|enoent", re.IGNORECASE)
_BY_FRAME = "resolve paths against the cwd of the frame, and keep state by its session_id"
_ANNOUNCE = 'say "features": ["leases"] in the hello, and answer lease_begin; an SDK does both with on_lease_begin'
_ANSWER = "answer with lease_ready and the id of the lease_begin, once nothing of the session before is left"


class Evidence(NamedTuple):
    """One observation. `lines` are answers of the extension."""

    is_fault: bool
    message: str
    advice: str = ""
    lines: tuple[str, ...] = ()


def judge_sessions(trial: SessionTrial, own_folder: str) -> Iterator[Evidence]:
    """The evidence of two sessions at the same time. `own_folder` is the one in which the process runs."""
    for tool in dict.fromkeys(call.tool for call in trial.calls):
        calls = [call for call in trial.calls if call.tool == tool]
        faults = {fault: call.text for call in calls if (fault := _fault(call, trial, own_folder))}
        for fault, text in faults.items():
            yield Evidence(True, f"{tool} {fault}", _BY_FRAME, (one_line(text, QUOTED),))
        if not faults:
            yield Evidence(False, f"{tool}, called in two sessions at once, {_outcome(calls)}")
    if trial.untried:
        yield Evidence(False, f"not tried with two sessions, as they may write: {', '.join(trial.untried)}")
    if not (trial.calls or trial.untried):
        yield Evidence(False, "not tried with two sessions: no tool has a path among its arguments")


def _fault(call: TriedCall, trial: SessionTrial, own_folder: str) -> str:
    """The confusion that an answer shows; "" if it shows none."""
    own, text = call.session, call.text
    (other,) = (session for session in trial.sessions if session is not own)
    if call.result is not None and call.result.session_id not in (None, own.about.id):
        return f"answers a call of the {own.name} session for session {one_line(call.result.session_id, QUOTED)!r}"
    if other.secret in text or other.about.cwd in text:
        return f"answers a call of the {own.name} session with what is in the folder of the {other.name}"
    if trial.probe not in text or own.secret in text or own.about.cwd in text:
        return ""
    if any(os.path.join(folder, trial.probe) in text for folder in (own_folder, os.path.realpath(own_folder))):
        return "looks for a relative path in its own folder"
    return "does not find a file of the session's folder by its relative path" if _NOT_FOUND.search(text) else ""


def _outcome(calls: list[TriedCall]) -> str:
    if any(call.result is None for call in calls):
        return f"gave no answer within {TRY_S:g} s"
    if all(call.session.secret in call.text for call in calls):
        return "found what is in the folder of each; nothing else was tried"
    return "showed neither that it confuses them nor that it keeps them apart"


def judge_leases(trial: SessionTrial) -> Iterator[Evidence]:
    """The evidence of two leases, one after the other."""
    if not trial.is_announced:
        yield Evidence(True, "its hello does not announce the feature leases: it stays private", _ANNOUNCE)
    for which, seconds in zip(("the first lease_begin", "the one after lease_end"), trial.ready_s, strict=False):
        if seconds is None:
            yield Evidence(True, f"it did not answer {which} within {TRY_S:g} s: a host replaces it", _ANSWER)
        else:
            yield Evidence(False, f"lease_ready came {seconds * 1000:.0f} ms after {which}")
