"""The process of `zot rpc --listen PATH`: accepts clients, and starts a process for the conversation of each."""

from __future__ import annotations

import os
import uuid
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.batch.pool.warm_template import ForkedProgram, WarmTemplate
from agent.batch.run.begin import encode_request
from agent.listener.conversation import Conversation, refuse
from agent.listener.order import Order, encode_order, refusal_line
from agent.listener.shared_workers import SharedWorkers
from agent.output.fd_writer import FdWriter
from supervisor.cleanup.env_marks import TOKEN
from supervisor.control.listener import SocketListener
from supervisor.control.named_socket import UnusablePathError, advice_on_length, listen_at
from supervisor.control.server import ControlServer
from supervisor.control.unix_socket import peer_uid
from supervisor.home.runtime_dir import runtime_dir
from supervisor.loop.loop import Loop, stop_signals
from supervisor.process.child import SpawnError
from supervisor.reload.reloader import Reloader
from supervisor.service.notify_socket import NotifyAddress, NotifySocket
from supervisor.supervisor import Supervisor
from wire.dialects.base import HostInfo
from wire.text import counted, one_line

if TYPE_CHECKING:
    import signal
    import socket

    from agent.options import RunRequest
    from supervisor.process.teardown import Stoppable
    from wire.batch.link import ModelRequest

CONVERSATIONS = 64
"""Maximum of conversations at the same time."""
LOOK_S = 5.0
"""Seconds between two looks whether the path is still that of this socket."""
STOP_S = 15.0
"""Seconds after the drain in which conversations stop their extensions."""
HURRY_S = 5.0
"""Seconds that conversations have after a second signal."""
LINE_LIMIT = 1000
HERE = Path(__file__).resolve().parent
FORKED = ForkedProgram(HERE / "template_main.py", "conversation", HERE / "conversation_main.py", "conversations")


class ListenerPhase(Enum):
    NEW = "new"
    SERVING = "serving"
    DRAINING = "draining"
    """It was asked to stop: no new clients, and conversations end as at the end of their input."""
    HURRYING = "hurrying"
    """After a second signal: conversations abort everything."""
    CUT_SHORT = "cut short"
    """After a third signal: everything is killed."""


class RpcListener:
    """Serves clients at the absolute `path` from `run` until a signal or `zot stop`. `token` is the one that each
    client must say, "" for none. `has_template` as with `WarmTemplate`."""

    def __init__(
        self,
        path: Path,
        request: RunRequest,
        *,
        cwd: str,
        home: Path,
        version: str,
        token: str,
        drain_s: float,
        has_template: bool | None = None,
    ) -> None:
        self.phase = ListenerPhase.NEW
        self._path = path
        self._loop = loop = Loop()
        self._stderr = FdWriter(loop, 2, lambda _reason: None, lossy=True)
        self._drain_s = drain_s
        self._order = partial(Order, encode_request(request), token, version=version, drain_s=drain_s)
        self._conversations: dict[str, Conversation] = {}
        self._count = 0
        self._said = ""
        self._supervisor = Supervisor(
            loop,
            host=HostInfo(version, "none", "", cwd, session_id=str(uuid.uuid4())),
            logs=home / "logs",
            owns_process=True,
            runtime_folder=runtime_dir(home),
            say=self._say,
        )
        self._control = ControlServer(
            loop, self._supervisor, Reloader(self._supervisor), kind="run", version=version, cwd=cwd,
            runtime_dir=runtime_dir(home), on_stop=self._request_stop,
        )  # fmt: skip
        address = NotifyAddress.take(os.environ, os.getpid())
        self._manager = NotifySocket(loop, address.socket, self._say) if address.socket else None
        self._ping_s = address.ping_s
        env = {**os.environ, TOKEN: self._supervisor.token}
        self._warm = WarmTemplate(loop, FORKED, env=env, cwd=os.getcwd(), say=self._say, has_template=has_template)
        self._workers = SharedWorkers(loop, self._warm.start_worker, most=CONVERSATIONS, on_line=self._pass_on)
        self._clients = SocketListener(
            loop, CONVERSATIONS, self._welcome, peer_uid, who="this server", refusal=refusal_line
        )

    def run(self) -> bool:
        """Returns whether the stop was in order; by then every process that was started has ended. Raises
        `UnusablePathError`; nothing was started then. Main thread only."""
        with self._loop.signals(stop_signals(), self._on_signal):
            listening = listen_at(self._path)
            try:
                self._clients.open(listening, self._path)
                self._supervisor.prepare()
                self._supervisor.provide_for(CONVERSATIONS)
                if (trouble := self._control.start()) is not None:
                    self._say(trouble)
                self._warm.start()
                self.phase = ListenerPhase.SERVING
                self._say(f"serving {self._path}; to stop: Ctrl-C, or zot stop {os.getpid()}")
                if advice := advice_on_length(self._path):
                    self._say(advice)
                self._tell_manager(READY="1", STATUS=f"serves {self._path}")
                if self._manager is not None:
                    self._manager.ping_every(self._ping_s)
                self._loop.call_later(LOOK_S, self._look)
                self._loop.run_until(lambda: self.phase is not ListenerPhase.SERVING)
                self._end_conversations()
            finally:
                self._stop()
        return self.phase is ListenerPhase.DRAINING

    # --- clients --------------------------------------------------------------------------------------------

    def _welcome(self, sock: socket.socket) -> None:
        self._count += 1
        name = str(self._count)
        mark = f"{self._supervisor.token}.{name}"
        order = encode_order(self._order(mark=mark, name=name))
        try:
            begun = Conversation(self._loop, name, mark, order, sock, self, self._warm.launch)
        except OSError as error:
            reason = str(error) if isinstance(error, SpawnError) else f"cannot start: {error.strerror}"
            self._say(f"a client was not served: {reason}")
            refuse(sock, reason)
            return
        self._conversations[name] = begun
        self._clients.clients = len(self._conversations)

    def _look(self) -> None:
        """Makes the socket again if it was removed. Says so once if something else is at its path."""
        if self.phase is not ListenerPhase.SERVING:
            return
        self._loop.call_later(LOOK_S, self._look)
        if self._clients.has_path():
            return
        try:
            listening = listen_at(self._path, wait_s=0)
        except UnusablePathError as error:
            self._say_once(f"no new clients: the socket was removed, and {error}")
            return
        self._clients.close()
        self._clients.open(listening, self._path)
        self._say_once(f"the socket {self._path} was removed, and was made again")

    # --- conversations --------------------------------------------------------------------------------------

    def asked(self, conversation: Conversation, request: ModelRequest) -> None:
        self._workers.request(conversation.name, request)

    def cancelled(self, conversation: Conversation) -> None:
        self._workers.cancel(conversation.name)

    def paced(self, conversation: Conversation, is_behind: bool) -> None:
        self._workers.set_pace(conversation.name, is_behind=is_behind)

    def ended(self, conversation: Conversation, trouble: str) -> None:
        self._conversations.pop(conversation.name, None)
        self._clients.clients = len(self._conversations)
        if trouble:
            self._say(f"a conversation has ended: {trouble}")

    def _pass_on(self, name: str, line: bytes | bytearray) -> None:
        if (conversation := self._conversations.get(name)) is not None:
            conversation.send(line)

    # --- the end --------------------------------------------------------------------------------------------

    def _request_stop(self) -> None:
        """By `zot stop`."""
        if self.phase is ListenerPhase.SERVING:
            self.phase = ListenerPhase.DRAINING

    def _on_signal(self, number: signal.Signals) -> None:
        if self.phase in (ListenerPhase.NEW, ListenerPhase.SERVING):
            self.phase = ListenerPhase.DRAINING
            if self._conversations:
                running = counted(len(self._conversations), "conversation")
                self._say(f"{number.name}: {running} may go on for {self._drain_s:g} s; once more to abort")
        elif self.phase is ListenerPhase.DRAINING:
            self.phase = ListenerPhase.HURRYING
        else:
            self.phase = ListenerPhase.CUT_SHORT

    def _end_conversations(self) -> None:
        """Returns when all have ended, at the latest when their time is over."""
        self._tell_manager(STOPPING="1", STATUS=f"{counted(len(self._conversations), 'conversation')} to end")
        self._clients.close()
        self._control.wind_down()
        for conversation in list(self._conversations.values()):
            conversation.drain("the server is stopping")
        self._await(ListenerPhase.DRAINING, self._drain_s + STOP_S)
        if self.phase is ListenerPhase.HURRYING:
            for conversation in list(self._conversations.values()):
                conversation.hurry()
            self._await(ListenerPhase.HURRYING, HURRY_S)

    def _await(self, phase: ListenerPhase, seconds: float) -> None:
        """Waits while it is in this phase and a conversation runs."""
        self._loop.run_until(lambda: not self._conversations or self.phase is not phase, self._loop.clock() + seconds)

    def _stop(self) -> None:
        self._clients.close()
        template = [] if self._warm.template is None else [self._warm.template]
        others: list[Stoppable] = [*self._conversations.values(), *self._workers.stop(), *template]
        try:
            self._supervisor.stop(others, at_once=self.phase in (ListenerPhase.HURRYING, ListenerPhase.CUT_SHORT))
        finally:
            self._control.close()
            self._stderr.close()
            self._loop.close()

    # --- the service manager --------------------------------------------------------------------------------

    def _tell_manager(self, **values: str) -> None:
        if self._manager is not None:
            self._manager.send(values)

    # --- lines for the operator -----------------------------------------------------------------------------

    def _say(self, line: str) -> None:
        self._stderr.write(f"zot rpc: {one_line(line.removeprefix('zot: '), LINE_LIMIT)}\n".encode())

    def _say_once(self, line: str) -> None:
        if line != self._said:
            self._said = line
            self._say(line)
