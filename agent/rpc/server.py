"""The process of `zot rpc`: requests come in on stdin, and responses and records go out on stdout.

The loop answers requests whenever it runs, so also while a prompt waits for the model, for a tool or for a client that
does not read. Prompts are carried out one after another.
"""

from __future__ import annotations

import hmac
import time
from typing import TYPE_CHECKING, Any

from agent.abort import Abort
from agent.engine.host import EngineHost
from agent.engine.host_calls.sent_prompts import SendRefusedError
from agent.engine.prompt_result import PromptResult
from agent.engine.sent_runs import REACTION_S, SHOWN
from agent.rpc.client_output import STALLED_S, ClientOutput
from agent.rpc.permission_requests import PermissionRequests
from agent.rpc.program_extensions import ProgramExtensions
from agent.rpc.prompt_queue import PromptQueue
from agent.rpc.requests import RequestHandler, failure
from agent.rpc.stdin_lines import StdinLines
from supervisor.loop.loop import Loop, stop_signals
from supervisor.preload import preload
from wire import events, frames
from wire.exit_codes import Status
from wire.framing import Oversize
from wire.rpc import request_lines, requests
from wire.rpc.responses import Response
from wire.text import one_line

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

    from agent.engine.host_calls.sent_prompts import SentPrompt
    from agent.model.provider import Provider, ProviderUnavailable
    from agent.options import Options
    from agent.rpc.prompt_queue import QueuedPrompt
    from agent.sessions.choice import OpenedSession
    from wire.framing import Line

STDIN_ENDED = "stdin has ended"
PROGRAM_GONE = "the client program has closed the connection"


class RpcServer:
    """Serves one client until its stdin ends, it leaves or stops reading, or a signal comes. With a `token` the first
    line must be a `hello` with it.

    After the end of stdin the running prompt and the client's first one have `drain_s` seconds to end, and all other
    prompts are aborted. A second signal kills all children at once.
    """

    def __init__(
        self,
        options: Options,
        *,
        version: str,
        make_provider: Callable[[Loop], Provider | ProviderUnavailable],
        session: OpenedSession | None = None,
        token: str = "",
        drain_s: float,
        stalled_s: float = STALLED_S,
        stdin: int = 0,
        stdout: int = 1,
        stderr: int = 2,
        who: str = "",
        owns_process: bool = True,
    ) -> None:
        self._options = options
        self._drain_s = drain_s
        self._token = token
        self._is_locked = bool(token)
        self._started = time.monotonic()
        self._loop = Loop()
        self._ending = Abort()
        """Ends the whole server, not only a prompt."""
        self._queue = PromptQueue()
        self._steps = 0
        self._last_stop = ""
        """The `stop` of the last turn of the current prompt."""
        self._has_input = True
        self._ending.on_request(self._queue.abort_all)
        self._stdin = StdinLines(self._loop, stdin, self._on_line, self._on_stdin_end)
        self._client = ClientOutput(
            self._loop, stdout, on_gone=self._on_client_gone, on_unread=self._on_unread, stalled_s=stalled_s
        )
        self._host = EngineHost(
            self._loop,
            options,
            version=version,
            provider=make_provider(self._loop),
            abort=self._ending,
            readers=(self._write,),
            output=self._client.writer,
            owns_process=owns_process,
            stderr=stderr,
            who=who,
            session=session,
        )
        self._host.engine.supervisor.expect_person()
        self._host.engine.host_calls.on_prompt = self._take_sent
        self._queue.on_put = self._tell_submitted
        self._idle_count = 0
        """The number of times that no prompt waited after one had ended."""
        self._program = ProgramExtensions(self._host.engine.supervisor, self._client, options.cwd)
        self._permissions = PermissionRequests(self._host.engine.supervisor.guards.permissions, self._host.event_writer)
        self._requests = RequestHandler(
            self._loop,
            self._host.engine,
            self._queue,
            self._program,
            self._permissions,
            version=version,
            home=options.home,
            cwd=options.cwd,
            respond=self._client.respond,
            show=self._host.event_writer.post,
        )

    def run(self) -> int:
        """Serves the client. Returns the exit status; by then every process that the server has started has ended."""
        preload()  # the client may add the first extension
        host = self._host
        with self._loop.signals(stop_signals(), self._on_signal):
            host.serve_control()
            self._stdin.start()
            try:
                failed = host.engine.start(self._ending, needs_model=False)
                self._requests.is_starting = False
                for position, prompt in enumerate(self._queue):
                    self._tell_submitted(prompt, position)
                if failed is not None:
                    host.report_trouble(failed)
                    self._stdin.stop()
                    self._has_input = False
                    host.engine.client_calls.cancel_all(failed.reason)
                self._serve(failed)
            except BaseException:
                host.abandon()
                raise
            self._stdin.stop()
            self._permissions.leave("the server is ending")
            host.end_session(self._status(failed), self._ending.reason, by_client=not self._ending.requested)
            host.stop()
            self._requests.reloads.give_up("the server is ending")
            status = self._status(failed)
            host.event_writer.abort = self._ending
            if not host.event_writer.finish() and status is Status.OK and not self._ending.requested:
                status = Status.ERROR
            host.finish_stats(self._whole_result(status))
            host.export_rest()
        host.close()
        self._client.close()
        self._loop.close()
        return status.exit_code

    def _status(self, failed: PromptResult | None) -> Status:
        if self._ending.status is not None:
            return self._ending.status
        return Status.OK if failed is None else failed.status

    def _whole_result(self, status: Status) -> events.Result:
        used = self._host.engine.spending.spent
        whole = PromptResult(status, self._ending.reason, steps=self._steps, usage=used)
        return self._host.result(whole, time.monotonic() - self._started)

    # --- prompts ------------------------------------------------------------------------------------------

    def _serve(self, failed: PromptResult | None) -> None:
        """Carries out prompts until the server is drained. With `failed` each prompt ends at once with this result."""
        while True:
            self._host.event_writer.abort = self._ending
            self._host.event_writer.wait(lambda: self._may_begin or self._is_drained)
            prompt = self._queue.begin()
            if prompt is None:
                return
            self._client.prompt, self._client.is_sent = prompt.id, prompt.sent is not None
            self._carry_out(prompt, failed)
            self._client.prompt, self._client.is_sent = "", False
            if prompt.command == "prompt":
                self._tell_idle()
            if self._goes_on:
                self._host.engine.warm_up()

    @property
    def _may_begin(self) -> bool:
        """Whether a prompt waits and the client has sent a line: an extension may be faster than the client."""
        return bool(self._queue.waiting) and self._client.is_open

    @property
    def _goes_on(self) -> bool:
        """Whether a further request to the model may come."""
        waits = any(not prompt.abort.requested for prompt in self._queue)
        return (self._has_input or waits) and not self._ending.requested

    @property
    def _is_drained(self) -> bool:
        return not (self._has_input or self._requests.commands_running)

    def _carry_out(self, prompt: QueuedPrompt, failed: PromptResult | None) -> None:
        began = time.monotonic()
        self._last_stop = ""
        self._host.event_writer.abort = prompt.abort
        self._host.begin_work()
        if prompt.abort.status is not None:
            ran = PromptResult(prompt.abort.status, prompt.abort.reason)
        elif failed is not None:
            ran = failed
        else:
            ran = self._ask(prompt)
        was_aborted = prompt.abort.status is ran.status
        if was_aborted and self._last_stop != "aborted":
            self._host.event_writer.emit(events.TurnEnd("aborted", ran.reason))
        if ran is failed:
            self._host.event_writer.emit(events.Error(ran.reason))
        elif ran.status is not Status.INTERRUPTED:
            self._host.report_trouble(ran)
        self._steps += ran.steps
        self._host.end_work(ran.record())
        if prompt.command == "prompt":
            self._host.event_writer.emit(self._host.result(ran, time.monotonic() - began))
        self._queue.end()
        self._host.event_writer.emit(events.Done())

    def _ask(self, prompt: QueuedPrompt) -> PromptResult:
        limit = self._options.timeout
        if limit is None:
            return self._run(prompt)
        too_long = f"timeout: the {prompt.kind} took longer than {limit:g} s"
        timer = self._loop.call_later(limit, lambda: prompt.abort.request(Status.TIMEOUT, too_long))
        try:
            return self._run(prompt)
        finally:
            timer.cancel()

    def _run(self, prompt: QueuedPrompt) -> PromptResult:
        engine = self._host.engine
        if prompt.command == "compact":
            return engine.compact(prompt.abort, prompt.text)
        return engine.prompt(prompt.text, prompt.abort, images=prompt.images, sent=prompt.sent)

    def _tell_submitted(self, prompt: QueuedPrompt, position: int) -> None:
        """Tells observers of a prompt, those that came early once extensions have started."""
        if prompt.command == "prompt" and not self._requests.is_starting:
            self._host.engine.tell_submitted(prompt.text, len(prompt.images), queued=position > 0)

    def _take_sent(self, sent: SentPrompt) -> None:
        """Has a prompt of an extension carried out in its turn. Raises `SendRefusedError`."""
        if not self._has_input or self._ending.requested:
            raise SendRefusedError("the client has gone: no more prompts are accepted")
        self._queue.add_sent(sent)
        self._host.notices.say(f"zot: extension {sent.extension} sends a prompt: {one_line(sent.text, SHOWN)}")

    def _tell_idle(self) -> None:
        """Tells extensions that no prompt waits, after all that they have sent so far has arrived, if it is still so. A
        command that began meanwhile may send a prompt and wait for its end, and must not mistake this for it: then
        its extension is heard, too."""
        self._idle_count += 1
        number, begun = self._idle_count, self._requests.commands_begun

        def heard() -> None:
            if number != self._idle_count or self._queue.is_busy:
                return
            if begun != self._requests.commands_begun:
                self._tell_idle()
            else:
                supervisor.tell(frames.Event("idle"))

        supervisor = self._host.engine.supervisor
        senders = [each for each in supervisor.extensions if each.may_send]
        if senders and not self._queue.is_busy:
            supervisor.round_trip(senders, heard, REACTION_S)
        else:
            heard()

    def _write(self, record: events.Record) -> None:
        if isinstance(record, events.TurnEnd):
            self._last_stop = record.stop
        self._client.record(record)

    # --- the client ---------------------------------------------------------------------------------------

    def _on_line(self, line: Line | Oversize) -> None:
        if not isinstance(line, Oversize) and not line.strip():
            return
        request = request_lines.too_long(line) if isinstance(line, Oversize) else request_lines.decode(bytes(line))
        if self._is_locked and not self._unlocks(request):
            return
        if isinstance(request, request_lines.Refusal):
            self._client.respond(_response(request))
            if isinstance(line, Oversize):
                self._program.take_oversize(line)
        else:
            if isinstance(request, requests.Hello):
                self._client.shows_sent |= request.sent_prompts
                self._host.notices.is_read |= request.quiet
            self._requests.answer(request)

    def _unlocks(self, request: requests.Request | request_lines.Refusal) -> bool:
        """Whether the client has sent the token; if not, ends the server."""
        if isinstance(request, requests.Hello):
            given = (request.token or "").encode("utf-8", "replace")
            if hmac.compare_digest(given, self._token.encode("utf-8", "surrogateescape")):
                self._is_locked = False
                return True
            response = failure(request, "invalid token")
        elif isinstance(request, request_lines.Refusal):
            response = _response(request._replace(error=f"{AUTH_REQUIRED}; {request.error}"))
        else:
            response = failure(request, AUTH_REQUIRED)
        self._client.respond(response, opens=False)
        self._end_locked("the first line had not the token of ZOTCORE_RPC_TOKEN")
        return False

    def end_input(self, reason: str) -> None:
        """Reads no more requests: what follows is as at the end of stdin."""
        if self._has_input and not self._ending.requested:
            self._stdin.stop()
            self._end_input(reason)

    def end_at_once(self, reason: str) -> None:
        """Ends the server now, and kills all children: the process that has started it has gone."""
        self._ending.at_once = True
        self._end(Status.INTERRUPTED, reason)
        self._host.engine.kill_now()

    def _end_locked(self, why: str) -> None:
        self._host.notices.say(f"zot: rpc: {why}")
        self._end(Status.ERROR, "the client has not said the token")

    def _end(self, status: Status, reason: str) -> None:
        self._stdin.stop()
        self._ending.request(status, reason)

    # --- callbacks of the loop ----------------------------------------------------------------------------

    def _on_stdin_end(self) -> None:
        self._client.look_for_reader()
        self._end_input(STDIN_ENDED)

    def _end_input(self, why: str) -> None:
        self._has_input = False
        if self._is_locked:
            self._end_locked(f"{why} before a line with the token of ZOTCORE_RPC_TOKEN")
            return
        self._permissions.leave(why)
        self._program.lose_all(PROGRAM_GONE)
        self._queue.abort_others(why)
        self._loop.call_later(self._drain_s, lambda: self._on_drained_too_long(why))

    def _on_drained_too_long(self, why: str) -> None:
        reason = f"{why}, and {self._drain_s:g} s later this was not done (--drain-timeout)"
        self._queue.abort_all(reason)
        self._host.engine.cancel_pending(reason)
        self._requests.reloads.give_up(reason)

    def _on_signal(self, number: signal.Signals) -> None:
        if not self._ending.requested:
            self._end(Status.INTERRUPTED, f"interrupted by {number.name}")
            return
        self._ending.at_once = True
        self._host.engine.kill_now()

    def _on_client_gone(self, reason: str) -> None:
        if reason:
            self._end(Status.ERROR, f"cannot write to stdout: {reason}")
            self._host.notices.say(f"zot: rpc: cannot write to stdout: {reason}")
        else:
            is_idle = not (self._queue.is_busy or self._requests.commands_running)
            self._end(Status.OK if is_idle else Status.INTERRUPTED, "the client has closed stdout")

    def _on_unread(self, reason: str) -> None:
        self._host.notices.say(f"zot: rpc: the client is given up: {reason}")
        self._end(Status.ERROR, f"the client is given up: {reason}")


AUTH_REQUIRED = "auth required: the first line must be hello with the token"


def _response(refusal: request_lines.Refusal) -> Response[Any]:
    return Response(id=refusal.id, command=refusal.command, success=False, error=refusal.error)
