"""`zot session export`."""

from __future__ import annotations

import os
import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.sessions.shared_options import Cwd, SessionId, fields, file_of, folder, run_and_exit
from cli.terminal import say

if TYPE_CHECKING:
    from pathlib import Path


class ExportFormat(Enum):
    markdown = "markdown"
    html = "html"
    json = "json"
    zotsession = "zotsession"


SUFFIXES = {
    ".md": ExportFormat.markdown,
    ".markdown": ExportFormat.markdown,
    ".html": ExportFormat.html,
    ".htm": ExportFormat.html,
    ".json": ExportFormat.json,
    ".zotsession": ExportFormat.zotsession,
}


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    session: SessionId,
    form: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="Write in this format. Default: by the suffix of FILE, else markdown."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Write to this file. Default: stdout.", metavar="FILE")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
    cwd: Cwd = None,
) -> None:
    """Write a session as a document: to read, to send, or for a program.

    HTML is one file without scripts that loads nothing from the network. JSON has everything; zot schema session.export
    describes it. zot session import and the other zot read .zotsession files. Every format has all that the tools have
    read: look through it before you send it.

    Exit status: 0 written, 1 there is no such session or FILE cannot be written, 2 usage, or FILE is there already.

    Examples:
        zot session export 3f2a -o run.html                        a page for a browser
        zot session export 3f2a > run.md                           Markdown
        zot session export 3f2a --format json | jq .usage          for a program
        zot session export 3f2a -o run.zotsession                  for another machine
    """
    run_and_exit("export", lambda: _run(session, form, output, force=force, cwd=cwd))


def _run(session: str, form: ExportFormat | None, output: str | None, *, force: bool, cwd: str | None) -> int:
    from cli.choices import CommandLineError

    chosen = form or (SUFFIXES.get(os.path.splitext(output)[1].lower()) if output else None) or ExportFormat.markdown
    if output == "":
        raise CommandLineError("-o needs the name of a file, or - for stdout")
    source = file_of(folder(cwd), session)
    if output is None or output == "-":
        sys.stdout.buffer.write(_document(source, chosen))
        return 0
    target = _target(output, chosen)
    if os.path.lexists(target) and not force:
        raise CommandLineError(f"{_printable_path(target)} is there already; --force replaces it")
    if os.path.exists(target) and os.path.samefile(target, source):
        raise CommandLineError(f"{_printable_path(target)} is the session itself; choose another file with -o")
    _write(target, _document(source, chosen))
    say(f"{_printable_path(target)}{': open it in a browser' if chosen is ExportFormat.html else ''}")
    return 0


def _target(output: str, form: ExportFormat) -> str:
    """The file to write. Raises `CommandLineError`."""
    from cli.choices import CommandLineError

    if os.path.isdir(output):
        raise CommandLineError(f"-o {_printable_path(output)}: a folder; name the file in it")
    if form is ExportFormat.zotsession and not output.endswith(".zotsession"):
        return output + ".zotsession"
    return output


def _document(source: Path, form: ExportFormat) -> bytes:
    if form is ExportFormat.zotsession:
        return _portable(source)
    from agent.sessions.reading.history import read_history

    history = read_history(source)
    if form is ExportFormat.json:
        from agent.sessions.export.json import export_record
        from cli.json_line import json_line

        return json_line(fields(export_record(history)))
    if form is ExportFormat.html:
        from agent.sessions.export.html import export_html

        return export_html(history).encode()
    from agent.sessions.export.markdown import export_markdown

    return export_markdown(history).encode()


def _portable(source: Path) -> bytes:
    from agent.sessions.portable import export_portable
    from supervisor.home.scratch import scratch_folder

    with scratch_folder("export") as made:
        return export_portable(source, made / "session.zotsession").read_bytes()


def _write(target: str, document: bytes) -> None:
    """Raises `SessionError`."""
    from agent.sessions.load import SessionError
    from agent.tools.files.user_file import replace_file
    from agent.tools.outcome import ToolError

    try:
        replace_file(target, document)
    except ToolError as error:
        raise SessionError(f"{target}: cannot be written: {error}; choose another file with -o") from None


def _printable_path(path: str) -> str:
    from wire.text import one_line, valid_text

    return one_line(valid_text(path), 1000)
