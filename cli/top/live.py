"""The live screen of `zot top`: draws each new sample, reads keys, and restores the terminal."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live

from cli.hosts.status_lines import status_lines
from cli.logs.timed_lines import last_timed_lines, with_time
from cli.terminal import size
from cli.top.keyboard import SEQUENCE_S, Keys, Unbuffered
from cli.top.model import LOG_LINES, Histories, Mode, press
from cli.top.screen import NOTHING_KNOWN, SelectedExtension, page_height, screen, table_rows
from supervisor.control.client import ControlError, GoneError
from supervisor.home.zot_home import zot_home
from supervisor.loop.loop import Loop
from supervisor.traces.places import newest_profile
from wire import control
from wire.exit_codes import Status
from wire.stats import Stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.top.model import TopView
    from cli.top.profile_key import TopProfiling
    from supervisor.control.client import ControlClient

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STDIN, STDOUT = 0, 1


class LiveTop:
    """Shows one host until the user quits, a signal comes, or the host ends."""

    def __init__(self, client: ControlClient, view: TopView, interval_s: float) -> None:
        self._client = client
        self._view = view
        self._interval_s = interval_s
        self._stats: Stats | None = None
        self._histories = Histories()
        self._about = NOTHING_KNOWN
        self._restarting: dict[str, str] = {}  # names of extensions by the id of their restart request
        self._said = ""  # the message about the last key, until the next key
        self._status: int | None = None
        self._last_words = ""
        self._loop = Loop()
        self._terminal = Unbuffered(STDIN)
        self._keyboard = _TopKeyboard(self._loop, self._terminal, self._on_key, lambda: self._end(0))
        self._console = Console(highlight=False)
        self._ascii = "utf" not in self._console.encoding.lower()
        self._live: Live | None = None
        self._profiling: TopProfiling | None = None

    def run(self) -> int:
        """Returns the exit status: 0 after `q` or when the host has ended, 130 after a signal."""
        wanted = [*ENDING, signal.SIGTSTP, signal.SIGWINCH]
        stoppable = [number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN]
        try:
            with self._loop.signals(stoppable, self._on_signal):
                try:
                    self._client.ask(control.Watch(self._client.next_id(), stats_s=self._interval_s), control.Ok)
                    self._show()
                    self._loop.watch(self, read=True)
                    self._loop.watch(self._keyboard, read=True)
                    self._on_readable_now()
                    self._loop.run_until(lambda: self._status is not None)
                finally:
                    self._hide()
                    if self._profiling is not None:
                        self._profiling.stop()
        finally:
            self._loop.close()
        if self._last_words:
            print(self._last_words, file=sys.stderr)  # noqa: T201
        return self._status or 0

    # --- the screen ---------------------------------------------------------------------------------------

    def _show(self) -> None:
        self._terminal.enter()
        self._live = Live(console=self._console, screen=True, auto_refresh=False, redirect_stdout=False)
        self._live.start()
        self._draw()

    def _hide(self) -> None:
        live, self._live = self._live, None
        try:
            if live is not None:
                live.stop()
        except OSError:
            pass  # the terminal has hung up
        finally:
            self._terminal.leave()

    def _draw(self) -> None:
        if self._live is None:
            return
        width, height = size(STDOUT)
        self._console.size = (width, height)
        lines = screen(
            self._stats,
            self._view,
            self._histories,
            (width, height),
            ascii_only=self._ascii,
            waiting=f"waiting for host {self._client.pid}",
            about=self._about,
            said=self._said,
        )
        try:
            self._live.update(Group(*lines), refresh=True)
        except OSError:
            self._end(Status.INTERRUPTED.exit_code)

    # --- samples from the host -------------------------------------------------------------------------------

    def fileno(self) -> int:
        return self._client.fileno()

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        self._on_readable_now()

    def on_writable(self) -> None:
        pass

    def _on_readable_now(self) -> None:
        try:
            replies = self._client.take()
        except GoneError:
            self._loop.watch(self)
            self._end(0, f"zot top: host {self._client.pid} has ended")
            return
        except ControlError as error:
            self._loop.watch(self)
            self._end(Status.ERROR.exit_code, f"zot top: {error}")
            return
        for reply in replies:
            match reply:
                case Stats():
                    self._histories.add(reply)
                    self._stats = reply
                case control.StatusReply():
                    self._take_status(reply)
                case control.ErrorReply():
                    self._take_error(reply)
                case control.Ok() if (name := self._restarting.pop(reply.id, None)) is not None:
                    self._said = f"{name} is being restarted"
        if any(isinstance(reply, Stats) for reply in replies):
            self._ask_about_one()
        if replies:
            self._draw()

    # --- keys and signals ---------------------------------------------------------------------------------

    def _on_key(self, key: str) -> None:
        rows = [] if self._stats is None else table_rows(self._stats, self._view)
        before, self._view = self._view, press(self._view, key, rows=rows, page=page_height(size(STDOUT)[1]))
        self._said = ""
        if self._view.mode is Mode.QUIT:
            self._end(0)
            return
        if self._view.restart:
            self._restart(self._view.restart)
            self._view = replace(self._view, restart="")
        if self._view.profile:
            self._profile(self._view.profile)
            self._view = replace(self._view, profile="")
        if self._view.selected != before.selected or Mode.TABLE in (self._view.mode, before.mode):
            self._about = NOTHING_KNOWN
        if (self._view.mode, self._view.selected) != (before.mode, before.selected):
            self._ask_about_one()
        self._draw()

    # --- one extension ------------------------------------------------------------------------------------

    def _restart(self, name: str) -> None:
        request = control.RestartExtension(self._client.next_id(), name)
        self._restarting[request.id] = name
        self._send(request)

    def _profile(self, name: str) -> None:
        from cli.top.profile_key import TopProfiling  # with this key only

        if self._profiling is None:
            self._profiling = TopProfiling(self._loop, self._say)
        if self._stats is not None:
            self._profiling.begin(name, self._stats)

    def _say(self, text: str) -> None:
        self._said = text
        self._draw()

    def _ask_about_one(self) -> None:
        """Asks for the status of the selected extension if the screen shows it. The reply comes among the others."""
        if self._view.mode in (Mode.DETAILS, Mode.LOGS):
            self._send(control.GetStatus(self._client.next_id(), self._view.selected))

    def _send(self, request: control.Request) -> None:
        try:
            self._client.send(request)
        except ControlError as error:
            self._end(Status.ERROR.exit_code, f"zot top: {error}")

    def _take_status(self, reply: control.StatusReply) -> None:
        if reply.status.name == self._view.selected:
            try:
                log = [with_time(line) for line in last_timed_lines(Path(reply.status.log), LOG_LINES)]
            except OSError as error:
                log = [f"the log cannot be read: {error.strerror}"]
            self._about = SelectedExtension(
                status_lines(reply, time.time(), newest_profile(zot_home(), reply.status.name)), log
            )

    def _take_error(self, reply: control.ErrorReply) -> None:
        """Shows why a request was refused: a reload may have removed the extension."""
        self._said = reply.message
        self._restarting.pop(reply.id or "", None)

    def _on_signal(self, number: signal.Signals) -> None:
        if number is signal.SIGWINCH:
            self._draw()
        elif number is signal.SIGTSTP:
            self._suspend()
        else:
            self._end(Status.INTERRUPTED.exit_code)

    def _suspend(self) -> None:
        """Ctrl-Z: restores the terminal and stops; draws again after `fg`."""
        self._hide()
        ours = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, ours)
        self._show()

    def _end(self, status: int, last_words: str = "") -> None:
        if self._status is None:
            self._status = status
            self._last_words = last_words


class _TopKeyboard:
    """Passes pressed keys to `on_key`, one at a time; calls `on_end` at the end of input."""

    def __init__(
        self, loop: Loop, terminal: Unbuffered, on_key: Callable[[str], None], on_end: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._terminal = terminal
        self._on_key = on_key
        self._on_end = on_end
        self._keys = Keys()

    def fileno(self) -> int:
        return STDIN

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        data = self._terminal.read()
        if not data:
            self._loop.watch(self)
            self._on_end()
            return
        for key in self._keys.feed(data):
            self._on_key(key)
        if self._keys.has_open_sequence:
            self._loop.call_later(SEQUENCE_S, self._end_sequence)

    def _end_sequence(self) -> None:
        for key in self._keys.end_sequence():
            self._on_key(key)

    def on_writable(self) -> None:
        pass
