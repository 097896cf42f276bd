"""All extensions of one host: started together, asked in a fixed order, their tools merged, stopped together."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Raw

from supervisor import accounting
from supervisor.extension import Extension, Kind, Listener
from supervisor.intercept import ALLOW, UNTOUCHED, Judgement, Outcome, Verdict, fold, read_verdict
from supervisor.lifecycle import State
from supervisor.pending import Failure
from supervisor.processes import become_subreaper
from supervisor.termination import stop_all, sweep
from wire import frames
from wire.zot import ZotDialect

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from supervisor.discovery import Found
    from supervisor.loop import Loop
    from supervisor.pending import Pending
    from supervisor.registrations import Tool
    from supervisor.termination import Stoppable
    from wire.dialect import HostInfo
    from wire.events import Cost

SAMPLE_S = 1.0
"""How often the process trees are looked at."""


@dataclass(frozen=True)
class OwnedTool:
    """A tool and the extension that answers calls of it."""

    tool: Tool
    owner: Extension


@dataclass(frozen=True)
class Answer:
    """What became of a tool call. A failure has a reason and no frame."""

    frame: frames.ToolResult | None
    failure: Failure | None = None
    reason: str = ""


class Supervisor(Listener):
    """Owns the extensions.

    `on_notice` hears what a user should know of an extension, `on_note` what an extension itself wants to say. Both
    are called from within the loop and must not wait. With `owns_process` every process below this one is taken to be
    the extensions' doing: daemons that left their tree are adopted, and ended with the rest. Not for a host that is
    embedded in a program with children of its own.
    """

    def __init__(
        self,
        loop: Loop,
        *,
        host: HostInfo,
        logs: Path,
        strict_guards: bool = False,
        owns_process: bool = False,
        reserved_tools: Collection[str] = (),
        on_notice: Callable[[Extension, Kind, str], None] | None = None,
        on_note: Callable[[Extension, str, str], None] | None = None,
    ) -> None:
        self.loop = loop
        self.extensions: list[Extension] = []
        self._host = host
        self._logs = logs
        self._strict = strict_guards
        self._owns_process = owns_process
        self._reserved = frozenset(reserved_tools)
        self._on_notice = on_notice
        self._on_note = on_note
        self._dialect = ZotDialect()
        self._tools: dict[str, OwnedTool] = {}
        self._clashes: set[tuple[str, str]] = set()
        self._guards: dict[str, list[Extension]] | None = None
        self._complete = False
        self._sampling = False
        self._session_begun = False
        self._cancellations: list[str] = []
        self.closed = False

    # --- start --------------------------------------------------------------------------------------------

    def start(self, found: Iterable[Found], env: Mapping[str, str]) -> None:
        """Starts all of them at once and returns; `settle` waits for them."""
        if self._owns_process:
            become_subreaper()
        self._complete = False
        for rank, one in enumerate(found):
            extension = Extension(self.loop, one, rank=rank, host=self._host, logs=self._logs, listener=self)
            self.extensions.append(extension)
            extension.start({**env, "ZOT_EXTENSION": extension.name})
        if self.extensions:
            self._sampling = True
            self._sample_again()

    @property
    def is_settled(self) -> bool:
        """Every extension is ready or has failed."""
        return all(extension.state.is_settled for extension in self.extensions)

    def settle(self, deadline: float, enough: Callable[[], bool] | None = None) -> bool:
        """Waits until every extension is ready or has failed, `enough` holds, or the deadline passes."""
        return self.loop.run_until(lambda: self.is_settled or (enough is not None and enough()), deadline)

    # --- what they registered -----------------------------------------------------------------------------

    def tools(self) -> dict[str, OwnedTool]:
        """The tools on offer now. Built-ins win over extensions; among these the first in guard order that was merged
        keeps the name. What was registered late is in the next turn's answer."""
        for extension in self.extensions:
            for tool in extension.tools.values():
                taken_by = "a built-in tool" if tool.name in self._reserved else None
                current = self._tools.get(tool.name)
                if taken_by is None and current is not None and current.owner is not extension:
                    taken_by = f"extension {current.owner.name}"
                if taken_by is None:
                    self._tools[tool.name] = OwnedTool(tool, extension)
                elif (extension.name, tool.name) not in self._clashes:
                    self._clashes.add((extension.name, tool.name))
                    extension.warn(f"tool {tool.name}", f"its tool {tool.name!r} is hidden: {taken_by} has that name")
        return {name: owned for name, owned in self._tools.items() if owned.owner.state.is_up}

    def owner_of(self, tool: str) -> Extension | None:
        """Who answers for a tool, also when it has died since."""
        owned = self._tools.get(tool)
        return owned.owner if owned else None

    def guards_of(self, event: str) -> list[Extension]:
        """Who is asked, in order. A guard that died after it subscribed is still among them: its silence counts."""
        return (self._guards or self._guards_by_event())[event]

    def _guards_by_event(self) -> dict[str, list[Extension]]:
        self._guards = {
            name: [one for one in self.extensions if name in one.guards] for name in self._dialect.guardable
        }
        return self._guards

    def may_guard(self, event: str) -> bool:
        """Whether somebody guards it, or may yet turn out to."""
        return bool(self.guards_of(event)) or not self.is_settled

    def registered(self, extension: Extension) -> None:
        self._guards = None
        self._tell_of_session(extension)

    # --- telling and asking -------------------------------------------------------------------------------

    def tell(self, event: frames.Event) -> None:
        """Passes an event to all who observe it, in the order of the calls."""
        frame: bytes | None = None
        for extension in self.extensions:
            if event.event in extension.observes:
                frame = frame or self._dialect.tell(event)
                extension.tell(frame)

    def begin_session(self) -> None:
        """Tells of the session's start: now to those that are there, and to the others as soon as they subscribe."""
        self._session_begun = True
        for extension in self.extensions:
            self._tell_of_session(extension)

    def _tell_of_session(self, extension: Extension) -> None:
        if self._session_begun and "session_start" in extension.observes and not extension.knows_session:
            extension.knows_session = True
            extension.tell(self._dialect.tell(frames.Event("session_start")))

    def intercept(self, event: frames.Event) -> Judgement:
        """Asks the guards of an event, one after another, until one blocks.

        Extensions that are still starting are waited for first, since they may turn out to be guards: until their
        intercept timeout has passed since their start. Before a turn only those are waited for whose failure means
        deny: the first request to the model is not to depend on the slowest extension.
        """
        name = event.event
        judgement = UNTOUCHED
        if not self._complete:
            if not self._wait_for_starters(everyone=name != "turn_start"):
                return self._cancelled()
            judgement = self._unstarted(judgement)
            if judgement.is_blocked:
                return judgement
            self._complete = self.is_settled
        guards = (self._guards or self._guards_by_event())[name]
        if not guards:
            return judgement
        question = self._dialect.question(event)
        for extension in guards:
            pending = extension.ask(question)
            extension.wait(pending, extension.timeouts.intercept)
            answer = pending.value
            verdict = read_verdict(name, answer) if type(answer) is frames.InterceptResponse else _no_answer(pending)
            if verdict is ALLOW:
                continue
            if pending.failure is Failure.CANCELLED:
                return self._cancelled()
            judgement = self._add(judgement, name, extension, verdict)
            if judgement.is_blocked:
                return judgement
            if verdict.is_rewrite:
                event = _rewritten(event, verdict)
                question = self._dialect.question(event)
        return judgement

    def _add(self, judgement: Judgement, event: str, extension: Extension, verdict: Verdict) -> Judgement:
        deny = self._denies_on_failure(extension)
        if verdict.outcome is Outcome.DENY:
            extension.account.blocks += 1
        elif verdict.outcome is Outcome.NO_VERDICT:
            self.noticed(extension, "no_verdict", _no_verdict_line(event, verdict.reason, deny))
        return fold(judgement, extension.name, verdict, deny_on_failure=deny)

    def _cancelled(self) -> Judgement:
        return Judgement(blocked_by="host", reason=self._cancellations[-1])

    def _wait_for_starters(self, *, everyone: bool) -> bool:
        """False if the wait was cancelled."""
        starting = [
            one for one in self.extensions if not one.state.is_settled and (everyone or self._denies_on_failure(one))
        ]
        before = len(self._cancellations)
        if starting:
            latest = max(one.started_at + one.timeouts.intercept for one in starting)
            self.loop.run_until(
                lambda: len(self._cancellations) > before or all(one.state.is_settled for one in starting), latest
            )
        return len(self._cancellations) == before

    def _unstarted(self, judgement: Judgement) -> Judgement:
        """An extension that never got ready cannot say what it guards. Where its failure means deny, it is taken to
        guard everything."""
        for extension in self.extensions:
            if not extension.was_ready and self._denies_on_failure(extension):
                reason = extension.failure or f"it is still starting ({extension.state.value})"
                verdict = Verdict(Outcome.NO_VERDICT, reason)
                return fold(judgement, extension.name, verdict, deny_on_failure=True)
        return judgement

    def _denies_on_failure(self, extension: Extension) -> bool:
        return self._strict or extension.manifest.on_failure == "deny"

    def call(self, owned: OwnedTool, args: bytes) -> Answer:
        """Calls a tool and waits for its answer, as long as its extension's `tool_call` timeout allows."""
        extension = owned.owner
        pending = extension.call(owned.tool.name, args)
        extension.wait(pending, extension.timeouts.tool_call)
        if pending.failure is not None:
            if pending.failure not in (Failure.CANCELLED, Failure.DIED):  # the user knows of these
                self.noticed(extension, "warning", f"its tool {owned.tool.name} failed: {pending.reason}")
            return Answer(None, pending.failure, pending.reason)
        frame: frames.FromExtension = pending.value
        if not isinstance(frame, frames.ToolResult):
            extension.account.errors += 1
            reason = f"it answered a tool call with {frame.__struct_config__.tag}"
            self.noticed(extension, "warning", f"its tool {owned.tool.name} failed: {reason}")
            return Answer(None, Failure.BAD_ANSWER, reason)
        if frame.is_error:
            extension.account.errors += 1
        return Answer(frame)

    def cancel_pending(self, reason: str) -> None:
        """Gives up all calls and verdicts that are waited for; what was to be judged is blocked."""
        self._cancellations.append(reason)
        for extension in self.extensions:
            extension.cancel_pending(reason)

    # --- watching -----------------------------------------------------------------------------------------

    def noticed(self, extension: Extension, kind: Kind, message: str) -> None:
        if self._on_notice is not None:
            self._on_notice(extension, kind, message)

    def noted(self, extension: Extension, level: str, message: str) -> None:
        if self._on_note is not None:
            self._on_note(extension, level, message)

    def sample(self) -> None:
        """Looks at all process trees now."""
        accounting.sample([(one.child, one.account) for one in self.extensions if one.child is not None])

    def _sample_again(self) -> None:
        if self._sampling:
            self.sample()
            self.loop.call_later(SAMPLE_S, self._sample_again)

    def costs(self) -> dict[str, Cost]:
        """What each extension has cost so far, in guard order."""
        return {one.name: one.account.cost(one.state.value) for one in self.extensions}

    def kill_now(self) -> None:
        """SIGKILL for every process group, without asking: the user does not want to wait."""
        for extension in self.extensions:
            if extension.child is not None:
                extension.child.kill_group(signal.SIGKILL)

    # --- end ----------------------------------------------------------------------------------------------

    def stop(self, others: Iterable[Stoppable] = (), *, at_once: bool = False) -> None:
        """Stops all extensions, and `others` with them, at the same time, and whatever they left running."""
        if self.closed:
            return
        self.closed = True
        self._sampling = False
        if not at_once:
            self.sample()
        for extension in self.extensions:
            if extension.state is State.SPAWNED:
                waited = self.loop.clock() - extension.started_at
                self.noticed(extension, "failed", f"said no hello in the {waited:.1f} s of the run; stopped with it")
        stuck = stop_all(self.loop, [*self.extensions, *others], at_once=at_once)
        if self._owns_process:
            sweep(self.loop)
        for extension in self.extensions:
            if extension in stuck:
                self.noticed(extension, "warning", f"process {extension.pid} could not be killed")
            extension.close()


def _no_answer(pending: Pending) -> Verdict:
    if pending.failure is not None:
        return Verdict(Outcome.NO_VERDICT, pending.reason)
    return Verdict(Outcome.NO_VERDICT, f"it answered with {pending.value.__struct_config__.tag}")


def _rewritten(event: frames.Event, verdict: Verdict) -> frames.Event:
    return frames.Event(
        event.event,
        step=event.step,
        tool_id=event.tool_id,
        tool_name=event.tool_name,
        tool_args=event.tool_args if verdict.modified_args is None else Raw(verdict.modified_args),
        text=event.text if verdict.replace_text is None else verdict.replace_text,
    )


def _no_verdict_line(event: str, reason: str, deny: bool) -> str:
    effect = "denied" if deny else "allowed; to deny in such a case set on_failure in its manifest, or --strict-guards"
    return f"gave no verdict on {event}: {reason}; {effect}"


def child_environment() -> dict[str, str]:
    """The host's environment without what is nobody else's business: provider keys and the rpc token."""
    return {name: value for name, value in os.environ.items() if name not in HOST_SECRETS}


HOST_SECRETS = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
        "KIMI_API_KEY",
        "MOONSHOT_API_KEY",
        "ZOTCORE_RPC_TOKEN",
    }
)
"""Not handed to extensions or shell commands; zot hands everything over."""
