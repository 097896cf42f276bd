"""`zot mcp serve` as typer sees it. Its work is imported when it runs."""

from __future__ import annotations

from typing import Any

import typer  # noqa: TC002  (it reads the annotations)

from cli.os_errors import exit_with
from cli.run.flags import with_flags
from wire.flags.host import SERVE


def register(app: typer.Typer) -> None:
    """Adds the command to `zot mcp`."""
    app.command("serve")(serve)


@with_flags(SERVE)
def serve(ctx: typer.Context, **_flags: Any) -> None:
    """Serve the tools of extensions to an MCP client, such as Claude Code, Codex or an editor.

    The client starts this command (claude mcp add zot -- zot mcp serve -q) and talks to it on stdin and stdout;
    messages go to stderr. Each extension is a supervised process, as in zot host: its use is limited and counted, and
    it is restarted after a crash. Guards judge every call and its result. Slash commands become prompts. The
    agent's built-in tools are not served. zot ps, zot top and zot ext stats show the server.

    The first list of tools waits until all extensions have started, 5 s at most, but for required extensions up to
    their own limits. The client is told of tools that come later. When stdin ends, calls that are under way still get
    their answers, for 30 s at most; then the extensions stop in order.

    Exit status: 0 stdin has ended, or zot stop or a signal has stopped it; 1 the client does not read, or the host of
    --host is gone; 2 usage; 9 a required extension did not start; 130 stopped at once by a second signal.

    Examples:
        zot mcp serve                         the installed extensions, and the project's trusted ones
        zot mcp serve --no-ext -e ./weather   one extension alone
        zot mcp serve -q --host .             those of the zot host in this folder
    """
    exit_with("mcp serve", lambda: _run(ctx.params))


def _run(flags: dict[str, Any]) -> int:
    if flags["host"] is not None:
        from cli.mcp.stdio_server import serve_running

        return serve_running(flags, flags["host"])
    from cli.mcp.stdio_server import serve_own

    return serve_own(flags)
