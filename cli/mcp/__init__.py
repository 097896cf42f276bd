"""The commands of `zot mcp`: which MCP servers there are, and how one of them behaves.

A server is an extension of another dialect: `zot ext` has what holds for all. Only `zot mcp` imports the modules, when
it runs a command or shows its help.
"""

from __future__ import annotations

from cli.help.command_classes import HelpTyper, LazyGroup

HELP = """\
Add, list, try and remove MCP servers, which run supervised like all extensions.

Servers are entries of two files: .mcp.json in a project's folder, which other programs read too, and mcp.json in
$ZOT_HOME, for all projects. A server of a project is started once you trust it: zot ext trust NAME.

Examples:
    zot mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
    zot mcp test files               start it once, and see what it offers
    zot mcp list                     all of them, without starting any
    zot mcp remove files
    zot mcp serve                    the other way: offer the tools of extensions to other agents
"""


class McpGroup(LazyGroup):
    modules = (("Manage MCP servers", ("cli.mcp.edits", "cli.mcp.list", "cli.mcp.test", "cli.mcp.serve")),)


mcp_app = HelpTyper(cls=McpGroup, no_args_is_help=True, help=HELP)


@mcp_app.callback()
def _root() -> None:
    """A callback makes typer build a group."""
