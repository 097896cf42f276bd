"""What to make of what a checkup has seen. Pure."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NamedTuple

from cli.doctor.checks import Level
from supervisor.harness.checkup import Force
from supervisor.harness.observed_handshake import Phase
from supervisor.process.stop_policy import Patience

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from supervisor.harness.checkup import CheckupResult

SLOW_S = 2.0
"""From the start to ready: a run waits for this long with its first request."""
TALKATIVE = 1000
"""Lines that it says although nobody has asked anything."""
NAMED = 3
"""Of several faults of one kind."""


class Finding(NamedTuple):
    level: Level
    topic: str
    message: str
    advice: str = ""


def worst(findings: Sequence[Finding]) -> Level:
    order = list(Level)
    return max((finding.level for finding in findings), key=order.index, default=Level.OK)


def judge(facts: CheckupResult) -> list[Finding]:
    """Findings about one extension, in the order of its life. All is well if none is worse than OK."""
    return [*_start(facts), *_registrations(facts), *_stdout(facts), *_end(facts), *_environment(facts)]


def _start(facts: CheckupResult) -> Iterator[Finding]:
    if facts.spawn_error:
        advice = "install the program, or correct exec in extension.json"
        if facts.found.manifest.exec.startswith("./") and not facts.found.manifest.exec.endswith((".py", ".js", ".sh")):
            advice = "if it has to be built, build it; else correct exec in extension.json"
        yield Finding(Level.FAIL, "start", facts.spawn_error, advice)
        return
    if facts.phase is Phase.FAILED:
        last = f'; its last line on stderr: "{facts.stderr[-1].strip()}"' if facts.stderr else ""
        advice = "say hello as the first frame, with the name, and flush stdout after each line"
        if facts.exit is not None and facts.exit.code == 127:
            advice = "a program that it starts is missing"
        yield Finding(Level.FAIL, "handshake", facts.failure + last, advice)
        return
    assert facts.ready_s is not None
    name = facts.found.manifest.name
    yield Finding(Level.OK, "ready", f"after {facts.ready_s * 1000:.0f} ms")
    if facts.phase is Phase.SILENT:
        message = "it never said ready; silence was taken for it"
        yield Finding(
            Level.WARN, "ready", message, 'send {"type":"ready"} after the last registration: it starts faster'
        )
    elif facts.ready_s > SLOW_S:
        advice = "import and connect when the first call comes: runs wait for extensions that are not ready"
        yield Finding(Level.WARN, "ready", f"it takes {facts.ready_s:.1f} s to be ready", advice)
    if facts.hello_name != name:
        message = f"it says hello as {facts.hello_name!r}; its manifest, which counts, says {name!r}"
        yield Finding(Level.WARN, "name", message, "say the same name in both")


def _registrations(facts: CheckupResult) -> Iterator[Finding]:
    if facts.phase is Phase.FAILED or facts.spawn_error:
        return
    yield Finding(Level.OK, "offers", offers(facts))
    for text in facts.warnings:
        yield Finding(Level.FAIL, "register", text, "zot ext schema register_tool shows what a registration may be")
    for text in facts.remarks:
        yield Finding(Level.WARN, "register", text)
    if facts.bad_frames:
        message = _some(facts.bad_frames)
        yield Finding(
            Level.FAIL, "frames", message, "zot ext schema frame.from-extension shows the fields of all frames"
        )
    if facts.unknown_frames:
        message = f"frames that no host knows: {_some(facts.unknown_frames)}; they are ignored"
        yield Finding(Level.WARN, "frames", message, "zot ext schema lists the frames that there are")


def _stdout(facts: CheckupResult) -> Iterator[Finding]:
    if facts.junk:
        lines = "1 line is" if facts.junk == 1 else f"{facts.junk} lines are"
        message = f"{lines} not frames; the first: {facts.first_junk}"
        yield Finding(Level.WARN, "stdout", message, "print to stderr instead: stdout is for frames only")
    if facts.is_mute and facts.phase is not Phase.FAILED:
        message = "it closed its stdout, and can answer nothing"
        yield Finding(Level.FAIL, "stdout", message, "keep it open until shutdown")
    if facts.lines >= TALKATIVE:
        message = f"it said more than {TALKATIVE} lines although nobody asked"
        yield Finding(Level.WARN, "stdout", message, "say what has changed only")


def _end(facts: CheckupResult) -> Iterator[Finding]:
    if facts.spawn_error or facts.force is Force.NOTHING:
        if facts.phase is not Phase.FAILED and not facts.spawn_error:
            message = f"it ended ({facts.exit}) right after the handshake"
            yield Finding(Level.FAIL, "shutdown", message, "go on reading stdin until shutdown or its end")
        return
    if facts.force in (Force.SIGTERM, Force.SIGKILL):
        wait = Patience()
        after = wait.ask if facts.force is Force.SIGTERM else wait.ask + wait.term
        message = f"neither shutdown nor the end of stdin ended it: it took {facts.force.value} after {after:g} s"
        advice = "on shutdown send shutdown_ack and exit; end also when stdin ends"
        if facts.force is Force.SIGKILL:
            advice += ", and do not block SIGTERM"
        yield Finding(Level.FAIL, "shutdown", message, advice)
    else:
        yield from _orderly_end(facts)
    if facts.left:
        left = "1 process of its own was" if facts.left == 1 else f"{facts.left} processes of its own were"
        message = f"{left} still running after its end"
        yield Finding(Level.WARN, "processes", message, "end what you start; the host ends it otherwise")


def _orderly_end(facts: CheckupResult) -> Iterator[Finding]:
    assert facts.exit is not None
    took = f"{(facts.stop_s or 0.0) * 1000:.0f} ms"
    code = facts.exit.code
    if facts.phase is Phase.FAILED:
        return
    if code != 0:
        how = f"exit status {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        message = f"it ended with {how} after the shutdown"
        yield Finding(
            Level.WARN, "shutdown", message, "exit with 0: another status counts as a failure and is restarted"
        )
    elif not facts.has_acked:
        what = "when its stdin was closed" if facts.force is Force.CLOSED_STDIN else "without a shutdown_ack"
        message = f"it ended after {took}, {what}"
        yield Finding(Level.OK, "shutdown", message, "answer shutdown with shutdown_ack, so that nobody has to wait")
    else:
        yield Finding(Level.OK, "shutdown", f"answered; ended after {took} with status 0")


def _environment(facts: CheckupResult) -> Iterator[Finding]:
    if asked := facts.found.manifest.env:
        yield Finding(Level.OK, "env", f"asks for {', '.join(asked)}")
    if facts.missing_env:
        message = f"not set here: {', '.join(facts.missing_env)}"
        yield Finding(Level.WARN, "env", message, "export it before zot is started")


def offers(facts: CheckupResult) -> str:
    """What it has registered, in words."""
    said = [
        f"{what} {', '.join(names)}"
        for what, names in (
            ("tool" + "s" * (len(facts.tools) > 1), facts.tools),
            ("command" + "s" * (len(facts.commands) > 1), [f"/{name}" for name in facts.commands]),
            ("observes", facts.events),
            ("guards", facts.intercepts),
        )
        if names
    ]
    return "; ".join(said) or "nothing"


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return "; ".join(dict.fromkeys(texts[:NAMED])) + more
