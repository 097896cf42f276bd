"""`zot ext new`, `test`, `drive`, `doctor` and `schema`, as typer sees them. Their work is imported when a command
runs."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from cli.help.completion import installed_extensions, schemas
from cli.os_errors import exit_with
from cli.parameters import Json


def register(app: typer.Typer) -> None:
    app.command("new")(ext_new)
    app.command("test")(ext_test)
    app.command("drive")(ext_drive)
    app.command("doctor")(ext_doctor)
    app.command("schema")(ext_schema)


class Language(Enum):
    python = "python"
    typescript = "typescript"
    sh = "sh"
    go = "go"
    copilot = "copilot"


def ext_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: letters, digits, '-' and '_'.")],
    lang: Annotated[Language, typer.Option("--lang", "-l", help="Write it in this language.")] = Language.python,
    folder: Annotated[
        str,
        typer.Option("--dir", metavar="DIR", help="Make NAME in this folder. Default: here.", show_default=False),
    ] = ".",
    as_json: Json = False,
) -> None:
    """Make a new extension that works, with a test.

    It has a tool, a slash command, and a script for zot ext test. Python and TypeScript get a copy of the SDK, so
    nothing has to be installed; sh needs jq; Go has to be built. With copilot it is an extension.mjs for the Copilot
    CLI and for zot, with a tool; it needs Node and the SDK from npm.

    Exit status: 0 made, 1 it cannot be written, 2 the name cannot be used or the folder is there already.

    Examples:
        zot ext new hello                                in Python
        zot ext new hello --lang typescript              in JavaScript that is checked as TypeScript
        zot ext new hello --lang sh --dir extensions     in extensions/hello
        zot ext new hello --lang copilot                 an extension.mjs for the Copilot CLI
    """
    from cli.ext.author.new import run_new

    exit_with("ext new", lambda: run_new(name, lang.value, folder, as_json=as_json))


def ext_test(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="The extension's folder. Default: this one.", show_default=False),
    ] = ".",
    scripts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT...",
            help="Scripts, or black boxes. Default: PATH/tests/*.jsonl, or PATH/test*.jsonl.",
            show_default=False,
        ),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Send the host's lines of one SCRIPT, and write the conversation to this file as a new script.",
        ),
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write to each SCRIPT what the extension says now.")] = False,
    wait: Annotated[
        float,
        typer.Option("--wait", metavar="SECONDS", help="Wait up to SECONDS for an expected line.", min=0.01, max=86400),
    ] = 10.0,
    cwd: Annotated[
        str | None,
        typer.Option("--cwd", metavar="DIR", help="Use this project folder. Default: an empty folder."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play test scripts with an extension, and compare its answers.

    Each script has a process of its own, with an empty folder for its state and a project with the files that the
    script names. Without a script only the handshake and the shutdown are tried. With --update a script whose run fails
    stays as it was. A black box passes if the extension does not fall again, see zot ext replay.

    Exit status: 0 all passed, 1 one failed, 2 nothing could be run, 130 interrupted.

    Examples:
        zot ext test ./hello                              all scripts in hello/tests
        zot ext test . tests/first.jsonl                  only this one
        zot ext test . --update                           take the new answers into the scripts
        zot ext test . asked.jsonl --record new.jsonl     make a script from the host's lines
    """
    from cli.ext.author.test import ScriptsRequest, run_test

    request = ScriptsRequest(path, tuple(scripts or ()), record, update, wait, cwd, as_json)
    exit_with("ext test", lambda: run_test(request))


def ext_drive(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="The extension's folder. Default: this one.", show_default=False),
    ] = ".",
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="FILE", help="Write the conversation as a script for zot ext test."),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            help="Wait at most SECONDS for each answer if stdin is a pipe.",
            min=0.01,
            max=86400,
        ),
    ] = 10.0,
    cwd: Annotated[
        str | None,
        typer.Option("--cwd", metavar="DIR", help="Use this project folder. Default: the current folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the conversation in the format of scripts.")] = False,
) -> None:
    """Start an extension and talk to it by hand.

    It shows each frame in both directions. From a pipe it reads one line at a time, and waits for each answer. The
    extension keeps its state in a temporary folder.

    At the prompt:
        tool NAME {json}     call a tool
        /NAME args           run a slash command
        event NAME {json}    tell of an event
        ask NAME {json}      ask for a verdict
        answer TEXT          answer the tool that it has called
        key PANEL KEY        press a key in a panel
        {"type": …}          send this frame as it is
        help, quit

    Exit status: 0 ended, 1 the extension failed or did not answer, 2 nothing could be run.

    Examples:
        zot ext drive ./hello                                          with a prompt
        zot ext drive ./hello --record new.jsonl                       keep it as a test script
        echo 'tool shout {"text": "hi"}' | zot ext drive ./hello       from a pipe
    """
    from cli.ext.drive.session import DriveRequest, run_drive

    exit_with("ext drive", lambda: run_drive(DriveRequest(path, record, wait, cwd, as_json)))


def ext_doctor(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|PATH]...",
            help="The extensions. Default: all installed ones.",
            show_default=False,
            autocompletion=installed_extensions,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Start extensions for a moment, and say what is wrong with them.

    Each is started, greeted and stopped; none of its tools is called. A few are tried at a time; one that hangs delays
    no other. Extensions of a project that are not trusted are not started.

    Exit status: 0 none failed, 1 one failed, 2 no extension has that name.

    Examples:
        zot ext doctor                                 all installed ones
        zot ext doctor ./hello                         the one in this folder
        zot ext doctor ./hello --json | jq .findings   for a program
    """
    from cli.ext.author.doctor import run_doctor

    exit_with("ext doctor", lambda: run_doctor(tuple(targets or ()), as_json=as_json))


def ext_schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="manifest, or the name of a frame. Default: list all names.", autocompletion=schemas
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the JSON Schema of the manifest or of a frame.

    With --json each is on one line: the schema, or a name with its title.

    Exit status: 0 printed, 1 failed, 2 there is no schema of that name.

    Examples:
        zot ext schema                                     the names of all schemas
        zot ext schema manifest > extension.schema.json    the manifest's, for an editor
    """
    from cli.schema import show_schema

    exit_with("ext schema", lambda: show_schema(name, of_extensions=True, as_json=as_json))
