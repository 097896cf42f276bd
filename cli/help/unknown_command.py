"""The errors for a word that is no command: of a group, or of `zot` itself, where it may be meant as a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.choices import CommandLineError
from wire.suggestions import did_you_mean, no_such

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typer._click.core import Command, Context


def visible_commands(context: Context) -> Iterator[tuple[str, Command]]:
    """The commands of the context's group that help lists, by name; none if it is no group."""
    group: Any = context.command
    for name in group.list_commands(context) if hasattr(group, "list_commands") else ():
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            yield name, command


def unknown_command(context: Context, word: str) -> CommandLineError:
    """The error for a word that is no command of the context's group; names the nearest command, else all."""
    error = CommandLineError(no_such("command", word, dict(visible_commands(context))))
    error.command = context.command_path
    return error


def missing_prompt(context: Context, words: Sequence[str]) -> CommandLineError:
    """The error for `zot WORDS` where the first word is no command, and no flag says how to print an answer."""
    known = sorted(dict(visible_commands(context)))
    hint = did_you_mean(words[0], set(known) - {"help"}) if words else ""
    said = f"no such command: {words[0]!r}{'; ' + hint if hint else '.'} " if words else ""
    return CommandLineError(f"{said}To send a prompt, use -p or --json; commands: {', '.join(known)}")
