"""Judges an extension by its manifest's text and by the result of a checkup. Pure.

A finding about a failed start quotes the last words of the program (`supervisor.process.exit_cause`). Advice is only
about the protocol: wrong advice costs more time than none.
"""

from __future__ import annotations

import re
import signal
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from supervisor.discovery.kind import COPILOT
from supervisor.harness.checkup import Force
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.harness.session_evidence import judge_leases, judge_sessions
from supervisor.process.stop_policy import Patience
from supervisor.registry.definition_size import size_warning
from wire.dialects.table import ZOT, find_dialect
from wire.manifest import FILE
from wire.settings.manifest_faults import all_faults
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.checkup import CheckupResult
    from wire.lenient_json import Place
    from wire.settings.manifest_faults import ManifestFault

SLOW_S = 2.0
"""Seconds from the start of the process to ready. A run delays its first request until extensions are ready."""
TALKATIVE = 1000
"""Number of lines on stdout without a request from the host that is a finding."""
INSTRUCTIONS_SHOWN = 200
"""Maximum number of characters that are shown of its text for the system prompt."""
STDERR_SHOWN = 8
"""Maximum number of last lines of stderr that are shown when a start fails."""
FAULTS_NAMED = 3
"""Maximum number of faults of one kind that are named; the others are counted."""
_OF_ITS_LAUNCHER = re.compile(r"zot: (\S+ \S+ asks for Node .*)")
"""Line on stderr about the SDK, from the program that imports a Copilot extension."""
_IF_MCP = 'for an MCP server write "dialect": "mcp" into extension.json'
_TO_ITS_AUTHOR = "the rest is used; tell its author"


class FindingLevel(Enum):
    OK = "ok"
    WARN = "warn"
    """The part works, but with less than is possible."""
    FAIL = "fail"


class Finding(NamedTuple):
    """One finding about an extension. `advice` says what to do; it may be empty."""

    level: FindingLevel
    topic: str
    message: str
    advice: str = ""
    place: Place | None = None
    """Where in the manifest the fault is."""
    lines: tuple[str, ...] = ()
    """Lines that are shown below, as they are: the faulty line of the manifest, or the last lines of stderr."""


def worst(findings: Sequence[Finding]) -> FindingLevel:
    """The worst level of the findings; OK without findings."""
    order = list(FindingLevel)
    return max((finding.level for finding in findings), key=order.index, default=FindingLevel.OK)


def judge_manifest(text: bytes, *, has_theme: bool = False) -> list[Finding]:
    """A finding about each fault of an unusable manifest; empty if a host can use it. `has_theme`: as in
    `parse_manifest`."""
    return [_manifest_fault(fault) for fault in all_faults(text, has_theme=has_theme)]


def _manifest_fault(fault: ManifestFault) -> Finding:
    if (place := fault.place) is None:
        return Finding(FindingLevel.FAIL, "manifest", fault.message)
    lines = (place.quoted, " " * place.caret + "^") if place.quoted else ()
    message = f"{FILE}:{place.line}:{place.column}: {fault.message}"
    return Finding(FindingLevel.FAIL, "manifest", message, place=place, lines=lines)


def judge(result: CheckupResult) -> list[Finding]:
    """Findings about one extension, from its manifest to its end."""
    return [
        *judge_remark(result.found),
        *_start(result),
        *_registrations(result),
        *_sessions(result),
        *_stdout(result),
        *_end(result),
        *_environment(result),
    ]


def judge_remark(found: FoundExtension) -> Iterator[Finding]:
    """A finding about the unknown fields of a manifest."""
    if remark := found.manifest.remark:
        yield Finding(FindingLevel.WARN, found.kind.described_in, remark, found.kind.fields_advice)


def _start(result: CheckupResult) -> Iterator[Finding]:
    if result.spawn_error:
        advice = f"see its {result.found.kind.described_in}: a name is looked up on PATH, ./NAME is in its folder"
        yield Finding(FindingLevel.FAIL, "start", result.spawn_error, advice)
        return
    if result.phase is HandshakePhase.FAILED:
        message, advice = _instead_of_hello(result)
        said = f"{result.failure}: {message}" if message else f"{result.failure}{result.last_words}"
        yield Finding(FindingLevel.FAIL, "handshake", said, advice, lines=result.stderr[-STDERR_SHOWN:])
        return
    if not _speaks_zot(result):
        yield from _ready_of_others(result)
        return
    assert result.ready_s is not None
    name = result.found.manifest.name
    yield Finding(FindingLevel.OK, "ready", f"after {result.ready_s * 1000:.0f} ms")
    if result.phase is HandshakePhase.SILENT:
        message = "it never said ready; silence was taken for it"
        yield Finding(
            FindingLevel.WARN, "ready", message, 'send {"type":"ready"} after the last registration: it starts faster'
        )
    elif result.ready_s > SLOW_S:
        advice = "import and connect when the first call comes: runs wait for extensions that are not ready"
        yield Finding(FindingLevel.WARN, "ready", f"it takes {result.ready_s:.1f} s to be ready", advice)
    if result.hello_name != name:
        message = f"it says hello as {result.hello_name!r}; its manifest, which counts, says {name!r}"
        yield Finding(FindingLevel.WARN, "name", message, "say the same name in both")


def _instead_of_hello(result: CheckupResult) -> tuple[str, str]:
    """The program's output or end instead of its hello, and what to do; empty texts if its last words say it."""
    junk = result.first_junk
    if not _speaks_zot(result):
        if re.match(r'\{\s*"type":\s*"hello"', junk):
            return "it speaks zot's own protocol", 'leave "dialect" out of extension.json'
    elif junk.lower().startswith("content-length"):
        says = "it speaks with Content-Length headers, as language servers do"
        return says, "zot's protocol is one JSON object per line: zot ext schema hello"
    elif '"jsonrpc"' in junk:
        return "it speaks JSON-RPC, as MCP servers do", _IF_MCP
    has_ended = result.force is Force.NOTHING  # before it was asked to
    if has_ended and result.last_words and result.exit is not None and result.exit.code:
        return "", ""
    return (_no_hello if _speaks_zot(result) else _no_hello_of_others)(result, has_ended=has_ended)


def _no_hello(result: CheckupResult, *, has_ended: bool) -> tuple[str, str]:
    if result.first_junk:
        advice = "print to stderr: stdout is for frames only, and hello is the first of them"
        return f"it printed a line that is no frame: {result.first_junk}", advice
    if not has_ended and result.hello_name is not None:
        advice = "flush stdout after each line; if it is slow to start, raise timeouts.hello"
        return "its hello came only when it was stopped", advice
    if result.lines:
        return "", 'the first line must be {"type":"hello","name":"…"}: zot ext schema hello has all its fields'
    if not has_ended:
        return "", f"say hello as the first line on stdout, without being asked, and flush it; {_IF_MCP}"
    if result.exit is None or result.exit.code:
        return "", ""
    return "", "say hello first, then read stdin until it ends; with an SDK, call run() at the end"


def _no_hello_of_others(result: CheckupResult, *, has_ended: bool) -> tuple[str, str]:
    if junk := result.first_junk:
        message = "" if junk in result.failure else f"it printed a line that is no message of its protocol: {junk}"
        return message, "see whether it needs an argument, or logs to stdout: that is for messages only"
    if has_ended and (result.exit is None or result.exit.code):
        return "", ""
    if result.found.manifest.dialect == COPILOT:
        advice = "let the top level of extension.mjs call joinSession(), and await it, before it waits for anything"
    else:
        advice = "see whether it serves on stdio, and what it needs for that"
    return "", advice if has_ended else f"{advice}; if it is only slow, raise timeouts.hello"


def _registrations(result: CheckupResult) -> Iterator[Finding]:
    if result.phase is HandshakePhase.FAILED or result.spawn_error:
        return
    yield Finding(FindingLevel.OK, "offers", offers(result))
    yield from _size(result)
    if result.tools and len(result.deferred) == len(result.tools):
        message = "all its tools are deferred: the model is offered none, and so can activate none"
        yield Finding(FindingLevel.WARN, "tools", message, "register the tool that activates others without deferred")
    if result.instructions:
        yield Finding(FindingLevel.OK, "instructions", one_line(result.instructions, INSTRUCTIONS_SHOWN))
    if not _speaks_zot(result):
        yield from _registrations_of_others(result)
        return
    for text in result.warnings:
        yield Finding(
            FindingLevel.FAIL, "register", text, "zot ext schema register_tool shows what a registration may be"
        )
    for text in result.remarks:
        yield Finding(FindingLevel.WARN, "register", text)
    if result.bad_frames:
        message = _first_of(result.bad_frames)
        yield Finding(
            FindingLevel.FAIL, "frames", message, "zot ext schema frame.from-extension shows the fields of all frames"
        )
    if result.unknown_frames:
        message = f"frames that no host knows: {_first_of(result.unknown_frames)}; they are ignored"
        yield Finding(FindingLevel.WARN, "frames", message, "zot ext schema lists the frames that there are")


def _sessions(result: CheckupResult) -> Iterator[Finding]:
    """The evidence of two sessions, or of two leases."""
    if (trial := result.sessions) is None:
        return
    found = result.found
    is_leased = found.manifest.sessions == "leased"
    for each in judge_leases(trial) if is_leased else judge_sessions(trial, found.working_folder):
        level = FindingLevel.WARN if each.is_fault else FindingLevel.OK
        yield Finding(level, "leases" if is_leased else "sessions", each.message, each.advice, lines=each.lines)


def _size(result: CheckupResult) -> Iterator[Finding]:
    tokens = result.definition_tokens
    if message := size_warning(len(result.tools), tokens):
        yield Finding(FindingLevel.WARN, "size", message, "zot ext info says which limits and filters it has")
    elif result.tools and not _speaks_zot(result):
        yield Finding(FindingLevel.OK, "size", f"about {tokens:,} tokens of each request")


def _speaks_zot(result: CheckupResult) -> bool:
    return result.found.manifest.dialect == ZOT


def _stdout(result: CheckupResult) -> Iterator[Finding]:
    if result.lines >= TALKATIVE:
        message = f"it said more than {TALKATIVE} lines unasked"
        yield Finding(FindingLevel.WARN, "stdout", message, "say what has changed only")
    if not _speaks_zot(result):
        return
    if result.junk:
        lines = "1 line is" if result.junk == 1 else f"{result.junk} lines are"
        message = f"{lines} not frames; the first: {result.first_junk}"
        yield Finding(FindingLevel.WARN, "stdout", message, "print to stderr instead: stdout is for frames only")
    if result.is_mute and result.phase is not HandshakePhase.FAILED:
        message = "it closed its stdout, and can answer nothing"
        yield Finding(FindingLevel.FAIL, "stdout", message, "keep it open until shutdown")


def _end(result: CheckupResult) -> Iterator[Finding]:
    if not _speaks_zot(result) and not result.spawn_error:
        if result.phase is not HandshakePhase.FAILED:
            yield from _end_of_others(result)
        yield from _left(result)
        return
    if result.spawn_error or result.force is Force.NOTHING:
        if result.phase is not HandshakePhase.FAILED and not result.spawn_error:
            message = f"it ended ({result.exit}) right after the handshake"
            yield Finding(FindingLevel.FAIL, "shutdown", message, "go on reading stdin until shutdown or its end")
        return
    if result.force in (Force.SIGTERM, Force.SIGKILL):
        wait = Patience()
        after = wait.ask if result.force is Force.SIGTERM else wait.ask + wait.term
        message = f"neither shutdown nor the end of stdin ended it: it took {result.force.value} after {after:g} s"
        advice = "on shutdown send shutdown_ack and exit; end also when stdin ends"
        if result.force is Force.SIGKILL:
            advice += ", and do not block SIGTERM"
        yield Finding(FindingLevel.FAIL, "shutdown", message, advice)
    else:
        yield from _orderly_end(result)
    yield from _left(result)


def _left(result: CheckupResult) -> Iterator[Finding]:
    if result.left:
        left = "1 process of its own was" if result.left == 1 else f"{result.left} processes of its own were"
        message = f"{left} still running after its end"
        yield Finding(FindingLevel.WARN, "processes", message, "end what you start; the host ends it otherwise")


def _orderly_end(result: CheckupResult) -> Iterator[Finding]:
    assert result.exit is not None
    took = f"{(result.stop_s or 0.0) * 1000:.0f} ms"
    code = result.exit.code
    if result.phase is HandshakePhase.FAILED:
        return
    if code != 0:
        how = f"exit status {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        message = f"it ended with {how} after the shutdown"
        yield Finding(
            FindingLevel.WARN, "shutdown", message, "exit with 0: another status counts as a failure and is restarted"
        )
    elif not result.has_acked:
        what = "when its stdin was closed" if result.force is Force.CLOSED_STDIN else "without a shutdown_ack"
        message = f"it ended after {took}, {what}"
        advice = "answer shutdown with shutdown_ack, so that a stop does not have to wait"
        yield Finding(FindingLevel.OK, "shutdown", message, advice)
    else:
        yield Finding(FindingLevel.OK, "shutdown", f"answered; ended after {took} with status 0")


def _environment(result: CheckupResult) -> Iterator[Finding]:
    if asked := result.found.manifest.env:
        yield Finding(FindingLevel.OK, "env", f"asks for {', '.join(asked)}")
    if result.missing_env and not result.found.kind.is_expanded:
        message = f"not set here: {', '.join(result.missing_env)}"
        yield Finding(FindingLevel.WARN, "env", message, "export it before zot is started")


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


# --- other dialects ---------------------------------------------------------------------------------------------


def _ready_of_others(result: CheckupResult) -> Iterator[Finding]:
    """The extension's name and version, and the time until it was ready."""
    assert result.ready_s is not None
    name = result.hello_name or "a program without a name"
    said = name if result.version is None else f"{name} {result.version}"
    yield Finding(FindingLevel.OK, "speaks", f"{result.spoken or result.found.manifest.dialect}: {said}")
    for remark in filter(None, map(_OF_ITS_LAUNCHER.fullmatch, result.stderr)):
        yield Finding(FindingLevel.WARN, "node", remark[1], "it may lack what that uses: put such a Node first on PATH")
    manifest = result.found.manifest
    if result.phase is HandshakePhase.SILENT:
        message = f"its list of tools was not complete {manifest.timeouts.ready:g} s after its hello; what came is used"
        yield Finding(FindingLevel.WARN, "ready", message, "if it is only slow, raise timeouts.ready")
        return
    yield Finding(FindingLevel.OK, "ready", f"after {result.ready_s * 1000:.0f} ms")
    if result.ready_s > SLOW_S:
        message = f"it takes {result.ready_s:.1f} s to be ready, and runs wait for it"
        advice = "install it and name its program in exec: npx, uvx and their like look for it at each start"
        if manifest.dialect == COPILOT:
            advice = "do what takes long after joinSession(), and import it when it is used"
        yield Finding(FindingLevel.WARN, "ready", message, advice)


def _registrations_of_others(result: CheckupResult) -> Iterator[Finding]:
    """Parts of its offer that are left out, and parts that could not be read."""
    for text in result.warnings:
        is_at_hand = result.found.manifest.dialect == COPILOT  # the reader of this can correct the file
        yield Finding(FindingLevel.WARN, "register", text, "the rest is used" if is_at_hand else _TO_ITS_AUTHOR)
    if result.bad_frames:
        message = f"messages that cannot be read: {_first_of(result.bad_frames)}"
        yield Finding(FindingLevel.WARN, "messages", message, _TO_ITS_AUTHOR)
    if result.junk:
        lines = "1 line is no message" if result.junk == 1 else f"{result.junk} lines are no messages"
        message = f"{lines} of its protocol; the first: {result.first_junk}"
        advice = "they are skipped; such a program should log to stderr, and nothing else to stdout"
        yield Finding(FindingLevel.WARN, "stdout", message, advice)
    if result.is_mute:
        message = "it closed its stdout, and can answer nothing"
        yield Finding(FindingLevel.FAIL, "stdout", message, "it must stay open until its stdin ends")


def _end_of_others(result: CheckupResult) -> Iterator[Finding]:
    """How the end of its stdin ended it."""
    if result.force is Force.NOTHING:
        message = f"it ended ({result.exit}) right after its start"
        yield Finding(FindingLevel.FAIL, "stop", message, "such a program serves until its stdin ends")
    elif result.force in (Force.SIGTERM, Force.SIGKILL):
        wait = Patience(term=find_dialect(result.found.manifest.dialect).term_s)
        after = wait.ask if result.force is Force.SIGTERM else wait.ask + wait.term
        message = f"the end of its stdin did not end it: it took {result.force.value} after {after:g} s"
        yield Finding(FindingLevel.WARN, "stop", message, "each stop waits for that; tell its author")
    else:
        assert result.exit is not None
        code = result.exit.code
        how = f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        took = f"{(result.stop_s or 0.0) * 1000:.0f} ms"
        yield Finding(FindingLevel.OK, "stop", f"ended {took} after the end of its stdin, with {how}")


def _first_of(texts: Sequence[str]) -> str:
    """The first `FAULTS_NAMED` of these texts, and the number of the others."""
    more = f" and {len(texts) - FAULTS_NAMED} more" if len(texts) > FAULTS_NAMED else ""
    return "; ".join(dict.fromkeys(texts[:FAULTS_NAMED])) + more
