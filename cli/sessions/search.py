"""`zot session search`."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from cli.json_line import print_json
from cli.parameters import Json
from cli.sessions.shared_options import All, Cwd, complain, fields, folder, read_sessions, run_and_exit

if TYPE_CHECKING:
    from agent.sessions.reading.search import Hit
    from agent.sessions.store import SessionInfo

NAMED = {"user": "user", "assistant": "assistant", "tool": "results"}


def register(app: typer.Typer) -> None:
    app.command("search")(search)
    app.command("grep", hidden=True)(search)


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to find.")],
    everywhere: All = False,
    regex: Annotated[bool, typer.Option("--regex", help="Read TEXT as a regular expression of Python.")] = False,
    ignore_case: Annotated[
        bool,
        typer.Option("-i/-s", "--ignore-case/--case-sensitive", help="Ignore case (a and A are the same), or heed it."),
    ] = True,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """Find a text in messages, in the arguments of tools and in their results.

    It prints a line for each match, with the number of the message, as in zot session show and zot session fork --at.

    Exit status: 0 found, 1 not found or failed, 2 usage.

    Examples:
        zot session search "race condition"                  in the sessions of this folder
        zot session search --all --regex 'TODO|FIXME'        in all sessions, by a regular expression
        zot session search -s Parser --json | jq -r .id      only the ids of the sessions
        zot session search -- --flag                         a text that begins with a dash
    """
    run_and_exit(
        "search",
        lambda: _run(text, everywhere=everywhere, regex=regex, ignore_case=ignore_case, cwd=cwd, as_json=as_json),
    )


def _run(text: str, *, everywhere: bool, regex: bool, ignore_case: bool, cwd: str | None, as_json: bool) -> int:
    from agent.sessions.load import SessionError
    from agent.sessions.reading.search import pattern_of
    from agent.sessions.reading.search import search as hits_of
    from cli.choices import CommandLineError

    if not text:
        raise CommandLineError("TEXT is empty: say what to look for")
    try:
        pattern = pattern_of(text, is_regex=regex, ignore_case=ignore_case)
    except (re.error, RecursionError, OverflowError) as error:
        raise CommandLineError(f"--regex {text[:80]!r}: no regular expression: {error}") from None
    is_found = False
    for info in read_sessions(folder(cwd), everywhere=everywhere, command="search"):
        try:
            for number, hit in enumerate(hits_of(info.path, pattern)):
                is_found = True
                if as_json:
                    _print_record(info, hit)
                else:
                    _print(info, hit, is_first=not number)
        except SessionError as error:
            complain("search", str(error))
    if not is_found and not as_json:
        complain("search", "not found" + ("" if everywhere else "; --all searches the sessions of all folders"))
    return 0 if is_found else 1


def _print(info: SessionInfo, hit: Hit, *, is_first: bool) -> None:
    from cli.columns import cut_line
    from cli.sessions.shared_options import about, short_text, terminal_width
    from cli.terminal import wants_style

    width = terminal_width()
    if is_first:
        line = cut_line(about(info, time.time()), width)
        sys.stdout.write((f"\x1b[1m{line}\x1b[0m" if wants_style() else line) + "\n")
    where = {"text": NAMED[hit.role], "arguments": f"call of {hit.tool}", "result": f"result of {hit.tool or '?'}"}
    more = f"  ({hit.matches} times)" if hit.matches > 1 else ""
    line = f"  [{hit.message}] {short_text(where[hit.part], 80)}: {short_text(hit.snippet, 400)}{more}"
    sys.stdout.write(cut_line(line, width) + "\n")


def _print_record(info: SessionInfo, hit: Hit) -> None:
    from wire.rpc.sessions import Found
    from wire.text import one_line, valid_text

    print_json(
        fields(
            Found(
                id=valid_text(info.id),
                path=valid_text(str(info.path)),
                title=info.title,
                message=hit.message,
                role=hit.role,
                part=hit.part,
                tool=hit.tool,
                snippet=one_line(hit.snippet, 400),
                matches=hit.matches,
            )
        )
    )
