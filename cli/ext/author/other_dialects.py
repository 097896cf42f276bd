"""What the doctor says of an extension that does not speak zot's own protocol. Pure."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from cli.doctor.finding import SLOW_S, DoctorFinding, Level, some
from supervisor.discovery.kind import COPILOT
from supervisor.harness.checkup import Force
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.process.stop_policy import Patience
from wire.dialects.table import dialect_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.harness.checkup import CheckupResult

_OF_ITS_LAUNCHER = re.compile(r"zot: (\S+ \S+ asks for Node .*)")
"""What the program that imports a Copilot extension says of the SDK, on stderr."""
_TO_ITS_AUTHOR = "the rest is used; tell its author"


def ready(result: CheckupResult) -> Iterator[DoctorFinding]:
    """Who it is, and how long it took."""
    assert result.ready_s is not None
    name = result.hello_name or "a program without a name"
    said = name if result.version is None else f"{name} {result.version}"
    yield DoctorFinding(Level.OK, "speaks", f"{result.spoken or result.found.manifest.dialect}: {said}")
    for remark in filter(None, map(_OF_ITS_LAUNCHER.fullmatch, result.stderr)):
        yield DoctorFinding(Level.WARN, "node", remark[1], "it may lack what that uses: put such a Node first on PATH")
    manifest = result.found.manifest
    if result.phase is HandshakePhase.SILENT:
        message = f"its list of tools was not complete {manifest.timeouts.ready:g} s after its hello; what came is used"
        yield DoctorFinding(Level.WARN, "ready", message, "if it is only slow, raise timeouts.ready")
        return
    yield DoctorFinding(Level.OK, "ready", f"after {result.ready_s * 1000:.0f} ms")
    if result.ready_s > SLOW_S:
        message = f"it takes {result.ready_s:.1f} s to be ready, and runs wait for it"
        advice = "install it and name its program in exec: npx, uvx and their like look for it at each start"
        if manifest.dialect == COPILOT:
            advice = "do what takes long after joinSession(), and import it when it is used"
        yield DoctorFinding(Level.WARN, "ready", message, advice)


def registrations(result: CheckupResult) -> Iterator[DoctorFinding]:
    """What is left out of its offer, and what could not be read."""
    for text in result.warnings:
        is_at_hand = result.found.manifest.dialect == COPILOT  # who reads this can correct the file
        yield DoctorFinding(Level.WARN, "register", text, "the rest is used" if is_at_hand else _TO_ITS_AUTHOR)
    if result.bad_frames:
        message = f"messages that cannot be read: {some(result.bad_frames)}"
        yield DoctorFinding(Level.WARN, "messages", message, _TO_ITS_AUTHOR)
    if result.junk:
        lines = "1 line is no message" if result.junk == 1 else f"{result.junk} lines are no messages"
        message = f"{lines} of its protocol; the first: {result.first_junk}"
        advice = "they are skipped; such a program should log to stderr, and nothing else to stdout"
        yield DoctorFinding(Level.WARN, "stdout", message, advice)
    if result.is_mute:
        message = "it closed its stdout, and can answer nothing"
        yield DoctorFinding(Level.FAIL, "stdout", message, "it must stay open until its stdin ends")


def end(result: CheckupResult) -> Iterator[DoctorFinding]:
    """How the end of its stdin ended it."""
    if result.force is Force.NOTHING:
        message = f"it ended ({result.exit}) right after its start"
        yield DoctorFinding(Level.FAIL, "stop", message, "such a program serves until its stdin ends")
    elif result.force in (Force.SIGTERM, Force.SIGKILL):
        wait = Patience(term=dialect_named(result.found.manifest.dialect).term_s)
        after = wait.ask if result.force is Force.SIGTERM else wait.ask + wait.term
        message = f"the end of its stdin did not end it: it took {result.force.value} after {after:g} s"
        yield DoctorFinding(Level.WARN, "stop", message, "each stop waits for that; tell its author")
    else:
        assert result.exit is not None
        code = result.exit.code
        how = f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        took = f"{(result.stop_s or 0.0) * 1000:.0f} ms"
        yield DoctorFinding(Level.OK, "stop", f"ended {took} after the end of its stdin, with {how}")
