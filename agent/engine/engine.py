"""The engine: one project, one model, one session. Starts the extensions, the model and the tools, carries out prompts
one after another, and stops everything together.

Its callers, such as a headless run, own the process: signals, descriptors, timeouts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.engine import extensions as starting
from agent.engine.client_calls import ClientCalls
from agent.engine.host_calls.answers import HostCalls
from agent.engine.host_calls.session_reloads import SessionReloads
from agent.engine.host_calls.workspace import SessionWorkspace
from agent.engine.prompt_result import PromptResult
from agent.engine.session import EngineSession
from agent.model import catalogue, thinking_levels
from agent.model.provider import Provided, ProviderUnavailable
from agent.run import compaction
from agent.run.error_hook import ask_about_error
from agent.run.limits import Budget, Spending, unpriced_refusal
from agent.run.run import Run
from agent.run.session_hooks import ABORTED_S, SessionHooks
from agent.run.slash_commands import SlashCommands
from agent.run.steer_queue import SteerQueue
from agent.run.summarizer import CompactionResult, Summarizer
from agent.run.turn.model_call import ModelCalls
from agent.tools.toolbox import Toolbox
from wire import events, frames
from wire.dialects.base import HostInfo
from wire.dialects.host_calls import ToolInfo
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.abort import Abort
    from agent.engine.host_calls.sent_prompts import SentPrompt
    from agent.model.provider import Provider
    from agent.options import Options
    from agent.output.event_writer import EventWriter
    from agent.output.stderr_notices import StderrNotices
    from agent.run.slash_commands import Invocation, MeanwhileWork
    from agent.sessions.choice import OpenedSession
    from agent.transcript import Image
    from supervisor.discovery.skipped_extension import SkippedExtension
    from supervisor.loop.loop import Loop
    from wire.frames import SessionEnd
    from wire.reasoning_levels import Reasoning


class Engine:
    """Runs prompts with the extensions and the model of `options`: call `start` once, then `prompt` and `compact` any
    number of times, one at a time, then `stop` and `close`.

    Each call that waits takes its own `Abort`, which ends that call only. `on_show` gets the notes
    and panels of extensions as records.
    """

    def __init__(
        self,
        loop: Loop,
        options: Options,
        *,
        version: str,
        provider: Provider | ProviderUnavailable,
        event_writer: EventWriter,
        notices: StderrNotices,
        on_show: Callable[[events.Record], None],
        owns_process: bool,
        session: OpenedSession | None = None,
    ) -> None:
        """`session`: the session to resume; None for a new one."""
        self._options = options
        self._event_writer = event_writer
        self._notices = notices
        self._say: Callable[[str], None] = lambda line: notices.say(f"zot: {line}")
        self._provided = Provided(provider, self._say)
        self._levels_told: set[str] = set()
        self.provider_name = self._provided.name
        self.spending = Spending(Budget(options.max_cost_usd, options.max_tokens))
        self.session = EngineSession(
            options,
            provider_name=self.provider_name,
            version=version,
            spending=self.spending,
            say=self._say,
            opened=session,
        )
        self.conversation = self.session.conversation
        self.workspace = SessionWorkspace(options.home, self.session.id, self.conversation.path)
        self.cwd = options.cwd
        self.prompts = 0
        self.host_calls = HostCalls(self, on_notice=notices.notice)
        self.meanwhile: MeanwhileWork | None = None  # of the slash command in `prompt`
        self._running: Abort | None = None
        """The abort of the running prompt; None if none runs."""
        self._end_reason: SessionEnd | None = None
        self._run: Run | None = None
        self._steering = SteerQueue()
        """The queue of the running prompt, or the closed one of the last."""
        self._steering.close()
        self._skipped: Sequence[SkippedExtension] = ()
        self.on_wait: Callable[[], Callable[[], None]] | None = None
        """Called before a wait for extensions. Returns the function for its end."""
        self._needs_all_extensions = True
        """False for a slash command that ends the prompt: it needs only its own extension."""
        self.supervisor = starting.make_supervisor(
            loop,
            options,
            HostInfo(version, self.provider_name, options.model, self.cwd, self.session.id, str(self.workspace.path)),
            notices,
            owns_process=owns_process,
            on_show=on_show,
            on_host_call=self.host_calls.take,
        )
        self.hosted = starting.hosted_extensions(loop, options, self.supervisor, version, self._say)
        self._hooks = SessionHooks(self.supervisor, "startup" if self.session.resumed is msgspec.UNSET else "resume")
        self._strict = starting.strict_admission(options)
        self.reloader = starting.make_reloader(options, self.supervisor, self._strict)
        self._session_reloads = SessionReloads(self.supervisor, self.reloader, self._hooks.leave, self.conversation)
        self.session.on_leave = self._session_reloads.leave
        self.session.on_begun = self._session_reloads.begun
        self.host_calls.is_of_left_session = self._session_reloads.is_left
        if (extension_tools := starting.extension_tools(options, self.supervisor, self.reloader)) is not None:
            self.host_calls.on_reload = extension_tools.reload_for
        self.toolbox = Toolbox(
            loop, self.supervisor, cwd=options.cwd, enabled=options.tools, skills=options.offered_skills,
            extension_tools=extension_tools, trial=options.trial, confinement=options.confinement,
            on_progress=lambda call_id, text: event_writer.post_progress(events.ToolProgress(call_id, text)),
        )  # fmt: skip
        self.client_calls = ClientCalls(loop, self.supervisor, self.toolbox, event_writer)
        self.supervisor.calls_by_extensions.own = self.client_calls.tools

    # --- prompts ------------------------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """The model of the next request."""
        return self._options.model

    @property
    def reasoning(self) -> Reasoning | None:
        """The level of the next prompt as it was set; None: the model's own default."""
        return self._options.reasoning

    @property
    def used_reasoning(self) -> Reasoning | None:
        """The level that its requests have."""
        return None if self.reasoning is None else thinking_levels.nearest_level(self.model, self.reasoning)

    def tools(self) -> tuple[ToolInfo, ...]:
        """The tools that the model is offered in the next turn."""
        owner = self.toolbox.extension_of
        return tuple(
            ToolInfo(tool.name, tool.description, dict(tool.input_schema), owner(tool.name))
            for tool in self.toolbox.offered()
        )

    def set_model(self, model: str) -> None:
        """Uses this model from the next turn on, also in a running prompt. Extensions that start later are told of it.
        Raises `ValueError` for a model of unknown price if there is a budget in dollars."""
        if (refused := unpriced_refusal(model, self.spending.budget)) is not None:
            raise ValueError(refused)
        reply_tokens = catalogue.max_tokens(model)
        self._options = msgspec.structs.replace(self._options, model=model, reply_tokens=reply_tokens)
        self.supervisor.set_model(model)
        self.session.set_model(model)
        if self._run is not None:
            self._run.options = msgspec.structs.replace(self._run.options, model=model, reply_tokens=reply_tokens)
        self._tell_level()

    def set_reasoning(self, level: Reasoning) -> None:
        """Lets the model think so much from the next prompt on. A running one keeps its level: the API takes no other
        between a tool call and its result."""
        self._options = msgspec.structs.replace(self._options, reasoning=level)
        self._tell_level()

    def _tell_level(self) -> None:
        """Tells the user, once, that the model has not the level that was set."""
        said = "" if self.reasoning is None else thinking_levels.remark(self.model, self.reasoning)
        if said and said not in self._levels_told:
            self._levels_told.add(said)
            self._say(said)

    def prompt(
        self,
        text: str,
        abort: Abort,
        command: Invocation | None = None,
        images: tuple[Image, ...] = (),
        sent: SentPrompt | None = None,
    ) -> PromptResult:
        """Carries out one prompt, or a slash command that may become one, and continues the conversation. `sent`: the
        prompt as an extension has sent it; its answer need not fit the schema. None if it is the user's."""
        self._follow(abort)
        if command is not None:
            commands = SlashCommands(self.supervisor, self._event_writer, abort, self._skipped, self.meanwhile)
            answer = commands.run(command)
            if answer.prompt is None:
                self._needs_all_extensions = False
                is_done = answer.status is Status.OK
                return PromptResult(
                    answer.status, answer.reason, answer.text, has_answer=is_done, error_context="user_input"
                )
            text = answer.prompt
            self.tell_submitted(text)
        if isinstance(provider := self._provided.provider, ProviderUnavailable):
            return PromptResult(provider.status, provider.reason)
        if (used_up := self.spending.used_up()) is not None:
            return PromptResult(Status.BUDGET, used_up)
        steering = self._steering = SteerQueue()
        abort.on_request(lambda _reason: steering.close())
        self._ready_model(provider, abort)
        self._session_reloads.wait(self._event_writer)
        self.prompts += 1
        self.supervisor.panels.begin_prompt()
        self.toolbox.begin_prompt()
        self.conversation.repair()
        options = self._options if sent is None else msgspec.structs.replace(self._options, answer_schema=None)
        run = self._run = Run(
            options,
            supervisor=self.supervisor,
            provider=provider,
            toolbox=self.toolbox,
            event_writer=self._event_writer,
            conversation=self.conversation,
            abort=abort,
            steering=steering,
            session=self._hooks,
            say=self._say,
        )
        self._running = abort
        try:
            files, sender = ((), "") if sent is None else (sent.files, sent.extension)
            end = run.prompt(text, images, files=files, sender=sender)
        finally:
            self._running = None
            steering.close()
        self._hooks.said = run.text or self._hooks.said
        return PromptResult(
            end.status, end.reason, run.text, run.steps, run.usage, answer=run.answer, has_answer=end.has_answer,
            may_pass=end.may_pass, error_kind=end.error_kind, error_context=end.error_context,
        )  # fmt: skip

    @property
    def is_running(self) -> bool:
        """Whether a prompt runs."""
        return self._running is not None

    def tell_submitted(self, text: str, images: int = 0, *, queued: bool = False) -> None:
        """Tells observers of a prompt that is accepted, with this number of images. `queued`: others run first."""
        self.supervisor.tell(
            frames.Event("user_prompt_submit", text=text or None, image_count=images or None, queued=queued or None)
        )

    def abort_prompt(self, reason: str) -> None:
        """Ends the running prompt as interrupted. Does nothing if none runs."""
        if self._running is not None:
            self._running.request(Status.INTERRUPTED, reason)

    def steer(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """Adds a message to the running prompt as a user message before the next request to the model; it causes one if
        the prompt would end. Raises `SteerRefusedError`."""
        self._steering.add(text, images)
        self.tell_submitted(text, len(images), queued=True)

    def compact(self, abort: Abort, instructions: str = "") -> PromptResult:
        """Replaces all messages but the last ones by a summary that the model writes. If the status is not `ok`, the
        conversation is unchanged. The text of the result is the summary."""
        self._follow(abort)
        if isinstance(provider := self._provided.provider, ProviderUnavailable):
            return PromptResult(provider.status, provider.reason)
        calls = ModelCalls(provider, self._event_writer, self.conversation, abort)
        summarizer = Summarizer(calls, self._event_writer, self.conversation, abort, self.supervisor)

        def carry_out() -> CompactionResult:
            older, kept = compaction.split(self.conversation.transcript)
            self._ready_model(provider, abort)
            return summarizer.run(self.model, older, kept, instructions)

        done = summarizer.attempt(carry_out)
        return PromptResult(done.status, done.reason, done.text, 0, calls.usage, has_answer=done.status is Status.OK)

    def report_error(self, ran: PromptResult, abort: Abort) -> None:
        """Tells the guards of errors about an error that they were not asked about. Their answer has no effect."""
        if ran.error_context != "model_call":
            ask_about_error(self.supervisor, abort, ran.reason, ran.error_context, recoverable=False)

    def end_session(self, reason: SessionEnd, error: str, abort: Abort, within_s: float | None = None) -> None:
        """Asks the guards of a session's end, once, and keeps their summary. All have `within_s` seconds together; with
        None each has its own timeout. An aborted run waits only for a short time, and not at all if it must end at
        once."""
        self._end_reason = reason
        if abort.at_once:
            return
        self._hooks.end(
            reason,
            error,
            self.conversation.summarize,
            within_s=ABORTED_S if abort.requested else within_s,
            give_up=lambda: abort.at_once,
        )

    def warm_up(self) -> None:
        """Prepares the model for a possible request; restarts its process if that has ended."""
        self._provided.warm_up()

    def stop(self, *, at_once: bool) -> None:
        """Stops all children at the same time; with `at_once` it kills them without asking."""
        self.client_calls.close()
        others = [*self._provided.stoppables(), *self.toolbox.stoppables()]
        self.supervisor.stop(others, at_once=at_once, wanted_all=self._needs_all_extensions, reason=self._end_reason)
        if self.hosted is not None:
            self.hosted.close()

    def kill_now(self) -> None:
        """Sends SIGKILL to the extensions and the tools, without asking."""
        self.supervisor.kill_now()
        self.toolbox.kill_now()

    def close(self) -> None:
        """Tells the user about a cassette that could not be written. Call it after `stop`."""
        self._provided.close()
        self.conversation.close()
        if trouble := self.workspace.close():
            self._say(f"the workspace of the session is not removed: {trouble}")

    # --- the start ----------------------------------------------------------------------------------------

    def start(
        self, abort: Abort, command: Invocation | None = None, *, needs_model: bool = True
    ) -> PromptResult | None:
        """Starts the extensions and the model side by side. With a command as the first prompt the model is not
        started: the command may not need it. Returns the result if no prompt can be carried out, else None. Without
        `needs_model`, an unavailable model fails each prompt, not the start."""
        self._follow(abort)
        for line in self._options.remarks:
            self._say(line)
        self.session.tidy()
        provider = self._provided.provider
        if command is None and needs_model and isinstance(provider, ProviderUnavailable):
            self._begin()
            return PromptResult(provider.status, provider.reason)
        found = starting.find_extensions(self._options, self.hosted, self._strict)
        self._skipped = found.discovery.skipped
        if command is not None:
            self.supervisor.restarts.hold()
        self.supervisor.prepare()
        first = None if command is not None or isinstance(provider, ProviderUnavailable) else provider
        if first is not None:
            self._provided.start(first, self.model)
        self._notices.gather()
        unloaded = starting.start_extensions(found, self.supervisor, self.reloader, self._notices, self.workspace)
        if command is not None:
            starting.settle_for(command.name, self.supervisor, abort)
        else:
            starting.settle(self._options, self.supervisor, first, abort, self.on_wait)
        self._begin(tell_late=command is None and not abort.requested)
        self._notices.tell_gathered()
        missing = found.missing or starting.missing_extension(self.supervisor, self._event_writer, abort)
        if missing is not None:
            return PromptResult(Status.REQUIRED_EXTENSION, missing)
        if self._options.strict_guards and unloaded:
            return PromptResult(Status.BLOCKED, f"with strict guards every extension must load; {unloaded}")
        return None

    def _follow(self, abort: Abort) -> None:
        """Lets this abort end every wait from now on."""
        self._event_writer.abort = abort
        abort.on_request(self.cancel_pending)

    def cancel_pending(self, reason: str) -> None:
        """Ends all that waits for an extension, and all calls of tools."""
        self.client_calls.cancel_all(reason)
        self.supervisor.cancel_pending(reason)
        self.toolbox.cancel_pending(reason)

    def _ready_model(self, provider: Provider, abort: Abort) -> None:
        if self._provided.is_started:
            return
        self.supervisor.restarts.release()
        self._provided.start(provider, self.model)
        starting.settle(self._options, self.supervisor, provider, abort, self.on_wait)
        self._notices.has_begun = True

    def _begin(self, *, tell_late: bool = True) -> None:
        """Emits the first record. With `tell_late`, each extension that is still starting gets a notice."""
        extensions = self.supervisor.extensions
        self._event_writer.begin(self.session.record((extension.name for extension in extensions), self.reasoning))
        self._notices.has_begun = tell_late
        if tell_late:
            starting.tell_late(extensions, self._notices)
        self._session_reloads.offer_again()
        self.supervisor.observers.begin_session()
