"""The program that owns the input line of `zot ext drive`. Its arguments are two descriptors of the terminal.

It reads JSON lines from its stdin: `{"print": TEXT}` prints whole lines above the input, `{"prompt": TEXT}` and
`{"completions": {TEXT: DESCRIPTION}}` replace what was there. It writes to its stdout `{"typed": TEXT}`,
`{"interrupt": true}` for Ctrl-C on an empty line, and `{"end": true}` for Ctrl-D. The end of its stdin ends it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import termios

if __name__ == "__main__":
    for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(_number, signal.SIG_IGN)  # its parent gets them, too, and ends it
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.completion import DynamicCompleter, WordCompleter
from prompt_toolkit.filters import Always, Condition
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout

from pyzot.screen.terminal.input import InputArea
from pyzot.screen.terminal.keys import bind_input
from pyzot.screen.terminal.output import FrameOutput, print_above

READ = 8 * 1024
"""Bytes that are printed between two keys: a slow terminal must not hold up typing."""


class TypedLines:
    """The input line. `orders` and `said` are the descriptors of the pipes from and to the parent."""

    def __init__(self, orders: int, said: int) -> None:
        self._orders = open(orders, "rb", buffering=0)  # noqa: SIM115
        self._said = open(said, "w", buffering=1)  # noqa: SIM115
        self._modes = termios.tcgetattr(0)
        self._prompt = ""
        self._completions: dict[str, str] = {}
        self._input = InputArea(InMemoryHistory(), DynamicCompleter(self._completer), prompt=lambda: self._prompt)
        self._output = FrameOutput.on_stdout()
        layout = Layout(self._input.container, focused_element=self._input.window)
        self._app: Application[None] = Application(
            layout=layout, key_bindings=self._keys(), output=self._output, erase_when_done=True
        )
        self._app.ttimeoutlen = self._app.timeoutlen = 0.05

    async def run(self) -> None:
        """Edits lines until the parent closes its pipe, or the terminal has gone."""
        try:
            await self._app.run_async(pre_run=self._begin, set_exception_handler=False)
        except EOFError:
            self._say("end", True)

    def _begin(self) -> None:
        self._app.create_background_task(self._obey())

    async def _obey(self) -> None:
        reader, rest = asyncio.StreamReader(), b""
        pipe = asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._orders)
        try:
            await pipe
            while data := await reader.read(READ):
                *lines, rest = (rest + data).split(b"\n")
                orders = [json.loads(line) for line in lines]
                for order in orders:
                    self._prompt = order.get("prompt", self._prompt)
                    self._completions = order.get("completions", self._completions)
                print_above(self._app, self._output, "".join(order.get("print", "") for order in orders))
                await asyncio.sleep(0)  # for the keys
        finally:
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a parent that was killed has left it in the background
            if not self._app.is_done:
                self._app.exit()

    def _completer(self) -> WordCompleter:
        words = [*self._completions] if self._input.buffer.text else []
        return WordCompleter(words, meta_dict=self._completions, sentence=True)

    def _keys(self) -> KeyBindings:
        keys, buffer = KeyBindings(), self._input.buffer
        is_empty = Condition(lambda: not buffer.text)
        bind_input(keys, self._input, Always(), lambda: self._say("typed", self._input.take()))
        keys.add(Keys.Escape)(lambda _event: buffer.cancel_completion())
        keys.add(Keys.ControlC, filter=~is_empty)(lambda _event: self._input.take() and None)
        keys.add(Keys.ControlC, filter=is_empty)(lambda _event: self._say("interrupt", True))
        keys.add(Keys.ControlD, filter=is_empty)(lambda _event: self._say("end", True))
        keys.add(Keys.ControlZ)(lambda _event: run_in_terminal(self._suspend) and None)
        return keys

    def _suspend(self) -> None:
        termios.tcsetattr(0, termios.TCSANOW, self._modes)  # `run_in_terminal` leaves Ctrl-S and Ctrl-Q as they are
        os.kill(0, signal.SIGTSTP)

    def _say(self, kind: str, value: str | bool) -> None:
        self._said.write(json.dumps({kind: value}) + "\n")


if __name__ == "__main__":
    pipes = os.dup(0), os.dup(1)
    for _fd, _terminal in enumerate(sys.argv[1:3]):
        os.dup2(int(_terminal), _fd)
    asyncio.run(TypedLines(*pipes).run())
