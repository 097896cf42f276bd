"""stdin and stdout of `zot mcp serve`: stdout is the protocol's alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.output.fd_writer import FdWriter
from agent.rpc.stdin_lines import StdinLines
from cli.choices import CommandLineError
from cli.hosts.host_log import HostLog
from cli.version import VERSION
from supervisor.host import HostEvent
from supervisor.mcp_server.offer import instructions
from supervisor.mcp_server.server import LINE_LIMIT, McpServer
from supervisor.mcp_server.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.choices import LogFormat, LogLevel
    from supervisor.loop.loop import Loop
    from supervisor.mcp_server.source import Source

BY_HAND = "an MCP client is expected on stdin; Ctrl-D ends. To set one up: zot mcp serve --help"
FLUSH_S = 2.0
"""Seconds for the client to read the last answers."""


class Stdio:
    """The server's ends of the client's pipes, and stderr as a log. Raises `CommandLineError` without stdin or stdout.

    What anybody else of this process prints goes to stderr."""

    def __init__(self, loop: Loop, form: LogFormat, level: LogLevel) -> None:
        try:
            os.fstat(0)
            self._fd = os.dup(1)
        except OSError:
            raise CommandLineError("stdin or stdout is closed; an MCP client talks to the server by both") from None
        self._loop = loop
        try:
            os.dup2(2, 1)
        except OSError:  # there is no stderr
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        self._stderr = FdWriter(loop, 2, _ignore, lossy=True)
        self.log = HostLog(self._stderr.write, form=form, level=level)

    def serve(self, source: Source, on_end: Callable[[str, bool], None]) -> McpServer:
        """Begins to read the client's lines; all happens in the loop."""
        session = Session(
            VERSION, lambda: instructions(source.extensions, source.instructions), lambda: source.is_described
        )
        server = McpServer(self._loop, session, source, on_end)
        self._stdout = FdWriter(self._loop, self._fd, server.on_gone)
        self._stdin = StdinLines(self._loop, 0, server.on_line, server.on_end_of_input, LINE_LIMIT)
        server.attach(self._stdin, self._stdout)
        self._stdin.start()
        if os.isatty(0):
            self.log(HostEvent("waiting", BY_HAND))
        return server

    def close(self) -> None:
        """Lets the client read what waits for it, for `FLUSH_S` at most."""
        self._stdin.stop()
        until = self._loop.clock() + FLUSH_S
        self._loop.run_until(lambda: self._stdout.is_flushed and self._stderr.is_flushed, until)
        self._stdout.close()
        self._stderr.close()


def _ignore(_reason: str) -> None:
    """The server does not depend on a reader of its stderr."""
