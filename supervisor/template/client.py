"""The parent's end: asks a template for forks, and starts a new one when it has died."""

from __future__ import annotations

import os
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from supervisor.process.child import PASSING, SpawnError
from supervisor.template.connection import TemplateConnection
from supervisor.template.forked_child import ForkedChild, ForkState
from supervisor.template.protocol import DESCRIPTORS, Fork, environment_block

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.loop.loop import Loop
    from supervisor.process.child import Child, ExitStatus

DEATHS = 3
"""Deaths in a row, without a fork in between, after which no further template is started."""


class Template:
    """A template, started at the first request or by `start`. A `Teardown` stops it, as a child.

    If it dies, its forks go on, and a new one serves the requests that it had not read.
    """

    def __init__(self, loop: Loop, argv: Sequence[str], *, env: Mapping[str, str], cwd: str = "/") -> None:
        """`argv` starts the program, which gets the number of its socket as a further argument and calls `server.serve`
        last. /proc shows `env` for all forks, too: it needs the token that marks leftovers."""
        self._loop = loop
        self._argv = list(argv)
        self._env = dict(env)
        self._cwd = cwd
        self._connection: TemplateConnection | None = None
        self._outbox: deque[tuple[Fork, ForkedChild]] = deque()
        self._last_id = 0
        self._deaths = 0
        self._refusal = ""
        """Why no further template is started; "" if another one may start."""

    @property
    def child(self) -> Child | None:
        """The process of the template; None before the first request."""
        return None if self._connection is None else self._connection.child

    def start(self) -> None:
        """Starts the process, so that it is ready for the first request. If that fails, the first request says why."""
        if self._connection is None and not self._refusal:
            try:
                self._connection = TemplateConnection(
                    self._loop, self._argv, cwd=self._cwd, env=self._env, on_room=self._pump, on_lost=self._on_lost
                )
            except SpawnError as error:
                if not error.may_pass:
                    self._refusal = str(error)
                self._loop.call_later(0, partial(self._fail_all, error))

    def fork(
        self,
        entry: str,
        argument: bytes = b"",
        *,
        cwd: str,
        env: Mapping[str, str] | None,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
        on_stderr: Callable[[bytes], None] | None = None,
        on_mute: Callable[[], None] | None = None,
        stdin: bool = False,
        stderr: int | None = None,
        links: Sequence[int] = (),
        umask: int | None = None,
    ) -> ForkedChild:
        """Asks for a fork that calls the function `entry` with `argument`, and returns at once.

        `env` None is the environment of the template. With `stdin` the fork's input is a pipe, otherwise /dev/null.
        Standard error goes to `on_stderr`, or to the descriptor `stderr`, or where standard output goes. `links` become
        the descriptors 3, 4, … of the fork. The caller keeps its descriptors, and may close them at once. `on_mute` is
        called if standard output ends before the fork.

        Raises `SpawnError` if no descriptors are left, if the request is not possible, or if no further template is
        started. Later failures go to `on_failed`.
        """
        if self._refusal:
            raise SpawnError(self._refusal)
        if len(links) > DESCRIPTORS - 3:
            raise SpawnError(f"cannot start the fork: it can have {DESCRIPTORS} descriptors at most")
        try:
            block = None if env is None else environment_block(env)
            fork = ForkedChild(
                self._loop,
                on_stdout=on_stdout, on_stderr=on_stderr, on_exit=on_exit, on_failed=on_failed, on_mute=on_mute,
                stdin=stdin, stderr=stderr, links=links,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise _refusal(error) from error
        self._last_id += 1
        request = Fork(self._last_id, entry, argument, os.fsencode(cwd), block, umask)
        self._outbox.append((request, fork))
        self._pump()
        return fork

    def _pump(self) -> None:
        """Sends the requests that can be sent now."""
        if self._outbox and self._connection is None:
            self.start()
        connection = self._connection
        while self._outbox and connection is not None and connection.has_room:
            request, fork = self._outbox[0]
            if fork.state is ForkState.WAITING:
                try:
                    if not connection.ask(request, fork):
                        return
                except OSError as error:
                    self._loop.call_later(0, partial(fork.refused, _refusal(error)))
            self._outbox.popleft()

    def _on_lost(self, reason: str) -> None:
        """The process has ended."""
        assert self._connection is not None
        self._deaths = 0 if self._connection.has_served else self._deaths + 1
        self._connection = None
        if not self._refusal and self._deaths >= DEATHS:
            self._refusal = f"{reason} (the template died {self._deaths} times without a fork: it is not restarted)"
        if self._refusal:
            self._fail_all(SpawnError(self._refusal))
        else:
            self._pump()

    def _fail_all(self, error: SpawnError) -> None:
        outbox, self._outbox = self._outbox, deque()
        for _, fork in outbox:
            if fork.state is ForkState.WAITING:
                fork.refused(error)

    # --- for a teardown ---------------------------------------------------------------------------------------

    def ask_to_stop(self) -> None:
        """Refuses further requests, and tells the template to end all forks and itself, in up to a second."""
        self._refusal = self._refusal or "the template was stopped"
        self._loop.call_later(0, lambda: self._fail_all(SpawnError(self._refusal)))
        if self._connection is not None:
            self._connection.close()

    def hint_to_stop(self) -> None:
        """Does nothing: the template has no input."""


def _refusal(error: Exception) -> SpawnError:
    failed = SpawnError(f"cannot start the fork: {error.strerror if isinstance(error, OSError) else error}")
    failed.may_pass = isinstance(error, OSError) and error.errno in PASSING
    return failed
