"""The commands of `zot session`: list, read, search, export, import, fork and remove sessions. They use
`agent.sessions`. Only `zot session` imports these modules, when it runs a command or shows its help."""

from __future__ import annotations

from cli.help.command_classes import HelpTyper, LazyGroup

HELP = """\
List, read, search, export, fork and remove sessions: the conversations of past runs.

ID is the short id of the list, the whole id, the name of a session file, or its path. Sessions of the folder are
searched first, then all sessions.

Examples:
    zot session list                      the sessions of this folder
    zot session show 3f2a                 the conversation of one
    zot session search "race condition"   a text in all conversations here
    zot session export 3f2a -o run.html   a page to read or to send
    zot -r 3f2a -p "go on"                continue one
"""


class SessionGroup(LazyGroup):
    modules = (
        ("Sessions", (
            "cli.sessions.list", "cli.sessions.show", "cli.sessions.search", "cli.sessions.export",
            "cli.sessions.copies", "cli.sessions.remove",
        )),
    )  # fmt: skip


session_app = HelpTyper(cls=SessionGroup, no_args_is_help=True, help=HELP)


@session_app.callback()
def _root() -> None:
    """A callback makes typer build a group."""
