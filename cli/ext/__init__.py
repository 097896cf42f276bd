"""The commands of `zot ext`. Only `zot ext` imports their modules, when it runs a command or shows its help; other
commands start without them."""

from __future__ import annotations

from cli.help.command_classes import HelpTyper, LazyGroup

HELP = """\
Write, test, install and manage extensions; look at those that run.

Examples:
    zot ext new hello                a new extension in the folder hello
    zot ext test hello               play its test scripts
    zot ext install ./hello          install it for all projects
    zot ext list                     what is installed
    zot ext logs hello -f            what it writes to stderr
    zot ext history hello            its crashes, hangs and limits in past runs
"""


class ExtGroup(LazyGroup):
    modules = (
        ("Write an extension", ("cli.ext.author.commands",)),
        ("Manage extensions", (
            "cli.ext.manage.install", "cli.ext.manage.list", "cli.ext.manage.info", "cli.ext.manage.update",
            "cli.ext.manage.presence", "cli.ext.manage.trust",
        )),
        ("Find out which extension did it", ("cli.runs.commands", "cli.ext.culprit.commands")),
        ("Look at running extensions", ("cli.ext.live.reload", "cli.ext.live.commands")),
    )  # fmt: skip


ext_app = HelpTyper(cls=ExtGroup, no_args_is_help=True, help=HELP)


@ext_app.callback()
def _root() -> None:
    """A callback makes typer build a group."""
