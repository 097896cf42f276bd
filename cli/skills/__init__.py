"""The commands of `zot skill`, as typer sees them. Their work is imported when a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.help.command_classes import HelpTyper
from cli.help.completion import skills
from cli.os_errors import exit_with
from cli.parameters import Json

HELP = """\
Show the skills that a run with --with-skills offers to the model. A run offers those of extensions without it.

Examples:
    zot skill list                   which there are, and where they are
    zot skill show write-zot-extension | less   what the model gets
"""
Cwd = Annotated[
    str | None,
    typer.Option("-C", "--cwd", help="Take this folder as the project's. Default: the current folder.", metavar="DIR"),
]
skill_app = HelpTyper(no_args_is_help=True, help=HELP)


@skill_app.callback()
def _root() -> None:
    """A callback makes typer build a group."""


@skill_app.command("list")
def skill_list(cwd: Cwd = None, as_json: Json = False) -> None:
    """List the skills of extensions, of the project, of the user, and those that come with zot.

    If several have one name, the first is used, and the others say which one hides them. stderr names faulty ones.

    Exit status: 0 listed, 1 failed, 2 usage.

    Examples:
        zot skill list                                   a table
        zot skill list --json | jq -r .name              only the names
        zot skill list --json | jq 'select(.shadowed_by)'   skills that another one hides
    """
    from cli.skills.commands import list_skills

    exit_with("skill list", lambda: list_skills(cwd, as_json=as_json))


@skill_app.command("show")
def skill_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the skill.", autocompletion=skills)],
    cwd: Cwd = None,
) -> None:
    """Print the text that the model gets when it loads a skill.

    Exit status: 0 printed, 1 failed, 2 there is no skill of that name, or usage.

    Examples:
        zot skill show write-zot-extension               the one that comes with zot
        zot skill show deploy -C ../shop                 one of another project
    """
    from cli.skills.commands import show_skill

    exit_with("skill show", lambda: show_skill(name, cwd))
