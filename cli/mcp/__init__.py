"""The commands of `zot mcp`. Only `zot mcp` imports the modules, when it runs a command or shows its help."""

from __future__ import annotations

from cli.help.command_classes import HelpTyper, LazyGroup

HELP = """\
Offer the tools of extensions to other agents by the Model Context Protocol.

Examples:
    zot mcp serve                    the installed extensions, as one MCP server on stdin and stdout
    zot mcp serve --host 4242        those of a host that runs already
"""


class McpGroup(LazyGroup):
    modules = ("cli.mcp.serve",)


mcp_app = HelpTyper(cls=McpGroup, no_args_is_help=True, help=HELP)


@mcp_app.callback()
def _root() -> None:
    """A callback makes typer build a group."""
