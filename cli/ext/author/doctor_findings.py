"""Turns a manifest's text and the result of a checkup into findings with advice. Pure."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from cli.doctor.finding import SLOW_S, DoctorFinding, Level, some
from cli.ext.author import other_dialects
from cli.ext.author.diagnosis import why_no_hello, why_no_start, will_not_travel
from cli.ext.author.start_facts import Facts
from supervisor.harness.checkup import Force
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.process.stop_policy import Patience
from supervisor.registry.definition_size import too_large
from wire.dialects.table import ZOT
from wire.manifest import FILE
from wire.settings.manifest_faults import all_faults
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.ext.author.diagnosis import Diagnosis
    from supervisor.harness.checkup import CheckupResult
    from supervisor.harness.program_facts import ProgramFacts
    from wire.settings.manifest_faults import Fault

TALKATIVE = 1000
"""Lines on stdout without a request from the host. So many are a finding."""
INSTRUCTIONS_SHOWN = 200
"""Characters of what it adds to the system prompt."""
STDERR_SHOWN = 8
"""Last lines of stderr that are shown when a start fails."""


def judge_manifest(text: bytes) -> list[DoctorFinding]:
    """A finding about each fault of a manifest that cannot be used. None, if a host can use it."""
    return [_manifest_fault(fault) for fault in all_faults(text)]


def _manifest_fault(fault: Fault) -> DoctorFinding:
    if (place := fault.place) is None:
        return DoctorFinding(Level.FAIL, "manifest", fault.message)
    lines = (place.quoted, " " * place.caret + "^") if place.quoted else ()
    message = f"{FILE}:{place.line}:{place.column}: {fault.message}"
    return DoctorFinding(Level.FAIL, "manifest", message, place=place, lines=lines)


def judge(result: CheckupResult, program: ProgramFacts) -> list[DoctorFinding]:
    """Findings about one extension, from its manifest to its end."""
    facts = Facts(program, result)
    return [
        *_unknown_fields(result),
        *_start(facts),
        *_registrations(result),
        *_stdout(result),
        *_end(result),
        *_environment(result),
    ]


def _unknown_fields(result: CheckupResult) -> Iterator[DoctorFinding]:
    if remark := result.found.manifest.remark:
        kind = result.found.kind
        yield DoctorFinding(Level.WARN, kind.described_in, remark, kind.fields_advice)


def _start(facts: Facts) -> Iterator[DoctorFinding]:
    result = facts.result
    if result.spawn_error:
        yield _failure("start", result.spawn_error, result, why_no_start(facts))
        return
    if (why := will_not_travel(facts)) is not None:
        yield DoctorFinding(Level.WARN, "elsewhere", why.message, why.advice, why.rule)
    if result.phase is HandshakePhase.FAILED:
        yield _failure("handshake", result.failure, result, why_no_hello(facts))
        return
    if not _speaks_zot(result):
        yield from other_dialects.ready(result)
        return
    assert result.ready_s is not None
    name = result.found.manifest.name
    yield DoctorFinding(Level.OK, "ready", f"after {result.ready_s * 1000:.0f} ms")
    if result.phase is HandshakePhase.SILENT:
        message = "it never said ready; silence was taken for it"
        yield DoctorFinding(
            Level.WARN, "ready", message, 'send {"type":"ready"} after the last registration: it starts faster'
        )
    elif result.ready_s > SLOW_S:
        advice = "import and connect when the first call comes: runs wait for extensions that are not ready"
        yield DoctorFinding(Level.WARN, "ready", f"it takes {result.ready_s:.1f} s to be ready", advice)
    if result.hello_name != name:
        message = f"it says hello as {result.hello_name!r}; its manifest, which counts, says {name!r}"
        yield DoctorFinding(Level.WARN, "name", message, "say the same name in both")


def _failure(topic: str, failure: str, result: CheckupResult, why: Diagnosis | None) -> DoctorFinding:
    """The failure of a start, with its diagnosis or else with the cause that stderr names, and the end of stderr."""
    said = failure + (f": {why.message}" if why is not None and why.message else result.last_words)
    tail = result.stderr[-STDERR_SHOWN:]
    return DoctorFinding(Level.FAIL, topic, said, why.advice if why else "", why.rule if why else "", lines=tail)


def _registrations(result: CheckupResult) -> Iterator[DoctorFinding]:
    if result.phase is HandshakePhase.FAILED or result.spawn_error:
        return
    yield DoctorFinding(Level.OK, "offers", offers(result))
    yield from _size(result)
    if result.instructions:
        yield DoctorFinding(Level.OK, "instructions", one_line(result.instructions, INSTRUCTIONS_SHOWN))
    if not _speaks_zot(result):
        yield from other_dialects.registrations(result)
        return
    for text in result.warnings:
        yield DoctorFinding(
            Level.FAIL, "register", text, "zot ext schema register_tool shows what a registration may be"
        )
    for text in result.remarks:
        yield DoctorFinding(Level.WARN, "register", text)
    if result.bad_frames:
        message = some(result.bad_frames)
        yield DoctorFinding(
            Level.FAIL, "frames", message, "zot ext schema frame.from-extension shows the fields of all frames"
        )
    if result.unknown_frames:
        message = f"frames that no host knows: {some(result.unknown_frames)}; they are ignored"
        yield DoctorFinding(Level.WARN, "frames", message, "zot ext schema lists the frames that there are")


def _size(result: CheckupResult) -> Iterator[DoctorFinding]:
    tokens = result.definition_tokens
    if message := too_large(len(result.tools), tokens):
        yield DoctorFinding(Level.WARN, "size", message, "zot ext info says which limits and filters it has")
    elif result.tools and not _speaks_zot(result):
        yield DoctorFinding(Level.OK, "size", f"about {tokens:,} tokens of each request")


def _speaks_zot(result: CheckupResult) -> bool:
    return result.found.manifest.dialect == ZOT


def _stdout(result: CheckupResult) -> Iterator[DoctorFinding]:
    if result.lines >= TALKATIVE:
        message = f"it said more than {TALKATIVE} lines although nobody asked"
        yield DoctorFinding(Level.WARN, "stdout", message, "say what has changed only")
    if not _speaks_zot(result):
        return
    if result.junk:
        lines = "1 line is" if result.junk == 1 else f"{result.junk} lines are"
        message = f"{lines} not frames; the first: {result.first_junk}"
        yield DoctorFinding(Level.WARN, "stdout", message, "print to stderr instead: stdout is for frames only")
    if result.is_mute and result.phase is not HandshakePhase.FAILED:
        message = "it closed its stdout, and can answer nothing"
        yield DoctorFinding(Level.FAIL, "stdout", message, "keep it open until shutdown")


def _end(result: CheckupResult) -> Iterator[DoctorFinding]:
    if not _speaks_zot(result) and not result.spawn_error:
        if result.phase is not HandshakePhase.FAILED:
            yield from other_dialects.end(result)
        yield from _left(result)
        return
    if result.spawn_error or result.force is Force.NOTHING:
        if result.phase is not HandshakePhase.FAILED and not result.spawn_error:
            message = f"it ended ({result.exit}) right after the handshake"
            yield DoctorFinding(Level.FAIL, "shutdown", message, "go on reading stdin until shutdown or its end")
        return
    if result.force in (Force.SIGTERM, Force.SIGKILL):
        wait = Patience()
        after = wait.ask if result.force is Force.SIGTERM else wait.ask + wait.term
        message = f"neither shutdown nor the end of stdin ended it: it took {result.force.value} after {after:g} s"
        advice = "on shutdown send shutdown_ack and exit; end also when stdin ends"
        if result.force is Force.SIGKILL:
            advice += ", and do not block SIGTERM"
        yield DoctorFinding(Level.FAIL, "shutdown", message, advice)
    else:
        yield from _orderly_end(result)
    yield from _left(result)


def _left(result: CheckupResult) -> Iterator[DoctorFinding]:
    if result.left:
        left = "1 process of its own was" if result.left == 1 else f"{result.left} processes of its own were"
        message = f"{left} still running after its end"
        yield DoctorFinding(Level.WARN, "processes", message, "end what you start; the host ends it otherwise")


def _orderly_end(result: CheckupResult) -> Iterator[DoctorFinding]:
    assert result.exit is not None
    took = f"{(result.stop_s or 0.0) * 1000:.0f} ms"
    code = result.exit.code
    if result.phase is HandshakePhase.FAILED:
        return
    if code != 0:
        how = f"exit status {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        message = f"it ended with {how} after the shutdown"
        yield DoctorFinding(
            Level.WARN, "shutdown", message, "exit with 0: another status counts as a failure and is restarted"
        )
    elif not result.has_acked:
        what = "when its stdin was closed" if result.force is Force.CLOSED_STDIN else "without a shutdown_ack"
        message = f"it ended after {took}, {what}"
        advice = "answer shutdown with shutdown_ack, so that nobody has to wait"
        yield DoctorFinding(Level.OK, "shutdown", message, advice)
    else:
        yield DoctorFinding(Level.OK, "shutdown", f"answered; ended after {took} with status 0")


def _environment(result: CheckupResult) -> Iterator[DoctorFinding]:
    if asked := result.found.manifest.env:
        yield DoctorFinding(Level.OK, "env", f"asks for {', '.join(asked)}")
    if result.missing_env and not result.found.kind.is_expanded:
        message = f"not set here: {', '.join(result.missing_env)}"
        yield DoctorFinding(Level.WARN, "env", message, "export it before zot is started")


def offers(result: CheckupResult) -> str:
    """The registrations, in words."""
    said = [
        f"{what} {', '.join(names)}"
        for what, names in (
            ("tool" + "s" * (len(result.tools) > 1), result.tools),
            ("command" + "s" * (len(result.commands) > 1), [f"/{name}" for name in result.commands]),
            ("observes", result.events),
            ("guards", result.intercepts),
        )
        if names
    ]
    return "; ".join(said) or "nothing"
